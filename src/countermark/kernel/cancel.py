"""Stopping: a request is durable first, `cancelled` only when the stop is confirmed and the originals were looked at.

While it is unknown whether the effect happened, the task stays `cancel_requested` and keeps its resource. What arrives
later becomes an orphan artefact and changes no state (seed 1 §8).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from countermark.kernel import fence, grant, perform, restart, task
from countermark.kernel.adapter import Stopped
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Tx
from countermark.kernel.recovery import EffectKind, Executed
from countermark.kernel.state import EDGES, State
from countermark.kernel.task import Task

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace


def cancel(workspace: Workspace, task_id: str, reason: str = "asked") -> Task:
    """Ask a task to stop and confirm it if possible; return the task as it then stands."""
    workspace.ledger.apply(lambda tx: _request(tx, task_id, reason))
    return _confirm(workspace, task_id)


def cancel_grant(workspace: Workspace, grant_id: str, reason: str = "grant revoked") -> list[Task]:
    """Revoke a grant with everything below it and stop all its unfinished tasks, marked in one transaction."""

    def transition(tx: Tx) -> list[str]:
        ended = set(grant.revoke(tx, grant_id))
        tx.event("", "revoked", {"grant": grant_id, "grants": sorted(ended), "reason": reason})
        below = {g.id for g in grant.load_all(tx) if g.id == grant_id or grant_id in g.lineage}
        members = [one.id for one in task.load_open(tx) if one.grant in below and not task.publishing(tx, one.id)]
        for member in members:
            _request(tx, member, reason)
        return members

    members = workspace.ledger.apply(transition)
    for member in members:
        with suppress(CountermarkError):  # one that cannot be stopped now stays marked, and holds up no other
            _confirm(workspace, member)
    return [workspace.ledger.read(lambda tx, member=member: task.load(tx, member)) for member in members]  # type: ignore[misc]


def _request(tx: Tx, task_id: str, reason: str) -> None:
    found = task.load(tx, task_id)
    if found.state is State.CANCEL_REQUESTED:
        return
    if (found.state, State.CANCEL_REQUESTED) not in EDGES or task.publishing(tx, task_id):
        raise CountermarkError(
            "illegal_state",
            f"Task {task_id} is {found.state}; it can no longer be cancelled.",
            next_action=f"See `countermark task show {task_id}`.",
            details={"task": task_id, "state": found.state.value},
        )
    body = {"reason": reason, "was": found.state.value}
    task.move(tx, task_id, found.epoch, (found.state, State.CANCEL_REQUESTED), "cancel_requested", body)


def _confirm(workspace: Workspace, task_id: str) -> Task:
    """Stop what runs for a task and settle it, unless another living process is the one to do that."""
    workspace.stop_children(task_id)
    found = workspace.ledger.read(lambda tx: task.load(tx, task_id))
    if found.state is State.CANCEL_REQUESTED and (restart.can_take(workspace, found) or _rests(workspace, found)):
        confirm(workspace, restart.take(workspace, found))
    return workspace.ledger.read(lambda tx: task.load(tx, task_id))


def _rests(workspace: Workspace, found: Task) -> bool:
    """Whether nobody works on a task that was asked to stop: it waited for a decision.

    A blocked one keeps its resources, and whoever unblocks it needs it blocked. Of the others one that holds something
    is being accepted, and is for its own process to end.
    """
    before = _state_before(workspace, found)
    if not workspace.knows(found.adapter):
        return False
    waits = before in (State.PLANNED, State.REVIEW_READY) and not restart.holds_any(workspace, found)
    return waits or before is State.BLOCKED


def confirm(workspace: Workspace, found: Task) -> None:
    """End a task whose runner is done with it: its children are gone, and its adapter has looked at the originals."""
    before = _state_before(workspace, found)
    workspace.end_children(found.id)
    if workspace.children_alive(found.id):
        alive = {"executed": "unknown", "evidence": {"children": "something started for this still runs"}}
        workspace.ledger.apply(lambda tx: tx.event(found.id, "stop_unconfirmed", {**alive, "was": before.value}))
        return
    if before in (State.PLANNED, State.BLOCKED, State.READY):
        stopped = Stopped(confirmed=True, executed=Executed.NO)
    else:
        intent = perform.intent_of(workspace, found)
        try:
            context = workspace.context(intent, stopped=True)
            stopped = workspace.adapter(found.adapter).cancel(intent, context)
        except CountermarkError as error:
            stopped = Stopped(confirmed=False, executed=Executed.UNKNOWN, evidence={"error": error.as_json()})
        except Exception as error:  # noqa: BLE001 - a defect in an adapter confirms nothing
            stopped = Stopped(confirmed=False, executed=Executed.UNKNOWN, evidence={"defect": type(error).__name__})
        if not isinstance(stopped, Stopped):
            evidence = {"defect": type(stopped).__name__}
            stopped = Stopped(confirmed=False, executed=Executed.UNKNOWN, evidence=evidence)
        if found.kind is EffectKind.STAGED and stopped.confirmed:
            # Whatever its stage holds: nothing of the user's was touched, for that takes a publish intent.
            stopped = replace(stopped, executed=Executed.NO)
    body = {"executed": stopped.executed.value, "evidence": dict(stopped.evidence), "was": before.value}

    def transition(tx: Tx) -> None:
        if not stopped.confirmed or stopped.executed is Executed.UNKNOWN:
            tx.event(found.id, "stop_unconfirmed", body)
            return
        whole = {**body, "message": f"Cancelled; executed: {stopped.executed}.", "keyid": workspace.keys.current_id()}
        path = (State.CANCEL_REQUESTED, State.CANCELLED)
        task.move(tx, found.id, found.epoch, path, "cancelled", whole, code="cancelled", executed=stopped.executed)
        tx.run("UPDATE artifacts SET state = 'orphan' WHERE task = ? AND state = 'staged'", (found.id,))
        fence.release(tx, found.id, found.plan.resources)

    workspace.ledger.apply(transition)


def _state_before(workspace: Workspace, found: Task) -> State:
    for event in reversed(workspace.ledger.events(task=found.id)):
        if event.kind == "cancel_requested":
            return State(event.body["was"])
    return State.RUNNING
