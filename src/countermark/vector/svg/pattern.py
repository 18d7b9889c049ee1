"""Patterns as native tiles: art in a space of the pattern's own, repeated through a map (SVG 2 §14.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from countermark.vector.affine import IDENTITY, Box, Matrix
from countermark.vector.container import Json
from countermark.vector.svg.holding import Holding
from countermark.vector.svg.marker import Contents
from countermark.vector.svg.number import Frame, length
from countermark.vector.svg.parse import Element, not_svg
from countermark.vector.svg.place import Place, Source
from countermark.vector.svg.report import Report
from countermark.vector.svg.style import own, standing
from countermark.vector.svg.transform import origin, transform
from countermark.vector.svg.viewport import fit, view_box

_UNIT: Final = Frame(1.0, 1.0)
_WHOLE: Final = 1e-6


@dataclass(frozen=True, slots=True)
class _Chain:
    """A pattern with what it takes from others: attributes in force, who holds the art, who the view box."""

    element: Element
    attributes: Mapping[str, str]
    holder: Element
    shown: Element


class Patterns:
    """Makes native patterns of an import; one for each way in which a pattern meets an object."""

    def __init__(self, ids: Mapping[str, Element], holding: Holding, report: Report, contents: Contents) -> None:
        """Take the elements by id, where patterns are held, and what draws their content."""
        self._ids = ids
        self._holding = holding
        self._report = report
        self._contents = contents
        self._made: dict[tuple[object, ...], str] = {}

    def paint(self, element: Element, source: Source, place: Place) -> Json | None:
        """Return a native pattern paint; None when SVG says that nothing is painted.

        A pattern that draws itself raises `svg_invalid`.
        """
        if f"pattern {element.id}" in place.used:
            message = f"The pattern #{element.id} draws itself ({element.path})."
            raise not_svg(message, "Remove the pattern from its own content.")
        chain = self._chain(element)
        said = chain.attributes
        box = source.box()
        on_box = said.get("patternUnits", "objectBoundingBox").strip() != "userSpaceOnUse"
        shown = view_box(chain.shown)
        on_content = shown is None and said.get("patternContentUnits", "").strip() == "objectBoundingBox"
        if (on_box or on_content) and (box is None or box.width <= 0 or box.height <= 0):
            self._report.note("pattern", element, "An object without width or height takes no pattern of its box.")
            return None
        frame = _UNIT if on_box else source.units
        tile = self._tile(chain, frame, box if on_box else None)
        if tile is None or (shown is not None and (shown.width <= 0 or shown.height <= 0)):
            self._report.note("pattern", element, "Its tile has no area, so it paints nothing.")
            return None
        if on_box and any(abs(side - round(side)) > _WHOLE for side in tile):
            reason = "Its tile does not begin and end on whole units; readers draw such a tile in different fineness."
            self._report.loss("pattern", element, reason, hidden=place.hidden)
        to_document = source.matrix @ self._moved(chain, source.units)
        if not to_document.is_finite or not to_document.determinant:
            self._report.note("pattern", element, "Its transform flattens the plane, so it paints nothing.")
            return None
        # What a pattern holds begins at its tile's corner in every reader, whatever SVG 1.1 says of its user space.
        to_document = to_document @ Matrix(e=tile.x0, f=tile.y0)
        tile = Box(0.0, 0.0, tile.width, tile.height)
        content = IDENTITY
        inner = source.units
        if shown is not None:
            how = chain.shown.attributes.get("preserveAspectRatio", "")
            content = fit(shown, tile.width, tile.height, how)
            inner = inner._replace(width=shown.width, height=shown.height)
        elif on_content and box is not None:
            content = Matrix(a=box.width, d=box.height)
        return self._placed(chain, source, place, (tile, to_document, content, inner))

    def _placed(
        self, chain: _Chain, source: Source, place: Place, how: tuple[Box, Matrix, Matrix, Frame]
    ) -> Json | None:
        tile, to_document, content, inner = how
        # The tile is drawn as large as it shows, so that its coordinates keep the document's fineness.
        scale = math.sqrt(abs(to_document.determinant))
        larger = Matrix(scale, 0.0, 0.0, scale, 0.0, 0.0)
        xf = to_document @ larger.inverse()
        key = (chain.element.id, scale, tile, content, inner, source.matrix)
        if key not in self._made:
            style = standing(chain.holder, inner, self._report)
            below = replace(
                place,
                frame=inner,
                matrix=larger @ content,
                style=style,
                context_fill=None,
                context_stroke=None,
                used=(*place.used, f"pattern {chain.element.id}"),
                level=place.level + 1,
            )
            art = self._contents(chain.holder, below)
            if not art:
                self._report.note("pattern", chain.element, "It holds no art, so it paints nothing.")
                return None
            self._made[key] = self._holding.pattern(chain.element.id, art, tile.seen_through(larger))
        paint: Json = {"type": "pattern", "pattern": self._made[key]}
        return paint if xf == IDENTITY else {**paint, "xf": list(xf)}

    def _chain(self, element: Element) -> _Chain:
        links = [element]
        while links[-1].href is not None:
            other = self._ids.get(links[-1].href or "")
            if other is None or other.tag != "pattern":
                self._report.note(
                    "missing-reference", links[-1], f"It takes from #{links[-1].href}, which is no pattern."
                )
                break
            if other in links:
                message = f"The pattern #{element.id} refers to itself through #{links[-1].id} ({element.path})."
                raise not_svg(message, "Correct the pattern's href.")
            links.append(other)
        attributes: dict[str, str] = {}
        for link in reversed(links):
            attributes.update(link.attributes)
        holder = next((link for link in links if any(not one.tag.startswith("{") for one in link.children)), element)
        shown = next((link for link in links if "viewBox" in link.attributes), element)
        return _Chain(element, attributes, holder, shown)

    def _tile(self, chain: _Chain, frame: Frame, box: Box | None) -> Box | None:
        sides = []
        for name in ("x", "y", "width", "height"):
            whole = frame.width if name in {"x", "width"} else frame.height
            value = length(chain.attributes.get(name), frame, whole)
            sides.append(value or 0.0)
        x, y, width, height = sides
        if width <= 0 or height <= 0:
            return None
        tile = Box(x, y, x + width, y + height)
        return tile if box is None else tile.seen_through(box.from_unit)

    def _moved(self, chain: _Chain, units: Frame) -> Matrix:
        found = transform(chain.attributes.get("patternTransform", ""), units)
        if found is None:
            self._report.note("transform", chain.element, "Its patternTransform has a fault and counts for nothing.")
            return IDENTITY
        centre = own(chain.element, "transform-origin")
        point = origin(centre, units) if centre is not None else None
        return found if point is None else found.about(*point)
