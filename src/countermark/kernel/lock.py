"""Locks between processes: `flock` on permanent files, with a deadline, taking turns, and naming who holds one.

`flock` belongs to an open file, so two locks in one process exclude each other too, and a process that dies lets go.
`lockf` does neither (research kernel §4.1). A blocking `flock` has no deadline and wakes all waiters at once, so a
waiter asks repeatedly instead, and a second permanent file, the queue, keeps the one who lets go from taking the lock
again before the others: whoever has had its turn stands in the queue behind the first waiter.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple, Self

from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root
from countermark.kernel.identity import ProcessIdentity, is_gone, own_identity, process_identity

__all__ = ["Holder", "Lock", "ProcessIdentity", "is_gone", "process_identity"]

TURN_SECONDS: Final = 0.010
"""How long a process may take a lock again and again before it must queue: 5 to 50 commits of the ledger."""

# A waiter asks the more often the longer it has waited, so that the queue is served nearly in order: of 8 processes
# the slowest got 0.5 to 0.9 of the fastest's turns and waited 0.3 s at most; with equal pauses 0.2 to 0.4, and 1.4 s.
_SHORT_PAUSE: Final = 0.0002
_LONG_PAUSE: Final = 0.020
_IMPATIENT_AFTER: Final = 0.050
_NOTE_BYTES: Final = 4096
_TAKE: Final = fcntl.LOCK_EX | fcntl.LOCK_NB


class Holder(NamedTuple):
    """Who holds a lock and, where it said so, what for; a field the system does not tell is None."""

    host: str | None
    boot_id: str | None
    pid: int | None
    start_time: int | None
    what: str | None


class Lock:
    """A lock between threads and processes, on one file beneath a root; the file is made once and never removed."""

    def __init__(
        self,
        root: Root,
        name: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Name the lock; its files are opened when it is first taken. `pause` waits the seconds it is given."""
        self._root = root
        self._name = name
        self._clock = clock
        self._pause = pause
        self._thread = threading.Lock()
        self._files: tuple[int, int] | None = None  # the lock's descriptor and the queue's
        self._process = 0
        self._turn_began = float("-inf")
        self._announced = False
        self._owner = 0

    @property
    def mine(self) -> bool:
        """Whether this thread holds the lock."""
        return self._owner == threading.get_ident()

    def acquire(self, deadline_seconds: float, *, announce: str | None = None, code: str = "resource_busy") -> None:
        """Take the lock, or raise `code` naming the holder when it is not free within `deadline_seconds`.

        `announce` is what the holder will say it is doing; it costs two more system calls.
        """
        now = self._clock()
        ends = now + deadline_seconds
        if not self._thread.acquire(blocking=False):
            self._wait(lambda: self._thread.acquire(blocking=False), ends, code, _LONG_PAUSE)
            now = self._clock()
        try:
            self._owner = threading.get_ident()
            if now - self._turn_began >= TURN_SECONDS or not _taken(self._open()[0]):
                self._queue_up(ends, code)
            if announce is not None:
                self._announced = True
                who = own_identity()._asdict() | {"what": announce}
                self._root.note(self._open()[0], json.dumps(who).encode())
        except BaseException:
            self._let_go()
            raise

    def release(self) -> None:
        """Give the lock back; only its holder calls this."""
        if self._files is None or not self._thread.locked():
            message = f"lock {self._name!r} was released without being held"
            raise AssertionError(message)
        if self._announced:
            self._announced = False
            with suppress(CountermarkError):  # a remark that stays is recognised by its dead process
                self._root.note(self._files[0], b"")
        self._let_go()

    def hold(self, deadline_seconds: float, *, announce: str | None = None, code: str = "resource_busy") -> Self:
        """Take the lock now, for a `with` that gives it back; raises as `acquire` does."""
        self.acquire(deadline_seconds, announce=announce, code=code)
        return self

    def __enter__(self) -> None:
        """Enter what `hold` has taken."""

    def __exit__(self, *_: object) -> None:
        """Give the lock back."""
        self.release()

    def holder(self) -> Holder | None:
        """Return who holds the lock, as far as the system and the holder's own remark tell; None when it is free."""
        probe = self._root.open_permanent(self._name)
        try:
            try:
                fcntl.flock(probe, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _holder(probe)
            return None
        finally:
            os.close(probe)

    def close(self) -> None:
        """Give the descriptors back; the lock is free afterwards."""
        if self._files is not None:
            for fd in self._files:
                os.close(fd)
            self._files = None

    def _queue_up(self, ends: float, code: str) -> None:
        while True:
            lock, queue = self._open()
            self._wait(partial(_taken, queue), ends, code, _LONG_PAUSE)
            try:
                self._wait(partial(_taken, lock), ends, code, _SHORT_PAUSE)
            finally:
                fcntl.flock(queue, fcntl.LOCK_UN)
            if os.fstat(lock).st_nlink:
                self._turn_began = self._clock()
                return
            self.close()  # somebody removed the file: what we hold is a lock that no newcomer can see

    def _wait(self, attempt: Callable[[], bool], ends: float, code: str, longest: float) -> None:
        if attempt():
            return
        began = self._clock()
        pause = longest
        while (now := self._clock()) < ends:
            self._pause(min(pause, ends - now))
            if attempt():
                return
            age = (self._clock() - began) / _IMPATIENT_AFTER
            pause = max(_SHORT_PAUSE, longest / (1 + age * age))
        raise self._busy(code)

    def _open(self) -> tuple[int, int]:
        if self._files is None or self._process != os.getpid():
            if self._files is not None:  # a fork: the parent's open files, and with them its locks, stay the parent's
                self.close()
            self._files = (self._root.open_permanent(self._name), self._root.open_permanent(f"{self._name}.queue"))
            self._process = os.getpid()
        return self._files

    def _let_go(self) -> None:
        try:
            if self._files is not None:
                fcntl.flock(self._files[0], fcntl.LOCK_UN)
        finally:
            self._owner = 0
            self._thread.release()

    def _busy(self, code: str) -> CountermarkError:
        holder = self.holder()
        who = "another process"
        if holder is not None and holder.pid is not None:
            who = f"process {holder.pid}" if holder.pid != os.getpid() else "this process itself"
            if holder.host not in (None, os.uname().nodename):
                who += f" on {holder.host}"
        if holder is not None and holder.what:
            who += f" ({holder.what})"
        details: dict[str, Any] = {} if holder is None else {"holder": holder._asdict()}
        return CountermarkError(
            code,
            f"{self._name} is held by {who}.",
            next_action="Wait for it to finish, or stop it, then run the same command again.",
            details=details,
        )


def _taken(fd: int) -> bool:
    try:
        fcntl.flock(fd, _TAKE)
    except BlockingIOError:
        return False
    return True


def _holder(fd: int) -> Holder:
    said = _remark(fd)
    pid = _pid_of_holder(fd)
    if said is not None and pid in (None, said.pid):
        return said
    who = None if pid is None else process_identity(pid)
    return Holder(None, None, pid, None, None) if who is None else Holder(*who, None)


def _remark(fd: int) -> Holder | None:
    try:
        said = json.loads(os.pread(fd, _NOTE_BYTES, 0))
        who = ProcessIdentity(said["host"], said["boot_id"], said["pid"], said["start_time"])
        return None if is_gone(who) else Holder(*who, str(said["what"]))
    except (ValueError, KeyError, TypeError):  # empty, or being written at this moment
        return None


def _pid_of_holder(fd: int) -> int | None:
    # proc_locks(5): "1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF"; a waiting one has "->" before FLOCK.
    at = os.fstat(fd)
    wanted = f"{os.major(at.st_dev):02x}:{os.minor(at.st_dev):02x}:{at.st_ino}"
    with suppress(OSError), open("/proc/locks", encoding="ascii") as table:  # noqa: PTH123 - read only, Linux only
        for line in table:
            fields = line.split()
            if fields[1] == "FLOCK" and fields[5] == wanted and int(fields[4]) > 0:
                return int(fields[4])
    return None
