"""Publishing: the one moment when staged bytes become the user's files (design §3, staged).

The exchange is atomic and *looks at what came out*: if that is not the content the plan was made against, it is
exchanged back and the task fails, so an edit made in the very last instant survives. What came out is kept in the
store before the stage is cleared.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from countermark.kernel import fence, grant, task
from countermark.kernel.adapter import Intent, StagedFile
from countermark.kernel.canon import ABSENT, sha256_hex
from countermark.kernel.config import PROJECT_FILE
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Row, Tx, compact
from countermark.kernel.recovery import Executed
from countermark.kernel.state import State
from countermark.kernel.task import Task

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

FILE: Final = "file:"
RECEIPT: Final = "receipt.json"
HOME: Final = ".countermark"
STAGE: Final = f"{HOME}/stage"
Targets = Mapping[str, tuple[str, str]]


def place(resource: str) -> str:
    """Return the path below the workspace that a `file:` resource names.

    Raises `input_invalid` for any other, and `permission_denied` for the workspace's own files.
    """
    if not resource.startswith(FILE) or len(resource) == len(FILE):
        raise CountermarkError(
            "input_invalid",
            f"{resource} is not a file or folder of the workspace.",
            next_action="Name it as `file:` and a path below the workspace.",
        )
    path = resource.removeprefix(FILE)
    parts = path.casefold().split("/")  # some disks do not tell letters by their case
    if HOME in parts or parts == [PROJECT_FILE]:
        raise CountermarkError(
            "permission_denied",
            f"{path} belongs to the workspace itself; no effect may write it.",
            next_action="Write to another place in the workspace.",
            details={"resource": resource},
        )
    return path


def stage_of(task_id: str, epoch: int) -> str:
    """Return the stage of one task and epoch, below the workspace."""
    return f"{STAGE}/{task_id}/{epoch}"


def staged(intent: Intent, resource: str) -> str:
    """Return where a resource's new content stands in the stage, below the workspace."""
    return f"{stage_of(intent.task, intent.epoch)}/{place(resource)}"


def subjects(resources: Sequence[str], files: Sequence[StagedFile]) -> dict[str, str]:
    """Return the digests of files under the names a receipt gives them.

    Names are relative to the one folder that was written, so that a copy of it can be verified anywhere; a task that
    writes several resources names them from the workspace.
    """
    named = {}
    for file in files:
        path = place(file.resource)
        alone = file.name or path.rsplit("/", 1)[-1]
        named[alone if len(resources) == 1 else f"{path}/{file.name}".rstrip("/")] = file.digest
    return named


def observe(workspace: Workspace, resource: str) -> str:
    """Return the revision of what stands at a resource now; our own receipt in a folder is no content of it."""
    return _revision(workspace, place(resource), resource)


def _revision(workspace: Workspace, path: str, resource: str) -> str:
    files = workspace.files
    if not files.exists(path):
        return ABSENT
    if stat.S_ISDIR(files.stat(path).st_mode):
        return files.tree_revision(path, ignoring=_own_receipt(workspace, path, resource))
    return files.revision(path)


def _own_receipt(workspace: Workspace, path: str, resource: str) -> frozenset[str]:
    """Return the receipt's name if the folder holds exactly the receipt we wrote, else nothing is ignored."""
    name = f"{path}/{RECEIPT}"
    if not workspace.files.exists(name):
        return frozenset()
    known = workspace.ledger.read(lambda tx: fence.load(tx, resource))
    if known is None or known.last_task is None:
        return frozenset()
    ours = workspace.receipts.render(known.last_task)
    return frozenset({RECEIPT}) if workspace.files.digest(name) == sha256_hex(ours) else frozenset()


def keep(workspace: Workspace, intent: Intent, files: Sequence[StagedFile]) -> None:
    """Copy staged files into the store by digest, and refuse a stage that holds anything else than it declared."""
    declared: dict[str, dict[str, StagedFile]] = {name: {} for name in intent.plan.resources}
    for file in files:
        if file.resource not in declared:
            raise _undeclared(file.resource)
        declared[file.resource][file.name] = file
    for resource, named in declared.items():
        root = staged(intent, resource)
        if not workspace.files.exists(root):
            raise _undeclared(resource)
        if stat.S_ISDIR(workspace.files.stat(root).st_mode):
            found = {entry.path: entry.sha256 for entry in workspace.files.tree(root)}
        else:
            found = {"": workspace.files.digest(root)}
        if found != {name: file.digest for name, file in named.items()} or RECEIPT in found:
            raise _undeclared(resource)
        for name in named:
            workspace.store_file(f"{root}/{name}" if name else root, named[name].digest)
    workspace.files.sync_tree(stage_of(intent.task, intent.epoch))


def _undeclared(resource: str) -> CountermarkError:
    return CountermarkError(
        "artifact_invalid",
        f"What was staged for {resource} is not what its maker declared.",
        next_action="Run it again; if it happens again, the engine is defective.",
        details={"resource": resource},
    )


def register(tx: Tx, intent: Intent, files: Sequence[StagedFile]) -> None:
    """Enter staged files in the artifact index."""
    for file in files:
        tx.run(
            "INSERT OR REPLACE INTO artifacts (task, epoch, resource, name, digest, size, media_type, state) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, 'staged')",
            (intent.task, intent.epoch, file.resource, file.name, file.digest, file.size, file.media_type),
        )


def registered(tx: Tx, intent: Intent) -> list[StagedFile]:
    """Return the files that were entered for an attempt's task under its epoch."""
    rows = tx.all(
        "SELECT resource, name, digest, size, media_type FROM artifacts WHERE task = ? AND epoch = ?",
        (intent.task, intent.epoch),
    )
    return [StagedFile(*row) for row in rows]


def targets(workspace: Workspace, intent: Intent) -> dict[str, tuple[str, str]]:
    """Return the old and the new revision of every resource, as the publish intent records them."""
    return {
        name: (intent.expected[name], workspace.files.revision(staged(intent, name))) for name in intent.plan.resources
    }


def intend(tx: Tx, intent: Intent, wanted: Targets) -> None:
    """Write the publish intent: an attempt of its own, durable before anything of the user's moves."""
    row = tx.one("SELECT MAX(n) FROM attempts WHERE task = ?", (intent.task,))
    number = int(row[0]) + 1 if row and row[0] else 1
    body = {"targets": {name: list(pair) for name, pair in wanted.items()}}
    tx.run(
        "INSERT INTO attempts (task, n, kind, epoch, intent, started_at) VALUES (?, ?, 'publish', ?, ?, ?)",
        (intent.task, number, intent.epoch, compact(body), tx.now),
    )


def publish(workspace: Workspace, intent: Intent, wanted: Targets) -> None:
    """Exchange every target, in sorted order, and complete the task; or put everything back and fail it.

    Also finishes a publication that was interrupted: a target that already has its new content is left alone. Raises
    `stale_epoch` when another process has taken the task over.
    """
    done: list[str] = []
    conflict: CountermarkError | None = None
    with workspace.resource_locks(sorted(wanted)):
        workspace.ledger.read(lambda tx: fence.assert_held(tx, intent.task, list(wanted), intent.epoch))
        for name in sorted(wanted):
            old, new = wanted[name]
            try:
                _exchange(workspace, intent, name, old, new)
            except CountermarkError as error:
                conflict = error
                break
            done.append(name)
        if conflict is not None:
            for name in reversed(done):
                _put_back(workspace, intent, name, *wanted[name])
    if conflict is not None:
        workspace.ledger.apply(lambda tx: _failed(tx, workspace, intent, conflict))
        return
    revisions = {name: new for name, (_, new) in wanted.items()}
    workspace.ledger.apply(lambda tx: _completed(tx, workspace, intent, revisions))
    with suppress(CountermarkError):  # it is published; what is still to be tidied up the sweep does again
        after(workspace, intent.task, intent.epoch)


def _exchange(workspace: Workspace, intent: Intent, name: str, old: str, new: str) -> None:
    """Bring one target to its new content, or raise with the target as it was."""
    files, here, there = workspace.files, staged(intent, name), place(name)
    current = _revision(workspace, there, name)
    if current == new:  # done before a crash, or nothing to do: the same bytes need no second exchange
        _look_again(workspace, name, here, there, old, new)
        return
    if current != old:
        raise _conflict(name, old, current)
    if files.revision(here) != new:
        raise _undeclared(name)
    if old == ABSENT:
        parent = there.rpartition("/")[0]
        if parent and not files.exists(parent):
            workspace.files.make_dir(parent)
        try:
            files.move_new(here, there)
        except CountermarkError as error:
            if error.code != "output_exists":
                raise
            raise _conflict(name, old, _revision(workspace, there, name)) from error
        return
    files.exchange(here, there)
    _come_out(workspace, name, here, there, (old,))


def _look_again(workspace: Workspace, name: str, here: str, there: str, old: str, new: str) -> None:
    """Look at what came out of an exchange whose process died before it could, and give an edit back its place."""
    if old == ABSENT or not workspace.files.exists(here):
        return
    _come_out(workspace, name, here, there, (old, new))


def _come_out(workspace: Workspace, name: str, here: str, there: str, known: tuple[str, ...]) -> None:
    """Look at what an exchange brought out; what is not known, or cannot be looked at, gets its place back."""
    try:
        came_out = _revision(workspace, here, name)
    except CountermarkError:
        workspace.files.exchange(here, there)
        raise
    if came_out not in known:
        workspace.files.exchange(here, there)
        raise _conflict(name, known[0], came_out)


def _put_back(workspace: Workspace, intent: Intent, name: str, old: str, new: str) -> None:
    files, here, there = workspace.files, staged(intent, name), place(name)
    if _revision(workspace, there, name) != new:
        return  # somebody has changed it since; what they made stands
    if old == ABSENT:
        files.move_new(there, here)
    elif old != new:
        files.exchange(here, there)


def _conflict(name: str, expected: str, current: str) -> CountermarkError:
    return CountermarkError(
        "revision_conflict",
        f"{name.removeprefix(FILE)} was changed meanwhile: it is at {fence.short(current)}, not at "
        f"{fence.short(expected)}. What is there stands; the new version was not published.",
        next_action="Look at the change, then plan again on it.",
        details={"resource": name, "expected": expected, "current": current},
    )


def _failed(tx: Tx, workspace: Workspace, intent: Intent, error: CountermarkError) -> None:
    body: dict[str, Any] = {
        "message": error.sentence,
        "next": error.next_action,
        "details": error.details,
        "keyid": workspace.keys.current_id(),
    }
    path = (State.REVIEW_READY, State.FAILED)
    task.move(tx, intent.task, intent.epoch, path, "failed", body, code=error.code, executed=Executed.NO)
    fence.release(tx, intent.task, intent.plan.resources)


def _completed(tx: Tx, workspace: Workspace, intent: Intent, revisions: Mapping[str, str]) -> None:
    fence.assert_held(tx, intent.task, list(revisions), intent.epoch)
    body = {"revisions": dict(revisions), "keyid": workspace.keys.current_id()}
    path = (State.REVIEW_READY, State.COMPLETED)
    task.move(tx, intent.task, intent.epoch, path, "completed", body, executed=Executed.YES)
    tx.run("UPDATE artifacts SET state = 'published' WHERE task = ? AND epoch = ?", (intent.task, intent.epoch))
    tx.run(
        "UPDATE attempts SET result = ?, ended_at = ? WHERE task = ? AND kind = 'publish' AND ended_at IS NULL",
        (compact({"revisions": dict(revisions)}), tx.now, intent.task),
    )
    fence.release(tx, intent.task, intent.plan.resources, revisions)


def after(workspace: Workspace, task_id: str, epoch: int) -> None:
    """Put the receipt beside what was published and clear the stage; repeated by the sweep if this is interrupted."""
    found = workspace.ledger.read(lambda tx: task.load(tx, task_id))
    files = workspace.files
    for resource in found.plan.resources:
        path = place(resource)
        known = workspace.ledger.read(lambda tx, name=resource: fence.load(tx, name))  # type: ignore[misc]
        current = known is not None and known.last_task == task_id
        if current and files.exists(path) and stat.S_ISDIR(files.stat(path).st_mode):
            envelope = workspace.receipts.render(task_id)
            name = f"{path}/{RECEIPT}"
            if not files.exists(name):
                with _aside(workspace, task_id) as made:
                    files.create(made, envelope)
                    files.move_new(made, name)
            elif files.digest(name) != sha256_hex(envelope):
                files.replace(name, envelope)
    clear_stage(workspace, task_id, epoch)


@contextmanager
def _aside(workspace: Workspace, task_id: str) -> Iterator[str]:
    """Give a name in the task's stage for a file on its way to the user's: what a crash leaves must not lie there."""
    stage = f"{STAGE}/{task_id}"
    if not workspace.files.exists(stage):
        workspace.files.make_dir(stage)
    name = f"{stage}/aside"
    workspace.files.remove_tree(name)
    yield name


def clear_stage(workspace: Workspace, task_id: str, epoch: int) -> None:
    """Keep what an exchange brought out in the store, then remove the stage and those of earlier attempts."""
    files, stage = workspace.files, stage_of(task_id, epoch)
    if files.exists(stage):
        for entry in files.tree(stage):
            workspace.store_file(f"{stage}/{entry.path}", entry.sha256)
    files.remove_tree(f"{STAGE}/{task_id}")


def restore_missing(workspace: Workspace, found: Task, grant_id: str) -> tuple[str, ...]:
    """Look that a completed task's outputs still stand; bring missing ones back from the store and return their names.

    An output that a later task replaced is none of this task's any more. One that somebody changed is left as it is and
    raises `revision_conflict`; one whose content is lost raises `not_found`. To bring one back is a write: it needs a
    grant that allows it now, and a resource that nobody else holds (`resource_busy`).
    """
    rows = workspace.ledger.read(lambda tx: _published(tx, found))
    if not _missing(workspace, found, rows):
        return ()
    with workspace.resource_locks(sorted({resource for resource, _, _ in rows})):
        rows = workspace.ledger.apply(lambda tx: _restorable(tx, found, grant_id))
        return _restore(workspace, found, rows)


def _published(tx: Tx, found: Task) -> list[Row]:
    return tx.all(
        "SELECT a.resource, a.name, a.digest FROM artifacts a JOIN resources r ON r.name = a.resource "
        "WHERE a.task = ? AND a.state = 'published' AND r.last_task = a.task ORDER BY a.resource, a.name",
        (found.id,),
    )


def _restorable(tx: Tx, found: Task, grant_id: str) -> list[Row]:
    """Return what is still this task's, or raise when the grant does not allow to write it or another task holds it."""
    rows = _published(tx, found)
    names = sorted({resource for resource, _, _ in rows})
    grant.permit(grant.load_chain(tx, grant_id), found.effect, names, {}, tx.now)
    for name in names:
        fence.check(name, fence.load(tx, name), ABSENT, ABSENT, found.id)
    return rows


def _path(resource: str, name: str) -> str:
    return place(resource) + (f"/{name}" if name else "")


def _missing(workspace: Workspace, found: Task, rows: Sequence[Row]) -> list[Row]:
    """Return those that are not there; raise `revision_conflict` for one that somebody changed."""
    missing = []
    for resource, name, digest in rows:
        path = _path(resource, name)
        if not workspace.files.exists(path):
            missing.append((resource, name, digest))
        elif workspace.files.digest(path) != digest:
            raise CountermarkError(
                "revision_conflict",
                f"{path} was changed after task {found.id} made it; your change stands.",
                next_action="Move it away to have the first result restored, or plan anew on what is there.",
                details={"task": found.id, "path": path},
            )
    return missing


def _restore(workspace: Workspace, found: Task, rows: Sequence[Row]) -> tuple[str, ...]:
    files = workspace.files
    restored = []
    for resource, name, digest in _missing(workspace, found, rows):
        path = _path(resource, name)
        parent = path.rpartition("/")[0]
        if parent and not files.exists(parent):
            files.make_dir(parent)
        if not workspace.store.has(digest):
            raise _gone(found, path)
        with _aside(workspace, found.id) as made:
            workspace.store.copy_to(digest, files, made)
            files.move_new(made, path)
        restored.append(path)
    if restored:
        workspace.ledger.apply(lambda tx: _restored(tx, found.id, restored))
        after(workspace, found.id, found.epoch)
    return tuple(restored)


def _gone(found: Task, path: str) -> CountermarkError:
    return CountermarkError(
        "not_found",
        f"{path}, made by task {found.id}, is gone, and the store holds its content no more.",
        next_action="Put it back from a copy; or move away what is left of it and have it made anew under another key.",
        details={"task": found.id, "path": path},
    )


def _restored(tx: Tx, task_id: str, paths: list[str]) -> None:
    tx.event(task_id, "restored", {"paths": paths})
    tx.run("UPDATE tasks SET swept = 0 WHERE id = ?", (task_id,))  # its trace has one line more
