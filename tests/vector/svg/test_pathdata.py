"""Path data: the whole grammar, faults as readers treat them, and the geometry of arcs."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countermark.vector.path import bounds, segments
from countermark.vector.svg.number import NotFiniteError
from countermark.vector.svg.pathdata import path_data

coordinate = st.integers(-500, 500).map(lambda value: value / 4)
point = st.tuples(coordinate, coordinate)


def points(text: str) -> list[list[list[float]]]:
    return [[anchor["p"] for anchor in subpath["anchors"]] for subpath in path_data(text).path["subpaths"]]


def on_curve(path: Any, steps: int = 8) -> list[tuple[float, float]]:
    found = []
    for subpath in path["subpaths"]:
        for start, after, before, end in segments(subpath):
            out, into = after or start, before or end
            for step in range(steps + 1):
                t = step / steps
                u = 1 - t
                found.append(
                    (
                        u**3 * start[0] + 3 * u * u * t * out[0] + 3 * u * t * t * into[0] + t**3 * end[0],
                        u**3 * start[1] + 3 * u * u * t * out[1] + 3 * u * t * t * into[1] + t**3 * end[1],
                    )
                )
    return found


def flat(path: Any) -> list[float]:
    return [value for pair in on_curve(path) for value in pair]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("M10 20 30 40 50 60", "M10 20L30 40L50 60"),
        ("m10 20 30 40 50 60", "M10 20L40 60L90 120"),
        ("M1 2h3v4H5V6", "M1 2L4 2L4 6L5 6L5 6"),
        ("M.5.5-.5-.5", "M0.5 0.5L-0.5 -0.5"),
        ("M1e1,2E+1L3.e1-4e-1", "M10 20L30 -0.4"),
        ("M0,0,1,1", "M0 0L1 1"),
        ("\n M\t0 0\r\n L 1 1 ", "M0 0L1 1"),
        ("M0 0C1 1 2 2 3 3S5 5 6 6", "M0 0C1 1 2 2 3 3C4 4 5 5 6 6"),
        ("M0 0c1 1 2 2 3 3s2 2 3 3", "M0 0C1 1 2 2 3 3C4 4 5 5 6 6"),
        ("M0 0S2 3 4 4", "M0 0C0 0 2 3 4 4"),
        ("M0 0Q1 2 2 0T4 0T6 0", "M0 0Q1 2 2 0Q3 -2 4 0Q5 2 6 0"),
        ("M0 0Q1 2 2 0 3-2 4 0", "M0 0Q1 2 2 0Q3 -2 4 0"),
        ("M0 0T2 2", "M0 0Q0 0 2 2"),
        ("M0 0C1 1 2 2 3 3T9 9", "M0 0C1 1 2 2 3 3Q3 3 9 9"),
        ("M0 0a5 5 0 1110 0", "M0 0A5 5 0 1 1 10 0"),
        ("M0 0a5,5,0,1,1,10,0", "M0 0A5 5 0 1 1 10 0"),
        ("M0 0a5 5 0 0010.5.5", "M0 0A5 5 0 0 0 10.5 0.5"),
        ("M0 0L4 0L4 4zl1 1", "M0 0L4 0L4 4ZM0 0L1 1"),
        ("M5 5m1 1L9 9", "M6 6L9 9"),
    ],
)
def test_every_spelling_of_a_command_means_the_same(text: str, same: str) -> None:
    one, other = path_data(text), path_data(same)
    assert one.fault == other.fault == ""
    assert flat(one.path) == pytest.approx(flat(other.path))
    assert [s["closed"] for s in one.path["subpaths"]] == [s["closed"] for s in other.path["subpaths"]]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("M0 0L1 1L2", [[[0, 0], [1, 1]]]),
        ("M0 0L1 1Lx", [[[0, 0], [1, 1]]]),
        ("M0 0L1 1,", [[[0, 0], [1, 1]]]),
        ("M0 0L1 1,L2 2", [[[0, 0], [1, 1]]]),
        ("M0 0L1 1 K5 5L2 2", [[[0, 0], [1, 1]]]),
        ("M0 0L1 1A5 5 0 2 0 9 9", [[[0, 0], [1, 1]]]),
        ("M0 0L1 1 M5 5 L", [[[0, 0], [1, 1]]]),
        ("L1 1", []),
        ("x", []),
        ("M", []),
    ],
)
def test_a_fault_keeps_what_stands_before_it(text: str, kept: list[Any]) -> None:
    assert path_data(text).fault
    assert points(text) == kept


@pytest.mark.parametrize("text", ["M0 0L NaN 1", "M0 0L inf 1", "M0 0 L 1e999 0", "M-Infinity 0"])
def test_numbers_that_are_not_finite_raise(text: str) -> None:
    with pytest.raises(NotFiniteError):
        path_data(text)


def test_an_empty_path_and_a_lone_move_paint_nothing() -> None:
    assert path_data("").path == {"subpaths": []}
    assert path_data("M5 5").path == {"subpaths": []}


def test_a_closed_point_stays_because_round_caps_paint_it() -> None:
    assert path_data("M5 5z").path == {"subpaths": [{"anchors": [{"p": [5, 5]}], "closed": True}]}


def test_closing_onto_the_start_adds_no_second_anchor() -> None:
    (subpath,) = path_data("M0 0C1 0 2 1 2 2C2 3 1 4 0 0Z").path["subpaths"]
    assert subpath["anchors"] == [
        {"p": [0, 0], "out": [1, 0], "in": [1, 4]},
        {"p": [2, 2], "in": [2, 1], "out": [2, 3]},
    ]
    assert points("M0 0l.1 0 0 .1-.1 0 0-.1z") == [[[0, 0], [0.1, 0], [0.1, 0.1], [0, 0.1]]]


def test_an_arc_of_zero_radius_is_a_line_and_one_to_itself_is_nothing() -> None:
    assert points("M0 0A0 5 0 0 0 9 9") == [[[0, 0], [9, 9]]]
    assert points("M1 1A5 5 0 0 0 1 1L2 2") == [[[1, 1], [2, 2]]]


def test_radii_that_are_too_small_grow_until_they_reach() -> None:
    assert bounds(path_data("M0 0A1 1 0 0 1 10 0").path) == pytest.approx((0, -5, 10, 0), abs=2e-3)


@pytest.mark.parametrize(("large", "sweep", "box"), [(0, 0, (0, 0, 10, 10)), (1, 1, (0, -10, 20, 10))])
def test_the_flags_choose_the_arc(large: int, sweep: int, box: tuple[float, ...]) -> None:
    found = bounds(path_data(f"M0 0A10 10 0 {large} {sweep} 10 10").path)
    assert found == pytest.approx(box, abs=5e-3)


flag = st.sampled_from((0, 1))


@given(st.floats(1, 100), st.floats(1, 100), st.floats(-360, 360), point, point, flag, flag)
def test_every_point_of_an_arc_lies_on_its_ellipse(
    rx: float, ry: float, turn: float, start: tuple[float, float], end: tuple[float, float], large: int, sweep: int
) -> None:
    text = f"M{start[0]} {start[1]}A{rx!r} {ry!r} {turn!r} {large} {sweep} {end[0]} {end[1]}"
    path = path_data(text).path
    if start == end:
        assert path["subpaths"] == []
        return
    found = on_curve(path)
    assert found[0] == pytest.approx(start)
    assert found[-1] == end
    cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    round_ = [((cos * x + sin * y) / rx, (-sin * x + cos * y) / ry) for x, y in found]
    (ax, ay), (bx, by) = round_[0], round_[-1]
    half = math.dist((ax, ay), (bx, by)) / 2
    radius = max(1.0, half)
    lift = math.sqrt(max(0.0, radius * radius - half * half)) * (-1 if large == sweep else 1)
    if half < 1e-9:
        return
    centre = (
        (ax + bx) / 2 - lift * (by - ay) / (2 * half),
        (ay + by) / 2 + lift * (bx - ax) / (2 * half),
    )
    assert all(math.dist(p, centre) == pytest.approx(radius, rel=4e-4, abs=1e-6) for p in round_)


@given(st.lists(st.tuples(st.sampled_from("LlHhVvCcSsQqTt"), st.lists(coordinate, min_size=6, max_size=6)), max_size=8))
def test_relative_and_packed_paths_are_read_without_a_fault(commands: list[tuple[str, list[float]]]) -> None:
    needed = {"l": 2, "h": 1, "v": 1, "c": 6, "s": 4, "q": 4, "t": 2}
    spaced = "M 0 0 " + " ".join(f"{c} {' , '.join(map(repr, n[: needed[c.lower()]]))}" for c, n in commands)
    packed = "M0 0" + "".join(c + "".join(f"{v:+}" for v in n[: needed[c.lower()]]) for c, n in commands)
    assert path_data(spaced).fault == ""
    assert path_data(spaced) == path_data(packed)


@given(st.text("MmLlHhVvCcSsQqTtAaZz0123456789.,-+eE \n", max_size=40))
def test_any_text_is_read_up_to_its_fault_and_never_raises_otherwise(text: str) -> None:
    try:
        read = path_data(text)
    except NotFiniteError:
        return
    for subpath in read.path["subpaths"]:
        assert len(subpath["anchors"]) > (0 if subpath["closed"] else 1)
