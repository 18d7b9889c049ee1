"""Viewports: the size of the drawing, `viewBox` and `preserveAspectRatio` (SVG 2 §8)."""

from __future__ import annotations

from typing import Final, NamedTuple

from countermark.vector.affine import Matrix
from countermark.vector.svg.number import Frame, length, numbers
from countermark.vector.svg.parse import Element, not_svg

MAX_SIDE: Final = 1_000_000.0
_PARTS: Final = 4
_ALIGN: Final = {"min": 0.0, "mid": 0.5, "max": 1.0}


class ViewBox(NamedTuple):
    """The rectangle of user space that a viewport shows."""

    x: float
    y: float
    width: float
    height: float


class Size(NamedTuple):
    """The drawing's size in pixels and the part of user space it shows; `given` is False when the file says neither."""

    width: float
    height: float
    view_box: ViewBox | None
    given: bool = True


def view_box(element: Element) -> ViewBox | None:
    """Return an element's `viewBox`; None when it has none or one that is not four numbers."""
    text = element.attributes.get("viewBox")
    found = numbers(text) if text is not None else None
    return ViewBox(*found) if found is not None and len(found) == _PARTS else None


def fit(box: ViewBox, width: float, height: float, how: str) -> Matrix:
    """Return the map from a view box to a viewport at the origin, by `preserveAspectRatio`."""
    words = [word for word in how.split() if word != "defer"]
    align = words[0] if words else "xMidYMid"
    sx, sy = width / box.width, height / box.height
    if align == "none":
        return Matrix(sx, 0, 0, sy, -box.x * sx, -box.y * sy)
    scale = max(sx, sy) if "slice" in words[1:] else min(sx, sy)
    across = _ALIGN.get(align[1:4].lower(), 0.5)
    down = _ALIGN.get(align[5:8].lower(), 0.5)
    return Matrix(
        scale,
        0,
        0,
        scale,
        (width - box.width * scale) * across - box.x * scale,
        (height - box.height * scale) * down - box.y * scale,
    )


def root_size(root: Element, what: str) -> Size:
    """Return the drawing's size; a `viewBox` or size without area raises `svg_invalid`.

    A side that is absent or a percentage follows from the view box, as nothing around the drawing gives one.
    """
    box = view_box(root)
    if "viewBox" in root.attributes and (box is None or box.width <= 0 or box.height <= 0):
        said = root.attributes["viewBox"][:60]
        message = f"{what} has no usable viewBox: {said!r} is not four numbers with a width and a height above zero."
        raise not_svg(message, "Give the drawing a viewBox with an area.")
    width, height = _side(root, "width", what), _side(root, "height", what)
    if box is not None:
        if width is None and height is None:
            width, height = box.width, box.height
        elif width is None:
            width = (height or 0.0) * box.width / box.height
        elif height is None:
            height = width * box.height / box.width
    given = width is not None and height is not None
    return Size(width or 0.0, height or 0.0, box, given)


def _side(root: Element, name: str, what: str) -> float | None:
    text = root.attributes.get(name)
    if text is None or text.strip() in {"", "auto"} or text.strip().endswith("%"):
        return None
    value = length(text, Frame(0.0, 0.0), 0.0)
    if value is None or not 0 < value <= MAX_SIDE:
        message = f"{what} has no usable {name}: {text[:60]!r} is no length between zero and {MAX_SIDE:.0f} pixels."
        raise not_svg(message, "Give the drawing a width and a height.")
    return value
