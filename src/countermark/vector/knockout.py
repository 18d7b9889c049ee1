"""One ink for a drawing of many colours: what lies on top is cut out of what lies below, so that inner edges survive.

Two shapes of one ink that touch would become one blob. Where they had different colours, the upper one is cut out of
the lower one a little larger than it is: the gap is the edge. A light shape on a darker one is no ink at all, but a
hole. What cannot be told that way is refused with the reason: `variant_not_derivable`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from countermark.kernel.errors import CountermarkError, Ending, register
from countermark.vector.affine import Box, Point
from countermark.vector.brush import one_sided, take_pen
from countermark.vector.container import Json
from countermark.vector.display import Area, Clip, Display, Fill, Group, Image, Item, Shape, Stroke, Tiling
from countermark.vector.draw import skia_path
from countermark.vector.ground import WHITE, contrast
from countermark.vector.paint_server import PaintServer, Rgb, Solid
from countermark.vector.path import transformed

GAP: Final = 0.011
"""The gap's width, a share of the artboard's shorter side: eleven thousandths, about a pixel at 96 pixels."""

SAME: Final = 24
"""Two colours whose channels differ by less are one colour: no edge was seen between them."""

LIGHT: Final = 1.35
"""A colour that contrasts less with white is paper, not ink, where it lies on another one."""

MOST: Final = 0.98
LEAST_LEFT: Final = 0.35
MAX_MARKS: Final = 400
"""Marks that are cut against one another; the work grows with the square of their number."""

_SAMPLES: Final = 256

register(Ending.FAILED, "variant_not_derivable")


@dataclass(slots=True)
class _Piece:
    """A mark as a region: what is left of it after all cuts, its colour, and the area of it that was seen."""

    node: int
    path: Any
    colour: Rgb
    seen: float = 0.0


def one_ink(shown: Display, ink: Rgb) -> Display:
    """Return a display list of one ink on nothing; raise `variant_not_derivable` with the object and the reason."""
    board = shown.artboard.box
    if shown.background is not None:
        raise refusal(0, "the artboard has a background, which is no shape of the mark")
    pieces: list[_Piece] = []
    gap = min(board.width, board.height) * GAP
    for node, path, colour in _regions(shown.items, skia_path(Area(_rectangle(board), "NonZero"))):
        if len(pieces) >= MAX_MARKS:
            raise refusal(node, f"it has more than {MAX_MARKS} marks")
        _lay(pieces, _Piece(node, path, colour), gap, board)
    shapes = []
    for piece in pieces:
        if piece.path.isEmpty() and not piece.seen:
            continue
        if _area(piece.path, board) < piece.seen * LEAST_LEFT:
            raise refusal(piece.node, "too little of it would be left beside its neighbours")
        native = _native(piece.path)
        bounds = piece.path.computeTightBounds()
        box = Box(bounds.left(), bounds.top(), bounds.right(), bounds.bottom())
        rule = "EvenOdd" if "EvenOdd" in str(piece.path.getFillType()) else "NonZero"
        shapes.append(Shape(piece.node, native, rule, (Fill(Solid(ink), 1.0, "Normal"),), box))
    if not shapes:
        raise refusal(0, "nothing of it would be left")
    return replace(shown, items=tuple(shapes))


def _lay(pieces: list[_Piece], new: _Piece, gap: float, board: Box) -> None:
    """Lay one piece on those before it: what it covers is gone, and an edge stays where the colours differ."""
    new.seen = _area(new.path, board)
    if not new.seen:
        return
    under = sum(_area(_cut(one.node, new.path, one.path, "kIntersect"), board) for one in pieces)
    hole = contrast(new.colour, WHITE) < LIGHT and under > 0
    if hole and under < new.seen * MOST:
        raise refusal(new.node, "it is light, and lies partly on a darker shape and partly on the ground")
    wider = new.path if hole else _outset(new.node, new.path, gap)
    for one in pieces:
        alike = max(abs(a - b) for a, b in zip(one.colour, new.colour, strict=True)) < SAME
        visible = _area(_cut(one.node, one.path, new.path, "kDifference"), board)
        one.path = _cut(one.node, one.path, new.path if alike else wider, "kDifference")
        one.seen = min(one.seen, visible)  # what lies on top was seen; what is cut beside it was not
    if not hole:
        pieces.append(new)


def _regions(items: tuple[Item, ...], within: Any) -> Iterator[tuple[int, Any, Rgb]]:
    """Yield every mark in paint order as a region inside its clips, with its colour."""
    for item in items:
        if isinstance(item, Group):
            if item.opacity < 1 or item.blend != "Normal":
                raise refusal(item.node, "it is translucent, or blends with what lies below")
            if item.mask is not None or item.matrix is not None:
                raise refusal(item.node, "it is masked, or an instance of a symbol")
            inside = within if item.clip is None else _cut(item.node, within, _clip(item.clip), "kIntersect")
            yield from _regions(item.items, inside)
            continue
        if isinstance(item, Image):
            raise refusal(item.node, "it is a picture of pixels")
        for mark in item.marks:
            if mark.opacity < 1 or mark.blend != "Normal":
                raise refusal(item.node, "it is translucent, or blends with what lies below")
            area = _filled(item) if isinstance(mark, Fill) else _stroked(item, mark)
            yield item.node, _cut(item.node, area, within, "kIntersect"), _colour(item.node, mark.ink)


def _colour(node: int, ink: PaintServer | Tiling) -> Rgb:
    """Return the one colour that stands for an ink: a gradient's middle."""
    if isinstance(ink, Solid):
        return ink.rgb
    if isinstance(ink, Tiling):
        raise refusal(node, "it is filled with a pattern")
    if any(stop.opacity < 1 for stop in ink.stops):
        raise refusal(node, "its gradient is translucent")
    red, green, blue = (round(sum(stop.rgb[at] for stop in ink.stops) / len(ink.stops)) for at in range(3))
    return red, green, blue


def _filled(shape: Shape) -> Any:
    return skia_path(Area(shape.path, shape.rule))


def _stroked(shape: Shape, stroke: Stroke) -> Any:
    """Return the outline of a stroke."""
    import skia  # noqa: PLC0415 - 50 MB that only geometry needs

    native = shape.path if stroke.pen is None else transformed(shape.path, stroke.pen.inverse())
    pen = skia.Paint()
    take_pen(skia, pen, shape, stroke)
    found = skia.Path()
    pen.getFillPath(skia_path(Area(native, "NonZero")), found)
    if stroke.pen is not None:
        a, b, c, d, e, f = stroke.pen
        found.transform(skia.Matrix.MakeAll(a, c, e, b, d, f, 0, 0, 1))
    if one_sided(shape, stroke):
        side = "kIntersect" if stroke.align == "Inside" else "kDifference"
        found = _cut(shape.node, found, _filled(shape), side)
    return found


def _clip(clip: Clip) -> Any:
    found = None
    for area in clip.areas:
        path = skia_path(area)
        found = path if found is None else _cut(clip.node, found, path, "kUnion")
    return found


def _outset(node: int, path: Any, gap: float) -> Any:
    """Return a region widened by a gap on all sides."""
    import skia  # noqa: PLC0415

    pen = skia.Paint()
    pen.setStyle(skia.Paint.kStroke_Style)
    pen.setStrokeJoin(skia.Paint.kRound_Join)
    pen.setStrokeWidth(gap * 2)
    rim = skia.Path()
    pen.getFillPath(path, rim)
    return _cut(node, path, rim, "kUnion")


def _cut(node: int, path: Any, other: Any, how: str) -> Any:
    import skia  # noqa: PLC0415

    found = skia.Op(path, other, getattr(skia, f"{how}_PathOp"))
    if found is None:
        raise refusal(node, "its outline cannot be cut")
    return found


def _area(path: Any, board: Box) -> float:
    """Return a region's area in square points, counted on a grid: enough to tell most from some."""
    import numpy as np  # noqa: PLC0415 - takes longer to import than the whole command line
    import skia  # noqa: PLC0415

    if path.isEmpty():
        return 0.0
    scale = _SAMPLES / max(board.width, board.height)
    grid = np.zeros((_SAMPLES, _SAMPLES, 4), dtype=np.uint8)
    canvas = skia.Canvas(grid)
    canvas.scale(scale, scale)
    canvas.translate(-board.x0, -board.y0)
    paint = skia.Paint()
    paint.setAntiAlias(True)
    canvas.drawPath(path, paint)
    return float(grid[..., 3].sum()) / 255 / scale / scale


def _native(path: Any) -> Json:
    """Return a path of Skia's as native subpaths, every curve a cubic."""
    import skia  # noqa: PLC0415

    subpaths: list[Json] = []
    anchors: list[Json] = []
    steps = skia.Path.Iter(path, False)  # noqa: FBT003 - Skia's signature: do not close what is open
    while True:
        verb, points = steps.next()
        ends = [(point.x(), point.y()) for point in points]
        match str(verb).rpartition(".k")[2]:
            case "Move_Verb":
                anchors = [{"p": list(ends[0])}]
                subpaths.append({"anchors": anchors, "closed": True})
            case "Line_Verb":
                anchors.append({"p": list(ends[1])})
            case "Quad_Verb":
                _curve(anchors, *_raised(ends[0], ends[1], ends[2]))
            case "Conic_Verb":
                quads = skia.Path.ConvertConicToQuads(*points, steps.conicWeight(), 2)
                spots = [(point.x(), point.y()) for point in quads]
                for at in range(0, len(spots) - 2, 2):
                    _curve(anchors, *_raised(*spots[at : at + 3]))
            case "Cubic_Verb":
                _curve(anchors, ends[1], ends[2], ends[3])
            case "Done_Verb":
                return {"subpaths": [one for one in subpaths if len(one["anchors"]) > 1]}


def _raised(start: Point, control: Point, end: Point) -> tuple[Point, Point, Point]:
    """Return the controls and the end of the cubic that a quadratic curve is."""
    out = (start[0] + (control[0] - start[0]) * 2 / 3, start[1] + (control[1] - start[1]) * 2 / 3)
    into = (end[0] + (control[0] - end[0]) * 2 / 3, end[1] + (control[1] - end[1]) * 2 / 3)
    return out, into, end


def _curve(anchors: list[Json], out: Point, into: Point, end: Point) -> None:
    anchors[-1]["out"] = list(out)
    anchors.append({"p": list(end), "in": list(into)})


def _rectangle(box: Box) -> Json:
    corners = [(box.x0, box.y0), (box.x1, box.y0), (box.x1, box.y1), (box.x0, box.y1)]
    return {"subpaths": [{"closed": True, "anchors": [{"p": list(corner)} for corner in corners]}]}


def refusal(node: int, reason: str) -> CountermarkError:
    """Return the error for a variant that cannot be told from a drawing: `variant_not_derivable`."""
    place = f"object {node}: " if node else ""
    return CountermarkError(
        "variant_not_derivable",
        f"This variant cannot be derived: {place}{reason}.",
        next_action="Draw the variant by hand as an artboard of its own.",
        details={"object": node, "reason": reason},
    )
