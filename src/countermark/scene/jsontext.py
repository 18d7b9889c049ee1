"""JSON text of scenes: strict reading, and where each part of a text stands.

The public JSON grammar, and nothing more: no NaN, no number beyond a double, no byte-order mark, no half of a
character, no nesting beyond 64 levels, no member name that would pollute a prototype (seed 3 §1, research scene §1.10).
"""

from __future__ import annotations

import gc
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import orjson

from countermark.scene.codes import SceneError, refuse
from countermark.scene.vocabulary import DEEPEST, POLLUTING

_TOO_DEEP: Final = b"\n" + b"  " * (DEEPEST + 1)
_UNSAFE: Final = tuple(f'"{name}": '.encode() for name in sorted(POLLUTING))
_LARGE: Final = 1 << 18
_RESTING: Final = threading.Lock()
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder()
_CONFLICT: Final = (re.compile(rb"^<<<<<<< ", re.MULTILINE), re.compile(rb"^>>>>>>> ", re.MULTILINE))


class Reading(NamedTuple):
    """A JSON value, and whether its bytes are exactly what two-space writing would make of it."""

    value: Any
    canonical: bool


def read(data: bytes) -> Reading:
    """Return the value of JSON bytes; raise `invalid_scene`, with `damaged` in the details where no reader can read it.

    Of members that share a name the last counts, as in every browser; `unique` refuses them.
    """
    try:
        value = parsed(data)
    except orjson.JSONDecodeError as error:
        raise _unreadable(data, error) from None
    spelled = orjson.dumps(value, option=orjson.OPT_INDENT_2)
    # In this spelling names carry no escapes, a quote inside a string is escaped, and no string holds a line break, so
    # both searches find what they look for and nothing else.
    if _TOO_DEEP in spelled:
        raise _too_deep()
    for name in _UNSAFE:
        if name in spelled:
            raise _unsafe(name.decode().partition('"')[2].partition('"')[0])
    return Reading(value, spelled == data)


def parsed(data: bytes) -> Any:
    """Return the value of JSON bytes as `orjson.loads` does, and raise as it does."""
    with uncollected(len(data)):
        return orjson.loads(data)


@contextmanager
def uncollected(size: int) -> Iterator[None]:
    """Let the cycle collector rest while a text of some size is read, changed or written.

    That makes many objects and drops few, yet the collector would walk all of them again and again: for 10,000 elements
    that is more than half of the time. Where another thread lets it rest already, nothing is done.
    """
    if size < _LARGE or not _RESTING.acquire(blocking=False):
        yield
        return
    awake = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if awake:
            gc.enable()
        _RESTING.release()


def unique(data: bytes) -> Any:
    """Return the value of JSON bytes that a caller sent; raise `invalid_scene` also for a name given twice."""
    reading = read(data)
    if not reading.canonical:
        json.loads(data, object_pairs_hook=_once)
    return reading.value


def same(one: Any, other: Any, *, doubles: bool = False) -> bool:
    """Say whether two JSON values are the same: member order and number spelling do not count, true is not 1.

    Numbers are compared exactly, or, for what a page sends, as a JavaScript reader has them: by their double.
    """
    if one is other:
        return True
    if isinstance(one, bool) or isinstance(other, bool):
        return False
    if isinstance(one, dict):
        alike = isinstance(other, dict) and one.keys() == other.keys()
        return alike and all(same(one[name], other[name], doubles=doubles) for name in one)
    if isinstance(one, list | tuple):
        alike = isinstance(other, list | tuple) and len(one) == len(other)
        return alike and all(same(*pair, doubles=doubles) for pair in zip(one, other, strict=True))
    if doubles and isinstance(one, int | float) and isinstance(other, int | float):
        return _double(one) == _double(other)
    return bool(one == other)


def _double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:  # a whole number that JavaScript reads as infinity
        return float("inf") if number > 0 else float("-inf")


def conflict_marked(data: bytes) -> bool:
    """Say whether the bytes hold a merge that nobody has finished: lines with both markers of a conflict."""
    return all(mark.search(data) for mark in _CONFLICT)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise refuse(
            "invalid_scene",
            f"The member {twice!r} is given twice in one object.",
            next_action="Give every member once.",
            details={"reason": "duplicate-key", "key": twice},
        )
    return found


def _unreadable(data: bytes, error: orjson.JSONDecodeError) -> SceneError:
    # What another reader accepts (a byte-order mark, NaN, 1e400, half a character) was written so by some program and
    # is not damage: such bytes are refused and left alone. Only what nobody can read may be replaced from a backup.
    damaged = False
    try:
        json.loads(data)
    except RecursionError:
        return _too_deep()
    except ValueError:
        damaged = True
    return refuse(
        "invalid_scene",
        f"This is not JSON: {error.msg} at byte {error.pos}.",
        next_action="Send or store the JSON of an .excalidraw document.",
        details={"reason": "not-json" if damaged else "not-strict-json", "offset": error.pos, "damaged": damaged},
    )


def _too_deep() -> SceneError:
    return refuse(
        "invalid_scene",
        f"The document is nested deeper than {DEEPEST} levels.",
        next_action="Flatten what is nested.",
        details={"reason": "too-deep", "max_depth": DEEPEST},
    )


def _unsafe(name: str) -> SceneError:
    return refuse(
        "invalid_scene",
        f"The member name {name!r} is not allowed: it can change what other objects mean in a browser.",
        next_action="Rename or remove that member.",
        details={"reason": "unsafe-key", "key": name},
    )


class Member(NamedTuple):
    """One member of an object in a text: its name, where the name, the value and its end stand, and the value."""

    name: str
    at: int
    start: int
    end: int
    value: Any

    @property
    def identity(self) -> Any:
        """Its name."""
        return self.name


class Item(NamedTuple):
    """One item of an array in a text: where it stands, and its value."""

    start: int
    end: int
    value: Any

    @property
    def at(self) -> int:
        """Where it begins."""
        return self.start

    @property
    def identity(self) -> Any:
        """The id that an element has."""
        return self.value.get("id") if isinstance(self.value, dict) else None


def decode(text: str, at: int) -> tuple[Any, int]:
    """Return the value that starts at an index of valid JSON, whole numbers exactly, and where it ends."""
    return _DECODER.raw_decode(text, at)


def members(
    text: str, at: int, value_of: Callable[[str, str, int], tuple[Any, int]] | None = None
) -> tuple[list[Member], int]:
    """Return the members of the object that starts at an index of valid JSON, shared names included, and its end.

    `value_of` reads the value of a member (name, text, index) where it is not to be read whole.
    """
    found: list[Member] = []
    here = skip(text, at + 1)
    while text[here] != "}":
        name, after = decode(text, here)
        start = skip(text, skip(text, after) + 1)
        value, end = decode(text, start) if value_of is None else value_of(name, text, start)
        found.append(Member(name, here, start, end, value))
        here = _next(text, end)
    return found, here + 1


def items(text: str, at: int) -> tuple[list[Item], int]:
    """Return the items of the array that starts at an index of valid JSON, and its end."""
    found: list[Item] = []
    here = skip(text, at + 1)
    while text[here] != "]":
        value, end = decode(text, here)
        found.append(Item(here, end, value))
        here = _next(text, end)
    return found, here + 1


def skip(text: str, at: int) -> int:
    """Return the first index from `at` on that is no white space."""
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _next(text: str, end: int) -> int:
    here = skip(text, end)
    return skip(text, here + 1) if text[here] == "," else here
