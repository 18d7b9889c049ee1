"""Boxes and maps of native paths."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from countermark.vector.affine import Matrix
from countermark.vector.path import bounds, segments, transformed, with_point_lists

number = st.integers(-1000, 1000).map(lambda value: value / 8)
point = st.tuples(number, number).map(list)
anchor = st.fixed_dictionaries({"p": point}, optional={"in": point, "out": point})
path = st.fixed_dictionaries(
    {
        "subpaths": st.lists(
            st.fixed_dictionaries({"anchors": st.lists(anchor, min_size=1, max_size=4), "closed": st.booleans()}),
            min_size=1,
            max_size=3,
        )
    }
)


def sampled(shape: Any) -> tuple[list[float], list[float]]:
    xs, ys = [], []
    for subpath in shape["subpaths"]:
        for one in subpath["anchors"]:
            xs.append(one["p"][0])
            ys.append(one["p"][1])
        for start, after, before, end in segments(subpath):
            out, into = after or start, before or end
            for step in range(201):
                t, u = step / 200, 1 - step / 200
                weights = (u**3, 3 * u * u * t, 3 * u * t * t, t**3)
                for values, axis in ((xs, 0), (ys, 1)):
                    values.append(sum(w * p[axis] for w, p in zip(weights, (start, out, into, end), strict=True)))
    return xs, ys


@given(path)
def test_the_box_holds_the_curve_and_no_more(shape: Any) -> None:
    found = bounds(shape)
    xs, ys = sampled(shape)
    assert found is not None
    for exact, seen in zip(found, (min(xs), min(ys), max(xs), max(ys)), strict=True):
        assert abs(exact - seen) < 0.05
    assert found[0] <= min(xs) + 1e-9
    assert found[2] >= max(xs) - 1e-9


def test_nothing_has_no_box() -> None:
    assert bounds({"subpaths": []}) is None


@given(path)
def test_a_map_moves_every_point_and_keeps_other_members(shape: Any) -> None:
    shape["subpaths"][0]["anchors"][0]["later"] = [1]
    moved = transformed(shape, Matrix(2, 0, 0, 3, 10, 20))
    assert moved["subpaths"][0]["anchors"][0]["later"] == [1]
    for before, after in zip(shape["subpaths"], moved["subpaths"], strict=True):
        for one, other in zip(before["anchors"], after["anchors"], strict=True):
            for name in {"p", "in", "out"} & set(one):
                assert other[name] == [one[name][0] * 2 + 10, one[name][1] * 3 + 20]


def test_old_anchors_are_written_as_lists_and_say_only_what_differs() -> None:
    old = {"p": {"x": 1, "y": 2}, "in": {"x": 1, "y": 2}, "out": {"x": 3, "y": 4}, "kind": "Corner", "later": 0}
    kind = {"type": "path", "path": {"subpaths": [{"anchors": [old], "closed": False}]}}
    found = with_point_lists({"id": 1, "kind": kind})
    assert found["kind"]["path"]["subpaths"][0]["anchors"] == [{"p": [1, 2], "out": [3, 4], "later": 0}]
    group = {"id": 1, "kind": {"type": "group", "children": []}}
    assert with_point_lists(group) is group
