"""Where a document came from, as it remembers itself: the SVG behind each artboard, what of it was lost, old colours.

`member` checks the shape of all this at the door. What cannot be drawn here is a loss like those of the import, and it
is found by reading the document, not by asking who drew it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from countermark.vector import document as native
from countermark.vector import recolour, swatch
from countermark.vector.artboard import artboards
from countermark.vector.colour import hex_of
from countermark.vector.container import Json
from countermark.vector.document import Document
from countermark.vector.resolve import resolve
from countermark.vector.svg import report

UNDRAWN: Final = "undrawn"
"""The code of what a document holds and no board shows; `undrawn:<object>` is its name."""


class Source(NamedTuple):
    """The SVG an artboard came from: its digest and the name it had."""

    artboard: int
    sha256: str
    name: str


class Loss(NamedTuple):
    """Something that boards of these artboards do not show: its kind, the name a person answers for it by, and why."""

    code: str
    name: str
    reason: str
    artboards: frozenset[int]


def remembered(document: Document) -> Json:
    """Return what the import wrote into a document, nothing for one that was made elsewhere."""
    said: Json = document.tree.get("countermark", {})
    return said


def sources(document: Document) -> list[Source]:
    """Return the originals that a document remembers, by artboard."""
    said = remembered(document)
    boards = artboards(document)
    rows = said.get("sources") or ([{**said["source"], "artboard": boards[0].id}] if "source" in said else [])
    known = {board.id for board in boards}
    return [Source(row["artboard"], row["sha256"], row["name"]) for row in rows if row["artboard"] in known]


def losses(document: Document) -> list[Loss]:
    """Return everything that a kit of this document will not show: lost on import, and not drawn here."""
    first = artboards(document)[0].id
    rows = remembered(document).get("losses", ())
    found = [Loss(row["code"], row["name"], row["reason"], frozenset({row.get("artboard", first)})) for row in rows]
    missed: dict[int, list[Json]] = {}
    for entry in undrawn(document):
        missed.setdefault(entry["id"], []).append(entry)
    for node, entries in missed.items():
        reason = f"not drawn: {', '.join(dict.fromkeys(entry['what'] for entry in entries))}"
        boards = frozenset(entry["artboard"] for entry in entries)
        found.append(Loss(UNDRAWN, f"{UNDRAWN}:{node}", reason, boards))
    return found


def undrawn(document: Document) -> list[dict[str, Any]]:
    """Return what the artboards hold and nobody here can draw: artboard, object id, name, what it is."""
    return [
        {"artboard": board.id, **entry.as_json()}
        for board in artboards(document)
        for entry in resolve(document, board).undrawn
    ]


def accepted(found: Sequence[Loss], names: Sequence[str]) -> tuple[list[Loss], list[Loss]]:
    """Split losses into those that `names` cover and the rest; raise `loss_unknown`."""
    rows = [{"code": one.code, "name": one.name, "loss": one} for one in found]
    covered, rest = report.accepted(rows, names)
    return [row["loss"] for row in covered], [row["loss"] for row in rest]


def with_imported_colour(document: Document, name: str, colour: str) -> Document:
    """Remember in a swatch which colour it stood for in the original; a swatch that knows already is left alone."""

    def known(entry: Json) -> Json:
        if entry.get("name") != name or "imported" in entry.get("countermark", {}):
            return entry
        return {**entry, "countermark": {**entry.get("countermark", {}), "imported": colour}}

    entries = [known(entry) for entry in document.tree.get("swatches", [])]
    return native.rewrite(document, {}, swatches=entries)


def as_imported(document: Document) -> Document:
    """Return the document with every swatch put back to the colour it had in the original.

    Compared with the original, that document shows that nothing but the bound colours changed since the import. A
    document whose swatches never changed is returned as it is; a swatch that an editor made a gradient stays one.
    """
    found = document
    for entry in list(swatch.entries(document)):
        colour = entry.get("countermark", {}).get("imported")
        if colour and entry["paint"]["type"] == "solid" and hex_of(entry["paint"]["color"]) != colour:
            found = recolour.set_colour(found, entry["name"], colour)[0]
    return found
