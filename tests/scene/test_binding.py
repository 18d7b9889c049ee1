from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countermark.scene.binding import at_ratio, attach, focus_of, focus_point, gap_of, ratio
from countermark.scene.outline import box, distance


def shape(name: str, x: float, y: float, kind: str = "rectangle", **more: Any) -> dict[str, Any]:
    return {"id": name, "type": kind, "x": x, "y": y, "width": 160, "height": 80, "angle": 0, "strokeWidth": 2, **more}


def arrow(*points: list[float], **more: Any) -> dict[str, Any]:
    return {"type": "arrow", "x": 0, "y": 0, "width": 0, "height": 0, "points": [*points], "angle": 0, **more}


def tip(line: dict[str, Any], place: int) -> tuple[float, float]:
    return line["x"] + line["points"][place][0], line["y"] + line["points"][place][1]


@given(angle=st.floats(-3, 3), x=st.integers(400, 900), y=st.integers(-500, 500), stroke=st.sampled_from([1, 2, 4]))
def test_both_ends_lie_at_the_editor_s_gap_from_turned_targets(angle: float, x: int, y: int, stroke: int) -> None:
    one, other = shape("a", 0, 0, strokeWidth=stroke), shape("b", x, y, "diamond", angle=angle)
    line = arrow([0, 0], [1, 1], startBinding={"elementId": "a"}, endBinding={"elementId": "b"})
    attach(line, one, other)
    assert distance(one, tip(line, 0)) == pytest.approx(5 + stroke / 2, abs=1e-4)
    assert distance(other, tip(line, -1)) == pytest.approx(6, abs=1e-4)
    assert line["endBinding"] == {
        "elementId": "b",
        "focus": 0,
        "gap": 6,
        "fixedPoint": [0.5001, 0.5001],
        "mode": "orbit",
    }


def test_a_binding_of_the_older_editor_keeps_its_focus_and_gap_and_gains_the_newer_terms() -> None:
    target = shape("b", 400, 0)
    line = arrow([0, 0], [350, 60], startBinding=None, endBinding={"elementId": "b", "focus": -0.3, "gap": 9})
    attach(line, None, target)
    assert distance(target, tip(line, -1)) == pytest.approx(9, abs=1e-4)
    assert line["endBinding"] | {"fixedPoint": 0} == {
        "elementId": "b",
        "focus": -0.3,
        "gap": 9,
        "fixedPoint": 0,
        "mode": "orbit",
    }
    aim = focus_point(target, -0.3, (0, 0))
    assert at_ratio(target, line["endBinding"]["fixedPoint"]) == pytest.approx(aim)


def test_a_binding_of_the_public_site_keeps_its_point_and_gains_the_older_terms() -> None:
    target = shape("b", 400, 0)
    fixed = [0.25, 0.7]
    line = arrow([0, 0], [9, 9], startBinding=None, endBinding={"elementId": "b", "mode": "orbit", "fixedPoint": fixed})
    attach(line, None, target)
    binding = line["endBinding"]
    assert (binding["fixedPoint"], binding["mode"], binding["gap"]) == (fixed, "orbit", 6)
    assert focus_of(target, (0, 0), at_ratio(target, fixed)) == pytest.approx(binding["focus"])
    assert distance(target, tip(line, -1)) == pytest.approx(6, abs=1e-4)


def test_an_end_that_goes_inside_goes_to_its_point() -> None:
    target = shape("b", 400, 0)
    line = arrow(
        [0, 0], [9, 9], startBinding=None, endBinding={"elementId": "b", "mode": "inside", "fixedPoint": [0.25, 0.75]}
    )
    attach(line, None, target)
    assert tip(line, -1) == (440, 60)


def test_close_targets_get_a_small_gap_and_overlapping_ones_an_arrow_between_their_middles() -> None:
    one = shape("a", 0, 0)
    for x, expected in ((166, [(161, 40), (165, 40)]), (100, [(80, 40), (180, 40)])):
        line = arrow([0, 0], [1, 1], startBinding={"elementId": "a"}, endBinding={"elementId": "b"})
        attach(line, one, shape("b", x, 0))
        assert [tip(line, 0), tip(line, -1)] == [pytest.approx(point, abs=1e-4) for point in expected]


def test_a_line_without_length_is_never_made() -> None:
    line = arrow([0, 0], [1, 1], startBinding={"elementId": "a"}, endBinding={"elementId": "b"})
    attach(line, shape("a", 0, 0), shape("b", 0, 0))
    assert math.dist(tip(line, 0), tip(line, -1)) > 1


def test_the_points_between_stay_where_they_were_also_when_the_line_was_turned() -> None:
    line = arrow([0, 0], [100, 300], [500, 300], startBinding=None, endBinding={"elementId": "b"})
    attach(line, None, shape("b", 600, 260))
    assert tip(line, 1) == (100, 300)
    turned = arrow([0, 0], [100, 0], [200, 0], startBinding=None, endBinding={"elementId": "b"}, angle=math.pi / 2)
    attach(turned, None, shape("b", 600, 260))
    assert turned["angle"] == 0
    assert tip(turned, 0) == pytest.approx((100, -100))
    assert tip(turned, 1) == pytest.approx((100, 0))


@given(
    focus=st.floats(-0.9, 0.9).filter(lambda value: abs(value) > 0.01),
    way=st.floats(0, 6.28),
    kind=st.sampled_from(["rectangle", "diamond"]),
    angle=st.floats(-2, 2),
)
def test_a_focus_is_found_again_from_the_line_it_makes(focus: float, way: float, kind: str, angle: float) -> None:
    target = shape("b", 0, 0, kind, angle=angle)
    eye = 80 + 700 * math.cos(way), 40 + 700 * math.sin(way)
    aim = focus_point(target, focus, eye)
    found = focus_of(target, eye, aim)
    assert abs(found) <= abs(focus) + 1e-6
    assert math.copysign(1, found) == math.copysign(1, focus)


def test_a_ratio_is_never_exactly_one_half_and_never_beyond_ten() -> None:
    target = shape("b", 0, 0)
    assert ratio(target, box(target).centre) == [0.5001, 0.5001]
    assert ratio(target, (10**6, 0)) == [10, 0]
    assert gap_of({"strokeWidth": 4}) == 7
