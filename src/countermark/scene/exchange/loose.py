"""JSON as other programs write it, read as strictly as it can be and repaired where its meaning is plain.

Strict JSON has no note. A byte-order mark, numbers that are none, halves of characters, names given twice and names
that would pollute a prototype are repaired, each with a note. What cannot be read at all, or is nested too deeply, is
refused as the store refuses it.
"""

from __future__ import annotations

import codecs
import json
import math
from typing import Any, Final

from countermark.scene import jsontext
from countermark.scene.codes import SceneError
from countermark.scene.exchange.inflate import broken
from countermark.scene.exchange.report import Report, worded
from countermark.scene.vocabulary import POLLUTING

_MARKS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_DIGITS: Final = 300
"""A whole number of more digits is beyond what JavaScript holds."""


def unmarked(data: bytes, report: Report) -> bytes:
    """Return text as UTF-8 without a byte-order mark; raise `invalid_scene` for what is no text."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            report.repaired("file", f"began with a byte-order mark ({encoding.upper()})")
            try:
                return data[len(mark) :] if encoding == "utf-8" else data.decode(encoding).encode()
            except UnicodeError as error:
                raise broken("file", "is no text, though its mark says so") from error
    return data


def read(data: bytes, report: Report) -> Any:
    """Return the JSON value in some bytes; raise `invalid_scene` for what cannot be read."""
    try:
        return jsontext.unique(data)
    except SceneError as error:
        if error.details.get("reason") == "too-deep":
            raise
        refusal = error
    try:
        text = data.decode("utf-8", "surrogatepass")
        value = _Reading(report).value(text)
    except (RecursionError, ValueError):  # what no reader takes; the strict one said what and where
        raise refusal from None
    return value


class _Reading:
    """One text being read, and what was put right in it."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.said: set[str] = set()

    def value(self, text: str) -> Any:
        found = json.loads(
            text,
            parse_constant=self._constant,
            parse_float=self._float,
            parse_int=self._int,
            object_pairs_hook=self._object,
        )
        return self._whole(found)

    def note(self, what: str) -> None:
        if what not in self.said:
            self.said.add(what)
            self.report.repaired("file", what)

    def _constant(self, word: str) -> None:
        self.note(f"held {word}, which is no number: taken as missing")

    def _float(self, digits: str) -> float | None:
        number = float(digits)
        if math.isfinite(number):
            return number
        self.note(f"held {digits[:40]}, which is beyond every number: taken as missing")
        return None

    def _int(self, digits: str) -> int | None:
        if len(digits) <= _DIGITS:
            return int(digits)
        self.note(f"held a number of {len(digits)} digits: taken as missing")
        return None

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in POLLUTING:
                self.report.dropped("file", f"a member named {name!r}, which no document may have")
                continue
            if name in found:
                self.note(f"named the member {worded(name)} twice in one object: the last counts")
            found[name] = value
        return found

    def _whole(self, value: Any) -> Any:
        """Return a value whose texts hold whole characters only."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self._whole(item) for item in value]
        if isinstance(value, dict):
            return {self._text(name): self._whole(member) for name, member in value.items()}
        return value

    def _text(self, text: str) -> str:
        try:
            text.encode()
        except UnicodeEncodeError:
            self.note("held halves of characters: they became U+FFFD")
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return text
