"""Files that are kept beside others: second names for old content, passing tokens, records that can be rebuilt.

For a domain whose own store is the authority and that counts its syncs: what is durable says so, and what is not can be
rebuilt from something that is.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, Self

from countermark.kernel.beneath import FOLDER, Opener, open_by_walk
from countermark.kernel.calls import Calls
from countermark.kernel.files import Root
from countermark.kernel.leftover import temporary_name
from countermark.kernel.place import HERE, Doing, disk_error, parts_of

_NO_LINKS: Final = frozenset({errno.EPERM, errno.EMLINK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EXDEV})


class KeptRoot(Root):
    """An opened folder whose files may get second names; raises as `Root` does.

    Folders beneath it that were opened once stay open, and each use makes sure that they still stand where they stood:
    a look costs a tenth of an opening, and a save has thirty.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, calls: Calls | None = None, opener: Opener | None = None
    ) -> None:
        """Open the folder; as `Root`."""
        super().__init__(path, calls=calls, opener=opener)
        self._folders: dict[str, tuple[int, int, int]] = {}
        self._left: list[int] = []  # descriptors of folders that stand there no more; a thread may still use one

    def close(self) -> None:
        """Give every descriptor back."""
        for fd in [*self._left, *(fd for fd, _, _ in self._folders.values())]:
            os.close(fd)
        self._left.clear()
        self._folders.clear()
        super().close()

    def inside(self, name: str) -> Self:
        """Return a folder beneath as one of its own kind; the caller closes it."""
        inner = super().inside(name)
        inner._folders, inner._left = {}, []  # noqa: SLF001 - its own
        return inner

    def keep(self, name: str, new_name: str) -> None:
        """Give a file's content a second name, durable when the call returns; raise `output_exists` if it is taken.

        Costs no space. A file that has other names already, which somebody may write through, is copied instead, and so
        is every file on a disk that knows no second names.
        """
        if self.stat(name).st_nlink == 1:
            with Doing("keeping", name), self._parent(name) as (folder, leaf), self._parent(new_name) as (to, new_leaf):
                try:
                    self._do(self.calls.link, folder, leaf, to, new_leaf)
                except FileExistsError as error:
                    raise disk_error(error, new_name, "writing") from error
                except OSError as error:
                    if error.errno not in _NO_LINKS:
                        raise
                else:
                    try:
                        self._do(self.calls.fsync, to)
                    except BaseException:
                        self._discard(to, new_leaf)
                        raise
                    return
        fd = self.open_regular(name)
        try:
            self.copy_in(new_name, fd, os.fstat(fd).st_size)
        finally:
            os.close(fd)

    def put_back(self, kept: str, name: str) -> None:
        """Put the content that has a second name in place of what stands at a name; needs no space, and is durable."""
        with Doing("putting back", name), self._parent(kept) as (source, leaf_kept), self._parent(name) as (to, leaf):
            temporary = temporary_name()
            try:
                self._do(self.calls.link, source, leaf_kept, to, temporary)
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                self.replace(name, self.read(kept, cap=self.stat(kept).st_size))
                return
            try:
                self._do(self.calls.rename, to, temporary, to, leaf)
            except BaseException:
                self._discard(to, temporary)
                raise
            self._discard(to, temporary)  # a rename between two names of one file does nothing, and leaves both
            self._do(self.calls.fsync, to)

    def claim(self, name: str, data: bytes) -> None:
        """Make a passing file with its content in one step; raise `output_exists` when the name is taken. No sync."""
        with Doing("writing", name), self._parent(name) as (folder, leaf):
            temporary, _ = self._write_temporary(folder, (data,), 0o644, durable=False)
            try:
                self._move_new(folder, temporary, folder, leaf)
            except BaseException:
                self._discard(folder, temporary)
                raise

    def release(self, name: str) -> None:
        """Take a passing file away if it is there; no sync."""
        with Doing("removing", name), self._parent(name) as (folder, leaf), suppress(FileNotFoundError):
            self._do(self.calls.unlink, folder, leaf)

    def release_dir(self, name: str) -> None:
        """Take an empty folder away; raise `output_exists` when it holds anything. No sync."""
        with Doing("removing", name), self._parent(name) as (folder, leaf):
            self._do(self.calls.rmdir, folder, leaf)

    def put_passing(self, name: str, data: bytes) -> None:
        """Put content in place of old in one step, without any sync: for what can be rebuilt after a power loss."""
        with Doing("writing", name), self._parent(name) as (folder, leaf):
            temporary, _ = self._write_temporary(folder, (data,), 0o644, durable=False)
            try:
                self._do(self.calls.rename, folder, temporary, folder, leaf)
            except BaseException:
                self._discard(folder, temporary)
                raise

    def overwrite(self, name: str, data: bytes) -> None:
        """Write a record over the one before, in place, durable when the call returns: one sync.

        A crash meanwhile leaves a mixture of both: the record itself has to show that it is whole, and the caller keeps
        another one that is.
        """
        with Doing("writing", name), self._parent(name) as (folder, leaf):
            fd, made = self._open_or_make(folder, leaf, name, mode=0o644)
            try:
                size = os.fstat(fd).st_size
                self._write_all(fd, data)
                if size > len(data):
                    self._do(self.calls.truncate, fd, len(data))
                self._do(self.calls.fsync, fd)
                if made or size == 0:
                    self._do(self.calls.fsync, folder)
            finally:
                os.close(fd)

    def _open(self, name: str, flags: int) -> int:
        if name == HERE:
            return super()._open(name, flags)
        with self._parent(name) as (folder, leaf):
            return open_by_walk(folder, leaf, flags)

    @contextmanager
    def _parent(self, name: str) -> Iterator[tuple[int, str]]:
        *above, leaf = parts_of(name)
        yield (self._folder("/".join(above)) if above else self.fd), leaf

    def _folder(self, path: str) -> int:
        known = self._folders.get(path)
        if known is not None:
            # The same inode is the same folder, by whatever way the name leads there now.
            with suppress(OSError):
                found = os.stat(path, dir_fd=self.fd, follow_symlinks=False)
                if (found.st_dev, found.st_ino) == known[1:]:
                    return known[0]
            if self._folders.pop(path, None) is known:
                self._left.append(known[0])
        fd = self._open_beneath(self.fd, path, FOLDER)
        seen = os.fstat(fd)
        kept = self._folders.setdefault(path, (fd, seen.st_dev, seen.st_ino))
        if kept[0] != fd:  # another thread was faster
            os.close(fd)
        return kept[0]
