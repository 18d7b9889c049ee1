"""Derivatives of real logos: each page, symbol and maskable icon as another engine sees it, against our PNG.

    python benchmarks/vector_derivatives.py [FOLDER …]

Imports every SVG of COUNTERMARK_DATA's logos (default `../shared/data`), and runs the checks that a kit runs: pdfium on
the page, resvg on the sprite's symbol, Pillow on the safe zone. Fails when fewer than 139 of the 141 logos pass all
three, or when one is refused without a reason.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from countermark.kernel.errors import CountermarkError
from countermark.kernel.proof import Engine, Status
from countermark.vector import derivative, icon
from countermark.vector.artboard import artboards
from countermark.vector.checks import Board
from countermark.vector.document import dump, load
from countermark.vector.draw import draw_display
from countermark.vector.opaque import draw_opaque
from countermark.vector.pdf_writer import write_pages
from countermark.vector.resolve import resolve
from countermark.vector.svg.import_ import import_svg
from countermark.vector.svg_writer import write_display
from countermark.vector.variant import treated

SIDE: Final = 512
BAR: Final = 139
MAKER: Final = Engine("countermark", "0" * 64)
ROOT: Final = Path(__file__).resolve().parent.parent


def faults(path: Path) -> list[str]:
    """Return what does not pass of one file's derivatives, in words."""
    try:
        document = load(dump(import_svg(path.read_bytes(), name=path.name).document))
    except CountermarkError as error:
        return [f"refused: {error.code}"]
    (first, *_) = artboards(document)
    shown = resolve(document, first)
    svg = write_display(shown, SIDE, SIDE)
    board = Board("board", SIDE, SIDE, draw_display(shown, SIDE, SIDE), svg, MAKER, MAKER)
    sheet = derivative.Sheet(f"artboard-{first.id}", first.box.width, first.box.height)
    pages = write_pages([shown], path.stem)
    maskable = draw_opaque(treated(shown, "maskable", SIDE, SIDE), SIDE, SIDE)
    seen = [
        derivative.pdf_pages(pages, [sheet], MAKER),
        derivative.pdf_renders(pages, 0, board, MAKER),
        derivative.sprite_symbol(icon.sprite([("artboard-1", svg)]), "artboard-1", board, MAKER),
        derivative.safe_zone(maskable, MAKER),
    ]
    return [f"{one.check}: {one.reason}" for one in seen if one.status is not Status.PASSED]


def main(names: list[str]) -> int:
    """Print what does not pass, and the count; return the exit code."""
    data = Path(os.environ.get("COUNTERMARK_DATA", ROOT.parent / "shared" / "data"))
    folders = [Path(name) for name in names] or [data / "logos"]
    paths = sorted(path for folder in folders for path in folder.glob("*.svg"))
    passed = 0
    for path in paths:
        wrong = faults(path)
        passed += not wrong
        for line in wrong:
            print(f"  {path.stem:<28} {line[:150]}", flush=True)
    bar = BAR if not names else len(paths)
    print(f"derivatives seen alike by pdfium, resvg and Pillow: {passed} of {len(paths)} (bar {bar})")
    return 0 if paths and passed >= bar else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
