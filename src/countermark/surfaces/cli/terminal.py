"""What people read: aligned, short, and in colour only where the stream can show it and nobody refused it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final, TextIO

from countermark.record.scoreboard import look_of
from countermark.record.visible import visible

SHORT: Final = 12
"""Digits of a digest that people see; `--json` has all of them."""

_STYLES: Final = {
    "red": "\x1b[31m",
    "green": "\x1b[32m",
    "yellow": "\x1b[33m",
    "bold": "\x1b[1m",
    "dim": "\x1b[2m",
}
_RESET: Final = "\x1b[0m"
_SHA256: Final = 64
_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def paint(text: str, style: str, stream: TextIO) -> str:
    """Return the text in a style where the stream shows colour, else as it is."""
    return f"{_STYLES[style]}{text}{_RESET}" if look_of(stream, os.environ).colour else text


def short(digest: str) -> str:
    """Return the first digits of a digest; `absent`, an own key or any other word stays as it is."""
    head, _, tail = digest.rpartition(":")
    if len(tail) == _SHA256 and all(digit in "0123456789abcdef" for digit in tail):
        return f"{head}:{tail[:SHORT]}" if head not in ("", "sha256") else tail[:SHORT]
    return digest


def one_line(text: str) -> str:
    """Return text from elsewhere as one line that does nothing to the terminal."""
    return " ".join(visible(text).split())


def columns(rows: Iterable[Sequence[str]], *, head: Sequence[str] = ()) -> list[str]:
    """Return rows as lines with aligned columns, two spaces between them."""
    table = [tuple(map(one_line, row)) for row in ([head] if head else []) + [tuple(row) for row in rows]]
    if not table:
        return []
    widths = [max(len(row[place]) for row in table) for place in range(len(table[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]


def pairs(*rows: tuple[str, str]) -> list[str]:
    """Return names with their values beneath each other; a pair without a value is left out."""
    return columns([row for row in rows if row[1]])


def clock_time(ms: int) -> str:
    """Return a moment as local date and time, to the second."""
    return datetime.fromtimestamp(ms / 1000, tz=UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def iso(ms: int | None) -> str | None:
    """Return a moment as UTC in ISO 8601, for JSON."""
    return None if ms is None else datetime.fromtimestamp(ms / 1000, tz=UTC).isoformat(timespec="milliseconds")


def span(ms: int) -> str:
    """Return a length of time in its two largest units."""
    left = max(ms, 0) // 1000
    said = []
    for size, unit in _UNITS:
        if left >= size:
            said.append(f"{left // size} {unit}")
            left %= size
    return " ".join(said[:2]) or "0 s"


def count(number: int, noun: str) -> str:
    """Return a number with its noun in the singular or the plural."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
