"""Other people's text made safe to look at: nothing in it steers a terminal, reorders a line or hides.

File names, agents' words and ids from elsewhere reach a person's eyes through the record page and the scoreboard.
Escaping for HTML does not help against a right-to-left override or an escape sequence; this does.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, NamedTuple

# Cc: controls. Cf: format characters (bidirectional overrides, zero-width, tags). Cs: lone surrogates, which UTF-8
# cannot carry. Zl and Zp: separators that some viewers break lines at. Co and Cn: nothing a reader could name.
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn"})
_COLOUR: Final = r"#[0-9a-fA-F]{6}(?![0-9a-zA-Z])"
_DIGEST: Final = r"(?:sha256:)?[0-9a-f]{40,128}(?![0-9a-zA-Z])"
_OPTION: Final = r"(?<!-)--[a-z][a-z-]{1,30}(?![0-9a-zA-Z-])"
_SPECIAL: Final = re.compile(rf"(?<![0-9a-zA-Z&])(?:(?P<colour>{_COLOUR})|(?P<digest>{_DIGEST})|(?P<option>{_OPTION}))")


class Segment(NamedTuple):
    """A stretch of text; `kind` is `plain`, `colour` (six hexadecimal digits), `digest` or `option` (of a command)."""

    kind: str
    text: str


def visible(text: str) -> str:
    """Return the text with every hidden character written out as `<U+202E>`; line feeds stay."""
    return "".join(
        character
        if character == "\n" or unicodedata.category(character) not in _HIDDEN
        else f"<U+{ord(character):04X}>"
        for character in text
    )


def segments(text: str) -> tuple[Segment, ...]:
    """Split text at what a page shows its own way: a colour as a chip, a digest shortened, an option unbroken."""
    found: list[Segment] = []
    end = 0
    for match in _SPECIAL.finditer(text):
        if match.start() > end:
            found.append(Segment("plain", text[end : match.start()]))
        found.append(Segment(match.lastgroup or "plain", match.group()))
        end = match.end()
    if end < len(text):
        found.append(Segment("plain", text[end:]))
    return tuple(found)
