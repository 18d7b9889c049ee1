"""What every part of the store works with: the opened folder, the bounds, the clock, and the turns that are out."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from countermark.kernel.clock import Clock, Ids, RandomIds, SystemClock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.kept import KeptRoot
from countermark.kernel.lock import Lock
from countermark.scene import document, sidecar
from countermark.scene import name as names
from countermark.scene.backup import Retention
from countermark.scene.codes import refuse
from countermark.scene.document import Scene
from countermark.scene.limits import DEFAULT, Limits
from countermark.scene.sidecar import Record, read_beside
from countermark.scene.token import Turn

LOCK_SECONDS: Final = 5.0
_OPEN_LOCKS: Final = 32
_REMEMBERED: Final = 64


@dataclass
class Shelf:
    """A folder of scenes. `lock_seconds` is how long another writer is waited for; `pause` waits the seconds given."""

    root: KeptRoot
    limits: Limits = DEFAULT
    clock: Clock = field(default_factory=SystemClock)
    retention: Retention = field(default_factory=Retention)
    lock_seconds: float = LOCK_SECONDS
    pause: Callable[[float], None] = time.sleep
    _locks: dict[str, tuple[Lock, int]] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.ids: Ids = RandomIds(self.clock)
        self._last: tuple[str, Scene] | None = None
        self._prepared = False
        self._records: dict[str, tuple[bytes, Record | None]] = {}

    def load(self, data: bytes, sha256: str) -> Scene:
        """Return the document in some bytes with that digest; raise as `document.load`.

        The one that was read last is kept: a writer that goes on with a large scene then reads it once a save, when it
        is read back, and not twice.
        """
        last = self._last
        if last is None or last[0] != sha256:
            last = sha256, document.load(data, self.limits)
            self._last = last
        return last[1]

    def now(self) -> str:
        """Return the time as the records spell it."""
        return sidecar.instant(self.clock.now_ms())

    def prepare(self) -> None:
        """Make the folders that a save needs, where they are missing; they are looked for once."""
        if self._prepared and self.root.exists(names.KEPT):
            return
        self.require_kept()
        for folder in names.FOLDERS:
            if not self.root.exists(folder):
                self.root.make_dir(folder)
        self._prepared = True

    def require_kept(self) -> None:
        """Raise `permission_denied` when something else than a folder stands where everything beside scenes is kept."""
        if not self.root.exists(names.KEPT):
            return
        found = self.root.stat(names.KEPT).st_mode
        if not stat.S_ISDIR(found):
            raise refuse(
                "permission_denied",
                f"{names.KEPT} in this folder is no folder; nothing is read or written through it.",
                next_action=f"Move what stands at {names.KEPT} away.",
                details={"reason": "symlink" if stat.S_ISLNK(found) else "not-a-folder"},
            )

    @contextmanager
    def turn(self, name: str, *, seconds: float | None = None) -> Iterator[Turn]:
        """Take one writer's turn at a scene, for a `with`; raise `scene_busy` after the seconds given."""
        self.prepare()
        lock = self._borrow(name)
        try:
            wait = self.lock_seconds if seconds is None else seconds
            with Turn(self.root, name, lock, self.clock, seconds=wait, pause=self.pause) as turn:
                yield turn
        except CountermarkError as error:
            if error.code == "not_found":  # perhaps one of the folders, taken away while this process lived
                self._prepared = False
            raise
        finally:
            self._give_back(name)

    def _borrow(self, name: str) -> Lock:
        with self._guard:
            made = (Lock(self.root, names.lock_file(name), pause=self.pause), 0)
            lock, users = self._locks.pop(name, made)
            self._locks[name] = lock, users + 1
            return lock

    def _give_back(self, name: str) -> None:
        # Of the locks that nobody uses only the latest stay open: each holds two descriptors.
        with self._guard:
            lock, users = self._locks[name]
            self._locks[name] = lock, users - 1
            idle = [one for one, (_, count) in self._locks.items() if not count]
            for one in idle[: max(0, len(self._locks) - _OPEN_LOCKS)]:
                self._locks.pop(one)[0].close()

    def close(self) -> None:
        """Give every descriptor back."""
        with self._guard:
            for lock, _ in self._locks.values():
                lock.close()
            self._locks.clear()
        self.root.close()

    def sidecar(self, name: str) -> Record | None:
        """Return what stands beside a scene; None when nothing that can be read does (seed 3 §3.5)."""
        data = read_beside(self.root, names.sidecar_file(name), sidecar.CAP)
        if data is None:
            return None
        known = self._records.get(name)
        if known is None or known[0] != data:
            known = self._remember(name, data, sidecar.parse(data, name))
        return known[1]

    def put_sidecar(self, record: Record, text: bytes | None = None) -> Record:
        """Write what stands beside a scene, with the look of the file now; return it so.

        `text` is the record's text without a look, where it was made already.
        """
        record = replace(record, fingerprint=None)
        look = fingerprint(self.root.stat(names.scene_file(record.name)))
        seen, data = record.noted(record.bytes() if text is None else text, look)
        self.root.put_passing(names.sidecar_file(record.name), data)
        self._remember(record.name, data, seen)
        return seen

    def _remember(self, name: str, data: bytes, record: Record | None) -> tuple[bytes, Record | None]:
        if len(self._records) >= _REMEMBERED:
            self._records.clear()
        self._records[name] = data, record
        return data, record


def fingerprint(found: os.stat_result) -> tuple[int, int, int]:
    """Return what tells one state of a file from the next without reading it: inode, size, mtime in ns."""
    return found.st_ino, found.st_size, found.st_mtime_ns


def open_folder(path: str | os.PathLike[str]) -> KeptRoot:
    """Open a folder of scenes; raise `permission_denied` when it is a symbolic link, `not_found` when it is missing."""
    place = os.fspath(path).rstrip("/") or "/"
    try:
        found = os.lstat(place)
    except OSError:
        found = None
    if found is not None and stat.S_ISLNK(found.st_mode):
        raise refuse(
            "permission_denied",
            f"{place} is a symbolic link.",
            next_action="Name the folder itself.",
            details={"reason": "symlink"},
        )
    return KeptRoot(place)
