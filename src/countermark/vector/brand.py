"""The guard around every change of a brand colour: only what is bound to it may change (seed 1 §5, research 1.3).

The report has the members and reasons of `vectorcraft-brand-dependency-check/v1`. It compares two documents and knows
nothing of how the second was made.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain
from typing import Final

from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError, Ending, register
from countermark.vector.colour import hex_of
from countermark.vector.container import Json
from countermark.vector.document import Document, definitions, dump, upgraded, walk
from countermark.vector.paint import Ink, inks, with_inks, with_paint_inks
from countermark.vector.shape import children_of, holder_of, mask_art

SCHEMA: Final = "vectorcraft-brand-dependency-check/v1"
SCOPE: Final = "RGB global swatches in solid fills and strokes, gradient stops and text runs of this document"

# Members of the tree that are compared object by object, or for themselves.
_COMPARED: Final = frozenset({"artboards", "layers", "patterns", "symbols"})

register(Ending.FAILED, "brand_dependency_violation")


Tokens = str | Collection[str]


def check(before: Document, after: Document, token: Tokens, *, binding: bool = False) -> Json:
    """Compare a document before and after an edit of the swatch `token`, or of several, and return the report.

    Every object is compared by its own properties and the ordered ids of its children, a bound object without the
    colours that are bound. Anything else that differs is an unexpected dependency. While `binding`, a colour may
    become bound if it stays the same colour.
    """
    # Bringing an older file up to date is the writer's doing, not the swatch's.
    base, later = upgraded(before), upgraded(after)
    names = frozenset([token] if isinstance(token, str) else token)
    said = ", ".join(sorted(names))
    old, new = _objects(base), _objects(later)
    consumers = consumer_ids(before, names) | consumer_ids(after, names)
    affected: list[int] = []
    faults: list[Json] = []
    if list(old) != list(new):
        changed = sorted(set(old) ^ set(new)) or [a for a, b in zip(old, new, strict=True) if a != b]
        faults.extend(_fault(said, node_id, "object_identity_changed") for node_id in changed)
    for node_id in old.keys() & new.keys():
        was, now = _own(old[node_id]), _own(new[node_id])
        if was == now:
            continue
        affected.append(node_id)
        if binding:
            was = _as_bound(was, now, names)
        if node_id not in consumers:
            faults.append(_fault(said, node_id, "unbound_object_changed"))
        elif _unbound(was, names) != _unbound(now, names):
            faults.append(_fault(said, node_id, "object_structure_changed"))
    boards = base.tree["artboards"] != later.tree["artboards"]
    if _rest(base, names) != _rest(later, names):
        faults.append(_fault(said, None, "object_structure_changed"))
    return {
        "schema": SCHEMA,
        "status": "failed" if faults or boards else "passed",
        "token": said,
        "consumerIds": sorted(consumers),
        "affectedObjectIds": sorted(affected),
        "unexpectedDependencies": sorted(faults, key=lambda fault: (fault["objectId"] or 0, fault["reason"])),
        "artboardsChanged": boards,
        "beforeSha256": sha256_hex(dump(before)),
        "afterSha256": sha256_hex(dump(after)),
        "scope": SCOPE,
    }


def require(report: Json) -> None:
    """Raise `brand_dependency_violation` unless a report passed; its details hold the report."""
    if report["status"] == "passed":
        return
    ids = [fault["objectId"] for fault in report["unexpectedDependencies"]]
    raise CountermarkError(
        "brand_dependency_violation",
        f"The change of {report['token']!r} would alter what is not bound to it: {ids or 'artboards'}.",
        next_action="Keep the document as it is and report this with the details.",
        details={"report": report},
    )


def consumer_ids(document: Document, tokens: Tokens) -> set[int]:
    """Return the ids of the objects with a colour that names one of the swatches."""
    names = frozenset([tokens] if isinstance(tokens, str) else tokens)
    return {
        visit.node["id"]
        for visit in chain(walk(document), definitions(document))
        if any(ink.holder.get("swatch") in names for ink in inks(visit.node))
    }


def _objects(document: Document) -> dict[int, Json]:
    return {visit.node["id"]: visit.node for visit in chain(walk(document), definitions(document))}


def _own(node: Json) -> Json:
    """Return a node with its children and mask art replaced by their ids: those are compared for themselves."""
    found = dict(node)
    kind = dict(node["kind"])
    if children_of(node):
        kind[holder_of(node)] = [child["id"] for child in children_of(node)]
    found["kind"] = kind
    art = mask_art(node)
    if art is not None:
        found["mask"] = {**node["mask"], "art": art["id"]}
    return found


def _as_bound(was: Json, now: Json, names: frozenset[str]) -> Json:
    """Return the earlier node with the links that the later one has, where the colour stayed the same."""
    bound = {ink.place: ink.holder for ink in inks(now) if ink.holder.get("swatch") in names}

    def linked(ink: Ink) -> Json:
        later = bound.get(ink.place)
        free = later is not None and ink.holder.get("swatch") is None
        same = later is not None and hex_of(later.get("color")) == hex_of(ink.holder.get("color"))
        return {**ink.holder, "swatch": later["swatch"]} if later is not None and free and same else ink.holder

    return with_inks(was, linked)


def _unbound(node: Json, names: frozenset[str]) -> Json:
    """Return a node's own properties without the colours that are bound to the swatch."""
    return with_inks(node, lambda ink: _without(ink, names))


def _without(ink: Ink, names: frozenset[str]) -> Json:
    if ink.holder.get("swatch") not in names:
        return ink.holder
    return {name: value for name, value in ink.holder.items() if name != "color"}


def _rest(document: Document, names: frozenset[str]) -> Json:
    """Return everything that is no object and no artboard, without the swatch and the colours that follow it."""
    found = {name: value for name, value in document.tree.items() if name not in _COMPARED}
    for name in ("swatches", "swatch_groups", "graphic_styles"):
        found[name] = [_shared(entry, names) for entry in document.tree.get(name, ()) if entry.get("name") not in names]
    for name in ("symbols", "patterns"):
        held = document.tree.get(name, ())
        found[name] = [{member: value for member, value in entry.items() if member != "art"} for entry in held]
    found["file"] = {name: value for name, value in document.file.items() if name not in {"document", "preview"}}
    return found


def _shared(entry: Json, names: frozenset[str]) -> Json:
    if isinstance(entry.get("swatches"), list):
        held = [_shared(inner, names) for inner in entry["swatches"] if inner.get("name") not in names]
        return {**entry, "swatches": held}
    if isinstance(entry.get("appearance"), dict):
        return with_inks({**entry, "kind": {}}, lambda ink: _without(ink, names))
    return {**entry, "paint": with_paint_inks("swatch", entry.get("paint"), lambda ink: _without(ink, names))}


def _fault(token: str, node_id: int | None, reason: str) -> Json:
    return {"token": token, "objectId": node_id, "reason": reason}
