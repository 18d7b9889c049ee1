"""From ledger rows to a signed receipt: the same rows give the same bytes, now or after a crash (design §3.6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from countermark.kernel import grant, publish, receipt, task
from countermark.kernel.adapter import StagedFile
from countermark.kernel.canon import stored
from countermark.kernel.errors import CountermarkError
from countermark.kernel.facts import (
    Acceptance,
    Gap,
    GrantFact,
    LedgerPlace,
    ReceiptFacts,
    ResourceFact,
    Signatory,
    Times,
)
from countermark.kernel.key import Keys
from countermark.kernel.ledger import Ledger, Row, Tx
from countermark.kernel.proof import Verdict
from countermark.kernel.receipt import Subject
from countermark.kernel.recovery import EffectKind, Executed
from countermark.kernel.state import State
from countermark.kernel.task import Task

_PARTS: Final = ("keyid", "verdicts", "acceptance", "revisions")


class Receipts:
    """Renders receipts of one workspace."""

    def __init__(
        self, ledger: Ledger, keys: Keys, workspace: str, kept: Callable[[str], bytes | None] = lambda _: None
    ) -> None:
        """Make a renderer; `kept` returns an already rendered receipt, for keys whose private half is gone."""
        self._ledger = ledger
        self._keys = keys
        self._workspace = workspace
        self._kept = kept
        self._grants: dict[str, tuple[GrantFact, ...]] = {}

    def render(self, task_id: str) -> bytes:
        """Return the signed receipt of an ended task; raise `illegal_state` while it has not ended."""
        facts, subjects = self.facts(task_id)
        try:
            signer = self._keys.signing(facts.signer.keyid)
        except CountermarkError:
            kept = self._kept(task_id)
            if kept is None:
                raise
            return kept
        return receipt.receipt_bytes(facts, subjects, signer)

    def facts(self, task_id: str) -> tuple[ReceiptFacts, list[Subject]]:
        """Return what the ledger's rows say of an ended task."""
        return self._ledger.read(lambda tx: self._facts(tx, task_id))

    def _facts(self, tx: Tx, task_id: str) -> tuple[ReceiptFacts, list[Subject]]:
        found = task.load(tx, task_id)
        rows = tx.all("SELECT seq, hash, body FROM events WHERE task = ? ORDER BY seq DESC", (task_id,))
        told = _newest(rows)
        if not found.ended or "keyid" not in told:
            raise CountermarkError(
                "illegal_state",
                f"Task {task_id} is {found.state}; a receipt is made when it has ended.",
                next_action=f"See `countermark task show {task_id}`.",
                details={"task": task_id, "state": found.state.value},
            )
        seq, seal, end = told["keyid"]
        evidence, accepted, made = [told[part][2] if part in told else {} for part in _PARTS[1:]]
        attempts = tx.all(
            "SELECT n, started_at FROM attempts WHERE task = ? AND kind = 'effect' ORDER BY n", (task_id,)
        )
        uses: Counter[str] = Counter()
        for counter, amount in tx.all("SELECT counter, amount FROM uses WHERE task = ?", (task_id,)):
            uses[counter] += amount
        keyid = str(end["keyid"])
        facts = ReceiptFacts(
            task_id=task_id,
            idempotency_key=found.key,
            parent_task=found.parent,
            supersedes=found.supersedes,
            attempt=attempts[-1][0] if attempts else 1,
            epoch=found.epoch or None,
            authorization_ref=found.grant,
            grants=self._chain(tx, found.grant),
            effect=found.effect,
            effect_class=found.effect_class,
            plan_digest=found.plan_digest,
            input_refs=found.plan.inputs,
            resources=_resources(found, end, made),
            runtime_identity=found.runtime,
            deadline=found.deadline,
            budget=dict(found.plan.budget),
            uses=dict(uses),
            verdicts=tuple([Verdict.read(wire) for wire in evidence.get("verdicts", ())]),
            not_checked=tuple([Gap(gap["what"], gap["why"]) for gap in evidence.get("notChecked", ())]),
            acceptance=_acceptance(accepted.get("acceptance")),
            state=found.state,
            code=found.code,
            executed=found.executed,
            times=Times(found.created_at, attempts[0][1] if attempts else None, found.ended_at or found.created_at),
            ledger=LedgerPlace(self._workspace, seal, seq, bool(end.get("late"))),
            signer=Signatory(keyid, self._keys.public(keyid)),
        )
        return facts, _subjects(tx, found, end)

    def _chain(self, tx: Tx, grant_id: str) -> tuple[GrantFact, ...]:
        known = self._grants.get(grant_id)
        if known is None:  # neither a grant's terms nor its ancestors ever change, so they are read and digested once
            chain = reversed(grant.load_chain(tx, grant_id))
            known = tuple(GrantFact(one.id, one.issuer, one.holder, one.digest()) for one in chain)
            self._grants[grant_id] = known
        return known


def _newest(rows: Iterable[Row]) -> dict[str, tuple[int, str, dict[str, Any]]]:
    """Return the newest of a task's events that tells each part of its end; reads no further back than it must."""
    found: dict[str, tuple[int, str, dict[str, Any]]] = {}
    for seq, seal, text in rows:
        body = stored(text)
        for part in _PARTS:
            if part not in found and body.get(part) is not None:
                found[part] = (seq, seal, body)
        if len(found) == len(_PARTS):
            break
    return found


def _acceptance(wire: Mapping[str, Any] | None) -> Acceptance | None:
    return Acceptance(wire["by"], wire["how"], wire["evidence"], wire["authenticated"]) if wire else None


def _resources(found: Task, end: dict[str, Any], made: dict[str, Any]) -> tuple[ResourceFact, ...]:
    # A direct effect that was made and then not accepted has changed its resource all the same.
    after = end.get("revisions", made.get("revisions", {}))
    before = end.get("before", found.expected)

    def left(name: str) -> str | None:
        if found.state is State.COMPLETED or found.executed is not Executed.NO:
            return str(after[name]) if name in after else None
        known: str | None = before.get(name)
        return known

    return tuple(
        ResourceFact(name, found.expected.get(name), before.get(name), left(name)) for name in found.plan.resources
    )


def _subjects(tx: Tx, found: Task, end: dict[str, Any]) -> list[Subject]:
    """Return the artefacts of a task, without what came late; one that made none is about its plan."""
    if found.kind is EffectKind.STAGED:
        rows = tx.all(
            "SELECT resource, name, digest, size, media_type FROM artifacts WHERE task = ? AND epoch = ? "
            "AND state IN ('staged', 'published') ORDER BY resource, name",
            (found.id, found.epoch),
        )
        named = publish.subjects(found.plan.resources, [StagedFile(*row) for row in rows])
    else:
        named = dict(end.get("subjects", {}))
    return [Subject(name, sha256) for name, sha256 in named.items()] or [Subject("plan", found.plan_digest)]
