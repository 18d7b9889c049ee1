from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from countermark.scene.order import assign, between, is_key, repaired

KEYS = st.integers(1, 60).map(lambda count: between(None, None, count))


def test_the_first_keys_are_the_editor_s() -> None:
    assert between(None, None, 3) == ["a0", "a1", "a2"]
    assert between("az", None, 2) == ["b00", "b01"]
    assert between(None, "a0", 2) == ["Zy", "Zz"]
    assert between("a0", "a1", 1) == ["a0V"]


def test_shapes_of_keys() -> None:
    good = ["a0", "a0V", "b00", "Zz", "zz" + "0" * 25]
    bad = ["", "a", "!!!", "zz", "a00", "b0", "A" + "0" * 26, "0a", "a0é", None, 3]
    assert [key for key in good if not is_key(key)] == []
    assert [key for key in bad if is_key(key)] == []


@given(KEYS, st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 5)), max_size=40))
def test_keys_rise_wherever_they_are_put_in(keys: list[str], places: list[tuple[int, int]]) -> None:
    for place, count in places:
        at = place % (len(keys) + 1)
        low, high = keys[at - 1] if at else None, keys[at] if at < len(keys) else None
        keys[at:at] = between(low, high, count)
    assert all(one < other for one, other in pairwise(keys))
    assert all(map(is_key, keys))


@given(st.lists(st.one_of(st.sampled_from(["a0", "a1", "a2", "a1V", "b00", "!!!", "zz"]), st.none()), max_size=12))
def test_repair_leaves_rising_keys_and_keeps_as_many_as_it_can(keys: list[str | None]) -> None:
    fresh = repaired(keys)
    whole = [fresh.get(place, key) for place, key in enumerate(keys)]
    assert whole == sorted(set(whole), key=str)
    assert all(map(is_key, whole))
    if all(map(is_key, keys)) and keys == sorted(set(keys), key=str):
        assert fresh == {}


def test_a_file_without_keys_gets_none_and_an_empty_one_gets_some() -> None:
    assert assign([None, None, None], [False, True, False]) == [None]
    assert assign([None, None], [True, True]) == ["a0", "a1"]


def test_where_the_keys_around_leave_no_room_none_is_given_and_nobody_else_is_touched() -> None:
    assert assign(["a1", None, "a1"], [False, True, False]) == [None]
    assert assign(["!!!", None], [False, True]) == [None]
    assert assign(["a1", None, None, "a2"], [False, True, True, False]) == ["a1V", "a1l"]
