"""Gradients as Skia's shaders, areas as its paths, and maps as its matrices."""

from __future__ import annotations

from typing import Any, Final

from countermark.vector.affine import Matrix
from countermark.vector.display import Area
from countermark.vector.paint_server import Gradient
from countermark.vector.path import segments

_TINY: Final = 1e-6


def matrix_of(skia: Any, matrix: Matrix) -> Any:
    """Return Skia's form of a map."""
    a, b, c, d, e, f = matrix
    return skia.Matrix.MakeAll(a, c, e, b, d, f, 0, 0, 1)


def path_of(skia: Any, area: Area) -> Any:
    """Return an area as a path of Skia's."""
    path = skia.Path()
    path.setFillType(skia.PathFillType.kEvenOdd if area.rule == "EvenOdd" else skia.PathFillType.kWinding)
    for subpath in area.path["subpaths"]:
        started = False
        for start, out, into, end in segments(subpath):
            if not started:
                path.moveTo(*start)
                started = True
            if out is None or into is None:
                path.lineTo(*end)
            else:
                path.cubicTo(*out, *into, *end)
        if started and subpath.get("closed"):
            path.close()
    return path


def shader_of(skia: Any, gradient: Gradient) -> Any:
    """Return Skia's shader, or None where SVG says that the last stop's colour fills everything."""
    if abs(gradient.matrix.determinant) < _TINY * _TINY:
        return None
    colours = [skia.Color(*stop.rgb, round(stop.opacity * 255)) for stop in gradient.stops]
    offsets = [stop.offset for stop in gradient.stops]
    # Skia's binding reads a list that does not begin at 0 and end at 1 as if it did.
    colours = [colours[0], *colours, colours[-1]]
    offsets = [0.0, *offsets, 1.0]
    mode = {"pad": skia.TileMode.kClamp, "reflect": skia.TileMode.kMirror, "repeat": skia.TileMode.kRepeat}
    local = matrix_of(skia, gradient.matrix)
    start, end = skia.Point(*gradient.start), skia.Point(*gradient.end)
    tile = mode[gradient.spread]
    if not gradient.radial:
        if gradient.start == gradient.end:
            return None
        return skia.GradientShader.MakeLinear([start, end], colours, offsets, tile, 0, local)
    if gradient.radius <= 0:
        return None
    if gradient.start == gradient.end and not gradient.focal_radius:
        return skia.GradientShader.MakeRadial(end, gradient.radius, colours, offsets, tile, 0, local)
    return skia.GradientShader.MakeTwoPointConical(
        start, gradient.focal_radius, end, gradient.radius, colours, offsets, tile, 0, local
    )
