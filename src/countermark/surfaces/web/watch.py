"""What changed in a folder of scenes, whoever changed it: the agent's server, the command line, git, an editor.

The folder is looked at in short turns, and only while a page listens: one scan of names, sizes and times, and a listing
by the store when something in it is not as before. Looking works on every file system, network folders included, where
notifications of the system do not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from countermark.scene import name as names

Mark = tuple[int, int, int]
"""Inode, size and modification time of a file."""

_META: Final = ".meta.json"


class Seen(NamedTuple):
    """One scene in one look: its file's mark, and what the store's listing says of it."""

    mark: Mark | None
    revision: int
    sha256: str | None
    updated_by: str | None
    updated_at: str | None

    def wire(self, name: str) -> dict[str, Any]:
        """Return what a page compares with what it holds."""
        return {
            "name": name,
            "revision": self.revision,
            "sha256": self.sha256,
            "updatedBy": self.updated_by,
            "updatedAt": self.updated_at,
        }


Look = Mapping[str, Seen]
Marks = Mapping[str, Mark]


def marks(folder: Path) -> dict[str, Mark]:
    """Return the marks of the scene files and sidecars in a folder; a folder that is gone has none."""
    found: dict[str, Mark] = {}
    for place, ending in ((folder, names.SUFFIX), (folder / names.KEPT, _META)):
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    if entry.name.endswith(ending):
                        seen = entry.stat(follow_symlinks=False)
                        found[entry.name] = (seen.st_ino, seen.st_size, seen.st_mtime_ns)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
    return found


def changes(before: Look, after: Look) -> list[dict[str, Any]]:
    """Return what a page is told of two looks: created, changed and removed scenes, a rename where bytes moved on."""
    told: list[dict[str, Any]] = []
    appeared = {seen.sha256: name for name, seen in after.items() if name not in before and seen.sha256}
    for name, seen in before.items():
        if name not in after:
            gone: dict[str, Any] = {"name": name, "change": "removed", "revision": None, "sha256": None}
            if seen.sha256 and (to := appeared.get(seen.sha256)) is not None:
                gone["to"] = to
            told.append(gone)
    for name, seen in after.items():
        if (old := before.get(name)) != seen:
            told.append({**seen.wire(name), "change": "created" if old is None else "changed"})
    return told


class Watch:
    """Remembers the last look at a folder; one turn at a time."""

    def __init__(self, folder: Path, listing: Callable[[], list[dict[str, Any]]]) -> None:
        """Watch a folder whose store lists its scenes so."""
        self._folder = folder
        self._listing = listing
        self._marks: Marks | None = None
        self.look: Look = {}

    def turn(self) -> list[dict[str, Any]]:
        """Look once; return what changed since the last look."""
        # The marks are taken before the listing: what changes in between is found by the next turn.
        now = marks(self._folder)
        if now == self._marks:
            return []
        fresh = {
            str(row["name"]): Seen(
                now.get(f"{row['name']}{names.SUFFIX}"),
                int(row.get("revision") or 0),
                row.get("sha256"),
                row.get("updatedBy"),
                row.get("updatedAt"),
            )
            for row in self._listing()
        }
        told = changes(self.look, fresh)
        self._marks, self.look = now, fresh
        return told
