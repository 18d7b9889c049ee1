"""The trash: a scene with everything that stood beside it, in a folder of its own, so that its name is free."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import orjson

from countermark.kernel.errors import CountermarkError
from countermark.scene import backup, document, recovery, sidecar
from countermark.scene import name as names
from countermark.scene.evidence import Evidence
from countermark.scene.recovery import Seen
from countermark.scene.shelf import Shelf
from countermark.scene.sidecar import Asked, Record
from countermark.scene.token import Turn

SCHEMA: Final = "countermark/trash@1"
NOTE: Final = "trash.json"


def put(shelf: Shelf, turn: Turn, name: str, seen: Seen, asked: Asked) -> Evidence:
    """Move a scene into the trash; the move of its file is the moment from which it is gone."""
    root, file = shelf.root, names.scene_file(name)
    record, _ = recovery.recorded(shelf, name, seen.sha256)
    record = record or _last(shelf, name, seen)
    folder = _folder(shelf, name)
    info = _info(shelf, name, seen, record, asked)
    root.make_dir(folder)
    try:
        root.create(f"{folder}/{NOTE}", orjson.dumps(info, option=orjson.OPT_INDENT_2))
        turn.verify()
        recovery.require_unchanged(shelf, name, seen, record)
        root.move_new(file, f"{folder}/{file}")
    except BaseException:
        with suppress(CountermarkError):
            # A move whose undo failed stands: the scene lies in the trash, and the note says where.
            if not root.exists(f"{folder}/{file}"):
                root.release(f"{folder}/{NOTE}")
                root.release_dir(folder)
        raise
    set_aside(shelf, name, folder)
    return _evidence(info)


def beside(shelf: Shelf, name: str) -> list[str]:
    """Return the files that stand beside a name: sidecar, intents, earlier revisions."""
    root = shelf.root
    files = [names.sidecar_file(name), names.intent_file(name, 0), names.intent_file(name, 1)]
    found = [file for file in files if root.exists(file)]
    return found + [names.backup_file(name, revision) for revision in backup.revisions(root, name)]


def set_aside(shelf: Shelf, name: str, folder: str | None = None) -> None:
    """Put whatever stands beside a name without a scene into the trash: nobody inherits it."""
    root, left = shelf.root, beside(shelf, name)
    if not left:
        return
    if folder is None:
        folder = _folder(shelf, name)
        root.make_dir(folder)
    for file in left:
        with suppress(CountermarkError):  # gone by itself
            root.move_new(file, f"{folder}/{file.rpartition('/')[2]}")


def done(shelf: Shelf, name: str, request_id: str | None) -> Evidence | None:
    """Return the evidence of a request that put a scene into the trash before; None when none of that id did."""
    if request_id is None:
        return None
    for info in entries(shelf, f"{name}."):
        if info["name"] == name and info["requestId"] == request_id:
            return _evidence(info, duplicate=True)
    return None


def entries(shelf: Shelf, start: str = "") -> list[dict[str, Any]]:
    """Return what is noted of every scene in the trash, or of some by their start.

    `id` names each in the trash, `folder` where it lies.
    """
    found: list[dict[str, Any]] = []
    if not shelf.root.exists(names.TRASH):
        return found
    for entry in shelf.root.listing(names.TRASH):
        if not entry.name.startswith(start):
            continue
        folder = f"{names.TRASH}/{entry.name}"
        with suppress(CountermarkError, orjson.JSONDecodeError, KeyError, TypeError):
            info = orjson.loads(shelf.root.read(f"{folder}/{NOTE}", cap=sidecar.CAP))
            # A note without a scene is of a call that died before it had moved anything.
            if info["schema"] == SCHEMA and shelf.root.exists(f"{folder}/{names.scene_file(info['name'])}"):
                found.append({**info, "folder": folder, "id": entry.name})
    return found


def _folder(shelf: Shelf, name: str) -> str:
    return f"{names.TRASH}/{name}.{shelf.ids.new('t')}"


def _last(shelf: Shelf, name: str, seen: Seen) -> Record | None:
    """Return what is noted of a scene whose bytes nobody recorded: its identity, and its last revision."""
    base, floor = recovery.past(shelf, name)
    count = 0
    with suppress(CountermarkError):
        count = document.count(seen.data)
    return None if base is None else replace(base, revision=floor or 0, sha256=seen.sha256, element_count=count)


def _info(shelf: Shelf, name: str, seen: Seen, record: Record | None, asked: Asked) -> dict[str, Any]:
    count = record.element_count if record else 0
    if record is None:
        with suppress(CountermarkError):
            count = document.count(seen.data)
    return {
        "schema": SCHEMA,
        "name": name,
        "revision": record.revision if record else 0,
        "sha256": seen.sha256,
        "byteLength": seen.print[1],
        "elementCount": count,
        "trashedAt": shelf.now(),
        "trashedBy": asked.actor,
        "requestId": asked.request_id,
        "mark": asked.mark,
        "uid": record.uid if record else shelf.ids.new("s"),
    }


def _evidence(info: dict[str, Any], *, duplicate: bool = False) -> Evidence:
    return Evidence(
        info["name"],
        info["revision"],
        info["revision"],
        info["sha256"],
        info["byteLength"],
        info["elementCount"],
        info["trashedAt"],
        duplicate=duplicate,
        uid=info["uid"],
        more={"requestId": info["requestId"]},
    )
