"""The law of fence: a write names the revision it was made against, and one writer holds the resource with an epoch.

A revision is the digest of what is on disk, or the opaque token of a remote. Taking a resource raises its epoch, and
every later commit of the task is conditional on it, so a writer that was thought dead and wakes up cannot publish.
Several resources are always taken in sorted order. Time alone frees nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from countermark.kernel.canon import ABSENT
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Tx


class Resource(NamedTuple):
    """One thing that can be written: its last known revision, its epoch, the task that holds it, its write count."""

    name: str
    revision: str
    epoch: int
    holder: str | None
    writes: int
    last_task: str | None = None


def load(tx: Tx, name: str) -> Resource | None:
    """Return the resource's row, or None when nothing has written it yet."""
    row = tx.one("SELECT name, revision, epoch, holder, writes, last_task FROM resources WHERE name = ?", (name,))
    return Resource(*row) if row else None


def check(name: str, known: Resource | None, expected: str, observed: str, task: str) -> int:
    """Return the epoch under which `task` may write `name`, or raise.

    `revision_conflict` when what is there is not what the caller saw; `resource_busy` when another task holds it.
    """
    if known is not None and known.holder not in (None, task):
        raise CountermarkError(
            "resource_busy",
            f"{name} is held by task {known.holder}.",
            next_action=f"Wait for it, or see `countermark task why {known.holder}`.",
            details={"resource": name, "holder": known.holder, "epoch": known.epoch},
        )
    if expected != observed:
        raise CountermarkError(
            "revision_conflict",
            f"{name} is at {short(observed)}, not at {short(expected)} as planned; nothing was changed.",
            next_action="Read it again, plan on what is there now, and name its revision.",
            details={"resource": name, "expected": expected, "current": observed},
        )
    return (known.epoch if known else 0) + 1


Free = list[tuple[str, Resource | None, int]]
"""Resources a task may take, in sorted order: the name, its row, and the epoch it would get."""


def free(tx: Tx, task: str, expected: Mapping[str, str], observed: Mapping[str, str]) -> Free:
    """Return what `take` needs if a task may write every resource; raise what `check` raises."""
    found = []
    for name in sorted(expected):
        known = load(tx, name)
        found.append((name, known, check(name, known, expected[name], observed[name], task)))
    return found


def take(tx: Tx, task: str, resources: Free, observed: Mapping[str, str]) -> int:
    """Take what was found free in this same transaction; return the task's epoch: the highest of theirs."""
    epoch = max([value for _, _, value in resources], default=1)
    for name, known, _ in resources:
        if known is None:
            tx.run(
                "INSERT INTO resources (name, revision, epoch, holder, writes) VALUES (?, ?, ?, ?, 0)",
                (name, observed[name], epoch, task),
            )
        else:
            tx.run(
                "UPDATE resources SET revision = ?, epoch = ?, holder = ? WHERE name = ?",
                (observed[name], epoch, task, name),
            )
    return epoch


def acquire(tx: Tx, task: str, expected: Mapping[str, str], observed: Mapping[str, str]) -> int:
    """Take every resource for a task, in sorted order, and return the task's epoch: the highest of theirs."""
    return take(tx, task, free(tx, task, expected, observed), observed)


def renew(tx: Tx, task: str, names: Sequence[str], past: int) -> int:
    """Raise the epoch of resources a task already holds, so that its earlier self becomes stale; return the new one."""
    held = [load(tx, name) for name in sorted(names)]
    epoch = max([past, *(r.epoch for r in held if r is not None)]) + 1
    for resource in held:
        if resource is None or resource.holder not in (None, task):
            raise CountermarkError(
                "resource_busy",
                f"{resource.name if resource else 'The resource'} is held by another task.",
                next_action="Wait for that task to end.",
                details={"task": task},
            )
        tx.run("UPDATE resources SET epoch = ?, holder = ? WHERE name = ?", (epoch, task, resource.name))
    return epoch


def assert_held(tx: Tx, task: str, names: Sequence[str], epoch: int) -> None:
    """Raise `stale_epoch` unless the task still holds every resource under this epoch."""
    for name in names:
        known = load(tx, name)
        if known is None or known.holder != task or known.epoch != epoch:
            raise stale(task)


def release(tx: Tx, task: str, names: Sequence[str], revisions: Mapping[str, str] | None = None) -> None:
    """Let go of everything a task holds; resources in `revisions` were written and take their new revision."""
    written = revisions or {}
    for name in names:
        if name in written:
            tx.run(
                "UPDATE resources SET revision = ?, holder = NULL, writes = writes + 1, last_task = ? "
                "WHERE name = ? AND holder = ?",
                (written[name], task, name, task),
            )
        else:
            tx.run("UPDATE resources SET holder = NULL WHERE name = ? AND holder = ?", (name, task))


def stale(task: str) -> CountermarkError:
    """Return the error of a writer whose epoch is over."""
    return CountermarkError(
        "stale_epoch",
        f"Task {task} is no longer held by this process, so it cannot publish.",
        next_action=f"See what became of it: `countermark task show {task}`.",
        details={"task": task},
    )


def short(revision: str) -> str:
    """Return a revision as people read it: `absent`, or the first twelve digits of the digest."""
    if revision == ABSENT:
        return revision
    return revision.removeprefix("sha256:")[:12]
