"""Who a process is, so that a later one can tell whether it is gone: host, boot, number and start time.

A process number alone is reused; with the time it started, in the boot it started in, it names one process for ever.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import struct
import sys
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple


class ProcessIdentity(NamedTuple):
    """One process: host name, boot id, process number, start time (clock ticks since boot; microseconds on macOS)."""

    host: str
    boot_id: str
    pid: int
    start_time: int


def process_identity(pid: int | None = None) -> ProcessIdentity | None:
    """Return the identity of a process (default: this one), or None when it is not running."""
    if pid is None:
        return _own(os.getpid())
    start = _start_time(pid)
    return None if start is None else ProcessIdentity(os.uname().nodename, boot_id(), pid, start)


def own_identity() -> ProcessIdentity:
    """Return the identity of this process."""
    return _own(os.getpid())


def is_gone(who: ProcessIdentity) -> bool:
    """Say whether a process is proven gone; on another host nothing can be proven, so the answer is no."""
    if who.host != os.uname().nodename:
        return False
    return who.boot_id != boot_id() or _start_time(who.pid) != who.start_time


@lru_cache(maxsize=1)
def _own(pid: int) -> ProcessIdentity:  # keyed by the number: a fork is another process
    start = _start_time(pid)
    if start is None:
        message = "this process cannot find itself in the process table"
        raise AssertionError(message)
    return ProcessIdentity(os.uname().nodename, boot_id(), pid, start)


if sys.platform == "linux":

    @lru_cache(maxsize=1)
    def boot_id() -> str:
        """Return the name of this boot of the machine."""
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()

    def _start_time(pid: int) -> int | None:
        try:
            line = Path(f"/proc/{pid}/stat").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return None
        # The command name, in brackets, may hold anything; fields are counted after its end (proc(5)).
        fields = line.rpartition(b")")[2].split()
        state, start = fields[0], fields[19]
        return None if state in (b"Z", b"X") else int(start)

else:
    _BSDINFO: Final = 3  # PROC_PIDTBSDINFO, sys/proc_info.h
    _BSDINFO_SIZE: Final = 136
    _START: Final = struct.Struct("@QQ")  # pbi_start_tvsec, pbi_start_tvusec
    _START_OFFSET: Final = 120
    _libc: Final = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)

    @lru_cache(maxsize=1)
    def boot_id() -> str:
        """Return the name of this boot of the machine."""
        room = ctypes.create_string_buffer(64)
        size = ctypes.c_size_t(len(room))
        if _libc.sysctlbyname(b"kern.bootsessionuuid", room, ctypes.byref(size), None, ctypes.c_size_t(0)) != 0:
            message = "kern.bootsessionuuid is missing on this system"
            raise AssertionError(message)
        return room.value.decode("ascii")

    def _start_time(pid: int) -> int | None:
        room = ctypes.create_string_buffer(_BSDINFO_SIZE)
        got = _libc.proc_pidinfo(pid, _BSDINFO, ctypes.c_uint64(0), room, _BSDINFO_SIZE)
        if got != _BSDINFO_SIZE:
            return None
        seconds, micros = _START.unpack_from(room.raw, _START_OFFSET)
        return int(seconds) * 1_000_000 + int(micros)
