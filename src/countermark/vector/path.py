"""Paths: subpaths of anchors with absolute handles, as the native document holds them.

An anchor is `{p: [x, y], in?: [x, y], out?: [x, y], kind?: "Smooth"}`; a handle that equals its point is left out.
A segment runs from one anchor's `out` to the next one's `in`: straight where both are absent, a cubic otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from countermark.vector.affine import Box, Matrix, Point
from countermark.vector.container import Json


def point_of(value: Any) -> Point:
    """Read a point written as `[x, y]` or, before version 2 of the format, as `{x, y}`."""
    if isinstance(value, dict):
        return (value["x"], value["y"])
    return (value[0], value[1])


def segments(subpath: Json) -> Iterator[tuple[Point, Point | None, Point | None, Point]]:
    """Yield each segment as start, control, control, end; both controls are None on a straight line."""
    anchors = subpath["anchors"]
    count = len(anchors)
    for index in range(count if subpath.get("closed") else count - 1):
        here, there = anchors[index], anchors[(index + 1) % count]
        start, end = point_of(here["p"]), point_of(there["p"])
        out = point_of(here["out"]) if "out" in here else start
        into = point_of(there["in"]) if "in" in there else end
        yield (start, None, None, end) if out == start and into == end else (start, out, into, end)


def bounds(path: Json) -> Box | None:
    """Return the exact box of a path's geometry without its stroke; None when it has no point."""
    xs: list[float] = []
    ys: list[float] = []
    for subpath in path["subpaths"]:
        for anchor in subpath["anchors"]:
            x, y = point_of(anchor["p"])
            xs.append(x)
            ys.append(y)
        for start, out, into, end in segments(subpath):
            if out is not None and into is not None:
                xs.extend(_extremes(start[0], out[0], into[0], end[0]))
                ys.extend(_extremes(start[1], out[1], into[1], end[1]))
    return Box(min(xs), min(ys), max(xs), max(ys)) if xs else None


def transformed(path: Json, matrix: Matrix) -> Json:
    """Return a path with every point mapped; other members of its anchors and subpaths are kept."""
    return {**path, "subpaths": [_mapped_subpath(subpath, matrix) for subpath in path["subpaths"]]}


def with_point_lists(node: Json) -> Json:
    """Return a node whose anchors are written as since version 2: `[x, y]`, handles and kind only where they say more.

    A node without a path is returned as it is.
    """
    kind = node["kind"]
    path = kind.get("path")
    if kind.get("type") != "path" or not isinstance(path, dict):
        return node
    subpaths = [
        {**subpath, "anchors": [_compact(anchor) for anchor in subpath["anchors"]]} for subpath in path["subpaths"]
    ]
    return {**node, "kind": {**kind, "path": {**path, "subpaths": subpaths}}}


def _compact(anchor: Json) -> Json:
    found = dict(anchor)
    point = point_of(anchor["p"])
    found["p"] = list(point)
    for name in ("in", "out"):
        if name in anchor:
            handle = point_of(anchor[name])
            if handle == point:
                del found[name]
            else:
                found[name] = list(handle)
    if found.get("kind") == "Corner":
        del found["kind"]
    return found


def _mapped_subpath(subpath: Json, matrix: Matrix) -> Json:
    a, b, c, d, e, f = matrix
    anchors = []
    for anchor in subpath["anchors"]:
        moved = dict(anchor)
        for name in ("p", "in", "out"):
            if name in anchor:
                x, y = point_of(anchor[name])
                moved[name] = [a * x + c * y + e, b * x + d * y + f]
        anchors.append(moved)
    return {**subpath, "anchors": anchors}


def _extremes(start: float, out: float, into: float, end: float) -> list[float]:
    """Return the values of one coordinate where a cubic turns round."""
    low, high = min(start, end), max(start, end)
    if low <= out <= high and low <= into <= high:
        return []
    a = end - 3 * into + 3 * out - start
    b = 2 * (into - 2 * out + start)
    c = out - start
    found = []
    for t in _roots(a, b, c):
        if 0 < t < 1:
            u = 1 - t
            found.append(u * u * u * start + 3 * u * u * t * out + 3 * u * t * t * into + t * t * t * end)
    return found


def _roots(a: float, b: float, c: float) -> list[float]:
    """Return the real roots of a·t² + b·t + c, without losing one to cancellation."""
    if a == 0:
        return [-c / b] if b != 0 else []
    inside = b * b - 4 * a * c
    if inside < 0:
        return []
    q = -(b + math.copysign(math.sqrt(inside), b)) / 2
    return [q / a, c / q] if q != 0 else [0.0]
