"""The state table: every state, every legal edge, and where the edge comes from.

Edges marked `seed` are those of seed 1 §8; edges marked `ours` are the additions of design §4. Nothing moves a task
along an edge that is not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from itertools import pairwise
from typing import Final, Literal

from countermark.kernel.errors import CountermarkError

Origin = Literal["seed", "ours"]


class State(StrEnum):
    """Where a task stands (seed 1 §8)."""

    PLANNED = "planned"
    BLOCKED = "blocked"
    READY = "ready"
    RUNNING = "running"
    RECONCILING = "reconciling"
    VERIFYING = "verifying"
    REVIEW_READY = "review_ready"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCEL_REQUESTED = "cancel_requested"
    CANCELLED = "cancelled"


TERMINAL: Final = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED})

EDGES: Final[Mapping[tuple[State, State], Origin]] = {
    (State.PLANNED, State.BLOCKED): "seed",
    (State.PLANNED, State.READY): "seed",
    (State.BLOCKED, State.READY): "seed",
    (State.READY, State.RUNNING): "seed",
    (State.RUNNING, State.VERIFYING): "seed",
    (State.RUNNING, State.RECONCILING): "seed",
    (State.RUNNING, State.CANCEL_REQUESTED): "seed",
    (State.RECONCILING, State.VERIFYING): "seed",
    (State.RECONCILING, State.READY): "seed",
    (State.CANCEL_REQUESTED, State.CANCELLED): "seed",
    (State.VERIFYING, State.REVIEW_READY): "seed",
    (State.VERIFYING, State.FAILED): "seed",
    (State.REVIEW_READY, State.COMPLETED): "seed",
    # A revision is a new row of its own; this edge names how it begins, the old row takes review_ready -> failed.
    (State.REVIEW_READY, State.PLANNED): "seed",
    (State.PLANNED, State.CANCEL_REQUESTED): "ours",
    (State.BLOCKED, State.CANCEL_REQUESTED): "ours",
    (State.READY, State.CANCEL_REQUESTED): "ours",
    (State.RECONCILING, State.CANCEL_REQUESTED): "ours",
    (State.VERIFYING, State.CANCEL_REQUESTED): "ours",
    (State.REVIEW_READY, State.CANCEL_REQUESTED): "ours",
    (State.READY, State.BLOCKED): "ours",
    (State.RECONCILING, State.BLOCKED): "ours",
    (State.RECONCILING, State.FAILED): "ours",
    (State.REVIEW_READY, State.FAILED): "ours",
}


def follow(path: tuple[State, ...]) -> State:
    """Return the last state of a path whose every step is an edge of the table, else raise `illegal_state`."""
    for step in pairwise(path):
        if step not in EDGES:
            raise CountermarkError(
                "illegal_state",
                f"A task cannot go from {step[0]} to {step[1]}.",
                next_action="Look at the task with `countermark task why`.",
                details={"from": str(step[0]), "to": str(step[1])},
            )
    return path[-1]
