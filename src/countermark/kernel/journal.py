"""Journalled effects: the domain's own store is the authority, the kernel keeps one row per effect (design §3).

`permit` reads the grant and its uses before the domain's store is written; `enter` writes one row after it, in one
commit. A row that could only be entered later says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from countermark.kernel import grant
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Tx, compact
from countermark.kernel.plan import Plan, RuntimeIdentity, plan_digest
from countermark.kernel.proof import Verdict, evidence_digest
from countermark.kernel.recovery import EffectClass, EffectKind, Executed

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Entry:
    """One effect that a domain's own store has made durable.

    `before` and `after` hold the revisions by resource, `subjects` the digests of what was written by name.
    """

    plan: Plan
    key: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    subjects: Mapping[str, tuple[str, int]]
    verdicts: Sequence[Verdict]
    runtime: RuntimeIdentity
    uses: Mapping[str, int] = field(default_factory=lambda: {"attempts": 1})
    late: bool = False


def permit(workspace: Workspace, plan: Plan, grant_id: str, uses: Mapping[str, int] | None = None) -> None:
    """Raise unless the grant allows the effect now; writes nothing."""

    def question(tx: Tx) -> None:
        chain = grant.load_chain(tx, grant_id)
        grant.permit(chain, plan.effect, plan.resources, uses or {"attempts": 1}, tx.time())

    workspace.ledger.read(question)


def enter(workspace: Workspace, entry: Entry, grant_id: str) -> str:
    """Write the one row of an effect that has happened; return its task. The same key enters once.

    The effect is a fact by now, so a grant that ended in between does not stop its entry: the row says `late` and the
    use is charged all the same.
    """
    text = entry.plan.text()
    fresh = workspace.ids.new("t")
    effect = workspace.adapter(entry.plan.adapter).effects()[entry.plan.effect]

    def transition(tx: Tx) -> str:
        row = tx.one("SELECT id, plan_digest FROM tasks WHERE key = ? AND kind = 'journalled'", (entry.key,))
        if row is not None:
            if row[1] != plan_digest(text):
                raise CountermarkError(
                    "key_conflict",
                    f"Key {entry.key} was entered for another effect (task {row[0]}).",
                    next_action="Check the domain's store against the ledger.",
                    details={"task": row[0]},
                )
            return str(row[0])
        chain = grant.load_chain(tx, grant_id)
        late = replace(entry, late=True) if entry.late or not _permitted(tx, chain, entry) else entry
        grant.charge(tx, chain, fresh, 1, entry.uses)
        _insert(tx, workspace, late, grant_id, fresh, text, effect.effect_class)
        return fresh

    return workspace.ledger.apply(transition)


def _permitted(tx: Tx, chain: Sequence[grant.Grant], entry: Entry) -> bool:
    try:
        grant.permit(chain, entry.plan.effect, entry.plan.resources, entry.uses, tx.now)
    except CountermarkError:
        return False
    return True


def _insert(
    tx: Tx, workspace: Workspace, entry: Entry, grant_id: str, fresh: str, text: bytes, effect_class: EffectClass
) -> None:
    tx.run(
        "INSERT INTO tasks (id, key, derived, grant_id, parent, adapter, effect, kind, class, plan, plan_digest, "
        "inputs_digest, expected, runtime, epoch, state, executed, runner, created_at, ended_at) "
        "VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 'completed', ?, ?, ?, ?)",
        (
            fresh,
            entry.key,
            grant_id,
            entry.plan.parent,
            entry.plan.adapter,
            entry.plan.effect,
            EffectKind.JOURNALLED.value,
            effect_class.value,
            text.decode("utf-8"),
            plan_digest(text),
            entry.plan.inputs_digest(),
            compact(dict(entry.before)),
            compact(entry.runtime.wire()),
            Executed.YES.value,
            workspace.runner_text,
            tx.now,
            tx.now,
        ),
    )
    subjects = {name: digest for name, (digest, _) in entry.subjects.items()}
    body: dict[str, Any] = {
        "path": ["planned", "ready", "running", "verifying", "review_ready", "completed"],
        "attempt": 1,
        "epoch": 0,
        "verdicts": [verdict.wire() for verdict in entry.verdicts],
        "notChecked": [],
        "evidence": evidence_digest(entry.verdicts, subjects),
        "before": dict(entry.before),
        "revisions": dict(entry.after),
        "subjects": subjects,
        "late": entry.late,
        "keyid": workspace.keys.current_id(),
        "executed": Executed.YES.value,
    }
    tx.event(fresh, "journalled", body)
