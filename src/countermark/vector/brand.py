"""The guard around every change of a brand colour: only what is bound to it may change (seed 1 §5, research 1.3).

The report has the members and reasons of `vectorcraft-brand-dependency-check/v1`. It compares two documents and knows
nothing of how the second was made.
"""

from __future__ import annotations

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


def check(before: Document, after: Document, token: str, *, binding: bool = False) -> Json:
    """Compare a document before and after an edit of the swatch `token` and return the report.

    Every object is compared by its own properties and the ordered ids of its children, a bound object without the
    colours that are bound. Anything else that differs is an unexpected dependency. While `binding`, a colour may
    become bound if it stays the same colour.
    """
    # Bringing an older file up to date is the writer's doing, not the swatch's.
    base, later = upgraded(before), upgraded(after)
    old, new = _objects(base), _objects(later)
    consumers = consumer_ids(before, token) | consumer_ids(after, token)
    affected: list[int] = []
    faults: list[Json] = []
    if list(old) != list(new):
        changed = sorted(set(old) ^ set(new)) or [a for a, b in zip(old, new, strict=True) if a != b]
        faults.extend(_fault(token, node_id, "object_identity_changed") for node_id in changed)
    for node_id in old.keys() & new.keys():
        was, now = _own(old[node_id]), _own(new[node_id])
        if was == now:
            continue
        affected.append(node_id)
        if binding:
            was = _as_bound(was, now, token)
        if node_id not in consumers:
            faults.append(_fault(token, node_id, "unbound_object_changed"))
        elif _unbound(was, token) != _unbound(now, token):
            faults.append(_fault(token, node_id, "object_structure_changed"))
    boards = base.tree["artboards"] != later.tree["artboards"]
    if _rest(base, token) != _rest(later, token):
        faults.append(_fault(token, None, "object_structure_changed"))
    return {
        "schema": SCHEMA,
        "status": "failed" if faults or boards else "passed",
        "token": token,
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


def consumer_ids(document: Document, token: str) -> set[int]:
    """Return the ids of the objects with a colour that names the swatch."""
    return {
        visit.node["id"]
        for visit in chain(walk(document), definitions(document))
        if any(ink.holder.get("swatch") == token for ink in inks(visit.node))
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


def _as_bound(was: Json, now: Json, token: str) -> Json:
    """Return the earlier node with the links that the later one has, where the colour stayed the same."""
    bound = {ink.place: ink.holder for ink in inks(now) if ink.holder.get("swatch") == token}

    def linked(ink: Ink) -> Json:
        later = bound.get(ink.place)
        free = later is not None and ink.holder.get("swatch") is None
        same = later is not None and hex_of(later.get("color")) == hex_of(ink.holder.get("color"))
        return {**ink.holder, "swatch": token} if free and same else ink.holder

    return with_inks(was, linked)


def _unbound(node: Json, token: str) -> Json:
    """Return a node's own properties without the colours that are bound to the swatch."""
    return with_inks(node, lambda ink: _without(ink, token))


def _without(ink: Ink, token: str) -> Json:
    if ink.holder.get("swatch") != token:
        return ink.holder
    return {name: value for name, value in ink.holder.items() if name != "color"}


def _rest(document: Document, token: str) -> Json:
    """Return everything that is no object and no artboard, without the swatch and the colours that follow it."""
    found = {name: value for name, value in document.tree.items() if name not in _COMPARED}
    for name in ("swatches", "swatch_groups", "graphic_styles"):
        found[name] = [_shared(entry, token) for entry in document.tree.get(name, ()) if entry.get("name") != token]
    for name in ("symbols", "patterns"):
        held = document.tree.get(name, ())
        found[name] = [{member: value for member, value in entry.items() if member != "art"} for entry in held]
    found["file"] = {name: value for name, value in document.file.items() if name not in {"document", "preview"}}
    return found


def _shared(entry: Json, token: str) -> Json:
    if isinstance(entry.get("swatches"), list):
        held = [_shared(inner, token) for inner in entry["swatches"] if inner.get("name") != token]
        return {**entry, "swatches": held}
    if isinstance(entry.get("appearance"), dict):
        return with_inks({**entry, "kind": {}}, lambda ink: _without(ink, token))
    return {**entry, "paint": with_paint_inks("swatch", entry.get("paint"), lambda ink: _without(ink, token))}


def _fault(token: str, node_id: int | None, reason: str) -> Json:
    return {"token": token, "objectId": node_id, "reason": reason}
