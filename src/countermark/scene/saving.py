"""One new revision of a scene that is there: the old bytes are kept, the new ones put in (seed 3 §3.3)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Final

from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.scene import backup, document, recovery
from countermark.scene import name as names
from countermark.scene.codes import as_scene_error
from countermark.scene.document import Scene
from countermark.scene.evidence import Evidence, of_record
from countermark.scene.recovery import State
from countermark.scene.shelf import Shelf
from countermark.scene.sidecar import Asked
from countermark.scene.token import Turn

NO_SCENE: Final = frozenset({"corrupt_scene", "invalid_scene", "too_large", "too_many_elements"})
"""What the bytes under a name can be instead of a scene; a person may still put them away, or an earlier one back."""


def commit(
    shelf: Shelf, turn: Turn, state: State, scene: Scene, asked: Asked, *, restored_from: int | None = None
) -> Evidence:
    """Make a scene the next revision of what stands there, and return the evidence; the caller holds the turn."""
    before = state.record
    data = dumped(shelf, scene)
    record = recovery.made(shelf, before.name, before, scene, (sha256_hex(data), len(data)), before.revision + 1)
    record = replace(record, updated_by=asked.actor, restored_from=restored_from)
    record = replace(record, previous_revision=before.revision, previous_sha256=state.seen.sha256)
    record = record.remembering(recovery.remembered(asked.request_id, asked.payload, record), asked.mark)
    if state.damaged:
        kept = recovery.quarantine(shelf, before.name, state.seen)
    else:
        kept = names.backup_file(before.name, before.revision)
        backup.keep(shelf.root, before.name, before.revision, state.seen.sha256)
    record = recovery.put_in(shelf, turn, state.seen, record, data, kept)
    if record.revision % shelf.retention.every == 0 and not state.damaged:
        with suppress(CountermarkError):
            backup.prune(shelf.root, before.name, shelf.retention)
    return of_record(record, before.revision)


def dumped(shelf: Shelf, scene: Scene) -> bytes:
    """Return the bytes of a scene; raise `too_large`, `too_many_elements`, `invalid_scene`."""
    data = document.dump(scene)
    document.require_within(scene, shelf.limits, size=len(data))
    return data


def settled_or_damaged(shelf: Shelf, turn: Turn, name: str, *, adopting: bool) -> State:
    """Return what a scene is now, as `recovery.settle`, and of bytes that are none the state that says so."""
    try:
        return recovery.settle(shelf, turn, name, adopting=adopting)
    except CountermarkError as error:
        if as_scene_error(error).code not in NO_SCENE:
            raise
        return recovery.damaged(shelf, name)
