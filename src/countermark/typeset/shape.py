"""One line's width in ems, from the faces that a browser would take its characters from.

A browser asks the pieces of a family from the last declared to the first, then the next family of the stack; each
piece gives what its range and its glyphs cover, a base with its marks goes to one piece, and the rest is the machine's.
Kerning and ligatures happen within a run of one piece and one script. HarfBuzz shapes here as it does there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from countermark.typeset.fonts import BY_NAME, DEFAULT, FAMILIES, FOLDER, Family, Piece
from countermark.typeset.pieces import PACKAGE, Face, load, require

CJK: Final = "Xiaolai"
STAND_IN: Final = "Liberation Sans"
"""Measured in place of a font of the reader's machine: its advances were drawn to be Helvetica's and Arial's."""

LINES: Final = 32_768
"""Widths that a family remembers: wrapping asks for the same words again and again."""

# A canvas draws these as spaces and the controls as nothing (HTML, canvas text preparation algorithm; observed).
_CANVAS: Final = {**dict.fromkeys((*range(0x20), *range(0x7F, 0xA0))), **dict.fromkeys(range(0x09, 0x0E), " ")}
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_LETTER: Final = re.compile(r"[A-Za-z]")
# Characters without ink or advance, whatever the font says (Unicode, Default_Ignorable_Code_Point).
_IGNORABLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
# What HarfBuzz draws with another character's glyph where a font has none of its own.
_SPACES: Final = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_INSTEAD: Final = {**dict.fromkeys(_SPACES, " "), "\u2011": "\u2010"}
_EMOJI_STYLE: Final = "\ufe0f"
# Advances, in ems, given to glyphs of the machine's own fonts, which nobody can know here.
_PICTURE_EM: Final = 1.25
_WIDE_EM: Final = 1.0
_OTHER_EM: Final = 0.6


@dataclass(frozen=True, slots=True)
class Line:
    """A line's width in ems, and what of it is not from a bundled font: the clusters, and why where a piece is gone."""

    ems: float
    foreign: tuple[str, ...] = ()
    gone: str = ""


class Stack:
    """The faces that a family's text is drawn with, in the order in which a browser asks them."""

    def __init__(self, family: Family, editor: Path | None) -> None:
        places: list[tuple[Piece, Path | None]] = [(piece, FOLDER) for piece in reversed(family.pieces)]
        if family.number == DEFAULT:
            places += [(piece, editor) for piece in reversed(BY_NAME[CJK].pieces)]
        self._places = [(piece, folder, piece.ranges()) for piece, folder in places]
        self._known: dict[str, Face | str | None] = {}
        self.line = lru_cache(LINES)(self._line)

    def _line(self, text: str) -> Line:
        if _CONTROL.search(text):
            text = text.translate(_CANVAS)
        main = self._face(" ")
        if isinstance(main, Face) and main.advance.keys() >= set(text):
            if main.plain:
                return Line(sum(map(main.advance.__getitem__, text)))
            if text.isascii():
                return Line(_shaped(main, text, "Latn" if _LETTER.search(text) else "Zyyy"))
        return self._mixed(text)

    def _mixed(self, text: str) -> Line:
        ems = 0.0
        foreign: list[str] = []
        gone = ""
        for face, run, script in self._runs(unicodedata.normalize("NFC", text)):
            if isinstance(face, Face):
                ems += _shaped(face, run, script)
                continue
            ems += sum(map(_fixed, _clusters(run)))
            foreign += _clusters(run)
            gone = gone or face or ""
        return Line(ems, tuple(dict.fromkeys(foreign)), gone)

    def _runs(self, text: str) -> Iterator[tuple[Face | str | None, str, str]]:
        """Cut a text where its face or its script changes."""
        held: Face | str | None = None
        kept, run = "", ""
        for cluster, script in zip(clusters := _clusters(text), _scripts(clusters), strict=True):
            visible = _IGNORABLE.sub("", cluster)
            face = self._cluster(cluster, visible) if visible else held
            if run and (face is not held or script != kept):
                yield held, run, kept
                run = ""
            held, kept, run = face, script, run + cluster
        if run and (held is not None or _IGNORABLE.sub("", run)):
            yield held, run, kept

    def _cluster(self, cluster: str, visible: str) -> Face | str | None:
        if len(cluster) == 1:
            return self._face(cluster)
        if _EMOJI_STYLE in cluster:
            return None
        faces = [self._face(character) for character in visible]
        return next(
            (face for face in faces if isinstance(face, str)), faces[0] if len(set(map(id, faces))) == 1 else None
        )

    def _face(self, character: str) -> Face | str | None:
        """Return the face that draws a character, a sentence where its piece is gone, None where no family has it."""
        if character not in self._known:
            self._known[character] = self._find(character)
        return self._known[character]

    def _find(self, character: str) -> Face | str | None:
        code = ord(character)
        for piece, folder, ranges in self._places:
            if any(code in codes for codes in ranges):
                if folder is None:
                    return f"the pieces of {CJK} come with the package {PACKAGE}, which is not installed"
                face = load(piece, folder)
                if isinstance(face, str) or character in face.advance:
                    return face
        instead = _INSTEAD.get(character)
        return self._face(instead) if instead else None


@cache
def stack(family: int, editor: Path | None) -> Stack:
    """Return the faces of a family number; `editor` is the folder that holds the CJK family's folder."""
    named = FAMILIES.get(family)
    return Stack(named if named and named.pieces else BY_NAME[STAND_IN], editor)


def _shaped(face: Face, text: str, script: str) -> float:
    shaper = require("uharfbuzz")
    buffer = shaper.Buffer()
    buffer.add_str(text)
    buffer.direction = "ltr"  # a run's width is the same in both directions
    buffer.script = script
    buffer.language = "en"
    shaper.shape(face.font, buffer)
    units: int = sum([position.x_advance for position in buffer.glyph_positions])
    return units / face.units_per_em


def _clusters(text: str) -> list[str]:
    """Cut a text into what a reader takes for one character (Unicode, extended grapheme clusters)."""
    return list(text) if text.isascii() else _grapheme().findall(text)


@cache
def _grapheme() -> re.Pattern[str]:
    return require("regex").compile(r"\X")  # type: ignore[no-any-return]


def _scripts(clusters: list[str]) -> list[str]:
    """Return each cluster's script; what is common to all takes that of the text before it, else of the text after."""
    script = require("fontTools.unicodedata").script
    own = [script(cluster[0]) for cluster in clusters]
    first = next((name for name in own if name not in ("Zyyy", "Zinh", "Zzzz")), "Zyyy")
    found: list[str] = []
    for name in own:
        found.append(name if name not in ("Zyyy", "Zinh", "Zzzz") else found[-1] if found else first)
    return found


def _fixed(cluster: str) -> float:
    """Return the advance given to a cluster that the machine's fonts draw."""
    first = cluster[0]
    wide = unicodedata.east_asian_width(first) in "WF"
    if _EMOJI_STYLE in cluster or (wide and unicodedata.category(first) == "So"):
        return _PICTURE_EM
    if wide:
        return _WIDE_EM
    return 0.0 if unicodedata.combining(first) else _OTHER_EM
