"""The editor's font families: their numbers, metrics and pieces, as the manifest beside the font files lists them.

`fonts/manifest.json` is made from the npm package it names. It lists the families whose pieces are bundled here, the
CJK family whose pieces come with the editor's own package, and the one that is a font of the reader's machine.

One piece is not the package's: its Liberation Sans is under the GPL, so this is a later release, under the OFL, as its
`source` in the manifest says. Its name is reserved for the font as it was released (a part of it, or a converted one,
would need another); it is therefore whole, and packed without WOFF2's transforms: it unpacks to the bytes of the
source, but for the bit by which WOFF2 marks what it packed, and the checksum over it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

FOLDER: Final = Path(str(files("countermark.typeset"))) / "fonts"
MANIFEST: Final = FOLDER / "manifest.json"

DEFAULT: Final = 5
"""Excalifont: the editor's default family, and the one whose metrics an unknown number gets."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One web font file of a family, and the characters that a browser takes from it (CSS `unicode-range`)."""

    folder: str
    file: str
    sha256: str
    size: int
    weight: int
    unicode_range: str

    def ranges(self) -> tuple[range, ...]:
        """Return the code points; a piece without a range serves all of them."""
        if not self.unicode_range:
            return (range(0x110000),)
        ends = (part.strip()[2:].partition("-") for part in self.unicode_range.split(","))
        return tuple(range(int(low, 16), int(high or low, 16) + 1) for low, _, high in ends)


@dataclass(frozen=True, slots=True)
class Family:
    """A family as the editor knows it.

    `number` is what an element's `fontFamily` holds; None for a family that no element names. `ascender` and
    `descender` are in font units, `units_per_em` to the em. `role`: `text` can be chosen for text, `local` is a font of
    the reader's machine, `fallback` serves what others lack, `interface` draws the editor's own page.
    """

    name: str
    number: int | None
    folder: str | None
    role: Literal["text", "local", "fallback", "interface"]
    bundled: bool
    licence: str | None
    units_per_em: int
    ascender: int
    descender: int
    line_height: float | None
    pieces: tuple[Piece, ...]


def _family(entry: Mapping[str, Any]) -> Family:
    pieces = tuple(
        Piece(entry["folder"], one["file"], one["sha256"], one["bytes"], one["weight"], one.get("unicode_range", ""))
        for one in entry["pieces"]
    )
    return Family(**{**entry, "pieces": pieces})


_ALL: Final = tuple(_family(entry) for entry in json.loads(MANIFEST.read_bytes())["families"])

BY_NAME: Final[Mapping[str, Family]] = {family.name: family for family in _ALL}
"""Every family of the manifest."""

FAMILIES: Final[Mapping[int, Family]] = {family.number: family for family in _ALL if family.number is not None}
"""The families that an element's `fontFamily` can name, by that number."""

LINE_HEIGHT: Final[Mapping[int, float]] = {
    number: family.line_height for number, family in FAMILIES.items() if family.line_height is not None
}
"""A family's line height, as a multiple of the font size."""


def default_line_height(family: int) -> float:
    """Return the line height that the editor gives a new text of this family; Excalifont's for an unknown number."""
    return LINE_HEIGHT.get(family, LINE_HEIGHT[DEFAULT])
