"""Two documents compared object by object, by id, in words: what came, what went, what changed, what moved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from countermark.kernel.tool import Result
from countermark.vector.artboard import artboards
from countermark.vector.colour import hex_of
from countermark.vector.container import Json
from countermark.vector.document import Document, Visit, upgraded
from countermark.vector.holding import Open
from countermark.vector.paint import inks
from countermark.vector.shape import children_of, holder_of, mask_art
from countermark.vector.swatch import every, swatches

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

_SHOWN: Final = 200
_PLAIN: Final = ("name", "visible", "locked", "opacity", "blend", "isolate")


class Change(NamedTuple):
    """One object, artboard or swatch that differs: its kind, id or name, what it is called, and what is different."""

    kind: str
    id: str
    name: str
    what: str

    def as_json(self) -> Json:
        """Return the JSON form."""
        return self._asdict()


def compare(before: Document, after: Document) -> list[Change]:
    """Return what differs between two documents, artboards first, then swatches, then objects in paint order."""
    old, new = upgraded(before), upgraded(after)
    return [*_boards(old, new), *_swatches(old, new), *_objects(old, new)]


def diff(workspace: Workspace, before: str, after: str) -> Result:
    """Compare two documents of a workspace."""
    one, other = Open(workspace, before), Open(workspace, after)
    found = compare(one.document, other.document)
    data = {
        "before": {"document": one.name, "revision": one.revision},
        "after": {"document": other.name, "revision": other.revision},
        "changes": [change.as_json() for change in found[:_SHOWN]],
        "total": len(found),
    }
    said = f"{len(found)} differences" if found else "no difference that an editor would show"
    return Result(f"{one.name} and {other.name}: {said}.", data)


def _boards(old: Document, new: Document) -> Iterator[Change]:
    was, now = ({board.id: board for board in artboards(document)} for document in (old, new))
    for board_id in sorted(was.keys() | now.keys()):
        one, other = was.get(board_id), now.get(board_id)
        if one is None or other is None:
            held = one or other
            name = "" if held is None else held.name
            yield Change("artboard", str(board_id), name, "is new" if one is None else "is gone")
        elif one != other:
            what = (
                f"is called {other.name!r}, was {one.name!r}" if one.name != other.name else "has another place or size"
            )
            yield Change("artboard", str(board_id), other.name, what)


def _swatches(old: Document, new: Document) -> Iterator[Change]:
    was, now = ({one.name: one.colour for one in swatches(document)} for document in (old, new))
    for name in sorted(was.keys() | now.keys()):
        if name not in was or name not in now:
            yield Change("swatch", name, name, "is new" if name not in was else "is gone")
        elif was[name] != now[name]:
            yield Change("swatch", name, name, f"{was[name]} → {now[name]}")


def _objects(old: Document, new: Document) -> Iterator[Change]:
    was, now = ({visit.node["id"]: visit for visit in every(document)} for document in (old, new))
    for node_id, visit in now.items():
        name = str(visit.node.get("name") or "")
        if node_id not in was:
            yield Change("object", str(node_id), name, f"is new: a {visit.node['kind'].get('type')}")
            continue
        what = list(_differences(was[node_id], visit))
        if what:
            yield Change("object", str(node_id), name, "; ".join(what))
    for node_id, visit in was.items():
        if node_id not in now:
            yield Change("object", str(node_id), str(visit.node.get("name") or ""), "is gone")


def _differences(was: Visit, now: Visit) -> Iterator[str]:
    one, other = was.node, now.node
    for member in _PLAIN:
        if one.get(member) != other.get(member):
            yield f"{member} {one.get(member)!r} → {other.get(member)!r}"
    old = {ink.place: (ink.holder.get("color"), ink.holder.get("swatch")) for ink in inks(one)}
    new = {ink.place: (ink.holder.get("color"), ink.holder.get("swatch")) for ink in inks(other)}
    for place in [*new, *(place for place in old if place not in new)]:
        if old.get(place) != new.get(place):
            yield f"{place} {_said(old.get(place))} → {_said(new.get(place))}"
    if _bare(one.get("appearance")) != _bare(other.get("appearance")):
        yield "its appearance"
    if _own(one) != _own(other):
        yield "its shape"
    if [child["id"] for child in children_of(one)] != [child["id"] for child in children_of(other)]:
        yield "what it holds, or in which order"
    if [parent["id"] for parent in was.parents] != [parent["id"] for parent in now.parents]:
        yield "its place in the layers"


def _said(held: tuple[Any, Any] | None) -> str:
    if held is None:
        return "none"
    colour, name = held
    return f"{hex_of(colour) or 'another model'}{f' ({name})' if name else ''}"


def _bare(value: Any) -> Any:
    """Return an appearance without the colours, which are told one by one."""
    if isinstance(value, dict):
        return {name: _bare(held) for name, held in value.items() if name not in {"color", "swatch"}}
    return [_bare(held) for held in value] if isinstance(value, list) else value


def _own(node: Json) -> Json:
    """Return what a node is by itself: its kind without what it holds, and its mask by the id of its art."""
    art = mask_art(node)
    kind = {name: held for name, held in node["kind"].items() if name != holder_of(node)}
    return {"kind": _bare(kind), "mask": None if art is None else art["id"]}
