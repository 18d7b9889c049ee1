"""The past of a scene: every revision whose bytes are kept."""

from __future__ import annotations

from contextlib import suppress

from countermark.kernel.errors import CountermarkError
from countermark.scene import backup, intent
from countermark.scene import name as names
from countermark.scene.codes import refuse
from countermark.scene.evidence import Read, Version
from countermark.scene.shelf import Shelf
from countermark.scene.sidecar import Step, instant


def versions(shelf: Shelf, name: str, now: Read | None) -> list[Version]:
    """Return the revisions of a scene, the newest first; when and by whom where the record still says so.

    None is current where the bytes that stand there are damaged: `now` is then None.
    """
    known: dict[int, Step] = {}
    for record in [*intent.read(shelf.root, name), shelf.sidecar(name)]:
        if record is not None:
            known |= {step.revision: step for step in record.lineage}
    found: list[Version] = []
    if now is not None:
        found = [Version(now.revision, now.sha256, now.byte_length, now.updated_at, now.updated_by, current=True)]
    for revision in reversed(backup.revisions(shelf.root, name)):
        if now is not None and revision == now.revision:  # kept by a save that never came to its end
            continue
        file = names.backup_file(name, revision)
        with suppress(CountermarkError):  # taken away since the folder was read
            there = shelf.root.stat(file)
            step = known.get(revision)
            at = step.at if step else instant(there.st_mtime_ns // 1_000_000)
            by = step.by if step else ""
            found.append(Version(revision, shelf.root.digest(file), there.st_size, at, by, current=False))
    return found


def kept(shelf: Shelf, name: str, revision: int) -> bytes:
    """Return the bytes of an earlier revision; raise `not_found` when they are not kept, saying which are."""
    try:
        return backup.read(shelf.root, name, revision, shelf.limits)
    except CountermarkError as error:
        if error.code != "not_found":
            raise
        there = backup.revisions(shelf.root, name)
        raise refuse(
            "not_found",
            f"Revision {revision} of {name} is not kept.",
            next_action="Choose one of the revisions that the history lists.",
            details={"revisions": there[-20:]},
        ) from error
