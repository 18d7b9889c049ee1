"""Reading beneath an opened folder: nothing outside it can be reached, whatever a name or a link says.

Linux's `openat2` resolves the whole name inside the system, so no check can be raced (research kernel §4.1). Where it
is missing, every component is opened in turn with O_NOFOLLOW from its parent's descriptor.
"""

from __future__ import annotations

import copy
import ctypes
import errno
import hashlib
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Literal, NamedTuple, Self

from countermark.kernel.canon import ABSENT, SHA256_PREFIX, digest
from countermark.kernel.errors import CountermarkError
from countermark.kernel.place import HERE, Doing, disk_error, joined, parts_of, shown

Opener = Callable[[int, str, int], int]
"""Opens (folder descriptor, relative name, flags) without ever leaving the folder or following a link."""

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# O_NONBLOCK: opening a FIFO returns at once, so that it can be refused instead of waited for.
_REGULAR: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_BLOCK: Final = 1 << 20

_SYS_OPENAT2: Final = 437  # the same number on x86-64, aarch64 and riscv64
_RESOLVE: Final = 0x02 | 0x04 | 0x08  # NO_MAGICLINKS | NO_SYMLINKS | BENEATH, linux/openat2.h
_RACED: Final = 64  # openat2 answers EAGAIN when a rename elsewhere disturbed it


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def open_by_openat2(folder: int, name: str, flags: int) -> int:
    """Open a name beneath a folder in one system call; raise OSError, ELOOP for every escape and link."""
    how = _OpenHow(flags | os.O_CLOEXEC, 0, _RESOLVE)
    path = os.fsencode(name)
    for _ in range(_RACED):
        opened = int(
            _libc.syscall(
                ctypes.c_long(_SYS_OPENAT2),
                ctypes.c_int(folder),
                ctypes.c_char_p(path),
                ctypes.byref(how),
                ctypes.c_size_t(ctypes.sizeof(how)),
            )
        )
        if opened >= 0:
            return opened
        number = ctypes.get_errno()
        if number not in {errno.EAGAIN, errno.EINTR}:
            break
    if number == errno.EXDEV:  # how openat2 says "outside"
        number = errno.ELOOP
    raise OSError(number, os.strerror(number), name)


def open_by_walk(folder: int, name: str, flags: int) -> int:
    """Open a name beneath a folder one component at a time; raise OSError, ELOOP for every escape and link."""
    parts = name.split("/")
    if name.startswith("/") or ".." in parts:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
    here = folder
    try:
        for part in parts[:-1]:
            deeper = _step(here, part, FOLDER)
            if here != folder:
                os.close(here)
            here = deeper
        return _step(here, parts[-1], flags)
    finally:
        if here != folder:
            os.close(here)


def _step(folder: int, part: str, flags: int) -> int:
    try:
        return os.open(part, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except NotADirectoryError:
        # With O_DIRECTORY the system says "not a directory" of a link too.
        if stat.S_ISLNK(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), part) from None
        raise


def best_opener() -> Opener:
    """Return `open_by_openat2` where this system has it (Linux 5.6, not filtered), else `open_by_walk`."""
    if sys.platform != "linux":
        return open_by_walk
    here = os.open(HERE, FOLDER)
    try:
        os.close(open_by_openat2(here, HERE, FOLDER))
    except OSError:
        return open_by_walk
    finally:
        os.close(here)
    return open_by_openat2


_opener: Final = best_opener()


class Entry(NamedTuple):
    """One name in a folder: its relative name, and what stands there (links are never followed)."""

    name: str
    kind: Literal["file", "folder", "link", "other"]


class TreeFile(NamedTuple):
    """One file of a tree: its name relative to the tree's top, its size in bytes, its SHA-256 in hexadecimal."""

    path: str
    size: int
    sha256: str


class Beneath:
    """An opened folder for reading; names are relative to it, `.` is the folder itself.

    The path of the folder itself is the caller's own and may lead through links; raises `not_found` when it is missing.
    """

    def __init__(self, path: str | os.PathLike[str], *, opener: Opener | None = None) -> None:
        """Open the folder; `opener` is the way names are resolved, by default the best this system has."""
        self.path = os.fspath(path)
        self._open_beneath = opener or _opener
        with Doing("reading", self.path):
            self.fd = os.open(self.path, FOLDER)

    def close(self) -> None:
        """Give the folder's descriptor back; a second close does nothing."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def inside(self, name: str) -> Self:
        """Return a folder beneath as one of its own kind, over the same calls; the caller closes it."""
        with Doing("reading", name):
            fd = self._open(name, FOLDER)
        inner = copy.copy(self)
        inner.fd, inner.path = fd, os.path.join(self.path, name)  # noqa: PTH118 - text for messages
        return inner

    def __enter__(self) -> Self:
        """Return this folder, closed at the end of the `with`."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def open_regular(self, name: str) -> int:
        """Return a descriptor for reading a regular file; raise `not_a_regular_file` for anything else, at once."""
        with Doing("reading", name):
            return regular(self._open(name, _REGULAR), name)

    def read(self, name: str, *, cap: int) -> bytes:
        """Return a file's bytes; raise `input_too_large` past `cap` bytes, however the file grows meanwhile."""
        fd = self.open_regular(name)
        try:
            with Doing("reading", name):
                return b"".join(blocks(fd, cap, name))
        finally:
            os.close(fd)

    def digest(self, name: str) -> str:
        """Return the hexadecimal SHA-256 of a regular file, read in blocks."""
        return self._measure(name)[1]

    def stat(self, name: str) -> os.stat_result:
        """Return what stands at a name, a link as the link; raise `not_found` when nothing does."""
        with Doing("reading", name):
            if name == HERE:
                return os.fstat(self.fd)
            if "/" not in name and parts_of(name):
                return os.stat(name, dir_fd=self.fd, follow_symlinks=False)
            with self._parent(name) as (folder, leaf):
                return os.stat(leaf, dir_fd=folder, follow_symlinks=False)

    def exists(self, name: str) -> bool:
        """Say whether anything stands at a name, a dangling link included."""
        try:
            self.stat(name)
        except CountermarkError as error:
            if error.code == "not_found":
                return False
            raise
        return True

    def listing(self, name: str = HERE) -> list[Entry]:
        """Return the entries of a folder, sorted by name."""
        with Doing("reading", name):
            fd = self._open(name, FOLDER)
            try:
                with os.scandir(fd) as found:
                    return sorted(Entry(entry.name, _kind(entry)) for entry in found)
            finally:
                os.close(fd)

    def walk(self, name: str = HERE) -> Iterator[Entry]:
        """Yield everything beneath a folder, names relative to it, each folder before what it holds."""
        waiting = [HERE]
        while waiting:
            folder = waiting.pop()
            for entry in self.listing(name if folder == HERE else joined(name, folder)):
                inner = Entry(joined(folder, entry.name), entry.kind)
                yield inner
                if inner.kind == "folder":
                    waiting.append(inner.name)

    def tree(self, name: str = HERE) -> list[TreeFile]:
        """Return every file beneath a folder, sorted; raise `not_a_regular_file` for a link, FIFO, device, socket."""
        return self._tree(name)[0]

    def tree_revision(self, name: str = HERE, *, ignoring: frozenset[str] = frozenset()) -> str:
        """Return `sha256:` of the manifest of a folder's files and folders, or `absent`.

        `ignoring` holds names relative to the folder. Times, owners and modes do not count: they are not content.
        """
        if name != HERE and not self.exists(name):
            return ABSENT
        files, folders = self._tree(name)
        manifest = {
            "files": [[file.path, file.size, file.sha256] for file in files if file.path not in ignoring],
            "folders": [folder for folder in folders if folder not in ignoring],
        }
        return SHA256_PREFIX + digest(manifest)

    def revision(self, name: str) -> str:
        """Return the revision of what stands at a name: `absent`, a file's content, or a folder's manifest."""
        if not self.exists(name):
            return ABSENT
        if stat.S_ISDIR(self.stat(name).st_mode):
            return self.tree_revision(name)
        return SHA256_PREFIX + self.digest(name)

    def same_device(self, one: str, other: str) -> bool:
        """Say whether two places are on one device, so that a move between them is a rename; both must exist."""
        return self.stat(one).st_dev == self.stat(other).st_dev

    def free_bytes(self) -> int:
        """Return how many bytes this user can still write on the folder's device."""
        with Doing("reading", HERE):
            disk = os.fstatvfs(self.fd)
        return disk.f_bavail * disk.f_frsize

    def _tree(self, name: str) -> tuple[list[TreeFile], list[str]]:
        files: list[TreeFile] = []
        folders: list[str] = []
        for entry in self.walk(name):
            place = joined(name, entry.name)
            if entry.kind == "folder":
                folders.append(entry.name)
            elif entry.kind == "file":
                size, sha256 = self._measure(place)
                files.append(TreeFile(entry.name, size, sha256))
            else:
                raise not_regular(place)
        return sorted(files), sorted(folders)

    def _measure(self, name: str) -> tuple[int, str]:
        fd = self.open_regular(name)
        try:
            with Doing("reading", name):
                seen = hashlib.sha256()
                size = 0
                while block := os.read(fd, _BLOCK):
                    seen.update(block)
                    size += len(block)
                return size, seen.hexdigest()
        finally:
            os.close(fd)

    def _open(self, name: str, flags: int) -> int:
        if name == HERE:
            return os.open(HERE, flags, dir_fd=self.fd)
        return self._open_beneath(self.fd, "/".join(parts_of(name)), flags)

    @contextmanager
    def _parent(self, name: str) -> Iterator[tuple[int, str]]:
        *above, leaf = parts_of(name)
        if not above:
            yield self.fd, leaf
            return
        fd = self._open_beneath(self.fd, "/".join(above), FOLDER)
        try:
            yield fd, leaf
        finally:
            os.close(fd)


def open_argument(path: str, cap: int) -> bytes:
    """Return the bytes of the regular file that a person named on a command line, opened once.

    Raises `not_a_regular_file` (folder, FIFO, device, socket, symbolic link, dangling or not), `not_found`,
    `input_too_large` past `cap` bytes. Everything is decided on the descriptor, so nothing can be swapped between.
    """
    try:
        fd = os.open(path, _REGULAR | os.O_NOFOLLOW)
    except ValueError as error:
        raise CountermarkError(
            "input_invalid", f"{shown(path)} is not a path.", next_action="Name a file on this machine."
        ) from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise not_regular(path) from error
        raise disk_error(error, path, "reading") from error
    fd = regular(fd, path)
    try:
        with Doing("reading", path):
            return b"".join(blocks(fd, cap, path))
    finally:
        os.close(fd)


def regular(fd: int, place: str) -> int:
    """Return a descriptor if it is a regular file's; else close it and raise `not_a_regular_file`."""
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise not_regular(place)


def not_regular(place: str) -> CountermarkError:
    """Return the refusal of whatever is not a regular file."""
    return CountermarkError(
        "not_a_regular_file",
        f"{shown(place)} is not a regular file.",
        next_action="Name a file itself: no folder, link, pipe, socket or device.",
        details={"place": shown(place)},
    )


def blocks(fd: int, cap: int, place: str) -> Iterator[bytes]:
    """Yield the rest of a descriptor in blocks; raise `input_too_large` as soon as more than `cap` bytes came."""
    left = cap
    while block := os.read(fd, min(_BLOCK, left + 1)):
        left -= len(block)
        if left < 0:
            raise CountermarkError(
                "input_too_large",
                f"{shown(place)} is larger than {cap} bytes.",
                next_action="Use a smaller file, or raise the limit.",
                details={"place": shown(place), "cap": cap},
            )
        yield block


def _kind(entry: os.DirEntry[str]) -> Literal["file", "folder", "link", "other"]:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"
