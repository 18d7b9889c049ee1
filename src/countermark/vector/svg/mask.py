"""Masks as native opacity masks: art whose luminance, or alpha, an object is multiplied by (CSS Masking 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from countermark.vector.affine import IDENTITY, Box
from countermark.vector.container import Json
from countermark.vector.svg.emit import Emitter
from countermark.vector.svg.marker import Contents
from countermark.vector.svg.number import Frame, length
from countermark.vector.svg.parse import Element, not_svg
from countermark.vector.svg.pathdata import frame_of
from countermark.vector.svg.place import Place
from countermark.vector.svg.report import Report
from countermark.vector.svg.style import own, reference, standing

_UNIT: Final = Frame(1.0, 1.0)
_DEFAULTS: Final = {"x": "-10%", "y": "-10%", "width": "120%", "height": "120%"}


class Masker:
    """Finds what a `mask` lets through; `contents` draws what a mask holds."""

    def __init__(self, ids: Mapping[str, Element], emitter: Emitter, report: Report, contents: Contents) -> None:
        """Take the elements by id, and what makes nodes and the report."""
        self._ids = ids
        self._emitter = emitter
        self._report = report
        self._contents = contents

    def of(self, element: Element, place: Place, box_of: Callable[[], Box | None]) -> Json | None:
        """Return the native mask on an element, None when there is none; a mask without art hides everything.

        `place` is the element's own and `box_of` measures its geometry there. A mask that leads back to itself raises
        `svg_invalid`.
        """
        name = reference(own(element, "mask"))
        mask = self._ids.get(name) if name else None
        if mask is None or mask.tag != "mask":
            if name:
                self._report.note("missing-reference", element, f"The mask #{name} does not exist and masks nothing.")
            return None
        if f"mask {name}" in place.used:
            raise not_svg(f"The mask #{name} refers to itself ({mask.path}).", "Correct the mask references.")
        style = standing(mask, place.frame, self._report)
        inner = replace(
            place,
            style=style,
            context_fill=None,
            context_stroke=None,
            used=(*place.used, f"mask {name}"),
            level=place.level + 1,
        )
        children = self._art(mask, inner, box_of)
        kind: Json = {"type": "group", "children": children, "clip": bool(children)}
        art = self._emitter.node(kind, name=mask.label or mask.id)
        outer = self.of(mask, replace(inner, style=place.style), box_of)
        if outer is not None:
            art = {**art, "mask": outer}
        found: Json = {"art": art, "clip": True, "invert": False, "disabled": False, "linked": True}
        found["luminance"] = (own(mask, "mask-type") or "luminance").strip().lower() != "alpha"
        return {**found, "countermark": {"linear": True}} if style.linear and found["luminance"] else found

    def _art(self, mask: Element, place: Place, box_of: Callable[[], Box | None]) -> list[Json]:
        """Return the mask's region as a clip shape and what it holds; nothing when the region has no area."""
        region, content = IDENTITY, IDENTITY
        units = place.units
        box = box_of()
        on_box = mask.attributes.get("maskUnits", "objectBoundingBox").strip() != "userSpaceOnUse"
        on_content = mask.attributes.get("maskContentUnits", "").strip() == "objectBoundingBox"
        if on_box or on_content:
            if box is None or box.width <= 0 or box.height <= 0:
                self._report.note("mask", mask, "An object without width or height takes no mask of its box.")
                return []
            region = box.from_unit if on_box else IDENTITY
            content = box.from_unit if on_content else IDENTITY
        frame = _UNIT if on_box else units
        x, y, width, height = (_side(mask, name, frame) for name in ("x", "y", "width", "height"))
        if width <= 0 or height <= 0:
            self._report.note("mask", mask, "Its region has no area, so it hides all of it.")
            return []
        below = replace(place, matrix=place.matrix @ content)
        nodes = self._contents(mask, below)
        if not nodes:
            return []
        kind: Json = {
            "type": "path",
            "path": self._emitter.path(frame_of(x, y, width, height), place.matrix @ region),
            "clipping": True,
        }
        return [self._emitter.node(kind), *nodes]


def _side(mask: Element, name: str, frame: Frame) -> float:
    whole = frame.width if name in {"x", "width"} else frame.height
    value = length(mask.attributes.get(name, _DEFAULTS[name]), frame, whole)
    if value is None:
        value = length(_DEFAULTS[name], frame, whole)
    return value or 0.0
