"""One writer's turn at a scene, across threads, processes and other programs (seed 3 §3.3, §3.5).

Two locks stand over each other. `flock` on a permanent file decides between writers of ours: the system frees it when
its holder dies, so nothing of ours is ever stale. `<name>.lock`, made in one step and taken away again, speaks to
programs that know only the seed's rule. A token of ours is stale as soon as its `flock` is free; a fresh one of another
program is waited for, and one older than 30 s is taken away.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Self

import orjson

from countermark.kernel.clock import Clock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.identity import own_identity
from countermark.kernel.kept import KeptRoot
from countermark.kernel.lock import Lock
from countermark.scene import name as names
from countermark.scene.codes import SceneError, refuse

SCHEMA: Final = "countermark/scene-lock@1"
STALE_MS: Final = 30_000
"""How old another program's lock file has to be before it is taken for dead (seed 3 §3.5)."""

_CAP: Final = 4096
_PAUSE: Final = 0.02


class Turn:
    """The right to write one scene, for a `with`; `verify` says whether it still is ours."""

    def __init__(
        self,
        root: KeptRoot,
        name: str,
        lock: Lock,
        clock: Clock,
        *,
        seconds: float,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Name the scene; `seconds` is how long another writer is waited for."""
        self._root, self._lock, self._clock, self._pause = root, lock, clock, pause
        self._name, self._file, self._seconds = name, names.token_file(name), seconds
        who = own_identity()
        said = {
            "schema": SCHEMA,
            "host": who.host,
            "bootId": who.boot_id,
            "pid": who.pid,
            "startTime": who.start_time,
            "token": secrets.token_hex(8),
        }
        self._token = orjson.dumps(said)

    def __enter__(self) -> Self:
        """Take the turn, or raise `scene_busy` naming the holder."""
        ends = self._clock.monotonic() + self._seconds
        self._lock.acquire(self._seconds, code="scene_busy")
        try:
            self._claim(ends)
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Give the turn back."""
        try:
            with suppress(CountermarkError):  # what stays behind is ours, and the next one of ours takes it away
                if self._held() == self._token:
                    self._root.release(self._file)
        finally:
            self._lock.release()

    def verify(self) -> None:
        """Raise `scene_busy` when somebody took the turn away, as a program may that found this process asleep."""
        if self._held() != self._token:
            raise refuse(
                "scene_busy",
                f"Another program took over the lock of {self._name} while this one was writing; nothing was written.",
                next_action="Read the scene again, then repeat the call.",
                details={"reason": "lock-lost"},
            )

    def _claim(self, ends: float) -> None:
        while True:
            with suppress(CountermarkError):
                return self._root.claim(self._file, self._token)
            found = self._held()
            if found is None:
                self._root.claim(self._file, self._token)  # gone meanwhile, or the folder cannot be written: says which
                return None
            if self._stale(found):
                self._take_away(found)
            elif self._clock.monotonic() >= ends:
                raise self._busy(found)
            else:
                self._pause(_PAUSE)

    def _held(self) -> bytes | None:
        return self._said_in(self._file)

    def _said_in(self, file: str) -> bytes | None:
        try:
            return self._root.read(file, cap=_CAP)
        except CountermarkError as error:
            if error.code == "not_found":
                return None
            if error.code == "input_too_large":
                return b""
            raise

    def _stale(self, found: bytes) -> bool:
        # We hold the flock, so whoever of ours made a token on this machine has let go of it by dying.
        if _said(found).get("schema") == SCHEMA and _said(found).get("host") == os.uname().nodename:
            return True
        try:
            made = self._root.stat(self._file).st_mtime_ns // 1_000_000
        except CountermarkError:
            return False  # gone: the next attempt sees it
        return abs(self._clock.now_ms() - made) > STALE_MS  # a clock that was set back must not keep it for ever

    def _take_away(self, seen: bytes) -> None:
        # Moved to a name of its own first: between looking and removing, a new one may have been put there.
        aside = f"{self._file}.{secrets.token_hex(8)}"
        with suppress(CountermarkError):
            self._root.move_new(self._file, aside)
            if self._said_in(aside) != seen:
                self._root.move_new(aside, self._file)
                return
            self._root.release(aside)

    def _busy(self, found: bytes) -> SceneError:
        said = _said(found)
        who = f"process {said['pid']} on {said['host']}" if "pid" in said and "host" in said else "another program"
        return refuse(
            "scene_busy",
            f"{self._name} is being written by {who}.",
            next_action="Wait a moment, then repeat the call.",
            details={"reason": "lock", "holder": {key: said[key] for key in ("host", "pid") if key in said}},
        )


def _said(token: bytes) -> dict[str, Any]:
    with suppress(orjson.JSONDecodeError):
        value = orjson.loads(token)
        if isinstance(value, dict):
            return value
    return {}
