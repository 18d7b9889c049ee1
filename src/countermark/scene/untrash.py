"""Out of the trash: a scene comes back with everything that stood beside it, over nothing that is there now.

Its past is copied beside the name first, by second names that cost no space; then an intent says what the file is, and
the move of the file is the moment from which the scene is back. What a crash leaves is a scene in the trash with a copy
of its past, or a scene with its past and a folder in the trash without one: nothing is lost, and nothing is in between.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.kernel.kept import KeptRoot
from countermark.scene import document, intent, recovery, sidecar, trash
from countermark.scene import name as names
from countermark.scene.codes import SceneError, as_scene_error, refuse
from countermark.scene.document import Scene
from countermark.scene.evidence import Evidence, of_record
from countermark.scene.shelf import Shelf, fingerprint
from countermark.scene.sidecar import Asked, Record
from countermark.scene.token import Turn

_ID: Final = re.compile(r"(.+)\.t-[0-9a-v]{16}")


@dataclass(frozen=True, slots=True)
class Lying:
    """A scene as it lies in the trash: its note, the folder, and its file there."""

    note: dict[str, Any]
    folder: str

    @property
    def name(self) -> str:
        """What it was called."""
        return str(self.note["name"])

    @property
    def file(self) -> str:
        """Where its bytes are."""
        return f"{self.folder}/{names.scene_file(self.name)}"


@dataclass(frozen=True, slots=True)
class _Whole:
    """What of a scene in the trash can be read: its own bytes, or those of an earlier revision."""

    scene: Scene
    data: bytes
    earlier: int | None = None


def name_of(entry: Any) -> str:
    """Return the name that a scene had, from its id in the trash; raise `not_found` for what is none."""
    found = _ID.fullmatch(entry) if isinstance(entry, str) else None
    if found is None or names.fault(found[1]):
        raise _missing(entry)
    return found[1]


def find(shelf: Shelf, entry: Any) -> Lying:
    """Return a scene in the trash by its id; raise `not_found`."""
    for note in trash.entries(shelf, f"{name_of(entry)}."):
        if note["id"] == entry:
            return Lying(note, note["folder"])
    raise _missing(entry)


def bring_back(shelf: Shelf, turn: Turn, lying: Lying, to: str, asked: Asked) -> Evidence:
    """Move a scene out of the trash to a free name, as a new revision; the caller holds the name's turn."""
    root, file = shelf.root, names.scene_file(to)
    look = fingerprint(root.stat(lying.file))
    whole, past = _whole(shelf, lying), _past(root, lying)
    record = _record(shelf, lying, to, whole, past, asked)
    before = record.previous_revision or 0
    copied: list[str] = []
    try:
        for revision in past.revisions:
            copied.append(names.backup_file(to, revision))
            root.keep(_backup(lying, revision), copied[-1])
        if before and before not in past.revisions and whole.earlier is None:
            copied.append(names.backup_file(to, before))
            _copy(root, lying.file, copied[-1])
        text = intent.write(root, record)
        turn.verify()
        if whole.earlier is not None:
            root.create(file, whole.data)
        else:
            _require_unchanged(shelf, lying, look)
            root.move_new(lying.file, file)
    except BaseException:
        with suppress(CountermarkError):
            # A move whose undo failed stands: the intent then tells the scene what it is.
            if whole.earlier is not None or root.exists(lying.file):
                intent.withdraw(root, record)
                for kept in copied:
                    root.release(kept)
        raise
    record = shelf.put_sidecar(record, text)
    _clear(shelf, lying)
    return of_record(record, before)


def _whole(shelf: Shelf, lying: Lying) -> _Whole:
    """Return what can be read; raise why nothing can."""
    try:
        data = shelf.root.read(lying.file, cap=shelf.limits.max_scene_bytes)
        return _Whole(document.load(data, shelf.limits), data)
    except CountermarkError as error:
        for revision in reversed(_past(shelf.root, lying).revisions):
            with suppress(CountermarkError):
                data = shelf.root.read(_backup(lying, revision), cap=shelf.limits.max_scene_bytes)
                return _Whole(document.load(data, shelf.limits), data, revision)
        ours = as_scene_error(error)
        raise refuse(
            ours.code,
            f"{lying.name} cannot be brought back, and no earlier revision of it is whole: {ours.sentence}",
            next_action=f"Its files lie in {lying.folder}; nothing was changed there.",
            details={**ours.details, "folder": lying.folder},
        ) from error


@dataclass(frozen=True, slots=True)
class _Past:
    """What stood beside a scene in the trash: its records, oldest first, and the revisions that were kept."""

    records: tuple[Record, ...]
    revisions: tuple[int, ...]


def _past(root: KeptRoot, lying: Lying) -> _Past:
    kept = [entry.name for entry in root.listing(lying.folder) if entry.kind == "file"]
    revisions = (names.backup_revision(lying.name, file) for file in kept if file != names.scene_file(lying.name))
    beside = names.sidecar_file(lying.name).rpartition("/")[2]
    found = [sidecar.parse(_beside(root, lying, beside), lying.name)]
    for slot in (0, 1):
        file = names.intent_file(lying.name, slot).rpartition("/")[2]
        found.append(intent.parse(_beside(root, lying, file), lying.name))
    records = sorted((one for one in found if one is not None), key=lambda record: record.revision)
    return _Past(tuple(records), tuple(sorted(one for one in revisions if one is not None)))


def _beside(root: KeptRoot, lying: Lying, file: str) -> bytes:
    return sidecar.read_beside(root, f"{lying.folder}/{file}", sidecar.CAP) or b""


def _record(shelf: Shelf, lying: Lying, to: str, whole: _Whole, past: _Past, asked: Asked) -> Record:
    """Return the record of the scene that comes back: it goes on from what was noted of it last."""
    noted = int(lying.note["revision"])
    base = next((one for one in reversed(past.records) if one.sha256 == lying.note["sha256"]), None)
    if base is None and past.records:
        # What the newest says of its own revision may never have come to be; what lies before it did.
        base = past.records[-1].before()
    last = max(noted, *(one.revision for one in past.records), *past.revisions, 0)
    record = recovery.made(shelf, to, base, whole.scene, (sha256_hex(whole.data), len(whole.data)), last + 1)
    record = replace(
        record,
        uid=str(lying.note.get("uid") or record.uid),
        updated_by=asked.actor,
        previous_revision=noted,
        previous_sha256=str(lying.note["sha256"]),
        restored_from=whole.earlier,
        moved_from=None,
    )
    return record.remembering(recovery.remembered(asked.request_id, asked.payload, record), asked.mark)


def _backup(lying: Lying, revision: int) -> str:
    return f"{lying.folder}/{names.backup_file(lying.name, revision).rpartition('/')[2]}"


def _copy(root: KeptRoot, file: str, to: str) -> None:
    fd = root.open_regular(file)
    try:
        root.copy_in(to, fd, os.fstat(fd).st_size)
    finally:
        os.close(fd)


def _require_unchanged(shelf: Shelf, lying: Lying, look: tuple[int, int, int]) -> None:
    if fingerprint(shelf.root.stat(lying.file)) != look:
        raise recovery.changed(lying.name, None, shelf.root.digest(lying.file), shelf.now())


def _clear(shelf: Shelf, lying: Lying) -> None:
    """Take away what is left in the trash of a scene that is back; damaged bytes of it go to quarantine."""
    root = shelf.root
    with suppress(CountermarkError):
        root.release(f"{lying.folder}/{trash.NOTE}")
        if root.exists(lying.file):
            aside = names.quarantine_file(lying.name, str(lying.note["sha256"]))
            if not root.exists(aside):
                root.move_new(lying.file, aside)
        for entry in root.listing(lying.folder):
            root.release(f"{lying.folder}/{entry.name}")
        root.release_dir(lying.folder)


def _missing(entry: Any) -> SceneError:
    shown = ascii(entry)[:100] if isinstance(entry, str) else f"A {type(entry).__name__}"
    return refuse(
        "not_found",
        f"{shown} is nothing that lies in the trash.",
        next_action="List the trash, and name one of its ids.",
    )
