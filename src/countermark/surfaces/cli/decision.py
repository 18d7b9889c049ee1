"""`countermark task accept | reject | cancel | reconcile`: what a person decides about a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import click

from countermark.kernel import cancel as stopping
from countermark.kernel import proof, publish, restart, review, task
from countermark.kernel.errors import CountermarkError
from countermark.kernel.perform import Performed
from countermark.kernel.recovery import EffectKind, Executed
from countermark.kernel.state import EDGES, State
from countermark.kernel.task import Task
from countermark.kernel.workspace import Workspace
from countermark.surfaces.cli import story
from countermark.surfaces.cli.call import Answer, Call, command
from countermark.surfaces.cli.carry import carry
from countermark.surfaces.cli.task import is_stale, load, wire
from countermark.surfaces.cli.terminal import pairs, short

LEAST_DIGITS: Final = 8
_ATTRIBUTION: Final = f"recorded as: {review.UNPROVEN}"


@command(example="task accept t-abcdefghijklmnop --evidence 3f2a9c01d4e5", dry_run=True)
@click.argument("task_id", metavar="TASK")
@click.option(
    "--evidence", required=True, metavar="DIGEST", help="The evidence you have seen, as `task show` names it."
)
def accept(call: Call, task_id: str, evidence: str) -> Answer:
    """Accept the evidence of a task that waits, and publish its result.

    Nothing proves who calls this, so the acceptance is recorded as a local user's, not authenticated.
    """
    with call.open(working=True) as workspace:
        waiting = review.waiting(workspace, task_id)
        whole = _whole(evidence, waiting.evidence)
        if call.dry_run:
            return _would_accept(workspace, waiting, whole)
        done = carry(workspace, lambda: review.accept(workspace, task_id, whole))
        found = workspace.ledger.read(lambda tx: task.load(tx, done.task))
    on = ", ".join(map(story.place, found.plan.resources))
    lines = [f"Accepted and published: {on}.", *_attributed(("receipt", f"countermark receipt show {done.task}"))]
    return Answer({**wire(found), "evidence": whole, "by": review.UNPROVEN}, lines)


def _whole(given: str, current: str) -> str:
    """Return the whole digest that the first digits stand for; other digits stay as they are and will not fit."""
    plain = given.lower().removesuffix("…")
    if len(plain) < LEAST_DIGITS:
        raise CountermarkError(
            "input_invalid",
            f"{given!r} is too short to name evidence: it takes {LEAST_DIGITS} digits or more.",
            next_action="Copy the digits after `evidence` in `countermark task show`.",
        )
    return current if current.startswith(plain) else plain


def _would_accept(workspace: Workspace, waiting: review.Review, evidence: str) -> Answer:
    proof.check_evidence(evidence, waiting.evidence)
    found = workspace.ledger.read(lambda tx: task.load(tx, waiting.task))
    if found.kind is EffectKind.STAGED:
        for name in found.plan.resources:
            current = publish.observe(workspace, name)
            if current != found.expected[name]:
                raise CountermarkError(
                    "stale_evidence",
                    f"{story.place(name)} is at {short(current)}, not at {short(found.expected[name])} any more.",
                    next_action="Look at the change, then plan again on it.",
                    details={"task": found.id, "resource": name, "current": current},
                )
    on = ", ".join(map(story.place, found.plan.resources))
    return Answer({**wire(found), "evidence": evidence}, [f"Would accept {short(evidence)} and publish {on}."])


@command(example="task reject t-abcdefghijklmnop --reason 'wrong blue'", dry_run=True)
@click.argument("task_id", metavar="TASK")
@click.option("--reason", required=True, help="Why; it goes into the record.")
def reject(call: Call, task_id: str, reason: str) -> Answer:
    """End a task that waits, without publishing it.

    What it made stays in the store.
    """
    with call.open(working=True) as workspace:
        waiting = review.waiting(workspace, task_id)
        if not call.dry_run:
            review.reject(workspace, task_id, reason)
        found = workspace.ledger.read(lambda tx: task.load(tx, waiting.task))
    said = f"Would reject task {task_id}." if call.dry_run else f"Rejected task {task_id}; nothing was published."
    return Answer({**wire(found), "reason": reason}, [said])


@command(example="task cancel t-abcdefghijklmnop", dry_run=True)
@click.argument("task_id", metavar="TASK")
@click.option("--reason", default="asked", show_default=True, help="Why; it goes into the record.")
def cancel(call: Call, task_id: str, reason: str) -> Answer:
    """Stop a task.

    It is cancelled when the stop is confirmed and the originals were looked at; until then it keeps what it holds.
    """
    with call.open(working=True) as workspace:
        if call.dry_run:
            found = workspace.ledger.read(lambda tx: task.load(tx, task_id))
            if found.state is not State.CANCEL_REQUESTED and (found.state, State.CANCEL_REQUESTED) not in EDGES:
                raise CountermarkError(
                    "illegal_state",
                    f"Task {task_id} is {found.state}; it can no longer be cancelled.",
                    next_action=f"See `countermark task show {task_id}`.",
                    details={"task": task_id, "state": found.state.value},
                )
            return Answer(wire(found), [f"Would stop task {task_id}, which is {found.state}."])
        found = carry(workspace, lambda: stopping.cancel(workspace, task_id, reason))
        lines = stopped(workspace, [found])
    return Answer(wire(found), lines)


def stopped(workspace: Workspace, tasks: Sequence[Task]) -> list[str]:
    """Return how each of several stopped tasks stands, a line each, with what is left to do."""
    lines = []
    for one in tasks:
        executed = {"yes": "its effect was executed", "no": "its effect was not executed"}.get(one.executed.value)
        said = f"Task {one.id} is {one.state}; {executed or 'whether its effect was executed is not known'}."
        if not one.ended:
            why = "is gone" if is_stale(workspace, one) else "has been asked to stop"
            said += f" Its process {why}; see `countermark task reconcile {one.id}`."
        lines.append(said)
    return lines


@command(example="task reconcile t-abcdefghijklmnop", dry_run=True)
@click.argument("task_id", metavar="TASK")
@click.option("--executed", type=click.Choice(["yes", "no"]), help="A person's answer, where looking gave none.")
@click.option("--evidence", metavar="TEXT", help="What that person saw; it goes into the record.")
def reconcile(call: Call, task_id: str, executed: str | None, evidence: str | None) -> Answer:
    """Settle a task whose process is gone or whose outcome is unknown.

    It looks at the artefact itself. Where that gives no answer, a person settles it with --executed and --evidence,
    which is recorded as a local user's word, not authenticated.
    """
    if (executed is None) != (evidence is None):
        raise click.UsageError("--executed and --evidence go together.", click.get_current_context())
    with call.open(working=True) as workspace:
        found, _ = load(workspace, task_id)
        if call.dry_run:
            return Answer(wire(found), [f"Would look at task {task_id}, which is {found.state}."])
        if executed is not None and evidence is not None:
            return _by_person(workspace, task_id, Executed(executed), evidence)
        settled = found.ended or carry(workspace, lambda: workspace.settle(task_id))
        found, events = load(workspace, task_id)
        stale = is_stale(workspace, found)
        held = not settled and not restart.can_take(workspace, found)
    following = story.next_step(found, events, stale=stale)
    data: dict[str, Any] = {**wire(found), "settled": settled, "next": following}
    last = [story.sentence(events[-1])] if events else []
    lines = [f"Task {task_id} is {found.state}.", *last, *pairs(("next", following))]
    return Answer(data, lines, error=None if settled else _unsettled(found, held=held))


def _by_person(workspace: Workspace, task_id: str, executed: Executed, evidence: str) -> Answer:
    done: Performed | None = None
    failed: CountermarkError | None = None
    try:
        done = carry(workspace, lambda: review.settle_by_person(workspace, task_id, executed, evidence))
    except CountermarkError as error:
        if error.details.get("state") not in (State.FAILED, State.CANCELLED):
            raise
        failed = error  # it ended as the person said; only checks that fail afterwards are a failure of this command
    found, events = load(workspace, task_id)
    following = story.next_step(found, events)
    data = {**wire(found), "settled": True, "by": review.UNPROVEN, "next": following}
    if failed is not None and executed is Executed.YES and found.state is State.FAILED:
        return Answer(data, error=failed)
    lines = [f"Settled: task {task_id} is {done.state if done else found.state}."]
    return Answer(data, [*lines, *_attributed(("next", following))])


def _attributed(*rows: tuple[str, str]) -> list[str]:
    return [_ATTRIBUTION, *pairs(*rows)]


def _unsettled(found: Task, *, held: bool) -> CountermarkError:
    details = {"task": found.id, "state": found.state.value, "executed": found.executed.value}
    if held:
        return CountermarkError(
            "resource_busy",
            f"Task {found.id} is {found.state}, and the process that runs it, or a child of it, may still live.",
            next_action=f"Wait for it, or stop it: `countermark task cancel {found.id}`.",
            details=details,
        )
    return CountermarkError(
        "outcome_unknown",
        f"Task {found.id} is {found.state}: looking at the artefact gave no answer.",
        next_action=f"Look yourself, then: `countermark task reconcile {found.id} --executed yes --evidence TEXT`.",
        details=details,
    )
