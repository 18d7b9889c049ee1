"""A task as it stands in the ledger, and the one way its state moves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from countermark.kernel import fence
from countermark.kernel.canon import stored
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Tx
from countermark.kernel.plan import Plan, RuntimeIdentity
from countermark.kernel.recovery import EffectClass, EffectKind, Executed
from countermark.kernel.state import TERMINAL, State, follow


@dataclass(frozen=True, slots=True)
class Task:
    """One row of tasks; `expected` maps resources to the revisions the plan was made against."""

    id: str
    key: str
    derived: bool
    grant: str
    parent: str | None
    supersedes: str | None
    adapter: str
    effect: str
    kind: EffectKind
    effect_class: EffectClass
    plan: Plan
    plan_digest: str
    inputs_digest: str
    expected: Mapping[str, str]
    runtime: RuntimeIdentity
    epoch: int
    state: State
    code: str
    executed: Executed
    runner: str
    deadline: int | None
    created_at: int
    ended_at: int | None

    @property
    def ended(self) -> bool:
        """Whether the task has reached an end."""
        return self.state in TERMINAL


_COLUMNS: Final = (
    "id, key, derived, grant_id, parent, supersedes, adapter, effect, kind, class, plan, plan_digest, inputs_digest, "
    "expected, runtime, epoch, state, code, executed, runner, deadline, created_at, ended_at"
)


def load(tx: Tx, task_id: str) -> Task:
    """Return one task; raise `not_found`."""
    row = tx.one(f"SELECT {_COLUMNS} FROM tasks WHERE id = ?", (task_id,))  # noqa: S608 - constant columns
    if row is None:
        raise CountermarkError(
            "not_found",
            f"There is no task {task_id}.",
            next_action="See `countermark task list`.",
            details={"task": task_id},
        )
    return _from_row(row)


def load_open(tx: Tx) -> list[Task]:
    """Return every task that has not ended, oldest first: `move` sets the end together with a terminal state.

    Only what has ended is swept, so the one index of what is not serves both questions.
    """
    sql = f"SELECT {_COLUMNS} FROM tasks WHERE swept = 0 AND ended_at IS NULL ORDER BY created_at, id"  # noqa: S608
    return [_from_row(row) for row in tx.all(sql)]


def load_recent(tx: Tx, limit: int) -> list[Task]:
    """Return the newest tasks, newest first."""
    sql = f"SELECT {_COLUMNS} FROM tasks ORDER BY created_at DESC, rowid DESC LIMIT ?"  # noqa: S608
    return [_from_row(row) for row in tx.all(sql, (limit,))]


def attempts(tx: Tx, task_id: str) -> int:
    """Return how many effect attempts a task has begun."""
    row = tx.one("SELECT COUNT(*) FROM attempts WHERE task = ? AND kind = 'effect'", (task_id,))
    return int(row[0]) if row else 0


def attempt_epoch(tx: Tx, task_id: str) -> int:
    """Return the epoch under which a task's newest effect attempt began; later ones took it over."""
    sql = "SELECT epoch FROM attempts WHERE task = ? AND kind = 'effect' ORDER BY n DESC LIMIT 1"
    row = tx.one(sql, (task_id,))
    return int(row[0]) if row else 1


def last_attempt(tx: Tx, task_id: str) -> tuple[int, str, dict[str, Any], dict[str, Any] | None, str | None]:
    """Return the newest attempt: its number, kind, intent, result and handle."""
    row = tx.one(
        "SELECT n, kind, intent, result, handle FROM attempts WHERE task = ? ORDER BY n DESC LIMIT 1", (task_id,)
    )
    if row is None:
        return 0, "effect", {}, None, None
    return row[0], row[1], json.loads(row[2]), json.loads(row[3]) if row[3] else None, row[4]


def facts(tx: Tx, task_id: str) -> dict[str, Any]:
    """Return what the newest answered attempt of a task said of itself; empty when none has answered."""
    row = tx.one(
        "SELECT result FROM attempts WHERE task = ? AND kind = 'effect' AND result IS NOT NULL ORDER BY n DESC LIMIT 1",
        (task_id,),
    )
    found: dict[str, Any] = json.loads(row[0])["facts"] if row else {}
    return found


def publishing(tx: Tx, task_id: str) -> bool:
    """Whether a task's result was accepted and is on its way to its place: that ends one way or the other, not half."""
    sql = "SELECT 1 FROM attempts WHERE task = ? AND kind = 'publish' AND ended_at IS NULL"
    return tx.one(sql, (task_id,)) is not None


def require_unpublished(tx: Tx, task_id: str) -> None:
    """Raise `illegal_state` while a task's accepted result is being published: its end is no longer to be decided."""
    if publishing(tx, task_id):
        raise CountermarkError(
            "illegal_state",
            f"Task {task_id} was accepted, and its result is being published.",
            next_action=f"Wait for it, or see `countermark task show {task_id}`.",
            details={"task": task_id},
        )


def move(
    tx: Tx,
    task_id: str,
    epoch: int,
    path: tuple[State, ...],
    kind: str,
    body: Mapping[str, Any],
    *,
    code: str = "",
    executed: Executed | None = None,
) -> int:
    """Move a task along edges of the state table and append the event that says so; return its number.

    Compare-and-set on state and epoch: raises `stale_epoch` when the task is no longer this writer's, or no
    longer in the first state of the path.
    """
    target = follow(path)
    changed = tx.run(
        "UPDATE tasks SET state = ?, code = ?, executed = COALESCE(?, executed), ended_at = ? "
        "WHERE id = ? AND state = ? AND epoch = ?",
        (
            target._value_,
            code,
            executed._value_ if executed is not None else None,
            tx.now if target in TERMINAL else None,
            task_id,
            path[0]._value_,
            epoch,
        ),
    )
    if changed != 1:
        raise fence.stale(task_id)
    full = {"path": path, "epoch": epoch, **body}
    if code:
        full["code"] = code
    if executed is not None:
        full["executed"] = executed
    return tx.event(task_id, kind, full)


def _from_row(row: tuple[Any, ...]) -> Task:
    return Task(
        id=row[0],
        key=row[1],
        derived=bool(row[2]),
        grant=row[3],
        parent=row[4],
        supersedes=row[5],
        adapter=row[6],
        effect=row[7],
        kind=EffectKind(row[8]),
        effect_class=EffectClass(row[9]),
        plan=Plan.read(row[10]),
        plan_digest=row[11],
        inputs_digest=row[12],
        expected=stored(row[13]),
        runtime=RuntimeIdentity.read(stored(row[14])),
        epoch=row[15],
        state=State(row[16]),
        code=row[17],
        executed=Executed(row[18]),
        runner=row[19],
        deadline=row[20],
        created_at=row[21],
        ended_at=row[22],
    )
