"""Pictures inside a drawing: rasters become native images, drawings become groups.

A picture is what its bytes are, not what its data URI calls it. What cannot be read whole is a loss with its reason.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final
from urllib.parse import unquote_to_bytes

from countermark.kernel.errors import CountermarkError
from countermark.raster.encoded import kind_of, read_whole
from countermark.vector.affine import Matrix
from countermark.vector.container import Json
from countermark.vector.svg.clip import shifted
from countermark.vector.svg.emit import Emitter, significant
from countermark.vector.svg.holding import Holding
from countermark.vector.svg.number import length
from countermark.vector.svg.parse import Element, parse
from countermark.vector.svg.pathdata import frame_of
from countermark.vector.svg.place import Place
from countermark.vector.svg.report import Report
from countermark.vector.svg.style import own
from countermark.vector.svg.viewport import ViewBox, fit, root_size

MAX_NESTED: Final = 4
_DATA: Final = re.compile(r"data:([^,]*),", re.IGNORECASE)
_SQUARE: Final = frozenset({"optimizespeed", "pixelated", "crisp-edges"})

Nested = Callable[[Element, Element, Place], list[Json]]
"""Draws the root of a drawing inside a picture element, at a place whose frame is the drawing's own size."""


class Images:
    """Reads picture elements."""

    def __init__(self, holding: Holding, emitter: Emitter, report: Report, nested: Nested) -> None:
        """Take where pictures are held, what makes nodes and the report, and what draws a drawing in a drawing."""
        self._holding = holding
        self._emitter = emitter
        self._report = report
        self._nested = nested

    def nodes(self, element: Element, place: Place) -> list[Json]:
        """Return the nodes of a picture, framed where its own rules cut it."""
        data, said = self._data(element)
        hidden = place.hidden or not place.style.visible
        if data is None:
            return []
        try:
            return (
                self._vector(element, data, place)
                if kind_of(data) == "image/svg+xml"
                else self._raster(element, data, said, place)
            )
        except CountermarkError as error:
            self._report.loss("image", element, f"The picture is not carried over: {error.sentence}", hidden=hidden)
            return []

    def _raster(self, element: Element, data: bytes, said: str, place: Place) -> list[Json]:
        found = read_whole(data)
        if said and said not in {found.mime, "image/jpg", "application/octet-stream"}:
            self._report.note("image", element, f"It is called {said[:60]} and is {found.mime}.")
        key = self._holding.picture(found.mime, data)
        placed = self._placed(element, place, (found.width, found.height))
        if placed is None:
            return []
        matrix, frame = placed
        kind: Json = {
            "type": "image",
            "key": key,
            "width": found.width,
            "height": found.height,
            "xf": [significant(part) for part in matrix],
        }
        if (own(element, "image-rendering") or "").lower() in _SQUARE:
            kind["countermark"] = {"sampling": "nearest"}
            reason = "Its pixels stay squares; readers differ on where exactly one ends."
            self._report.loss("image-rendering", element, reason, hidden=place.hidden or not place.style.visible)
        node = self._emitter.node(kind, visible=None if place.style.visible else False)
        return [self._framed(node, frame)]

    def _vector(self, element: Element, data: bytes, place: Place) -> list[Json]:
        root = parse(data, what="the drawing inside").root
        depth, above = 0, element
        while above.parent is not None or above.within is not None:
            depth += above.parent is None
            above = above.parent or above.within or above
        if depth >= MAX_NESTED:
            self._report.loss("image", element, f"Drawings inside drawings are read {MAX_NESTED} deep.")
            return []
        root.within = element
        size = root_size(root, "the drawing inside")
        width, height = size.width or 100.0, size.height or 100.0
        placed = self._placed(element, place, (width, height))
        if placed is None:
            return []
        matrix, frame = placed
        inner = replace(place, matrix=matrix, frame=place.frame._replace(width=width, height=height))
        nodes = self._nested(root, element, inner)
        if not nodes:
            return []
        kind: Json = {"type": "path", "path": self._emitter.path(frame_of(0, 0, width, height), matrix)}
        cut = self._emitter.node({**kind, "clipping": True})
        group = self._emitter.node({"type": "group", "children": [cut, *nodes], "clip": True})
        return [self._framed(group, frame)]

    def _framed(self, node: Json, frame: Json | None) -> Json:
        if frame is None:
            return node
        clip = self._emitter.node({"type": "path", "path": frame, "clipping": True})
        return self._emitter.node({"type": "group", "children": [clip, node], "clip": True})

    def _placed(self, element: Element, place: Place, size: tuple[float, float]) -> tuple[Matrix, Json | None] | None:
        """Return the map from the picture's own size to the document, and the frame that cuts what is sliced off."""
        units = place.units
        width = length(element.attributes.get("width"), units, units.width)
        height = length(element.attributes.get("height"), units, units.height)
        if width is None and height is None:
            width, height = size
        elif width is None:
            width = (height or 0.0) * size[0] / size[1]
        elif height is None:
            height = width * size[1] / size[0]
        if width <= 0 or (height or 0.0) <= 0:
            self._report.note("empty-shape", element, "It has no size, so SVG paints nothing for it.")
            return None
        height = height or 0.0
        how = element.attributes.get("preserveAspectRatio", "")
        at = place.matrix @ shifted(element, place)
        matrix = at @ fit(ViewBox(0.0, 0.0, *size), width, height, how)
        cut = "slice" in how.split()
        return matrix, self._emitter.path(frame_of(0, 0, width, height), at) if cut else None

    def _data(self, element: Element) -> tuple[bytes | None, str]:
        """Return a picture's bytes and what its data URI calls them."""
        value = element.attributes.get("href", element.attributes.get("xlink:href", "")).strip()
        match = _DATA.match(value)
        if not match:
            reason = "It refers to an element of the drawing." if value else "It names no picture."
            self._report.note("image", element, reason)
            return None, ""
        words = [word.strip().lower() for word in match[1].split(";")]
        payload = value[match.end() :]
        if "base64" not in words[1:]:
            return unquote_to_bytes(payload), words[0]
        try:
            plain = re.sub(rb"\s+", b"", unquote_to_bytes(payload))
            return base64.b64decode(plain + b"=" * (-len(plain) % 4), validate=True), words[0]
        except (binascii.Error, ValueError):
            self._report.loss("image", element, "The picture is not carried over: its base64 is damaged.")
            return None, ""
