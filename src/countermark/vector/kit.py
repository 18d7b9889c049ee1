"""The kit: which boards are made of an artboard, at which sizes, in which formats, and which files are made of those.

A row of a table is data; adding a size is adding a row. On a board the artboard is fitted whole and centred, without
padding of its own: margins belong to the art, so that one drawing keeps them at every size. Only a variant whose place
has a safe zone stands apart from its board's edge.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from countermark.vector.artboard import artboards
from countermark.vector.document import Document
from countermark.vector.swatch import swatches
from countermark.vector.variant import TREATMENTS

FORMATS: Final = ("svg", "png")
PAGE: Final = "index.html"
"""The record page, which stands beside the boards."""

MEDIA_TYPES: Final = {
    "css": "text/css",
    "html": "text/html",
    "ico": "image/vnd.microsoft.icon",
    "json": "application/json",
    "pdf": "application/pdf",
    "png": "image/png",
    "svg": "image/svg+xml",
    "vectorcraft": "application/vnd.vectorcraft+json",
    "webmanifest": "application/manifest+json",
}


class Board(NamedTuple):
    """One row: `id` names the board in plan, file name and receipt; `width` and `height` are pixels."""

    id: str
    variant: str
    width: int
    height: int
    formats: tuple[str, ...] = FORMATS


BOARDS: Final = (
    *(Board(f"full-colour-{side}", "full-colour", side, side) for side in (1024, 512, 192, 48, 32, 24, 16)),
    Board("maskable-512", "maskable", 512, 512),
    Board("apple-touch-180", "apple-touch", 180, 180),
    Board("social-card-1200x630", "social-card", 1200, 630),
    Board("one-colour-black-512", "one-colour-black", 512, 512),
    Board("one-colour-white-512", "one-colour-white", 512, 512),
    Board("reversed-512", "reversed", 512, 512),
)

ICON_BOARDS: Final = ("full-colour-16", "full-colour-32", "full-colour-48")
"""The boards that the icon file holds, smallest first."""

LEGIBLE: Final = (16, 24, 32)
"""The sides in pixels at which it is measured how much of a drawing is told apart."""

MANIFEST_BOARDS: Final = (("full-colour-192", "any"), ("full-colour-512", "any"), ("maskable-512", "maskable"))
"""The boards that the web manifest names, with their purpose."""

EDITABLE: Final = "full-colour-1024"
"""The board whose SVG is given a second time, with the native document inside."""


class PlannedBoard(NamedTuple):
    """A board of a document: the row for one artboard. `id` never changes while the artboard's id stands."""

    id: str
    artboard: int
    artboard_name: str
    variant: str
    width: int
    height: int
    formats: tuple[str, ...]

    def file(self, suffix: str) -> str:
        """Return the file name of this board in a format."""
        return f"{self.id}.{suffix}"

    @property
    def files(self) -> tuple[str, ...]:
        """The file names of all its formats."""
        return tuple(self.file(suffix) for suffix in self.formats)

    @property
    def opaque(self) -> bool:
        """Whether the board has a ground of its own, and so no alpha channel."""
        return TREATMENTS[self.variant].ground


class PlannedFile(NamedTuple):
    """A file that is made of the document and of boards: its `kind`, its artboard if it is of one, and its parts."""

    name: str
    kind: str
    artboard: int | None
    parts: tuple[str, ...] = ()


class Missing(NamedTuple):
    """A variant that an artboard does not have, and why."""

    artboard: int
    variant: str
    reason: str


def boards_for(document: Document, missing: Iterable[Missing] = ()) -> list[PlannedBoard]:
    """Return the boards of a document but for variants it does not have, artboards in order, each in the table's."""
    without = {(one.artboard, one.variant) for one in missing}
    return [
        PlannedBoard(
            f"artboard-{board.id}-{row.id}", board.id, board.name, row.variant, row.width, row.height, row.formats
        )
        for board in artboards(document)
        for row in BOARDS
        if (board.id, row.variant) not in without
    ]


def files_for(document: Document, name: str) -> list[PlannedFile]:
    """Return the files beside the boards, in the order in which they are made; `name` is the document's file name."""
    boards = artboards(document)
    first = f"artboard-{boards[0].id}"
    found = []
    for board in boards:
        of = f"artboard-{board.id}"
        icons = tuple(f"{of}-{row}.png" for row in ICON_BOARDS)
        found.append(PlannedFile(f"{of}-favicon.ico", "ico", board.id, icons))
        found.append(PlannedFile(f"{of}-editable.svg", "editable", board.id, (f"{of}-{EDITABLE}.svg",)))
    svgs = tuple(f"artboard-{board.id}-{EDITABLE}.svg" for board in boards)
    named = tuple(f"{first}-{row}.png" for row, _ in MANIFEST_BOARDS)
    tokens = [PlannedFile("brand.tokens.json", "tokens", None), PlannedFile("brand.css", "css", None)]
    return [
        *found,
        *(tokens if any(one.colour for one in swatches(document)) else ()),
        PlannedFile("pages.pdf", "pdf", None),
        PlannedFile("icons.svg", "sprite", None, svgs),
        PlannedFile("site.webmanifest", "manifest", boards[0].id, named),
        PlannedFile(name, "native", None),
    ]


def media_type(name: str) -> str:
    """Return the media type of a file of a kit; a name that no kit has is a stream of bytes."""
    return MEDIA_TYPES.get(name.rpartition(".")[2], "application/octet-stream")
