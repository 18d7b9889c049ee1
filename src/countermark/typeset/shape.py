"""One line's width in ems, from the faces that a browser would take its characters from.

A browser asks the pieces of a family from the last declared to the first, then the next family of the stack; each
piece gives what its range and its glyphs cover, a base with its marks goes to one piece, and the rest is the machine's.
Each word is shaped by itself, so that nothing is kerned with a space (a canvas does so unless it is asked for legible
text; observed), and within a word each run of one piece and one script. HarfBuzz shapes here as it does there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from countermark.typeset.fonts import BY_NAME, DEFAULT, FAMILIES, FOLDER, Family, Piece
from countermark.typeset.pieces import Face, load, not_installed, require

CJK: Final = "Xiaolai"
STAND_IN: Final = "Liberation Sans"
"""Measured in place of a font of the reader's machine: its advances were drawn to be Helvetica's and Arial's."""

KEPT: Final = 16_384
"""Lines, and words, whose widths a family remembers: wrapping asks for the same ones again and again."""

SHORT: Final = 256
"""Longer ones are measured anew, so that what is remembered stays small."""

# A canvas draws the white space of HTML as spaces; observed, and so of its specification.
_CANVAS: Final = dict.fromkeys(range(0x09, 0x0E), " ")
_CONTROL: Final = re.compile(r"[\x09-\x0d]")
_LETTER: Final = re.compile(r"[A-Za-z]")
# Characters without ink or advance, whatever the font says (Unicode, Default_Ignorable_Code_Point).
_IGNORABLE: Final = re.compile(
    "[\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c-\u200f\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
# Parts of a word that Chromium shapes by themselves: an ideograph with its marks, and what lies between characters that
# it draws as nothing.
_PARTS: Final = (
    r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}]\p{Mark}*"
    r"|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}"
    r"\u00ad\u200b\u200e\u200f\u202a-\u202e\ufeff\ufffc]+"
)
# What HarfBuzz draws with another character's glyph where a font has none of its own.
_SPACES: Final = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_INSTEAD: Final = {**dict.fromkeys(_SPACES, " "), "\u2011": "\u2010"}
_EMOJI_STYLE: Final = "\ufe0f"
_NO_SCRIPT: Final = ("Zyyy", "Zinh", "Zzzz")
# Advances, in ems, given to glyphs of the machine's own fonts, which nobody can know here.
_PICTURE_EM: Final = 1.25
_WIDE_EM: Final = 1.0
_OTHER_EM: Final = 0.6


class Line(NamedTuple):
    """A text's width in ems: the glyphs' advances, and what kerning adds to them.

    `foreign` are the clusters that no bundled font draws and whose advances are assumed; `gone` says why, where it is
    because a piece is not there.
    """

    advance: float
    kerning: float = 0.0
    foreign: tuple[str, ...] = ()
    gone: str = ""


class Stack:
    """The faces that a family's text is drawn with, in the order in which a browser asks them."""

    def __init__(self, family: Family, editor: Path | None, bundled: Path = FOLDER) -> None:
        places: list[tuple[Piece, Path | None]] = [(piece, bundled) for piece in reversed(family.pieces)]
        if family.number == DEFAULT:
            places += [(piece, editor) for piece in reversed(BY_NAME[CJK].pieces)]
        self.units_per_em = family.units_per_em
        self._places = [(piece, folder, piece.ranges()) for piece, folder in places]
        self._known: dict[str, Face | str | None] = {}
        self._line = lru_cache(KEPT)(self._measured)
        self._word = lru_cache(KEPT)(self._shape)

    def line(self, text: str) -> Line:
        """Return the width of a text without line ends."""
        return self._line(text) if len(text) <= SHORT else self._measured(text)

    def _measured(self, text: str) -> Line:
        if _CONTROL.search(text):
            text = text.translate(_CANVAS)
        words = text.split(" ")
        found = [self._word(word) if len(word) <= SHORT else self._shape(word) for word in words if word]
        advance = sum([word.advance for word in found])
        kerning = sum([word.kerning for word in found])
        if len(words) > 1:
            found.append(space := self._word(" "))
            advance += space.advance * (len(words) - 1)
        foreign = dict.fromkeys([cluster for word in found for cluster in word.foreign])
        if not foreign:
            return Line(advance, kerning)
        return Line(advance, kerning, tuple(foreign), next((word.gone for word in found if word.gone), ""))

    def _shape(self, text: str) -> Line:
        main = self._face(" ")
        if text.isascii() and isinstance(main, Face) and main.advance.keys() >= set(text):
            return _shaped(main, text, "Latn" if _LETTER.search(text) else "Zyyy")
        parts = [text] if text.isascii() else _pattern(_PARTS).findall(text)
        advance = kerning = 0.0
        foreign: list[str] = []
        gone = ""
        for face, run, script in (one for part in parts for one in self._runs(part)):
            if isinstance(face, Face):
                shaped = _shaped(face, run, script)
                advance += shaped.advance
                kerning += shaped.kerning
                continue
            clusters = _clusters(run)
            advance += sum(map(self._assumed, clusters))
            foreign += clusters
            gone = gone or face or ""
        return Line(advance, kerning, tuple(dict.fromkeys(foreign)), gone)

    def _runs(self, text: str) -> Iterator[tuple[Face | str | None, str, str]]:
        """Cut a text where its face or its script changes."""
        held: Face | str | None = None
        kept, run = "", ""
        for cluster, script in zip(clusters := _clusters(text), _scripts(clusters), strict=True):
            visible = _IGNORABLE.sub("", cluster)
            if not visible:
                run += cluster if run else ""
                continue
            face = self._cluster(cluster, visible)
            if run and (face is not held or script != kept):
                yield held, run, kept
                run = ""
            held, kept, run = face, script, run + cluster
        if run:
            yield held, run, kept

    def _cluster(self, cluster: str, visible: str) -> Face | str | None:
        if len(cluster) == 1:
            return self._face(cluster)
        if _EMOJI_STYLE in cluster:
            return None
        base, *marks = (self._face(character) for character in visible)
        if not isinstance(base, Face) or all(face is base for face in marks):
            return base
        # The base's own piece may have the composed character; in another one it is not looked for.
        return base if base.advance.keys() >= set(unicodedata.normalize("NFC", visible)) else None

    def _assumed(self, cluster: str) -> float:
        """Return the advance assumed for a cluster that the machine's fonts draw: as composed, if that is known."""
        composed = unicodedata.normalize("NFC", cluster)
        found = self._word(composed) if composed != cluster else None
        return found.advance + found.kerning if found and not found.foreign else _fixed(cluster)

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
                    return not_installed(CJK)
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


def _shaped(face: Face, text: str, script: str) -> Line:
    if face.plain and face.advance.keys() >= set(text) and not any(map(unicodedata.combining, text)):
        return Line(sum(map(face.advance.__getitem__, text)))
    shaper = require("uharfbuzz")
    buffer = shaper.Buffer()
    buffer.add_str(text)
    buffer.direction = "ltr"  # a run's width is the same in both directions
    buffer.script = script
    buffer.language = "en"
    shaper.shape(face.font, buffer)
    given = [position.x_advance for position in buffer.glyph_positions]
    # A glyph that was made invisible, or a mark, has no advance left to scale.
    own = sum([face.glyphs[glyph.codepoint] for glyph, units in zip(buffer.glyph_infos, given, strict=True) if units])
    return Line(own / face.units_per_em, (sum(given) - own) / face.units_per_em)


def _clusters(text: str) -> list[str]:
    """Cut a text into what a reader takes for one character (Unicode, extended grapheme clusters)."""
    return list(text) if text.isascii() else _pattern(r"\X").findall(text)


@cache
def _pattern(text: str) -> Any:
    return require("regex").compile(text)


def _scripts(clusters: list[str]) -> list[str]:
    """Return each cluster's script; what is common to all takes that of the text before it, else of the text after."""
    script = require("fontTools.unicodedata").script
    own = [script(cluster[0]) for cluster in clusters]
    last = next((name for name in own if name not in _NO_SCRIPT), "Zyyy")
    found = []
    for name in own:
        last = last if name in _NO_SCRIPT else name
        found.append(last)
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
