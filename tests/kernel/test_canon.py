"""Canonical bytes and strict JSON."""

from __future__ import annotations

import json

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from countermark.kernel.canon import canonical, digest, parse_strict, revision_of, sha256_hex
from countermark.kernel.errors import CountermarkError

texts = st.text(st.characters(exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e15, 1e15) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_the_fast_spelling_is_the_rfc_8785_spelling(value: object) -> None:
    assert canonical(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53, -(2**53), {"a": object()}, {1: 2}, "\ud800"])
def test_a_value_without_a_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(CountermarkError) as caught:
        canonical(value)
    assert caught.value.code == "input_invalid"


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(CountermarkError):
        canonical({"a": [1.5, loop]})


@given(json_values)
def test_strict_parsing_reads_back_what_was_written(value: object) -> None:
    assert digest(parse_strict(canonical(value))) == digest(value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": {"b": 1, "b": 1}}', "twice"),
        ("[NaN]", "NaN"),
        ("[-Infinity]", "Infinity"),
        ("[1e999]", "out of range"),
        ("[1", "delimiter"),
        ("\xff", "Expecting"),
        ('["\\ud800"]', "half of a character"),
        ('{"\\uDFFF": 1}', "half of a character"),
        ("[" * 200 + "]" * 200, "deep"),
        ("[" * 100_000, "deep"),
    ],
)
def test_text_that_two_readers_could_read_differently_is_refused(text: str, reason: str) -> None:
    with pytest.raises(CountermarkError) as caught:
        parse_strict(text)
    assert caught.value.code == "input_invalid"
    assert reason in caught.value.sentence


def test_bytes_that_are_not_utf_8_are_refused() -> None:
    with pytest.raises(CountermarkError):
        parse_strict(b"\xff\xfe{}")


def test_a_revision_names_its_algorithm_and_its_digest() -> None:
    assert revision_of(b"x") == "sha256:" + sha256_hex(b"x")
    assert json.loads(canonical({"b": 1, "a": 2})) == {"a": 2, "b": 1}
