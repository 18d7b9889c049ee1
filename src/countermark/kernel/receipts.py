"""From ledger rows to a signed receipt: the same rows give the same bytes, now or after a crash (design §3.6)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from countermark.kernel import grant, publish, receipt, task
from countermark.kernel.adapter import StagedFile
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
from countermark.kernel.ledger import Ledger, Tx
from countermark.kernel.proof import Verdict
from countermark.kernel.receipt import Subject
from countermark.kernel.recovery import EffectKind, Executed
from countermark.kernel.state import State
from countermark.kernel.task import Task

History = list[tuple[int, str, dict[str, Any], str]]


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
        self._grants: dict[str, GrantFact] = {}

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
        rows = tx.all("SELECT seq, kind, body, hash FROM events WHERE task = ? ORDER BY seq", (task_id,))
        history: History = [(seq, kind, json.loads(body), seal) for seq, kind, body, seal in rows]
        ends = [row for row in history if row[2].get("keyid")]
        if not found.ended or not ends:
            raise CountermarkError(
                "illegal_state",
                f"Task {task_id} is {found.state}; a receipt is made when it has ended.",
                next_action=f"See `countermark task show {task_id}`.",
                details={"task": task_id, "state": found.state.value},
            )
        seq, _, end, seal = ends[-1]
        evidence = _last(history, "verdicts")
        attempt = tx.one("SELECT MAX(n), MIN(started_at) FROM attempts WHERE task = ? AND kind = 'effect'", (task_id,))
        number, started = attempt if attempt and attempt[0] else (1, None)
        uses = tx.all("SELECT counter, SUM(amount) FROM uses WHERE task = ? GROUP BY counter", (task_id,))
        keyid = str(end["keyid"])
        facts = ReceiptFacts(
            task_id=task_id,
            idempotency_key=found.key,
            parent_task=found.parent,
            supersedes=found.supersedes,
            attempt=number,
            epoch=found.epoch or None,
            authorization_ref=found.grant,
            grants=tuple(self._grant(one) for one in reversed(grant.load_chain(tx, found.grant))),
            effect=found.effect,
            effect_class=found.effect_class,
            plan_digest=found.plan_digest,
            input_refs=found.plan.inputs,
            resources=_resources(found, end, _last(history, "revisions")),
            runtime_identity=found.runtime,
            deadline=found.deadline,
            budget=dict(found.plan.budget),
            uses=dict(uses),
            verdicts=tuple(Verdict.read(wire) for wire in evidence.get("verdicts", ())),
            not_checked=tuple(Gap(gap["what"], gap["why"]) for gap in evidence.get("notChecked", ())),
            acceptance=_acceptance(history),
            state=found.state,
            code=found.code,
            executed=found.executed,
            times=Times(found.created_at, started, found.ended_at or found.created_at),
            ledger=LedgerPlace(self._workspace, seal, seq, bool(end.get("late"))),
            signer=Signatory(keyid, self._keys.public(keyid)),
        )
        return facts, _subjects(tx, found, end)

    def _grant(self, one: grant.Grant) -> GrantFact:
        known = self._grants.get(one.id)
        if known is None:  # a grant's terms never change, so its digest is computed once
            known = self._grants[one.id] = GrantFact(one.id, one.issuer, one.holder, one.digest())
        return known


def _last(history: History, member: str) -> dict[str, Any]:
    return next((body for _, _, body, _ in reversed(history) if member in body), {})


def _acceptance(history: History) -> Acceptance | None:
    wire = _last(history, "acceptance").get("acceptance")
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
    """Return the artefacts of a task; one that made none is about its plan."""
    if found.kind is EffectKind.STAGED:
        rows = tx.all(
            "SELECT resource, name, digest, size, media_type FROM artifacts WHERE task = ? AND epoch = ? "
            "ORDER BY resource, name",
            (found.id, found.epoch),
        )
        named = publish.subjects(found.plan.resources, [StagedFile(*row) for row in rows])
    else:
        named = dict(end.get("subjects", {}))
    return [Subject(name, sha256) for name, sha256 in named.items()] or [Subject("plan", found.plan_digest)]
