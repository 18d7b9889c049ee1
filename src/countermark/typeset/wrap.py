"""A text broken into lines of a given width, at the places where the editor breaks it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Final

from countermark.typeset.breaks import SPACE, has_emoji, tokens
from countermark.typeset.measure import drawn_size
from countermark.typeset.pieces import editor_fonts
from countermark.typeset.shape import stack

_SPACES: Final = "".join(sorted(SPACE))
# The text before the trailing white space; the editor's pattern does not look past a line separator.
_TRAILING: Final = re.compile(rf"([^\n\r\u2028\u2029]+?)([{_SPACES}]+)\Z")


def wrap(text: str, family: int, size: float, width: float) -> str:
    """Return a text with line ends where the editor's `wrapText` puts them for lines of `width` px.

    Line ends of the text stay. A word wider than a line is cut between characters, but not if there is an emoji in
    it; white space may hang over the end of a line. A line that is broken comes out in composed form (NFC). A width
    that is negative or not finite changes nothing. The text is taken as it is: see `normalized` for a typed one.
    """
    if not 0 <= width < math.inf:
        return text
    faces = stack(family, editor_fonts())
    drawn = drawn_size(size, faces.units_per_em)

    def across(line: str) -> float:
        found = faces.line(line)
        return found.advance * drawn + found.kerning * size

    lines: list[str] = []
    for line in text.split("\n"):
        lines += [line] if across(line) <= width else _wrapped(line, across, width)
    return "\n".join(lines)


def _wrapped(line: str, across: Callable[[str], float], width: float) -> list[str]:
    lines: list[str] = []
    current, reach = "", 0.0
    for piece in tokens(line):
        longer = _reach(current, reach, piece, across)
        if current and longer > width and not _blank(piece):
            lines.append(current.rstrip(_SPACES))
            current, reach = "", 0.0
            longer = _reach(current, reach, piece, across)
        if longer <= width or _blank(piece):
            current, reach = current + piece, longer
            continue
        *whole, current = _cut(piece, across, width)
        lines += whole
        reach = across(current)
    return [*lines, _trimmed(current, across, width)] if current else lines


def _reach(line: str, reach: float, piece: str, across: Callable[[str], float]) -> float:
    # The editor adds a single UTF-16 unit's own width instead of measuring the line with it.
    return reach + across(piece) if len(piece) == 1 and piece <= "\uffff" else across(line + piece)


def _blank(piece: str) -> bool:
    return not SPACE.isdisjoint(piece)


def _cut(word: str, across: Callable[[str], float], width: float) -> list[str]:
    """Cut a word that is wider than a line, by the characters' own widths."""
    if has_emoji(word):
        return [word]
    lines: list[str] = []
    start, reach = 0, 0.0
    for at, character in enumerate(word):
        own = across(character)
        if reach + own > width and at > start:
            lines.append(word[start:at])
            start, reach = at, 0.0
        reach += own
    return [*lines, word[start:]]


def _trimmed(line: str, across: Callable[[str], float], width: float) -> str:
    """Take off the white space that is over the width, and no more."""
    if across(line) <= width:
        return line
    parts = _TRAILING.match(line)
    text, spaces = parts.groups() if parts else (line.rstrip(_SPACES), "")
    reach = across(text)
    for space in spaces:
        reach += across(space)
        if reach > width:
            break
        text += space
    return text
