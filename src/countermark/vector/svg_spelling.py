"""How the SVG writer spells: numbers of a fixed fineness, path data, matrices, opacities, text that XML can hold."""

from __future__ import annotations

import math
from typing import Final
from xml.sax.saxutils import quoteattr

from countermark.vector.affine import Matrix
from countermark.vector.container import Json
from countermark.vector.path import segments

PRECISION: Final = 6
"""Decimals keep one part in 10^6 of the artboard's longer side: a hundredth of a pixel at 8,192 pixels."""

SHORT: Final = 6
_BLENDS: Final[dict[str, str]] = {
    "ColorDodge": "color-dodge",
    "ColorBurn": "color-burn",
    "HardLight": "hard-light",
    "SoftLight": "soft-light",
}


def number(value: float, decimals: int) -> str:
    """Return the shortest decimal text of a number rounded to so many decimals, never with an exponent."""
    text = f"{value:.{max(decimals, 0)}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in {"-0", ""} else text


def decimals_for(side: float) -> int:
    """Return how many decimals keep `PRECISION` digits of a side."""
    return max(PRECISION - 1 - math.floor(math.log10(side)), 0)


def path_data(path: Json, decimals: int) -> str:
    """Return a path's `d`."""
    return "".join(_subpath(subpath, decimals) for subpath in path["subpaths"])


def matrix_text(matrix: Matrix) -> str:
    """Return a transform that is one matrix."""
    return f"matrix({' '.join(_significant(value) for value in matrix)})"


def opacity_text(name: str, value: float) -> str:
    """Return an attribute for an opacity, nothing for a full one."""
    return "" if value >= 1 else f' {name}="{number(value, SHORT)}"'


def style_text(blend: str, *, isolate: bool = False) -> str:
    """Return a style attribute for what has no attribute of its own."""
    parts = []
    if blend != "Normal":
        parts.append(f"mix-blend-mode:{_BLENDS.get(blend, blend.lower())}")
    if isolate:
        parts.append("isolation:isolate")
    return f" style={quoteattr(';'.join(parts))}" if parts else ""


def printable(text: str) -> str:
    """Drop the characters that XML cannot hold, in any spelling."""
    return "".join(one for one in text if (one >= " " or one in "\t\n") and one not in "\ufffe\uffff")


def _subpath(subpath: Json, decimals: int) -> str:
    found: list[str] = []
    here = ("", "")
    for start, out, into, end in segments(subpath):
        if not found:
            here = (number(start[0], decimals), number(start[1], decimals))
            found.append(f"M{here[0]} {here[1]}")
        there = (number(end[0], decimals), number(end[1], decimals))
        if out is None or into is None:
            found.append(_straight(here, there))
        else:
            points = [number(value, decimals) for value in (*out, *into)]
            found.append(f"C{' '.join((*points, *there))}")
        here = there
    if found and subpath.get("closed"):
        if found[-1][0] != "C" and len(found) > 2:  # noqa: PLR2004 - more than a move and the way back
            found.pop()  # Z itself draws the straight way back to the start
        found.append("Z")
    return "".join(found)


def _straight(here: tuple[str, str], there: tuple[str, str]) -> str:
    if here[1] == there[1]:
        return f"H{there[0]}"
    if here[0] == there[0]:
        return f"V{there[1]}"
    return f"L{there[0]} {there[1]}"


def _significant(value: float) -> str:
    """Return a matrix entry with nine significant digits, written without an exponent."""
    if value == 0:
        return "0"
    return number(value, max(9 - 1 - math.floor(math.log10(abs(value))), 0))
