"""What a save is about to do, durable before it does it: the whole record that will stand beside the new bytes.

A crash between the scene's rename and its sidecar loses nothing: the intent whose digest is the file's tells which
request made it, so a retry is answered as a duplicate (research scene §4.1, hole 5). The sidecar itself is then not
synced: the intent stands for it. Two files take turns, so that the newest whole one always survives a torn write.
"""

from __future__ import annotations

from typing import Final

import orjson

from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.kernel.kept import KeptRoot
from countermark.scene import name as names
from countermark.scene import sidecar
from countermark.scene.sidecar import Record

_LINE: Final = b"\n"
_CAP: Final = sidecar.CAP


def write(root: KeptRoot, record: Record) -> None:
    """Make durable what is about to happen."""
    body = orjson.dumps(record.wire())
    root.overwrite(names.intent_file(record.name, record.revision), sha256_hex(body).encode() + _LINE + body)


def withdraw(root: KeptRoot, record: Record) -> None:
    """Say that a revision was not made after all; the content it would have had is then nobody's."""
    root.put_passing(names.intent_file(record.name, record.revision), b"")


def read(root: KeptRoot, name: str) -> list[Record]:
    """Return the whole intents of a scene, oldest first."""
    found = [_read(root, name, slot) for slot in (0, 1)]
    return sorted((record for record in found if record is not None), key=lambda record: record.revision)


def forget(root: KeptRoot, name: str) -> None:
    """Take away the intents of a name that no scene has any more."""
    for slot in (0, 1):
        root.release(names.intent_file(name, slot))


def _read(root: KeptRoot, name: str, slot: int) -> Record | None:
    try:
        data = root.read(names.intent_file(name, slot), cap=_CAP)
    except CountermarkError as error:
        if error.code in {"not_found", "input_too_large"}:
            return None
        raise
    check, _, body = data.partition(_LINE)
    if sha256_hex(body).encode() != check:
        return None  # torn by a crash: what it spoke of never happened, for it is synced before the rename
    return sidecar.parse(body, name)
