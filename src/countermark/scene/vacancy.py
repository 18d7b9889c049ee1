"""Whether a name is free for a scene, and making it so: nobody inherits what stands beside it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from countermark.kernel.errors import CountermarkError
from countermark.scene import name as names
from countermark.scene import recovery, rename, trash
from countermark.scene.codes import SceneError, refuse
from countermark.scene.evidence import Evidence, of_request
from countermark.scene.shelf import Shelf
from countermark.scene.sidecar import Record
from countermark.scene.token import Turn


def require_free(shelf: Shelf, name: str, request_id: str | None) -> None:
    """Raise `already_exists` when a file has a scene's name; the details say whether this very request made it."""
    if not shelf.root.exists(names.scene_file(name)):
        return
    record = shelf.sidecar(name)
    with suppress(CountermarkError):
        record = recovery.recorded(shelf, name, recovery.look(shelf, name).sha256)[0] or record
    raise taken(name, record, request_id)


def taken(name: str, record: Record | None, request_id: str | None) -> SceneError:
    """Return the refusal of a name that a scene has."""
    details: dict[str, Any] = {"name": name}
    made = None if record is None else record.created
    if record is not None and made is not None and request_id is not None and made.id == request_id:
        details |= {"sameRequest": True, "revision": made.revision, "sha256": made.sha256}
        details |= {"currentRevision": record.revision, "currentSha256": record.sha256}
        return refuse(
            "already_exists",
            f"{name} exists: this very request made it, as revision {made.revision}.",
            next_action="Read the scene and go on from it.",
            details=details,
        )
    return refuse(
        "already_exists",
        f"A scene named {name} exists.",
        next_action="Choose another name, or change that scene.",
        details=details,
    )


def make_way(shelf: Shelf, name: str, turns: Mapping[str, Turn]) -> None:
    """Put what stands beside a free name out of the way; the caller holds the turns given by name."""
    if trash.beside(shelf, name):
        rename.finish_from(shelf, name, turns)
        trash.set_aside(shelf, name)


def carried_out(shelf: Shelf, name: str, request_id: str | None) -> Evidence | None:
    """Return the evidence of a request by which a scene came to its name; None where none of that id did."""
    if request_id is None or not shelf.root.exists(names.scene_file(name)):
        return None
    record, _ = recovery.recorded(shelf, name, recovery.look(shelf, name).sha256)
    done = None if record is None else record.request(request_id)
    if record is None or done is None:
        return None
    return of_request(rename.finish(shelf, record), done, None)
