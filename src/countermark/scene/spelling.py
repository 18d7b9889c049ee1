"""Writing JSON values into a text that is already there: its line ends, its indentation, JavaScript's numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from json import encoder as standard
from typing import Any, Final

from countermark.scene.codes import SceneError, refuse
from countermark.scene.jsontext import Member, members
from countermark.scene.number import is_number
from countermark.scene.vocabulary import DEEPEST, POLLUTING

_EXPONENT_FROM: Final = 21  # ECMA-262, Number::toString: plain digits from 1e-6 up to, not including, 1e21
_EXPONENT_BELOW: Final = -6
quoted: Final = standard.encode_basestring
"""Return the JSON text of a string, as JSON.stringify writes it."""
_SHOWN: Final = 80
_SHOWN_BITS: Final = 128
_WORDS: Final = {None: "null", True: "true", False: "false"}
_LINE: Final = re.compile(r"(\r\n|\n|\r)([ \t]*)$")


@dataclass(frozen=True, slots=True)
class Style:
    """How a text is laid out.

    `newline` is empty when objects stand on one line; `unit` is one step of indentation; `comma` parts the members of a
    one-line object, `colon` a name from its value.
    """

    newline: str = "\n"
    unit: str = "  "
    comma: str = ","
    colon: str = ": "


HOUSE: Final = Style()
"""The editor's own style: two spaces, `\\n`."""


def style_of(text: str, at: int, fallback: Style, found: Sequence[Member] | None = None) -> Style:
    """Return the style of the object that starts at an index; `fallback` when it has no member to show one.

    `found` are its members, where they are known.
    """
    if found is None:
        found, _ = members(text, at)
    if not found:
        return fallback
    first = found[0]
    lead = _LINE.search(text, at + 1, first.at)
    value_colon = text[first.at : first.start]
    colon = value_colon[value_colon.rindex('"') + 1 :]
    if lead is not None:
        base = indent_at(text, at)
        inner = lead[2]
        unit = inner[len(base) :] if inner.startswith(base) and len(inner) > len(base) else fallback.unit
        return Style(lead[1], unit, ",", colon)
    comma = text[found[0].end : found[1].at] if len(found) > 1 else fallback.comma
    return Style("", "", comma, colon)


def indent_at(text: str, at: int) -> str:
    """Return the white space at the beginning of the line on which an index stands."""
    begin = text.rfind("\n", 0, at) + 1
    begin = text.rfind("\r", begin, at) + 1 or begin
    end = begin
    while end < at and text[end] in " \t":
        end += 1
    return text[begin:end]


def spell(value: Any, style: Style, indent: str, *, pointer: str = "", depth: int = 1) -> str:
    """Return the text of a JSON value whose first line is already indented by `indent`.

    Raises `invalid_scene` with the JSON pointer of a number that is not finite, a name that is not allowed, half a
    character, nesting that is too deep, or what is no JSON value.
    """
    if not isinstance(value, dict | list | tuple):
        return _scalar(value, pointer)
    if depth > DEEPEST:
        raise _refused(pointer, "too-deep", f"is nested deeper than {DEEPEST} levels")
    inner = indent + style.unit
    parts: list[str] = []
    if isinstance(value, dict):
        for name, member in value.items():
            if not isinstance(name, str) or name in POLLUTING:
                raise _refused(pointer, "unsafe-key", f"has the member name {name!r}, which is not allowed")
            at = f"{pointer}/{escaped(name)}"
            key = _scalar(name, pointer)
            parts.append(f"{key}{style.colon}{spell(member, style, inner, pointer=at, depth=depth + 1)}")
        return _bracketed("{", parts, "}", style, indent)
    for place, item in enumerate(value):
        parts.append(spell(item, style, inner, pointer=f"{pointer}/{place}", depth=depth + 1))
    return _bracketed("[", parts, "]", style, indent)


def number(value: float, pointer: str = "") -> str:
    """Return the spelling that JavaScript's JSON.stringify gives a number; raise `invalid_scene` for NaN, infinity."""
    if not math.isfinite(value):
        raise _refused(pointer, "not-finite", "is not a finite number")
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    count = len(digits)
    if _EXPONENT_BELOW < point <= _EXPONENT_FROM:
        if point <= 0:
            text = f"0.{'0' * -point}{digits}"
        else:
            text = digits + "0" * (point - count) if count <= point else f"{digits[:point]}.{digits[point:]}"
    else:
        sign = "+" if point > 0 else "-"
        tail = f".{digits[1:]}" if count > 1 else ""
        text = f"{digits[0]}{tail}e{sign}{abs(point - 1)}"
    return f"-{text}" if value < 0 else text


def escaped(name: str) -> str:
    """Return a member name as a step of a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


def shown(value: Any) -> str:
    """Return a value as a message names it: short, whatever it is."""
    if isinstance(value, dict | list | tuple):
        return "an object" if isinstance(value, dict) else "an array"
    if isinstance(value, int) and value.bit_length() > _SHOWN_BITS:
        return "a number beyond all bounds"
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _bracketed(opening: str, parts: list[str], closing: str, style: Style, indent: str) -> str:
    if not parts:
        return opening + closing
    if not style.newline:
        return opening + style.comma.join(parts) + closing
    step = style.newline + indent + style.unit
    return f"{opening}{step}{f',{step}'.join(parts)}{style.newline}{indent}{closing}"


def _scalar(value: Any, pointer: str) -> str:
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, str):
        if not value.isascii():
            _require_text(value, pointer)
        return quoted(value)
    if isinstance(value, int):
        if not is_number(value):
            raise _refused(pointer, "not-finite", "is not a finite number")
        return str(value)
    if isinstance(value, float):
        return number(value, pointer)
    raise _refused(pointer, "not-json", "is no JSON value")


def _require_text(value: str, pointer: str) -> None:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise _refused(pointer, "half-a-character", "holds half of a character") from None


def _refused(pointer: str, reason: str, what: str) -> SceneError:
    return refuse(
        "invalid_scene",
        f"{pointer or 'The document'} {what}.",
        next_action="Correct that value, then try again.",
        details={"reason": reason, "pointer": pointer},
    )
