"""`countermark task list | show | why`: what tasks there are, how one stands, and how it came to that."""

from __future__ import annotations

from typing import Any

import click

from countermark.kernel import publish, runner, task
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Event
from countermark.kernel.proof import Verdict
from countermark.kernel.state import State
from countermark.kernel.task import Task
from countermark.kernel.workspace import Workspace
from countermark.surfaces.cli import story
from countermark.surfaces.cli.call import Answer, Call, command
from countermark.surfaces.cli.terminal import clock_time, columns, iso, pairs, short


@command(example="task list --open")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many at the most.")
@click.option("--open", "open_only", is_flag=True, help="Only those that have not ended.")
def list_tasks(call: Call, *, limit: int, open_only: bool) -> Answer:
    """List the newest tasks."""
    with call.open() as workspace:
        if open_only:
            tasks = workspace.ledger.read(task.load_open)[:limit]
        else:
            tasks = workspace.ledger.read(lambda tx: task.load_recent(tx, limit))
    rows = [(one.id, _standing(one), story.asked(one), one.grant, clock_time(one.created_at)) for one in tasks]
    lines = columns(rows, head=("task", "state", "asked", "grant", "when")) if rows else ["No tasks."]
    return Answer({"tasks": [wire(one) for one in tasks]}, lines)


@command(example="task show t-abcdefghijklmnop")
@click.argument("task_id", metavar="TASK")
def show(call: Call, task_id: str) -> Answer:
    """Show one task: its state, its grant, its checks."""
    with call.open() as workspace:
        found, events = load(workspace, task_id)
        stale = is_stale(workspace, found)
        look = staged(workspace, found) if found.state is State.REVIEW_READY else ""
    verdicts, gaps, evidence = _evidence(events)
    following = story.next_step(found, events, stale=stale)
    data = {
        **wire(found),
        "plan": found.plan.wire(),
        "expected": dict(found.expected),
        "runtimeIdentity": found.runtime.wire(),
        "verdicts": [verdict.wire() for verdict in verdicts],
        "notChecked": gaps,
        "evidence": evidence,
        "stale": stale,
        "next": following,
    }
    lines = pairs(
        ("task", found.id),
        ("state", _standing(found) + (", its process is gone" if stale else "")),
        ("asked", story.asked(found)),
        ("grant", found.grant),
        ("key", short(found.key)),
        ("plan", short(found.plan_digest)),
        ("made by", f"{found.runtime.name} {found.runtime.version} ({short(found.runtime.digest)})"),
        ("against", ", ".join(f"{story.place(n)} at {short(r)}" for n, r in sorted(found.expected.items()))),
        ("executed", found.executed.value),
        ("supersedes", found.supersedes or ""),
        ("begun", clock_time(found.created_at)),
        ("ended", clock_time(found.ended_at) if found.ended_at is not None else ""),
        ("evidence", short(evidence)),
        ("look", look),
    )
    checks = columns(story.checks(verdicts))
    lines += ["", "checks", *(f"  {line}" for line in checks)] if checks else []
    lines += (
        ["", "not checked", *(f"  {line}" for line in columns((g["what"], g["why"]) for g in gaps))] if gaps else []
    )
    return Answer(data, [*lines, "", *pairs(("next", following))])


@command(example="task why t-abcdefghijklmnop")
@click.argument("task_id", metavar="TASK|EVENT")
def why(call: Call, task_id: str) -> Answer:
    """Tell what happened to a task, and what to do next.

    The number of an event tells of a call that was refused: such a call has no task.
    """
    with call.open() as workspace:
        if task_id.isdecimal():
            return _refusal(workspace, int(task_id))
        found, events = load(workspace, task_id)
        stale = is_stale(workspace, found)
    told = [(clock_time(event.at), story.sentence(event)) for event in events]
    following = story.next_step(found, events, stale=stale)
    data = {
        **wire(found),
        "stale": stale,
        "story": [{"seq": e.seq, "at": iso(e.at), "kind": e.kind, "sentence": story.sentence(e)} for e in events],
        "next": following,
    }
    gone = " The process that ran it is gone." if stale else ""
    head = f"Task {found.id} is {_standing(found)}.{gone} Asked: {story.asked(found)}."
    return Answer(data, [head, "", *columns(told), "", *pairs(("next", following))])


def _refusal(workspace: Workspace, number: int) -> Answer:
    events = workspace.ledger.events(number - 1, limit=1)
    if not events or events[0].seq != number:
        raise CountermarkError(
            "not_found", f"There is no event {number}.", next_action="See `countermark ledger events`."
        )
    event = events[0]
    if event.task:
        following = f"`countermark task why {event.task}` tells the whole."
    else:
        following = "See what grants allow: `countermark grant list`."
    data = {"seq": event.seq, "at": iso(event.at), "kind": event.kind, "task": event.task or None, "body": event.body}
    said = [(clock_time(event.at), story.sentence(event))]
    return Answer(
        {**data, "sentence": story.sentence(event), "next": following}, [*columns(said), f"next  {following}"]
    )


def load(workspace: Workspace, task_id: str) -> tuple[Task, list[Event]]:
    """Return a task and its events; raise `not_found`."""
    found = workspace.ledger.read(lambda tx: task.load(tx, task_id))
    return found, workspace.ledger.events(task=task_id, limit=100_000)


def staged(workspace: Workspace, found: Task, page: str = "") -> str:
    """Return where the result of a task that waits can be looked at, with the page in it if it has one."""
    stage = publish.stage_of(found.id, found.epoch)
    for name in found.plan.resources:
        path = f"{stage}/{publish.place(name)}" if name.startswith(publish.FILE) else stage
        inside = f"{path}/{page}"
        if workspace.files.exists(path):
            return str(workspace.path / (inside if page and workspace.files.exists(inside) else path))
    return ""


def is_stale(workspace: Workspace, found: Task) -> bool:
    """Return whether a task is in the hands of a process that is proven gone."""
    if found.ended or found.state in (State.PLANNED, State.BLOCKED):
        return False
    waits = found.state is State.REVIEW_READY
    if waits and not workspace.ledger.read(lambda tx: task.publishing(tx, found.id)):
        return False
    return runner.is_gone(found.runner, workspace.locks)


def wire(found: Task) -> dict[str, Any]:
    """Return a task's row for `--json`, under seed 1's names."""
    return {
        "task": found.id,
        "state": found.state.value,
        "code": found.code,
        "executed": found.executed.value,
        "effect": found.effect,
        "effectClass": found.effect_class.value,
        "operation": found.plan.operation,
        "resources": list(found.plan.resources),
        "authorizationRef": found.grant,
        "idempotencyKey": found.key,
        "planHash": found.plan_digest,
        "parentTask": found.parent,
        "supersedes": found.supersedes,
        "epoch": found.epoch,
        "created": iso(found.created_at),
        "ended": iso(found.ended_at),
    }


def _standing(found: Task) -> str:
    return f"{found.state}: {found.code}" if found.code and found.state is not State.CANCELLED else str(found.state)


def _evidence(events: list[Event]) -> tuple[list[Verdict], list[dict[str, str]], str]:
    for event in reversed(events):
        if "verdicts" in event.body:
            verdicts = [Verdict.read(wire) for wire in event.body["verdicts"]]
            return verdicts, list(event.body.get("notChecked", ())), str(event.body.get("evidence", ""))
    return [], [], ""
