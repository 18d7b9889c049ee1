"""One more drawing in a document that exists: beside what is there, under ids of its own."""

from __future__ import annotations

from countermark.vector import document as native
from countermark.vector import embedded
from countermark.vector.affine import IDENTITY
from countermark.vector.artboard import artboards
from countermark.vector.container import Json
from countermark.vector.document import Document
from countermark.vector.svg.holding import Holding
from countermark.vector.svg.place import box_of
from countermark.vector.svg.report import Report

GAP = 64.0
"""Pixels between artboards: wider than strokes and effects that reach out of their geometry usually are."""


def next_board(into: Document) -> int:
    """Return the id of one more artboard: above every id there is, so that none is ever used again."""
    return max(board.id for board in artboards(into)) + 1


def origin_beside(into: Document, reach: float) -> tuple[float, float]:
    """Return where a new artboard begins: right of all artboards and art, by a gap and its own art's overhang."""
    right = max(board.box.x1 for board in artboards(into))
    box = box_of(list(into.tree["layers"]), IDENTITY)
    if box is not None:
        right = max(right, box.x1)
    top = min(board.box.y0 for board in artboards(into))
    return float(round(right + GAP + reach)), top


def pattern_names(into: Document) -> set[str]:
    """Return the names that patterns of a document bear."""
    return {str(entry.get("name")) for entry in into.tree.get("patterns", ())}


def with_held(document: Document, holding: Holding) -> Document:
    """Return a document with an import's patterns and pictures added; a picture that it has already is kept."""
    tree, file, blobs = document.tree, document.file, document.blobs
    if holding.patterns:
        tree = {**tree, "patterns": [*tree.get("patterns", ()), *holding.patterns]}
    known = file.get("images", {})
    added = {key: held for key, held in holding.pictures.items() if key not in known}
    if added:
        entries, blobs = embedded.held(added, blobs)
        file = {**file, "images": {**known, **entries}}
        mimes = {key: {"mime": mime} for key, (mime, _) in added.items()}
        tree = {**tree, "images": {**tree.get("images", {}), **mimes}}
    return Document({**file, "document": tree}, blobs)


def joined(
    into: Document, layer: Json, board: Json, source: Json, report: Report, next_id: int, holding: Holding
) -> Document:
    """Return the document with one more layer and artboard; losses keep names of their own in the common report."""
    said = into.tree.get("countermark", {})
    first = artboards(into)[0].id
    sources = said.get("sources") or ([{**said["source"], "artboard": first}] if "source" in said else [])
    known = {row["name"] for row in (*said.get("losses", ()), *said.get("notes", ()))}
    for row in (*report.losses, *report.notes):
        row["artboard"] = board["id"]
        if row["name"] in known:
            row["name"] = f"{row['name']}@{board['id']}"
    members = {
        **said,
        "sources": [*sources, {**source, "artboard": board["id"]}],
        "losses": [*said.get("losses", ()), *report.losses],
        "notes": [*said.get("notes", ()), *report.notes],
    }
    return native.rewrite(
        with_held(into, holding),
        {},
        layers=[*into.tree["layers"], layer],
        artboards=[*into.tree["artboards"], board],
        next_id=next_id,
        countermark=members,
    )
