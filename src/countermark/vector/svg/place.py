"""Where an element is drawn: the style, map and viewport it meets, and how it got there."""

from __future__ import annotations

from dataclasses import dataclass

from countermark.vector.affine import IDENTITY, Box, Matrix
from countermark.vector.container import Json
from countermark.vector.path import bounds, transformed
from countermark.vector.shape import children_of
from countermark.vector.svg.number import Frame
from countermark.vector.svg.style import INITIAL, NONE, Ink, Style


@dataclass(frozen=True, slots=True)
class Place:
    """The state that children take from their parents while the tree is drawn."""

    frame: Frame
    matrix: Matrix = IDENTITY
    style: Style = INITIAL
    hidden: bool = False
    context_fill: Ink = NONE
    context_stroke: Ink = NONE
    used: tuple[str, ...] = ()
    level: int = 0
    groups: int = 0

    @property
    def units(self) -> Frame:
        """The frame of lengths here: the viewport with the font size in force."""
        return self.frame._replace(font_size=self.style.font_size)


def box_of(nodes: list[Json], matrix: Matrix) -> Box | None:
    """Return the box of nodes' geometry, without strokes and clips, in the user space that `matrix` leads from."""
    if matrix.determinant == 0:
        return None
    back = matrix.inverse()
    found: list[Box] = []
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        kind = node["kind"]
        if kind["type"] == "path":
            box = bounds(transformed(kind["path"], back))
            if box is not None:
                found.append(box)
        below = children_of(node)
        waiting.extend(below[1:] if kind.get("clip") else below)
    if not found:
        return None
    x0, y0, x1, y1 = zip(*found, strict=True)
    return Box(min(x0), min(y0), max(x1), max(y1))
