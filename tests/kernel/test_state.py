"""The state table."""

from __future__ import annotations

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.kernel.state import EDGES, TERMINAL, State, follow

SEED = {
    ("planned", "blocked"),
    ("blocked", "ready"),
    ("planned", "ready"),
    ("ready", "running"),
    ("running", "verifying"),
    ("running", "reconciling"),
    ("reconciling", "verifying"),
    ("reconciling", "ready"),
    ("running", "cancel_requested"),
    ("cancel_requested", "cancelled"),
    ("verifying", "review_ready"),
    ("verifying", "failed"),
    ("review_ready", "completed"),
    ("review_ready", "planned"),
}


def test_the_seed_edges_are_exactly_those_of_seed_1_section_8() -> None:
    assert {(a.value, b.value) for (a, b), origin in EDGES.items() if origin == "seed"} == SEED


def test_no_edge_leaves_an_ended_state() -> None:
    assert not [edge for edge in EDGES if edge[0] in TERMINAL]


@pytest.mark.parametrize("start", [s for s in State if s not in TERMINAL])
def test_every_state_reaches_an_end(start: State) -> None:
    seen, frontier = {start}, [start]
    while frontier:
        here = frontier.pop()
        for a, b in EDGES:
            if a is here and b not in seen:
                seen.add(b)
                frontier.append(b)
    assert seen & TERMINAL


@pytest.mark.parametrize("start", [s for s in State if s not in TERMINAL | {State.CANCEL_REQUESTED}])
def test_every_unfinished_state_can_be_cancelled(start: State) -> None:
    assert (start, State.CANCEL_REQUESTED) in EDGES


@pytest.mark.promise("kernel.state.cancelled-is-final")
@pytest.mark.parametrize("pair", [(a, b) for a in State for b in State if (a, b) not in EDGES])
def test_a_step_outside_the_table_is_refused(pair: tuple[State, State]) -> None:
    with pytest.raises(CountermarkError) as caught:
        follow(pair)
    assert caught.value.code == "illegal_state"


def test_a_path_ends_in_its_last_state() -> None:
    assert follow((State.PLANNED, State.READY, State.RUNNING)) is State.RUNNING
