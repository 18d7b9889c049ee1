"""Numbers and lengths as SVG writes them; what is not finite is refused, what is not a number is None."""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_LENGTH: Final = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([a-zA-Z]+|%)?\s*\Z")
_NOT_FINITE: Final = re.compile(r"(?<![a-z_#])(?:nan|inf(?:inity)?)(?![a-z_])", re.IGNORECASE)
_SEPARATOR: Final = re.compile(r"\s*,\s*|\s+|(?=[+-])")
_ANGLE: Final = re.compile(rf"({NUMBER.pattern})(deg|grad|rad|turn)?")
_DEGREES: Final = {"deg": 1.0, "grad": 0.9, "rad": 180 / math.pi, "turn": 360.0}

# CSS: 96 pixels an inch, 72 points an inch, 6 picas an inch.
_UNITS: Final = {
    "": 1.0,
    "px": 1.0,
    "pt": 96 / 72,
    "pc": 16.0,
    "mm": 96 / 25.4,
    "cm": 96 / 2.54,
    "q": 96 / 101.6,
    "in": 96.0,
}


class NotFiniteError(ValueError):
    """A number is NaN, infinite or too large for a double."""


class Frame(NamedTuple):
    """What relative lengths are relative to: the nearest viewport and font sizes, in user units."""

    width: float
    height: float
    font_size: float = 16.0
    root_font_size: float = 16.0

    @property
    def diagonal(self) -> float:
        """The length that percentages of neither width nor height refer to (SVG 2 §8.9)."""
        return math.hypot(self.width, self.height) / math.sqrt(2)


def finite(text: str) -> float:
    """Return a matched number; raise `NotFiniteError` when it overflows."""
    value = float(text)
    if not math.isfinite(value):
        raise NotFiniteError(text)
    return value


def check_finite(text: str) -> None:
    """Raise `NotFiniteError` when a numeric attribute says NaN or infinity."""
    found = _NOT_FINITE.search(text)
    if found:
        raise NotFiniteError(found[0])


def number(text: str | None) -> float | None:
    """Return a plain number, None when it is none."""
    if text is None:
        return None
    check_finite(text)
    match = NUMBER.fullmatch(text.strip())
    return finite(match[0]) if match else None


def number_or_percent(text: str | None) -> float | None:
    """Return a number, or a percentage as a part of one."""
    if text is None:
        return None
    text = text.strip()
    if not text.endswith("%"):
        return number(text)
    value = number(text[:-1])
    return None if value is None else value / 100


def degrees(text: str) -> float | None:
    """Return an angle in degrees, as a number without a unit is; None when it is none."""
    match = _ANGLE.fullmatch(text)
    return finite(match[1]) * _DEGREES[match[2] or "deg"] if match else None


def numbers(text: str) -> list[float] | None:
    """Return a list of numbers separated by white space or commas; None when something else stands between them."""
    check_finite(text)
    found: list[float] = []
    text = text.strip()
    at = 0
    while at < len(text):
        match = NUMBER.match(text, at)
        if not match:
            return None
        found.append(finite(match[0]))
        at = match.end()
        between = _SEPARATOR.match(text, at)
        if between:
            at = between.end()
        elif at < len(text) and text[at] != ".":
            return None
    return found


def length(text: str | None, frame: Frame, per_cent_of: float) -> float | None:
    """Return a length in user units; None when it is not one. `em` is the font size, `ex` half of it."""
    if text is None:
        return None
    check_finite(text)
    match = _LENGTH.match(text)
    if not match:
        return None
    value = finite(match[1])
    unit = (match[2] or "").lower()
    if unit == "%":
        return value * per_cent_of / 100
    fonts = {"em": frame.font_size, "rem": frame.root_font_size, "ex": frame.font_size / 2, "ch": frame.font_size / 2}
    scale = _UNITS.get(unit, fonts.get(unit))
    return None if scale is None else value * scale
