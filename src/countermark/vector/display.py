"""What paints on one artboard, in the few words that the drawer and the writer know; `resolve` reads it from a tree.

One reading of the tree serves both, so that a PNG and an SVG of a board cannot mean different things. Whatever the
tree holds that this list cannot say is named in `Display.undrawn`, with the object's id, and never left out silently.
Coordinates are document points, y down; lists are in paint order, the first painted first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from countermark.vector.affine import IDENTITY, Box, Matrix
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
class Tiling:
    """A paint that repeats `items` in every `tile` of a space of its own, which `matrix` maps into document points."""

    name: str
    items: tuple[Item, ...]
    tile: Box
    matrix: Matrix

    def seen_through(self, matrix: Matrix) -> Tiling:
        """Return the tiling with its placement mapped by a matrix."""
        return replace(self, matrix=matrix @ self.matrix)


@dataclass(frozen=True, slots=True)
class Fill:
    """One fill of a shape's appearance."""

    ink: PaintServer | Tiling
    opacity: float
    blend: str


@dataclass(frozen=True, slots=True)
class Stroke:
    """One stroke of a shape's appearance; `width` and `dash` are points, `align` is Center, Inside or Outside."""

    ink: PaintServer | Tiling
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
class Mask:
    """What a group is multiplied by: the luminance of `items` over nothing, or their alpha alone.

    With `linear` the luminance is taken of linear light. `invert` takes the rest to one. Where `outside` is set, what
    no item covers shows instead of being hidden.
    """

    node: int
    items: tuple[Item, ...]
    luminance: bool
    linear: bool = False
    invert: bool = False
    outside: bool = False


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: encoded bytes of `mime` whose `width` x `height` pixels `matrix` maps into document points.

    `smooth` is False where pixels are to stay squares.
    """

    node: int
    key: str
    mime: str
    data: bytes
    width: int
    height: int
    matrix: Matrix
    smooth: bool
    box: Box


@dataclass(frozen=True, slots=True)
class Group:
    """Items composited as one when `clip`, `mask`, `opacity`, `blend` or `isolate` say so.

    `matrix` maps the space of the items, and of the clip and the mask, into that of the group.
    """

    node: int
    items: tuple[Item, ...]
    opacity: float = 1.0
    blend: str = "Normal"
    isolate: bool = False
    clip: Clip | None = None
    mask: Mask | None = None
    matrix: Matrix | None = None

    @property
    def plain(self) -> bool:
        """Whether the group changes nothing about how its items paint."""
        layered = self.opacity < 1 or self.blend != "Normal" or self.isolate
        return not layered and self.clip is None and self.mask is None and self.matrix is None


Item = Shape | Image | Group


@dataclass(frozen=True, slots=True)
class Display:
    """Everything that paints on one artboard, and what cannot be shown."""

    artboard: Artboard
    title: str
    background: PaintServer | None
    items: tuple[Item, ...]
    undrawn: tuple[Undrawn, ...]

    @property
    def crosses(self) -> bool:
        """Whether something paints beyond the artboard's edge, so that a clip is needed."""
        own = self.artboard.box
        return any(
            box.x0 < own.x0 or box.y0 < own.y0 or box.x1 > own.x1 or box.y1 > own.y1
            for box in _boxes(self.items, IDENTITY)
        )


def shapes(items: Iterable[Item]) -> Iterator[Shape]:
    """Yield every shape in paint order; those of masks and of pattern tiles paint through others and are not among it.

    Boxes are in the space that the shape is drawn in.
    """
    for item in items:
        if isinstance(item, Group):
            yield from shapes(item.items)
        elif isinstance(item, Shape):
            yield item


def painting(items: Iterable[Item]) -> Iterator[int]:
    """Yield the id of every object that takes part in a picture: shapes, images, masks and tiles too; some twice."""
    for item in items:
        yield item.node
        if isinstance(item, Group):
            yield from painting(item.items)
            if item.mask is not None:
                yield from painting(item.mask.items)
        elif isinstance(item, Shape):
            for mark in item.marks:
                if isinstance(mark.ink, Tiling):
                    yield from painting(mark.ink.items)


def _boxes(items: Iterable[Item], matrix: Matrix) -> Iterator[Box]:
    for item in items:
        if isinstance(item, Group):
            yield from _boxes(item.items, matrix if item.matrix is None else matrix @ item.matrix)
        else:
            yield item.box if matrix is IDENTITY else item.box.seen_through(matrix)
