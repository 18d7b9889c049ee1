"""Where an element's outline runs: distance to it, and where a line meets it at a gap (research §2.1).

All bindable shapes are convex and symmetric about both of their own axes, so a point is turned into the element's
frame and folded into one quarter; there the outline is a side, a corner and a side.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from countermark.scene.number import is_measure

Point = tuple[float, float]
Element = Mapping[str, Any]

_PROPORTION: Final = 0.25
_ADAPTIVE: Final = 32.0
_STEPS: Final = 16
"""Chords by which a rounded corner is followed: its arc is then off by less than 0.05 px at the largest radius."""
_CLOSE: Final = 1e-6
"""In px: nothing that is drawn is finer."""


@dataclass(frozen=True, slots=True)
class Box:
    """An element's own frame: centre, half width, half height, angle in radians."""

    cx: float
    cy: float
    hx: float
    hy: float
    angle: float

    @property
    def centre(self) -> Point:
        """Return the centre in scene coordinates."""
        return self.cx, self.cy

    def inside(self, point: Point) -> Point:
        """Return a scene point in the frame, with the centre as origin and the axes along the sides."""
        dx, dy = point[0] - self.cx, point[1] - self.cy
        if not self.angle:
            return dx, dy
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        return dx * cos + dy * sin, dy * cos - dx * sin

    def outside(self, point: Point) -> Point:
        """Return a point of the frame in scene coordinates."""
        if not self.angle:
            return self.cx + point[0], self.cy + point[1]
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        return self.cx + point[0] * cos - point[1] * sin, self.cy + point[1] * cos + point[0] * sin

    def bounds(self) -> tuple[float, float, float, float]:
        """Return left, top, right, bottom of the turned rectangle."""
        cos, sin = abs(math.cos(self.angle)), abs(math.sin(self.angle))
        wide, high = self.hx * cos + self.hy * sin, self.hx * sin + self.hy * cos
        return self.cx - wide, self.cy - high, self.cx + wide, self.cy + high


def box(element: Element) -> Box:
    """Return the frame of an element that has a width and a height."""
    hx, hy = element["width"] / 2, element["height"] / 2
    return Box(element["x"] + hx, element["y"] + hy, abs(hx), abs(hy), element.get("angle") or 0.0)


def distance(element: Element, point: Point) -> float:
    """Return how far a scene point lies outside the outline, in px; negative inside."""
    return _Quarter(element).distance(point)


def crossing(element: Element, outside: Point, aim: Point, gap: float) -> Point | None:
    """Return where the way from `outside` to `aim` comes within `gap` of the outline.

    None if `outside` is that close already, or the way never comes so near.
    """
    quarter = _Quarter(element)
    frame = quarter.box
    (px, py), (qx, qy) = frame.inside(outside), frame.inside(aim)
    dx, dy = qx - px, qy - py
    share = _entry(px, dx, frame.hx + gap), _entry(py, dy, frame.hy + gap)
    begin = max(share)
    length = math.hypot(dx, dy)
    if begin > 1 or not length:
        return None
    far = quarter.folded(abs(px + begin * dx), abs(py + begin * dy)) - gap
    if begin == 0 and far <= 0:
        return None
    # Along a line the distance to a convex outline is a convex function: chords from outside never overshoot, and the
    # distance itself is a first step that cannot.
    last, step = begin, far / length
    while far > _CLOSE:
        here = last + step
        if here > 1:
            return None
        now = quarter.folded(abs(px + here * dx), abs(py + here * dy)) - gap
        if now >= far:
            return None
        step = now * (here - last) / (far - now)
        last, far = here, now
    return frame.outside((px + last * dx, py + last * dy))


def _entry(start: float, way: float, half: float) -> float:
    """Return the share of a way after which one coordinate is within `half` of the axis; above 1 if never."""
    if abs(start) <= half:
        return 0.0
    return (abs(start) - half) / abs(way) if start * way < 0 else math.inf


class _Quarter:
    """One quarter of an outline."""

    def __init__(self, element: Element) -> None:
        self.box = frame = box(element)
        self.kind = element["type"]
        self.radius = 0.0
        self.path: list[Point] = []
        if self.kind == "diamond":
            self.path = _diamond(element, frame.hx, frame.hy)
        elif self.kind != "ellipse":
            self.radius = _radius(min(frame.hx, frame.hy) * 2, element)

    def distance(self, point: Point) -> float:
        x, y = self.box.inside(point)
        return self.folded(abs(x), abs(y))

    def folded(self, x: float, y: float) -> float:
        """Return the distance of a point of the frame whose coordinates are positive."""
        hx, hy, radius = self.box.hx, self.box.hy, self.radius
        if self.kind == "ellipse":
            return _from_ellipse(x, y, hx, hy)
        if self.kind == "diamond":
            return _from_path(x, y, self.path)
        if x <= hx - radius or y <= hy - radius:
            return max(x - hx, y - hy)
        if not radius:
            return math.hypot(x - hx, y - hy)
        if not self.path:
            self.path = _corner(hx, hy, radius)
        return _from_path(x, y, self.path)


def _corner(hx: float, hy: float, radius: float) -> list[Point]:
    """Return a rounded corner: a quadratic curve, as the editor draws it, whose control point is the corner itself."""
    shares = [step / _STEPS for step in range(_STEPS + 1)]
    return [(hx - radius * t * t, hy - radius * (1 - t) * (1 - t)) for t in shares]


def _diamond(element: Element, hx: float, hy: float) -> list[Point]:
    if not element.get("roundness"):
        return [(hx, 0.0), (0.0, hy)]
    along, down = _radius(hx, element), _radius(hy, element)
    right, bottom = [], []
    for step in range(_STEPS // 2 + 1):
        # A corner is a cubic curve with both control points in the tip; half of each lies in this quarter.
        t = 0.5 + step / _STEPS
        away, back = t**3, (1 - t) ** 3
        right.append((hx - along * (away + back), down * (away - back)))
        bottom.append((along * (away - back), hy - down * (away + back)))
    return [*right, *reversed(bottom)]


def _radius(side: float, element: Element) -> float:
    roundness = element.get("roundness")
    if not isinstance(roundness, Mapping):
        return 0.0
    kind = roundness.get("type")
    if kind in (1, 2):
        return side * _PROPORTION
    if kind == 3:  # noqa: PLR2004 - the format's number for adaptive corners
        fixed = roundness.get("value")
        fixed = float(fixed) if is_measure(fixed) and fixed >= 0 else _ADAPTIVE
        return side * _PROPORTION if side <= fixed / _PROPORTION else fixed
    return 0.0


def _from_path(x: float, y: float, path: list[Point]) -> float:
    best, outside = math.inf, False
    ax, ay = path[0]
    for bx, by in path[1:]:
        ex, ey = bx - ax, by - ay
        px, py = x - ax, y - ay
        length = ex * ex + ey * ey
        if length:
            share = (px * ex + py * ey) / length
            share = 0.0 if share < 0 else min(share, 1.0)
            dx, dy = px - share * ex, py - share * ey
            best = min(best, dx * dx + dy * dy)
            # The path runs clockwise on a screen, so what lies outside is on its left.
            outside = outside or ex * py - ey * px < 0
        ax, ay = bx, by
    away = math.sqrt(best)
    return away if outside else -away


def _from_ellipse(x: float, y: float, a: float, b: float) -> float:
    """Return the distance to an ellipse's quarter by walking along its evolute, which settles in a few steps."""
    if not a or not b:
        return math.hypot(max(x - a, 0.0), max(y - b, 0.0))
    tx = ty = math.sqrt(0.5)
    for _ in range(8):
        ex, ey = (a * a - b * b) * tx**3 / a, (b * b - a * a) * ty**3 / b
        rx, ry, qx, qy = a * tx - ex, b * ty - ey, x - ex, y - ey
        reach = math.hypot(rx, ry)
        length = math.hypot(qx, qy)
        if not length:
            break
        nx = min(1.0, max(0.0, (qx * reach / length + ex) / a))
        ny = min(1.0, max(0.0, (qy * reach / length + ey) / b))
        norm = math.hypot(nx, ny)
        moved = abs(nx / norm - tx) + abs(ny / norm - ty)
        tx, ty = nx / norm, ny / norm
        if moved < _CLOSE:
            break
    away = math.hypot(a * tx - x, b * ty - y)
    return away if (x / a) ** 2 + (y / b) ** 2 > 1 else -away
