"""A person's decision on a result that waits: accept, or reject (seed 1 §13).

A waiting task holds no lease. Accepting takes it again under a new epoch and compares the evidence and the revision: an
acceptance of what is no longer there is `stale_evidence`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from countermark.kernel import fence, grant, perform, proof, publish, restart, task
from countermark.kernel.adapter import Intent, Outcome
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Tx
from countermark.kernel.recovery import EffectKind, Executed
from countermark.kernel.state import State
from countermark.kernel.task import Task

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

UNPROVEN = "local user, not authenticated"


@dataclass(frozen=True, slots=True)
class Review:
    """What waits for a decision: the evidence digest an acceptance must name, and the verdicts behind it."""

    task: str
    evidence: str
    verdicts: tuple[proof.Verdict, ...]
    not_checked: tuple[tuple[str, str], ...]


def waiting(workspace: Workspace, task_id: str) -> Review:
    """Return what a task waits to have decided; raise `illegal_state` if it does not wait."""
    found = workspace.ledger.read(lambda tx: task.load(tx, task_id))
    body = _verified(workspace, found)
    return Review(
        task_id,
        body["evidence"],
        tuple(proof.Verdict.read(wire) for wire in body["verdicts"]),
        tuple((gap["what"], gap["why"]) for gap in body["notChecked"]),
    )


def accept(workspace: Workspace, task_id: str, evidence: str, *, by: str = UNPROVEN) -> perform.Performed:
    """Accept the evidence a person has seen, publish the result, and complete the task."""
    found = workspace.ledger.read(lambda tx: task.load(tx, task_id))
    body = _verified(workspace, found)
    proof.check_evidence(evidence, body["evidence"])
    acceptance = {"by": by, "how": "person", "evidence": evidence, "authenticated": False}
    if found.kind is not EffectKind.STAGED:
        _require_standing(workspace, found, body.get("revisions", {}))
        workspace.ledger.apply(lambda tx: _complete(tx, workspace, found, acceptance, body.get("revisions", {})))
        return perform.answer(workspace, workspace.ledger.read(lambda tx: task.load(tx, task_id)))
    with workspace.running(task_id):
        return _accept_staged(workspace, found, acceptance)


def _require_standing(workspace: Workspace, found: Task, written: Mapping[str, str]) -> None:
    """End a task as `stale_evidence` and raise that, where what its direct effect wrote is not what is there now."""
    for name, revision in written.items():
        token = workspace.adapter(found.adapter).observe(name)
        current = token if token is not None else publish.observe(workspace, name)
        if current != revision:
            raise _stale(
                workspace,
                found,
                CountermarkError(
                    "revision_conflict",
                    f"{name} is at {fence.short(current)}, not at {fence.short(revision)} as reviewed.",
                    next_action="Look at the change, then plan again on it.",
                    details={"resource": name, "expected": revision, "current": current},
                ),
            )


def _accept_staged(workspace: Workspace, found: Task, acceptance: dict[str, Any]) -> perform.Performed:
    epoch = _retake(workspace, found)
    try:
        intent = _reviewed(workspace, found, epoch)
        wanted = publish.targets(workspace, intent)

        def decide(tx: Tx) -> None:
            fence.assert_held(tx, intent.task, intent.plan.resources, intent.epoch)
            if task.load(tx, found.id).state is not State.REVIEW_READY:  # it was asked to stop meanwhile
                raise fence.stale(found.id)
            tx.event(found.id, "accepted", {"acceptance": acceptance, "epoch": intent.epoch})
            publish.intend(tx, intent, wanted)

        workspace.ledger.apply(decide)
    except CountermarkError:
        now = workspace.ledger.read(lambda tx: task.load(tx, found.id))
        if now.state is State.CANCEL_REQUESTED and now.epoch == epoch:
            return perform.late(workspace, perform.intent_of(workspace, now))
        workspace.ledger.apply(lambda tx: _undo(tx, found, epoch))
        raise
    publish.publish(workspace, intent, wanted)
    return perform.answer(workspace, workspace.ledger.read(lambda tx: task.load(tx, found.id)))


def _retake(workspace: Workspace, found: Task) -> int:
    """Take a waiting task's resources again and return the new epoch; end the task if its target has changed."""
    observed = {name: publish.observe(workspace, name) for name in found.plan.resources}

    def retake(tx: Tx) -> int:
        task.require_unpublished(tx, found.id)
        # What was revoked or has expired since publishes nothing, whoever accepts it.
        grant.permit(grant.load_chain(tx, found.grant), found.effect, found.plan.resources, {}, tx.now)
        epoch = fence.acquire(tx, found.id, found.expected, observed)
        changed = tx.run(
            "UPDATE tasks SET epoch = ?, runner = ? WHERE id = ? AND state = 'review_ready' AND epoch = ?",
            (epoch, workspace.runner_text, found.id, found.epoch),
        )
        if changed != 1:
            raise fence.stale(found.id)
        tx.run("UPDATE artifacts SET epoch = ? WHERE task = ? AND epoch = ?", (epoch, found.id, found.epoch))
        tx.event(found.id, "retaken", {"epoch": epoch, "from": found.epoch})
        return epoch

    try:
        return workspace.ledger.apply(retake)
    except CountermarkError as error:
        if error.code != "revision_conflict":
            raise
        raise _stale(workspace, found, error) from error


def _reviewed(workspace: Workspace, found: Task, epoch: int) -> Intent:
    """Return what is to be published, in the stage of its new epoch; end the task if its stage has changed."""
    workspace.move_stage(found.id, epoch)
    retaken = workspace.ledger.read(lambda tx: task.load(tx, found.id))
    intent = perform.intent_of(workspace, retaken)
    try:
        publish.keep(workspace, intent, workspace.ledger.read(lambda tx: publish.registered(tx, intent)))
    except CountermarkError as error:
        if error.code != "artifact_invalid":
            raise
        raise _stale(workspace, retaken, error) from error
    return intent


def _undo(tx: Tx, found: Task, epoch: int) -> None:
    """Give back what an acceptance took that could not be made; what is being published, or taken since, stays."""
    now = task.load(tx, found.id)
    if (now.state, now.epoch) == (State.REVIEW_READY, epoch) and not task.publishing(tx, found.id):
        fence.release(tx, found.id, found.plan.resources)


def _stale(workspace: Workspace, found: Task, error: CountermarkError) -> CountermarkError:
    """End a waiting task whose target or whose stage is not what was reviewed, and return the error of its ending."""
    sentence, details = error.sentence, error.details
    workspace.ledger.apply(lambda tx: _reject(tx, workspace, found, "stale_evidence", sentence, details))
    return perform.ending(workspace, workspace.ledger.read(lambda tx: task.load(tx, found.id)))


def reject(workspace: Workspace, task_id: str, reason: str) -> None:
    """End a waiting task without publishing it; what it made stays in the store."""
    found = workspace.ledger.read(lambda tx: task.load(tx, task_id))
    _verified(workspace, found)
    workspace.ledger.apply(lambda tx: _reject(tx, workspace, found, "task_failed", f"Rejected: {reason}", {}))


def settle_by_person(workspace: Workspace, task_id: str, executed: Executed, evidence: str) -> perform.Performed:
    """Settle an unknown outcome with a person's evidence (seed 1 §8: manual reconciliation also requires evidence).

    `blocked` goes on to run again; `reconciling` goes to the checks if it was executed, else the task fails;
    `cancel_requested` ends cancelled, saying whether it was executed. Raises the ended task's own code.
    """
    found = workspace.ledger.read(lambda tx: task.load(tx, task_id))
    body = {"evidence": evidence, "by": UNPROVEN, "executed": executed.value}
    if found.state is State.BLOCKED and executed is Executed.NO:
        path = (State.BLOCKED, State.READY)
        workspace.ledger.apply(lambda tx: task.move(tx, task_id, found.epoch, path, "unblocked", body))
        chain = workspace.ledger.read(lambda tx: grant.load_chain(tx, found.grant))
        intent = perform.intent_of(workspace, found)
        return perform.again(workspace, intent, chain, {"attempt": intent.attempt, **body}, ready=True)
    if found.state not in (State.RECONCILING, State.CANCEL_REQUESTED) or executed is Executed.UNKNOWN:
        raise CountermarkError(
            "illegal_state",
            f"Task {task_id} is {found.state}; there is nothing to settle by hand.",
            next_action=f"See `countermark task show {task_id}`.",
        )
    workspace.adapter(found.adapter)
    if not restart.can_take(workspace, found) or workspace.children_alive(task_id):
        raise CountermarkError(
            "resource_busy",
            f"Task {task_id} is still worked on, so nobody can say yet how it ended.",
            next_action="Wait until it has stopped, or stop its process, then say it again.",
            details={"task": task_id},
        )
    with workspace.running(task_id):
        return _settled(workspace, restart.take(workspace, found), executed, body)


def _settled(workspace: Workspace, found: Task, executed: Executed, body: dict[str, Any]) -> perform.Performed:
    """End a task, or have it verified, as a person has seen it; what answers later is late, for its epoch has risen."""
    if found.state is State.CANCEL_REQUESTED:
        return _cancelled(workspace, found, executed, body)
    if executed is Executed.YES:
        intent = perform.intent_of(workspace, found)
        return perform.verify_found(workspace, intent, Outcome(facts={"settledBy": UNPROVEN}), body)

    def failed(tx: Tx) -> None:
        whole = {**body, "message": "Settled by a person: it did not happen.", "keyid": workspace.keys.current_id()}
        path = (State.RECONCILING, State.FAILED)
        task.move(tx, found.id, found.epoch, path, "failed", whole, code="task_failed", executed=Executed.NO)
        fence.release(tx, found.id, found.plan.resources)

    workspace.ledger.apply(failed)
    return perform.answer(workspace, workspace.ledger.read(lambda tx: task.load(tx, found.id)))


def _cancelled(workspace: Workspace, found: Task, executed: Executed, body: dict[str, Any]) -> perform.Performed:
    """End a task whose stop could not be confirmed by looking: a person has seen what became of it."""

    def transition(tx: Tx) -> None:
        message = f"Cancelled; settled by a person: executed: {executed}."
        whole = {**body, "message": message, "was": found.state.value, "keyid": workspace.keys.current_id()}
        path = (State.CANCEL_REQUESTED, State.CANCELLED)
        task.move(tx, found.id, found.epoch, path, "cancelled", whole, code="cancelled", executed=executed)
        tx.run("UPDATE artifacts SET state = 'orphan' WHERE task = ? AND state = 'staged'", (found.id,))
        fence.release(tx, found.id, found.plan.resources)

    workspace.ledger.apply(transition)
    return perform.answer(workspace, workspace.ledger.read(lambda tx: task.load(tx, found.id)))


def _verified(workspace: Workspace, found: Task) -> dict[str, Any]:
    if found.state is State.REVIEW_READY:
        for event in reversed(workspace.ledger.events(task=found.id)):
            if event.kind == "verified":
                return event.body
    raise CountermarkError(
        "illegal_state",
        f"Task {found.id} is {found.state}, it does not wait for a decision.",
        next_action=f"See `countermark task show {found.id}`.",
        details={"task": found.id, "state": found.state.value},
    )


def _complete(tx: Tx, workspace: Workspace, found: Task, acceptance: dict[str, Any], revisions: dict[str, str]) -> None:
    body = {"acceptance": acceptance, "revisions": revisions, "keyid": workspace.keys.current_id()}
    task.move(tx, found.id, found.epoch, (State.REVIEW_READY, State.COMPLETED), "completed", body)


def _reject(tx: Tx, workspace: Workspace, found: Task, code: str, message: str, details: dict[str, Any]) -> None:
    task.require_unpublished(tx, found.id)
    body = {"message": message, "details": details, "keyid": workspace.keys.current_id()}
    path = (State.REVIEW_READY, State.FAILED)
    # What is only staged has changed nothing; a direct effect has happened, whatever a person thinks of it.
    executed = Executed.NO if found.kind is EffectKind.STAGED else None
    task.move(tx, found.id, found.epoch, path, "failed", body, code=code, executed=executed)
    fence.release(tx, found.id, found.plan.resources)
