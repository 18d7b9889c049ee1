from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countermark.scene.document import Scene, dump, load
from countermark.scene.elbow import DOWN, RIGHT, End, route
from countermark.scene.limits import DEFAULT
from countermark.scene.operation import Env, apply, create


def drawn(x: float, y: float, angle: float = 0) -> Scene:
    size = {"width": 120, "height": 60}
    made = create(
        [
            {"type": "rectangle", "id": "a", "x": 0, "y": 0, **size},
            {"type": "ellipse", "id": "b", "x": x, "y": y, "angle": angle, **size},
            {"type": "arrow", "id": "r", "x": 0, "y": 0, "elbowed": True, "startElementId": "a", "endElementId": "b"},
        ],
        Env(),
    )
    return load(dump(made.scene), DEFAULT)


def corners(arrow: dict[str, Any]) -> list[tuple[float, float]]:
    return [(arrow["x"] + x, arrow["y"] + y) for x, y in arrow["points"]]


def is_right_angled(points: list[tuple[float, float]]) -> bool:
    return all(min(abs(ax - bx), abs(ay - by)) < 1e-6 for (ax, ay), (bx, by) in pairwise(points))


@given(
    x=st.one_of(st.integers(-900, -200), st.integers(200, 900)),
    y=st.integers(-900, 900),
    angle=st.sampled_from([0, 0.4, math.pi / 2, 2.0]),
)
def test_an_elbow_arrow_has_right_angles_and_crosses_neither_box(x: int, y: int, angle: float) -> None:
    scene = drawn(x, y, angle)
    points = corners(scene.by_id["r"])
    assert is_right_angled(points)
    for (ax, ay), (bx, by) in pairwise(points):
        for share in range(11):
            px, py = ax + (bx - ax) * share / 10, ay + (by - ay) * share / 10
            assert not (1 < px < 119 and 1 < py < 59)


def test_an_elbow_arrow_carries_what_the_editor_needs() -> None:
    arrow = drawn(400, 300).by_id["r"]
    assert (arrow["elbowed"], arrow["fixedSegments"], arrow["roundness"]) == (True, None, None)
    for end in ("startBinding", "endBinding"):
        binding = arrow[end]
        assert binding.keys() == {"elementId", "focus", "gap", "fixedPoint", "mode"}
        assert (binding["focus"], binding["gap"], binding["mode"]) == (0, 0, "orbit")
        assert 0.5 not in binding["fixedPoint"]


def test_a_moved_target_is_left_and_met_on_the_same_sides() -> None:
    scene = drawn(400, 0)
    before = scene.by_id["r"]
    after = apply(scene, [{"op": "update", "id": "b", "patch": {"x": 500, "y": 200}}], Env()).scene.by_id["r"]
    assert is_right_angled(corners(after))
    for end in ("startBinding", "endBinding"):
        assert after[end]["fixedPoint"] == pytest.approx(before[end]["fixedPoint"], abs=1e-4)


def test_the_shortest_way_has_the_fewest_corners() -> None:
    assert route(End((0, 0)), End((100, 0))) == [(0, 0), (100, 0)]
    way = route(End((10, 5), RIGHT, (0, 0, 10, 10)), End((205, -10), None, None))
    assert len(way) <= 3
    assert way[0] == (10, 5)
    assert route(End((5, 10), DOWN, (0, 0, 10, 10)), End((5, 60)))[0:1] == [(5, 10)]


def test_a_way_goes_around_the_box_that_it_leaves_on_the_far_side() -> None:
    scene = drawn(400, 0)
    after = apply(scene, [{"op": "update", "id": "b", "patch": {"x": -500, "y": 10}}], Env()).scene.by_id["r"]
    points = corners(after)
    assert points[0][0] > 120  # it still leaves on the right
    assert is_right_angled(points)
    for (ax, ay), (bx, by) in pairwise(points):
        for share in range(101):
            px, py = ax + (bx - ax) * share / 100, ay + (by - ay) * share / 100
            assert not (1 < px < 119 and 1 < py < 59)
            assert not (-499 < px < -381 and 11 < py < 69)
