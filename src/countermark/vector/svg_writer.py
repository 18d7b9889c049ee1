"""The SVG writer: one artboard of a native document as a small, plain SVG file.

The same document gives the same bytes: numbers have a fixed count of decimals chosen from the artboard's size alone,
ids come from object ids, and nothing of the clock, the locale or the environment enters. Only what paints on the
artboard is written (research 1.5); no scripts, no style sheets, no outside references.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from countermark.raster.fit import contain
from countermark.vector.affine import IDENTITY, Matrix
from countermark.vector.artboard import Artboard
from countermark.vector.container import Json
from countermark.vector.display import Clip, Display, Fill, Group, Shape, Stroke
from countermark.vector.document import Document
from countermark.vector.paint_server import Gradient, PaintServer, Solid, hexadecimal
from countermark.vector.path import segments, transformed
from countermark.vector.resolve import resolve

PRECISION: Final = 6
"""Decimals keep one part in 10^6 of the artboard's longer side: a hundredth of a pixel at 8,192 pixels."""

_SHORT: Final = 6
_BLENDS: Final[dict[str, str]] = {
    "ColorDodge": "color-dodge",
    "ColorBurn": "color-burn",
    "HardLight": "hard-light",
    "SoftLight": "soft-light",
}


def write(document: Document, board: Artboard, width: int, height: int) -> bytes:
    """Return the SVG of an artboard on a board of width x height CSS pixels, fitted inside and centred."""
    return write_display(resolve(document, board), width, height)


def write_display(shown: Display, width: int, height: int) -> bytes:
    """Return the SVG of a display list; what the list could not hold is in its `undrawn`."""
    return _Writer(shown, width, height).bytes()


def number(value: float, decimals: int) -> str:
    """Return the shortest decimal text of a number rounded to so many decimals, never with an exponent."""
    text = f"{value:.{max(decimals, 0)}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in {"-0", ""} else text


def decimals_for(side: float) -> int:
    """Return how many decimals keep `PRECISION` digits of a side."""
    return max(PRECISION - 1 - math.floor(math.log10(side)), 0)


class _Writer:
    """Collects the definitions and the body of one file."""

    def __init__(self, shown: Display, width: int, height: int) -> None:
        box = shown.artboard.box
        self._shown = shown
        self._fit = contain(box.width, box.height, width, height)
        self._decimals = decimals_for(max(box.width, box.height))
        self._defs: list[str] = []
        self._body: list[str] = []

    def bytes(self) -> bytes:
        shown, fit = self._shown, self._fit
        box = shown.artboard.box
        depth = 1
        if shown.crosses:
            # The viewport cuts at the board's edge, which lies beyond the artboard's where their shapes differ.
            self._defs.append(f'<clipPath id="board">{self._rect("")}</clipPath>')
            self._line(1, '<g clip-path="url(#board)">')
            depth = 2
        if shown.background is not None:
            self._line(depth, self._rect(self._server("fill", shown.background, 1.0, "board-background")))
        for item in shown.items:
            self._item(item, depth)
        if shown.crosses:
            self._line(1, "</g>")
        view_box = " ".join(self._n(value) for value in fit.view_box(box.x0, box.y0))
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{fit.width}" height="{fit.height}" viewBox="{view_box}">',
            f"  <title>{escape(_printable(shown.title))}</title>",
        ]
        if self._defs:
            lines += ["  <defs>", *(f"    {entry}" for entry in self._defs), "  </defs>"]
        lines += [*self._body, "</svg>", ""]
        return "\n".join(lines).encode("utf-8")

    def _line(self, depth: int, text: str) -> None:
        self._body.append("  " * depth + text)

    def _n(self, value: float) -> str:
        return number(value, self._decimals)

    def _rect(self, attributes: str) -> str:
        box = self._shown.artboard.box
        sides = [("x", box.x0), ("y", box.y0), ("width", box.width), ("height", box.height)]
        return "<rect" + "".join(f' {name}="{self._n(value)}"' for name, value in sides) + f"{attributes}/>"

    def _item(self, item: Shape | Group, depth: int) -> None:
        if isinstance(item, Shape):
            self._shape(item, depth)
            return
        attributes = ""
        if item.clip is not None:
            attributes += f' clip-path="url(#{self._clip(item.clip)})"'
        attributes += _opacity("opacity", item.opacity) + _style(item.blend, isolate=item.isolate)
        self._line(depth, f"<g{attributes}>")
        for child in item.items:
            self._item(child, depth + 1)
        self._line(depth, "</g>")

    def _shape(self, shape: Shape, depth: int) -> None:
        data = self._data(shape.path)
        rule = ' fill-rule="evenodd"' if shape.rule == "EvenOdd" else ""
        match shape.marks:
            case (Fill() as fill, Stroke() as stroke) if _on_one_element(fill, stroke):
                name = f"o{shape.node}"
                paint = self._server("fill", fill.ink, fill.opacity, f"{name}-fill")
                line = self._server("stroke", stroke.ink, stroke.opacity, f"{name}-stroke")
                self._line(depth, f'<path d="{data}"{paint}{rule}{line}{self._pen(stroke, stroke.width)}/>')
            case _:
                for index, mark in enumerate(shape.marks):
                    name = f"o{shape.node}-{index}" if index else f"o{shape.node}"
                    if isinstance(mark, Fill):
                        paint = self._server("fill", mark.ink, mark.opacity, f"{name}-fill")
                        self._line(depth, f'<path d="{data}"{paint}{rule}{_style(mark.blend)}/>')
                    else:
                        self._stroke(shape, mark, data, name, depth)

    def _stroke(self, shape: Shape, stroke: Stroke, data: str, name: str, depth: int) -> None:
        ink, moved = stroke.ink, ""
        path = data
        if stroke.pen is not None:
            back = stroke.pen.inverse()
            path = self._data(transformed(shape.path, back))
            ink = ink.seen_through(back) if isinstance(ink, Gradient) else ink
            moved = f' transform="{_matrix(stroke.pen)}"'
        line = self._server("stroke", ink, stroke.opacity, f"{name}-stroke")
        closed = all(subpath.get("closed") for subpath in shape.path["subpaths"])
        if stroke.align == "Center" or not closed:
            pen = self._pen(stroke, stroke.width)
            self._line(depth, f'<path d="{path}" fill="none"{line}{pen}{moved}{_style(stroke.blend)}/>')
            return
        # SVG strokes lie on both sides: twice the width, cut along the path.
        pen = self._pen(stroke, stroke.width * 2)
        side = f"{name}-side"
        if stroke.align == "Inside":
            rule = ' clip-rule="evenodd"' if shape.rule == "EvenOdd" else ""
            self._defs.append(f'<clipPath id="{side}"><path d="{data}"{rule}/></clipPath>')
            cut = f' clip-path="url(#{side})"'
        else:
            rule = ' fill-rule="evenodd"' if shape.rule == "EvenOdd" else ""
            box = shape.box
            frame = [("x", box.x0), ("y", box.y0), ("width", box.width), ("height", box.height)]
            area = "".join(f' {key}="{self._n(value)}"' for key, value in frame)
            self._defs.append(
                f'<mask id="{side}" maskUnits="userSpaceOnUse"{area}><rect{area} fill="#ffffff"/>'
                f'<path d="{data}" fill="#000000"{rule}/></mask>'
            )
            cut = f' mask="url(#{side})"'
        self._line(depth, f'<g{cut}{_style(stroke.blend)}><path d="{path}" fill="none"{line}{pen}{moved}/></g>')

    def _pen(self, stroke: Stroke, width: float) -> str:
        text = f' stroke-width="{self._n(width)}"'
        if stroke.cap != "Butt":
            text += f' stroke-linecap="{stroke.cap.lower()}"'
        if stroke.join != "Miter":
            text += f' stroke-linejoin="{stroke.join.lower()}"'
        elif stroke.miter_limit != 4:  # noqa: PLR2004 - SVG's default
            text += f' stroke-miterlimit="{number(stroke.miter_limit, _SHORT)}"'
        if stroke.dash:
            text += f' stroke-dasharray="{" ".join(self._n(length) for length in stroke.dash)}"'
            if stroke.dash_offset:
                text += f' stroke-dashoffset="{self._n(stroke.dash_offset)}"'
        return text

    def _server(self, name: str, ink: PaintServer, opacity: float, place: str) -> str:
        if isinstance(ink, Solid):
            return f' {name}="{hexadecimal(ink.rgb)}"' + _opacity(f"{name}-opacity", opacity)
        self._defs.append(self._gradient(ink, place))
        return f' {name}="url(#{place})"' + _opacity(f"{name}-opacity", opacity)

    def _gradient(self, gradient: Gradient, place: str) -> str:
        n: Callable[[float], str] = lambda value: number(value, self._decimals + 2)  # noqa: E731 - a matrix may enlarge it
        (x1, y1), (x2, y2) = gradient.start, gradient.end
        if gradient.radial:
            tag = "radialGradient"
            text = f' cx="{n(x2)}" cy="{n(y2)}" r="{n(gradient.radius)}"'
            if gradient.start != gradient.end:
                text += f' fx="{n(x1)}" fy="{n(y1)}"'
            if gradient.focal_radius:
                text += f' fr="{n(gradient.focal_radius)}"'
        else:
            tag = "linearGradient"
            text = f' x1="{n(x1)}" y1="{n(y1)}" x2="{n(x2)}" y2="{n(y2)}"'
        if gradient.matrix != IDENTITY:
            text += f' gradientTransform="{_matrix(gradient.matrix)}"'
        if gradient.spread != "pad":
            text += f' spreadMethod="{gradient.spread}"'
        stops = "".join(
            f'<stop offset="{number(stop.offset, _SHORT)}" stop-color="{hexadecimal(stop.rgb)}"'
            f"{_opacity('stop-opacity', stop.opacity)}/>"
            for stop in gradient.stops
        )
        return f'<{tag} id="{place}" gradientUnits="userSpaceOnUse"{text}>{stops}</{tag}>'

    def _clip(self, clip: Clip) -> str:
        name = f"o{clip.node}-clip"
        paths = ""
        for area in clip.areas:
            rule = ' clip-rule="evenodd"' if area.rule == "EvenOdd" else ""
            paths += f'<path d="{self._data(area.path)}"{rule}/>'
        self._defs.append(f'<clipPath id="{name}">{paths}</clipPath>')
        return name

    def _data(self, path: Json) -> str:
        return "".join(self._subpath(subpath) for subpath in path["subpaths"])

    def _subpath(self, subpath: Json) -> str:
        found: list[str] = []
        here = ("", "")
        for start, out, into, end in segments(subpath):
            if not found:
                here = (self._n(start[0]), self._n(start[1]))
                found.append(f"M{here[0]} {here[1]}")
            there = (self._n(end[0]), self._n(end[1]))
            if out is None or into is None:
                found.append(_straight(here, there))
            else:
                points = [self._n(value) for value in (*out, *into)]
                found.append(f"C{' '.join((*points, *there))}")
            here = there
        if found and subpath.get("closed"):
            if found[-1][0] != "C" and len(found) > 2:  # noqa: PLR2004 - more than a move and the way back
                found.pop()  # Z itself draws the straight way back to the start
            found.append("Z")
        return "".join(found)


def _straight(here: tuple[str, str], there: tuple[str, str]) -> str:
    if here[1] == there[1]:
        return f"H{there[0]}"
    if here[0] == there[0]:
        return f"V{there[1]}"
    return f"L{there[0]} {there[1]}"


def _on_one_element(fill: Fill, stroke: Stroke) -> bool:
    """Whether a stroke can stand on the element of its fill: SVG's own are centred, round, and blend with nothing."""
    return fill.blend == stroke.blend == "Normal" and stroke.align == "Center" and stroke.pen is None


def _matrix(matrix: Matrix) -> str:
    return f"matrix({' '.join(_significant(value) for value in matrix)})"


def _opacity(name: str, value: float) -> str:
    return "" if value >= 1 else f' {name}="{number(value, _SHORT)}"'


def _significant(value: float) -> str:
    """Return a matrix entry with nine significant digits, written without an exponent."""
    if value == 0:
        return "0"
    return number(value, max(9 - 1 - math.floor(math.log10(abs(value))), 0))


def _style(blend: str, *, isolate: bool = False) -> str:
    parts = []
    if blend != "Normal":
        parts.append(f"mix-blend-mode:{_BLENDS.get(blend, blend.lower())}")
    if isolate:
        parts.append("isolation:isolate")
    return f" style={quoteattr(';'.join(parts))}" if parts else ""


def _printable(text: str) -> str:
    """Drop the characters that XML cannot hold, in any spelling."""
    return "".join(one for one in text if (one >= " " or one in "\t\n") and one not in "\ufffe\uffff")
