"""Writing beneath an opened folder: the only module that creates, writes, syncs, moves or removes anything.

What a caller was told is done stands after a power loss; what it was not told is done is either there whole or not at
all. Nothing is ever half written under its own name: content is written under a temporary name in the same folder,
synced, moved, and the folder is synced (design §4, Files).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import functools
import hashlib
import os
import stat
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Concatenate, Final, ParamSpec, TypeVar

from countermark.kernel.beneath import Entry, Opener, TreeFile, blocks, not_regular, open_argument, regular
from countermark.kernel.calls import OPERATIONS, POINTS, Calls
from countermark.kernel.errors import CountermarkError
from countermark.kernel.folder import Folder
from countermark.kernel.leftover import TEMP_PREFIX, temporary_name
from countermark.kernel.place import Doing, joined, shown
from countermark.kernel.points import reach

__all__ = ["OPERATIONS", "POINTS", "TEMP_PREFIX", "Calls", "Entry", "OsCalls", "Root", "TreeFile", "open_argument"]

_P = ParamSpec("_P")
_R = TypeVar("_R")

_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_THERE: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PERMISSIONS: Final = 0o7777
# linux/fs.h RENAME_NOREPLACE, RENAME_EXCHANGE; macOS sys/stdio.h RENAME_EXCL, RENAME_SWAP
_NOREPLACE, _EXCHANGE = (4, 2) if sys.platform == "darwin" else (1, 2)
# How disks say that they keep no second name for a file (EPERM: FAT and its kin, link(2)).
_NO_LINKS: Final = frozenset({errno.EPERM, errno.EMLINK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})

_libc = ctypes.CDLL(None, use_errno=True)


def _passing(
    call: Callable[Concatenate[OsCalls, _P], _R],
) -> Callable[Concatenate[OsCalls, _P], _R]:
    before, after = f"files.{call.__name__}.before", f"files.{call.__name__}.after"

    @functools.wraps(call)
    def passed(self: OsCalls, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        reach(before)
        result = call(self, *args, **kwargs)
        reach(after)
        return result

    return passed


def _flagged_rename(folder: int, name: str, new_folder: int, new_name: str, flag: int) -> None:
    # Not in the standard library: renameat2(2) on Linux, renameatx_np(2) on macOS, the same arguments in both.
    call = getattr(_libc, "renameatx_np" if sys.platform == "darwin" else "renameat2", None)
    number = errno.ENOSYS
    if call is not None:
        if call(folder, os.fsencode(name), new_folder, os.fsencode(new_name), ctypes.c_uint(flag)) == 0:
            return
        number = ctypes.get_errno()
    raise OSError(number, os.strerror(number), name)


class OsCalls:
    """The real system calls, each between its two points."""

    @_passing
    def open(self, folder: int, name: str, flags: int, mode: int) -> int:
        """Open a file for writing, or make it."""
        return os.open(name, flags, mode, dir_fd=folder)

    @_passing
    def write(self, fd: int, data: memoryview) -> int:
        """Write some of the data."""
        return os.write(fd, data)

    @_passing
    def truncate(self, fd: int, size: int) -> None:
        """Set a file's size."""
        os.ftruncate(fd, size)

    @_passing
    def allocate(self, fd: int, size: int) -> None:
        """Allocate for real; where the system has no such call, by writing zeros."""
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(fd, 0, size)
            return
        zeros = bytes(1 << 20)
        at = 0
        while at < size:
            at += os.pwrite(fd, zeros[: size - at], at)

    @_passing
    def chmod(self, fd: int, mode: int) -> None:
        """Set permission bits."""
        os.fchmod(fd, mode)

    @_passing
    def fsync(self, fd: int) -> None:
        """Sync to the medium, on macOS past the drive's own cache too."""
        if sys.platform == "darwin":
            with suppress(OSError):  # some network disks do not know it; the plain call below is what they have
                fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
                return
        os.fsync(fd)

    @_passing
    def rename(self, folder: int, name: str, new_folder: int, new_name: str) -> None:
        """Move over."""
        os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=new_folder)

    @_passing
    def rename_new(self, folder: int, name: str, new_folder: int, new_name: str) -> None:
        """Move to a new name only."""
        _flagged_rename(folder, name, new_folder, new_name, _NOREPLACE)

    @_passing
    def exchange(self, folder: int, name: str, other_folder: int, other_name: str) -> None:
        """Swap."""
        _flagged_rename(folder, name, other_folder, other_name, _EXCHANGE)

    @_passing
    def link(self, folder: int, name: str, new_folder: int, new_name: str) -> None:
        """Name twice."""
        os.link(name, new_name, src_dir_fd=folder, dst_dir_fd=new_folder, follow_symlinks=False)

    @_passing
    def unlink(self, folder: int, name: str) -> None:
        """Unname."""
        os.unlink(name, dir_fd=folder)

    @_passing
    def mkdir(self, folder: int, name: str, mode: int) -> None:
        """Make a folder."""
        os.mkdir(name, mode, dir_fd=folder)

    @_passing
    def rmdir(self, folder: int, name: str) -> None:
        """Remove an empty folder."""
        os.rmdir(name, dir_fd=folder)


class Root(Folder):
    """An opened folder for reading and writing; every name is relative, and no link is ever followed.

    Raises `disk_full`, `disk_read_only`, `path_escape`, `not_found`, `output_exists`, `not_a_regular_file` and
    `io_failed`, each naming the place. After a refusal or a failure, what stood there before stands there still.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, calls: Calls | None = None, opener: Opener | None = None
    ) -> None:
        """Open the folder; `calls` stands for the system, by default the real one."""
        super().__init__(path, calls=calls or OsCalls(), opener=opener)

    def create(self, name: str, data: bytes, *, mode: int = 0o644) -> str:
        """Write a new file, durable and whole; return its SHA-256 in hexadecimal, or raise `output_exists`."""
        return self._create(name, (data,), mode, None)

    def copy_in(self, name: str, source_fd: int, cap: int, *, expected: str | None = None, mode: int = 0o644) -> str:
        """Write a new file from the rest of a descriptor, in blocks; return its SHA-256 in hexadecimal.

        Raises `input_too_large` past `cap` bytes, `artifact_invalid` when the SHA-256 is not the `expected` one, and
        `output_exists`.
        """
        return self._create(name, blocks(source_fd, cap, name), mode, expected)

    def write_temporary(self, source_fd: int, cap: int, *, mode: int = 0o644) -> tuple[str, str]:
        """Write the rest of a descriptor under a temporary name; return that name and the SHA-256.

        For content whose digest decides its name: the caller moves it, or discards it. Raises `input_too_large`.
        """
        with Doing("writing", "a new file"):
            return self._write_temporary(self.fd, blocks(source_fd, cap, "the input"), mode)

    def discard(self, temporary: str) -> None:
        """Take a temporary file away if it is still there; nothing depends on its going, so nothing is synced."""
        self._discard(self.fd, temporary)

    def replace(
        self, name: str, data: bytes, *, mode: int | None = None, guard: Callable[[], None] | None = None
    ) -> str:
        """Put new content in place of old, or where nothing was, atomically; return its SHA-256 in hexadecimal.

        Temporary file, sync, rename, folder sync, read-back. When what is read back is not what was written, or the
        sync fails, the old content is put back and `io_failed` raised. Without `mode` a file keeps its own. `guard` is
        called last before the rename, and whatever it raises leaves everything as it was.
        """
        with Doing("writing", name), self._parent(name) as (folder, leaf):
            old = self._regular_or_absent(folder, leaf, name)
            if mode is None:
                mode = 0o644 if old is None else stat.S_IMODE(old.st_mode)
            temporary, sha256 = self._write_temporary(folder, (data,), mode)
            kept = None
            try:
                kept = None if old is None else self._keep(folder, leaf, name)
                if guard is not None:
                    guard()
                self._do(self.calls.rename, folder, temporary, folder, leaf)
            except BaseException:
                self._discard(folder, temporary, kept)
                raise
            try:
                self._do(self.calls.fsync, folder)
                self._read_back(name, sha256)
            except BaseException as error:
                self._put_back(folder, leaf, kept, name, error)
                raise
            self._discard(folder, kept)
        return sha256

    def append(self, name: str, data: bytes) -> None:
        """Add to the end of a file, making it when missing, and sync; a failure leaves the file as it was.

        The caller holds the lock that makes it the only writer. A power loss during the call may leave a part of
        `data` at the end, never a change before it.
        """
        with Doing("writing", name), self._parent(name) as (folder, leaf):
            fd, made = self._open_or_make(folder, leaf, name, mode=0o644)
            try:
                size = os.lseek(fd, 0, os.SEEK_END)
                try:
                    self._write_all(fd, data)
                    self._do(self.calls.fsync, fd)
                    if size == 0:  # perhaps made just now, perhaps by a process that died before it synced the name
                        self._do(self.calls.fsync, folder)
                except BaseException:
                    self._take_back(fd, size, folder, leaf if made else None)
                    raise
            finally:
                os.close(fd)

    def reserve(self, name: str, size: int) -> None:
        """Hold `size` bytes of the disk under a name until it is removed; raise `disk_full` when they are not there."""
        with Doing("reserving space for", name), self._parent(name) as (folder, leaf):
            fd, made = self._open_or_make(folder, leaf, name, mode=0o644)
            try:
                before = os.fstat(fd).st_size
                try:
                    if size:
                        self._do(self.calls.allocate, fd, size)
                    self._do(self.calls.truncate, fd, size)
                    self._do(self.calls.fsync, fd)
                    self._do(self.calls.fsync, folder)
                except BaseException:
                    self._take_back(fd, before, folder, leaf if made else None)
                    raise
            finally:
                os.close(fd)

    def open_permanent(self, name: str) -> int:
        """Return a descriptor for a file that is made when missing and then stays for ever, as a lock file does."""
        with Doing("writing", name), self._parent(name) as (folder, leaf):
            return self._open_or_make(folder, leaf, name, mode=0o600)[0]

    def note(self, fd: int, data: bytes) -> None:
        """Put a short passing remark into an open permanent file, without any sync."""
        with Doing("writing", "a lock file"):
            self._do(self.calls.truncate, fd, 0)
            os.lseek(fd, 0, os.SEEK_SET)
            self._write_all(fd, data)

    def _create(self, name: str, content: Iterable[bytes], mode: int, expected: str | None) -> str:
        with Doing("writing", name), self._parent(name) as (folder, leaf):
            temporary, sha256 = self._write_temporary(folder, content, mode)
            try:
                _require(expected, sha256, name)
                self._move_new(folder, temporary, folder, leaf)
            except BaseException:
                self._discard(folder, temporary)
                raise
            try:
                self._do(self.calls.fsync, folder)
            except BaseException:
                self._discard(folder, leaf)
                raise
        return sha256

    def _write_temporary(
        self, folder: int, content: Iterable[bytes], mode: int, *, durable: bool = True
    ) -> tuple[str, str]:
        temporary = temporary_name()
        fd = self._do(self.calls.open, folder, temporary, _NEW, mode & _PERMISSIONS)
        seen = hashlib.sha256()
        try:
            try:
                for block in content:
                    seen.update(block)
                    self._write_all(fd, block)
                self._do(self.calls.chmod, fd, mode)
                if durable:
                    self._do(self.calls.fsync, fd)
            finally:
                os.close(fd)
        except BaseException:
            self._discard(folder, temporary)
            raise
        return temporary, seen.hexdigest()

    def _write_all(self, fd: int, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[self._do(self.calls.write, fd, left) :]

    def _open_or_make(self, folder: int, leaf: str, name: str, *, mode: int) -> tuple[int, bool]:
        while True:
            with suppress(FileNotFoundError):
                return regular(self._do(self.calls.open, folder, leaf, _THERE, 0), name), False
            with suppress(FileExistsError):  # another process made it between the two
                fd = self._do(self.calls.open, folder, leaf, _NEW, mode)
                break
        try:
            self._do(self.calls.chmod, fd, mode)
        except BaseException:
            os.close(fd)
            self._discard(folder, leaf)
            raise
        return fd, True

    def _take_back(self, fd: int, size: int, folder: int, made: str | None) -> None:
        with suppress(OSError):
            self._do(self.calls.truncate, fd, size)
        self._discard(folder, made)

    def _regular_or_absent(self, folder: int, leaf: str, name: str) -> os.stat_result | None:
        try:
            found = os.stat(leaf, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(found.st_mode):
            raise not_regular(name)
        return found

    def _keep(self, folder: int, leaf: str, name: str) -> str:
        # A second name for the old content: putting it back is one rename and needs no free space.
        kept = temporary_name()
        try:
            self._do(self.calls.link, folder, leaf, folder, kept)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            fd = self.open_regular(name)
            try:
                old = os.fstat(fd)
                return self._write_temporary(folder, blocks(fd, old.st_size, name), stat.S_IMODE(old.st_mode))[0]
            finally:
                os.close(fd)
        return kept

    def _read_back(self, name: str, sha256: str) -> None:
        found = self.digest(name)
        if found != sha256:
            raise CountermarkError(
                "io_failed",
                f"{shown(name)} did not read back as it was written; the content before it was put back.",
                next_action="Check the disk, then run the same command again.",
                details={"written": sha256, "read": found},
            )

    def _put_back(self, folder: int, leaf: str, kept: str | None, name: str, error: BaseException) -> None:
        try:
            if kept is None:
                self._do(self.calls.unlink, folder, leaf)
            else:
                self._do(self.calls.rename, folder, kept, folder, leaf)
            self._do(self.calls.fsync, folder)
        except OSError as second:
            place = joined(name.rpartition("/")[0], kept or leaf)
            raise CountermarkError(
                "io_failed",
                f"Writing {shown(name)} failed, and its old content could not be put back for certain: {second}.",
                next_action=f"Look at {shown(name)}; its old content is in {shown(place)} if that is still there.",
                details={"place": shown(name), "kept": shown(place)},
            ) from error

    def _discard(self, folder: int, *names: str | None) -> None:
        for name in names:
            if name is not None:
                with suppress(OSError):
                    self._do(self.calls.unlink, folder, name)


def _require(expected: str | None, sha256: str, name: str) -> None:
    if expected not in {None, sha256}:
        raise CountermarkError(
            "artifact_invalid",
            f"The content for {shown(name)} has the digest {sha256}, not {expected}.",
            next_action="Make the artifact again; this one is not what was recorded.",
            details={"expected": expected, "found": sha256},
        )
