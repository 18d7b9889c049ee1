"""What an object's appearance paints: its fills and strokes as marks of the display list."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final

from countermark.vector.affine import Box, Matrix
from countermark.vector.container import Json
from countermark.vector.display import BLENDS, Fill, Stroke, Tiling, Undrawn
from countermark.vector.paint_server import PaintServer, read_paint

_FLAT: Final = 1e-12


class Marking:
    """Reads appearances; what cannot be shown is added to `undrawn`. `tiling` finds the pattern of a paint."""

    def __init__(self, undrawn: list[Undrawn], tiling: Callable[[Json, Json], Tiling | None]) -> None:
        """Take the list to add to, and the reader of patterns: node and paint in, tiling out."""
        self._undrawn = undrawn
        self._tiling = tiling

    def marks(self, node: Json, box: Box) -> tuple[Fill | Stroke, ...]:
        """Return an object's marks in paint order; `box` is its geometry's."""
        return tuple(mark for item in items_of(node) for mark in self._mark(node, item, box))

    def blend(self, node: Json, item: Json | None = None) -> str:
        """Return the blend mode of an object or of one item of its appearance."""
        blend = (node if item is None else item).get("blend") or "Normal"
        if blend in BLENDS:
            return str(blend)
        self.miss(node, f"blend mode {blend}")
        return "Normal"

    def miss(self, node: Json, what: str) -> None:
        """Name what of an object cannot be shown."""
        self._undrawn.append(Undrawn(node["id"], str(node.get("name") or ""), what))

    def _mark(self, node: Json, item: Json, box: Box) -> Iterator[Fill | Stroke]:
        if not item.get("visible", True) or item["paint"].get("type") == "none":
            return
        kind = item.get("kind")
        width = float(item.get("width", 0)) if kind == "stroke" else 0.0
        if kind == "stroke" and width <= 0:
            return
        ink = self._ink(node, item, box, width / 2)
        if any(effect.get("visible", True) for effect in item.get("effects", ())):
            self.miss(node, f"effects of a {kind}")
        if ink is None or kind not in {"fill", "stroke"}:
            if kind not in {"fill", "stroke"}:
                self.miss(node, f"appearance item of kind {kind}")
            return
        opacity = float(item.get("opacity", 1.0))
        blend = self.blend(node, item)
        yield Fill(ink, opacity, blend) if kind == "fill" else self._stroke(node, item, ink, opacity, blend)

    def _ink(self, node: Json, item: Json, box: Box, half: float) -> PaintServer | Tiling | None:
        if item["paint"].get("type") == "pattern":
            return self._tiling(node, item["paint"])
        wide = Box(box.x0 - half, box.y0 - half, box.x1 + half, box.y1 + half)
        ink, missed = read_paint(item["paint"], wide)
        for what in missed:
            self.miss(node, what)
        return ink

    def _stroke(self, node: Json, item: Json, ink: PaintServer | Tiling, opacity: float, blend: str) -> Stroke:
        for member, what in (
            ("start_arrow", "arrowheads"),
            ("end_arrow", "arrowheads"),
            ("profile", "width profile of a stroke"),
            ("brush", "brush of a stroke"),
        ):
            if item.get(member) is not None:
                self.miss(node, what)
        dash = item.get("dash") or {}
        pattern = tuple(float(length) for length in dash.get("pattern", ()))
        if any(length < 0 or not math.isfinite(length) for length in pattern) or not any(pattern):
            pattern = ()  # as in SVG and PDF, such a pattern draws a solid stroke
        pattern = pattern * 2 if len(pattern) % 2 else pattern
        if pattern and dash.get("align_corners"):
            self.miss(node, "dashes aligned to corners")
        return Stroke(
            ink=ink,
            opacity=opacity,
            blend=blend,
            width=float(item["width"]),
            cap=self._one_of(node, item, "cap", ("Butt", "Round", "Square")),
            join=self._one_of(node, item, "join", ("Miter", "Round", "Bevel")),
            miter_limit=float(item.get("miter_limit", 10.0)),
            align=self._one_of(node, item, "align", ("Center", "Inside", "Outside")),
            dash=pattern,
            dash_offset=float(dash.get("offset", 0.0)),
            pen=self._pen(node, item),
        )

    def _one_of(self, node: Json, item: Json, member: str, known: tuple[str, ...]) -> str:
        value = item.get(member) or known[0]
        if value in known:
            return str(value)
        self.miss(node, f"{member} {value} of a stroke")
        return known[0]

    def _pen(self, node: Json, item: Json) -> Matrix | None:
        pen = (item.get("countermark") or {}).get("pen")
        if pen is None:
            return None
        found = Matrix(*(float(part) for part in pen))
        if not found.is_finite or abs(found.determinant) < _FLAT:
            self.miss(node, "pen of a stroke")
            return None
        return found


def items_of(node: Json) -> list[Json]:
    """Return the fills and strokes of an object's appearance."""
    appearance = node.get("appearance") or {}
    items: list[Json] = appearance.get("items", [])
    return items
