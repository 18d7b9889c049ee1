"""Paint servers: a native paint resolved into what an engine fills with, a colour or a placed gradient.

Colours become eight-bit sRGB here, once, so that every output rounds alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final

from countermark.vector.affine import IDENTITY, Box, Matrix, Point
from countermark.vector.container import Json
from countermark.vector.path import point_of

Rgb = tuple[int, int, int]

_FLAT: Final = 1e-9
_SPREADS: Final = frozenset({"pad", "reflect", "repeat"})
_MIDDLE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Solid:
    """One opaque colour."""

    rgb: Rgb


@dataclass(frozen=True, slots=True)
class Stop:
    """A gradient stop: offset 0..1, never less than the one before, colour, opacity 0..1."""

    offset: float
    rgb: Rgb
    opacity: float


@dataclass(frozen=True, slots=True)
class Gradient:
    """A gradient in a space of its own that `matrix` maps into document points.

    Linear: from `start` to `end`. Radial: circle of `radius` about `end`; colours begin on the circle of
    `focal_radius` about `start`. `spread` is pad, reflect or repeat. Colours between stops are mixed in sRGB, not
    premultiplied, as in SVG.
    """

    radial: bool
    start: Point
    end: Point
    radius: float
    focal_radius: float
    matrix: Matrix
    spread: str
    stops: tuple[Stop, ...]

    def seen_through(self, matrix: Matrix) -> Gradient:
        """Return the gradient with its placement mapped by a matrix."""
        return replace(self, matrix=matrix @ self.matrix)


PaintServer = Solid | Gradient


def rgb(colour: Any) -> Rgb | None:
    """Return the eight-bit sRGB of a native colour (rgb, gray, cmyk by the plain formula), None for another model."""
    if not isinstance(colour, dict):
        return None
    match colour.get("model"):
        case "rgb":
            return _bytes(colour["r"], colour["g"], colour["b"])
        case "gray":
            light = 1 - colour["k"]
            return _bytes(light, light, light)
        case "cmyk":
            light = 1 - colour["k"]
            return _bytes(light * (1 - colour["c"]), light * (1 - colour["m"]), light * (1 - colour["y"]))
        case _:
            return None


def hexadecimal(colour: Rgb) -> str:
    """Return `#rrggbb`."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


def read_paint(paint: Json, box: Box) -> tuple[PaintServer | None, list[str]]:
    """Return what a paint fills with, and what of it cannot be shown; an unplaced gradient is fitted to `box`."""
    match paint.get("type"):
        case "none":
            return None, []
        case "solid":
            colour = rgb(paint["color"])
            missed = _colour_notes([paint])
            return (None if colour is None else Solid(colour)), missed
        case "gradient":
            return _gradient(paint, box)
        case other:
            return None, [f"paint of type {other}"]


def _gradient(paint: Json, box: Box) -> tuple[PaintServer | None, list[str]]:
    gradient = paint["gradient"]
    kind = gradient.get("kind", "Linear")
    if kind not in {"Linear", "Radial"}:
        return None, [f"gradient of kind {kind}"]
    missed = _colour_notes(gradient["stops"])
    stops = _stops(gradient["stops"])
    if not stops:
        return None, missed
    if len(stops) == 1 and stops[0].opacity >= 1:
        return Solid(stops[0].rgb), missed
    geom = paint.get("geom") or _fitted(kind, box, float(paint.get("angle", 0.0)))
    extra = paint.get("countermark") or {}
    spread = extra.get("spread", "pad")
    if spread not in _SPREADS:
        missed.append(f"spread {spread} of a gradient")
        spread = "pad"
    start, end = point_of(geom["start"]), point_of(geom["end"])
    if kind == "Linear":
        placed = Gradient(False, start, end, 0.0, 0.0, IDENTITY, spread, stops)  # noqa: FBT003 - named in the class
        return placed, missed
    radius = math.dist(start, end)
    squash = _squash(start, end, float(geom.get("aspect", 1.0)))
    focal = geom.get("focal")
    first = start if focal is None else squash.inverse().apply(*point_of(focal))
    inner = radius * min(max(float(extra.get("focal_radius", 0.0)), 0.0), 1.0)
    return Gradient(True, first, start, radius, inner, squash, spread, stops), missed  # noqa: FBT003


def _squash(start: Point, end: Point, aspect: float) -> Matrix:
    """Return the map that makes the circle about `start` through `end` an ellipse, `aspect` times as wide across."""
    if aspect == 1:
        return IDENTITY
    angle = math.atan2(end[1] - start[1], end[0] - start[0])
    turn = Matrix(math.cos(angle), math.sin(angle), -math.sin(angle), math.cos(angle))
    there = Matrix(e=start[0], f=start[1]) @ turn
    return there @ Matrix(d=max(aspect, _FLAT)) @ there.inverse()


def _fitted(kind: str, box: Box, angle: float) -> Json:
    """Return the placement of a gradient that has none: across the box through its centre at `angle` degrees."""
    x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
    across, down = math.cos(math.radians(angle)), -math.sin(math.radians(angle))
    if kind == "Radial":
        reach = max(box.width, box.height) / 2
        return {"start": [x, y], "end": [x + across * reach, y + down * reach]}
    half = (box.width * abs(across) + box.height * abs(down)) / 2
    return {"start": [x - across * half, y - down * half], "end": [x + across * half, y + down * half]}


def _stops(entries: list[Json]) -> tuple[Stop, ...]:
    """Return stops in rising order with each off-centre midpoint as a stop of its own."""
    found: list[Stop] = []
    middle = _MIDDLE
    for entry in entries:
        colour = rgb(entry["color"])
        if colour is None:
            continue
        offset = min(max(float(entry.get("offset", 0.0)), found[-1].offset if found else 0.0), 1.0)
        stop = Stop(offset, colour, min(max(float(entry.get("opacity", 1.0)), 0.0), 1.0))
        if found and abs(middle - _MIDDLE) > 1e-3:  # noqa: PLR2004 - the editor's own tolerance
            found.append(_between(found[-1], stop, min(max(middle, 0.01), 0.99)))
        found.append(stop)
        middle = float(entry.get("midpoint", _MIDDLE))
    return tuple(found)


def _between(left: Stop, right: Stop, middle: float) -> Stop:
    red, green, blue = ((a + b + 1) // 2 for a, b in zip(left.rgb, right.rgb, strict=True))
    offset = left.offset + (right.offset - left.offset) * middle
    return Stop(offset, (red, green, blue), (left.opacity + right.opacity) / 2)


def _colour_notes(holders: list[Json]) -> list[str]:
    notes = []
    for holder in holders:
        model = holder["color"].get("model")
        if model not in {"rgb", "gray", "cmyk"}:
            notes.append(f"colour of model {model}")
        elif model == "cmyk":
            notes.append("cmyk colour without its profile")
        if holder.get("tint") not in {None, 1}:
            notes.append("tint of a swatch")
    return notes


def _bytes(red: float, green: float, blue: float) -> Rgb:
    return _byte(red), _byte(green), _byte(blue)


def _byte(value: float) -> int:
    return math.floor(min(max(value, 0.0), 1.0) * 255 + 0.5)
