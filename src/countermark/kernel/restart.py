"""Taking up what a process left behind: every state has a typed way on (design §4, restart).

A task is taken over only when its runner is proven gone *and* nothing that inherited its children's lock lives any
more. Then its epoch rises, so that the earlier process, should it wake up, can publish nothing.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from countermark.kernel import fence, grant, perform, publish, runner, task
from countermark.kernel.adapter import Finding, Intent, Outcome, Reply
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Tx
from countermark.kernel.recovery import EffectKind, Executed
from countermark.kernel.state import State
from countermark.kernel.task import Task

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace


def settle(workspace: Workspace, task_id: str) -> bool:
    """Bring a task as far as it can go without a person; return whether it holds its resources no more.

    Leaves a task alone whose runner, or any process that runner started for it, may still live.
    """
    found = workspace.ledger.read(lambda tx: task.load(tx, task_id))
    if found.ended or (_waits_for_person(workspace, found) and not holds_any(workspace, found)):
        return True
    if found.state in (State.PLANNED, State.BLOCKED) or not can_take(workspace, found):
        return False  # those two have begun nothing and wait for a person or a caller
    try:
        _go_on(workspace, take(workspace, found))
    except CountermarkError as error:
        if error.code in ("resource_busy", "ledger_busy"):
            return False
    after = workspace.ledger.read(lambda tx: task.load(tx, task_id))
    if after.state is State.CANCEL_REQUESTED and can_take(workspace, after):  # asked while it was looked at
        workspace.confirm_cancel(after)
        after = workspace.ledger.read(lambda tx: task.load(tx, task_id))
    return after.ended or _waits_for_person(workspace, after)


def _waits_for_person(workspace: Workspace, found: Task) -> bool:
    """Whether a task waits in `review_ready` without a publish intent: it holds no lease (design §3)."""
    return found.state is State.REVIEW_READY and _publish_intent(workspace, found) is None


def can_take(workspace: Workspace, found: Task) -> bool:
    """Return whether a task's runner and all its children are proven gone, or it is this process's own and idle.

    A process that does not have the task's domain leaves it to one that has.
    """
    if not workspace.knows(found.adapter):
        return False
    if found.runner == workspace.runner_text:
        return not workspace.is_running(found.id)
    return runner.is_gone(found.runner, workspace.locks) and not workspace.children_alive(found.id)


def take(workspace: Workspace, found: Task) -> Task:
    """Raise the epoch of a task and make it this process's."""

    def transition(tx: Tx) -> int:
        now = task.load(tx, found.id)
        if now.ended or (now.epoch, now.state, now.runner) != (found.epoch, found.state, found.runner):
            raise fence.stale(found.id)
        names = [name for name in found.plan.resources if _holds(tx, name, found.id)]
        epoch = fence.renew(tx, found.id, names, found.epoch)
        tx.run("UPDATE tasks SET epoch = ?, runner = ? WHERE id = ?", (epoch, workspace.runner_text, found.id))
        tx.run(
            "UPDATE artifacts SET epoch = ? WHERE task = ? AND epoch = ? AND state = 'staged'",
            (epoch, found.id, found.epoch),
        )
        tx.run("UPDATE processes SET ended_at = ? WHERE task = ? AND ended_at IS NULL", (tx.now, found.id))
        tx.event(found.id, "taken_over", {"epoch": epoch, "from": found.epoch, "state": found.state.value})
        return epoch

    epoch = workspace.ledger.apply(transition)
    workspace.move_stage(found.id, epoch)
    return replace(found, epoch=epoch, runner=workspace.runner_text)


def _holds(tx: Tx, name: str, task_id: str) -> bool:
    known = fence.load(tx, name)
    return known is not None and known.holder == task_id


def holds_any(workspace: Workspace, found: Task) -> bool:
    """Return whether a task holds any of its resources."""
    return workspace.ledger.read(lambda tx: any(_holds(tx, name, found.id) for name in found.plan.resources))


def _go_on(workspace: Workspace, found: Task) -> None:
    intent = perform.intent_of(workspace, found)
    with workspace.running(found.id):
        if found.state is State.RUNNING:
            _interrupted(workspace, intent)
        elif found.state is State.RECONCILING:
            perform.reconcile(workspace, intent, _known(intent))
        elif found.state is State.VERIFYING:
            perform.verify(workspace, intent, _result(workspace, intent))
        elif found.state is State.REVIEW_READY:
            wanted = _publish_intent(workspace, found)
            if wanted is not None:
                publish.publish(workspace, intent, wanted)
            else:  # an acceptance took the lease and died before it said so: the task waits as before
                workspace.ledger.apply(lambda tx: _rest(tx, found))
        elif found.state is State.READY:
            chain = workspace.ledger.read(lambda tx: grant.load_chain(tx, found.grant))
            perform.again(workspace, intent, chain, {"attempt": intent.attempt}, ready=True)
        elif found.state is State.CANCEL_REQUESTED:
            workspace.confirm_cancel(found)


def _rest(tx: Tx, found: Task) -> None:
    """Let a waiting task's resources go, unless somebody has accepted it since this process took it up."""
    if task.load(tx, found.id).epoch != found.epoch or task.publishing(tx, found.id):
        raise fence.stale(found.id)
    fence.release(tx, found.id, found.plan.resources)


def _interrupted(workspace: Workspace, intent: Intent) -> None:
    """Take up an attempt whose process died: the reply is lost, whatever it was."""
    body = {"attempt": intent.attempt, "reply": Reply.LOST.value, "message": "The process that ran it ended."}
    path = (State.RUNNING, State.RECONCILING)
    workspace.ledger.apply(lambda tx: task.move(tx, intent.task, intent.epoch, path, "unknown", body))
    perform.reconcile(workspace, intent, _known(intent))


def _known(intent: Intent) -> Finding | None:
    """Return the finding of a staged attempt whose process is gone with all its children: it was not executed.

    What its stage holds was never said to be whole, nor durable (design §4). A long job that has a handle may have
    gone on elsewhere, so its adapter looks.
    """
    if intent.effect.kind is not EffectKind.STAGED or intent.handle is not None:
        return None
    return Finding(Executed.NO, {"stage": "its process ended before it gave a result"})


def _result(workspace: Workspace, intent: Intent) -> Outcome:
    row = workspace.ledger.read(
        lambda tx: tx.one("SELECT result FROM attempts WHERE task = ? AND n = ?", (intent.task, intent.attempt))
    )
    if row is None or row[0] is None:
        return Outcome.unknown("The attempt has no recorded result.")
    return perform.outcome_read(json.loads(row[0]))


def _publish_intent(workspace: Workspace, found: Task) -> dict[str, tuple[str, str]] | None:
    row = workspace.ledger.read(
        lambda tx: tx.one(
            "SELECT intent FROM attempts WHERE task = ? AND kind = 'publish' AND ended_at IS NULL "
            "ORDER BY n DESC LIMIT 1",
            (found.id,),
        )
    )
    if row is None:
        return None
    return {name: (old, new) for name, (old, new) in json.loads(row[0])["targets"].items()}
