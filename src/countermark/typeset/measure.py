"""A text's width and height, as the editor measures them on a canvas."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Final, NamedTuple

from countermark.kernel.errors import CountermarkError
from countermark.typeset.fonts import BY_NAME, FAMILIES, default_line_height
from countermark.typeset.pieces import editor_fonts
from countermark.typeset.shape import STAND_IN, Line, stack

GRAIN: Final = 64
"""Font sizes count in 1/64 px: FreeType, which Chromium draws with on Linux, floors them to that."""

NAMED: Final = 8
"""How many foreign characters a reason names."""

_BREAK: Final = re.compile(r"\r\n?")


class Measured(NamedTuple):
    """A text's size in px. Where `approximate` is true, `reason` says which part of the width is an assumption."""

    width: float
    height: float
    approximate: bool
    reason: str


def measure(text: str, family: int, size: float, line_height: float | None = None) -> Measured:
    """Return the size of a text whose lines are already broken.

    `family` is an element's `fontFamily`, `size` its font size in px, `line_height` a multiple of the size, the
    family's own when None. The width is that of the widest line; the height does not depend on the font. Raises
    `input_invalid` for a size or line height that is no positive number, `part_unavailable` without the shaper.
    """
    if line_height is None:
        line_height = default_line_height(family)
    if not (0 < size < math.inf and 0 < line_height < math.inf):
        raise _refused(size, line_height)
    faces = stack(family, editor_fonts())
    if text and text.isprintable():
        lines = [faces.line(text)]
    else:
        # The editor puts the space of an empty line in before it looks for other line ends.
        spaced = "\n".join([one or " " for one in text.split("\n")])
        lines = [faces.line(one) for one in normalized(spaced).split("\n")]
    reason = _reason(family, lines)
    drawn = drawn_size(size, faces.units_per_em)
    width = max([one.advance * drawn + one.kerning * size for one in lines])
    return Measured(width, size * line_height * len(lines), bool(reason), reason)


def normalized(text: str) -> str:
    """Return a text with the editor's line ends and with eight spaces for a tab."""
    return _BREAK.sub("\n", text).replace("\t", "        ") if "\r" in text or "\t" in text else text


@lru_cache
def drawn_size(size: float, units_per_em: int) -> float:
    """Return the font size that glyphs are really drawn with, in px; kerning is scaled by the size as it is.

    FreeType's scale has 16 bits after the point.
    """
    scale = math.floor(math.floor(size * GRAIN) * 65536 / units_per_em + 0.5)
    return scale * units_per_em / (65536 * GRAIN)


def _refused(size: float, line_height: float) -> CountermarkError:
    return CountermarkError(
        "input_invalid",
        f"The font size {size!r} and the line height {line_height!r} have to be positive numbers.",
        next_action="Give both a number above 0.",
    )


def _reason(family: int, lines: list[Line]) -> str:
    known = FAMILIES.get(family)
    if known is not None and known.pieces and not any(one.foreign for one in lines):
        return ""
    said = []
    if known is None:
        said.append(f"{family} is no font family of the editor; measured with {STAND_IN}")
    elif known.role == "local":
        said.append(f"{known.name} is a font of the reader's machine; measured with {STAND_IN}")
    foreign = dict.fromkeys([cluster for one in lines for cluster in one.foreign])
    if foreign:
        why = next((one.gone for one in lines if one.gone), "")
        name = known.name if known and known.pieces else BY_NAME[STAND_IN].name
        named = ", ".join(_named(cluster) for cluster in list(foreign)[:NAMED])
        more = f" and {len(foreign) - NAMED} more" if len(foreign) > NAMED else ""
        said.append(f"{why or f'no font of {name} has them'}: assumed widths for {named}{more}")
    return "; ".join(said)


def _named(cluster: str) -> str:
    return f"{cluster} ({' '.join(f'U+{ord(character):04X}' for character in cluster)})"
