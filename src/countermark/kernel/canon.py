"""Canonical bytes, strict JSON and digests: the one spelling of every value that is hashed or signed.

Digests that others recompute are taken over RFC 8785 bytes. Text from outside is parsed strictly: duplicate member
names, NaN, infinities, overflowing numbers and nesting past a bound are refused, because two readers could disagree
about them (research: strict JSON and reply classification).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from json import encoder as standard
from typing import Any, Final, NoReturn

import rfc8785

from countermark.kernel.errors import CountermarkError

MAX_DEPTH: Final = 128
SHA256_PREFIX: Final = "sha256:"
ABSENT: Final = "absent"
_LARGEST: Final = 2**53 - 1


def _made_once() -> Callable[[Any], str]:
    """Return `encode` of a compact JSONEncoder, without the part it makes for each call: a third to half of it."""
    plain = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    make = getattr(standard, "c_make_encoder", None)
    if make is None:  # not CPython
        return plain.encode
    spell = make(None, plain.default, standard.encode_basestring, None, ":", ",", True, False, False)  # noqa: FBT003
    return lambda value: "".join(spell(value, 0))


spelled: Final = _made_once()
"""Return the text of a JSON value with sorted names and no spaces, which for plain values is RFC 8785's."""

_decode: Final = json.JSONDecoder().raw_decode


def canonical(value: Any) -> bytes:
    """Return the RFC 8785 bytes of a JSON value; raise `input_invalid` for NaN, infinities and foreign types."""
    try:
        if _is_plain(value):
            return spelled(value).encode("utf-8")
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, RecursionError, UnicodeError, ValueError) as error:
        raise CountermarkError(
            "input_invalid",
            f"This value has no canonical JSON form: {error}.",
            next_action="Use finite numbers, strings, lists and objects with string names.",
        ) from error


def _is_plain(value: Any) -> bool:
    """Whether the standard library spells a value as RFC 8785 does (measured: 8 times as fast as the general way).

    True for values without floats, with whole numbers that a double holds, and with ASCII member names, whose order by
    character and by UTF-16 unit is the same.
    """
    kind = type(value)
    if kind is list:
        within = value
    elif kind is dict:
        try:
            if not "".join(value).isascii():
                return False
        except TypeError:  # a name that is no text
            return False
        within = value.values()
    else:
        within = (value,)
    for one in within:
        kind = type(one)
        if kind is str or one is None or kind is bool:
            continue
        if kind is int:
            if not -_LARGEST <= one <= _LARGEST:
                return False
        elif (kind is not dict and kind is not list) or (one and not _is_plain(one)):
            return False
    return True


def sha256_hex(data: bytes) -> str:
    """Return the lower-case hexadecimal SHA-256 of bytes."""
    return hashlib.sha256(data).hexdigest()


def digest(value: Any) -> str:
    """Return the hexadecimal SHA-256 of a value's canonical bytes."""
    return sha256_hex(canonical(value))


def revision_of(data: bytes) -> str:
    """Return the revision token of bytes on disk: `sha256:` and the digest."""
    return SHA256_PREFIX + sha256_hex(data)


def stored(text: str) -> Any:
    """Return the value of a text that `spelled` wrote and the ledger kept; text from outside is for `parse_strict`."""
    return _decode(text)[0]


def parse_strict(data: bytes | str, *, what: str = "JSON") -> Any:
    """Parse JSON text that came from outside; raise `input_invalid` with the place of the first fault."""
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise CountermarkError(
            "input_invalid", f"{what} could not be read: {reason}.", next_action="Correct the text and try again."
        ) from error
    if "\\ud" in text.lower() and not _is_text(value):
        raise CountermarkError(
            "input_invalid",
            f"{what} could not be read: half of a character stands alone.",
            next_action="Correct the text and try again.",
        )
    if _too_deep(value):
        raise CountermarkError(
            "input_invalid",
            f"{what} could not be read: nested deeper than {MAX_DEPTH} levels.",
            next_action="Flatten the value and try again.",
        )
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            message = f"member {name!r} appears twice"
            raise ValueError(message)
        found[name] = value
    return found


def _no_constant(token: str) -> NoReturn:
    message = f"{token} is not a JSON number"
    raise ValueError(message)


def _finite(token: str) -> float:
    number = float(token)
    if not math.isfinite(number):
        message = f"{token} is out of range"
        raise ValueError(message)
    return number


def _is_text(value: Any) -> bool:
    """Whether every string is text: an escaped surrogate without its other half has no UTF-8 form."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True
