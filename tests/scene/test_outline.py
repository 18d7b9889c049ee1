from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countermark.scene.outline import box, crossing, distance

KINDS = [
    ("rectangle", None),
    ("rectangle", {"type": 3}),
    ("rectangle", {"type": 3, "value": 8}),
    ("image", None),
    ("ellipse", {"type": 2}),
    ("diamond", None),
    ("diamond", {"type": 2}),
]


def shape(kind: str, roundness: Any, **more: Any) -> dict[str, Any]:
    return {"type": kind, "x": 10, "y": -20, "width": 200, "height": 80, "angle": 0, "roundness": roundness, **more}


@pytest.mark.parametrize(("kind", "roundness"), KINDS)
@given(
    angle=st.floats(-4, 4),
    way=st.floats(0, 2 * math.pi),
    gap=st.floats(1, 30),
    aim=st.tuples(st.floats(-0.3, 0.3), st.floats(-0.3, 0.3)),
)
def test_where_a_line_stops_is_just_the_gap_away(
    kind: str, roundness: Any, angle: float, way: float, gap: float, aim: tuple[float, float]
) -> None:
    element = shape(kind, roundness, angle=angle)
    frame = box(element)
    outside = frame.cx + 500 * math.cos(way), frame.cy + 500 * math.sin(way)
    inside = frame.outside((aim[0] * frame.hx, aim[1] * frame.hy))
    found = crossing(element, outside, inside, gap)
    assert found is not None
    assert distance(element, found) == pytest.approx(gap, abs=1e-5)
    across = (found[0] - outside[0]) * (inside[1] - outside[1]) - (found[1] - outside[1]) * (inside[0] - outside[0])
    assert across == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize(("kind", "roundness"), KINDS)
def test_distances_are_those_of_the_figure(kind: str, roundness: Any) -> None:
    element = shape(kind, roundness)
    assert distance(element, (110, 20)) < 0
    if kind != "diamond" or roundness is None:  # a rounded tip draws back from its corner
        assert distance(element, (260, 20)) == pytest.approx(50, abs=1e-6)
        assert distance(element, (110, -50)) == pytest.approx(30, abs=1e-6)


def test_a_corner_is_as_far_as_it_is_round() -> None:
    assert distance(shape("rectangle", None), (213, -24)) == pytest.approx(5)
    assert distance(shape("rectangle", {"type": 3}), (213, -24)) > 10


def test_an_ellipse_is_measured_to_its_nearest_point() -> None:
    element = shape("ellipse", None)
    points = [(110 + 100 * math.cos(t / 5000), 20 + 40 * math.sin(t / 5000)) for t in range(31_416)]
    for point in ((250, 90), (0, 0), (111, 100), (209, -30)):
        nearest = min(math.dist(point, one) for one in points)
        assert abs(distance(element, point)) == pytest.approx(nearest, abs=1e-4)


def test_what_is_too_near_or_passes_by_does_not_stop() -> None:
    element = shape("rectangle", None)
    assert crossing(element, (110, -22), (110, 20), 5) is None
    assert crossing(element, (0, -100), (300, -100), 5) is None
    assert crossing(element, (500, 20), (400, 20), 5) is None
