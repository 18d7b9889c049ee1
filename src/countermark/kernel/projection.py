"""The evidence of every run as files: `runs/<task>/{trace.jsonl, manifest.json, summary.json, receipt.json}`.

They are rendered from the ledger, never the other way round, by a sweep off the hot path; rendering again gives the
same bytes (seed 2, invariant 8: failure paths too produce complete evidence).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from countermark.kernel import publish, task
from countermark.kernel.canon import canonical, revision_of, sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Tx, compact
from countermark.kernel.recovery import EffectKind
from countermark.kernel.state import State
from countermark.kernel.task import Task

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

RUNS: Final = ".countermark/runs"
FILES: Final = ("trace.jsonl", "manifest.json", "summary.json", "receipt.json")


def sweep(workspace: Workspace, *, limit: int = 256) -> int:
    """Render what ended and is not yet rendered, at most `limit` tasks; return how many.

    Raises the last error when not one of them could be rendered.
    """
    rows = workspace.ledger.read(
        lambda tx: tx.all(
            "SELECT id, epoch, kind, state FROM tasks "
            "WHERE swept = 0 AND state IN ('completed', 'failed', 'cancelled') ORDER BY rowid LIMIT ?",
            (limit,),
        )
    )
    done: list[str] = []
    failed: CountermarkError | None = None
    for task_id, epoch, kind, state in rows:
        try:
            try:
                write(workspace, task_id)
            except CountermarkError as error:
                if error.code != "disk_full" or not workspace.free_reserve():
                    raise
                write(workspace, task_id)
            if kind == EffectKind.STAGED and state == State.COMPLETED:
                publish.after(workspace, task_id, epoch)
            done.append(task_id)
        except CountermarkError as error:  # one that cannot be rendered now keeps no other from it
            failed = error
    if done:

        def mark(tx: Tx) -> None:
            for one in done:
                tx.run("UPDATE tasks SET swept = 1 WHERE id = ?", (one,))

        workspace.ledger.apply(mark)
    if failed is not None and not done:
        raise failed
    _retire_keys(workspace)
    return len(done)


def write(workspace: Workspace, task_id: str) -> None:
    """Write the four files of an ended task; files that already have these bytes are left alone."""
    folder = f"{RUNS}/{task_id}"
    workspace.files.make_dir(folder)
    for name, data in render(workspace, task_id).items():
        path = f"{folder}/{name}"
        if not workspace.files.exists(path):
            workspace.files.create(path, data)
        elif workspace.files.digest(path) != sha256_hex(data):
            workspace.files.replace(path, data)


def render(workspace: Workspace, task_id: str) -> dict[str, bytes]:
    """Return the four files of an ended task by name."""
    found = workspace.ledger.read(lambda tx: task.load(tx, task_id))
    facts, subjects = workspace.receipts.facts(task_id)
    events = workspace.ledger.events(task=task_id)
    trace = "".join(
        compact({"seq": e.seq, "task": e.task, "kind": e.kind, "at": e.at, "body": e.body, "hash": e.hash}) + "\n"
        for e in events
    )
    counts = dict.fromkeys(("passed", "failed", "skipped", "unavailable"), 0)
    for verdict in facts.verdicts:
        counts[verdict.status.value] += 1
    shown = {
        "task": task_id,
        "state": found.state.value,
        "code": found.code,
        "executed": found.executed.value,
        "phase": _phase(found, [e.body["path"] for e in events if "path" in e.body]),
        "plan": found.plan.wire(),
        "planDigest": found.plan_digest,
        "verdicts": counts,
    }
    files = {
        "trace.jsonl": trace.encode("utf-8"),
        "summary.json": canonical(shown) + b"\n",
        "receipt.json": workspace.receipts.render(task_id),
    }
    manifest = {
        "task": task_id,
        "workspace": workspace.id,
        "status": found.state.value,
        "artifacts": [{"name": one.name, "sha256": one.digest} for one in sorted(subjects, key=lambda s: s.name)],
        "files": {name: revision_of(data) for name, data in files.items()},
    }
    return files | {"manifest.json": canonical(manifest) + b"\n"}


def _phase(found: Task, paths: list[list[str]]) -> str:
    """Return the state in which a task came to its end."""
    return paths[-1][-2] if paths and len(paths[-1]) > 1 else found.state.value


def kept_receipt(workspace: Workspace, task_id: str) -> bytes | None:
    """Return an already rendered receipt, or None."""
    name = f"{RUNS}/{task_id}/receipt.json"
    return workspace.files.read(name, cap=1 << 24) if workspace.files.exists(name) else None


def _retire_keys(workspace: Workspace) -> None:
    """Drop the private half of rotated keys once every receipt that pins them is rendered."""
    retired = [key.keyid for key in workspace.keys.own() if key.state == "retired"]
    if not retired:
        return
    open_left = workspace.ledger.read(lambda tx: tx.one("SELECT COUNT(*) FROM tasks WHERE swept = 0"))
    if open_left == (0,):
        for keyid in retired:
            workspace.keys.retire_rendered(keyid)
