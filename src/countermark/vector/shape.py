"""The shape of a native tree: where nodes hold nodes, and a check of everything that is walked without looking."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from countermark.vector.container import Json, invalid

_HOLDERS: Final = ("children", "content", "source")


def holder_of(node: Json) -> str:
    """Return the member of a node's kind that lists its children: envelopes and repeats have their own name for it."""
    kind = node["kind"]
    return next((name for name in _HOLDERS if isinstance(kind.get(name), list)), "children")


def children_of(node: Json) -> list[Json]:
    """Return a node's children in paint order; a node that holds none gives an empty list."""
    kind = node["kind"]
    for name in _HOLDERS:
        held = kind.get(name)
        if isinstance(held, list):
            return held
    return []


def mask_art(node: Json) -> Json | None:
    """Return the art of a node's opacity mask, which lives outside the layers."""
    mask = node.get("mask")
    art = mask.get("art") if isinstance(mask, dict) else None
    return art if isinstance(art, dict) else None


def definition_art(tree: Json) -> Iterator[Json]:
    """Yield the art of symbols and pattern tiles."""
    for entry in chain(tree.get("symbols", ()), tree.get("patterns", ())):
        art = entry.get("art")
        yield from art if isinstance(art, list) else [art] if isinstance(art, dict) else []


def check(tree: Any, what: str) -> int:
    """Check a tree's shape and return its highest node id; a fault raises `artifact_invalid` and names the object."""
    if not isinstance(tree, dict):
        message = f"{what} has no document member."
        raise invalid(message)
    for name, needed in (("artboards", True), ("layers", True), ("swatches", False), ("swatch_groups", False)):
        _check_list(tree.get(name, None if needed else []), f"{what}: document.{name}")
    for name in ("symbols", "patterns"):
        _check_list(tree.get(name, []), f"{what}: document.{name}")
    seen: set[int] = set()
    for art in chain(tree["layers"], definition_art(tree)):
        _check_node(art, seen, what)
    return max(seen, default=0)


def _check_list(held: Any, place: str) -> None:
    if not isinstance(held, list) or not all(isinstance(entry, dict) for entry in held):
        message = f"{place} is not a list of objects."
        raise invalid(message)


def _check_node(node: Any, seen: set[int], what: str) -> None:
    kind = node.get("kind") if isinstance(node, dict) else None
    if not isinstance(kind, dict) or type(node.get("id")) is not int:
        message = f"{what}: the object after {max(seen, default=0)} has no id or no kind."
        raise invalid(message)
    place = f"{what}: object {node['id']}"
    if node["id"] in seen:
        message = f"{place} stands twice."
        raise invalid(message)
    seen.add(node["id"])
    _check_appearance(node.get("appearance"), place)
    if kind.get("type") == "path":
        _check_path(kind.get("path"), place)
    if kind.get("type") == "text":
        _check_list(kind.get("runs", []), f"{place}: runs")
    for child in children_of(node):
        _check_node(child, seen, what)
    art = mask_art(node)
    if art is not None:
        _check_node(art, seen, what)


def _check_appearance(appearance: Any, place: str) -> None:
    if appearance is None:
        return
    items = appearance.get("items", []) if isinstance(appearance, dict) else None
    _check_list(items, f"{place}: appearance.items")
    for item in items or ():
        paint = item.get("paint")
        if not isinstance(paint, dict):
            message = f"{place} has a fill or stroke without paint."
            raise invalid(message)
        holders: Any = [paint] if paint.get("type") == "solid" else []
        if paint.get("type") == "gradient":
            gradient = paint.get("gradient")
            holders = gradient.get("stops") if isinstance(gradient, dict) else None
            _check_list(holders, f"{place}: gradient stops")
        if not all(_is_colour(holder.get("color")) for holder in holders):
            message = f"{place} has a colour that is not one."
            raise invalid(message)


def _is_colour(colour: Any) -> bool:
    return isinstance(colour, dict) and all(
        type(value) in {int, float} for name, value in colour.items() if name != "model"
    )


def _check_path(path: Any, place: str) -> None:
    try:
        for subpath in path["subpaths"]:
            for anchor in subpath["anchors"]:
                _check_point(anchor["p"])
                if "in" in anchor:
                    _check_point(anchor["in"])
                if "out" in anchor:
                    _check_point(anchor["out"])
    except (KeyError, TypeError, ValueError) as error:
        message = f"{place} has a path that is not made of subpaths of anchors."
        raise invalid(message) from error


def _check_point(point: Any) -> None:
    x, y = (point["x"], point["y"]) if isinstance(point, dict) else point
    if type(x) not in {int, float} or type(y) not in {int, float}:
        message = "not a number"
        raise TypeError(message)
