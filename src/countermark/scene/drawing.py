"""A scene as somebody sees it: what is where, what lies in what, what belongs together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from countermark.scene.curve import path
from countermark.scene.document import Element, Scene, kind_of
from countermark.scene.env import Env
from countermark.scene.label import metrics
from countermark.scene.naming import Names
from countermark.scene.outline import Box, Point, box
from countermark.scene.relation import is_sound
from countermark.scene.touch import is_live, keyed
from countermark.scene.vocabulary import FRAMES, SHAPES

Bounds = tuple[float, float, float, float]
"""Left, top, right, bottom, in scene px."""

_LINES: Final = frozenset({"arrow", "line", "draw"})


class Drawing:
    """The live elements of a scene that have a place, in drawing order; of those that share an id, the first."""

    def __init__(self, scene: Scene, env: Env) -> None:
        """Look at a scene; texts are measured, since a stored width may be somebody's guess."""
        self._env = env
        found = keyed(scene.elements)
        self.names = Names(found)
        self.elements: dict[str, Element] = {
            key[0]: element
            for key, element in found.items()
            if key[0] is not None and not key[1] and is_live(element) and is_sound(element)
        }

    def of(self, kinds: Iterable[str]) -> Iterator[tuple[str, Element]]:
        """Yield the elements of some types, with their ids."""
        wanted = frozenset(kinds)
        for name, element in self.elements.items():
            if kind_of(element) in wanted:
                yield name, element

    def called(self, name: str) -> str:
        """Return what an element is called in front of a person."""
        return self.names.of((name, 0))

    @cached_property
    def bounds(self) -> Mapping[str, Bounds]:
        """Where each element lies."""
        return {
            name: self._written(element) if kind_of(element) == "text" else bounds_of(element)
            for name, element in self.elements.items()
        }

    def written(self, text: Element) -> tuple[float, float]:
        """Return how wide and how high a text's lines are as they are drawn."""
        family, size, spacing = metrics(text)
        words = text.get("text")
        found = self._env.measure(words if isinstance(words, str) else "", family, size, spacing)
        return found.width, found.height

    def _written(self, text: Element) -> Bounds:
        """Return where a text's lines lie: from the top of its box, at the side that they are aligned to."""
        frame = box(text)
        width, height = self.written(text)
        free = text["width"] - width
        side = {"center": 0.0, "right": free / 2}.get(str(text.get("textAlign") or "left"), -free / 2)
        cx, cy = frame.outside((side, (height - text["height"]) / 2))
        return Box(cx, cy, width / 2, height / 2, frame.angle).bounds()

    def label(self, name: str) -> Element | None:
        """Return the text that is bound to an element."""
        key = self.names.label((name, 0))
        return self.elements.get(key[0] or "") if key is not None else None

    def together(self, *names: str) -> bool:
        """Say whether elements belong to one group: somebody put them over each other on purpose."""
        groups = [self._groups(name) for name in names]
        return bool(groups) and bool(frozenset.intersection(*groups))

    def _groups(self, name: str) -> frozenset[str]:
        groups = self.elements[name].get("groupIds")
        return frozenset(one for one in groups if isinstance(one, str)) if isinstance(groups, list) else frozenset()

    def background(self, name: str) -> bool:
        """Say whether an element lies behind others: a frame, or a shape that holds two or more of them."""
        element = self.elements[name]
        return kind_of(element) in FRAMES or (kind_of(element) in SHAPES and self._held.get(name, 0) > 1)

    @cached_property
    def _held(self) -> dict[str, int]:
        """How many shapes and pictures lie wholly in each shape."""
        shapes = [(name, self.bounds[name]) for name, _ in self.of(SHAPES)]
        inner = shapes + [(name, self.bounds[name]) for name, _ in self.of(("image",))]
        found: dict[str, int] = {}
        for one, other in overlapping(inner):
            for name, holder in ((one, other), (other, one)):
                if holds(self.bounds[holder], self.bounds[name]) and self.bounds[holder] != self.bounds[name]:
                    found[holder] = found.get(holder, 0) + 1
        return found


def bounds_of(element: Mapping[str, Any]) -> Bounds:
    """Return where an element lies, turned as it is; of a line, where its points lie."""
    if kind_of(element) in _LINES:
        points = path(element)
        xs, ys = [x for x, _ in points], [y for _, y in points]
        return min(xs), min(ys), max(xs), max(ys)
    return box(element).bounds()


def overlapping(placed: Iterable[tuple[str, Bounds]]) -> Iterator[tuple[str, str]]:
    """Yield the pairs whose bounds share an area, each once."""
    waiting: list[tuple[str, Bounds]] = []
    for name, bounds in sorted(placed, key=lambda one: one[1][0]):
        waiting = [one for one in waiting if one[1][2] > bounds[0]]
        for other, there in waiting:
            if there[1] < bounds[3] and bounds[1] < there[3]:
                yield other, name
        waiting.append((name, bounds))


def meeting(ones: Iterable[tuple[str, Bounds]], others: Iterable[tuple[str, Bounds]]) -> Iterator[tuple[str, str]]:
    """Yield the pairs, one of the first and one of the others, whose bounds share an area or a way."""
    waiting: tuple[list[tuple[str, Bounds]], ...] = ([], [])
    placed = [(bounds[0], 0, name, bounds) for name, bounds in ones]
    placed += [(bounds[0], 1, name, bounds) for name, bounds in others]
    for left, side, name, bounds in sorted(placed):
        across = waiting[1 - side]
        across[:] = [one for one in across if one[1][2] >= left]
        for other, there in across:
            if there[1] <= bounds[3] and bounds[1] <= there[3]:
                yield (name, other) if side == 0 else (other, name)
        waiting[side].append((name, bounds))


def holds(outer: Bounds, inner: Bounds, slack: float = 0) -> bool:
    """Say whether bounds lie in others, but for some px."""
    left, top, right, bottom = outer
    return (
        left - slack <= inner[0]
        and top - slack <= inner[1]
        and inner[2] <= right + slack
        and inner[3] <= bottom + slack
    )


def shared(one: Bounds, other: Bounds) -> tuple[float, float]:
    """Return width and height of what two bounds share; not above 0 where they share nothing."""
    return min(one[2], other[2]) - max(one[0], other[0]), min(one[3], other[3]) - max(one[1], other[1])


def area(bounds: Bounds) -> float:
    """Return the area of bounds."""
    return max(0.0, bounds[2] - bounds[0]) * max(0.0, bounds[3] - bounds[1])


def inside(bounds: Bounds, point: Point, slack: float = 0) -> bool:
    """Say whether a point lies in bounds, but for some px."""
    return bounds[0] - slack <= point[0] <= bounds[2] + slack and bounds[1] - slack <= point[1] <= bounds[3] + slack
