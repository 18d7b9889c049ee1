"""A PNG of an exported SVG: drawn by resvg in a child, with the editor's families as whole fonts and no other."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr
from xml.sax.saxutils import unescape as plain

from countermark.raster import apart
from countermark.raster.picture import MAX_PIXELS
from countermark.scene import slot
from countermark.scene.codes import refuse
from countermark.scene.slot import Slot
from countermark.typeset.merge import Font, font
from countermark.typeset.shape import CJK, STAND_IN

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

SECONDS: Final = 300
"""For one picture. The largest, of 64 million pixels, takes 14 seconds of a processor, and 44 in dark colours."""

NAMED: Final = 8
"""How many characters without a font a warning names."""

# One line of text as the editor writes it; nothing in it but escaped characters.
_TEXT: Final = re.compile(r'(<text [^>]*?font-family="([^",>]*)[^>]*?)style="white-space: pre;"([^>]*>)([^<]*)</text>')
_JOINS: Final = re.compile(r"[\u200b-\u200f\u2060\ufe00-\ufe0f]")


def draw(workspace: Workspace, svg: str, size: tuple[float, float], scale: float) -> tuple[bytes, tuple[str, ...]]:
    """Return a PNG of an SVG of that size, `scale` times as large, and what is not in it.

    Its sides are whole pixels, what remains of the last is cut, as the editor does. Raises `too_large`,
    `part_unavailable`, `deadline_exceeded`, `child_failed`.
    """
    width, height = (max(1, int(side * scale)) for side in size)
    if width * height > MAX_PIXELS:
        raise refuse(
            "too_large",
            f"The picture would have {width} by {height} pixels, more than {MAX_PIXELS} in all.",
            next_action="Choose a smaller scale, or divide the scene.",
            details={"width": width, "height": height, "limit": MAX_PIXELS},
        )
    fonts, lacking = _fonts(svg)
    asked = {"width": width, "height": height, "scale": scale}
    lettered = _TEXT.sub(lambda text: _spelled_out(text, fonts), svg).encode("utf-8")
    with slot.held(workspace) as place, _laid_out(place, list(fonts.values())) as files:
        data, unobserved = apart.draw(place.start, workspace.clock, lettered, {**asked, "fonts": files}, SECONDS)
    return data, (*unobserved, *_told(lacking))


def _fonts(svg: str) -> tuple[dict[str, Font], set[str]]:
    """Return a font for each family that is named, of the characters it is named for, and what none of them has.

    A browser goes on to the next family for what one lacks, and in the end to the machine's fonts; here that is always
    the CJK family and then the stand-in.
    """
    wanted: dict[str, set[str]] = {}
    for text in _TEXT.finditer(svg):
        wanted.setdefault(_unescaped(text[2]), set()).update(_unescaped(text[4]))
    made = {name: found for name, characters in wanted.items() if (found := font(name, frozenset(characters)))}
    lacking = set[str]()
    for name, characters in wanted.items():
        lacking |= characters - (made[name].has if name in made else frozenset())
    lacking = {one for one in lacking if not (one.isspace() or _JOINS.match(one))}
    for name in (CJK, STAND_IN):
        more = font(name, frozenset(lacking | wanted.get(name, set()))) if lacking else None
        if more is not None:
            made[name] = more
            lacking -= more.has
    return made, lacking


def _spelled_out(text: re.Match[str], fonts: Mapping[str, Font]) -> str:
    """Return a line of text for the renderer: each character in the family that has it, and spaces kept.

    Left to itself, the renderer looks for another face for a whole line, and gives up where two faces make different
    numbers of glyphs of it. It knows the older word for keeping spaces.
    """
    before, after, said = text[1], text[3], _unescaped(text[4])
    first = _unescaped(text[2])
    families: list[str] = []
    for one in said:
        mark = unicodedata.combining(one) or _JOINS.match(one)
        families.append(families[-1] if mark and families else _family(one, first, fonts))
    runs = []
    for family, run in groupby(zip(families, said, strict=True), itemgetter(0)):
        letters = escape("".join(letter for _, letter in run))
        runs.append(letters if family == first else f"<tspan font-family={quoteattr(family)}>{letters}</tspan>")
    return f'{before}xml:space="preserve"{after}{"".join(runs)}</text>'


def _family(character: str, first: str, fonts: Mapping[str, Font]) -> str:
    for name in (first, CJK, STAND_IN):
        if name in fonts and character in fonts[name].has:
            return name
    return first


def _unescaped(text: str) -> str:
    """Return what an escaped text of the export says."""
    return plain(text, {"&#160;": "\u00a0", "&quot;": '"'})


def _told(lacking: set[str]) -> tuple[str, ...]:
    """Return the warning about characters that are left out, if there are any."""
    if not lacking:
        return ()
    named = ", ".join(f"{one} (U+{ord(one):04X})" for one in sorted(lacking)[:NAMED])
    more = f" and {len(lacking) - NAMED} more" if len(lacking) > NAMED else ""
    return (f"no font here has {named}{more}: left out of the picture",)


@contextmanager
def _laid_out(place: Slot, fonts: Sequence[Font]) -> Iterator[list[str]]:
    """Lay fonts out as files while they are needed; what an earlier process left is taken away first."""
    files = place.workspace.files
    folder = f".countermark/stage/render-{place.number}"
    if files.exists(folder):
        files.remove_tree(folder)
    files.make_dir(folder)
    try:
        names = [f"{folder}/{number}.ttf" for number in range(len(fonts))]
        for name, one in zip(names, fonts, strict=True):
            files.create(name, one.data)
        yield [str(place.workspace.path / name) for name in names]
    finally:
        files.remove_tree(folder)
