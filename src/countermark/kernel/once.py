"""The law of once: intent is durable before the effect, and one key means one effect.

Admission is one transaction, in this order: key → resource → grant → uses → intent. The key comes first, so that the
retry of a call whose reply was lost finds its first result instead of a conflict with its own success (seed 3 §3.4).
A refusal has no effect, binds no key, and leaves one event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from countermark.kernel import fence, grant, task
from countermark.kernel.adapter import Effect, Estimate
from countermark.kernel.canon import digest
from countermark.kernel.errors import CountermarkError
from countermark.kernel.grant import Grant
from countermark.kernel.ledger import Tx, compact
from countermark.kernel.plan import Plan, RuntimeIdentity
from countermark.kernel.recovery import EffectClass, EffectKind, Executed
from countermark.kernel.state import State


class Ask(NamedTuple):
    """Everything admission needs, gathered before its transaction.

    `expected` is what the caller saw and `observed` what is there now, by resource. `uses` is what will be reserved.
    `task` is the identifier the task gets if it is admitted. `runner` names this process. `supersedes` names a waiting
    task that this one revises, and `keyid` the key that will sign that task's receipt. `looked` says, by resource, how
    often it had been written when `observed` was looked at.
    """

    task: str
    key: str
    derived: bool
    grant: str
    plan: Plan
    plan_text: str
    plan_digest: str
    inputs_digest: str
    effect: Effect
    expected: dict[str, str]
    observed: dict[str, str]
    runtime: RuntimeIdentity
    uses: dict[str, int]
    runner: str
    asked_at: int
    deadline: int | None = None
    supersedes: str | None = None
    keyid: str = ""
    looked: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Admitted:
    """The intent is durable: the effect may start now, under this epoch."""

    epoch: int
    chain: tuple[Grant, ...]


@dataclass(frozen=True, slots=True)
class Earlier:
    """The key has a task already, whose result is the answer."""

    task: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """The call was refused; `event` is the number of the one event that says so."""

    error: CountermarkError
    event: int


@dataclass(frozen=True, slots=True)
class Moved:
    """What was observed is not what was last written: by somebody outside, or it was observed too early.

    Only another look can tell; `writes` says how often each such resource had been written before it.
    """

    writes: Mapping[str, int]


Decision = Admitted | Earlier | Refusal | Moved


def derive_key(plan_digest: str, inputs_digest: str, bases: Mapping[str, tuple[str, int]]) -> str:
    """Return the key of a call that named none.

    `bases` maps each resource to the revision and write count the plan stands on. The count tells a colour set back to
    an earlier value from a repeat, where the revision alone could not.
    """
    standing = {name: [revision, writes] for name, (revision, writes) in bases.items()}
    return "derived:" + digest({"plan": plan_digest, "inputs": inputs_digest, "bases": standing})


def uses_of(estimate: Estimate, plan: Plan) -> dict[str, int]:
    """Return what an attempt reserves: one attempt, and the estimate; raise when the plan's own budget is smaller."""
    uses = {"attempts": 1, "bytes": estimate.bytes, "seconds": estimate.seconds, **estimate.counters}
    if any(amount < 0 for amount in uses.values()):
        raise CountermarkError(
            "capability_schema_mismatch",
            f"The estimate of {plan.effect} is below nothing.",
            next_action="This is a defect of the domain; report it.",
            details={"estimate": uses},
        )
    _within_budget(plan, uses)
    return {counter: amount for counter, amount in uses.items() if amount}


def _within_budget(plan: Plan, uses: Mapping[str, int]) -> None:
    for counter, most in plan.budget.items():
        if uses.get(counter, 0) > most:
            raise CountermarkError(
                "budget_exhausted",
                f"This needs {uses[counter]} {counter}, and its own budget is {most}.",
                next_action="Raise the budget in the call, or do less.",
                details={"counter": counter, "limit": most, "needed": uses[counter]},
            )


def uses_again(tx: Tx, task_id: str, plan: Plan) -> dict[str, int]:
    """Return what another attempt of a task reserves: as much as the first did.

    Raises `budget_exhausted` when all its attempts together would pass the plan's own budget.
    """
    rows = tx.all("SELECT attempt, counter, amount FROM uses WHERE task = ?", (task_id,))
    first = {counter: amount for attempt, counter, amount in rows if attempt == 1}
    total = Counter(first)
    for _, counter, amount in rows:
        total[counter] += amount
    _within_budget(plan, total)
    return first


def admit(tx: Tx, ask: Ask) -> Decision:
    """Decide a call inside one transaction, and make its intent durable if it may run."""
    try:
        chain = grant.load_chain(tx, ask.grant)
        earlier = _find(tx, ask, chain[0])
        if isinstance(earlier, Earlier):
            return earlier
        in_time(tx, ask.deadline)
        _revises(tx, ask)
        free = _fences(tx, ask)
        if moved := _moved(ask, free):
            return Moved(moved)
        grant.permit(chain, ask.effect.word, ask.plan.resources, ask.uses, tx.now)
    except CountermarkError as error:
        body = {
            "code": error.code,
            "message": error.sentence,
            "grant": ask.grant,
            "effect": ask.effect.word,
            "operation": ask.plan.operation,
            "resources": list(ask.plan.resources),
            "planDigest": ask.plan_digest,
        }
        return Refusal(error, tx.event("", "refused", body))
    return _begin(tx, ask, chain, free, earlier)


def _find(tx: Tx, ask: Ask, acting: Grant) -> Earlier | str | None:
    """Return the earlier task that answers this key, or the id that a new task supersedes, or None."""
    row = tx.one(
        "SELECT id, grant_id, plan_digest, inputs_digest, state, executed FROM tasks WHERE key = ? "
        "AND kind <> 'journalled' ORDER BY rowid DESC LIMIT 1",
        (ask.key,),
    )
    if row is None:
        return ask.supersedes
    found, owner, plan_digest, inputs_digest, state, executed = row
    if owner != acting.id and acting.id not in grant.load(tx, owner).lineage:
        raise CountermarkError(
            "permission_denied",
            "This key was used under a grant that yours does not include.",
            next_action="Choose another key.",
        )
    if (plan_digest, inputs_digest) != (ask.plan_digest, ask.inputs_digest):
        raise CountermarkError(
            "key_conflict",
            f"Key {ask.key} was used for another plan (task {found}); nothing was done.",
            next_action="Choose a new key, or repeat the first plan unchanged.",
            details={"task": found},
        )
    if ask.derived and state in ("failed", "cancelled") and executed == Executed.NO:
        return ask.supersedes or str(found)
    return Earlier(found)


def in_time(tx: Tx, deadline: int | None) -> None:
    """Raise `deadline_exceeded` when a task may no longer start; its expiry later on is no failure by itself."""
    if deadline is not None and tx.now >= deadline:
        raise CountermarkError(
            "deadline_exceeded", "The deadline has passed; nothing was started.", next_action="Set a later deadline."
        )


def _revises(tx: Tx, ask: Ask) -> None:
    """Raise unless the task to be revised waits for a decision (seed 1 §8: review_ready → planned)."""
    if ask.supersedes is None:
        return
    task.require_unpublished(tx, ask.supersedes)
    if task.load(tx, ask.supersedes).state is not State.REVIEW_READY:
        raise CountermarkError(
            "illegal_state",
            f"Task {ask.supersedes} does not wait for a decision, so it cannot be revised.",
            next_action=f"See `countermark task show {ask.supersedes}`; to do it anew, leave `supersedes` out.",
            details={"task": ask.supersedes},
        )


def _end_revised(tx: Tx, ask: Ask) -> None:
    """End the task that a new one revises: the old row fails as superseded, and has a receipt of its own."""
    if ask.supersedes is None:
        return
    old = task.load(tx, ask.supersedes)
    body = {"message": f"Revised by task {ask.task}.", "supersededBy": ask.task, "keyid": ask.keyid}
    path = (State.REVIEW_READY, State.FAILED)
    # What is only staged has changed nothing; a direct effect has happened, whatever comes after it.
    executed = Executed.NO if old.kind is EffectKind.STAGED else None
    task.move(tx, old.id, old.epoch, path, "superseded", body, code="superseded", executed=executed)
    fence.release(tx, old.id, old.plan.resources)  # an acceptance that died may have taken them


def _fences(tx: Tx, ask: Ask) -> fence.Free:
    if ask.effect.effect_class is EffectClass.READ_ONLY:
        return []
    return fence.free(tx, ask.task, ask.expected, ask.observed)


def _moved(ask: Ask, free: fence.Free) -> dict[str, int]:
    return {
        name: known.writes
        for name, known, _ in free
        if known is not None
        and known.writes
        and known.revision != ask.observed[name]
        and ask.looked.get(name) != known.writes
    }


def _begin(tx: Tx, ask: Ask, chain: Sequence[Grant], free: fence.Free, supersedes: str | None) -> Admitted:
    _end_revised(tx, ask)
    epoch = fence.take(tx, ask.task, free, ask.observed)
    grant.charge(tx, chain, ask.task, 1, ask.uses)
    expected = compact(ask.expected)
    tx.run(
        "INSERT INTO tasks (id, key, derived, grant_id, parent, supersedes, adapter, effect, kind, class, plan, "
        "plan_digest, inputs_digest, expected, runtime, epoch, state, runner, deadline, created_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', ?, ?, ?)",
        (
            ask.task,
            ask.key,
            int(ask.derived),
            ask.grant,
            ask.plan.parent,
            supersedes,
            ask.plan.adapter,
            ask.effect.word,
            ask.effect.kind._value_,
            ask.effect.effect_class._value_,
            ask.plan_text,
            ask.plan_digest,
            ask.inputs_digest,
            expected,
            _runtime_text(ask.runtime),
            epoch,
            ask.runner,
            ask.deadline,
            tx.now,
        ),
    )
    intent = f'{{"expected":{expected},"uses":{compact(ask.uses)}}}'
    tx.run(
        "INSERT INTO attempts (task, n, kind, epoch, intent, started_at) VALUES (?, 1, 'effect', ?, ?, ?)",
        (ask.task, epoch, intent, tx.now),
    )
    body = {
        "path": ["planned", "ready", "running"],
        "attempt": 1,
        "epoch": epoch,
        "key": ask.key,
        "grant": [one.id for one in chain],
        "planDigest": ask.plan_digest,
        "inputsDigest": ask.inputs_digest,
        "expected": ask.expected,
        "uses": ask.uses,
        "queueMs": max(tx.now - ask.asked_at, 0),
        "retries": 0,
    }
    tx.event(ask.task, "admitted", body)
    return Admitted(epoch, tuple(chain))


@lru_cache(maxsize=64)
def _runtime_text(runtime: RuntimeIdentity) -> str:
    return compact(runtime.wire())


def begin_again(
    tx: Tx,
    task_id: str,
    chain: Sequence[Grant],
    names: Sequence[str],
    uses: Mapping[str, int],
    *,
    past: int,
    runner: str,
) -> tuple[int, int]:
    """Start another attempt of a task that was confirmed not executed; return its number and its new epoch.

    `uses` is charged to it. The epoch rises above `past`, so that a late answer to the earlier attempt is stale.
    """
    row = tx.one("SELECT MAX(n) FROM attempts WHERE task = ?", (task_id,))
    number = int(row[0]) + 1 if row and row[0] else 1
    tx.run("UPDATE attempts SET ended_at = ? WHERE task = ? AND ended_at IS NULL", (tx.now, task_id))
    held = [name for name in names if fence.load(tx, name) is not None]
    epoch = fence.renew(tx, task_id, held, past)
    grant.charge(tx, chain, task_id, number, uses)
    tx.run(
        "INSERT INTO attempts (task, n, kind, epoch, intent, started_at) VALUES (?, ?, 'effect', ?, ?, ?)",
        (task_id, number, epoch, compact({"uses": dict(uses)}), tx.now),
    )
    tx.run("UPDATE tasks SET epoch = ?, runner = ? WHERE id = ?", (epoch, runner, task_id))
    return number, epoch
