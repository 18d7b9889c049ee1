"""What people read: columns, short digests, times."""

from __future__ import annotations

import pytest

from countermark.surfaces.cli.terminal import columns, count, iso, pairs, short, span


def test_columns_stand_beneath_each_other_and_end_without_spaces() -> None:
    assert columns([("a", "bb", ""), ("ccc", "d", "e")], head=("x", "y", "z")) == [
        "x    y   z",
        "a    bb",
        "ccc  d   e",
    ]
    assert columns([]) == []


def test_a_cell_stays_one_line_and_steers_nothing() -> None:
    assert columns([("a\nb", "\x1b[2J")]) == ["a b  <U+001B>[2J"]


def test_a_pair_without_a_value_is_left_out() -> None:
    assert pairs(("a", "1"), ("b", ""), ("long", "2")) == ["a     1", "long  2"]


@pytest.mark.parametrize(
    ("digest", "shown"),
    [
        ("sha256:" + "a" * 64, "a" * 12),
        ("b" * 64, "b" * 12),
        ("derived:" + "c" * 64, "derived:" + "c" * 12),
        ("absent", "absent"),
        ("my own key", "my own key"),
        ("x" * 64, "x" * 64),
    ],
)
def test_only_digests_are_shortened(digest: str, shown: str) -> None:
    assert short(digest) == shown


@pytest.mark.parametrize(("ms", "said"), [(0, "0 s"), (61_000, "1 min 1 s"), (90_061_000, "1 d 1 h"), (-5, "0 s")])
def test_a_span_is_told_in_its_two_largest_units(ms: int, said: str) -> None:
    assert span(ms) == said


def test_counts_and_moments() -> None:
    assert (count(1, "file"), count(0, "file")) == ("1 file", "0 files")
    assert (iso(0), iso(None)) == ("1970-01-01T00:00:00.000+00:00", None)
