"""The middle of a line, where its label stands (research §2.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from countermark.scene.outline import Box, Point

_STEPS: Final = 20


def path(line: Mapping[str, Any]) -> list[Point]:
    """Return a line's points in the scene, turned as the line is.

    A turned line turns about the centre of its points.
    """
    x, y = line["x"], line["y"]
    points = [(x + point[0], y + point[1]) for point in line.get("points") or [(0, 0), (line["width"], line["height"])]]
    angle = line.get("angle") or 0
    if not angle:
        return points
    xs, ys = [px for px, _ in points], [py for _, py in points]
    cx, cy = (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2
    frame = Box(cx, cy, 0, 0, angle)
    return [frame.outside((px - cx, py - cy)) for px, py in points]


def middle(line: Mapping[str, Any]) -> Point:
    """Return the middle of a line: its middle point, or the middle of its middle segment.

    A rounded segment is followed as the smooth curve through the points; the editor follows the hand-drawn stroke of
    it, which lies within the roughness of that.
    """
    points = path(line)
    half = len(points) // 2
    if len(points) % 2:
        return points[half]
    one, other = points[half - 1], points[half]
    if len(points) == 2 or not line.get("roundness"):  # noqa: PLR2004 - a straight line
        return (one[0] + other[0]) / 2, (one[1] + other[1]) / 2
    before, after = points[half - 2], points[half + 1]
    walked = [_smooth(before, one, other, after, step / _STEPS) for step in range(_STEPS + 1)]
    lengths = [math.dist(walked[place], walked[place + 1]) for place in range(_STEPS)]
    left = sum(lengths) / 2
    for place, length in enumerate(lengths):
        if left <= length and length:
            share = left / length
            (ax, ay), (bx, by) = walked[place], walked[place + 1]
            return ax + (bx - ax) * share, ay + (by - ay) * share
        left -= length
    return one


def _smooth(before: Point, one: Point, other: Point, after: Point, t: float) -> Point:
    """Return a point of the curve through four points that rough.js draws between the middle two."""
    first = one[0] + (other[0] - before[0]) / 6, one[1] + (other[1] - before[1]) / 6
    last = other[0] + (one[0] - after[0]) / 6, other[1] + (one[1] - after[1]) / 6
    s = 1 - t
    weights = s**3, 3 * s * s * t, 3 * s * t * t, t**3
    corners = one, first, last, other
    x = sum(weight * corner[0] for weight, corner in zip(weights, corners, strict=True))
    y = sum(weight * corner[1] for weight, corner in zip(weights, corners, strict=True))
    return x, y
