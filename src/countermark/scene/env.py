"""What making and changing elements needs from outside: bounds, time, chance and a measurer of text."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from countermark.scene import limits
from countermark.scene.limits import Limits

_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_ID_LENGTH: Final = 21
_CHANCE: Final = random.SystemRandom()


class Chance(Protocol):
    """A source of chance, as `random.Random` is one."""

    def randrange(self, start: int, stop: int) -> int:
        """Return a whole number from `start` up to, not including, `stop`."""

    def choice(self, seq: str) -> str:
        """Return one character of a text."""


class Size(Protocol):
    """What a measurer answers: width and height in px, and whether that is exact."""

    @property
    def width(self) -> float:
        """The widest line."""

    @property
    def height(self) -> float:
        """All lines."""

    @property
    def approximate(self) -> bool:
        """Whether a glyph was missing, so that the width is a guess."""

    @property
    def reason(self) -> str:
        """Which part of the width is an assumption; empty where none is."""


Measure = Callable[[str, int, float, float], Size]
"""Text, font family, size and line height to its size."""
Wrap = Callable[[str, int, float, float], str]
"""Text, font family, size and width to the text with line breaks."""


def _measured(text: str, family: int, size: float, line_height: float) -> Size:
    from countermark.typeset.measure import measure  # noqa: PLC0415 - loads fonts

    return measure(text, family, size, line_height)


def _wrapped(text: str, family: int, size: float, width: float) -> str:
    from countermark.typeset.wrap import wrap  # noqa: PLC0415 - loads fonts

    return wrap(text, family, size, width)


@dataclass(frozen=True, slots=True)
class Env:
    """What a change of a scene is made with.

    `now` is the time in milliseconds since 1970. `app_state` is merged over the scene's, `files` are added to it.
    `guessed` is written: the ids of texts whose size was measured approximately, and why.
    """

    limits: Limits = limits.DEFAULT
    now: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    chance: Chance = _CHANCE
    measure: Measure = _measured
    wrap: Wrap = _wrapped
    app_state: Mapping[str, Any] | None = None
    files: Mapping[str, Any] | None = None
    guessed: dict[str, str] = field(default_factory=dict)

    def identity(self) -> str:
        """Return a new id of the editor's form: 21 characters."""
        return "".join(self.chance.choice(_ALPHABET) for _ in range(_ID_LENGTH))

    def nonce(self) -> int:
        """Return a number for `seed` or `versionNonce`: 31 bits, never 0."""
        return self.chance.randrange(1, 2**31)
