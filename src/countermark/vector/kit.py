"""The kit: which boards are made of an artboard, at which sizes, in which formats and under which names.

A row of the table is data; adding a size is adding a row. Each board is a square; the artboard is fitted inside it
whole, centred, without padding of its own: margins belong to the art, so that one drawing keeps them at every size.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from countermark.vector.artboard import artboards
from countermark.vector.document import Document

FORMATS: Final = ("svg", "png")
PAGE: Final = "index.html"
"""The record page, which stands beside the boards."""


class Board(NamedTuple):
    """One row: `id` names the board in plan, file name and receipt; `side` is its width and height in pixels."""

    id: str
    variant: str
    side: int
    formats: tuple[str, ...]


BOARDS: Final = tuple(
    Board(f"full-colour-{side}", "full-colour", side, FORMATS) for side in (1024, 512, 192, 48, 32, 16)
)


class PlannedBoard(NamedTuple):
    """A board of a document: the row for one artboard. `id` never changes while the artboard's id stands."""

    id: str
    artboard: int
    artboard_name: str
    variant: str
    side: int
    formats: tuple[str, ...]

    def file(self, suffix: str) -> str:
        """Return the file name of this board in a format."""
        return f"{self.id}.{suffix}"

    @property
    def files(self) -> tuple[str, ...]:
        """The file names of all its formats."""
        return tuple(self.file(suffix) for suffix in self.formats)


def boards_for(document: Document) -> list[PlannedBoard]:
    """Return the boards of a document, artboards in document order and each in the table's order."""
    return [
        PlannedBoard(f"artboard-{board.id}-{row.id}", board.id, board.name, row.variant, row.side, row.formats)
        for board in artboards(document)
        for row in BOARDS
    ]
