"""The one clock and the one source of identifiers, both injected."""

from __future__ import annotations

import os
import time
from typing import Final, Protocol


class Clock(Protocol):
    """What time it is: wall time for records and deadlines, a monotonic time for waiting."""

    def now_ms(self) -> int:
        """Return milliseconds since the Unix epoch; may jump when a person sets the clock."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """Return milliseconds since the Unix epoch."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()


_RANDOM_BITS: Final = 38
_SPARE_BITS: Final = 2
_SHIFTS: Final = range(70, -1, -10)
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuv"
_PAIRS: Final = [high + low for high in _DIGITS for low in _DIGITS]


class Ids(Protocol):
    """Where new identifiers come from."""

    def new(self, prefix: str) -> str:
        """Return an identifier never given before, `<prefix>-<letters and digits>`."""
        ...


class RandomIds:
    """Identifiers that begin with their time: 42 bits of milliseconds, then 38 random bits.

    They are short enough to type, and no counter that two processes would share. Rows that are written together lie
    together in every index by identifier, so that a commit writes few pages.
    """

    def __init__(self, clock: Clock) -> None:
        """Take the clock that the time is read from; set back, it costs order and nothing else."""
        self._clock = clock

    def new(self, prefix: str) -> str:
        """Return `<prefix>-` and sixteen digits of base 32 (RFC 4648 §7, in lower case)."""
        number = (self._clock.now_ms() << _RANDOM_BITS) | (int.from_bytes(os.urandom(5), "big") >> _SPARE_BITS)
        return f"{prefix}-{''.join([_PAIRS[number >> shift & 0x3FF] for shift in _SHIFTS])}"
