"""Artboards: stable ids, names, and rectangles in document coordinates (seed 1 §5, artboards and variants)."""

from __future__ import annotations

from typing import NamedTuple

from countermark.kernel.errors import CountermarkError
from countermark.vector.affine import Box
from countermark.vector.container import Json
from countermark.vector.document import Document


class Artboard(NamedTuple):
    """One artboard, its box in points; its id never changes and is no index, its place in the document is its order."""

    id: int
    name: str
    box: Box


def artboards(document: Document) -> list[Artboard]:
    """Return the artboards in document order; a wrong rectangle or a repeated id raises `artifact_invalid`."""
    found: list[Artboard] = []
    for entry in document.tree["artboards"]:
        try:
            rect = entry["rect"]
            box = Box(*(float(rect[name]) for name in ("x0", "y0", "x1", "y1")))
            board = Artboard(int(entry["id"]), str(entry.get("name", "")), box)
        except (KeyError, TypeError, ValueError) as error:
            message = f"Artboard {len(found) + 1} of the document has no id or no rectangle."
            raise _invalid(message) from error
        if box.width <= 0 or box.height <= 0:
            message = f"Artboard {board.id} has no area."
            raise _invalid(message)
        if any(board.id == other.id for other in found):
            message = f"Two artboards have the id {board.id}."
            raise _invalid(message)
        found.append(board)
    return found


def artboard(document: Document, board_id: int) -> Artboard:
    """Return the artboard with this id; raise `not_found` and list the known ones."""
    boards = artboards(document)
    for board in boards:
        if board.id == board_id:
            return board
    known = ", ".join(f"{board.id} ({board.name})" for board in boards) or "none"
    raise CountermarkError(
        "not_found",
        f"The document has no artboard {board_id}; it has {known}.",
        next_action="Name one of these ids.",
        details={"artboards": [board.id for board in boards]},
    )


def new_artboard(board_id: int, name: str, box: Box) -> Json:
    """Return the native form of an artboard."""
    return {
        "id": board_id,
        "name": name,
        "rect": box._asdict(),
        "show_center_mark": False,
        "show_cross_hairs": False,
    }


def _invalid(sentence: str) -> CountermarkError:
    return CountermarkError("artifact_invalid", sentence, next_action="Correct the artboard in the editor.")
