"""Swatches: named colours, what is bound to them by name, and what only looks alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from countermark.kernel.errors import CountermarkError, Ending, register
from countermark.vector.artboard import artboards
from countermark.vector.colour import hex_of
from countermark.vector.container import Json
from countermark.vector.display import painting
from countermark.vector.document import Document, Visit, definitions, walk
from countermark.vector.paint import Ink, inks
from countermark.vector.resolve import resolve

register(Ending.NOT_FOUND, "swatch_unknown")


class Use(NamedTuple):
    """One colour of one object; `place` is where it stands there, such as `fill[0]` or `stroke[1].stop[2]`."""

    object_id: int
    name: str
    place: str
    colour: str | None
    swatch: str | None

    def as_json(self) -> Json:
        """Return the JSON form."""
        return self._asdict()


@dataclass(frozen=True, slots=True)
class Swatch:
    """A swatch with the colours bound to it and the artboards on which they paint."""

    name: str
    colour: str | None
    is_global: bool
    uses: tuple[Use, ...]
    artboards: tuple[int, ...]


def swatches(document: Document) -> list[Swatch]:
    """Return the swatches that have a colour of their own, in the document's order."""
    found_uses = uses(document)
    boards = painted(document)
    found = []
    for entry in entries(document):
        bound = tuple(use for use in found_uses if use.swatch == entry["name"])
        paint = entry.get("paint", {})
        if paint.get("type") == "solid":
            on = boards_of(bound, boards)
            found.append(Swatch(entry["name"], hex_of(paint["color"]), bool(entry.get("global")), bound, on))
    return found


def uses(document: Document) -> list[Use]:
    """Return every colour of every object, in paint order."""
    return [_use(visit.node, ink) for visit in every(document) for ink in inks(visit.node)]


def affected_artboards(document: Document, name: str) -> tuple[int, ...]:
    """Return the ids of the artboards on which something bound to a swatch paints; raise `swatch_unknown`."""
    entry_of(document, name)
    return boards_of([use for use in uses(document) if use.swatch == name], painted(document))


def lookalikes(document: Document, name: str) -> tuple[Use, ...]:
    """Return the colours that equal a swatch's and are not bound to it; raise `swatch_unknown`."""
    wanted = hex_of(entry_of(document, name)["paint"]["color"])
    return tuple(use for use in uses(document) if use.colour == wanted and use.swatch != name)


def every(document: Document) -> Iterator[Visit]:
    """Visit every object, those of symbols and patterns too."""
    return chain(walk(document), definitions(document))


def _use(node: Json, ink: Ink) -> Use:
    return Use(node["id"], node.get("name") or "", ink.place, hex_of(ink.holder["color"]), ink.holder.get("swatch"))


def entries(document: Document) -> Iterator[Json]:
    """Yield the native swatches, grouped ones too."""
    yield from document.tree.get("swatches", ())
    for group in document.tree.get("swatch_groups", ()):
        yield from group.get("swatches", ())


def entry_of(document: Document, name: str) -> Json:
    """Return the native swatch of a name that has a colour; raise `swatch_unknown` and list those there are."""
    known = []
    for entry in entries(document):
        if entry.get("paint", {}).get("type") == "solid":
            if entry.get("name") == name:
                return entry
            known.append(str(entry.get("name")))
    raise CountermarkError(
        "swatch_unknown",
        f"The document has no swatch {name!r}; it has {', '.join(map(repr, known)) or 'none'}.",
        next_action="Name one of these, or bind a colour to a new swatch first.",
        details={"swatches": known},
    )


def painted(document: Document) -> dict[int, set[int]]:
    """Return the ids of what paints on each artboard; what cannot be drawn counts, since nobody saw it."""
    found = {}
    for board in artboards(document):
        shown = resolve(document, board)
        found[board.id] = set(painting(shown.items)) | {missed.node for missed in shown.undrawn}
    return found


def boards_of(bound: Iterable[Use], boards: dict[int, set[int]]) -> tuple[int, ...]:
    """Return the artboards on which any of these paints; `boards` is what `painted` returned."""
    ids = {use.object_id for use in bound}
    return tuple(board for board, painted in boards.items() if ids & painted)
