"""Earlier revisions of a scene: which there are, which of them are whole, and how many are kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from countermark.kernel.errors import CountermarkError
from countermark.kernel.kept import KeptRoot
from countermark.scene import document
from countermark.scene import name as names
from countermark.scene.document import Scene
from countermark.scene.limits import Limits

KEEP_BYTES: Final = 256 << 20
KEEP_COUNT: Final = 500
ALWAYS: Final = 8
"""However large, so many of the newest stay."""
EVERY: Final = 64
"""How often, in revisions, it is looked whether there are too many."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How much of the past is kept for one scene: at most so many revisions and bytes, and always the newest few.

    `every` is how many revisions pass between two looks at it.
    """

    count: int = KEEP_COUNT
    size: int = KEEP_BYTES
    always: int = ALWAYS
    every: int = EVERY


def revisions(root: KeptRoot, name: str) -> list[int]:
    """Return the revisions of a scene that are kept, oldest first."""
    try:
        entries = root.listing(names.BACKUPS)
    except CountermarkError as error:
        if error.code == "not_found":
            return []
        raise
    found = (names.backup_revision(name, entry.name) for entry in entries if entry.kind == "file")
    return sorted(revision for revision in found if revision is not None)


def read(root: KeptRoot, name: str, revision: int, limits: Limits) -> bytes:
    """Return the bytes of an earlier revision; raise `not_found` when it is not kept."""
    return root.read(names.backup_file(name, revision), cap=limits.max_scene_bytes)


def newest_valid(root: KeptRoot, name: str, limits: Limits) -> tuple[int, Scene] | None:
    """Return the newest earlier revision that can be read, with its number; None when there is none."""
    for revision in reversed(revisions(root, name)):
        with suppress(CountermarkError):
            return revision, document.load(read(root, name, revision, limits), limits)
    return None


def keep(root: KeptRoot, name: str, revision: int, sha256: str) -> None:
    """Keep the bytes that stand under a scene's name as an earlier revision, durable."""
    file = names.backup_file(name, revision)
    try:
        root.keep(names.scene_file(name), file)
    except CountermarkError as error:
        if error.code != "output_exists":
            raise
        found = root.digest(file)
        if found == sha256:  # a save that never came to its end kept it already, perhaps without the last sync
            root.sync(names.BACKUPS)
            return
        aside = names.quarantine_file(name, found)
        if not root.exists(aside):
            root.move_new(file, aside)
        else:
            root.remove(file)
        root.keep(names.scene_file(name), file)


def copy(root: KeptRoot, name: str, revision: int) -> bool:
    """Keep a copy of the bytes that go on standing under a scene's name, durable; say whether there was none yet."""
    fd = root.open_regular(names.scene_file(name))
    try:
        root.copy_in(names.backup_file(name, revision), fd, os.fstat(fd).st_size)
    except CountermarkError as error:
        if error.code != "output_exists":
            raise
        return False
    finally:
        os.close(fd)
    return True


def prune(root: KeptRoot, name: str, retention: Retention) -> list[int]:
    """Take away the oldest revisions beyond what is kept; return them.

    Called right after a save has kept the revision before it, whose bytes were read and found whole: so the newest that
    stays is valid, and the last valid one is never taken.
    """
    taken = list(_beyond(root, name, retention))
    for revision in taken:
        root.release(names.backup_file(name, revision))
    return taken


def _beyond(root: KeptRoot, name: str, retention: Retention) -> Iterator[int]:
    size = 0
    for place, revision in enumerate(reversed(revisions(root, name))):
        size += root.stat(names.backup_file(name, revision)).st_size
        if place >= max(1, retention.always) and (place >= retention.count or size > retention.size):
            yield revision
