"""Transform lists: the attribute's grammar and the part of CSS transforms that has the same meaning in the plane."""

from __future__ import annotations

import math
import re
from typing import Final

from countermark.vector.affine import IDENTITY, Matrix
from countermark.vector.svg.number import Frame, NotFiniteError, check_finite, degrees, length, number

_FUNCTION: Final = re.compile(r"\s*,?\s*([A-Za-z]+)\s*\(([^()]*)\)")
_PART: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[a-zA-Z%]*")
_KEYWORDS: Final = {"left": 0.0, "top": 0.0, "center": 50.0, "right": 100.0, "bottom": 100.0}
_COUNTS: Final = {
    "matrix": (6, 6),
    "translate": (1, 2),
    "translatex": (1, 1),
    "translatey": (1, 1),
    "scale": (1, 2),
    "scalex": (1, 1),
    "scaley": (1, 1),
    "rotate": (1, 3),
    "skewx": (1, 1),
    "skewy": (1, 1),
    "skew": (1, 2),
}


def transform(text: str, frame: Frame) -> Matrix | None:
    """Read a transform list; None when it has a fault, and then the whole list counts for nothing.

    NaN, infinities and overflow raise `NotFiniteError`.
    """
    check_finite(text)
    text = text.strip()
    if text.lower() in {"", "none"}:
        return IDENTITY
    found = IDENTITY
    at = 0
    while at < len(text):
        match = _FUNCTION.match(text, at)
        step = _step(match[1].lower(), match[2], frame) if match else None
        if match is None or step is None:
            return None
        found = found @ step
        at = match.end()
        while at < len(text) and text[at].isspace():
            at += 1
    if not found.is_finite:
        raise NotFiniteError(text)
    return found


def origin(text: str, frame: Frame) -> tuple[float, float] | None:
    """Read `transform-origin` in user units; None when it has a fault."""
    words = text.replace(",", " ").split()
    if not words or len(words) > 3:  # noqa: PLR2004 - x, y and a depth that a plane ignores
        return None
    if words[0].lower() in {"top", "bottom"} or (len(words) > 1 and words[1].lower() in {"left", "right"}):
        words[:2] = [words[1] if len(words) > 1 else "center", words[0]]
    if len(words) == 1:
        words.append("center")
    found = []
    for word, size in zip(words, (frame.width, frame.height), strict=False):
        keyword = _KEYWORDS.get(word.lower())
        value = keyword * size / 100 if keyword is not None else length(word, frame, size)
        if value is None:
            return None
        found.append(value)
    return (found[0], found[1])


def _step(name: str, inside: str, frame: Frame) -> Matrix | None:
    words = _PART.findall(inside)
    if _PART.sub("", inside).replace(",", "").strip():
        return None
    low, high = _COUNTS.get(name, (1, 0))
    if not low <= len(words) <= high or (name == "rotate" and len(words) == 2):  # noqa: PLR2004 - angle, or with centre
        return None
    values = [_value(name, index, word, frame) for index, word in enumerate(words)]
    numbers = [value for value in values if value is not None]
    if len(numbers) != len(values):
        return None
    return _matrix(name, numbers)


def _value(name: str, index: int, word: str, frame: Frame) -> float | None:
    if name.startswith("translate"):
        vertical = name == "translatey" or index == 1
        return length(word, frame, frame.height if vertical else frame.width)
    if name.startswith("skew") or (name == "rotate" and index == 0):
        return degrees(word)
    if name == "rotate":
        return length(word, frame, 0.0)
    if name.startswith("scale") and word.endswith("%"):
        value = number(word[:-1])
        return None if value is None else value / 100
    return number(word)


def _matrix(name: str, n: list[float]) -> Matrix:
    second = n[1] if len(n) > 1 else 0.0
    match name:
        case "matrix":
            found = Matrix(*n)
        case "translate" | "translatex":
            found = Matrix(e=n[0], f=second)
        case "translatey":
            found = Matrix(f=n[0])
        case "scale":
            found = Matrix(a=n[0], d=n[-1])
        case "scalex":
            found = Matrix(a=n[0])
        case "scaley":
            found = Matrix(d=n[0])
        case "skewy":
            found = Matrix(b=_slope(n[0]))
        case "rotate":
            found = _rotation(n)
        case _:
            found = Matrix(c=_slope(n[0]), b=_slope(second))
    return found


def _rotation(n: list[float]) -> Matrix:
    cos, sin = _turn(n[0])
    turned = Matrix(cos, sin, -sin, cos)
    return turned if len(n) == 1 else turned.about(n[1], n[2])


def _turn(degrees: float) -> tuple[float, float]:
    """Return cosine and sine, exact at quarter turns so that upright art stays upright."""
    quarter, rest = divmod(degrees, 90)
    if rest == 0:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[int(quarter) % 4]
    return math.cos(math.radians(degrees)), math.sin(math.radians(degrees))


def _slope(degrees: float) -> float:
    return math.tan(math.radians(degrees))
