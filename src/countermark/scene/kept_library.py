"""The person's library, kept in the folder of the scenes; its revision is the digest of its bytes, or `absent`.

One file, and the one before it. Whoever writes says which revision it was made against; the same items again are
answered as a duplicate, so that a reply that was lost can be asked for again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from countermark.kernel.canon import ABSENT, sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.scene import jsontext, library
from countermark.scene import name as names
from countermark.scene.codes import SceneError, refuse
from countermark.scene.library import Item
from countermark.scene.shelf import Shelf

NAME: Final = ":library"
"""What stands for it where scenes are named, in grants and in the ledger; no scene can be called so."""
FILE: Final = f"{names.KEPT}/library{library.SUFFIX}"
BEFORE: Final = f"{names.KEPT}/library.before{library.SUFFIX}"
_TURN: Final = ".library"


@dataclass(frozen=True, slots=True)
class Kept:
    """The library as it stands: its revision, its bytes, and the items in them."""

    revision: str
    data: bytes
    items: Sequence[Item]


@dataclass(frozen=True, slots=True)
class Saved:
    """A library that was written; `duplicate` says that the same items stood there already, and nothing was."""

    revision: str
    previous_revision: str
    byte_length: int
    item_count: int
    element_count: int
    saved_at: str
    duplicate: bool = False
    unledgered: bool = False

    def wire(self) -> dict[str, Any]:
        """Return its JSON form; what does not apply is absent."""
        said: dict[str, Any] = {
            "revision": self.revision,
            "previousRevision": self.previous_revision,
            "byteLength": self.byte_length,
            "itemCount": self.item_count,
            "savedAt": self.saved_at,
            "verified": True,
            "duplicate": self.duplicate,
        }
        return said | ({"unledgered": True} if self.unledgered else {})


def read(shelf: Shelf) -> Kept:
    """Return the library, an empty one where there is none; raise `corrupt_scene` for what is no library."""
    shelf.require_kept()
    data = _bytes(shelf)
    if data is None:
        return Kept(ABSENT, library.text([]), ())
    try:
        value = jsontext.unique(data)
        if not isinstance(value, dict) or value.get("type") != library.KIND:
            raise _corrupt(data, "it is no library")
        return Kept(sha256_hex(data), data, library.require(value.get("libraryItems"), shelf.limits))
    except SceneError as error:
        if error.code == "corrupt_scene":
            raise
        raise _corrupt(data, error.sentence) from error


def write(shelf: Shelf, items: Any, expected: Any) -> Saved:
    """Put items in the place of the library at a revision; the one before is kept beside it.

    Raises `revision_conflict` when that is not the current one, `invalid_operation` for what is no revision,
    `too_large`, and as `library.require` does.
    """
    _require_revision(expected)
    sound = library.require(items, shelf.limits)
    data = library.text(sound)
    if len(data) > shelf.limits.max_scene_bytes:
        raise refuse(
            "too_large",
            f"The library has {len(data)} bytes, {shelf.limits.max_scene_bytes} are allowed.",
            next_action="Remove items; the stored library is unchanged.",
            details={"found": len(data), "allowed": shelf.limits.max_scene_bytes, "unit": "bytes"},
        )
    with shelf.turn(_TURN) as turn:
        old = _bytes(shelf)
        current, fresh = ABSENT if old is None else sha256_hex(old), sha256_hex(data)
        elements = sum(len(item["elements"]) for item in sound)
        done = Saved(fresh, current, len(data), len(sound), elements, shelf.now(), duplicate=fresh == current)
        if done.duplicate:
            return done
        if expected != current:
            raise _conflict(expected, current)

        def guard() -> None:
            turn.verify()
            found = _bytes(shelf)
            if (ABSENT if found is None else sha256_hex(found)) != current:
                raise _conflict(expected, "another by now")

        _put(shelf, data, guard, replacing=old is not None)
        return done


def _put(shelf: Shelf, data: bytes, guard: Any, *, replacing: bool) -> None:
    root = shelf.root
    if replacing:
        root.release(BEFORE)
        root.keep(FILE, BEFORE)
    try:
        root.replace(FILE, data, guard=guard)
    except BaseException:
        with suppress(CountermarkError):  # two names of one content: who writes in place would change both
            if replacing and root.stat(FILE).st_ino == root.stat(BEFORE).st_ino:
                root.release(BEFORE)
        raise


def _bytes(shelf: Shelf) -> bytes | None:
    if not shelf.root.exists(FILE):
        return None
    return shelf.root.read(FILE, cap=shelf.limits.max_scene_bytes)


def _require_revision(value: Any) -> None:
    hexadecimal = isinstance(value, str) and len(value) == 64 and not set(value) - set("0123456789abcdef")  # noqa: PLR2004 - SHA-256
    if not hexadecimal and value != ABSENT:
        raise refuse(
            "invalid_operation",
            f"/expected_revision must be the library's revision: 64 hexadecimal digits, or {ABSENT!r}.",
            next_action="Send the revision that a read answered with.",
            details={"pointer": "/expected_revision"},
        )


def _conflict(expected: str, current: str) -> SceneError:
    return refuse(
        "revision_conflict",
        "The library was changed since it was read; nothing was written.",
        next_action="Read the library again, then put what is new into what it is now.",
        details={"expectedRevision": expected, "currentRevision": current},
    )


def _corrupt(data: bytes, why: str) -> SceneError:
    return refuse(
        "corrupt_scene",
        f"The library in {FILE} cannot be read: {why.rstrip('.')}.",
        next_action=f"Put a whole one in its place ({BEFORE} has the one before), or save over it at this revision.",
        details={"currentRevision": sha256_hex(data), "reason": "library"},
    )
