"""The one clock and the one source of identifiers, both injected."""

from __future__ import annotations

import base64
import os
import time
from typing import Protocol


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


class Ids(Protocol):
    """Where new identifiers come from."""

    def new(self, prefix: str) -> str:
        """Return an identifier never given before, `<prefix>-<letters and digits>`."""
        ...


class RandomIds:
    """Identifiers of 80 random bits: short enough to type, and no counter that two processes would share."""

    def new(self, prefix: str) -> str:
        """Return `<prefix>-` and sixteen lower-case base32 characters."""
        return f"{prefix}-{base64.b32encode(os.urandom(10)).decode('ascii').lower()}"
