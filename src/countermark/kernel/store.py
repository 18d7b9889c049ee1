"""The content-addressed store: bytes under their own SHA-256, written once, verified whenever they are read.

`<two digits>/<sixty-two digits>` holds a blob; `quarantine/` holds what was found not to be what its name says, each
beside a note of why. Any number of processes may put and read at once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from countermark.kernel.canon import canonical, sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root
from countermark.kernel.lock import Lock
from countermark.kernel.place import shown

QUARANTINE: Final = "quarantine"
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_PATIENCE_SECONDS: Final = 30.0
_READ_ONLY: Final = 0o444  # a blob that is edited in place would lie about its name


class Audit(NamedTuple):
    """What a look at every blob found: how many are sound, and the digests that were set aside as corrupt."""

    sound: int
    corrupt: tuple[str, ...]


class Store:
    """Blobs in a folder of their own, under their digests."""

    def __init__(self, root: Root) -> None:
        """Take a folder that nothing else writes to."""
        self.root = root
        self._lock = Lock(root, "lock")
        self._durable: set[str] = set()

    def put(self, data: bytes) -> str:
        """Keep bytes durably; return their SHA-256. The same bytes again are no second copy."""
        sha256 = sha256_hex(data)
        while not self._stands(sha256):
            self._fan(sha256)
            with _allowing("output_exists"):  # another process put it meanwhile: look at it
                self.root.create(_place(sha256), data, mode=_READ_ONLY)
                return sha256
        return sha256

    def put_fd(self, fd: int, cap: int) -> str:
        """Keep the rest of a descriptor durably, in blocks; return its SHA-256, or raise `input_too_large`."""
        temporary, sha256 = self.root.write_temporary(fd, cap, mode=_READ_ONLY)
        try:
            while not self._stands(sha256):
                self._fan(sha256)
                with _allowing("output_exists"):
                    self.root.move_new(temporary, _place(sha256))
                    return sha256
        except BaseException:
            self.root.discard(temporary)
            raise
        self.root.discard(temporary)
        return sha256

    def has(self, sha256: str) -> bool:
        """Say whether a blob is there, without reading it."""
        return self.root.exists(_place(sha256))

    def get(self, sha256: str, cap: int) -> bytes:
        """Return a blob's bytes, verified.

        Raises `not_found`, `input_too_large` past `cap` bytes, and `artifact_invalid` after setting a corrupt blob
        aside.
        """
        data = self.root.read(_place(sha256), cap=cap)
        if sha256_hex(data) != sha256:
            self._set_aside(sha256)
            raise _corrupt(sha256)
        return data

    def copy_to(self, sha256: str, root: Root, name: str, *, mode: int = 0o644) -> None:
        """Write a blob as a new file, verified before it gets its name; raises as `get` and `Root.create` do."""
        fd = self.root.open_regular(_place(sha256))
        try:
            root.copy_in(name, fd, os.fstat(fd).st_size, expected=sha256, mode=mode)
        except CountermarkError as error:
            if error.code in {"artifact_invalid", "input_too_large"}:
                self._set_aside(sha256)
                raise _corrupt(sha256) from error
            raise
        finally:
            os.close(fd)

    def digests(self) -> Iterator[str]:
        """Yield the digest of every blob, sorted."""
        for fan in self.root.listing():
            if fan.kind == "folder":
                for blob in self.root.listing(fan.name):
                    if _SHA256.fullmatch(fan.name + blob.name):
                        yield fan.name + blob.name

    def quarantine(self, sha256: str, reason: str) -> str:
        """Move a blob out of use, with a note of why; return its name in the store. Raises `not_found`."""
        with self._lock.hold(_PATIENCE_SECONDS):
            return self._move_aside(sha256, reason)

    def verify_all(self) -> Audit:
        """Read every blob and set the corrupt ones aside."""
        sound = 0
        corrupt = []
        for sha256 in self.digests():
            if self._stands(sha256):
                sound += 1
            else:
                corrupt.append(sha256)
        return Audit(sound, tuple(corrupt))

    def _stands(self, sha256: str) -> bool:
        # True: there, sound, and its name durable, though perhaps another process wrote it and has not synced yet.
        if not self.has(sha256):
            return False
        try:
            found = self.root.digest(_place(sha256))
        except CountermarkError as error:
            if error.code != "not_found":
                raise
            return False
        if found != sha256:
            self._set_aside(sha256)
            return False
        self._fan(sha256)
        self.root.sync(sha256[:2])
        return True

    def _fan(self, sha256: str) -> None:
        if sha256[:2] not in self._durable:
            self.root.make_dir(sha256[:2])
            self._durable.add(sha256[:2])

    def _set_aside(self, sha256: str) -> None:
        # Under the lock, and looked at again: another process may have set it aside and put a sound one in its place.
        with self._lock.hold(_PATIENCE_SECONDS), _allowing("not_found"):
            if self.root.digest(_place(sha256)) != sha256:
                self._move_aside(sha256, "its bytes do not have its digest")

    def _move_aside(self, sha256: str, reason: str) -> str:
        place = _place(sha256)
        self.root.make_dir(QUARANTINE)
        count = 0
        while self.root.exists(aside := f"{QUARANTINE}/{sha256}.{count}"):
            count += 1
        note = {"digest": sha256, "found": self.root.digest(place), "reason": reason}
        self.root.replace(f"{aside}.json", canonical(note))
        self.root.move_new(place, aside)
        return aside


def _place(sha256: str) -> str:
    if not _SHA256.fullmatch(sha256):
        raise CountermarkError(
            "input_invalid",
            f"{shown(sha256)} is not a SHA-256.",
            next_action="Give sixty-four digits 0-9 and a-f.",
        )
    return f"{sha256[:2]}/{sha256[2:]}"


def _corrupt(sha256: str) -> CountermarkError:
    return CountermarkError(
        "artifact_invalid",
        f"The store's content of {sha256} was damaged; it was set aside in {QUARANTINE}/.",
        next_action="Make the artifact again, or restore the store from a backup.",
        details={"digest": sha256},
    )


@contextmanager
def _allowing(code: str) -> Iterator[None]:
    try:
        yield
    except CountermarkError as error:
        if error.code != code:
            raise
