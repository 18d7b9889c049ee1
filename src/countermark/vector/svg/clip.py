"""Clip paths as native clip groups: the first child is the clip shape, groups nest where clips do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from countermark.vector.affine import IDENTITY, Box, Matrix
from countermark.vector.container import Json
from countermark.vector.path import bounds
from countermark.vector.svg import shape
from countermark.vector.svg.emit import Emitter
from countermark.vector.svg.number import length
from countermark.vector.svg.parse import Element, not_svg
from countermark.vector.svg.place import Place
from countermark.vector.svg.report import Report
from countermark.vector.svg.style import computed, is_shown, own, reference, standing
from countermark.vector.svg.transform import origin, transform

_TEXT: Final = frozenset({"text", "tspan"})

Layer = list[Json]
"""The paths of one clip: what is inside any of them shows. Where paths are no word for it, art stands in its place."""
_OPAQUE: Final[Json] = {"kind": "fill", "paint": {"type": "solid", "color": {"model": "gray", "k": 1}}}


class Clipper:
    """Finds what a `clip-path` leaves visible."""

    def __init__(self, ids: dict[str, Element], emitter: Emitter, report: Report) -> None:
        """Take the elements by id, and where nodes and the report are made."""
        self._ids = ids
        self._emitter = emitter
        self._report = report

    def layers(
        self, element: Element, place: Place, box_of: Callable[[], Box | None], used: tuple[str, ...] = ()
    ) -> list[Layer | Json]:
        """Return the clips on an element, outermost first; an empty layer hides everything.

        `place` is the element's own: its user space is what clips are relative to. `box_of` measures the element's
        geometry there. A clip that refers to itself raises `svg_invalid`.
        """
        name = reference(own(element, "clip-path"))
        if not name:
            return []
        clip = self._ids.get(name)
        if clip is None or clip.tag != "clipPath":
            self._report.note("missing-reference", element, f"The clip #{name} does not exist and clips nothing.")
            return []
        if name in used:
            message = f"The clip #{name} refers to itself ({clip.path})."
            raise not_svg(message, "Correct the clip-path references.")
        matrix = place.matrix @ matrix_of(clip, place, self._report)
        if clip.attributes.get("clipPathUnits", "").strip() == "objectBoundingBox":
            box = box_of()
            if box is None:
                return [[]]
            matrix = matrix @ box.from_unit
        outer = self.layers(clip, place, box_of, (*used, name))
        inner = replace(place, matrix=matrix, style=standing(clip, place.frame, self._report))
        found: Layer = []
        nested: list[tuple[Layer, list[Layer | Json]]] = []
        for child in clip.children:
            paths, below = self._child(child, inner, (*used, name))
            found.extend(paths)
            if paths:
                nested.append((paths, below))
        if len(nested) == 1:
            return [*outer, *nested[0][1], found]
        if any(below for _, below in nested):
            return [*outer, self._united(nested)]
        return [*outer, found]

    def around(self, nodes: list[Json], layer: Layer | Json, **members: Any) -> Json:
        """Return a group of nodes cut by one layer."""
        kind: Json
        if isinstance(layer, dict):
            mask: Json = {"art": layer, "clip": True, "invert": False, "disabled": False, "linked": True}
            kind = {"type": "group", "children": nodes, "clip": False}
            return self._emitter.node(kind, **{**members, "mask": {**mask, "luminance": False}})
        kind = {"type": "group", "children": [self.shape_of(layer), *nodes], "clip": True}
        return self._emitter.node(kind, **members)

    def _united(self, nested: list[tuple[Layer, list[Layer | Json]]]) -> Json:
        """Return art whose alpha is the union of shapes that are clipped one by one: no path says that exactly."""
        found: list[Json] = []
        for paths, below in nested:
            nodes = [{**path, "appearance": {"items": [_OPAQUE]}} for path in paths]
            for layer in reversed(below):
                nodes = [self.around(nodes, layer)]
            found.extend(nodes)
        return self._emitter.node({"type": "group", "children": found, "clip": False})

    def shape_of(self, layer: Layer) -> Json:
        """Return the node that stands first in a clip group."""
        if len(layer) == 1:
            return layer[0]
        kind: Json = {"type": "compound", "children": layer, "rule": "NonZero", "countermark": {"union": True}}
        return self._emitter.node(kind)

    def _child(self, child: Element, place: Place, used: tuple[str, ...]) -> tuple[Layer, list[Layer | Json]]:
        """Return the paths a clip's child adds, and the clips on the child itself."""
        if child.tag in _TEXT:
            self._report.loss("text", child, "Text in a clip is not carried over, so it does not clip.")
            return [], []
        if child.tag not in {*shape.SHAPES, "use"} or not is_shown(child):
            return [], []
        style = computed(child, place.style, place.frame, self._report)
        inner = replace(place, matrix=place.matrix @ matrix_of(child, place, self._report), style=style)
        if child.tag == "use":
            return self._used(child, inner, used)
        path = shape.geometry(child, inner.units, self._report)
        if path is None or not style.visible or inner.matrix.determinant == 0:
            return [], []
        drawn = self._emitter.path(path, inner.matrix)
        kind: Json = {"type": "path", "path": drawn}
        if style.clip_even_odd:
            kind["rule"] = "EvenOdd"
        kind["clipping"] = True
        return [self._emitter.node(kind)], self.layers(child, inner, lambda: bounds(path), used)

    def _used(self, child: Element, place: Place, used: tuple[str, ...]) -> tuple[Layer, list[Layer | Json]]:
        """Return what a `use` adds: in a clip it points straight at a shape, anything else adds nothing."""
        target = self._ids.get(child.href or "")
        if target is None or target.tag not in {*shape.SHAPES, *_TEXT}:
            self._report.note("missing-reference", child, "A use in a clip that is not of a shape adds nothing.")
            return [], []
        paths, below = self._child(target, replace(place, matrix=place.matrix @ shifted(child, place)), used)
        return paths, [*self.layers(child, place, lambda: None, used), *below]


def matrix_of(element: Element, place: Place, report: Report) -> Matrix:
    """Return an element's own transform about its `transform-origin`; a list with a fault counts for nothing."""
    said = own(element, "transform")
    if said is None:
        return IDENTITY
    found = transform(said, place.units)
    if found is None:
        report.note("transform", element, f"The transform {said[:60]!r} has a fault and counts for nothing.")
        return IDENTITY
    centre = own(element, "transform-origin")
    point = origin(centre, place.units) if centre is not None else None
    return found if point is None else found.about(*point)


def shifted(element: Element, place: Place) -> Matrix:
    """Return the move that `x` and `y` of a `use` or an inner `svg` ask for."""
    units = place.units
    x = length(element.attributes.get("x"), units, units.width) or 0.0
    y = length(element.attributes.get("y"), units, units.height) or 0.0
    return Matrix(e=x, f=y)
