"""Basic shapes as paths in user space (SVG 2 §10): where they begin and which way they run decides their dashes."""

from __future__ import annotations

from typing import Final

from countermark.vector.container import Json
from countermark.vector.svg.number import Frame, length, numbers
from countermark.vector.svg.parse import Element
from countermark.vector.svg.pathdata import Pen, path_data
from countermark.vector.svg.report import Report

SHAPES: Final = frozenset({"rect", "circle", "ellipse", "line", "polyline", "polygon", "path"})
# A quarter circle as a cubic: 4/3 · (√2 - 1).
_KAPPA: Final = 0.5522847498307936


def geometry(element: Element, frame: Frame, report: Report) -> Json | None:
    """Return a shape's path in user space; None, with a note, when SVG's own rules leave nothing to paint.

    NaN, infinities and overflow raise `NotFiniteError`.
    """
    match element.tag:
        case "rect":
            path = _rect(element, frame, report)
        case "circle":
            radius = _radius(element, "r", frame, report)
            path = _oval(element, frame, report, radius, radius)
        case "ellipse":
            path = _ellipse(element, frame, report)
        case "line":
            pen = Pen()
            pen.move(_x(element, "x1", frame, report), _y(element, "y1", frame, report))
            pen.line(_x(element, "x2", frame, report), _y(element, "y2", frame, report))
            path = pen.finish()
        case "path":
            path = _path(element, report)
        case _:
            path = _poly(element, report)
    if path is None or not path["subpaths"]:
        report.note("empty-shape", element, "It has no size or no points, so SVG paints nothing for it.")
        return None
    return path


def _path(element: Element, report: Report) -> Json:
    read = path_data(element.attributes.get("d", ""))
    if read.fault:
        report.note("path-data", element, f"Its path ends early, as in other readers: {read.fault}.")
    return read.path


def _poly(element: Element, report: Report) -> Json:
    text = element.attributes.get("points", "")
    found = numbers(text)
    if found is None:
        found = _before_fault(text)
        report.note("points", element, "Its points have a fault; those before it are drawn, as in other readers.")
    elif len(found) % 2:
        report.note("points", element, "Its last point lacks a coordinate and is left out, as in other readers.")
    pen = Pen()
    for index in range(0, len(found) - 1, 2):
        (pen.line if index else pen.move)(found[index], found[index + 1])
    if element.tag == "polygon" and len(found) > 3:  # noqa: PLR2004 - two points at least
        pen.close()
    return pen.finish()


def _before_fault(text: str) -> list[float]:
    """Return the numbers before the first thing that is none."""
    words = text.replace(",", " ").split()
    found: list[float] = []
    for word in words:
        value = numbers(word)
        if value is None:
            break
        found.extend(value)
    return found


def _rect(element: Element, frame: Frame, report: Report) -> Json | None:
    x, y = _x(element, "x", frame, report), _y(element, "y", frame, report)
    width = _length(element, "width", frame, frame.width, report) or 0.0
    height = _length(element, "height", frame, frame.height, report) or 0.0
    if width <= 0 or height <= 0:
        return None
    rx = _corner(element, "rx", frame, frame.width, report)
    ry = _corner(element, "ry", frame, frame.height, report)
    rx, ry = (ry if rx is None else rx) or 0.0, (rx if ry is None else ry) or 0.0
    rx, ry = min(rx, width / 2), min(ry, height / 2)
    pen = Pen()
    if not rx or not ry:
        pen.move(x, y)
        pen.line(x + width, y)
        pen.line(x + width, y + height)
        pen.line(x, y + height)
        pen.close()
        return pen.finish()
    kx, ky = rx * (1 - _KAPPA), ry * (1 - _KAPPA)
    right, bottom = x + width, y + height
    pen.move(x + rx, y)
    _side(pen, right - rx, y)
    pen.curve(right - kx, y, right, y + ky, right, y + ry)
    _side(pen, right, bottom - ry)
    pen.curve(right, bottom - ky, right - kx, bottom, right - rx, bottom)
    _side(pen, x + rx, bottom)
    pen.curve(x + kx, bottom, x, bottom - ky, x, bottom - ry)
    _side(pen, x, y + ry)
    pen.curve(x, y + ky, x + kx, y, x + rx, y)
    pen.close()
    return pen.finish()


def _side(pen: Pen, x: float, y: float) -> None:
    """Draw a side between two corners; fully round ones leave none."""
    if (x, y) != (pen.x, pen.y):
        pen.line(x, y)


def _ellipse(element: Element, frame: Frame, report: Report) -> Json | None:
    rx = _corner(element, "rx", frame, frame.width, report)
    ry = _corner(element, "ry", frame, frame.height, report)
    return _oval(element, frame, report, ry if rx is None else rx, rx if ry is None else ry)


def _oval(element: Element, frame: Frame, report: Report, rx: float | None, ry: float | None) -> Json | None:
    cx, cy = _x(element, "cx", frame, report), _y(element, "cy", frame, report)
    if rx is None or ry is None or rx <= 0 or ry <= 0:
        return None
    kx, ky = rx * _KAPPA, ry * _KAPPA
    pen = Pen()
    pen.move(cx + rx, cy)
    pen.curve(cx + rx, cy + ky, cx + kx, cy + ry, cx, cy + ry)
    pen.curve(cx - kx, cy + ry, cx - rx, cy + ky, cx - rx, cy)
    pen.curve(cx - rx, cy - ky, cx - kx, cy - ry, cx, cy - ry)
    pen.curve(cx + kx, cy - ry, cx + rx, cy - ky, cx + rx, cy)
    pen.close()
    return pen.finish()


def _x(element: Element, name: str, frame: Frame, report: Report) -> float:
    return _length(element, name, frame, frame.width, report) or 0.0


def _y(element: Element, name: str, frame: Frame, report: Report) -> float:
    return _length(element, name, frame, frame.height, report) or 0.0


def _radius(element: Element, name: str, frame: Frame, report: Report) -> float | None:
    return _length(element, name, frame, frame.diagonal, report)


def _corner(element: Element, name: str, frame: Frame, per_cent_of: float, report: Report) -> float | None:
    """Return a radius; `auto`, absent and negative ones are None, and then the other one counts."""
    if element.attributes.get(name, "auto").strip() == "auto":
        return None
    value = _length(element, name, frame, per_cent_of, report)
    return None if value is None or value < 0 else value


def _length(element: Element, name: str, frame: Frame, per_cent_of: float, report: Report) -> float | None:
    text = element.attributes.get(name)
    value = length(text, frame, per_cent_of)
    if text is not None and value is None:
        report.note("value", element, f"{name} says {text[:60]!r}, which is no length and counts for nothing.")
    return value
