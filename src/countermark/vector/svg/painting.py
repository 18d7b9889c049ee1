"""The fills and strokes of a shape as native appearance items."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from countermark.vector.affine import IDENTITY, Box
from countermark.vector.container import Json
from countermark.vector.svg import gradient
from countermark.vector.svg.emit import Emitter, significant, stroke
from countermark.vector.svg.parse import Element
from countermark.vector.svg.pattern import Patterns
from countermark.vector.svg.place import Place, Source
from countermark.vector.svg.report import Report
from countermark.vector.svg.style import own


class Painting:
    """Reads paints; gradients that were read once are kept."""

    def __init__(self, ids: Mapping[str, Element], emitter: Emitter, report: Report, patterns: Patterns) -> None:
        """Take the elements by id, what makes nodes and the report, and what makes patterns."""
        self._ids = ids
        self._emitter = emitter
        self._report = report
        self._patterns = patterns
        self._servers: dict[str, gradient.Server] = {}

    def fill(self, element: Element, place: Place, box: Callable[[], Box | None]) -> list[Json]:
        """Return a shape's fill, or nothing; `box` is the shape's geometry in its user space."""
        paint = self._paint("fill", element, place, place.source(place.style.fill, box))
        if paint is None:
            return []
        opacity = significant(place.style.fill_opacity * paint.pop("alpha", 1.0))
        item: Json = {"kind": "fill", "paint": paint}
        return [item if opacity >= 1 else {**item, "opacity": opacity}]

    def stroke(self, element: Element, place: Place, box: Callable[[], Box | None]) -> list[Json]:
        """Return a shape's stroke, or nothing."""
        if place.style.stroke_width <= 0:
            return []
        paint = self._paint("stroke", element, place, place.source(place.style.stroke, box))
        if paint is None:
            return []
        opacity = place.style.stroke_opacity * paint.pop("alpha", 1.0)
        matrix = place.matrix
        effect = (own(element, "vector-effect") or "none").lower()
        if effect == "non-scaling-stroke":
            matrix = IDENTITY
            self._report.note("vector-effect", element, "Its stroke keeps the width that it has at the drawing's size.")
        elif effect != "none":
            self._report.loss("vector-effect", element, f"vector-effect: {effect[:60]} is not applied.")
        return [stroke(paint, opacity, place.style, matrix)]

    def _paint(self, name: str, element: Element, place: Place, source: Source) -> Json | None:
        ink = source.ink
        if ink.server:
            server = self._ids.get(ink.server)
            served = None
            if server is not None and server.tag in gradient.GRADIENTS:
                served = self._gradient(server, source)
            elif server is not None and server.tag == "pattern":
                served = self._patterns.paint(server, source, place)
            else:
                self._report.note("missing-reference", element, f"The {name} takes #{ink.server}, which is no paint.")
            if served is not None:
                return served
        return gradient.solid(ink.colour) if ink.kind == "colour" else None

    def _gradient(self, server: Element, source: Source) -> Json | None:
        if server.id not in self._servers:
            self._servers[server.id] = gradient.server(server, self._ids, self._report)
        found = self._servers[server.id]
        paint = gradient.paint(found, source.matrix, source.units, source.box(), self._report)
        if paint is not None and "geom" in paint:
            paint["geom"] = self._emitter.geom(paint["geom"])
        return paint
