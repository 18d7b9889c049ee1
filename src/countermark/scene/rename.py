"""Another name for a scene: its file moves in one step, and what stands beside it follows, also after a crash."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from countermark.kernel.errors import CountermarkError
from countermark.scene import backup, intent, recovery
from countermark.scene import name as names
from countermark.scene.recovery import State
from countermark.scene.shelf import Shelf
from countermark.scene.sidecar import Asked, Record
from countermark.scene.token import Turn


def move(shelf: Shelf, turns: Mapping[str, Turn], state: State, to: str, asked: Asked) -> Record:
    """Move a scene to a free name; the caller holds both turns. Return the record of the new revision."""
    root, before = shelf.root, state.record
    record = replace(
        before,
        name=to,
        revision=before.revision + 1,
        updated_at=shelf.now(),
        updated_by=asked.actor,
        previous_revision=before.revision,
        previous_sha256=before.sha256,
        restored_from=None,
        fingerprint=None,
        moved_from=before.name,
    )
    record = record.remembering(recovery.remembered(asked.request_id, None, record), asked.mark)
    backup.keep(root, before.name, before.revision, before.sha256)
    intent.write(root, record)
    try:
        for turn in turns.values():
            turn.verify()
        recovery.require_unchanged(shelf, before.name, state.seen, before)
        root.move_new(names.scene_file(before.name), names.scene_file(to))
    except BaseException:
        with suppress(CountermarkError):
            intent.withdraw(root, record)
        raise
    return _follow(shelf, shelf.put_sidecar(record))


def finish(shelf: Shelf, record: Record) -> Record:
    """Let what a crash left at the old name follow, when nobody writes there; the caller holds the new name's turn."""
    if record.moved_from is None:
        return record
    with suppress(CountermarkError), shelf.turn(record.moved_from, seconds=0):
        return _follow(shelf, record)
    return record


def _follow(shelf: Shelf, record: Record) -> Record:
    root, old = shelf.root, record.moved_from
    if old is not None and not root.exists(names.scene_file(old)):
        for revision in backup.revisions(root, old):
            with suppress(CountermarkError):  # it followed before
                root.move_new(names.backup_file(old, revision), names.backup_file(record.name, revision))
        root.release(names.sidecar_file(old))
        intent.forget(root, old)
    return shelf.put_sidecar(replace(record, moved_from=None))
