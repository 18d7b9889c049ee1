"""Native nodes made of what was read: ids, rounding, strokes and smooth anchors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count
from typing import Final

from countermark.vector.affine import Matrix
from countermark.vector.container import Json
from countermark.vector.path import transformed
from countermark.vector.svg.number import NotFiniteError
from countermark.vector.svg.style import Style

_DIGITS: Final = 9
_STRAIGHT: Final = 1e-6


@dataclass(slots=True)
class Emitter:
    """Makes nodes with rising ids; coordinates keep nine digits of the drawing's size.

    The rounding makes the bytes the same on every machine, whatever the last bit of its sine is.
    """

    digits: int
    _ids: count[int]

    @classmethod
    def for_size(cls, side: float, first: int = 2) -> Emitter:
        """Return an emitter for a drawing of this larger side, whose first node gets the id `first`."""
        return cls(max(0, _DIGITS - 1 - math.floor(math.log10(side))), count(first))

    def path(self, path: Json, matrix: Matrix) -> Json:
        """Return a user-space path in document coordinates; a point that overflows raises `NotFiniteError`."""
        moved = transformed(path, matrix)
        return {"subpaths": [{**subpath, "anchors": self._anchors(subpath)} for subpath in moved["subpaths"]]}

    def point(self, point: tuple[float, float]) -> Json:
        """Return a point of a gradient, finer than an anchor: a short vector spans many colours."""
        return {"x": self._round(point[0], 4), "y": self._round(point[1], 4)}

    def geom(self, geom: Json) -> Json:
        """Return a gradient's placement with its numbers rounded."""
        return {name: significant(value) if name == "aspect" else self.point(value) for name, value in geom.items()}

    def node(self, kind: Json, items: list[Json] | None = None, **members: object) -> Json:
        """Return a node; members that are None are left out."""
        said = {name: value for name, value in members.items() if value is not None}
        return {"id": next(self._ids), **said, "appearance": {"items": items or []}, "kind": kind}

    def next_id(self) -> int:
        """Return the id after the last one given."""
        return next(self._ids)

    def _anchors(self, subpath: Json) -> list[Json]:
        found = []
        for anchor in subpath["anchors"]:
            point = [self._round(value) for value in anchor["p"]]
            made: Json = {"p": point}
            for name in ("in", "out"):
                if name in anchor:
                    handle = [self._round(value) for value in anchor[name]]
                    if handle != point:
                        made[name] = handle
            if "in" in made and "out" in made and _is_smooth(made["in"], point, made["out"]):
                made["kind"] = "Smooth"
            found.append(made)
        return found

    def _round(self, value: float, finer: int = 0) -> float:
        if not math.isfinite(value):
            raise NotFiniteError(str(value))
        return round(value, self.digits + finer) + 0.0  # -0.0 becomes 0.0


def significant(value: float) -> float:
    """Return a number with twelve significant digits; one that is not finite raises `NotFiniteError`."""
    if not math.isfinite(value):
        raise NotFiniteError(str(value))
    return float(f"{value:.12g}") + 0.0


def stroke(paint: Json, opacity: float, style: Style, matrix: Matrix) -> Json:
    """Return a native stroke for a path drawn through `matrix`.

    Where the map is no similarity the pen is an ellipse; our own member keeps it, the native width is its mean.
    """
    scale = math.sqrt(abs(matrix.determinant))
    found: Json = {"kind": "stroke", "paint": paint, "width": significant(style.stroke_width * scale)}
    if style.cap != "Butt":
        found["cap"] = style.cap
    if style.join != "Miter":
        found["join"] = style.join
    found["miter_limit"] = significant(style.miter_limit)
    if style.dash:
        pattern = [significant(part * scale) for part in style.dash]
        found["dash"] = {"pattern": pattern, "offset": significant(style.dash_offset * scale), "align_corners": False}
    if opacity < 1:
        found["opacity"] = significant(opacity)
    if not matrix.is_similarity:
        found["countermark"] = {"pen": [significant(part / scale) for part in matrix[:4]]}
    return found


def _is_smooth(into: list[float], point: list[float], out: list[float]) -> bool:
    ax, ay, bx, by = point[0] - into[0], point[1] - into[1], out[0] - point[0], out[1] - point[1]
    size = math.hypot(ax, ay) * math.hypot(bx, by)
    return abs(ax * by - ay * bx) <= _STRAIGHT * size and ax * bx + ay * by > 0
