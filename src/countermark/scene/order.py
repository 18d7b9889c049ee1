"""Order keys: text that sorts as the elements are drawn (research §1.4).

The head letter says how many digits the whole part has (`a` one … `z` twenty-six; `Z` one, downwards, for what lies
before `a0`); the fraction never ends in the lowest digit. Keys are compared by code point. Written from the published
description of fractional indexing; the array's order is the truth, keys follow it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
FIRST: Final = "a0"
_VALUE: Final = {digit: place for place, digit in enumerate(DIGITS)}
_BASE: Final = len(DIGITS)
_SHAPE: Final = re.compile(r"[A-Za-z][0-9A-Za-z]*")
_LEAST: Final = "A" + DIGITS[0] * 26


def is_key(value: Any) -> bool:
    """Say whether a value is a well-formed key."""
    if not isinstance(value, str) or not _SHAPE.fullmatch(value):
        return False
    whole = _whole_length(value[0])
    return len(value) >= whole and value != _LEAST and not (len(value) > whole and value.endswith(DIGITS[0]))


def between(low: str | None, high: str | None, count: int) -> list[str]:
    """Return `count` rising keys above `low` and below `high`; None leaves that side open.

    Both must be well-formed, and `low` below `high`.
    """
    if count <= 0:
        return []
    if high is None:
        keys, last = [], low
        for _ in range(count):
            last = _above(last)
            keys.append(last)
        return keys
    if low is None and count > 1:
        keys, last = [], high
        for _ in range(count):
            last = _one(None, last)
            keys.append(last)
        return keys[::-1]
    middle = _one(low, high)
    left = (count - 1) // 2
    return [*between(low, middle, left), middle, *between(middle, high, count - 1 - left)]


def assign(keys: Sequence[Any], new: Sequence[bool]) -> list[str | None]:
    """Return the keys of the new elements, in their order, given all elements' keys along the array.

    Where no element has a key, and where the keys around a run leave no room (they are equal, fall, or are no keys),
    the new ones get None: an editor gives such a run fresh keys on load, and nothing else here is touched.
    """
    given: list[str | None] = []
    plain = all(fresh or key is None for key, fresh in zip(keys, new, strict=True))
    place = 0
    while place < len(keys):
        if not new[place]:
            place += 1
            continue
        end = place
        while end < len(keys) and new[end]:
            end += 1
        given += [None] * (end - place) if plain and any(not fresh for fresh in new) else _run(keys, place, end)
        place = end
    return given


def repaired(keys: Sequence[Any]) -> dict[int, str]:
    """Return new keys, by place, for the runs that are invalid; those that are valid and rise are kept.

    Of keys that fall, as many are kept as possible.
    """
    kept = _rising(keys)
    fresh: dict[int, str] = {}
    bounds = [-1, *kept, len(keys)]
    for before, after in pairwise(bounds):
        low = keys[before] if before >= 0 else None
        high = keys[after] if after < len(keys) else None
        for offset, key in enumerate(between(low, high, after - before - 1)):
            fresh[before + 1 + offset] = key
    return fresh


def _run(keys: Sequence[Any], start: int, end: int) -> list[str | None]:
    low = keys[start - 1] if start else None
    high = keys[end] if end < len(keys) else None
    usable = (not start or is_key(low)) and (end == len(keys) or is_key(high))
    if not usable or (low is not None and high is not None and low >= high):
        return [None] * (end - start)
    return list(between(low, high, end - start))


def _rising(keys: Sequence[Any]) -> list[int]:
    """Return the places of a longest rising run of well-formed keys."""
    tails: list[str] = []
    ends: list[int] = []
    previous: dict[int, int] = {}
    for place, key in enumerate(keys):
        if not is_key(key):
            continue
        slot = bisect_left(tails, key)
        if slot:
            previous[place] = ends[slot - 1]
        tails[slot : slot + 1], ends[slot : slot + 1] = [key], [place]
    chain: list[int] = []
    here = ends[-1] if ends else None
    while here is not None:
        chain.append(here)
        here = previous.get(here)
    return chain[::-1]


def _one(low: str | None, high: str) -> str:
    """Return a short key between two, or before one."""
    if low is None:
        whole, fraction = _split(high)
        if fraction:
            return whole
        return _previous(whole) if whole > _LEAST_WHOLE else whole + _middle("", fraction)
    low_whole, low_fraction = _split(low)
    high_whole, high_fraction = _split(high)
    if low_whole == high_whole:
        return low_whole + _middle(low_fraction, high_fraction)
    above = _next(low_whole)
    if above is not None and above < high:
        return above
    return low_whole + _middle(low_fraction, None)


def _above(low: str | None) -> str:
    if low is None:
        return FIRST
    whole, fraction = _split(low)
    return _next(whole) or whole + _middle(fraction, None)


def _middle(low: str, high: str | None) -> str:
    """Return a fraction between two; the upper one open when None, the lower one nothing when empty."""
    prefix = ""
    place = 0
    while high is not None and place < len(high) and (low[place : place + 1] or DIGITS[0]) == high[place]:
        prefix += high[place]
        place += 1
    low = low[place:]
    if high is not None:
        high = high[place:]
    first = _VALUE[low[0]] if low else 0
    last = _VALUE[high[0]] if high else _BASE
    if last - first > 1:
        return prefix + DIGITS[(first + last + 1) // 2]
    if high and len(high) > 1:
        return prefix + high[0]
    return prefix + DIGITS[first] + _middle(low[1:], None)


def _whole_length(head: str) -> int:
    return ord(head) - ord("a") + 2 if head >= "a" else ord("Z") - ord(head) + 2


def _split(key: str) -> tuple[str, str]:
    length = _whole_length(key[0])
    return key[:length], key[length:]


def _next(whole: str) -> str | None:
    digits = list(whole[1:])
    for place in reversed(range(len(digits))):
        value = _VALUE[digits[place]] + 1
        if value < _BASE:
            digits[place] = DIGITS[value]
            return whole[0] + "".join(digits)
        digits[place] = DIGITS[0]
    if whole[0] == "z":
        return None
    if whole[0] == "Z":
        return "a" + DIGITS[0]
    head = chr(ord(whole[0]) + 1)
    return head + DIGITS[0] * (_whole_length(head) - 1)


def _previous(whole: str) -> str:
    digits = list(whole[1:])
    for place in reversed(range(len(digits))):
        value = _VALUE[digits[place]] - 1
        if value >= 0:
            digits[place] = DIGITS[value]
            return whole[0] + "".join(digits)
        digits[place] = DIGITS[-1]
    head = "Z" if whole[0] == "a" else chr(ord(whole[0]) - 1)
    return head + DIGITS[-1] * (_whole_length(head) - 1)


_LEAST_WHOLE: Final = "A" + DIGITS[0] * 25 + DIGITS[1]
