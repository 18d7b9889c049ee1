"""Brand changes: a colour follows its swatch only where it is bound by name, never because it looks alike.

Every change is compared with what was there before by the guard in `brand`; what it does not allow is not returned.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from typing import Final

from countermark.kernel.errors import CountermarkError, Ending, register
from countermark.vector import brand
from countermark.vector.colour import from_css, hex_of
from countermark.vector.container import Json
from countermark.vector.document import Document, rewrite
from countermark.vector.paint import Ink, inks, with_inks, with_paint_inks
from countermark.vector.swatch import Use, boards_of, entries, entry_of, every, painted, uses

_NAME_MAX: Final = 64

register(Ending.NOT_FOUND, "colour_unused")
register(Ending.CONFLICT, "swatch_conflict")
register(Ending.REFUSED, "swatch_unsupported")


@dataclass(frozen=True, slots=True)
class BrandReport:
    """What a bind or a colour change did: `status` is changed or verified_noop, `check` is the guard's report.

    `changed` lists each colour as it is afterwards, `before` as it was; `lookalikes` have the same colour as the swatch
    had and are not bound to it: they were not touched.
    """

    status: str
    swatch: str
    colour: str
    changed: tuple[Use, ...]
    before: tuple[Use, ...]
    lookalikes: tuple[Use, ...]
    artboards: tuple[int, ...]
    check: Json

    def as_json(self) -> Json:
        """Return the JSON form."""
        uses = {name: [use.as_json() for use in getattr(self, name)] for name in ("changed", "before", "lookalikes")}
        return asdict(self) | uses | {"artboards": list(self.artboards)}


def bind(
    document: Document,
    name: str,
    colour: str,
    *,
    only: Collection[int] | None = None,
    leave: Collection[int] = (),
    places: Collection[tuple[int, str]] = (),
) -> tuple[Document, BrandReport]:
    """Bind colours that equal `colour` to the global swatch `name`, which is made when there is none.

    All of that colour are bound, or those of the objects in `only`, never those in `leave` and never one that another
    swatch holds. Of an object in `places` only the fills, strokes and stops named there: `(7, "fill[0].stop[1]")`.

    Raise `colour_unused` when nothing has the colour, `not_found` for an id or a place without it, and
    `swatch_conflict` when the swatch has another colour.
    """
    native = from_css(colour)
    wanted = hex_of(native) or ""
    entry = next((found for found in entries(document) if found.get("name") == name), None)
    check_name(name)
    if entry is not None:
        check_plain(document, entry)
        if hex_of(entry["paint"]["color"]) != wanted:
            raise CountermarkError(
                "swatch_conflict",
                f"The swatch {name!r} has the colour {hex_of(entry['paint']['color'])}, not {wanted}.",
                next_action="Set the swatch to the new colour, or bind that colour under another name.",
            )
        native = entry["paint"]["color"]
    alike = [use for use in uses(document) if use.colour == wanted]
    _check_selection(document, alike, wanted, only, leave)
    _check_places(alike, wanted, places)
    narrowed = {object_id for object_id, _ in places}

    def chosen(object_id: int, ink: Ink) -> bool:
        free = ink.holder.get("swatch") in {None, name} and hex_of(ink.holder.get("color")) == wanted
        placed = object_id not in narrowed or (object_id, ink.place) in places
        return free and placed and object_id not in leave and (only is None or object_id in only)

    def bound(object_id: int) -> Callable[[Ink], Json]:
        return lambda ink: (
            {**ink.holder, "color": native, "swatch": name}
            if chosen(object_id, ink) and ink.holder.get("swatch") != name
            else ink.holder
        )

    changes = {visit.node["id"]: with_inks(visit.node, bound(visit.node["id"])) for visit in every(document)}
    made = {"name": name, "paint": {"type": "solid", "color": native}, "global": True, "spot": False}
    members: Json = {"swatches": [*document.tree.get("swatches", []), made]} if entry is None else {}
    return _finished(document, rewrite(document, changes, **members), name, wanted, binding=True)


def set_colour(document: Document, name: str, colour: str) -> tuple[Document, BrandReport]:
    """Give a swatch another colour, and with it everything that is bound to it, and nothing else.

    Raise `swatch_unknown`, `input_invalid` for a colour, and `brand_dependency_violation` when the guard finds that
    anything unbound would change. A swatch that has the colour already is `verified_noop`.
    """
    entry = entry_of(document, name)
    check_plain(document, entry)
    native = from_css(colour)
    target = hex_of(native) or ""

    def coloured(ink: Ink) -> Json:
        held = ink.holder
        if held.get("swatch") != name or hex_of(held.get("color")) == target:
            return held
        return {**held, "color": native}

    changes = {visit.node["id"]: with_inks(visit.node, coloured) for visit in every(document)}
    members = {
        member: _withentries(document.tree[member], name, native, coloured)
        for member in ("swatches", "swatch_groups", "graphic_styles")
        if document.tree.get(member)
    }
    return _finished(document, rewrite(document, changes, **members), name, target, binding=False)


def _finished(
    before: Document, after: Document, name: str, colour: str, *, binding: bool
) -> tuple[Document, BrandReport]:
    was = {(use.object_id, use.place): use for use in uses(before)}
    now = uses(after)
    changed = tuple(use for use in now if was.get((use.object_id, use.place)) != use)
    entry = next((found for found in entries(before) if found.get("name") == name), None)
    old = hex_of(entry["paint"]["color"]) if entry is not None else colour
    same = not changed and entry is not None and old == colour
    if same:
        after = before
    report = brand.check(before, after, name, binding=binding)
    brand.require(report)
    return after, BrandReport(
        status="verified_noop" if same else "changed",
        swatch=name,
        colour=colour,
        changed=changed,
        before=tuple(was[use.object_id, use.place] for use in changed),
        lookalikes=tuple(use for use in now if use.colour == old and use.swatch != name),
        artboards=boards_of(changed, painted(after)),
        check=report,
    )


def check_name(name: str) -> None:
    """Raise `input_invalid` unless a swatch may be called this."""
    if not name.strip() or name != name.strip() or len(name) > _NAME_MAX or not name.isprintable() or name[0] == "[":
        raise CountermarkError(
            "input_invalid",
            f"{name[:_NAME_MAX]!r} is no name for a swatch.",
            next_action=f"Use up to {_NAME_MAX} printable characters, not beginning with a bracket.",
        )


def check_plain(document: Document, entry: Json) -> None:
    """Refuse what the guard's scope does not cover: other models, spot inks and tints would change unseen."""
    name = entry["name"]
    tints = [
        visit.node["id"]
        for visit in every(document)
        if any(ink.holder.get("swatch") == name and ink.holder.get("tint", 1) != 1 for ink in inks(visit.node))
    ]
    plain = entry.get("global") and not entry.get("spot") and hex_of(entry["paint"]["color"]) is not None
    if not plain or entry["paint"].get("swatch") or tints:
        what = f"is tinted by the objects {tints}" if tints else "is not a global RGB swatch"
        raise CountermarkError(
            "swatch_unsupported",
            f"The swatch {name!r} {what}; only full-strength global RGB swatches can be changed here.",
            next_action="Change it in the editor, or bind the colour to a new swatch.",
        )


def _check_selection(
    document: Document, alike: list[Use], colour: str, only: Collection[int] | None, leave: Collection[int]
) -> None:
    if not alike:
        known = sorted({use.colour for use in uses(document) if use.colour})
        raise CountermarkError(
            "colour_unused",
            f"Nothing in the document has the colour {colour}; it uses {', '.join(known) or 'none'}.",
            next_action="Bind one of the colours that are in use.",
            details={"colours": known},
        )
    missing = sorted({*(only or ()), *leave} - {use.object_id for use in alike})
    if missing:
        raise CountermarkError(
            "not_found",
            f"The objects {missing} do not have the colour {colour}.",
            next_action="Choose among the objects of that colour.",
            details={"objects": sorted({use.object_id for use in alike})},
        )


def _check_places(alike: list[Use], colour: str, places: Collection[tuple[int, str]]) -> None:
    known = {(use.object_id, use.place) for use in alike}
    missing = sorted(set(places) - known)
    if missing:
        object_id, place = missing[0]
        held = sorted(spot for one, spot in known if one == object_id)
        raise CountermarkError(
            "not_found",
            f"Object {object_id} has no {colour} at {place[:40]!r}; it has it at {', '.join(held) or 'no place'}.",
            next_action="Name one of its places: `countermark vector swatch list` shows them.",
            details={"object": object_id, "places": held},
        )


def _withentries(entries: list[Json], name: str, colour: Json, coloured: Callable[[Ink], Json]) -> list[Json]:
    """Return swatches, groups of swatches or graphic styles with the colour where they are the swatch or link to it."""
    found: list[Json] = []
    for entry in entries:
        made = entry
        if isinstance(entry.get("swatches"), list):
            made = {**entry, "swatches": _withentries(entry["swatches"], name, colour, coloured)}
        elif isinstance(entry.get("appearance"), dict):
            made = {**entry, "appearance": with_inks({**entry, "kind": {}}, coloured)["appearance"]}
        elif "paint" in entry:
            paint = with_paint_inks("swatch", entry["paint"], coloured)
            made = {**entry, "paint": {**paint, "color": colour} if entry.get("name") == name else paint}
        found.append(made)
    return found
