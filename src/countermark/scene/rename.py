"""Another name for a scene: its file moves in one step, and what stands beside it follows, also after a crash."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace

from countermark.kernel.errors import CountermarkError
from countermark.scene import backup, intent, recovery
from countermark.scene import name as names
from countermark.scene.codes import SceneError
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
    kept = backup.copy(root, before.name, before.revision)
    try:
        intent.write(root, record)
        for turn in turns.values():
            turn.verify()
        recovery.require_unchanged(shelf, before.name, state.seen, before)
        root.move_new(names.scene_file(before.name), names.scene_file(to))
    except BaseException:
        with suppress(CountermarkError):
            # A move whose undo failed stands: the intent then tells the new name what it is, and from where.
            if root.exists(names.scene_file(before.name)):
                intent.withdraw(root, record)
                if kept:
                    root.release(names.backup_file(before.name, before.revision))
        raise
    return _follow(shelf, shelf.put_sidecar(record))


def finish(shelf: Shelf, record: Record, held: Collection[str] = ()) -> Record:
    """Let what a crash left at the old name follow, when nobody writes there; the caller holds the new name's turn.

    `held` are the names whose turn the caller holds beside it.
    """
    old = record.moved_from
    if old is None:
        return record
    with suppress(CountermarkError), nullcontext() if old in held else shelf.turn(old, seconds=0):
        return _follow(shelf, record)
    return record


def finish_from(shelf: Shelf, old: str, held: Mapping[str, Turn]) -> None:
    """Finish the rename that left from a name which is free now; the caller holds that name's turn, and `held`.

    What stands beside it would else be taken for nobody's. Raises `scene_busy` while another writes the scene.
    """
    for entry in shelf.root.listing():
        name = entry.name.removesuffix(names.SUFFIX)
        if entry.kind != "file" or name == entry.name or names.fault(name) or _came_from(shelf, name, old) is None:
            continue
        with nullcontext(held[name]) if name in held else shelf.turn(name, seconds=0) as turn:
            base = _came_from(shelf, name, old)
            if base is None:
                continue
            _carry(shelf, old, base)  # first: a damaged scene is brought back from what follows
            with suppress(SceneError):
                record = recovery.settle(shelf, turn, name, adopting=True).record
                if record.moved_from == old:
                    shelf.put_sidecar(replace(record, moved_from=None))


def _came_from(shelf: Shelf, name: str, old: str) -> Record | None:
    base = recovery.past(shelf, name)[0]
    return base if base is not None and base.moved_from == old else None


def _follow(shelf: Shelf, record: Record) -> Record:
    if record.moved_from is not None:
        _carry(shelf, record.moved_from, record)
    return shelf.put_sidecar(replace(record, moved_from=None))


def _carry(shelf: Shelf, old: str, record: Record) -> None:
    root, theirs = shelf.root, shelf.sidecar(old)
    if root.exists(names.scene_file(old)) or (theirs is not None and theirs.uid != record.uid):
        return  # another scene has or had that name since
    for revision in backup.revisions(root, old):
        with suppress(CountermarkError):  # it followed before
            root.move_new(names.backup_file(old, revision), names.backup_file(record.name, revision))
    root.release(names.sidecar_file(old))
    intent.forget(root, old)
