"""Font files for a renderer that knows no web fonts: a family's pieces as one TrueType font, under the family's name.

Renderers of SVG take one file for a family and look no further: of several pieces they take the first, and draw what it
lacks in another face without a word. So the glyphs that a text needs are taken out of each piece, with what shapes
them, and put into one font. It is for drawing only and is given to nobody: a font under a reserved name may not be
passed on changed.
"""

from __future__ import annotations

import io
import unicodedata
from functools import lru_cache
from typing import Any, Final, NamedTuple

from countermark.kernel.errors import CountermarkError
from countermark.typeset.fonts import BY_NAME, FOLDER, Family, Piece
from countermark.typeset.pieces import Face, editor_fonts, load, not_installed, require
from countermark.typeset.shape import STAND_IN

KEPT: Final = 64
"""Fonts that are remembered: one scene after another has the same words."""

_FAMILY_NAMES: Final = (1, 4, 6, 16)
_WINDOWS_UNICODE_ENGLISH: Final = (3, 1, 0x409)


class Font(NamedTuple):
    """A TrueType font's bytes, and the characters that it was asked for and has."""

    data: bytes
    has: frozenset[str]


def font(name: str, characters: frozenset[str]) -> Font | None:
    """Return one TrueType font with what a family has of these characters, None where it has none of them.

    Of a family without pieces, or an unknown one, the stand-in's glyphs are taken, under that family's name. Raises
    `part_unavailable` where the family's pieces are not installed or not those of the manifest.
    """
    family = BY_NAME.get(name)
    source = family if family is not None and family.pieces else BY_NAME[STAND_IN]
    return _made(name, source.name, frozenset(_spellings(characters)))


def _spellings(characters: frozenset[str]) -> set[str]:
    """Return the characters with those that they are composed of or compose to: shaping goes from one to the other."""
    found = {" "}
    for form in ("NFC", "NFD"):
        for one in characters:
            found.update(unicodedata.normalize(form, one))
    return found | characters


@lru_cache(KEPT)
def _made(name: str, source: str, characters: frozenset[str]) -> Font | None:
    family = BY_NAME[source]
    wanted = set(characters)
    parts: list[bytes] = []
    for piece in reversed(family.pieces):  # the last declared is asked first
        if any(ord(one) in codes for codes in piece.ranges() for one in wanted):
            face = _face(piece, family)
            taken = wanted & face.advance.keys()
            if taken:
                parts.append(_part(face, taken))
                wanted -= taken
    has = characters - wanted
    if not has - {" "}:
        return None
    whole = _merged(parts)
    _rename(whole, name)
    return Font(_saved(whole), has)


def _face(piece: Piece, family: Family) -> Face:
    folder = FOLDER if family.bundled else editor_fonts()
    found = load(piece, folder) if folder is not None else not_installed(family.name)
    if isinstance(found, str):
        raise CountermarkError(
            "part_unavailable",
            f"Text cannot be drawn: {found}.",
            next_action="Install the package countermark-editor: `make editor` in a checkout.",
            details={"part": "fonts"},
        )
    return found


def _part(face: Face, characters: set[str]) -> bytes:
    """Return the glyphs of these characters, with the features that shape them."""
    shaper = require("uharfbuzz")
    wanted = shaper.SubsetInput()
    wanted.unicode_set.set({ord(one) for one in characters})
    wanted.flags = shaper.SubsetFlags.NO_HINTING | shaper.SubsetFlags.NOTDEF_OUTLINE
    data: bytes = shaper.subset(face.font.face, wanted).blob.data
    return data


def _merged(parts: list[bytes]) -> Any:
    if len(parts) == 1:
        return require("fontTools.ttLib").TTFont(io.BytesIO(parts[0]))
    return require("fontTools.merge").Merger().merge([io.BytesIO(part) for part in parts])


def _rename(whole: Any, name: str) -> None:
    """Leave one name: the family's, and a plain weight, by which the renderer looks for it."""
    table = whole["name"]
    table.names = []
    for number in _FAMILY_NAMES:
        table.setName(name.replace(" ", "") if number == 6 else name, number, *_WINDOWS_UNICODE_ENGLISH)  # noqa: PLR2004 - the PostScript name
    table.setName("Regular", 2, *_WINDOWS_UNICODE_ENGLISH)
    whole["OS/2"].usWeightClass = 400


def _saved(opened: Any) -> bytes:
    out = io.BytesIO()
    opened.save(out)
    return out.getvalue()
