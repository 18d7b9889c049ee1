"""Where an element is drawn: the style, map and viewport it meets, and how it got there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from countermark.vector.affine import IDENTITY, Box, Matrix
from countermark.vector.container import Json
from countermark.vector.path import bounds, transformed
from countermark.vector.shape import children_of
from countermark.vector.svg.number import Frame
from countermark.vector.svg.style import INITIAL, NONE, Ink, Style


@dataclass(frozen=True, slots=True)
class Source:
    """A paint with the element that it was said of: where its user space lies and, when asked, how large it is."""

    ink: Ink
    matrix: Matrix
    units: Frame
    box: Callable[[], Box | None]


@dataclass(frozen=True, slots=True)
class Place:
    """The state that children take from their parents while the tree is drawn.

    `used` are the ids of what is being drawn by reference, outermost first, with what refers to them.
    """

    frame: Frame
    matrix: Matrix = IDENTITY
    style: Style = INITIAL
    hidden: bool = False
    context_fill: Source | None = None
    context_stroke: Source | None = None
    used: tuple[str, ...] = ()
    level: int = 0
    groups: int = 0

    @property
    def units(self) -> Frame:
        """The frame of lengths here: the viewport with the font size in force."""
        return self.frame._replace(font_size=self.style.font_size)

    def source(self, ink: Ink, box: Callable[[], Box | None]) -> Source:
        """Return a paint of the element here, or of the one that `context-fill` and `context-stroke` stand for."""
        if ink.kind == "context":
            found = self.context_stroke if ink.stroke else self.context_fill
            return found or Source(NONE, self.matrix, self.units, box)
        if ink.kind == "current":
            ink = ink._replace(kind="colour", colour=self.style.color)
        return Source(ink, self.matrix, self.units, box)


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
        elif kind["type"] == "image":
            found.append(Box(0.0, 0.0, kind["width"], kind["height"]).seen_through(back @ Matrix(*kind["xf"])))
        below = children_of(node)
        waiting.extend(below[1:] if kind.get("clip") else below)
    if not found:
        return None
    x0, y0, x1, y1 = zip(*found, strict=True)
    return Box(min(x0), min(y0), max(x1), max(y1))
