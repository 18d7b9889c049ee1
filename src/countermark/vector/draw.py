"""The drawer: one artboard of a native document as PNG bytes, by Skia.

The same display list, size and Skia build give the same bytes: no fonts, no dither, no date, fixed encoder settings.
Colours are sRGB and mix as SVG mixes them, in sRGB; the surface is premultiplied and Skia's encoder divides again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from countermark.kernel.errors import CountermarkError
from countermark.raster.fit import contain
from countermark.vector.affine import Matrix
from countermark.vector.artboard import Artboard
from countermark.vector.display import Area, Clip, Display, Fill, Group, Shape, Stroke, Undrawn
from countermark.vector.document import Document
from countermark.vector.paint_server import Gradient, PaintServer, Solid
from countermark.vector.path import segments, transformed
from countermark.vector.resolve import resolve

MAX_SIDE: Final = 8192
"""Eight times the side of the largest board of the kit: 256 MiB of pixels at the most."""

_FINEST: Final = 4
_FINE_SIDE: Final = 4096  # 64 MiB of pixels while drawing
_QUALITY: Final = 100
_TINY: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawn board: PNG bytes (RGBA, eight bits, sRGB) and what could not be drawn on it."""

    png: bytes
    width: int
    height: int
    undrawn: tuple[Undrawn, ...]


def draw(document: Document, board: Artboard, width: int, height: int) -> Drawing:
    """Draw an artboard at width x height pixels, fitted inside and centred, on a transparent ground.

    Raise `input_invalid` for a side below 1 or above `MAX_SIDE` and `part_unavailable` when Skia is missing.
    """
    shown = resolve(document, board)
    return Drawing(draw_display(shown, width, height), width, height, shown.undrawn)


def draw_display(shown: Display, width: int, height: int) -> bytes:
    """Draw a display list as PNG bytes."""
    if not (1 <= width <= MAX_SIDE and 1 <= height <= MAX_SIDE):
        raise CountermarkError(
            "input_invalid",
            f"A board of {width} x {height} pixels cannot be drawn.",
            next_action=f"Use sides between 1 and {MAX_SIDE} pixels.",
        )
    skia = _skia()
    box = shown.artboard.box
    fit = contain(box.width, box.height, width, height)
    finer = _finer(width, height)
    surface = _surface(skia, width * finer, height * finer)
    canvas = surface.getCanvas()
    canvas.scale(finer, finer)
    canvas.translate(fit.dx, fit.dy)
    canvas.scale(fit.scale, fit.scale)
    canvas.translate(-box.x0, -box.y0)
    paint_on(canvas, shown)
    while finer > 1:
        finer //= 2
        surface = _halved(skia, surface, width * finer, height * finer)
    return bytes(surface.makeImageSnapshot().encodeToData(skia.kPNG, _QUALITY))


def paint_on(canvas: Any, shown: Display) -> None:
    """Paint a display list on any canvas of Skia's, in document points, cut at the artboard's edge."""
    skia = _skia()
    box = shown.artboard.box
    frame = skia.Rect.MakeLTRB(box.x0, box.y0, box.x1, box.y1)
    canvas.clipRect(frame, True)  # noqa: FBT003 - Skia's signature: anti-aliased
    brush = _Brush(skia, canvas)
    if shown.background is not None:
        canvas.drawRect(frame, brush.paint(shown.background, 1.0, "Normal"))
    for item in shown.items:
        brush.item(item)


def _finer(width: int, height: int) -> int:
    """Return how many times finer to draw before averaging, a power of two.

    Skia's edges of cubics are off by up to a quarter of a pixel. On thin rings that is a visible difference: drawn four
    times finer, 2.6 % of the pixels that were off from another engine's became 0.2 % (benchmarks/vector_fidelity.py).
    """
    finer = _FINEST
    while finer > 1 and max(width, height) * finer > _FINE_SIDE:
        finer //= 2
    return finer


def _surface(skia: Any, width: int, height: int) -> Any:
    info = skia.ImageInfo.Make(
        width, height, skia.kRGBA_8888_ColorType, skia.kPremul_AlphaType, skia.ColorSpace.MakeSRGB()
    )
    surface = skia.Surface.MakeRaster(info)
    if surface is None:
        raise CountermarkError(
            "artifact_invalid",
            f"Skia gave no surface of {width} x {height} pixels.",
            next_action="Free memory or draw the board smaller.",
        )
    surface.getCanvas().clear(skia.ColorTRANSPARENT)
    return surface


def _halved(skia: Any, surface: Any, width: int, height: int) -> Any:
    """Return a surface of half the sides whose every pixel is the mean of four, premultiplied."""
    smaller = _surface(skia, width, height)
    paint = skia.Paint()
    paint.setBlendMode(skia.BlendMode.kSrc)
    paint.setDither(False)
    # Linear sampling at exactly one half reads the corner where four pixels meet.
    sampling = skia.SamplingOptions(skia.FilterMode.kLinear)
    smaller.getCanvas().drawImageRect(surface.makeImageSnapshot(), skia.Rect.MakeWH(width, height), sampling, paint)
    return smaller


@cache
def _skia() -> Any:
    try:
        import skia  # noqa: PLC0415 - 50 MB that only drawing needs
    except ImportError as error:
        raise CountermarkError(
            "part_unavailable",
            f"Skia, which draws the boards, cannot be loaded: {error}.",
            next_action="Install the extra, pip install 'countermark[vector]', and the packages libgl1 and libegl1.",
            details={"part": "skia-python"},
        ) from error
    return skia


def skia_path(area: Area) -> Any:
    """Return an area as a path of Skia's."""
    skia = _skia()
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


class _Brush:
    """Draws display items on one canvas."""

    def __init__(self, skia: Any, canvas: Any) -> None:
        self._skia = skia
        self._canvas = canvas

    def item(self, item: Shape | Group) -> None:
        if isinstance(item, Group):
            self._group(item)
        else:
            path = self._path(Area(item.path, item.rule))
            for mark in item.marks:
                if isinstance(mark, Fill):
                    self._canvas.drawPath(path, self.paint(mark.ink, mark.opacity, mark.blend))
                else:
                    self._stroke(item, mark)

    def paint(self, ink: PaintServer, opacity: float, blend: str) -> Any:
        skia = self._skia
        paint = skia.Paint()
        paint.setAntiAlias(True)
        paint.setDither(False)
        paint.setBlendMode(self._blend(blend))
        if isinstance(ink, Solid):
            paint.setColor(skia.Color(*ink.rgb))
            paint.setAlphaf(opacity)
            return paint
        shader = self._shader(ink)
        if shader is None:
            last = ink.stops[-1]
            paint.setColor(skia.Color(*last.rgb))
            paint.setAlphaf(opacity * last.opacity)
        else:
            paint.setColor(skia.ColorBLACK)
            paint.setAlphaf(opacity)
            paint.setShader(shader)
        return paint

    def _group(self, group: Group) -> None:
        canvas = self._canvas
        canvas.save()
        several = group.clip is not None and len(group.clip.areas) != 1
        if group.clip is not None and not several:
            (area,) = group.clip.areas
            canvas.clipPath(self._path(area), self._skia.ClipOp.kIntersect, True)  # noqa: FBT003
        layered = several or group.opacity < 1 or group.blend != "Normal" or group.isolate
        if layered:
            paint = self._skia.Paint()
            paint.setAlphaf(group.opacity)
            paint.setBlendMode(self._blend(group.blend))
            canvas.saveLayer(None, paint)
        for item in group.items:
            self.item(item)
        if several and group.clip is not None:
            self._keep(group.clip)
        if layered:
            canvas.restore()
        canvas.restore()

    def _keep(self, clip: Clip) -> None:
        """Keep of the current layer what lies in any area of a clip; no path operation can then go wrong."""
        skia, canvas = self._skia, self._canvas
        keep = skia.Paint()
        keep.setBlendMode(skia.BlendMode.kDstIn)
        canvas.saveLayer(None, keep)
        for area in clip.areas:
            canvas.drawPath(self._path(area), self.paint(Solid((0, 0, 0)), 1.0, "Normal"))
        canvas.restore()

    def _stroke(self, shape: Shape, stroke: Stroke) -> None:
        skia, canvas = self._skia, self._canvas
        native, ink = shape.path, stroke.ink
        canvas.save()
        one_sided = stroke.align != "Center" and all(subpath.get("closed") for subpath in native["subpaths"])
        if one_sided:
            # A stroke on one side is a stroke of twice the width, cut along the path.
            side = skia.ClipOp.kIntersect if stroke.align == "Inside" else skia.ClipOp.kDifference
            canvas.clipPath(self._path(Area(native, shape.rule)), side, True)  # noqa: FBT003
        if stroke.pen is not None:
            back = stroke.pen.inverse()
            native = transformed(native, back)
            ink = ink.seen_through(back) if isinstance(ink, Gradient) else ink
            canvas.concat(self._matrix(stroke.pen))
        paint = self.paint(ink, stroke.opacity, stroke.blend)
        paint.setStyle(skia.Paint.kStroke_Style)
        paint.setStrokeCap(getattr(skia.Paint, f"k{stroke.cap}_Cap"))
        paint.setStrokeJoin(getattr(skia.Paint, f"k{stroke.join}_Join"))
        paint.setStrokeMiter(stroke.miter_limit)
        paint.setStrokeWidth(stroke.width * 2 if one_sided else stroke.width)
        if stroke.dash:
            paint.setPathEffect(skia.DashPathEffect.Make(list(stroke.dash), stroke.dash_offset))
        canvas.drawPath(self._path(Area(native, "NonZero")), paint)
        canvas.restore()

    def _path(self, area: Area) -> Any:
        return skia_path(area)

    def _matrix(self, matrix: Matrix) -> Any:
        a, b, c, d, e, f = matrix
        return self._skia.Matrix.MakeAll(a, c, e, b, d, f, 0, 0, 1)

    def _shader(self, gradient: Gradient) -> Any:
        """Return Skia's shader, or None where SVG says that the last stop's colour fills everything."""
        skia = self._skia
        if abs(gradient.matrix.determinant) < _TINY * _TINY:
            return None
        colours = [skia.Color(*stop.rgb, round(stop.opacity * 255)) for stop in gradient.stops]
        offsets = [stop.offset for stop in gradient.stops]
        # Skia's binding reads a list that does not begin at 0 and end at 1 as if it did.
        colours = [colours[0], *colours, colours[-1]]
        offsets = [0.0, *offsets, 1.0]
        mode = {"pad": skia.TileMode.kClamp, "reflect": skia.TileMode.kMirror, "repeat": skia.TileMode.kRepeat}
        local = self._matrix(gradient.matrix)
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

    def _blend(self, name: str) -> Any:
        return self._skia.BlendMode.kSrcOver if name == "Normal" else getattr(self._skia.BlendMode, f"k{name}")
