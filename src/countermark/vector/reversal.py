"""The reversed variant: a drawing for a dark ground, whose dark inks turn white and whose other colours stay.

A light shape on one that turned white becomes the ground's colour, so that the edge between them stays. A gradient or a
translucent ink that runs into the dark cannot be turned and is refused: `variant_not_derivable`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from countermark.vector.affine import Box
from countermark.vector.display import Display, Fill, Group, Image, Item, Stroke, Tiling
from countermark.vector.ground import DARK, WHITE, contrast
from countermark.vector.knockout import LIGHT, refusal
from countermark.vector.paint_server import Rgb, Solid

VANISHING: Final = 2.0
"""An ink of less contrast with the dark ground than this is turned white: navy has 1.6, a mid blue 3.9."""

Items = tuple[Item, ...]


def reversed_for(shown: Display, ground: Rgb = DARK) -> Display:
    """Return a display list for a dark ground; raise `variant_not_derivable` with the object and the reason."""
    if shown.background is not None:
        raise refusal(0, "the artboard has a background, which is its ground already")
    return replace(shown, items=_turned(shown.items, [], ground))


def _turned(items: Items, below: list[tuple[Box, bool]], ground: Rgb) -> Items:
    """Turn items in paint order; `below` holds the boxes of fills so far, and whether each turned white."""
    found: list[Item] = []
    for item in items:
        if isinstance(item, Group):
            found.append(replace(item, items=_turned(item.items, below, ground)))
            continue
        if isinstance(item, Image):
            raise refusal(item.node, "it is a picture of pixels")
        over = next((turned for box, turned in reversed(below) if _holds(box, item.box)), False)
        marks = tuple(_mark(item.node, mark, ground, on_white=over) for mark in item.marks)
        found.append(replace(item, marks=marks))
        for old, new in zip(item.marks, marks, strict=True):
            if isinstance(new, Fill):
                below.append((item.box, isinstance(new.ink, Solid) and new.ink.rgb == WHITE and old is not new))
    return tuple(found)


def _mark(node: int, mark: Fill | Stroke, ground: Rgb, *, on_white: bool) -> Fill | Stroke:
    if isinstance(mark.ink, Tiling):
        raise refusal(node, "it is filled with a pattern")
    colours = [mark.ink.rgb] if isinstance(mark.ink, Solid) else [stop.rgb for stop in mark.ink.stops]
    dark = [colour for colour in colours if contrast(colour, ground) < VANISHING]
    light = on_white and all(contrast(colour, WHITE) < LIGHT for colour in colours)
    if not dark and not light:
        return mark
    if not isinstance(mark.ink, Solid):
        raise refusal(node, "its gradient runs into the ground")
    if mark.opacity < 1 or mark.blend != "Normal":
        raise refusal(node, "it is translucent, or blends with what lies below")
    return replace(mark, ink=Solid(ground if light else WHITE))


def _holds(box: Box, other: Box) -> bool:
    return box.x0 <= other.x0 and box.y0 <= other.y0 and box.x1 >= other.x1 and box.y1 >= other.y1
