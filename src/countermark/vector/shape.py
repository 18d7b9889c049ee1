"""The shape of a native tree: where nodes hold nodes, and the check at the door that everything inside relies on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from countermark.vector import member
from countermark.vector.container import Json, invalid

_HOLDERS: Final = ("children", "content", "source")
_NUMBERS: Final = frozenset({int, float})


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
    """Check a tree's shape and return its highest node id; a fault raises `artifact_invalid` with its place."""
    where = member.TREE(tree)
    if where is not None:
        message = f"{what}: document{where} is missing or not what the format says."
        raise invalid(message)
    seen: set[int] = set()
    for art in chain(tree["layers"], definition_art(tree)):
        _check_node(art, seen, what)
    return max(seen, default=0)


def _check_node(node: Any, seen: set[int], what: str) -> None:
    where = member.NODE(node)
    if where is None and node["kind"]["type"] == "path":
        where = _path_fault(node["kind"]["path"])
    if where is not None:
        named = node.get("id") if isinstance(node, dict) else None
        place = f"object {named}" if type(named) is int else f"the object after {max(seen, default=0)}"
        message = f"{what}: {place}: {where.lstrip('.') or 'it'} is missing or not what the format says."
        raise invalid(message)
    if node["id"] in seen:
        message = f"{what}: two objects have the id {node['id']}."
        raise invalid(message)
    seen.add(node["id"])
    for child in children_of(node):
        _check_node(child, seen, what)
    art = mask_art(node)
    if art is not None:
        _check_node(art, seen, what)


def _path_fault(path: Any) -> str | None:
    """Check a path's anchors: by hand rather than by table, as a document has millions of them."""
    try:
        for subpath in path["subpaths"]:
            for anchor in subpath["anchors"]:
                _check_point(anchor["p"])
                if "in" in anchor:
                    _check_point(anchor["in"])
                if "out" in anchor:
                    _check_point(anchor["out"])
            if type(subpath["anchors"]) is not list or type(subpath.get("closed", False)) is not bool:
                return ".path.subpaths"
    except (AttributeError, KeyError, TypeError, ValueError):
        return ".path.subpaths"
    return None


def _check_point(point: Any) -> None:
    x, y = (point["x"], point["y"]) if isinstance(point, dict) else point
    if type(x) not in _NUMBERS or type(y) not in _NUMBERS:
        message = "not a number"
        raise TypeError(message)
