"""Arrows that hold on to shapes: where their ends lie, and bindings in the terms of both generations (research §2.1).

The editor 0.18.1 aims an end by `focus` (the line's signed distance from the target's centre, in half diagonals) and
keeps it `gap` px from the outline; the public site aims at `fixedPoint` (a ratio of the unturned target) and lets
`mode` say whether the end stops at the outline. A binding here carries all of it, so that both drag the arrow alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from countermark.scene import elbow
from countermark.scene.curve import path
from countermark.scene.document import Element, kind_of
from countermark.scene.line import plain, set_points
from countermark.scene.number import is_measure
from countermark.scene.outline import Point, box, crossing
from countermark.scene.vocabulary import BINDABLE

Target = Mapping[str, Any]


class Stop(NamedTuple):
    """Where an arrow's end lies, and how far from the outline; 0 when it goes inside, to what it aims at."""

    point: Point
    gap: float


START: Final = "startBinding"
END: Final = "endBinding"
_GAP: Final = 5
_CLOSEST: Final = 1
_FARTHEST_RATIO: Final = 10
_HALF: Final = 0.5
_BESIDE_HALF: Final = 0.5001
_NEAR_HALF: Final = 0.0001
_NOTHING: Final = 1e-9
_SHORTEST: Final = 10


def can_hold(element: Mapping[str, Any]) -> bool:
    """Say whether an arrow can end at an element; at a text that is somebody's label it cannot."""
    return kind_of(element) in BINDABLE and not element.get("isDeleted") and not element.get("containerId")


def gap_of(target: Target) -> float:
    """Return how far from a target's outline the editor stops an arrow: 5 px and half its stroke."""
    stroke = target.get("strokeWidth")
    return _GAP + (stroke if is_measure(stroke) else 2) / 2


def target_of(binding: Any) -> str | None:
    """Return the id that a stored binding names."""
    name = binding.get("elementId") if isinstance(binding, Mapping) else None
    return name if isinstance(name, str) else None


def attach(arrow: Element, start: Target | None, end: Target | None) -> None:
    """Lay an arrow's bound ends at its targets and write both bindings; changes `arrow`, keeps its inner points.

    A target is None where that end is free. An arrow that is itself turned is straightened first: its points stay
    where they were seen.
    """
    if start is None and end is None:
        return
    points = path(arrow)
    arrow["angle"] = 0
    if arrow.get("elbowed"):
        _attach_elbow(arrow, points, start, end)
        return
    straight = len(points) == 2  # noqa: PLR2004 - two ends
    if straight and start is not None and end is not None:
        one = _aim(start, arrow[START], box(end).centre)
        other = _aim(end, arrow[END], box(start).centre)
        stops = _straight(start, end, one, other, arrow)
        points = [stop.point for stop in stops]
        seen = other, one
    else:
        ahead, behind = points[1], points[-2]
        one = _aim(start, arrow[START], ahead) if start is not None else points[0]
        other = _aim(end, arrow[END], behind) if end is not None else points[-1]
        seen = ahead, behind
        stops = (
            Stop(points[0], 0) if start is None else _stop(start, arrow[START], one, ahead),
            Stop(points[-1], 0) if end is None else _stop(end, arrow[END], other, behind),
        )
        points = [stops[0].point, *points[1:-1], stops[1].point]
    if len(points) == 2 and math.dist(*points) < _NOTHING:  # noqa: PLR2004 - two ends
        points[1] = points[1][0] + _SHORTEST, points[1][1]
    set_points(arrow, points)
    if start is not None:
        arrow[START] = _written(start, arrow[START], one, seen[0], stops[0].gap)
    if end is not None:
        arrow[END] = _written(end, arrow[END], other, seen[1], stops[1].gap)


def fresh(target: str) -> dict[str, Any]:
    """Return a binding that names its target and nothing else; `attach` completes it."""
    return {"elementId": target}


def focus_point(target: Target, focus: float, seen_from: Point) -> Point:
    """Return the point that an arrow with a focus aims at.

    The target's corners, drawn towards its centre by |focus|, are seen from a point; the arrow passes their outermost
    one, on the left or the right by the sign.
    """
    frame = box(target)
    if not focus:
        return frame.centre
    share = abs(focus)
    hx, hy = frame.hx * share, frame.hy * share
    diamond = target["type"] == "diamond"
    corners = (
        [(-hx, 0.0), (0.0, -hy), (hx, 0.0), (0.0, hy)] if diamond else [(-hx, -hy), (hx, -hy), (hx, hy), (-hx, hy)]
    )
    eye = frame.inside(seen_from)
    visible = [
        _cross(corners[place], corners[(place + 1) % 4], eye) < 0  # the corners run clockwise on a screen
        for place in range(4)
    ]
    step = 1 if focus > 0 else -1
    for place in range(4):
        if visible[place] and not visible[(place + step) % 4]:
            return frame.outside(corners[(place + 1) % 4 if focus > 0 else place])
    return frame.outside(corners[0 if focus > 0 else 3])


def focus_of(target: Target, seen_from: Point, aim: Point) -> float:
    """Return the focus of the line from one point through another."""
    frame = box(target)
    ax, ay = frame.inside(seen_from)
    bx, by = frame.inside(aim)
    dx, dy = bx - ax, by - ay
    if math.hypot(dx, dy) < _NOTHING or not frame.hx or not frame.hy:
        return 0.0
    # A diamond is measured along its axes, everything else along its diagonals.
    diamond = target["type"] == "diamond"
    axes = [(frame.hx, 0.0), (0.0, frame.hy)] if diamond else [(frame.hx, frame.hy), (frame.hx, -frame.hy)]
    shares = []
    for ex, ey in axes:
        slope = dx * ey - dy * ex
        if abs(slope) > _NOTHING:
            shares.append(abs((ax * dy - ay * dx) / slope))
    side = dx * by - dy * bx
    return math.copysign(min(shares, default=0.0), -side) if abs(side) > _NOTHING else 0.0


def ratio(target: Target, point: Point) -> list[float]:
    """Return a point as a ratio of the unturned target; exactly one half would make an elbow jump, so never that."""
    frame = box(target)
    x, y = frame.inside(point)
    floor = gap_of(target)
    found = (x + frame.hx) / max(2 * frame.hx, floor), (y + frame.hy) / max(2 * frame.hy, floor)
    return [_beside(max(-_FARTHEST_RATIO, min(_FARTHEST_RATIO, one))) for one in found]


def at_ratio(target: Target, fixed: Sequence[float]) -> Point:
    """Return the point that a ratio names."""
    frame = box(target)
    return frame.outside(((2 * fixed[0] - 1) * frame.hx, (2 * fixed[1] - 1) * frame.hy))


def fixed_of(binding: Any) -> Sequence[float] | None:
    """Return a binding's well-formed ratio."""
    fixed = binding.get("fixedPoint") if isinstance(binding, Mapping) else None
    if isinstance(fixed, list | tuple) and len(fixed) == 2 and all(map(is_measure, fixed)):  # noqa: PLR2004
        return fixed
    return None


def _attach_elbow(arrow: Element, points: list[Point], start: Target | None, end: Target | None) -> None:
    one = elbow.End(points[0]) if start is None else _corner(start, arrow[START], end, points[-1])
    other = elbow.End(points[-1]) if end is None else _corner(end, arrow[END], start, points[0])
    points = elbow.route(one, other)
    set_points(arrow, points)
    arrow |= {"fixedSegments": None, "startIsSpecial": False, "endIsSpecial": False}
    for name, target, stop in ((START, start, one), (END, end, other)):
        if target is not None:
            kept = dict(arrow[name])
            arrow[name] = kept | {"focus": 0, "gap": 0, "fixedPoint": ratio(target, stop.point), "mode": "orbit"}


def _corner(target: Target, binding: Any, other: Target | None, free: Point) -> elbow.End:
    """Return where an elbow arrow leaves a target: where its binding says, or on the side that faces the other end."""
    frame = box(target)
    bounds = frame.bounds()
    fixed = fixed_of(binding)
    if fixed is not None:
        return elbow.End(at_ratio(target, fixed), elbow.leaving(frame, fixed), bounds)
    facing = box(other).bounds() if other is not None else (*free, *free)
    heading = elbow.facing(bounds, facing)
    far = 2 * (frame.hx + frame.hy) + gap_of(target) + 1
    away = frame.cx + heading[0] * far, frame.cy + heading[1] * far
    return elbow.End(crossing(target, away, frame.centre, gap_of(target)) or frame.centre, heading, bounds)


def _straight(start: Target, end: Target, one: Point, other: Point, arrow: Element) -> tuple[Stop, Stop]:
    """Return the two ends of a straight arrow between two targets.

    Where the targets leave no room for the gaps, the ends come as close as the editor allows; where they overlap, the
    arrow runs from aim to aim.
    """
    for closest in (False, True):
        first = _stop(start, arrow[START], one, other, closest=closest)
        last = _stop(end, arrow[END], other, one, closest=closest)
        (ax, ay), (bx, by) = first.point, last.point
        if (bx - ax) * (other[0] - one[0]) + (by - ay) * (other[1] - one[1]) > 0:
            return first, last
    return Stop(one, 0), Stop(other, 0)


def _aim(target: Target, binding: Mapping[str, Any], seen_from: Point) -> Point:
    fixed = fixed_of(binding)
    focus = binding.get("focus")
    if fixed is not None and (binding.get("mode") or not is_measure(focus)):
        # Ours aims at the centre in both terms: then the plain centre, not the point beside it.
        centred = all(abs(one - _HALF) <= 2 * _NEAR_HALF for one in fixed)
        return box(target).centre if centred and not focus else at_ratio(target, fixed)
    return focus_point(target, float(focus), seen_from) if is_measure(focus) and focus else box(target).centre


def _stop(target: Target, binding: Mapping[str, Any], aim: Point, seen_from: Point, *, closest: bool = False) -> Stop:
    if binding.get("mode") == "inside":
        return Stop(aim, 0)
    stored = binding.get("gap")
    gap = float(stored) if is_measure(stored) and stored and not binding.get("mode") else gap_of(target)
    gap = _CLOSEST if closest else gap
    point = crossing(target, seen_from, aim, gap)
    return Stop(aim, 0) if point is None else Stop(point, gap)


def _written(target: Target, binding: Mapping[str, Any], aim: Point, seen_from: Point, gap: float) -> dict[str, Any]:
    """Return a binding with all terms of both generations; what it has beside them stays."""
    kept = dict(binding)
    ours = bool(kept.get("mode"))
    centred = math.dist(aim, box(target).centre) < _NOTHING
    if not is_measure(kept.get("focus")) or ours:
        kept["focus"] = 0 if centred else plain(round(focus_of(target, seen_from, aim), 12))
    if not is_measure(kept.get("gap")) or ours:
        kept["gap"] = plain(gap)
    if fixed_of(binding) is None:
        kept["fixedPoint"] = [_BESIDE_HALF, _BESIDE_HALF] if centred else ratio(target, aim)
    if kept.get("mode") not in ("orbit", "inside", "skip"):
        kept["mode"] = "orbit" if gap else "inside"
    return kept


def _cross(one: Point, other: Point, point: Point) -> float:
    return (other[0] - one[0]) * (point[1] - one[1]) - (other[1] - one[1]) * (point[0] - one[0])


def _beside(value: float) -> float:
    return _BESIDE_HALF if abs(value - _HALF) < _NEAR_HALF else plain(value)
