"""Fidelity: every original rendered by resvg against our PNG of the native file, saved and opened again.

    python benchmarks/vector_fidelity.py [FOLDER …]

Measures the logos and the icons of COUNTERMARK_DATA (default `../shared/data`) at 512 pixels, with the check that a kit
runs. A file passes with at most 1 % of its painted pixels off by more than 48/255. A file that does not pass has to be
named in its import report: one that is not is a silent loss, and the run fails. So it does when fewer than 135 of the
141 logos pass.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from countermark.kernel.errors import CountermarkError
from countermark.kernel.proof import Status, Verdict
from countermark.vector import checks, makers
from countermark.vector.artboard import artboards
from countermark.vector.document import dump, load
from countermark.vector.draw import draw
from countermark.vector.svg.import_ import import_svg
from countermark.vector.svg_writer import write

SIDE: Final = 512
NOTABLE: Final = 0.005
BARS: Final = {"logos": 135}
ROOT: Final = Path(__file__).resolve().parent.parent


class Row(NamedTuple):
    """One file: its verdicts against the original and of its SVG, and what its report names."""

    name: str
    original: Verdict | None
    svg: Verdict | None
    named: tuple[str, ...]
    refused: str = ""

    @property
    def passed(self) -> bool:
        """Whether the picture is the original's."""
        return self.original is not None and self.original.status is Status.PASSED

    @property
    def silent(self) -> bool:
        """Whether the picture differs, or the SVG does, and nothing says so."""
        consistent = self.svg is None or self.svg.status is Status.PASSED
        return not consistent or not (self.passed or self.named or self.refused)


def measure(path: Path) -> Row:
    """Import one file, save, open, draw and look."""
    source = path.read_bytes()
    try:
        found = import_svg(source, name=path.name)
    except CountermarkError as error:
        return Row(path.stem, None, None, (), error.code)
    document = load(dump(found.document))
    (artboard,) = artboards(document)
    drawn = draw(document, artboard, SIDE, SIDE)
    board = checks.Board(
        "fidelity", SIDE, SIDE, drawn.png, write(document, artboard, SIDE, SIDE), makers.drawer(), makers.writer()
    )
    named = [row["name"] for row in found.losses] + [f"undrawn {entry.what}" for entry in drawn.undrawn]
    size = (artboard.box.width, artboard.box.height)
    return Row(path.stem, checks.original(source, board, unstated=size), checks.svg_renders(board), tuple(named))


def folders(arguments: list[str]) -> Iterator[Path]:
    """Yield the folders to measure."""
    data = Path(os.environ.get("COUNTERMARK_DATA") or ROOT.parent / "shared" / "data")
    for name in arguments or ("logos", "icons"):
        yield Path(name) if os.sep in name else data / name


def report(folder: Path) -> bool:
    """Print one folder's table and counts; return whether it reaches its bar."""
    rows = [measure(path) for path in sorted(folder.glob("*.svg"))]
    if not rows:
        print(f"{folder}: no SVG files here")
        return False
    print(f"{folder.name}: {len(rows)} files at {SIDE} px, pixels off by more than 48/255 among the painted ones")
    for row in rows:
        verdict = row.original
        share = "refused" if verdict is None else str(verdict.measured.get("share", verdict.status))
        notable = not row.passed or row.named or float(share) > NOTABLE
        if notable:
            state = "SILENT" if row.silent else "passed" if row.passed else "named"
            why = row.refused or ", ".join(row.named) or (verdict.reason if verdict else "")
            print(f"  {row.name:<28} {share:>9}  {state:<7} {why[:150]}")
    passed, silent = sum(row.passed for row in rows), sum(row.silent for row in rows)
    wrong_svg = sum(row.svg is not None and row.svg.status is not Status.PASSED for row in rows)
    bar = BARS.get(folder.name, 0)
    print(f"  pass {passed} of {len(rows)} (bar {bar}) · silent {silent} (bar 0) · SVG unlike PNG {wrong_svg} (bar 0)")
    return passed >= bar and silent == 0


if __name__ == "__main__":
    reached = [report(folder) for folder in folders(sys.argv[1:])]
    sys.exit(0 if all(reached) else 1)
