"""What a save is about to do, durable before it does it: the whole record that will stand beside the new bytes.

A crash between the scene's rename and its sidecar loses nothing: the intent whose digest is the file's tells which
request made it, so a retry is answered as a duplicate (research scene §4.1, hole 5). The sidecar itself is then not
synced: the intent stands for it. Two files take turns, so that the newest whole one always survives a torn write.
"""

from __future__ import annotations

from typing import Final

from countermark.kernel.canon import sha256_hex
from countermark.kernel.kept import KeptRoot
from countermark.scene import name as names
from countermark.scene import sidecar
from countermark.scene.sidecar import Record

_CAP: Final = sidecar.CAP


def write(root: KeptRoot, record: Record) -> bytes:
    """Make durable what is about to happen; return the text of the record."""
    text = record.bytes()
    told = f"{record.revision} {record.sha256}\n".encode() + text
    root.overwrite(names.intent_file(record.name, record.revision), sha256_hex(told).encode() + b" " + told)
    return text


def withdraw(root: KeptRoot, record: Record) -> None:
    """Say that a revision was not made after all; the content it would have had is then nobody's."""
    root.put_passing(names.intent_file(record.name, record.revision), b"")


def read(root: KeptRoot, name: str) -> list[Record]:
    """Return the whole intents of a scene, oldest first."""
    found = [_record(_told(root, name, slot), name) for slot in (0, 1)]
    return sorted((record for record in found if record is not None), key=lambda record: record.revision)


def newer(root: KeptRoot, name: str, sha256: str, above: int) -> Record | None:
    """Return the newest intent for bytes of a digest, if its revision is above another; the usual answer is None."""
    found: Record | None = None
    for slot in (0, 1):
        told = _told(root, name, slot)
        revision, _, digest = told.partition(b"\n")[0].partition(b" ")
        if digest == sha256.encode() and int(revision) > above:
            record = _record(told, name)
            if record is not None:
                found, above = record, record.revision
    return found


def forget(root: KeptRoot, name: str) -> None:
    """Take away the intents of a name that no scene has any more."""
    for slot in (0, 1):
        root.release(names.intent_file(name, slot))


def parse(data: bytes, name: str) -> Record | None:
    """Return the record of a scene in the bytes of an intent; None when they are torn, withdrawn or another's."""
    return _record(_whole(data), name)


def _told(root: KeptRoot, name: str, slot: int) -> bytes:
    return _whole(sidecar.read_beside(root, names.intent_file(name, slot), _CAP) or b"")


def _whole(data: bytes) -> bytes:
    check, _, told = data.partition(b" ")
    # One that was torn by a crash speaks of what never happened: it is synced before the rename.
    return told if sha256_hex(told).encode() == check else b""


def _record(told: bytes, name: str) -> Record | None:
    return sidecar.parse(told.partition(b"\n")[2], name) if told else None
