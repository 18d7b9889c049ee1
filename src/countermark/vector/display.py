"""What paints on one artboard, in the few words that the drawer and the writer know; `resolve` reads it from a tree.

One reading of the tree serves both, so that a PNG and an SVG of a board cannot mean different things. Whatever the
tree holds that this list cannot say is named in `Display.undrawn`, with the object's id, and never left out silently.
Coordinates are document points, y down; lists are in paint order, the first painted first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from countermark.vector.affine import Box, Matrix
from countermark.vector.artboard import Artboard
from countermark.vector.container import Json
from countermark.vector.paint_server import PaintServer

BLENDS: Final = frozenset(
    {
        "Normal",
        "Multiply",
        "Screen",
        "Overlay",
        "Darken",
        "Lighten",
        "ColorDodge",
        "ColorBurn",
        "HardLight",
        "SoftLight",
        "Difference",
        "Exclusion",
        "Hue",
        "Saturation",
        "Color",
        "Luminosity",
    }
)

_SQUARE_CAP: Final = math.sqrt(2)


@dataclass(frozen=True, slots=True)
class Undrawn:
    """Something of an object that neither the drawer nor the writer can show."""

    node: int
    name: str
    what: str

    def as_json(self) -> Json:
        """Return the JSON form."""
        return {"id": self.node, "name": self.name, "what": self.what}


@dataclass(frozen=True, slots=True)
class Fill:
    """One fill of a shape's appearance."""

    ink: PaintServer
    opacity: float
    blend: str


@dataclass(frozen=True, slots=True)
class Stroke:
    """One stroke of a shape's appearance; `width` and `dash` are points, `align` is Center, Inside or Outside."""

    ink: PaintServer
    opacity: float
    blend: str
    width: float
    cap: str
    join: str
    miter_limit: float
    align: str
    dash: tuple[float, ...]
    dash_offset: float
    pen: Matrix | None = None
    """Where the pen is not round: path through its inverse, stroke, outline through it; the paint stays in place."""

    @property
    def reach(self) -> float:
        """How far the stroke can paint beyond the path, in points."""
        if self.align == "Inside":
            return 0.0
        half = self.width if self.align == "Outside" else self.width / 2
        corner = self.miter_limit if self.join == "Miter" else 1.0
        if self.pen is not None:
            half *= math.hypot(*self.pen[:4])
        return half * max(corner, _SQUARE_CAP if self.cap == "Square" else 1.0)


@dataclass(frozen=True, slots=True)
class Shape:
    """A path with its fills and strokes; `path` is native path data, `rule` is NonZero or EvenOdd."""

    node: int
    path: Json
    rule: str
    marks: tuple[Fill | Stroke, ...]
    box: Box


@dataclass(frozen=True, slots=True)
class Area:
    """Native path data with its fill rule."""

    path: Json
    rule: str


@dataclass(frozen=True, slots=True)
class Clip:
    """A clipping region: what lies in any of its areas."""

    node: int
    areas: tuple[Area, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Items composited as one when `clip`, `opacity`, `blend` or `isolate` say so."""

    node: int
    items: tuple[Shape | Group, ...]
    opacity: float = 1.0
    blend: str = "Normal"
    isolate: bool = False
    clip: Clip | None = None

    @property
    def plain(self) -> bool:
        """Whether the group changes nothing about how its items paint."""
        return self.opacity >= 1 and self.blend == "Normal" and not self.isolate and self.clip is None


@dataclass(frozen=True, slots=True)
class Display:
    """Everything that paints on one artboard, and what cannot be shown."""

    artboard: Artboard
    title: str
    background: PaintServer | None
    items: tuple[Shape | Group, ...]
    undrawn: tuple[Undrawn, ...]

    @property
    def crosses(self) -> bool:
        """Whether something paints beyond the artboard's edge, so that a clip is needed."""
        box = self.artboard.box
        return any(
            shape.box.x0 < box.x0 or shape.box.y0 < box.y0 or shape.box.x1 > box.x1 or shape.box.y1 > box.y1
            for shape in shapes(self.items)
        )


def shapes(items: tuple[Shape | Group, ...]) -> Iterator[Shape]:
    """Yield every shape in paint order."""
    for item in items:
        if isinstance(item, Group):
            yield from shapes(item.items)
        else:
            yield item
