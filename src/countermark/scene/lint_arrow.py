"""Arrows that cross what they have nothing to do with, and arrows that end beside a shape without holding on to it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from countermark.scene.binding import END, START, can_hold, target_of
from countermark.scene.curve import path
from countermark.scene.document import Element, kind_of
from countermark.scene.drawing import Bounds, Drawing, area, inside, meeting
from countermark.scene.finding import Finding, update
from countermark.scene.line import plain
from countermark.scene.outline import Point, distance
from countermark.scene.relation import container_of
from countermark.scene.vocabulary import FRAMES, SHAPES

_ENDS: Final = ((START, "start", 0), (END, "end", -1))
_REACH: Final = 16.0
"""In px: an end that is no farther outside an outline is meant to be there."""

_INSIDE: Final = 6.0
"""In px: an end that is farther inside points at something in there."""

_DEPTH: Final = 4.0
"""In px: how deep inside an outline a line must run to cross the shape."""

_STEP: Final = 3.0
_LEAST: Final = 12.0
"""In px: a shorter way through a shape is a touch."""

_AROUND: Final = 24.0
_ROOM: Final = 48.0
"""In px: so much there must be before and behind what an arrow is led around, or its head has no line to stand on."""

_WRITTEN: Final = 0.8
"""Of a text's length: an arrow that is longer may have it written on it."""


def through(drawing: Drawing) -> Iterator[Finding]:
    """Yield the arrows that run through a shape, a picture or a text that they do not belong to."""
    arrows = [(name, drawing.bounds[name]) for name, _ in drawing.of(("arrow",))]
    obstacles = [
        (name, drawing.bounds[name])
        for name, element in drawing.of((*SHAPES, "image", "text"))
        if not container_of(element)
    ]
    for name, other in _in_order(drawing, meeting(arrows, obstacles)):
        arrow, element, bounds = drawing.elements[name], drawing.elements[other], drawing.bounds[other]
        points = path(arrow)
        if other in _bound(arrow) or drawing.together(name, other):
            continue
        if any(inside(bounds, points[place], _REACH) for place in (0, -1)) or _written_on(arrow, element, bounds):
            continue
        if _way_through(points, element, bounds) < _LEAST:
            continue
        message = f"{_sentence(drawing.called(name))} runs through {drawing.called(other)}."
        yield Finding("arrow-through", message, (name, other), _around(drawing, name, points, bounds))


def unattached(drawing: Drawing) -> Iterator[Finding]:
    """Yield the arrows that end at a shape without being attached to it: they stay behind when it is moved."""
    targets = [
        (name, drawing.bounds[name])
        for name, element in drawing.elements.items()
        if can_hold(element) and kind_of(element) not in FRAMES and kind_of(element) != "text"
    ]
    near: dict[tuple[str, str], list[str]] = {}
    for end, _, place in _ENDS:
        free = [
            (name, path(arrow)[place]) for name, arrow in drawing.of(("arrow",)) if target_of(arrow.get(end)) is None
        ]
        spots = [(name, (x - _REACH, y - _REACH, x + _REACH, y + _REACH)) for name, (x, y) in free]
        for name, target in meeting(spots, targets):
            near.setdefault((name, end), []).append(target)
    for name in dict.fromkeys(name for name in drawing.elements if (name, START) in near or (name, END) in near):
        arrow = drawing.elements[name]
        points = path(arrow)
        found: list[tuple[str, str, str]] = []
        for end, noun, place in _ENDS:
            nearest = _nearest(drawing, points[place], points[-1 - place], near.get((name, end), ()))
            if nearest is not None and not drawing.together(name, nearest):
                found.append((end, noun, nearest))
        apart = {target for _, _, target in found}
        if not found or len(apart) < len(found) or apart & _bound(arrow):
            continue
        where = " and ".join(f"{noun}s at {drawing.called(target)}" for _, noun, target in found)
        message = f"{_sentence(drawing.called(name))} {where} without being attached: it will not follow."
        patch = {"startElementId" if end == START else "endElementId": target for end, _, target in found}
        elements = (name, *(target for _, _, target in found))
        yield Finding("arrow-unattached", message, elements, (update(name, **patch),))


def _in_order(drawing: Drawing, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    places = {name: place for place, name in enumerate(drawing.elements)}
    return sorted(pairs, key=lambda pair: (places[pair[0]], places[pair[1]]))


def _bound(arrow: Element) -> set[str | None]:
    return {target_of(arrow.get(end)) for end, _, _ in _ENDS}


def _nearest(drawing: Drawing, point: Point, other: Point, targets: Iterable[str]) -> str | None:
    """Return the shape whose outline an end is at, the smallest where there are several.

    A shape in which the whole arrow lies is what it is drawn on, not what it points at.
    """
    found: list[tuple[float, str]] = []
    for name in targets:
        element = drawing.elements[name]
        if -_INSIDE <= distance(element, point) <= _REACH and distance(element, other) >= -_REACH:
            found.append((area(drawing.bounds[name]), name))
    return min(found)[1] if found else None


def _written_on(arrow: Element, text: Element, bounds: Bounds) -> bool:
    """Say whether a text is written on an arrow, as a label that is not bound to it."""
    if kind_of(text) != "text":
        return False
    points = path(arrow)
    length = max(math.dist(one, other) for one, other in pairwise(points))
    return length > _WRITTEN * max(bounds[2] - bounds[0], bounds[3] - bounds[1])


def _way_through(points: list[Point], element: Element, bounds: Bounds) -> float:
    """Return how far a line runs inside an outline."""
    inner = 0.0
    for (ax, ay), (bx, by) in pairwise(points):
        if max(ax, bx) < bounds[0] or min(ax, bx) > bounds[2] or max(ay, by) < bounds[1] or min(ay, by) > bounds[3]:
            continue
        length = math.dist((ax, ay), (bx, by))
        steps = max(2, min(400, math.ceil(length / _STEP)))
        for step in range(steps):
            share = (step + 0.5) / steps
            if distance(element, (ax + (bx - ax) * share, ay + (by - ay) * share)) < -_DEPTH:
                inner += length / steps
    return inner


def _around(drawing: Drawing, name: str, points: list[Point], bounds: Bounds) -> tuple[dict[str, object], ...]:
    """Return the operation that leads a straight arrow around a shape, on its shorter free side."""
    arrow = drawing.elements[name]
    if len(points) != 2 or arrow.get("elbowed"):  # noqa: PLR2004 - a bent arrow was led by somebody
        return ()
    start, end = points
    level = abs(end[0] - start[0]) >= abs(end[1] - start[1])
    axis = 0 if level else 1
    low, high = sorted((start[axis], end[axis]))
    if bounds[axis] - low < _ROOM or high - bounds[axis + 2] < _ROOM:
        return ()
    left, top, right, bottom = bounds[0] - _AROUND, bounds[1] - _AROUND, bounds[2] + _AROUND, bounds[3] + _AROUND
    corners = (
        [[(left, top), (right, top)], [(left, bottom), (right, bottom)]]
        if level
        else [[(left, top), (left, bottom)], [(right, top), (right, bottom)]]
    )
    ways = []
    for way in corners:
        if (end[0] - start[0] if level else end[1] - start[1]) < 0:
            way.reverse()
        line = [start, *way, end]
        if not _blocked(drawing, name, line):
            ways.append((sum(math.dist(*pair) for pair in pairwise(line)), line))
    if not ways:
        return ()
    _, line = min(ways)
    x, y = start
    return (update(name, points=[[plain(px - x), plain(py - y)] for px, py in line]),)


def _blocked(drawing: Drawing, name: str, line: list[Point]) -> bool:
    targets = _bound(drawing.elements[name])
    for other, element in drawing.of((*SHAPES, "image", "text")):
        bounds = drawing.bounds[other]
        if other in targets or container_of(element) in targets | {name}:
            continue
        if inside(bounds, line[0], _REACH) or inside(bounds, line[-1], _REACH):
            continue
        if _way_through(line, element, bounds) >= _STEP:
            return True
    return False


def _sentence(name: str) -> str:
    return name[:1].upper() + name[1:]
