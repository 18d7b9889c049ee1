"""Folders and names beneath an opened folder: making, moving, exchanging, removing, and syncing what others wrote.

Every change goes through the `Calls` seam; the system calls themselves are in `countermark.kernel.files`.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar, TypeVarTuple

from countermark.kernel.beneath import FOLDER, Beneath, Opener, not_regular
from countermark.kernel.calls import Calls
from countermark.kernel.errors import CountermarkError
from countermark.kernel.leftover import is_orphan
from countermark.kernel.place import HERE, Doing, disk_error, joined, parts_of, shown

_R = TypeVar("_R")
_Arguments = TypeVarTuple("_Arguments")

# How systems and disks say that they do not know a flag of rename.
_UNKNOWN_TO_THE_DISK: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})


class Folder(Beneath):
    """An opened folder in which names can be made, moved and removed; each change is durable when the call returns."""

    def __init__(self, path: str | os.PathLike[str], *, calls: Calls, opener: Opener | None = None) -> None:
        """Open the folder; every change to it goes through `calls`."""
        super().__init__(path, opener=opener)
        self.calls = calls

    def make_dir(self, name: str, *, mode: int = 0o755) -> None:
        """Make a folder and those above it; one that stands already is kept, and its name made durable."""
        parts = parts_of(name)
        for count in range(1, len(parts) + 1):
            place = "/".join(parts[:count])
            with Doing("making", place), self._parent(place) as (folder, leaf):
                try:
                    self._do(self.calls.mkdir, folder, leaf, mode)
                except FileExistsError:
                    if not stat.S_ISDIR(os.stat(leaf, dir_fd=folder, follow_symlinks=False).st_mode):
                        raise
                else:
                    self._set_mode(folder, leaf, mode)
                # Also when another process made it: that one may have died before it synced.
                self._do(self.calls.fsync, folder)

    def sync(self, name: str = HERE) -> None:
        """Make the names in a folder, or the content of a file, durable, whoever wrote them."""
        with Doing("syncing", name):
            flags = FOLDER if stat.S_ISDIR(self.stat(name).st_mode) else os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
            fd = self._open(name, flags)
            try:
                self._do(self.calls.fsync, fd)
            finally:
                os.close(fd)

    def sync_tree(self, name: str = HERE) -> None:
        """Make a folder and everything in it durable, as children left it; refuse links and special files.

        The folder's own name is its parent's: it becomes durable with `exchange` or `move_new`.
        """
        for entry in self.walk(name):
            if entry.kind not in ("file", "folder"):
                raise not_regular(joined(name, entry.name))
            self.sync(joined(name, entry.name))
        self.sync(name)

    def remove(self, name: str) -> None:
        """Take away a file, or a link itself; raise `not_found` when there is none."""
        with Doing("removing", name), self._parent(name) as (folder, leaf):
            self._do(self.calls.unlink, folder, leaf)
            self._do(self.calls.fsync, folder)

    def remove_tree(self, name: str) -> None:
        """Take away whatever stands at a name with everything in it; links are removed, never followed.

        Interrupted half-way it leaves a part; call it again. Nothing at the name is no error.
        """
        if not self.exists(name):
            return
        if stat.S_ISDIR(self.stat(name).st_mode):
            for entry in reversed(list(self.walk(name))):
                self._remove_one(joined(name, entry.name), folder=entry.kind == "folder")
            self._remove_one(name, folder=True)
        else:
            self._remove_one(name, folder=False)
        with Doing("removing", name), self._parent(name) as (above, _):
            self._do(self.calls.fsync, above)

    def exchange(self, one: str, other: str) -> None:
        """Let two files, or two folders, change places in one step; both must exist, on one device.

        Raises `part_unavailable` where the disk cannot do it. A failed sync is undone before it is raised.
        """
        for name in (one, other):
            self._file_or_folder(name)
        with Doing("exchanging", one), self._parent(one) as (folder, leaf), self._parent(other) as (folder_2, leaf_2):
            try:
                self._do(self.calls.exchange, folder, leaf, folder_2, leaf_2)
            except OSError as error:
                raise _not_offered(error, "exchange two names", other) from error
            try:
                self._sync_both(folder, folder_2)
            except BaseException:
                with suppress(OSError):
                    self._do(self.calls.exchange, folder, leaf, folder_2, leaf_2)
                raise

    def move_new(self, name: str, new_name: str) -> None:
        """Move a file or folder to a name that does not exist, in one step; raise `output_exists` when it does.

        Raises `part_unavailable` for a folder where the disk cannot do it. A failed sync is undone before it is raised.
        """
        self._file_or_folder(name)
        with (
            Doing("moving", name),
            self._parent(name) as (folder, leaf),
            self._parent(new_name) as (new_folder, new_leaf),
        ):
            try:
                self._move_new(folder, leaf, new_folder, new_leaf)
            except FileExistsError as error:
                raise disk_error(error, new_name, "writing") from error
            except OSError as error:
                raise _not_offered(error, "move a folder without overwriting", new_name) from error
            try:
                self._sync_both(folder, new_folder)
            except BaseException:
                with suppress(OSError):
                    self._move_new(new_folder, new_leaf, folder, leaf)
                raise

    def sweep_temp(self, name: str = HERE, *, orphan: Callable[[str], bool] = is_orphan) -> list[str]:
        """Remove the temporary files that a crash left beneath a folder; return their names.

        Only those whose maker is proven gone: a living process may still need its own.
        """
        left = [entry.name for entry in self.walk(name) if orphan(entry.name.rpartition("/")[2])]
        for found in left:
            with suppress(CountermarkError):  # another process may sweep at the same time
                self.remove(joined(name, found))
        return left

    def _do(self, call: Callable[[*_Arguments], _R], *arguments: *_Arguments) -> _R:
        # A signal may interrupt any call before it had an effect.
        while True:
            try:
                return call(*arguments)
            except InterruptedError:
                continue

    def _set_mode(self, folder: int, leaf: str, mode: int) -> None:
        fd = self._open_beneath(folder, leaf, FOLDER)
        try:
            self._do(self.calls.chmod, fd, mode)
        finally:
            os.close(fd)

    def _remove_one(self, name: str, *, folder: bool) -> None:
        with Doing("removing", name), self._parent(name) as (above, leaf):
            self._do(self.calls.rmdir if folder else self.calls.unlink, above, leaf)

    def _move_new(self, folder: int, leaf: str, new_folder: int, new_leaf: str) -> None:
        try:
            self._do(self.calls.rename_new, folder, leaf, new_folder, new_leaf)
        except OSError as error:
            found = os.stat(leaf, dir_fd=folder, follow_symlinks=False)
            if error.errno not in _UNKNOWN_TO_THE_DISK or not stat.S_ISREG(found.st_mode):
                raise
            self._do(self.calls.link, folder, leaf, new_folder, new_leaf)
            self._do(self.calls.unlink, folder, leaf)

    def _sync_both(self, folder: int, other: int) -> None:
        self._do(self.calls.fsync, folder)
        if not os.path.sameopenfile(folder, other):
            self._do(self.calls.fsync, other)

    def _file_or_folder(self, name: str) -> None:
        kind = self.stat(name).st_mode
        if not stat.S_ISDIR(kind) and not stat.S_ISREG(kind):
            raise not_regular(name)


def _not_offered(error: OSError, what: str, place: str) -> Exception:
    if error.errno not in _UNKNOWN_TO_THE_DISK:
        return error
    return CountermarkError(
        "part_unavailable",
        f"The disk that holds {shown(place)} cannot {what} in one step.",
        next_action="Move the workspace to a local disk (ext4, xfs, btrfs, APFS).",
        details={"place": shown(place)},
    )
