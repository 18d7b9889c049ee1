"""The native tree resolved into what paints on one artboard.

Only this reading knows the native format's members; the drawer and the writer know the display list alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from countermark.kernel.errors import CountermarkError
from countermark.raster.encoded import read_header
from countermark.vector.affine import Box, Matrix
from countermark.vector.artboard import Artboard
from countermark.vector.container import Json
from countermark.vector.display import Area, Clip, Display, Group, Image, Item, Mask, Shape, Stroke, Tiling, Undrawn
from countermark.vector.document import Document
from countermark.vector.embedded import data_of
from countermark.vector.marking import Marking, items_of
from countermark.vector.paint_server import PaintServer, Solid, rgb
from countermark.vector.path import bounds

_PLAIN: Final = frozenset({None, False, "Neutral", "None", "Off"})
_EVERYWHERE: Final = Box(-1e300, -1e300, 1e300, 1e300)


def resolve(document: Document, board: Artboard) -> Display:
    """Return what paints on an artboard: visible art, locked or not, whose paint reaches into its rectangle.

    Template layers and guides are not art. An object whose paint bounds are unknown counts as painting everywhere.
    """
    reader = _Reader(document, board.box, [], ())
    items = reader.children(document.tree["layers"])
    background: PaintServer | None = None
    for entry in document.tree["artboards"]:
        if entry.get("id") == board.id and entry.get("background") is not None:
            background = reader.background(board, entry["background"])
    title = board.name or str(document.tree.get("title", ""))
    return Display(board, title, background, items, tuple(dict.fromkeys(reader.undrawn)))


def _blends(item: Item) -> bool:
    """Whether something of an item blends with what is below it."""
    if isinstance(item, Image):
        return False
    if isinstance(item, Shape):
        return any(mark.blend != "Normal" for mark in item.marks)
    return item.blend != "Normal" or (not item.isolate and any(_blends(inner) for inner in item.items))


class _Reader:
    """Walks a part of the tree once; `within` names the symbols and patterns that are being read, outermost first."""

    def __init__(self, document: Document, box: Box, undrawn: list[Undrawn], within: tuple[str, ...]) -> None:
        self._document = document
        self._box = box
        self._within = within
        self.undrawn = undrawn
        self._marking = Marking(undrawn, self._tiling)

    def background(self, board: Artboard, value: Any) -> PaintServer | None:
        try:
            colour = rgb(value)
        except (KeyError, TypeError):
            colour = None
        if colour is None:
            self.undrawn.append(Undrawn(0, board.name, "artboard background"))
            return None
        return Solid(colour)

    def children(self, nodes: list[Json]) -> tuple[Item, ...]:
        found: list[Item] = []
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

    def _node(self, node: Json) -> list[Item]:
        kind = node["kind"]
        if not node.get("visible", True) or kind.get("guide") or kind.get("template"):
            return []
        match kind.get("type"):
            case "layer" | "group":
                return self._group(node)
            case "path" | "compound" as shape:
                path = kind["path"] if shape == "path" else self._joined(node)
                return self._leaf(node, path, kind.get("rule", "NonZero"))
            case "image":
                return self._image(node)
            case "symbolinstance":
                return self._symbol(node)
        self._miss(node, f"object of type {kind.get('type')}")
        return []

    def _group(self, node: Json) -> list[Item]:
        kind = node["kind"]
        children = kind.get("children", [])
        clip = None
        if kind.get("clip"):
            if not children:
                return []
            clip = self._clip(children[0])
            children = children[1:]
        if kind.get("type") == "group" and items_of(node):
            self._miss(node, "appearance of a group")
        return self._composited(node, self.children(children), clip)

    def _composited(
        self, node: Json, items: tuple[Item, ...], clip: Clip | None = None, matrix: Matrix | None = None
    ) -> list[Item]:
        """Return items as an object's own opacity, blend mode and mask show them."""
        self._name_what_is_missed(node)
        if not items:
            return []
        isolate = bool(node.get("isolate"))
        mask = self._mask(node)
        if (clip is not None or mask is not None) and not isolate and any(_blends(item) for item in items):
            isolate = True  # SVG has no clip or mask that lets blending through
            self._miss(node, "blending through a clip" if mask is None else "blending through a mask")
        group = Group(node["id"], items, self._opacity(node), self._marking.blend(node), isolate, clip, mask, matrix)
        return list(items) if group.plain else [group]

    def _mask(self, node: Json) -> Mask | None:
        mask = node.get("mask")
        if not isinstance(mask, dict) or mask.get("disabled") or not isinstance(mask.get("art"), dict):
            return None
        items = self.children([mask["art"]])
        linear = bool((mask.get("countermark") or {}).get("linear"))
        return Mask(
            mask["art"]["id"],
            items,
            luminance=bool(mask.get("luminance", True)),
            linear=linear,
            invert=bool(mask.get("invert")),
            outside=not mask.get("clip", True),
        )

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

    def _leaf(self, node: Json, path: Json, rule: str) -> list[Item]:
        box = bounds(path)
        if box is None:
            return []
        before = len(self.undrawn)
        marks = self._marking.marks(node, box)
        reach = max((mark.reach for mark in marks if isinstance(mark, Stroke)), default=0.0)
        painted = Box(box.x0 - reach, box.y0 - reach, box.x1 + reach, box.y1 + reach)
        if not self._reaches(painted):
            del self.undrawn[before:]  # what does not reach this board is no loss here
            return []
        if not marks:
            return []
        if len(marks) == 1 and marks[0].blend == "Normal" and node.get("mask") is None:
            # One mark needs no layer of its own: its own opacity times the object's is the same picture.
            self._name_what_is_missed(node)
            opacity = marks[0].opacity * self._opacity(node)
            mark = replace(marks[0], opacity=opacity, blend=self._marking.blend(node))
            return [Shape(node["id"], path, rule, (mark,), painted)]
        return self._composited(node, (Shape(node["id"], path, rule, marks, painted),))

    def _image(self, node: Json) -> list[Item]:
        kind = node["kind"]
        matrix = Matrix(*(float(part) for part in kind.get("xf", (1, 0, 0, 1, 0, 0))))
        width, height = int(kind["width"]), int(kind["height"])
        box = Box(0.0, 0.0, width, height).seen_through(matrix)
        if not self._reaches(box) or width <= 0 or height <= 0 or not matrix.is_finite:
            return []
        data = data_of(self._document, kind["key"])
        try:
            found = read_header(data or b"")
        except CountermarkError as error:
            self._miss(node, f"image: {error.sentence}")
            return []
        smooth = (kind.get("countermark") or {}).get("sampling") != "nearest"
        image = Image(node["id"], kind["key"], found.mime, data or b"", width, height, matrix, smooth, box)
        return self._composited(node, (image,))

    def _symbol(self, node: Json) -> list[Item]:
        kind = node["kind"]
        name = str(kind["symbol"])
        art = self._art("symbols", name)
        matrix = Matrix(*(float(part) for part in kind.get("xf", (1, 0, 0, 1, 0, 0))))
        if not art or f"symbol {name}" in self._within or not matrix.is_finite or not matrix.determinant:
            self._miss(node, f"symbol {name}")
            return []
        inner = _Reader(
            self._document,
            self._box.seen_through(matrix.inverse()),
            self.undrawn,
            (*self._within, f"symbol {name}"),
        )
        return self._composited(node, inner.children(art), matrix=matrix)

    def _tiling(self, node: Json, paint: Json) -> Tiling | None:
        """Return the pattern of a paint; one that is missing, empty or within itself is named."""
        name = str(paint["pattern"])
        entry = next((held for held in self._document.tree.get("patterns", ()) if held.get("name") == name), None)
        matrix = Matrix(*(float(part) for part in paint.get("xf") or (1, 0, 0, 1, 0, 0)))
        tile = entry.get("tile") if entry is not None else None
        if not isinstance(tile, dict) or f"pattern {name}" in self._within or not matrix.is_finite:
            self._miss(node, f"pattern {name}")
            return None
        box = Box(*(float(tile[side]) for side in ("x0", "y0", "x1", "y1")))
        if box.width <= 0 or box.height <= 0 or not matrix.determinant:
            self._miss(node, f"pattern {name}")
            return None
        inner = _Reader(self._document, _EVERYWHERE, self.undrawn, (*self._within, f"pattern {name}"))
        return Tiling(name, inner.children(self._art("patterns", name)), box, matrix)

    def _art(self, member: str, name: str) -> list[Json]:
        for entry in self._document.tree.get(member, ()):
            if entry.get("name") == name:
                art = entry.get("art")
                return art if isinstance(art, list) else [art] if isinstance(art, dict) else []
        return []

    def _reaches(self, box: Box) -> bool:
        own = self._box
        return box.x0 < own.x1 and box.x1 > own.x0 and box.y0 < own.y1 and box.y1 > own.y0

    def _name_what_is_missed(self, node: Json) -> None:
        mask = node.get("mask")
        if isinstance(mask, dict) and not mask.get("disabled") and not isinstance(mask.get("art"), dict):
            self._miss(node, "opacity mask without art")
        if node.get("knockout") not in _PLAIN:
            self._miss(node, "knockout group")
        appearance = node.get("appearance") or {}
        if any(effect.get("visible", True) for effect in appearance.get("effects", ())):
            self._miss(node, "effects")

    def _miss(self, node: Json, what: str) -> None:
        self._marking.miss(node, what)

    @staticmethod
    def _opacity(node: Json) -> float:
        return min(max(float(node.get("opacity", 1.0)), 0.0), 1.0)
