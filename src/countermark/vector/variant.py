"""Variants of a board: where the artboard stands on it, and what lies behind.

A variant is a display list made from another one, so that every format of a variant shows the same. Its frame is the
board's own shape around the artboard; what crossed the artboard's edge stays cut there.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final, Literal, NamedTuple

from countermark.vector.affine import Box
from countermark.vector.container import Json
from countermark.vector.display import Area, Clip, Display, Fill, Group, Shape
from countermark.vector.ground import BLACK, DARK, WHITE, ground_for
from countermark.vector.knockout import GAP, one_ink
from countermark.vector.paint_server import PaintServer, Solid
from countermark.vector.reversal import reversed_for

SAFE: Final = 0.8
"""A maskable icon's safe zone: a circle of 40 % of the side about the middle (W3C, Web Application Manifest)."""
ON_DARK: Final = 0.8


class Treatment(NamedTuple):
    """What a variant does: `fit` places the artboard in `share` of a board, on a `ground` or none, in its `ink`."""

    fit: Literal["frame", "circle"] = "frame"
    share: float = 1.0
    ground: bool = False
    ink: Literal["full", "black", "white", "reversed"] = "full"


TREATMENTS: Final = {
    "full-colour": Treatment(),
    "maskable": Treatment("circle", SAFE, ground=True),
    "apple-touch": Treatment("frame", 0.8, ground=True),
    "social-card": Treatment("frame", 0.6, ground=True),
    "one-colour-black": Treatment(ink="black"),
    "one-colour-white": Treatment("frame", ON_DARK, ground=True, ink="white"),
    "reversed": Treatment("frame", ON_DARK, ground=True, ink="reversed"),
}

DERIVED: Final = frozenset(name for name, treatment in TREATMENTS.items() if treatment.ink != "full")
"""Variants in other inks, which not every drawing has."""


def treated(shown: Display, variant: str, width: int, height: int) -> Display:
    """Return a display list as a variant shows it on a board of width x height pixels.

    Raise `variant_not_derivable` for a variant in other inks that the drawing does not have.
    """
    treatment = TREATMENTS[variant]
    if treatment.ink != "full":
        shown = _inked(shown, treatment.ink)
    if not treatment.ground:
        return shown
    box = shown.artboard.box
    frame = _frame(box, treatment, width, height)
    behind: PaintServer = shown.background if isinstance(shown.background, Solid) else Solid(ground_for(shown))
    if treatment.ink != "full":
        behind = Solid(DARK)
    items = shown.items
    if shown.background is not None and not isinstance(shown.background, Solid):
        items = (Shape(0, _rectangle(box), "NonZero", (Fill(shown.background, 1.0, "Normal"),), box), *items)
    if shown.crosses:
        items = (Group(0, items, clip=Clip(0, (Area(_rectangle(box), "NonZero"),))),)
    return replace(shown, artboard=shown.artboard._replace(box=frame), background=behind, items=items)


def cut(variant: str, side: int) -> float:
    """Return how wide the cuts between shapes are on a variant's board, in pixels of a board of that side."""
    return 2 * GAP * side * TREATMENTS[variant].share


def _inked(shown: Display, ink: str) -> Display:
    if ink == "reversed":
        return reversed_for(shown)
    return one_ink(shown, BLACK if ink == "black" else WHITE)


def _frame(box: Box, treatment: Treatment, width: int, height: int) -> Box:
    """Return the box around the artboard's that has the board's shape and leaves the artboard its share."""
    if treatment.fit == "circle":
        scale = min(width, height) * treatment.share / math.hypot(box.width, box.height)
    else:
        scale = min(width / box.width, height / box.height) * treatment.share
    x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
    across, down = width / scale / 2, height / scale / 2
    return Box(x - across, y - down, x + across, y + down)


def _rectangle(box: Box) -> Json:
    corners = [(box.x0, box.y0), (box.x1, box.y0), (box.x1, box.y1), (box.x0, box.y1)]
    return {"subpaths": [{"closed": True, "anchors": [{"p": list(corner)} for corner in corners]}]}
