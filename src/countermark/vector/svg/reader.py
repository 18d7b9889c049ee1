"""The walk over an SVG's elements, in paint order, that makes native nodes of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from countermark.kernel.errors import CountermarkError
from countermark.vector.affine import Box, Matrix
from countermark.vector.container import Json
from countermark.vector.path import bounds
from countermark.vector.svg import gradient, loss, shape
from countermark.vector.svg.clip import Clipper, matrix_of, shifted
from countermark.vector.svg.emit import Emitter, significant, stroke
from countermark.vector.svg.number import NotFiniteError, length, number_or_percent
from countermark.vector.svg.parse import Element, not_svg
from countermark.vector.svg.pathdata import Pen
from countermark.vector.svg.place import Place, box_of
from countermark.vector.svg.property import BLENDS
from countermark.vector.svg.report import Report
from countermark.vector.svg.style import Ink, computed, is_shown, own
from countermark.vector.svg.viewport import fit, view_box

MAX_COPIES: Final = 20_000
_MAX_LEVEL: Final = 160
# Groups that say nothing are dissolved past this depth, so that what is written stays within the format's reach.
_KEEP_GROUPS: Final = 32


class Reader:
    """Reads the elements of one file; `ids` holds the first element of each id."""

    def __init__(self, ids: dict[str, Element], emitter: Emitter, report: Report) -> None:
        """Take the elements by id, and where nodes and the report are made."""
        self._ids = ids
        self._emitter = emitter
        self._report = report
        self._clipper = Clipper(ids, emitter, report)
        self._copies = 0
        self._servers: dict[str, gradient.Server] = {}

    def nodes(self, element: Element, place: Place) -> list[Json]:
        """Return the nodes of an element and everything below it; a fault names the element."""
        try:
            return self._nodes(element, place)
        except NotFiniteError as error:
            message = f"{element.path} has the number {str(error)[:60]!r}, which is not finite or too large."
            raise not_svg(message, "Correct the number and import again.") from error
        except ArithmeticError as error:
            message = f"{element.path} has numbers too large or too small to calculate with."
            raise not_svg(message, "Correct the numbers and import again.") from error

    def contents(self, element: Element, place: Place) -> list[Json]:
        """Return the nodes of an element's children."""
        below = replace(place, level=place.level + 1)
        return [node for child in element.children for node in self.nodes(child, below)]

    def finished(self, element: Element, place: Place, nodes: list[Json], *, group: bool) -> list[Json]:
        """Return an element's nodes with its own clip, opacity, blend mode and visibility around them.

        `group` keeps the nodes together under the element's name; one group carries everything where it can.
        """
        if not nodes:
            return []
        opacity = number_or_percent(own(element, "opacity"))
        opacity = None if opacity is None or opacity >= 1 else significant(max(0.0, opacity))
        blend = BLENDS.get((own(element, "mix-blend-mode") or "normal").lower(), "Normal")
        isolated = (own(element, "isolation") or "").lower() == "isolate"
        hidden = not is_shown(element)
        drawn = nodes
        clips = self._clipper.layers(element, place, lambda: box_of(drawn, place.matrix))
        if not all(clips):
            self._report.note("clip-path", element, "Its clip has no area and hides all of it.")
            return []
        together = opacity is not None or blend != "Normal" or isolated or bool(clips)
        members: Json = {
            "name": element.label or element.id or None,
            "visible": False if hidden else None,
            "opacity": opacity,
            "blend": None if blend == "Normal" else blend,
            "isolate": True if (together or isolated) and any(map(_has_blend, nodes)) else None,
        }
        for number, layer in enumerate(reversed(clips), start=1):
            kind: Json = {"type": "group", "children": [self._clipper.shape_of(layer), *nodes], "clip": True}
            nodes = [self._emitter.node(kind, **(members if number == len(clips) else {}))]
        if clips:
            return nodes
        if not group:
            (node,) = nodes
            return [_with(node, members)]
        neutral = not together and not hidden
        if neutral and (place.groups >= _KEEP_GROUPS or (members["name"] is None and len(nodes) == 1)):
            return nodes
        return [self._emitter.node({"type": "group", "children": nodes, "clip": False}, **members)]

    def _nodes(self, element: Element, place: Place) -> list[Json]:
        self._copies += 1 if place.used else 0
        if self._copies > MAX_COPIES:
            raise CountermarkError(
                "input_too_large",
                f"The drawing unfolds to more than {MAX_COPIES} copies through its use elements.",
                next_action="Draw fewer copies.",
            )
        if place.level > _MAX_LEVEL:
            raise CountermarkError(
                "svg_too_deep",
                f"The drawing unfolds deeper than {_MAX_LEVEL} levels at {element.path}.",
                next_action="Ungroup the drawing before the import.",
            )
        if element.tag not in shape.SHAPES and element.tag not in loss.CONTAINERS:
            style = computed(element, place.style, place.frame, self._report)
            hidden = place.hidden or not style.visible or not is_shown(element)
            loss.of_element(element, self._report, hidden=hidden)
            return []
        if not _conditions_hold(element):
            self._report.note("condition", element, "Its conditions (extensions, features, language) do not hold here.")
            return []
        style = computed(element, place.style, place.frame, self._report)
        inner = replace(
            place,
            style=style,
            matrix=place.matrix @ matrix_of(element, replace(place, style=style), self._report),
            hidden=place.hidden or not is_shown(element),
        )
        if inner.matrix.determinant == 0:
            self._report.note("transform", element, "Its transform flattens the plane, so SVG paints nothing for it.")
            return []
        loss.of_properties(element, self._ids, self._report, hidden=inner.hidden or not style.visible)
        return self._drawn_nodes(element, inner)

    def _drawn_nodes(self, element: Element, place: Place) -> list[Json]:
        match element.tag:
            case "use":
                return self._use(element, place)
            case "svg":
                return self._viewport(element, element, place)
            case "switch":
                chosen = next(
                    (child for child in element.children if _is_drawn(child) and _conditions_hold(child)), None
                )
                nodes = self.nodes(chosen, replace(place, level=place.level + 1)) if chosen is not None else []
                return self.finished(element, place, nodes, group=True)
            case "g" | "a":
                if element.tag == "a":
                    self._report.note("link", element, "The art is kept, the link on it is not.")
                nodes = self.contents(element, replace(place, groups=place.groups + 1))
                return self.finished(element, place, nodes, group=True)
        return self._shape(element, place)

    def _shape(self, element: Element, place: Place) -> list[Json]:
        path = shape.geometry(element, place.units, self._report)
        if path is None:
            return []
        style = place.style
        hidden = place.hidden or not style.visible
        loss.of_markers(element, style, self._ids, self._report, hidden=hidden)
        kind: Json = {"type": "path", "path": self._emitter.path(path, place.matrix)}
        if style.even_odd:
            kind["rule"] = "EvenOdd"
        box = bounds(path)
        items = []
        if element.tag != "line":
            items.extend(self._fill(element, place, box, hidden=hidden))
        strokes = self._stroke(element, place, box, hidden=hidden)
        items = [*strokes, *items] if style.stroke_first else [*items, *strokes]
        node = self._emitter.node(kind, items, visible=None if style.visible else False)
        return self.finished(element, place, [node], group=False)

    def _fill(self, element: Element, place: Place, box: Box | None, *, hidden: bool) -> list[Json]:
        paint = self._paint("fill", place.style.fill, element, place, box, hidden=hidden)
        if paint is None:
            return []
        opacity = significant(place.style.fill_opacity * paint.pop("alpha", 1.0))
        item: Json = {"kind": "fill", "paint": paint}
        return [item if opacity >= 1 else {**item, "opacity": opacity}]

    def _stroke(self, element: Element, place: Place, box: Box | None, *, hidden: bool) -> list[Json]:
        if place.style.stroke_width <= 0:
            return []
        paint = self._paint("stroke", place.style.stroke, element, place, box, hidden=hidden)
        if paint is None:
            return []
        opacity = place.style.stroke_opacity * paint.pop("alpha", 1.0)
        return [stroke(paint, opacity, place.style, place.matrix)]

    def _paint(
        self, name: str, ink: Ink, element: Element, place: Place, box: Box | None, *, hidden: bool
    ) -> Json | None:
        ink = _in_context(ink, place)
        if ink.kind == "context":
            reason = f"The {name} follows the gradient or pattern of what uses it, which is not carried over."
            self._report.loss("context-paint", element, reason, hidden=hidden)
            return None
        if ink.server:
            served = self._served(name, ink, element, place, box, hidden=hidden)
            if served is not None:
                return served
        if ink.kind == "current":
            return gradient.solid(place.style.color)
        return gradient.solid(ink.colour) if ink.kind == "colour" else None

    def _served(
        self, name: str, ink: Ink, element: Element, place: Place, box: Box | None, *, hidden: bool
    ) -> Json | None:
        server = self._ids.get(ink.server)
        if server is None or server.tag not in gradient.GRADIENTS:
            if server is not None and server.tag == "pattern":
                reason = f"The {name} takes the pattern #{ink.server}, which is not carried over."
                self._report.loss("pattern", element, reason, hidden=hidden)
            else:
                self._report.note("missing-reference", element, f"The {name} takes #{ink.server}, which is no paint.")
            return None
        if ink.server not in self._servers:
            self._servers[ink.server] = gradient.server(server, self._ids, self._report)
        paint = gradient.paint(self._servers[ink.server], place.matrix, place.units, box, self._report)
        if paint is not None and "geom" in paint:
            paint["geom"] = self._emitter.geom(paint["geom"])
        return paint

    def _use(self, element: Element, place: Place) -> list[Json]:
        target = self._ids.get(element.href or "")
        if target is None:
            self._report.note("missing-reference", element, f"It uses #{element.href or ''}, which does not exist.")
            return []
        if target.id in place.used:
            chain = " → ".join(f"#{name}" for name in (*place.used, target.id))
            raise not_svg(f"{element.path} draws itself: {chain}.", "Remove the circle of use elements.")
        inner = replace(
            place,
            context_fill=_in_context(place.style.fill, place),
            context_stroke=_in_context(place.style.stroke, place),
            matrix=place.matrix @ shifted(element, place),
            used=(*place.used, target.id),
            level=place.level + 1,
            groups=place.groups + 1,
        )
        sized = target.tag in {"symbol", "svg"}
        nodes = self._symbol(element, target, inner) if sized else self.nodes(target, inner)
        return self.finished(element, place, nodes, group=True)

    def _symbol(self, element: Element, target: Element, place: Place) -> list[Json]:
        style = computed(target, place.style, place.frame, self._report)
        matrix = place.matrix @ matrix_of(target, place, self._report)
        loss.of_properties(target, self._ids, self._report, hidden=place.hidden)
        return self._viewport(target, element, replace(place, style=style, matrix=matrix))

    def _viewport(self, element: Element, sized: Element, place: Place) -> list[Json]:
        """Draw an inner `svg` or a used `symbol`: its size comes from `sized` first, its content is clipped to it."""
        units = place.units
        sides = []
        for name, whole in (("width", units.width), ("height", units.height)):
            said = sized.attributes.get(name)
            text = said if said is not None else element.attributes.get(name) if element.tag == "svg" else None
            value = length(text, units, whole)
            sides.append(whole if value is None else value)
        width, height = sides
        box = view_box(element)
        if width <= 0 or height <= 0 or (box is not None and (box.width <= 0 or box.height <= 0)):
            self._report.note("empty-shape", element, "Its viewport has no area, so SVG paints nothing for it.")
            return []
        at = place.matrix @ shifted(element, place) if element.tag == "svg" else place.matrix
        inner = at
        frame = place.frame._replace(width=width, height=height)
        if box is not None:
            inner = at @ fit(box, width, height, element.attributes.get("preserveAspectRatio", ""))
            frame = place.frame._replace(width=box.width, height=box.height)
        nodes = self.contents(element, replace(place, matrix=inner, frame=frame, groups=place.groups + 1))
        if nodes and (own(element, "overflow") or "hidden").lower() not in {"visible", "auto"}:
            nodes = [self._framed(nodes, at, width, height)]
        return self.finished(element, place, nodes, group=True)

    def _framed(self, nodes: list[Json], matrix: Matrix, width: float, height: float) -> Json:
        pen = Pen()
        pen.move(0, 0)
        for x, y in ((width, 0), (width, height), (0, height)):
            pen.line(x, y)
        pen.close()
        kind: Json = {"type": "path", "path": self._emitter.path(pen.finish(), matrix), "clipping": True}
        return self._emitter.node({"type": "group", "children": [self._emitter.node(kind), *nodes], "clip": True})


def _with(node: Json, members: Json) -> Json:
    """Return a node with members added in the order the format writes them."""
    said = {name: value for name, value in members.items() if value is not None}
    rest = {name: value for name, value in node.items() if name not in {"id", *said}}
    return {"id": node["id"], **said, **rest}


def _in_context(ink: Ink, place: Place) -> Ink:
    """Return the paint that `context-fill` or `context-stroke` stands for: a colour, or itself for a paint server."""
    if ink.kind != "context":
        return Ink("colour", place.style.color) if ink.kind == "current" and not ink.server else ink
    found = place.context_stroke if ink.stroke else place.context_fill
    return Ink("context") if found.server else found


def _has_blend(node: Json) -> bool:
    return "blend" in node or any(map(_has_blend, node["kind"].get("children", ())))


def _is_drawn(element: Element) -> bool:
    return not element.tag.startswith("{") and element.tag not in loss.UNPAINTED


def _conditions_hold(element: Element) -> bool:
    """Say whether conditional attributes let an element be drawn: no extension is known, the language is English."""
    if "requiredExtensions" in element.attributes:
        return False
    languages = element.attributes.get("systemLanguage")
    return languages is None or any(word.strip().lower()[:2] == "en" for word in languages.split(","))
