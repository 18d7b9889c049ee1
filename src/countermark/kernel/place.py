"""Names beneath a folder, and what the system's errors about them mean in our words."""

from __future__ import annotations

import errno
import os
from types import TracebackType
from typing import Final

from countermark.kernel.errors import CountermarkError

HERE: Final = "."
"""The name of the opened folder itself."""

_FREE_SPACE: Final = "Free some space on that disk, then run the same command again."
_MAKE_WRITABLE: Final = "Make the place writable for this user, then run the same command again."
_PLAIN_NAME: Final = "Name a file or folder inside the folder, without `..`, and with no symbolic link on the way."

# code, sentence ({doing} = "writing", "reading" …; {place} = the relative name), next action
_MEANINGS: Final[dict[int, tuple[str, str, str]]] = {
    errno.ENOSPC: ("disk_full", "The disk is full: {doing} {place} was not done.", _FREE_SPACE),
    errno.EDQUOT: ("disk_full", "The disk quota is used up: {doing} {place} was not done.", _FREE_SPACE),
    errno.EROFS: ("disk_read_only", "The disk is read-only: {doing} {place} was not done.", _MAKE_WRITABLE),
    errno.EACCES: ("disk_read_only", "This user has no permission for {doing} {place}.", _MAKE_WRITABLE),
    errno.EPERM: ("disk_read_only", "The system does not permit {doing} {place}.", _MAKE_WRITABLE),
    errno.ELOOP: ("path_escape", "{place} leads through a symbolic link or out of its folder.", _PLAIN_NAME),
    errno.ENOENT: ("not_found", "{place} does not exist.", "Check the name, then try again."),
    errno.ENOTDIR: ("not_found", "{place} does not exist: a part of it is not a folder.", "Check the name."),
    errno.EEXIST: ("output_exists", "{place} exists already.", "Choose another name, or remove it first."),
    errno.ENOTEMPTY: ("output_exists", "{place} is not empty.", "Choose another name, or remove it first."),
    errno.EISDIR: ("not_a_regular_file", "{place} is a folder, not a file.", "Name a regular file."),
    errno.ENXIO: ("not_a_regular_file", "{place} is a socket or a device, not a file.", "Name a regular file."),
    errno.ENAMETOOLONG: ("input_invalid", "{place} is too long a name for this disk.", "Choose a shorter name."),
    errno.EILSEQ: ("input_invalid", "This disk cannot store the name {place}.", "Choose another name."),
}
_READING_REFUSED: Final = frozenset({errno.EACCES, errno.EPERM})


def shown(name: str) -> str:
    """Return a name fit for one line of a terminal: escaped when it holds anything unprintable."""
    return name if name.isprintable() else ascii(name)


def parts_of(name: str) -> list[str]:
    """Return the components of a relative name; raise `path_escape` or `input_invalid` for any other name."""
    parts = name.split("/")
    if name.startswith("/") or ".." in parts:
        raise CountermarkError(
            "path_escape", f"{shown(name)} lies outside its folder.", next_action=_PLAIN_NAME, details={"place": name}
        )
    try:
        well_formed = "" not in parts and HERE not in parts and b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        well_formed = False
    if not well_formed:
        raise CountermarkError(
            "input_invalid", f"{shown(name)} is not a name inside a folder.", next_action=_PLAIN_NAME
        )
    return parts


def joined(folder: str, name: str) -> str:
    """Return the name of an entry of a folder, both relative to the same place."""
    return name if folder in ("", HERE) else f"{folder}/{name}"


def disk_error(error: OSError, place: str, doing: str) -> CountermarkError:
    """Return what a system error at a place means; `doing` is the word for what was tried, for example "writing"."""
    number = error.errno or 0
    symbol = errno.errorcode.get(number, str(number))
    code, sentence, next_action = _MEANINGS.get(
        number,
        ("io_failed", "There was a failure in {doing} {place}: {reason}.", "Check the disk, then try again."),
    )
    if doing == "reading" and number in _READING_REFUSED:
        code, next_action = "io_failed", "Make the file readable for this user, then try again."
    said = sentence.format(doing=doing, place=shown(place), reason=error.strerror or symbol)
    return CountermarkError(code, said, next_action=next_action, details={"place": shown(place), "cause": symbol})


class Doing:
    """Turn every OSError inside a `with` into ours, naming the place and what was being done."""

    __slots__ = ("_doing", "_place")

    def __init__(self, doing: str, place: str) -> None:
        """Say what is being done where."""
        self._doing = doing
        self._place = place

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raise ours for the system's."""
        if isinstance(error, OSError):
            raise disk_error(error, self._place, self._doing) from error
