"""Many swatches at once: the colours of a token file put into a document, guarded like a change of one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from countermark.kernel.errors import CountermarkError
from countermark.vector import brand
from countermark.vector.colour import hex_of
from countermark.vector.container import Json
from countermark.vector.document import Document, rewrite
from countermark.vector.paint import Ink, with_inks, with_paint_inks
from countermark.vector.recolour import check_name, check_plain
from countermark.vector.swatch import Use, boards_of, entries, every, painted, uses
from countermark.vector.token import Tokens


@dataclass(frozen=True, slots=True)
class PaletteReport:
    """What a token file did: swatches made new, given another colour, and left as they are; what follows; notices."""

    status: str
    created: tuple[str, ...]
    recoloured: tuple[tuple[str, str, str], ...]
    same: tuple[str, ...]
    changed: tuple[Use, ...]
    artboards: tuple[int, ...]
    notices: tuple[tuple[str, str], ...]
    check: Json

    def as_json(self) -> Json:
        """Return the JSON form."""
        return {
            "status": self.status,
            "created": list(self.created),
            "recoloured": [{"swatch": name, "before": old, "after": new} for name, old, new in self.recoloured],
            "same": list(self.same),
            "changed": [use.as_json() for use in self.changed],
            "artboards": list(self.artboards),
            "notices": [{"token": name, "notice": notice} for name, notice in self.notices],
            "check": self.check,
        }


def apply(document: Document, tokens: Tokens) -> tuple[Document, PaletteReport]:
    """Give every swatch the colour of the token that has its name, and make the swatches that there are none of.

    Raise what `recolour.set_colour` raises for a swatch that cannot be changed here, and `input_invalid` for a file
    without a colour.
    """
    wanted = {one.name: {"model": "rgb", "r": one.red, "g": one.green, "b": one.blue} for one in tokens.colours}
    if not wanted:
        raise CountermarkError(
            "input_invalid", "The token file has no opaque colour.", next_action="Name a file with colour tokens."
        )
    known = {entry["name"]: entry for entry in entries(document) if entry.get("paint", {}).get("type") == "solid"}
    created = tuple(name for name in wanted if name not in known)
    recoloured, same = [], []
    for name in wanted.keys() & known.keys():
        old, new = hex_of(known[name]["paint"]["color"]), hex_of(wanted[name])
        if old == new:
            same.append(name)
            continue
        check_plain(document, known[name])
        recoloured.append((name, str(old), str(new)))
    for name in created:
        check_name(name)
    aliases = {one.name: one.alias for one in tokens.colours if one.alias}
    after = _with(
        document,
        {name: wanted[name] for name, _, _ in recoloured},
        {name: _entry(name, wanted[name], aliases.get(name)) for name in created},
    )
    report = brand.check(document, after, list(wanted))
    brand.require(report)
    was = {(use.object_id, use.place): use for use in uses(document)}
    changed = tuple(use for use in uses(after) if was.get((use.object_id, use.place)) != use)
    notices = [(one.name, one.notice) for one in tokens.colours if one.notice]
    return after, PaletteReport(
        status="changed" if created or recoloured else "verified_noop",
        created=created,
        recoloured=tuple(sorted(recoloured)),
        same=tuple(sorted(same)),
        changed=changed,
        artboards=boards_of(changed, painted(after)),
        notices=(*notices, *tokens.skipped),
        check=report,
    )


def _with(document: Document, colours: Mapping[str, Json], created: Mapping[str, Json]) -> Document:
    if not colours and not created:
        return document

    def coloured(ink: Ink) -> Json:
        held = ink.holder
        target = colours.get(held.get("swatch") or "")
        if target is None or hex_of(held.get("color")) == hex_of(target):
            return held
        return {**held, "color": target}

    def entry(one: Json) -> Json:
        if isinstance(one.get("swatches"), list):
            return {**one, "swatches": [entry(inner) for inner in one["swatches"]]}
        if isinstance(one.get("appearance"), dict):
            return {**one, "appearance": with_inks({**one, "kind": {}}, coloured)["appearance"]}
        if "paint" not in one:
            return one
        paint = with_paint_inks("swatch", one["paint"], coloured)
        target = colours.get(one.get("name", ""))
        return {**one, "paint": {**paint, "color": target} if target is not None else paint}

    changes = {visit.node["id"]: with_inks(visit.node, coloured) for visit in every(document)}
    members: Json = {
        name: [entry(one) for one in document.tree[name]]
        for name in ("swatches", "swatch_groups", "graphic_styles")
        if document.tree.get(name)
    }
    members["swatches"] = [*members.get("swatches", []), *created.values()]
    return rewrite(document, changes, **members)


def _entry(name: str, colour: Json, alias: str | None) -> Json:
    """Return a new swatch; one that stood for another remembers it, for the day it is written as a token again."""
    made: Json = {"name": name, "paint": {"type": "solid", "color": colour}, "global": True, "spot": False}
    return made if alias is None else {**made, "countermark": {"alias": alias}}
