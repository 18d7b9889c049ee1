"""The SVG writer: one artboard of a native document as a small, plain SVG file.

The same document gives the same bytes: numbers have a fixed count of decimals chosen from the artboard's size alone,
ids come from object ids, and nothing of the clock, the locale or the environment enters. Only what paints on the
artboard is written (research 1.5); no scripts, no style sheets, no outside references. Pictures are embedded as they
are held.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from xml.sax.saxutils import escape

from countermark.raster.fit import contain
from countermark.vector.affine import IDENTITY, Box, Matrix
from countermark.vector.artboard import Artboard
from countermark.vector.container import Json
from countermark.vector.display import Clip, Display, Fill, Group, Image, Item, Mask, Shape, Stroke, Tiling
from countermark.vector.document import Document
from countermark.vector.paint_server import Gradient, PaintServer, Solid, hexadecimal
from countermark.vector.path import transformed
from countermark.vector.resolve import resolve
from countermark.vector.svg_spelling import (
    SHORT,
    decimals_for,
    matrix_text,
    number,
    opacity_text,
    path_data,
    printable,
    style_text,
)


def write(document: Document, board: Artboard, width: int, height: int) -> bytes:
    """Return the SVG of an artboard on a board of width x height CSS pixels, fitted inside and centred."""
    return write_display(resolve(document, board), width, height)


def write_display(shown: Display, width: int, height: int) -> bytes:
    """Return the SVG of a display list; what the list could not hold is in its `undrawn`."""
    return _Writer(shown, width, height).bytes()


class _Writer:
    """Collects the definitions and the body of one file.

    `_within` begins the ids of what stands in a pattern, a mask or a symbol: the same art may be written twice there.
    `_reach` is the part of the space being written in that can be seen.
    """

    def __init__(self, shown: Display, width: int, height: int) -> None:
        box = shown.artboard.box
        self._shown = shown
        self._fit = contain(box.width, box.height, width, height)
        self._decimals = decimals_for(max(box.width, box.height))
        self._defs: list[str] = []
        self._body: list[str] = []
        self._within = ""
        self._reach = box
        self._linked = False

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
        # Some readers know the older name of a reference alone.
        xlink = ' xmlns:xlink="http://www.w3.org/1999/xlink"' if self._linked else ""
        size = f'width="{fit.width}" height="{fit.height}" viewBox="{view_box}"'
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg"{xlink} {size}>',
            f"  <title>{escape(printable(shown.title))}</title>",
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
        return f"<rect{self._sides(self._shown.artboard.box)}{attributes}/>"

    def _sides(self, box: Box) -> str:
        sides = [("x", box.x0), ("y", box.y0), ("width", box.width), ("height", box.height)]
        return "".join(f' {name}="{self._n(value)}"' for name, value in sides)

    def _item(self, item: Item, depth: int) -> None:
        match item:
            case Shape():
                self._shape(item, depth)
            case Image():
                self._image(item, depth)
            case Group():
                self._group(item, depth)

    def _group(self, group: Group, depth: int) -> None:
        before = self._within, self._reach
        attributes = ""
        if group.matrix is not None:
            self._reach = self._reach.seen_through(group.matrix.inverse())
            self._within = f"{self._within}o{group.node}-"
            attributes += f' transform="{matrix_text(group.matrix)}"'
        if group.clip is not None:
            attributes += f' clip-path="url(#{self._clip(group.clip)})"'
        if group.mask is not None:
            attributes += f' mask="url(#{self._mask(group.mask)})"'
        attributes += opacity_text("opacity", group.opacity) + style_text(group.blend, isolate=group.isolate)
        self._line(depth, f"<g{attributes}>")
        for child in group.items:
            self._item(child, depth + 1)
        self._line(depth, "</g>")
        self._within, self._reach = before

    def _image(self, image: Image, depth: int) -> None:
        self._linked = True
        data = base64.b64encode(image.data).decode("ascii")
        place = f' width="{image.width}" height="{image.height}" transform="{matrix_text(image.matrix)}"'
        plain = "" if image.smooth else ' image-rendering="optimizeSpeed"'
        reference = f'xlink:href="data:{image.mime};base64,{data}"'
        self._line(depth, f'<image{place} preserveAspectRatio="none"{plain} {reference}/>')

    def _shape(self, shape: Shape, depth: int) -> None:
        data = self._data(shape.path)
        rule = ' fill-rule="evenodd"' if shape.rule == "EvenOdd" else ""
        match shape.marks:
            case (Fill() as fill, Stroke() as stroke) if _on_one_element(fill, stroke):
                name = f"{self._within}o{shape.node}"
                paint = self._server("fill", fill.ink, fill.opacity, f"{name}-fill")
                line = self._server("stroke", stroke.ink, stroke.opacity, f"{name}-stroke")
                self._line(depth, f'<path d="{data}"{paint}{rule}{line}{self._pen(stroke, stroke.width)}/>')
            case _:
                for index, mark in enumerate(shape.marks):
                    name = f"{self._within}o{shape.node}-{index}" if index else f"{self._within}o{shape.node}"
                    if isinstance(mark, Fill):
                        paint = self._server("fill", mark.ink, mark.opacity, f"{name}-fill")
                        self._line(depth, f'<path d="{data}"{paint}{rule}{style_text(mark.blend)}/>')
                    else:
                        self._stroke(shape, mark, data, name, depth)

    def _stroke(self, shape: Shape, stroke: Stroke, data: str, name: str, depth: int) -> None:
        ink, moved = stroke.ink, ""
        path = data
        if stroke.pen is not None:
            back = stroke.pen.inverse()
            path = self._data(transformed(shape.path, back))
            ink = ink if isinstance(ink, Solid) else ink.seen_through(back)
            moved = f' transform="{matrix_text(stroke.pen)}"'
        line = self._server("stroke", ink, stroke.opacity, f"{name}-stroke")
        closed = all(subpath.get("closed") for subpath in shape.path["subpaths"])
        if stroke.align == "Center" or not closed:
            pen = self._pen(stroke, stroke.width)
            self._line(depth, f'<path d="{path}" fill="none"{line}{pen}{moved}{style_text(stroke.blend)}/>')
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
            area = self._sides(shape.box)
            self._defs.append(
                f'<mask id="{side}" maskUnits="userSpaceOnUse"{area}><rect{area} fill="#ffffff"/>'
                f'<path d="{data}" fill="#000000"{rule}/></mask>'
            )
            cut = f' mask="url(#{side})"'
        self._line(depth, f'<g{cut}{style_text(stroke.blend)}><path d="{path}" fill="none"{line}{pen}{moved}/></g>')

    def _pen(self, stroke: Stroke, width: float) -> str:
        text = f' stroke-width="{self._n(width)}"'
        if stroke.cap != "Butt":
            text += f' stroke-linecap="{stroke.cap.lower()}"'
        if stroke.join != "Miter":
            text += f' stroke-linejoin="{stroke.join.lower()}"'
        elif stroke.miter_limit != 4:  # noqa: PLR2004 - SVG's default
            text += f' stroke-miterlimit="{number(stroke.miter_limit, SHORT)}"'
        if stroke.dash:
            text += f' stroke-dasharray="{" ".join(self._n(length) for length in stroke.dash)}"'
            if stroke.dash_offset:
                text += f' stroke-dashoffset="{self._n(stroke.dash_offset)}"'
        return text

    def _server(self, name: str, ink: PaintServer | Tiling, opacity: float, place: str) -> str:
        if isinstance(ink, Solid):
            return f' {name}="{hexadecimal(ink.rgb)}"' + opacity_text(f"{name}-opacity", opacity)
        self._defs.append(self._tiles(ink, place) if isinstance(ink, Tiling) else self._gradient(ink, place))
        return f' {name}="url(#{place})"' + opacity_text(f"{name}-opacity", opacity)

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
            text += f' gradientTransform="{matrix_text(gradient.matrix)}"'
        if gradient.spread != "pad":
            text += f' spreadMethod="{gradient.spread}"'
        stops = "".join(
            f'<stop offset="{number(stop.offset, SHORT)}" stop-color="{hexadecimal(stop.rgb)}"'
            f"{opacity_text('stop-opacity', stop.opacity)}/>"
            for stop in gradient.stops
        )
        return f'<{tag} id="{place}" gradientUnits="userSpaceOnUse"{text}>{stops}</{tag}>'

    def _tiles(self, tiling: Tiling, place: str) -> str:
        tile = tiling.tile
        before, self._reach = self._reach, tile
        inside = self._inside(tiling.items, f"{place}-")
        self._reach = before
        # Readers differ on where the content of a tile begins that is not at the origin.
        matrix = tiling.matrix @ Matrix(e=tile.x0, f=tile.y0)
        if (tile.x0, tile.y0) != (0, 0):
            inside = f'<g transform="{matrix_text(Matrix(e=-tile.x0, f=-tile.y0))}">{inside}</g>'
        moved = "" if matrix == IDENTITY else f' patternTransform="{matrix_text(matrix)}"'
        sides = f' width="{self._n(tile.width)}" height="{self._n(tile.height)}"'
        return f'<pattern id="{place}" patternUnits="userSpaceOnUse"{sides}{moved}>{inside}</pattern>'

    def _mask(self, mask: Mask) -> str:
        name = f"{self._within}o{mask.node}-mask"
        inside = self._inside(mask.items, f"{name}-")
        reach = self._reach
        area = self._sides(
            Box(reach.x0 - reach.width, reach.y0 - reach.height, reach.x1 + reach.width, reach.y1 + reach.height)
        )
        ground = f'<rect{area} fill="#ffffff"/>' if mask.outside else ""
        if mask.invert:
            turned = f"{name}-turned"
            self._defs.append(f'<mask id="{turned}" maskUnits="userSpaceOnUse"{area}{_kind(mask)}>{inside}</mask>')
            ground, inside = "", f'<rect{area} fill="#ffffff"/><g mask="url(#{turned})"><rect{area}/></g>'
            self._defs.append(f'<mask id="{name}" maskUnits="userSpaceOnUse"{area}>{ground}{inside}</mask>')
            return name
        self._defs.append(f'<mask id="{name}" maskUnits="userSpaceOnUse"{area}{_kind(mask)}>{ground}{inside}</mask>')
        return name

    def _inside(self, items: tuple[Item, ...], within: str) -> str:
        """Return items as the content of a definition; what they need themselves is defined before it."""
        before, body = self._within, self._body
        self._within, self._body = within, []
        for item in items:
            self._item(item, 0)
        inside = "".join(line.strip() for line in self._body)
        self._within, self._body = before, body
        return inside

    def _clip(self, clip: Clip) -> str:
        name = f"{self._within}o{clip.node}-clip"
        paths = ""
        for area in clip.areas:
            rule = ' clip-rule="evenodd"' if area.rule == "EvenOdd" else ""
            paths += f'<path d="{self._data(area.path)}"{rule}/>'
        self._defs.append(f'<clipPath id="{name}">{paths}</clipPath>')
        return name

    def _data(self, path: Json) -> str:
        return path_data(path, self._decimals)


def _kind(mask: Mask) -> str:
    kind = "" if mask.luminance else ' mask-type="alpha"'
    return kind + (' color-interpolation="linearRGB"' if mask.linear else "")


def _on_one_element(fill: Fill, stroke: Stroke) -> bool:
    """Whether a stroke can stand on the element of its fill: SVG's own are centred, round, and blend with nothing."""
    return fill.blend == stroke.blend == "Normal" and stroke.align == "Center" and stroke.pen is None
