"""The walk over an SVG's elements, in paint order, that makes native nodes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Final

from countermark.kernel.errors import CountermarkError
from countermark.vector.affine import Box, Matrix
from countermark.vector.container import Json
from countermark.vector.path import bounds
from countermark.vector.svg import loss, shape, sheet
from countermark.vector.svg.clip import Clipper, matrix_of, shifted
from countermark.vector.svg.emit import Emitter, significant
from countermark.vector.svg.holding import Holding
from countermark.vector.svg.image import Images
from countermark.vector.svg.marker import Markers
from countermark.vector.svg.mask import Masker
from countermark.vector.svg.number import NotFiniteError, length, number_or_percent
from countermark.vector.svg.painting import Painting
from countermark.vector.svg.parse import Element, not_svg
from countermark.vector.svg.pathdata import frame_of
from countermark.vector.svg.pattern import Patterns
from countermark.vector.svg.place import Place, box_of
from countermark.vector.svg.property import BLENDS
from countermark.vector.svg.report import Report
from countermark.vector.svg.style import INITIAL, computed, is_shown, own
from countermark.vector.svg.viewport import fit, view_box

MAX_COPIES: Final = 20_000
_MAX_LEVEL: Final = 160
# Groups that say nothing are dissolved past this depth, so that what is written stays within the format's reach.
_KEEP_GROUPS: Final = 32


class Reader:
    """Reads the elements of one file; `ids` holds the first element of each id."""

    def __init__(self, ids: dict[str, Element], emitter: Emitter, report: Report, holding: Holding) -> None:
        """Take the elements by id, where nodes and the report are made, and where patterns and pictures are held."""
        self.ids = ids
        self._emitter = emitter
        self._report = report
        self._holding = holding
        self._clipper = Clipper(ids, emitter, report)
        self._masker = Masker(ids, emitter, report, self.contents)
        self._markers = Markers(ids, emitter, report, self.contents)
        self._painting = Painting(ids, emitter, report, Patterns(ids, holding, report, self.contents))
        self._images = Images(holding, emitter, report, self._nested)
        self._copies = 0

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
        place = replace(place, hidden=place.hidden or not is_shown(element))
        opacity = number_or_percent(own(element, "opacity"))
        opacity = None if opacity is None or opacity >= 1 else significant(max(0.0, opacity))
        blend = BLENDS.get((own(element, "mix-blend-mode") or "normal").lower(), "Normal")
        isolated = (own(element, "isolation") or "").lower() == "isolate"
        hidden = not is_shown(element)
        drawn = nodes
        measured = cache(lambda: box_of(drawn, place.matrix))
        clips = self._clipper.layers(element, place, measured)
        if not all(clips):
            self._report.note("clip-path", element, "Its clip has no area and hides all of it.")
            return []
        mask = self._masker.of(element, place, measured)
        together = opacity is not None or blend != "Normal" or isolated or bool(clips) or mask is not None
        members: Json = {
            "name": element.label or element.id or None,
            "visible": False if hidden else None,
            "opacity": opacity,
            "blend": None if blend == "Normal" else blend,
            "isolate": True if (together or isolated) and any(map(_has_blend, nodes)) else None,
            "mask": mask,
        }
        for number, layer in enumerate(reversed(clips), start=1):
            # A mask of our own in the place of a clip leaves no room for the element's: that stands around it.
            last = number == len(clips) and not (isinstance(layer, dict) and mask is not None)
            nodes = [self._clipper.around(nodes, layer, **(members if last else {}))]
            if number == len(clips) and not last:
                nodes = [self._emitter.node({"type": "group", "children": nodes, "clip": False}, **members)]
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
        loss.of_properties(element, self.ids, self._report, hidden=inner.hidden or not style.visible)
        return self._drawn_nodes(element, inner)

    def _drawn_nodes(self, element: Element, place: Place) -> list[Json]:
        match element.tag:
            case "use":
                return self._use(element, place)
            case "svg":
                return self._viewport(element, element, place)
            case "image":
                nodes = self._images.nodes(element, place)
                return self.finished(element, place, nodes, group=False)
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
        box = cache(lambda: bounds(path))
        drawn = {
            "fill": self._painting.fill(element, place, box) if element.tag != "line" else [],
            "stroke": self._painting.stroke(element, place, box),
        }
        markers: list[Json] = []
        if style.visible:
            fill, stroke = place.source(style.fill, box), place.source(style.stroke, box)
            markers = self._markers.nodes(element, path, place, fill, stroke)
        # Without markers between them, fill and stroke are one object.
        order = [name for name in style.order if name != "markers"]
        before = list(style.order).index("markers") if markers else len(order)
        parts = [order[:before], order[before:]]
        nodes = []
        for index, part in enumerate(parts):
            items = [item for name in part for item in drawn[name]]
            if items or (index == 0 and not any(drawn.values())) or (index == 0 and before):
                nodes.append(self._path(path, items, place))
            if index == 0:
                nodes.extend(markers)
        if len(nodes) > 1:
            return self.finished(element, replace(place, groups=place.groups + 1), nodes, group=True)
        return self.finished(element, place, nodes, group=False)

    def _path(self, path: Json, items: list[Json], place: Place) -> Json:
        kind: Json = {"type": "path", "path": self._emitter.path(path, place.matrix)}
        if place.style.even_odd:
            kind["rule"] = "EvenOdd"
        return self._emitter.node(kind, items, visible=None if place.style.visible else False)

    def _use(self, element: Element, place: Place) -> list[Json]:
        target = self.ids.get(element.href or "")
        if target is None:
            self._report.note("missing-reference", element, f"It uses #{element.href or ''}, which does not exist.")
            return []
        if target.id in place.used:
            chain = " → ".join(f"#{name.rpartition(' ')[2]}" for name in (*place.used, target.id))
            raise not_svg(f"{element.path} draws itself: {chain}.", "Remove the circle of use elements.")
        at = place.matrix @ shifted(element, place)
        inside = replace(place, matrix=at, used=(*place.used, target.id), level=place.level + 1)
        box = self._measure(target, inside, place.matrix)
        inner = replace(
            place,
            context_fill=place.source(place.style.fill, box),
            context_stroke=place.source(place.style.stroke, box),
            matrix=at,
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
        if target.tag == "symbol" and matrix != place.matrix:
            reason = "A symbol's transform is applied, as SVG 2 says; readers of SVG 1.1 leave it out."
            self._report.loss("symbol-transform", target, reason, hidden=place.hidden)
        loss.of_properties(target, self.ids, self._report, hidden=place.hidden)
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
        path = self._emitter.path(frame_of(0, 0, width, height), matrix)
        clip = self._emitter.node({"type": "path", "path": path, "clipping": True})
        return self._emitter.node({"type": "group", "children": [clip, *nodes], "clip": True})

    def _measure(self, target: Element, place: Place, matrix: Matrix) -> Callable[[], Box | None]:
        """Return what measures the geometry that a `use` draws, in the space of `matrix`, once a paint asks for it."""

        @cache
        def measured() -> Box | None:
            apart = Reader(self.ids, Emitter.for_size(1.0), Report(), Holding())
            apart._copies = self._copies  # what is measured counts as drawn
            nodes = apart.nodes(target, replace(place, context_fill=None, context_stroke=None))
            self._copies = apart._copies
            return box_of(nodes, matrix)

        return measured

    def _nested(self, root: Element, element: Element, place: Place) -> list[Json]:
        """Draw the root of a drawing that stands in a picture element, with ids and style sheets of its own."""
        sheet.apply(root, self._report)
        loss.of_file(root, self._report)
        ids: dict[str, Element] = {}
        for one in root.walk():
            if one.id:
                ids.setdefault(one.id, one)
        inner = Reader(ids, self._emitter, self._report, self._holding)
        inner._copies = self._copies
        style = computed(root, INITIAL, place.frame, self._report)
        below = Place(
            place.frame._replace(root_font_size=style.font_size),
            matrix=place.matrix,
            style=style,
            hidden=place.hidden or not place.style.visible,
            used=(f"image {element.path}",),
            level=place.level + 1,
            groups=place.groups + 1,
        )
        box = view_box(root)
        if box is not None:
            how = root.attributes.get("preserveAspectRatio", "")
            matrix = place.matrix @ fit(box, place.frame.width, place.frame.height, how)
            below = replace(below, matrix=matrix, frame=below.frame._replace(width=box.width, height=box.height))
        nodes = inner.contents(root, below)
        nodes = inner.finished(root, below, nodes, group=True) if nodes else []
        self._copies = inner._copies
        return nodes if place.style.visible else [{**node, "visible": False} for node in nodes]


def _with(node: Json, members: Json) -> Json:
    """Return a node with members added in the order the format writes them."""
    said = {name: value for name, value in members.items() if value is not None}
    rest = {name: value for name, value in node.items() if name not in {"id", *said}}
    return {"id": node["id"], **said, **rest}


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
