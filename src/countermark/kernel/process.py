"""What still runs of a child: its group and session, and whoever holds its liveness lock.

Nothing here starts or signals anything. Where the system cannot be read the answer is an error, never "gone".
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from countermark.kernel.errors import CountermarkError
from countermark.kernel.identity import own_identity, process_identity

PROC: Final = Path("/proc")
PS_ARGUMENTS: Final = ("-A", "-o", "pid=,pgid=,stat=")
# Fields of /proc/<pid>/stat counted from the state, the first after the program's name (proc(5): 3, 5, 6).
_STATE, _GROUP, _SESSION = 0, 2, 3
_PS_FIELDS: Final = 3


@dataclass(frozen=True, slots=True)
class Identity:
    """One child for as long as the machine runs: it leads the group `pgid`; `start_time` as in `identity`."""

    pid: int
    pgid: int
    boot_id: str
    start_time: int


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the process table; `session` is 0 where the system does not tell."""

    pid: int
    pgid: int
    session: int
    state: str

    @property
    def running(self) -> bool:
        """Whether it can still do something; a zombie has ended and only waits to be counted."""
        return self.state[:1] not in {"Z", "X"}


def identity_of(pid: int) -> Identity | None:
    """Return the identity of a process that leads its own group, or None when it is not running."""
    known = process_identity(pid)
    return None if known is None else Identity(pid, pid, known.boot_id, known.start_time)


def members(identity: Identity, table: Callable[[], Iterator[Row]]) -> tuple[Row, ...]:
    """Return the running processes of the group, and of the session, that `identity` leads or led.

    A surviving member counts when its leader has ended. A running leader with another start time means that the pid
    was given anew; a pid that still names a group or session is never given anew, so the old group is empty.
    """
    if identity.boot_id != own_identity().boot_id:
        return ()
    leader = identity_of(identity.pid)
    if leader is not None and leader != identity:
        return ()
    return tuple(row for row in table() if row.running and identity.pgid in {row.pgid, row.session})


def has_proc() -> bool:
    """Whether this system has a process file system that shows this very process."""
    return (PROC / str(os.getpid()) / "stat").exists()


def rows_from_proc() -> Iterator[Row]:
    """Yield the process table of Linux; a process that ends while it is read is left out."""
    for name in os.listdir(PROC):  # noqa: PTH208 - read in a loop: path objects cost three times as much
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb", buffering=0) as file:  # noqa: PTH123 - likewise
                text = file.read()
        except (FileNotFoundError, ProcessLookupError):
            continue
        # The program's name stands in brackets and may itself hold spaces and brackets.
        fields = text[text.rindex(b")") + 2 :].split(None, _SESSION + 1)
        yield Row(int(name), int(fields[_GROUP]), int(fields[_SESSION]), fields[_STATE].decode("ascii"))


def rows_from_ps(text: str) -> Iterator[Row]:
    """Yield the process table from the output of `ps` with PS_ARGUMENTS (macOS has no /proc)."""
    for line in text.splitlines():
        fields = line.split()
        if len(fields) == _PS_FIELDS:
            yield Row(int(fields[0]), int(fields[1]), 0, fields[2])


def descendants_alive(liveness: int | Path) -> bool:
    """Return whether any process still holds the liveness lock of a child.

    `liveness` is the permanent file, or a descriptor opened afresh on it. The lock stands on the open file, so every
    descendant that inherited the descriptor keeps it, whatever group or session it moved to. A descendant that closed
    all its descriptors is not seen: that is the limit of this witness. The trial is a shared lock, so that two
    observers do not take each other for a descendant.
    """
    descriptor = open_liveness(liveness) if isinstance(liveness, Path) else liveness
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        return False
    finally:
        if isinstance(liveness, Path):
            os.close(descriptor)


def open_liveness(path: Path) -> int:
    """Open a liveness file for locking only; raise `io_failed` when it is not there to be asked."""
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise CountermarkError(
            "io_failed",
            f"The liveness file {path.name} cannot be opened: {error.strerror}.",
            next_action="Restore the workspace's folder of locks; until then its processes count as alive.",
        ) from error


def hold(descriptor: int) -> None:
    """Lock a liveness file for a child to inherit; raise `resource_busy` while an earlier one's descendant lives."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise CountermarkError(
            "resource_busy",
            "A process of an earlier child is still alive: it holds the liveness lock.",
            next_action="Wait for it to end, or end it, and try again.",
        ) from error
    except OSError as error:
        raise CountermarkError(
            "io_failed",
            f"The liveness file cannot be locked: {error.strerror}.",
            next_action="Keep the workspace on a local disk.",
        ) from error


def reopen(descriptor: int) -> int:
    """Open the file behind a descriptor once more, so that a lock on it can be tried independently."""
    if has_proc():
        path = f"/proc/self/fd/{descriptor}"
    else:
        path = fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0").decode()  # type: ignore[attr-defined]
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def holders(descriptor: int) -> tuple[int, ...]:
    """Return the pids, other than this process, that have this file open, as far as Linux lets us see them."""
    wanted = os.fstat(descriptor)
    folders = [folder for folder in PROC.iterdir() if folder.name.isdigit()] if has_proc() else []
    return tuple(sorted(int(one.name) for one in folders if int(one.name) != os.getpid() and _has_open(one, wanted)))


def _has_open(folder: Path, wanted: os.stat_result) -> bool:
    try:
        links = list((folder / "fd").iterdir())
    except OSError:
        return False
    for link in links:
        try:
            one = link.stat()
        except OSError:
            continue
        if (one.st_dev, one.st_ino) == (wanted.st_dev, wanted.st_ino):
            return True
    return False


def pidfd(pid: int) -> int | None:
    """Return a descriptor that becomes ready when a process ends, or None where the system has none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
