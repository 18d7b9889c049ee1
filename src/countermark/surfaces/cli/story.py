"""What happened to a task, in plain sentences: one for each event of the ledger, and the step that comes next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from countermark.kernel.canon import ABSENT
from countermark.kernel.ledger import Event
from countermark.kernel.proof import Status, Verdict
from countermark.kernel.state import State
from countermark.kernel.task import Task
from countermark.surfaces.cli.terminal import count, one_line, short, span

Body = Mapping[str, Any]

FILE: Final = "file:"
PASSED: Final = Status.PASSED.value
_FINDINGS: Final = {
    "yes": "the effect did happen",
    "no": "the effect did not happen",
    "unknown": "whether the effect happened cannot be told yet",
}


def sentence(event: Event) -> str:
    """Return an event as one sentence; an event this program does not know is named."""
    tell = _SENTENCES.get(event.kind)
    return tell(event.body) if tell is not None else f"Recorded: {event.kind}."


def place(resource: str) -> str:
    """Return a resource as people name it: the path of a file, anything else as it is."""
    return one_line(resource.removeprefix(FILE))


def reach(resources: Sequence[str]) -> str:
    """Return what a grant reaches: `every file` for all of a kind, a name as it is typed."""
    return ", ".join(
        "everything" if not name else f"every {name[:-1]}" if name.endswith(":") else one_line(name)
        for name in resources
    )


def _admitted(body: Body) -> str:
    chain = list(body["grant"])
    under = f"grant {chain[0]}" + (f" (below {', '.join(chain[1:])})" if chain[1:] else "")
    uses = amounts(body["uses"])
    waited = f" after {span(body['queueMs'])} in the queue" if body.get("queueMs", 0) >= 1000 else ""  # noqa: PLR2004 - ms
    return f"Admitted{waited} under {under}; reserved {uses or 'nothing'}; epoch {body['epoch']}. {_against(body)}"


def _against(body: Body) -> str:
    standing = [
        f"{place(name)}, not there yet" if revision == ABSENT else f"{place(name)} at {short(revision)}"
        for name, revision in sorted(body.get("expected", {}).items())
    ]
    return f"Made against {', '.join(standing)}." if standing else "It names no revision."


def _result(body: Body) -> str:
    took = span(body["durationMs"]) if body["durationMs"] >= 1000 else f"{body['durationMs']} ms"  # noqa: PLR2004 - ms
    if body["succeeded"]:
        return f"The engine answered after {took}: done, {count(body['files'], 'file')} staged."
    return f"The engine answered after {took} that it did not succeed."


def _unknown(body: Body) -> str:
    return f"No clear answer came ({body['reply']}): {body['message']} It was looked at, not repeated."


def _reconciled(body: Body) -> str:
    if "by" in body:
        return f"Settled by a person ({body['by']}): executed {body['executed']}. Their evidence: {body['evidence']}"
    return f"The artefact itself was looked at: {_FINDINGS[body['finding']]}."


def _again(body: Body) -> str:
    return f"The effect was confirmed not executed, so another attempt began, after attempt {body['attempt']}."


def _blocked(body: Body) -> str:
    why = body.get("message") or "its effect may not be repeated without a person"
    return f"Blocked: {str(why).rstrip('.')}."


def _failed(body: Body) -> str:
    return f"Failed ({body.get('code', '')}): {body.get('message') or 'no reason was recorded.'} {seen(body)}".rstrip()


def _verified(body: Body) -> str:
    if "acceptance" in body:
        return f"Checked: {seen(body)} Accepted by the checks, as its grant allows."
    return f"Checked: {seen(body)} It waits for a person to accept the evidence {short(body['evidence'])}."


def amounts(uses: Mapping[str, int]) -> str:
    """Return what was used, by counter: `1 attempt, 12,000 bytes`."""
    return ", ".join(
        f"{amount:,} {counter.removesuffix('s') if amount == 1 else counter}"
        for counter, amount in sorted(uses.items())
    )


def checks(verdicts: Sequence[Verdict], *, makers: bool = False) -> list[tuple[str, ...]]:
    """Return the checks as rows for people: equal ones once, with how many there were."""
    counted = Counter(
        (v.status.value, v.check, f"seen by {v.observer.label}", f"made by {v.maker.label}" if makers else "", v.reason)
        for v in verdicts
    )
    return [(row[0], f"{row[1]} ({number})" if number > 1 else row[1], *row[2:]) for row, number in counted.items()]


def seen(body: Body) -> str:
    """Return how many checks came out how, which did not pass, who looked, and what was left; empty without checks."""
    verdicts = body.get("verdicts") or ()
    if not verdicts:
        return ""
    named: dict[str, list[str]] = {}
    for verdict in verdicts:
        named.setdefault(verdict["status"], []).append(verdict["check"])
    observers = sorted({verdict["observer"]["label"] for verdict in verdicts})
    said = ", ".join(
        f"{len(names)} {status}" + ("" if status == PASSED else f" ({', '.join(dict.fromkeys(names))})")
        for status, names in sorted(named.items())
    )
    gaps = body.get("notChecked") or ()
    left = f" Not checked: {', '.join(gap['what'] for gap in gaps)}." if gaps else ""
    return f"{said}, seen by {', '.join(observers)}.{left}"


def _completed(body: Body) -> str:
    standing = [
        f"{place(name)} is at {short(revision)}" for name, revision in sorted(body.get("revisions", {}).items())
    ]
    checked = f" Checked: {seen(body)}" if body.get("verdicts") else ""
    return f"Completed{': ' + ', '.join(standing) if standing else ''}.{checked}"


def _journalled(body: Body) -> str:
    late = ", entered late" if body.get("late") else ""
    return f"Entered from the domain's own store{late}. {_completed(body)}"


def _cancelled(body: Body) -> str:
    return f"Cancelled; the stop is confirmed, and {_FINDINGS[body['executed']]}."


def _refused(body: Body) -> str:
    what = f"{body['effect']} ({body['operation']}) on {', '.join(map(place, body['resources']))}"
    return f"Refused ({body['code']}): {what}, asked under grant {body['grant']}. {body['message']} It had no effect."


def _granted(body: Body) -> str:
    effects = ", ".join(word or "everything" for word in body["effects"])
    by = f", by {body['by']}" if "by" in body else ""
    return f"Grant {body['grant']} was made: {effects} on {reach(body['resources'])}{by}."


_SENTENCES: Final[Mapping[str, Callable[[Body], str]]] = {
    "admitted": _admitted,
    "result": _result,
    "unknown": _unknown,
    "looked": lambda body: f"The artefact itself was looked at: {_FINDINGS[body['finding']]}.",
    "reconciled": _reconciled,
    "again": _again,
    "blocked": _blocked,
    "unblocked": lambda body: f"A person ({body['by']}) let it go on. Their evidence: {body['evidence']}",
    "failed": _failed,
    "verified": _verified,
    "accepted": lambda body: f"Accepted by a person ({body['acceptance']['by']}).",
    "retaken": lambda body: f"Taken up again for publishing, epoch {body['epoch']}.",
    "completed": _completed,
    "journalled": _journalled,
    "taken_over": lambda body: (
        f"Its process was gone, so another one took it up in state {body['state']}, epoch {body['epoch']}."
    ),
    "cancel_requested": lambda body: f"Asked to stop ({body['reason']}) while it was {body['was']}.",
    "stop_unconfirmed": lambda body: (
        f"The stop is not confirmed: {_FINDINGS[body['executed']]}. It keeps its resources."
    ),
    "cancelled": _cancelled,
    "late": lambda body: f"A late result was set aside ({count(len(body['files']), 'file')}); it changes nothing.",
    "restored": lambda body: f"Missing outputs came back from the store: {', '.join(map(one_line, body['paths']))}.",
    "handle": lambda body: f"The job of attempt {body['attempt']} has a durable handle.",
    "refused": _refused,
    "granted": _granted,
    "revoked": lambda body: f"Grant {body['grant']} was revoked, {count(len(body['grants']), 'grant')} in all.",
    "key_rotated": lambda body: f"Key {short(body['keyid'])} signs from now on, by {body['by']}.",
    "key_trusted": lambda body: f"Key {short(body['keyid'])} is trusted as {one_line(body['name'])}, by {body['by']}.",
}


def asked(task: Task) -> str:
    """Return what was asked for, of what, in one sentence."""
    on = ", ".join(map(place, task.plan.resources)) or "nothing that is written"
    return f"{task.effect} ({task.plan.operation}) on {on}"


def next_step(task: Task, events: Sequence[Event], *, stale: bool = False) -> str:
    """Return the one thing to do about a task; `stale` says that the process that ran it is gone."""
    if task.ended:
        return _after(task, events)
    if task.state is State.REVIEW_READY and not stale:
        evidence = next((event.body["evidence"] for event in reversed(events) if event.kind == "verified"), "")
        return f"If you accept it: `countermark task accept {task.id} --evidence {short(evidence)}`."
    if task.state is State.BLOCKED:
        return f"A person decides: `countermark task reconcile {task.id} --executed no --evidence TEXT`, or cancel it."
    if stale or task.state in (State.RECONCILING, State.CANCEL_REQUESTED):
        return f"`countermark task reconcile {task.id}` looks at what is there."
    return f"Wait for it, or stop it: `countermark task cancel {task.id}`."


def _after(task: Task, events: Sequence[Event]) -> str:
    shown = f"Its receipt: `countermark receipt show {task.id}`."
    if task.state is State.COMPLETED:
        return f"Nothing is left to do. {shown}"
    said = str(events[-1].body.get("next") or "") if events else ""
    return said if said and f"task why {task.id}" not in said else f"Look at the reason above, then ask again. {shown}"
