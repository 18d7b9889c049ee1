"""The law of grant."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countermark.kernel.errors import CountermarkError
from countermark.kernel.grant import Grant, Terms, covers, meet, permit, uses_left

WORDS = ["", "a", "ab", "a.b", "a.b.c", "a.bc", "b", "file:", "file:kit", "file:kit/x", "file:kitten"]
words = st.lists(st.sampled_from(WORDS), max_size=4).map(tuple)
limits = st.dictionaries(st.sampled_from(["attempts", "bytes", "x"]), st.integers(0, 50), max_size=3)
terms = st.builds(
    Terms,
    effects=words,
    resources=words,
    limits=limits,
    acceptance=st.sampled_from(["checks", "person"]),
    expires_at=st.none() | st.integers(0, 100),
)


def granted(t: Terms, **changes: Any) -> Grant:
    return dataclasses.replace(Grant("g", None, (), "i", "h", t, 0), **changes)


def allowed(t: Terms, effect: str, resource: str, uses: dict[str, int], now: int) -> bool:
    try:
        permit([granted(t)], effect, [resource], uses, now)
    except CountermarkError:
        return False
    return True


@given(terms, terms, st.sampled_from(WORDS), st.sampled_from(WORDS), limits, st.integers(0, 100))
def test_a_meet_allows_exactly_what_both_allow(
    a: Terms, b: Terms, effect: str, resource: str, uses: dict[str, int], now: int
) -> None:
    both = allowed(a, effect, resource, uses, now) and allowed(b, effect, resource, uses, now)
    assert allowed(meet(a, b), effect, resource, uses, now) == both


@given(terms, terms)
def test_a_meet_does_not_depend_on_the_order(a: Terms, b: Terms) -> None:
    assert meet(a, b) == meet(b, a)


@given(terms)
def test_a_meet_with_itself_changes_nothing_that_is_allowed(a: Terms) -> None:
    assert meet(meet(a, a), a) == meet(a, a)


@given(terms, terms)
def test_the_stricter_acceptance_stays(a: Terms, b: Terms) -> None:
    assert (meet(a, b).acceptance == "person") == ("person" in (a.acceptance, b.acceptance))


@pytest.mark.parametrize(
    ("entry", "word", "covered"),
    [
        ("file:kit", "file:kit", True),
        ("file:kit", "file:kit/a.png", True),
        ("file:kit", "file:kitten", False),
        ("file:", "file:kitten", True),
        ("vector", "vector.write", True),
        ("vector.write", "vector", False),
        ("", "anything", True),
    ],
)
def test_a_prefix_ends_at_a_separator(entry: str, word: str, covered: bool) -> None:  # noqa: FBT001 - a table's column
    assert covers(entry, word) is covered


@pytest.mark.parametrize(
    ("grant", "code"),
    [
        (granted(Terms(("v",), ("r",)), revoked_at=1), "grant_revoked"),
        (granted(Terms(("v",), ("r",), expires_at=10)), "grant_expired"),
        (granted(Terms(("w",), ("r",))), "permission_denied"),
        (granted(Terms(("v",), ("q",))), "permission_denied"),
        (granted(Terms(("v",), ("r",), {"attempts": 2}), spent={"attempts": 2}), "budget_exhausted"),
    ],
)
def test_a_refusal_says_which_term_refused(grant: Grant, code: str) -> None:
    with pytest.raises(CountermarkError) as caught:
        permit([grant], "v", ["r"], {"attempts": 1}, 10)
    assert caught.value.code == code
    assert caught.value.details["grant"] == "g"
    assert caught.value.next_action


@pytest.mark.promise("kernel.grant.children-share-one-budget")
def test_an_ancestor_refuses_what_its_child_would_allow() -> None:
    child, parent = granted(Terms(("",), ("",))), granted(Terms(("v",), ("",), {"attempts": 1}), spent={"attempts": 1})
    with pytest.raises(CountermarkError) as caught:
        permit([child, parent], "v", ["r"], {"attempts": 1}, 0)
    assert caught.value.code == "budget_exhausted"


def test_what_is_left_is_the_least_of_the_chain() -> None:
    chain = [granted(Terms((), (), {"x": 9}), spent={"x": 1}), granted(Terms((), (), {"x": 5})), granted(Terms((), ()))]
    assert uses_left(chain, "x") == 5
    assert uses_left(chain, "y") is None
