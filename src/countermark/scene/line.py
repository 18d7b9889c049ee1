"""Points of lines, arrows and strokes: absolute in a call and in geometry, relative to the first one in an element."""

from __future__ import annotations

from countermark.scene.codes import refuse
from countermark.scene.document import Element
from countermark.scene.field import Fields
from countermark.scene.number import is_number
from countermark.scene.outline import Point
from countermark.scene.vocabulary import LONGEST_LINE


def plain(value: float) -> float:
    """Return a number as JavaScript would keep it: whole where it is whole, never a negative zero.

    Raises `invalid_scene` for what is not finite, which only numbers of a stored file can lead to.
    """
    if not is_number(value):
        raise refuse(
            "invalid_scene",
            "A stored place or size is so far out that the change leads to no number.",
            next_action="Delete the elements that lie there, or give them another place.",
        )
    whole = int(value)
    return whole if whole == value else value


def extent(points: list[Point]) -> tuple[float, float]:
    """Return width and height of points."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return plain(max(xs) - min(xs)), plain(max(ys) - min(ys))


def set_points(element: Element, points: list[Point]) -> None:
    """Give a line absolute points: the first becomes its place, the rest is relative to it."""
    x, y = points[0]
    element["x"], element["y"] = plain(x), plain(y)
    local: list[Point] = [(plain(px - x), plain(py - y)) for px, py in points]
    element["width"], element["height"] = extent(local)
    element["points"] = [list(point) for point in local]


def line_points(fields: Fields) -> list[Point] | None:
    """Return the points that a line is given, by points or by width and height; None when by neither."""
    if fields.has("points"):
        for name in ("width", "height"):
            if fields.has(name):
                fields.wrong(name, "is given beside points", "Give points, or width and height.")
        return fields.points("points", widest=LONGEST_LINE)
    if not fields.has("width") and not fields.has("height"):
        return None
    width = fields.number("width", 0, least=-LONGEST_LINE, most=LONGEST_LINE)
    height = fields.number("height", 0, least=-LONGEST_LINE, most=LONGEST_LINE)
    return [(0, 0), (width, height)]
