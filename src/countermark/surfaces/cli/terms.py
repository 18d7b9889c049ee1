"""The terms of a grant as they are typed: effects, resources, limits, an end."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from countermark.kernel.errors import CountermarkError
from countermark.kernel.grant import Terms
from countermark.kernel.proof import AcceptanceRule

_EFFECT: Final = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")
_RESOURCE: Final = re.compile(r"[a-z][a-z0-9_.+-]*:\S*")
_LIMIT: Final = re.compile(r"([a-z][a-z0-9_.]*)=([0-9]{1,15})")
_LENGTH: Final = re.compile(r"([0-9]{1,6})(s|m|min|h|d)")
_LONGEST_NAME: Final = 100
COUNTERS: Final = ("attempts", "bytes", "seconds")
"""What every task is charged for; a limit on anything else would hold nobody back."""

_SECONDS: Final = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}


def read(
    effects: Sequence[str],
    resources: Sequence[str],
    limits: Sequence[str],
    acceptance: AcceptanceRule,
    expires: str | None,
    now: int,
) -> Terms:
    """Return typed terms; raise `input_invalid` for a word that no effect, resource, limit or time is written as.

    `now` and the end are in milliseconds since the Unix epoch.
    """
    return Terms(
        effects=tuple(dict.fromkeys(map(_effect, effects))),
        resources=tuple(dict.fromkeys(map(_resource, resources))),
        limits=_limits(limits),
        acceptance=acceptance,
        expires_at=None if expires is None else _end(expires, now),
    )


def name(text: str) -> str:
    """Return the name of a grant's holder; raise `input_invalid` for anything but one short printable line."""
    if not (0 < len(text) <= _LONGEST_NAME and text.isprintable() and text == text.strip()):
        raise _wrong("A holder's name is one printable line.", f"Use at most {_LONGEST_NAME} characters.")
    return text


def _effect(word: str) -> str:
    if not _EFFECT.fullmatch(word):
        raise _wrong(f"{word!r} is no effect.", "Write it as `vector.write`, or `vector` for all of a domain.")
    return word


def _resource(name: str) -> str:
    if not _RESOURCE.fullmatch(name):
        raise _wrong(f"{name!r} is no resource.", "Write a file or folder of the workspace as `file:kit`.")
    return name


def _limits(pairs: Sequence[str]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for pair in pairs:
        match = _LIMIT.fullmatch(pair)
        if match is None or match[1] in found:
            raise _wrong(f"{pair!r} is no limit.", "Write each counter once: `attempts=3`, `bytes=1000000`.")
        if match[1] not in COUNTERS:
            raise _wrong(
                f"No task is charged for {match[1]!r}: a limit on it would limit nothing.",
                f"Limit one of these: {', '.join(COUNTERS)}.",
            )
        found[match[1]] = int(match[2])
    return found


def _end(text: str, now: int) -> int:
    match = _LENGTH.fullmatch(text)
    if match is not None:
        return now + int(match[1]) * _SECONDS[match[2]] * 1000
    try:
        moment = int(datetime.fromisoformat(text).astimezone().timestamp() * 1000)
    except (ValueError, OverflowError, OSError) as error:
        raise _wrong(f"{text!r} is no time.", "Write `30min`, `2h`, `7d`, or a date and time as ISO 8601.") from error
    if moment <= now:
        raise _wrong(f"{text} is over already.", "Name a time to come.")
    return moment


def _wrong(sentence: str, next_action: str) -> CountermarkError:
    return CountermarkError("input_invalid", sentence, next_action=next_action)
