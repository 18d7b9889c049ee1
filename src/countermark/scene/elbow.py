"""Arrows with right angles: which side they leave, and a short way between with few corners.

The editor routes anew when somebody drags a target; this gives it a sound way to start from.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from countermark.scene.outline import Box, Point

Bounds = tuple[float, float, float, float]
Heading = tuple[int, int]

RIGHT: Final[Heading] = (1, 0)
DOWN: Final[Heading] = (0, 1)
LEFT: Final[Heading] = (-1, 0)
UP: Final[Heading] = (0, -1)
_HEADINGS: Final = (RIGHT, DOWN, LEFT, UP)
_STUB: Final = 40.0
_SHORTEST_STUB: Final = 10.0
_CORNER: Final = 1_000.0
"""What a corner costs, in px: a longer way is better than a further corner."""
_SAME: Final = 1e-6


@dataclass(frozen=True, slots=True)
class End:
    """Where an arrow begins or ends; on a target it leaves it in a direction, and must not cross it."""

    point: Point
    heading: Heading | None = None
    bounds: Bounds | None = None


def facing(bounds: Bounds, other: Bounds) -> Heading:
    """Return the direction from one rectangle to another along which they are farther apart."""
    right, left = other[0] - bounds[2], bounds[0] - other[2]
    down, up = other[1] - bounds[3], bounds[1] - other[3]
    farthest = max(right, left, down, up)
    if farthest in (right, left):
        return RIGHT if right >= left else LEFT
    return DOWN if down >= up else UP


def leaving(frame: Box, fixed: Sequence[float]) -> Heading:
    """Return the direction in which a point of a target, given as a ratio, leaves it; turned targets included."""
    x, y = (2 * fixed[0] - 1), (2 * fixed[1] - 1)
    local = (math.copysign(1, x), 0.0) if abs(x) >= abs(y) else (0.0, math.copysign(1, y))
    centre = frame.centre
    out = frame.outside(local)
    dx, dy = out[0] - centre[0], out[1] - centre[1]
    if abs(dx) >= abs(dy):
        return RIGHT if dx > 0 else LEFT
    return DOWN if dy > 0 else UP


def route(start: End, end: End) -> list[Point]:
    """Return the corners of a way with right angles from one end to the other."""
    stub = _stub(start, end)
    first, last = _ahead(start, stub), _ahead(end, stub)
    xs = sorted({first[0], last[0], (first[0] + last[0]) / 2, *_around(start, end, 0, stub)})
    ys = sorted({first[1], last[1], (first[1] + last[1]) / 2, *_around(start, end, 1, stub)})
    walls = [one.bounds for one in (start, end) if one.bounds is not None]
    way = _search(xs, ys, first, last, start.heading, end.heading, walls)
    return _joined([start.point, *way, end.point])


def _stub(start: End, end: End) -> float:
    if start.bounds is None or end.bounds is None:
        return _STUB
    apart = max(
        end.bounds[0] - start.bounds[2],
        start.bounds[0] - end.bounds[2],
        end.bounds[1] - start.bounds[3],
        start.bounds[1] - end.bounds[3],
    )
    return max(_SHORTEST_STUB, min(_STUB, apart / 2)) if apart > 0 else _STUB


def _ahead(end: End, stub: float) -> Point:
    if end.heading is None or end.bounds is None:
        return end.point
    x, y = end.point
    left, top, right, bottom = end.bounds
    # The stub is measured from the rectangle around the target, so that the way runs clear of it.
    return {
        RIGHT: (max(x, right + stub), y),
        LEFT: (min(x, left - stub), y),
        DOWN: (x, max(y, bottom + stub)),
        UP: (x, min(y, top - stub)),
    }[end.heading]


def _around(start: End, end: End, axis: int, stub: float) -> list[float]:
    return [
        side
        for one in (start, end)
        if one.bounds is not None
        for side in (one.bounds[axis] - stub, one.bounds[axis + 2] + stub)
    ]


def _search(
    xs: list[float],
    ys: list[float],
    first: Point,
    last: Point,
    leave: Heading | None,
    arrive: Heading | None,
    walls: list[Bounds],
) -> list[Point]:
    """Return the cheapest way on a grid of lines; straight across when every way is walled in."""
    goal = xs.index(last[0]), ys.index(last[1])
    begin = xs.index(first[0]), ys.index(first[1])
    into = None if arrive is None else (-arrive[0], -arrive[1])
    waiting: list[tuple[float, int, tuple[int, int], Heading | None, tuple[Point, ...]]] = []
    heapq.heappush(waiting, (0.0, 0, begin, leave, (first,)))
    seen: set[tuple[tuple[int, int], Heading | None]] = set()
    count = 0
    while waiting:
        cost, _, node, heading, way = heapq.heappop(waiting)
        if node == goal and cost < math.inf and (into is None or heading in (into, None) or len(way) == 1):
            return list(way)
        if (node, heading) in seen:
            continue
        seen.add((node, heading))
        if node == goal and into is not None and heading is not None and heading != (-into[0], -into[1]):
            count += 1
            heapq.heappush(waiting, (cost + _CORNER, count, node, into, way))
        for turn in _HEADINGS:
            if heading is not None and turn == (-heading[0], -heading[1]):
                continue
            column, row = node[0] + turn[0], node[1] + turn[1]
            if not (0 <= column < len(xs) and 0 <= row < len(ys)):
                continue
            here, there = (xs[node[0]], ys[node[1]]), (xs[column], ys[row])
            if any(_crosses(here, there, wall) for wall in walls):
                continue
            count += 1
            price = cost + math.dist(here, there) + (_CORNER if heading not in (None, turn) else 0)
            heapq.heappush(waiting, (price, count, (column, row), turn, (*way, there)))
    return [first, (last[0], first[1]), last]


def _crosses(one: Point, other: Point, wall: Bounds) -> bool:
    left, right = sorted((one[0], other[0]))
    top, bottom = sorted((one[1], other[1]))
    return right > wall[0] + _SAME and left < wall[2] - _SAME and bottom > wall[1] + _SAME and top < wall[3] - _SAME


def _joined(points: list[Point]) -> list[Point]:
    """Return a way without repeated points and without points on a straight run."""
    kept: list[Point] = []
    for point in points:
        if kept and math.dist(kept[-1], point) < _SAME:
            continue
        if len(kept) > 1 and _in_line(kept[-2], kept[-1], point):
            kept[-1] = point
            continue
        kept.append(point)
    if len(kept) == 1:
        kept.append((kept[0][0] + _SHORTEST_STUB, kept[0][1]))
    return kept


def _in_line(one: Point, middle: Point, other: Point) -> bool:
    across = abs(one[0] - middle[0]) < _SAME and abs(middle[0] - other[0]) < _SAME
    along = abs(one[1] - middle[1]) < _SAME and abs(middle[1] - other[1]) < _SAME
    return across or along
