"""One line's width in ems, from the faces that a browser would take its characters from.

A browser asks the pieces of a family from the last declared to the first, then the next family of the stack, and leaves
out those whose range has none of the characters still open. A piece gives what its range and its glyphs cover, a base
with its marks as one; what is open in the end is the machine's. Each word is shaped by itself, so that nothing is
kerned with a space (a canvas does so unless it is asked for legible text; observed), and within a word each run of one
piece and one script. HarfBuzz shapes here as it does there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, cached_property, lru_cache
from itertools import groupby
from operator import itemgetter
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
_IDEOGRAPH: Final = r"\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\u3000-\u303f\uff00-\uffef"
_NOTHING: Final = r"\u00ad\u200b\u200e\u200f\u202a-\u202e\ufeff\ufffc"
_PARTS: Final = rf"[{_IDEOGRAPH}]\p{{Mark}}*|[^{_IDEOGRAPH}{_NOTHING}]+"
# What HarfBuzz draws with another character's glyph where a font has none of its own; of these spaces some are given a
# part of the em.
_EMS: Final = frozenset("\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2009\u200a\u205f\u3000")
_INSTEAD: Final = {**dict.fromkeys((*_EMS, "\u00a0", "\u2007", "\u2008", "\u202f"), " "), "\u2011": "\u2010"}
_STYLED: Final = re.compile("[\ufe00-\ufe0f]")  # asks for a glyph of another style, which the bundled fonts do not have
_PICTURE_STYLE: Final = "\ufe0f"
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
        self._offering: dict[str, tuple[int, ...]] = {}
        self._line = lru_cache(KEPT)(self._measured)
        self._word = lru_cache(KEPT)(self._shape)

    @cached_property
    def _main(self) -> Face | str | None:
        return self._assigned([" "])[0]

    def line(self, text: str) -> Line:
        """Return the width of a text without line ends."""
        return self._line(text) if len(text) <= SHORT else self._measured(text)

    def _measured(self, text: str) -> Line:
        if _CONTROL.search(text):
            text = text.translate(_CANVAS)
        advance = kerning = 0.0
        foreign: dict[str, None] = {}
        gone = ""
        words = text.split(" ")
        for word in words:
            if word:
                found = self._word(word) if len(word) <= SHORT else self._shape(word)
                advance += found.advance
                kerning += found.kerning
                if found.foreign:
                    foreign.update(dict.fromkeys(found.foreign))
                    gone = gone or found.gone
        if len(words) > 1:
            space = self._word(" ")
            advance += space.advance * (len(words) - 1)
            foreign.update(dict.fromkeys(space.foreign))
            gone = gone or space.gone
        return Line(advance, kerning, tuple(foreign), gone)

    def _shape(self, text: str) -> Line:
        if text.isascii():
            main = self._main
            if isinstance(main, Face) and main.advance.keys() >= set(text):
                return _shaped(main, text, "Latn" if _LETTER.search(text) else "Zyyy")
        parts = [text] if text.isascii() else _pattern(_PARTS).findall(text)
        advance = kerning = 0.0
        foreign: list[str] = []
        gone = ""
        for face, clusters, script in (one for part in parts for one in self._runs(part)):
            if isinstance(face, Face):
                shaped = _shaped(face, "".join(clusters), script)
                advance += shaped.advance
                kerning += shaped.kerning
                continue
            advance += sum(map(self._assumed, clusters))
            foreign += clusters
            gone = gone or face or ""
        return Line(advance, kerning, tuple(dict.fromkeys(foreign)), gone)

    def _runs(self, text: str) -> Iterator[tuple[Face | str | None, list[str], str]]:
        """Cut a text where its script or its face changes."""
        clusters = _clusters(text)
        for script, segment in groupby(zip(_scripts(clusters), clusters, strict=True), itemgetter(0)):
            kept = [cluster for _, cluster in segment]
            while kept and not _visible(kept[0]):
                del kept[0]
            for face, run in groupby(zip(self._assigned(kept), kept, strict=True), itemgetter(0)):
                yield face, [cluster for _, cluster in run], script

    def _assigned(self, clusters: Sequence[str]) -> list[Face | str | None]:
        """Return what draws each cluster: a face, a sentence where its piece is gone, None where no piece has it."""
        found: list[Face | str | None] = [None] * len(clusters)
        wanted = {at: seen for at, one in enumerate(clusters) if (seen := _visible(one)) and self._certain(one, seen)}
        offers = {at: frozenset(place for one in seen for place in self._offers(one)) for at, seen in wanted.items()}
        for place in sorted(frozenset[int]().union(*offers.values())):
            if any(place in offers[at] for at in wanted):
                piece, folder, _ = self._places[place]
                face = load(piece, folder) if folder else not_installed(CJK)
                for at, seen in list(wanted.items()):
                    if place in offers[at] if isinstance(face, str) else _draws(face, seen):
                        found[at] = face
                        del wanted[at]
        for at, cluster in enumerate(clusters):
            if at and not _visible(cluster):
                found[at] = found[at - 1]
        return found

    def _certain(self, cluster: str, visible: str) -> bool:
        """Return whether a cluster's piece is known: where marks that do not compose go among several pieces is not."""
        if len(cluster) == 1:
            return True
        alone = len(self._places) == 1 or len(visible) == 1 or len(unicodedata.normalize("NFC", visible)) == 1
        return alone and not _STYLED.search(cluster)

    def _offers(self, character: str) -> tuple[int, ...]:
        """Return the pieces whose range has a character."""
        if character not in self._offering:
            code = ord(character)
            self._offering[character] = tuple(
                place for place, (_, _, ranges) in enumerate(self._places) if any(code in codes for codes in ranges)
            )
        return self._offering[character]

    def _assumed(self, cluster: str) -> float:
        """Return the advance assumed for a cluster that the machine's fonts draw: as composed, if that is known."""
        composed = unicodedata.normalize("NFC", cluster)
        found = self._word(composed) if composed != cluster else None
        return found.advance + found.kerning if found and not found.foreign else _fixed(cluster)


@cache
def stack(family: int, editor: Path | None) -> Stack:
    """Return the faces of a family number; `editor` is the folder that holds the CJK family's folder."""
    named = FAMILIES.get(family)
    return Stack(named if named and named.pieces else BY_NAME[STAND_IN], editor)


def _visible(cluster: str) -> str:
    return _IGNORABLE.sub("", cluster)


def _draws(face: Face, cluster: str) -> bool:
    """Return whether HarfBuzz finds glyphs for a cluster: its own, the composed one, those of its parts."""
    return all(_has(face, one) for one in cluster) or face.advance.keys() >= set(unicodedata.normalize("NFC", cluster))


def _has(face: Face, character: str) -> bool:
    if character in face.advance or _INSTEAD.get(character) in face.advance:
        return True
    base, *marks = unicodedata.decomposition(character).split() or [""]
    canonical = bool(base) and not base.startswith("<")
    return canonical and all(chr(int(one, 16)) in face.advance for one in marks) and _has(face, chr(int(base, 16)))


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
    own = [face.glyphs[glyph.codepoint] for glyph in buffer.glyph_infos]
    if not text.isascii():
        # A glyph that was made invisible, or a mark, has no advance left to scale; some spaces have a part of the em.
        spaces = [text[glyph.cluster] in _EMS - face.advance.keys() for glyph in buffer.glyph_infos]
        own = [one if units and not space else 0 for one, units, space in zip(own, given, spaces, strict=True)]
    units, scaled = sum(given), sum(own)
    return Line(scaled / face.scale, (units - scaled) / face.scale)


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
    if _PICTURE_STYLE in cluster or (wide and unicodedata.category(first) == "So"):
        return _PICTURE_EM
    if wide:
        return _WIDE_EM
    return 0.0 if unicodedata.combining(first) else _OTHER_EM
