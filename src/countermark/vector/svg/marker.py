"""Markers as art of their own, drawn at a path's vertices (SVG 2 §13.7): the native arrowheads cannot say them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple, Protocol

from countermark.vector.affine import IDENTITY, Matrix, Point
from countermark.vector.container import Json
from countermark.vector.path import segments
from countermark.vector.svg.emit import Emitter
from countermark.vector.svg.number import Frame, degrees, length
from countermark.vector.svg.parse import Element, not_svg
from countermark.vector.svg.pathdata import frame_of
from countermark.vector.svg.place import Place, Source
from countermark.vector.svg.report import Report
from countermark.vector.svg.style import own, standing
from countermark.vector.svg.viewport import fit, view_box

_NEAR: Final = 1e-9
_KEYWORDS: Final = {"left": 0.0, "top": 0.0, "center": 0.5, "right": 1.0, "bottom": 1.0}


class Contents(Protocol):
    """Draws the children of an element at a place."""

    def __call__(self, element: Element, place: Place) -> list[Json]:
        """Return the nodes."""
        ...


class Vertex(NamedTuple):
    """A point of a path with the directions in and out of it, in degrees; None where nothing leads there."""

    point: Point
    into: float | None
    out: float | None

    @property
    def angle(self) -> float:
        """The direction halfway between the two."""
        if self.into is None or self.out is None:
            return (self.into if self.out is None else self.out) or 0.0
        turn = (self.out - self.into) % 360
        return self.into + (turn - 360 if turn > 180 else turn) / 2  # noqa: PLR2004 - half a turn


class Markers:
    """Draws the markers of shapes; `contents` draws what a marker holds."""

    def __init__(self, ids: Mapping[str, Element], emitter: Emitter, report: Report, contents: Contents) -> None:
        """Take the elements by id, and what makes nodes and the report."""
        self._ids = ids
        self._emitter = emitter
        self._report = report
        self._contents = contents

    def nodes(self, element: Element, path: Json, place: Place, fill: Source, stroke: Source) -> list[Json]:
        """Return the art of the markers on a path in user space; `fill` and `stroke` are what context paints mean."""
        style = place.style
        wanted = {"start": style.marker_start, "mid": style.marker_mid, "end": style.marker_end}
        if not any(wanted.values()):
            return []
        found: list[Json] = []
        corners = list(vertices(path))
        for index, vertex in enumerate(corners):
            kind = "start" if index == 0 else "end" if index == len(corners) - 1 else "mid"
            marker = self._ids.get(wanted[kind])
            if marker is None or marker.tag != "marker":
                continue
            if f"marker {marker.id}" in place.used:
                chain = " → ".join(name.rpartition(" ")[2] for name in (*place.used, marker.id))
                message = f"The marker #{marker.id} draws itself: {chain} ({element.path})."
                raise not_svg(message, "Remove the marker from its own content.")
            found.extend(self._marker(marker, vertex, kind, place, fill, stroke))
        if found:
            self._report.note("marker", element, "Its markers are drawn as art of their own beside the line.")
        return found

    def _marker(
        self, marker: Element, vertex: Vertex, kind: str, place: Place, fill: Source, stroke: Source
    ) -> list[Json]:
        style = standing(marker, place.frame, self._report)
        units = place.frame._replace(font_size=style.font_size)
        width = _side(marker, "markerWidth", units, units.width)
        height = _side(marker, "markerHeight", units, units.height)
        box = view_box(marker)
        scale = 1.0
        if marker.attributes.get("markerUnits", "strokeWidth").strip() != "userSpaceOnUse":
            scale = place.style.stroke_width
        if width <= 0 or height <= 0 or scale <= 0 or (box is not None and (box.width <= 0 or box.height <= 0)):
            self._report.note("empty-shape", marker, "It has no size, so SVG paints nothing for it.")
            return []
        inside = IDENTITY
        inner = units._replace(width=width, height=height)
        if box is not None:
            inside = fit(box, width, height, marker.attributes.get("preserveAspectRatio", ""))
            inner = units._replace(width=box.width, height=box.height)
        x = _reference(marker, "refX", inner, inner.width, box.x if box is not None else 0.0)
        y = _reference(marker, "refY", inner, inner.height, box.y if box is not None else 0.0)
        back = inside.apply(x, y)
        turn = math.radians(_turn(marker, vertex, kind))
        cos, sin = math.cos(turn), math.sin(turn)
        at = Matrix(cos * scale, sin * scale, -sin * scale, cos * scale, *vertex.point)
        at = place.matrix @ at @ Matrix(e=-back[0], f=-back[1])
        below = replace(
            place,
            frame=inner,
            matrix=at @ inside,
            style=style,
            context_fill=fill,
            context_stroke=stroke,
            used=(*place.used, f"marker {marker.id}"),
            level=place.level + 1,
            groups=place.groups + 1,
        )
        nodes = self._contents(marker, below)
        if not nodes:
            return []
        members: Json = {"name": f"{marker.id} ({kind})"}
        if (own(marker, "overflow") or "hidden").lower() in {"visible", "auto"}:
            return [self._emitter.node({"type": "group", "children": nodes, "clip": False}, **members)]
        clip: Json = {"type": "path", "path": self._emitter.path(frame_of(0, 0, width, height), at), "clipping": True}
        children = [self._emitter.node(clip), *nodes]
        return [self._emitter.node({"type": "group", "children": children, "clip": True}, **members)]


def vertices(path: Json) -> Iterator[Vertex]:
    """Yield the vertices of a path in user space: where segments of the drawing meet, not the joints of our arcs."""
    for subpath in path["subpaths"]:
        pieces = list(segments(subpath))
        if not pieces:
            yield Vertex(_point(subpath["anchors"][0]), None, None)
            continue
        runs = [_directions(piece) for piece in pieces]
        closing = runs[-1][1] if subpath.get("closed") else None
        yield Vertex(pieces[0][0], closing, runs[0][0])
        for index, anchor in enumerate(subpath["anchors"][1:]):
            if not anchor.get("between"):
                out = runs[index + 1][0] if index + 1 < len(runs) else None
                yield Vertex(_point(anchor), runs[index][1], out)
        if subpath.get("closed"):
            yield Vertex(pieces[0][0], runs[-1][1], runs[0][0])


def _directions(piece: tuple[Point, Point | None, Point | None, Point]) -> tuple[float | None, float | None]:
    points = [point for point in piece if point is not None]
    first = next((_angle(points[0], other) for other in points[1:] if _apart(points[0], other)), None)
    last = next((_angle(other, points[-1]) for other in reversed(points[:-1]) if _apart(other, points[-1])), None)
    return first, last


def _apart(one: Point, other: Point) -> bool:
    return abs(one[0] - other[0]) > _NEAR or abs(one[1] - other[1]) > _NEAR


def _angle(one: Point, other: Point) -> float:
    return math.degrees(math.atan2(other[1] - one[1], other[0] - one[0]))


def _point(anchor: Json) -> Point:
    x, y = anchor["p"]
    return x, y


def _turn(marker: Element, vertex: Vertex, kind: str) -> float:
    said = marker.attributes.get("orient", "0").strip()
    if said == "auto":
        return vertex.angle
    if said == "auto-start-reverse":
        return vertex.angle + (180 if kind == "start" else 0)
    return degrees(said) or 0.0


def _side(marker: Element, name: str, units: Frame, whole: float) -> float:
    value = length(marker.attributes.get(name), units, whole)
    return 3.0 if value is None else value


def _reference(marker: Element, name: str, units: Frame, whole: float, start: float) -> float:
    said = marker.attributes.get(name, "").strip()
    if said.lower() in _KEYWORDS:
        return start + _KEYWORDS[said.lower()] * whole
    return length(said, units, whole) or 0.0
