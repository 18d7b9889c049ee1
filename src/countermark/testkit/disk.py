"""Disks that fail: one that loses power and with it all that was not synced, one that breaks at a chosen call.

Both stand where `OsCalls` stands, over a real folder:

    disk = LossyCalls(folder, cut_after=7)
    try:
        Root(folder, calls=disk).replace("brand.json", new)
    except PowerCut:
        pass
    disk.power_cut(Loss.TORN)      # the folder now holds what a disk may hold when it comes back
    Root(folder).read("brand.json", cap=…)

What may be lost follows POSIX, not one file system's kindness: a name is durable when its folder was synced after the
change, content when its file was; a move between folders when both were. One rename is kept or lost whole.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TypeVar, TypeVarTuple

from countermark.kernel.calls import Calls
from countermark.kernel.files import OsCalls

_R = TypeVar("_R")
_Arguments = TypeVarTuple("_Arguments")


class PowerCut(BaseException):
    """The power went; whoever catches this may not touch the disk any more."""


class AroundCalls:
    """Calls that pass on to others, with one place, `around`, to stand between."""

    def __init__(self, under: Calls | None = None) -> None:
        """Pass on to `under`, by default the real system."""
        self.under: Calls = under or OsCalls()

    def around(self, operation: str, call: Callable[[*_Arguments], _R], *arguments: *_Arguments) -> _R:
        """Make one call; `operation` is its name in `countermark.kernel.calls.OPERATIONS`."""
        del operation
        return call(*arguments)

    def open(self, folder: int, name: str, flags: int, mode: int) -> int:
        """Pass on."""
        return self.around("open", self.under.open, folder, name, flags, mode)

    def write(self, fd: int, data: memoryview) -> int:
        """Pass on."""
        return self.around("write", self.under.write, fd, data)

    def truncate(self, fd: int, size: int) -> None:
        """Pass on."""
        self.around("truncate", self.under.truncate, fd, size)

    def allocate(self, fd: int, size: int) -> None:
        """Pass on."""
        self.around("allocate", self.under.allocate, fd, size)

    def chmod(self, fd: int, mode: int) -> None:
        """Pass on."""
        self.around("chmod", self.under.chmod, fd, mode)

    def fsync(self, fd: int) -> None:
        """Pass on."""
        self.around("fsync", self.under.fsync, fd)

    def rename(self, folder: int, name: str, new_folder: int, new_name: str) -> None:
        """Pass on."""
        self.around("rename", self.under.rename, folder, name, new_folder, new_name)

    def rename_new(self, folder: int, name: str, new_folder: int, new_name: str) -> None:
        """Pass on."""
        self.around("rename_new", self.under.rename_new, folder, name, new_folder, new_name)

    def exchange(self, folder: int, name: str, other_folder: int, other_name: str) -> None:
        """Pass on."""
        self.around("exchange", self.under.exchange, folder, name, other_folder, other_name)

    def link(self, folder: int, name: str, new_folder: int, new_name: str) -> None:
        """Pass on."""
        self.around("link", self.under.link, folder, name, new_folder, new_name)

    def unlink(self, folder: int, name: str) -> None:
        """Pass on."""
        self.around("unlink", self.under.unlink, folder, name)

    def mkdir(self, folder: int, name: str, mode: int) -> None:
        """Pass on."""
        self.around("mkdir", self.under.mkdir, folder, name, mode)

    def rmdir(self, folder: int, name: str) -> None:
        """Pass on."""
        self.around("rmdir", self.under.rmdir, folder, name)


class FaultyCalls(AroundCalls):
    """Calls that fail, shorten or spoil at chosen places.

    `number` is the errno raised; `at` is the n-th call (from 1) among those of `operation`, or among all when that is
    None; `always` goes on failing after it. `short` lets each write take so many bytes at most; `interrupt` raises
    EINTR once before every call; `spoil` flips a bit in what is written, as a lying disk does. `made` lists the calls.
    """

    def __init__(
        self,
        *,
        number: int | None = None,
        operation: str | None = None,
        at: int = 1,
        always: bool = False,
        short: int | None = None,
        interrupt: bool = False,
        spoil: bool = False,
        under: Calls | None = None,
    ) -> None:
        """Choose the faults."""
        super().__init__(under)
        self.made: list[str] = []
        self._number, self._operation, self._at, self._always = number, operation, at, always
        self._short, self._interrupt, self._spoil = short, interrupt, spoil
        self._count = 0
        self._interrupted = False

    def around(self, operation: str, call: Callable[[*_Arguments], _R], *arguments: *_Arguments) -> _R:
        """Fail when it is time to."""
        if self._interrupt and not self._interrupted:
            self._interrupted = True
            raise InterruptedError(errno.EINTR, os.strerror(errno.EINTR))
        self._interrupted = False
        self.made.append(operation)
        if self._operation in {None, operation}:
            self._count += 1
            if self._number is not None and (self._count == self._at or (self._always and self._count > self._at)):
                raise OSError(self._number, os.strerror(self._number))
        return call(*arguments)

    def write(self, fd: int, data: memoryview) -> int:
        """Write less, or other, than was given, when that was chosen."""
        if self._short is not None:
            data = data[: self._short]
        if self._spoil:
            data = memoryview(bytes([data[0] ^ 1]) + bytes(data[1:]))
        return super().write(fd, data)


class DeafCalls(AroundCalls):
    """Calls that answer "done" to fsync and do nothing: the mutant that a power-loss test has to find.

    `files` and `folders` say whose syncs are dropped.
    """

    def __init__(self, under: Calls, *, files: bool = True, folders: bool = True) -> None:
        """Drop these syncs before they reach `under`."""
        super().__init__(under)
        self._files, self._folders = files, folders

    def fsync(self, fd: int) -> None:
        """Sync, or only say so."""
        if not (self._folders if stat.S_ISDIR(os.fstat(fd).st_mode) else self._files):
            super().fsync(fd)


class Loss(Enum):
    """What becomes of changes that were not synced when the power goes."""

    LOST = "names and content are as last synced"
    HOLLOW = "names are kept, content is as last synced (a new file is empty)"
    TORN = "names are kept, of what was written one half"
    KEPT = "everything had reached the disk by itself"
    MIXED = "each by a seeded coin"


@dataclass(slots=True)
class _Node:
    """One file or folder of the model, whatever its names are."""

    folder: bool
    mode: int
    entries: dict[str, int] = field(default_factory=dict)  # of a folder: as it was when the model began
    synced: bytes = b""  # of a file: as last synced
    now: bytes = b""


@dataclass(slots=True)
class _Change:
    """Names that change together, and the folders that were not synced since."""

    names: tuple[tuple[int, str, int | None], ...]  # folder, name, node or None
    waiting: set[int]


class LossyCalls(AroundCalls):
    """A real folder whose power can be cut: the n-th call (`cut_after`, from 1) is the last that happens.

    Nothing but these calls may change the folder meanwhile. `made` lists the calls. One power cut a disk: afterwards
    make a new one.
    """

    def __init__(self, folder: str | Path, *, cut_after: int | None = None, under: Calls | None = None) -> None:
        """Take the folder as durable as it stands."""
        super().__init__(under)
        self.made: list[str] = []
        self._top = Path(folder)
        self._cut_after = cut_after
        self._dark = False
        self._nodes: list[_Node] = []
        self._known: dict[tuple[int, int], int] = {}
        self._changes: list[_Change] = []
        self._learn(self._top)

    def around(self, operation: str, call: Callable[[*_Arguments], _R], *arguments: *_Arguments) -> _R:
        """Make the call, note what it changed, and cut the power if it was the last."""
        if self._dark:
            raise PowerCut
        note = getattr(self, f"_before_{operation}", _nothing)(*arguments)
        result = call(*arguments)
        self.made.append(operation)
        self._after(operation, arguments, result, note)
        if len(self.made) == self._cut_after:
            self._dark = True
            raise PowerCut
        return result

    def power_cut(self, loss: Loss, *, seed: int = 0) -> None:
        """Cut the power if it is still on, and leave in the folder what the disk may hold when it comes back."""
        self._dark = True
        coin = random.Random(seed)  # noqa: S311 - a replayable choice, no secret
        folders = {number: dict(node.entries) for number, node in enumerate(self._nodes) if node.folder}
        for change in self._changes:
            if not change.waiting or _keeps(loss, coin):
                for folder, name, node in change.names:
                    if node is None:
                        folders[folder].pop(name, None)
                    else:
                        folders[folder][name] = node
        for entry in self._top.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        self._restore(self._top, 0, folders, loss, coin)

    def _restore(
        self, place: Path, number: int, folders: dict[int, dict[str, int]], loss: Loss, coin: random.Random
    ) -> None:
        for name, inner in folders[number].items():
            node = self._nodes[inner]
            target = place / name
            if node.folder:
                target.mkdir()
                self._restore(target, inner, folders, loss, coin)
            else:
                target.write_bytes(_survivor(node, loss, coin))
            target.chmod(node.mode)

    def _learn(self, place: Path) -> int:
        found = place.lstat()
        node = _Node(stat.S_ISDIR(found.st_mode), stat.S_IMODE(found.st_mode))
        number = self._new(node, found)
        if node.folder:
            node.entries = {entry.name: self._learn(entry) for entry in place.iterdir()}
        else:
            node.synced = node.now = place.read_bytes()
        return number

    def _new(self, node: _Node, found: os.stat_result) -> int:
        self._nodes.append(node)
        self._known[found.st_dev, found.st_ino] = len(self._nodes) - 1
        return len(self._nodes) - 1

    def _number(self, found: os.stat_result) -> int:
        return self._known[found.st_dev, found.st_ino]

    def _at(self, folder: int, name: str) -> int:
        return self._number(os.stat(name, dir_fd=folder, follow_symlinks=False))

    def _before_open(self, folder: int, name: str, *_: object) -> bool:
        with suppress(FileNotFoundError):
            os.stat(name, dir_fd=folder, follow_symlinks=False)
            return True
        return False

    def _after(self, operation: str, arguments: tuple[object, ...], result: object, existed: object) -> None:
        match operation, arguments:
            case "open", (int(folder), str(name), *_):
                if not existed and isinstance(result, int):
                    self._made(folder, name, os.fstat(result))
            case "mkdir", (int(folder), str(name), *_):
                self._made(folder, name, os.stat(name, dir_fd=folder, follow_symlinks=False))
            case (("write" | "truncate" | "allocate"), (int(fd), *_)):
                self._nodes[self._number(os.fstat(fd))].now = os.pread(fd, os.fstat(fd).st_size, 0)
            case "chmod", (int(fd), int(mode)):
                self._nodes[self._number(os.fstat(fd))].mode = mode
            case "fsync", (int(fd),):
                self._synced(self._number(os.fstat(fd)))
            case _:
                self._change(*self._renamed(operation, arguments))

    def _renamed(self, operation: str, arguments: tuple[object, ...]) -> list[tuple[int, str, int | None]]:
        match operation, arguments:
            case (("rename" | "rename_new"), (int(folder), str(name), int(new_folder), str(new_name))):
                return [(folder, name, None), (new_folder, new_name, self._at(new_folder, new_name))]
            case "exchange", (int(folder), str(name), int(other), str(other_name)):
                return [(folder, name, self._at(folder, name)), (other, other_name, self._at(other, other_name))]
            case "link", (_, _, int(new_folder), str(new_name)):
                return [(new_folder, new_name, self._at(new_folder, new_name))]
            case (("unlink" | "rmdir"), (int(folder), str(name))):
                return [(folder, name, None)]
        message = f"the model does not know {operation}{arguments}"
        raise AssertionError(message)

    def _made(self, folder: int, name: str, found: os.stat_result) -> None:
        node = _Node(stat.S_ISDIR(found.st_mode), stat.S_IMODE(found.st_mode))
        self._change((folder, name, self._new(node, found)))

    def _change(self, *names: tuple[int, str, int | None]) -> None:
        numbered = tuple((self._number(os.fstat(folder)), name, node) for folder, name, node in names)
        self._changes.append(_Change(numbered, {folder for folder, _, _ in numbered}))

    def _synced(self, number: int) -> None:
        node = self._nodes[number]
        node.synced = node.now
        for change in self._changes:
            change.waiting.discard(number)


def _nothing(*_: object) -> None:
    return None


def _keeps(loss: Loss, coin: random.Random) -> bool:
    return coin.random() < 0.5 if loss is Loss.MIXED else loss is not Loss.LOST  # noqa: PLR2004 - a fair coin


def _survivor(node: _Node, loss: Loss, coin: random.Random) -> bytes:
    if loss is Loss.MIXED:
        loss = coin.choice([Loss.HOLLOW, Loss.TORN, Loss.KEPT])
    if loss is Loss.KEPT:
        return node.now
    if loss is Loss.TORN:
        # What a write did not change is not torn by it.
        pairs = enumerate(zip(node.now, node.synced, strict=False))
        same = next((at for at, (new, old) in pairs if new != old), min(len(node.now), len(node.synced)))
        return node.now[: same + (len(node.now) - same) // 2]
    return node.synced
