"""What a task wrote, held against its receipt where it lies in the workspace.

`kernel.verification` compares a folder as a whole, name by name. A scene lies beside other files, so here only those
names are looked at that its receipt speaks of, and nothing is said of what lies beside them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from countermark.kernel import projection, publish, task
from countermark.kernel import verification as law
from countermark.kernel.beneath import Beneath
from countermark.kernel.errors import CountermarkError
from countermark.kernel.key import TrustedKey
from countermark.kernel.ledger import Tx
from countermark.kernel.receipt import FILE_NAME
from countermark.kernel.verification import Verification

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

SCENE: Final = ".excalidraw"

_WORDS: Final = {"changed": "was changed", "missing": "is missing", "irregular": "is not a regular file"}
_SCENE_RESOURCE: Final = "scene:"
# A row that was entered late stands behind newer ones: what counts is the scene's own revision.
_NEWEST: Final = """
    SELECT id FROM tasks
    WHERE adapter = 'scene' AND json_extract(plan, '$.resources[0]') = ?1 AND json_extract(plan, '$.payload.uid') = (
        SELECT json_extract(plan, '$.payload.uid') FROM tasks
        WHERE adapter = 'scene' AND json_extract(plan, '$.resources[0]') = ?1 ORDER BY rowid DESC LIMIT 1)
    ORDER BY json_extract(plan, '$.payload.revision') DESC, rowid DESC LIMIT 1
"""


def is_scene(what: str) -> bool:
    """Whether this is the path of a scene, which carries no receipt beside it."""
    return what.endswith(SCENE) and not os.path.isdir(what)  # noqa: PTH112 - `Path.is_dir` raises for some


def writer(workspace: Workspace, path: str) -> str:
    """Return the task of a scene's last save; raise `not_found` for a file that no task of this workspace wrote."""
    named = Path(path)
    row = None
    if named.parent.resolve() == _drawings(workspace).resolve():
        resource = _SCENE_RESOURCE + named.name.removesuffix(SCENE)
        row = workspace.ledger.read(lambda tx: tx.one(_NEWEST, (resource,)))
    if row is None:
        raise CountermarkError(
            "not_found",
            f"No save of {path} stands in this workspace's ledger, so there is no receipt of it.",
            next_action="Name a scene of this workspace; `countermark task list` shows what was done here.",
            details={"path": path},
        )
    return str(row[0])


def verify(workspace: Workspace, task_id: str, trusted: Iterable[TrustedKey]) -> Verification:
    """Return the evidence that what a task wrote is what its receipt, made now, speaks of.

    Raise `receipt_mismatch` for a file that was changed, is missing or is no regular file any more.
    """
    projection.write(workspace, task_id)
    sound = law.verify(workspace.path / projection.RUNS / task_id / FILE_NAME, trusted)
    # A task that made nothing is about its plan, which is no file.
    wanted = {one.name: one.digest for one in sound.receipt.subjects if one.digest != sound.receipt.facts.plan_digest}
    if not wanted:
        return sound
    folder = workspace.ledger.read(lambda tx: _folder(tx, workspace, task_id))
    with Beneath(folder) as place:
        found = {name: _standing(place, name, digest) for name, digest in sorted(wanted.items())}
    differs = {kind: [name for name, is_now in found.items() if is_now == kind] for kind in _WORDS}
    if any(differs.values()):
        said = "; ".join(f"{name} {_WORDS[is_now]}" for name, is_now in found.items() if is_now)
        raise CountermarkError(
            "receipt_mismatch",
            f"{said}: not what the receipt of task {task_id} speaks of.",
            next_action="See who changed it, and bring back a revision that is kept, or save it anew.",
            details={"task": task_id, **differs},
        )
    return replace(sound, files=tuple(found))


def _standing(place: Beneath, name: str, digest: str) -> str:
    """Return how a file differs, a word of `_WORDS`; empty when it does not."""
    try:
        return "" if place.digest(name) == digest else "changed"
    except CountermarkError as error:
        if error.code == "not_found":
            return "missing"
        if error.code in {"not_a_regular_file", "path_escape"}:  # a link in its place leads elsewhere
            return "irregular"
        raise


def _folder(tx: Tx, workspace: Workspace, task_id: str) -> Path:
    """Return the folder that a task's subjects are named from (`publish.subjects`)."""
    resources = task.load(tx, task_id).plan.resources
    if all(resource.startswith(_SCENE_RESOURCE) for resource in resources):
        return _drawings(workspace)
    if len(resources) != 1:
        return workspace.path
    path = workspace.path / publish.place(resources[0])
    return path if path.is_dir() else path.parent


def _drawings(workspace: Workspace) -> Path:
    from countermark.scene import setting  # noqa: PLC0415 - only where scenes are asked for

    return setting.of(workspace)[0]
