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
from countermark.scene import name as names
from countermark.scene import sidecar
from countermark.scene.backup import Retention
from countermark.scene.codes import refuse
from countermark.scene.limits import DEFAULT, Limits
from countermark.scene.sidecar import Record
from countermark.scene.token import Turn

LOCK_SECONDS: Final = 5.0
_OPEN_LOCKS: Final = 32


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

    def now(self) -> str:
        """Return the time as the records spell it."""
        return sidecar.instant(self.clock.now_ms())

    def prepare(self) -> None:
        """Make the folders that a save needs, where they are missing."""
        for folder in names.FOLDERS:
            if not self.root.exists(folder):
                self.root.make_dir(folder)

    @contextmanager
    def turn(self, name: str, *, seconds: float | None = None) -> Iterator[Turn]:
        """Take one writer's turn at a scene, for a `with`; raise `scene_busy` after the seconds given."""
        self.prepare()
        lock = self._borrow(name)
        try:
            wait = self.lock_seconds if seconds is None else seconds
            with Turn(self.root, name, lock, self.clock, seconds=wait, pause=self.pause) as turn:
                yield turn
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
        try:
            data = self.root.read(names.sidecar_file(name), cap=sidecar.CAP)
        except CountermarkError as error:
            if error.code in {"not_found", "input_too_large"}:
                return None
            raise
        return sidecar.parse(data, name)

    def put_sidecar(self, record: Record) -> Record:
        """Write what stands beside a scene, with the look of the file now; return it so."""
        seen = replace(record, fingerprint=fingerprint(self.root.stat(names.scene_file(record.name))))
        self.root.put_passing(names.sidecar_file(record.name), seen.bytes())
        return seen


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
