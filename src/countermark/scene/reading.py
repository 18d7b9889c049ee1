"""Reading scenes: what stands beside a file is brought up to it, in a folder that can be written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

from countermark.kernel.errors import CountermarkError
from countermark.scene import document, recovery, rename
from countermark.scene import name as names
from countermark.scene.evidence import Read
from countermark.scene.recovery import Seen, State
from countermark.scene.shelf import Shelf, fingerprint
from countermark.scene.sidecar import Record, instant


def read(shelf: Shelf, name: str) -> Read:
    """Return a scene; raises as `Store.read`, or in the kernel's codes."""
    names.check(name)
    seen = recovery.look(shelf, name)
    match, beside = recovery.recorded(shelf, name, seen.sha256)
    done = match is not None and beside and match.uid and match.moved_from is None
    if match is not None and done and not recovery.entangled(shelf, name, match.revision):
        return _read(State(seen, document.load(seen.data, shelf.limits), match, known=True))
    try:
        with shelf.turn(name) as turn:
            state = recovery.settle(shelf, turn, name, adopting=True)
            return _read(replace(state, record=rename.finish(shelf, state.record)))
    except CountermarkError as error:
        if error.code != "disk_read_only":
            raise
        return _read_only(shelf, name, seen, match)


def records(shelf: Shelf, scenes: Iterable[str]) -> Iterator[Record]:
    """Yield the record of every one of some scenes that has one, without writing anything."""
    for name in scenes:
        with suppress(CountermarkError):
            beside = shelf.sidecar(name)
            print_ = fingerprint(shelf.root.stat(names.scene_file(name)))
            if beside is None or beside.fingerprint != print_:
                beside = recovery.recorded(shelf, name, recovery.look(shelf, name).sha256)[0] or beside
            if beside is not None:
                yield beside


def _read_only(shelf: Shelf, name: str, seen: Seen, match: Record | None) -> Read:
    # Nothing can be written here: what stands in the file is shown, and no revision is promised for it.
    scene = document.load(seen.data, shelf.limits)
    at = instant(seen.print[2] // 1_000_000)
    if match is not None:
        return _read(State(seen, scene, match, known=True))
    return Read(name, 0, seen.sha256, at, "recovery", len(seen.data), scene, seen.data)


def _read(state: State) -> Read:
    record = state.record
    return Read(
        record.name,
        record.revision,
        record.sha256,
        record.updated_at,
        record.updated_by,
        record.byte_length,
        state.scene,
        state.seen.data,
        record.uid,
        record.restored_from,
    )
