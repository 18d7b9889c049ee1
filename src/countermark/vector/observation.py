"""What is looked at in a kit, file by file: its boards, what is made of them, and what each derivative lost.

The observations themselves are `checks`, `derivative` and `exchange`; here they are handed the bytes of the stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from countermark.kernel.proof import Engine, Verdict
from countermark.vector import checks, derivative, exchange, identity, makers, reopening, swatch
from countermark.vector.artboard import artboards
from countermark.vector.document import Document
from countermark.vector.kit import BOARDS, ICON_BOARDS, LEGIBLE, MANIFEST_BOARDS, PlannedBoard
from countermark.vector.look import Look
from countermark.vector.variant import DERIVED, TREATMENTS, cut


class Seen(NamedTuple):
    """One verdict and what it is about, in words."""

    subject: str
    verdict: Verdict


def of_boards(boards: Sequence[PlannedBoard], files: Mapping[str, bytes]) -> Iterator[Seen]:
    """Check every board; a small one stands on the verdict of the same artboard drawn large."""
    larger: dict[int, Verdict] = {}
    for planned in boards:
        board = checks.Board(
            planned.id,
            planned.width,
            planned.height,
            files.get(planned.file("png")),
            files.get(planned.file("svg")),
            makers.drawer(),
            makers.writer(),
            planned.opaque,
        )
        yield Seen(planned.id, checks.png_decodes(board))
        yield Seen(planned.id, checks.svg_structure(board))
        found = checks.svg_renders(board, larger=larger.get(planned.artboard))
        larger.setdefault(planned.artboard, found)
        yield Seen(planned.id, found)


def of_derivatives(document: Document, name: str, data: bytes, files: Mapping[str, bytes]) -> Iterator[Seen]:
    """Check the files that are made of boards, each with a reader that did not write it."""
    boards = artboards(document)
    kit, pdf = makers.compiler(), makers.pdf_writer()
    pages = files["pages.pdf"]
    sheets = [derivative.Sheet(f"artboard-{one.id}", one.box.width, one.box.height) for one in boards]
    yield Seen("pages.pdf", derivative.pdf_pages(pages, sheets, pdf))
    for index, one in enumerate(boards):
        of = f"artboard-{one.id}"
        large, small = f"{of}-full-colour-1024", f"{of}-full-colour-512"
        board = checks.Board(small, 512, 512, files[f"{small}.png"], None, makers.drawer(), makers.writer())
        yield Seen(f"pages.pdf, {of}", derivative.pdf_renders(pages, index, board, pdf))
        icons = [files[f"{of}-{row}.png"] for row in ICON_BOARDS]
        yield Seen(f"{of}-favicon.ico", derivative.ico_entries(files[f"{of}-favicon.ico"], icons, kit))
        yield Seen(f"icons.svg, {of}", derivative.sprite_symbol(files["icons.svg"], of, board, kit))
        yield Seen(f"{of}-maskable-512.png", derivative.safe_zone(files[f"{of}-maskable-512.png"], makers.drawer()))
        for side in LEGIBLE:
            name_ = f"{of}-full-colour-{side}.png"
            yield Seen(name_, derivative.legible(files[name_], board.png, makers.drawer()))
        yield from _variants(of, files, board.png)
        editable = files[f"{of}-editable.svg"]
        yield Seen(f"{of}-editable.svg", derivative.embedded_document(editable, data, files[f"{large}.svg"], kit))
    colours = {one.name: one.colour for one in swatch.swatches(document) if one.colour is not None}
    if colours:
        tokens, css = files["brand.tokens.json"], files["brand.css"]
        yield Seen("brand.tokens.json, brand.css", derivative.token_files(tokens, css, colours, kit))
    manifest = derivative.manifest_icons(files["site.webmanifest"], files, len(MANIFEST_BOARDS), kit)
    yield Seen("site.webmanifest", manifest)
    yield Seen(name, reopening.native_reopens(files[name], kit))


def _variants(of: str, files: Mapping[str, bytes], source: bytes | None) -> Iterator[Seen]:
    """Hold the variants in other inks that an artboard has against its picture in full colour."""
    for row in BOARDS:
        name = f"{of}-{row.id}.png"
        if row.variant in DERIVED and name in files:
            share, gap = TREATMENTS[row.variant].share, cut(row.variant, row.width)
            yield Seen(name, derivative.edges_survive(files[name], source, share, gap, makers.drawer()))


def of_exchange(
    document: Document, name: str, data: bytes, files: Mapping[str, bytes]
) -> tuple[exchange.Measured | None, Verdict]:
    """Measure what each derivative lost; one that cannot be told about fails by its own reason."""
    look = Look("exchange_loss", makers.compiler(), (data,), required=True)
    made: list[exchange.Measured] = []

    def observe() -> Verdict:
        found = exchange.measured(document, name, files)
        made.append(found)
        rows = found.report["outputs"]
        lost = sum(one.lost for one in found.worst)
        figures = {status: found.count(status) for status in ("lost", "unknown", "observed")}
        measured = {"outputs": len(rows), **figures, "objectsOff": len(found.worst), "objectsLost": lost}
        return look.verdict(measured, {"outputs": len(rows)}, passed=True, source="seed 1 §5: interchange is reported")

    verdict = look.run(_judges, observe)
    return (made[0] if made else None), verdict


def _judges() -> Engine:
    """Return the engines that measure what formats lost, as the one observer they are together."""
    return identity.together("resvg, pdfium and Pillow", checks.resvg(), derivative.pdfium(), checks.pillow())
