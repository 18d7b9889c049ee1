"""What another colour of a swatch would change: objects, artboards and pictures, before anything happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from countermark.kernel.tool import Picture, Result
from countermark.vector import recolour
from countermark.vector.artboard import artboards
from countermark.vector.document import Document
from countermark.vector.draw import draw_display
from countermark.vector.holding import Open
from countermark.vector.kit import boards_for
from countermark.vector.resolve import resolve

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

SIDE: Final = 512
MOST_PICTURED: Final = 4
"""Artboards that are shown in pictures; all are named."""

_SHOWN: Final = 100


def preview(workspace: Workspace, name: str, colour: str, *, document: str | None = None) -> Result:
    """Return what a swatch's new colour would touch, with two pictures (before, after) of each artboard it reaches.

    Raise what `recolour.set_colour` raises; nothing is written and no task begins.
    """
    opened = Open(workspace, document)
    after, report = recolour.set_colour(opened.document, name, colour)
    boards = [board for board in artboards(opened.document) if board.id in report.artboards]
    untouched = [board.id for board in artboards(opened.document) if board.id not in report.artboards]
    pictures = [
        Picture("image/png", _drawn(side, board.id))
        for board in boards[:MOST_PICTURED]
        for side in (opened.document, after)
    ]
    found = report.as_json()
    data = {
        "document": opened.name,
        "revision": opened.revision,
        "status": found["status"],
        "swatch": name,
        "before": report.before[0].colour if report.before else report.colour,
        "after": report.colour,
        "objects": found["changed"][:_SHOWN],
        "lookalikes": found["lookalikes"][:_SHOWN],
        "artboards": [{"id": board.id, "name": board.name} for board in boards],
        "untouched": untouched,
        "boards": [one.id for one in boards_for(opened.document) if one.artboard in report.artboards],
        "pictured": [board.id for board in boards[:MOST_PICTURED]],
    }
    summary = (
        f"{name} as {report.colour} would change {len(report.changed)} colours on {len(boards)} artboards and leave "
        f"{len(untouched)} artboards and {len(report.lookalikes)} look-alikes as they are; nothing was done."
    )
    return Result(summary, data, pictures=tuple(pictures))


def _drawn(document: Document, board_id: int) -> bytes:
    board = next(one for one in artboards(document) if one.id == board_id)
    return draw_display(resolve(document, board), SIDE, SIDE)
