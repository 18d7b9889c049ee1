"""The native tree resolved into what paints on one artboard.

Only this reading knows the native format's members; the drawer and the writer know the display list alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from countermark.kernel.errors import CountermarkError
from countermark.vector.affine import Box, Matrix
from countermark.vector.artboard import Artboard
from countermark.vector.container import Json
from countermark.vector.display import BLENDS, Area, Clip, Display, Fill, Group, Shape, Stroke, Undrawn
from countermark.vector.document import Document
from countermark.vector.paint_server import PaintServer, Solid, read_paint, rgb
from countermark.vector.path import bounds

_FLAT: Final = 1e-12
_PLAIN: Final = frozenset({None, False, "Neutral", "None", "Off"})


def resolve(document: Document, board: Artboard) -> Display:
    """Return what paints on an artboard: visible art, locked or not, whose paint reaches into its rectangle.

    Template layers and guides are not art. An object whose paint bounds are unknown counts as painting everywhere.
    """
    reader = _Reader(board.box)
    items = reader.children(document.tree["layers"])
    background: PaintServer | None = None
    for entry in document.tree["artboards"]:
        if entry.get("id") == board.id and entry.get("background") is not None:
            background = reader.background(board, entry["background"])
    title = board.name or str(document.tree.get("title", ""))
    return Display(board, title, background, items, tuple(dict.fromkeys(reader.undrawn)))


def _blends(item: Shape | Group) -> bool:
    """Whether something of an item blends with what is below it."""
    if isinstance(item, Shape):
        return any(mark.blend != "Normal" for mark in item.marks)
    return item.blend != "Normal" or (not item.isolate and any(_blends(inner) for inner in item.items))


class _Reader:
    """Walks the tree once for one artboard."""

    def __init__(self, box: Box) -> None:
        self._box = box
        self.undrawn: list[Undrawn] = []

    def background(self, board: Artboard, value: Any) -> PaintServer | None:
        try:
            colour = rgb(value)
        except (KeyError, TypeError):
            colour = None
        if colour is None:
            self.undrawn.append(Undrawn(0, board.name, "artboard background"))
            return None
        return Solid(colour)

    def children(self, nodes: list[Json]) -> tuple[Shape | Group, ...]:
        found: list[Shape | Group] = []
        for node in nodes:
            try:
                found.extend(self._node(node))
            except (AttributeError, KeyError, TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
                raise CountermarkError(
                    "artifact_invalid",
                    f"Object {node['id']} has a member that cannot be read: {error}.",
                    next_action="Correct the object in the editor it came from.",
                    details={"object": node["id"]},
                ) from error
        return tuple(found)

    def _node(self, node: Json) -> list[Shape | Group]:
        kind = node["kind"]
        if not node.get("visible", True) or kind.get("guide"):
            return []
        match kind.get("type"):
            case "layer" | "group":
                return [] if kind.get("template") else self._group(node)
            case "path":
                return self._leaf(node, kind["path"], kind.get("rule", "NonZero"))
            case "compound":
                return self._leaf(node, self._joined(node), kind.get("rule", "NonZero"))
            case other:
                self._miss(node, f"object of type {other}")
                return []

    def _group(self, node: Json) -> list[Shape | Group]:
        kind = node["kind"]
        children = kind.get("children", [])
        clip = None
        if kind.get("clip"):
            if not children:
                return []
            clip = self._clip(children[0])
            children = children[1:]
        self._name_what_is_missed(node)
        if kind.get("type") == "group" and self._items(node):
            self._miss(node, "appearance of a group")
        items = self.children(children)
        if not items:
            return []
        isolate = bool(node.get("isolate"))
        if clip is not None and not isolate and any(_blends(item) for item in items):
            isolate = True  # SVG has no clip that lets blending through
            self._miss(node, "blending through a clip")
        group = Group(node["id"], items, self._opacity(node), self._blend(node), isolate, clip)
        return list(items) if group.plain else [group]

    def _clip(self, node: Json) -> Clip | None:
        kind = node["kind"]
        match kind.get("type"):
            case "path":
                return Clip(node["id"], (Area(kind["path"], kind.get("rule", "NonZero")),))
            case "compound" if (kind.get("countermark") or {}).get("union"):
                areas = []
                for child in kind.get("children", []):
                    held = child["kind"]
                    path = held["path"] if held.get("type") == "path" else self._joined(child)
                    areas.append(Area(path, held.get("rule", "NonZero")))
                return Clip(node["id"], tuple(areas))
            case "compound":
                return Clip(node["id"], (Area(self._joined(node), kind.get("rule", "NonZero")),))
            case other:
                self._miss(node, f"clipping by an object of type {other}")
                return None

    def _joined(self, node: Json) -> Json:
        """Return the subpaths of a compound path's children as one path."""
        subpaths: list[Json] = []
        for child in node["kind"].get("children", []):
            kind = child["kind"]
            if kind.get("type") == "path":
                subpaths.extend(kind["path"]["subpaths"])
            elif kind.get("type") in {"compound", "group"}:
                subpaths.extend(self._joined(child)["subpaths"])
            else:
                self._miss(child, f"object of type {kind.get('type')} in a compound path")
        return {"subpaths": subpaths}

    def _leaf(self, node: Json, path: Json, rule: str) -> list[Shape | Group]:
        box = bounds(path)
        if box is None:
            return []
        before = len(self.undrawn)
        marks = tuple(mark for item in self._items(node) for mark in self._mark(node, item, box))
        reach = max((mark.reach for mark in marks if isinstance(mark, Stroke)), default=0.0)
        painted = Box(box.x0 - reach, box.y0 - reach, box.x1 + reach, box.y1 + reach)
        if not self._reaches(painted):
            del self.undrawn[before:]  # what does not reach this board is no loss here
            return []
        if not marks:
            return []
        self._name_what_is_missed(node)
        opacity, blend = self._opacity(node), self._blend(node)
        if len(marks) == 1 and marks[0].blend == "Normal":
            # One mark needs no layer of its own: its own opacity times the object's is the same picture.
            marks = (replace(marks[0], opacity=marks[0].opacity * opacity, blend=blend),)
            return [Shape(node["id"], path, rule, marks, painted)]
        shape = Shape(node["id"], path, rule, marks, painted)
        return [shape] if opacity >= 1 and blend == "Normal" else [Group(node["id"], (shape,), opacity, blend)]

    def _reaches(self, box: Box) -> bool:
        own = self._box
        return box.x0 < own.x1 and box.x1 > own.x0 and box.y0 < own.y1 and box.y1 > own.y0

    def _mark(self, node: Json, item: Json, box: Box) -> Iterator[Fill | Stroke]:
        if not item.get("visible", True) or item["paint"].get("type") == "none":
            return
        kind = item.get("kind")
        width = float(item.get("width", 0)) if kind == "stroke" else 0.0
        if kind == "stroke" and width <= 0:
            return
        half = width / 2
        ink, missed = read_paint(item["paint"], Box(box.x0 - half, box.y0 - half, box.x1 + half, box.y1 + half))
        for what in missed:
            self._miss(node, what)
        if any(effect.get("visible", True) for effect in item.get("effects", ())):
            self._miss(node, f"effects of a {kind}")
        if ink is None or kind not in {"fill", "stroke"}:
            if kind not in {"fill", "stroke"}:
                self._miss(node, f"appearance item of kind {kind}")
            return
        opacity = float(item.get("opacity", 1.0))
        blend = self._blend(node, item)
        yield Fill(ink, opacity, blend) if kind == "fill" else self._stroke(node, item, ink, opacity, blend)

    def _stroke(self, node: Json, item: Json, ink: PaintServer, opacity: float, blend: str) -> Stroke:
        for member, what in (
            ("start_arrow", "arrowheads"),
            ("end_arrow", "arrowheads"),
            ("profile", "width profile of a stroke"),
            ("brush", "brush of a stroke"),
        ):
            if item.get(member) is not None:
                self._miss(node, what)
        dash = item.get("dash") or {}
        pattern = tuple(float(length) for length in dash.get("pattern", ()))
        if any(length < 0 or not math.isfinite(length) for length in pattern) or not any(pattern):
            pattern = ()  # as in SVG and PDF, such a pattern draws a solid stroke
        pattern = pattern * 2 if len(pattern) % 2 else pattern
        if pattern and dash.get("align_corners"):
            self._miss(node, "dashes aligned to corners")
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
        self._miss(node, f"{member} {value} of a stroke")
        return known[0]

    def _pen(self, node: Json, item: Json) -> Matrix | None:
        pen = (item.get("countermark") or {}).get("pen")
        if pen is None:
            return None
        found = Matrix(*(float(part) for part in pen))
        if not found.is_finite or abs(found.determinant) < _FLAT:
            self._miss(node, "pen of a stroke")
            return None
        return found

    def _name_what_is_missed(self, node: Json) -> None:
        mask = node.get("mask")
        if isinstance(mask, dict) and not mask.get("disabled"):
            self._miss(node, "opacity mask")
        if node.get("knockout") not in _PLAIN:
            self._miss(node, "knockout group")
        appearance = node.get("appearance") or {}
        if any(effect.get("visible", True) for effect in appearance.get("effects", ())):
            self._miss(node, "effects")

    def _blend(self, node: Json, item: Json | None = None) -> str:
        blend = (node if item is None else item).get("blend") or "Normal"
        if blend in BLENDS:
            return str(blend)
        self._miss(node, f"blend mode {blend}")
        return "Normal"

    def _miss(self, node: Json, what: str) -> None:
        self.undrawn.append(Undrawn(node["id"], str(node.get("name") or ""), what))

    @staticmethod
    def _items(node: Json) -> list[Json]:
        appearance = node.get("appearance") or {}
        items: list[Json] = appearance.get("items", [])
        return items

    @staticmethod
    def _opacity(node: Json) -> float:
        return min(max(float(node.get("opacity", 1.0)), 0.0), 1.0)
