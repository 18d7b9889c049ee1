"""A drawing of 1,000 paths as PNG and as PDF, and the whole kit of one logo, beside CairoSVG and Inkscape.

    python benchmarks/vector_export.py

PNG: import included, library against library. PDF likewise. Kit: the command line, cold, with checks and receipt,
against the sum of one Inkscape process for each SVG, PNG and PDF of it; one `inkscape --shell` that writes the same
files is printed beside them. Without Inkscape those two rows are left out, and said to be.
"""

from __future__ import annotations

import math
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import cairosvg
from _claim import Row, finish, interleave, ratio, scratch, spread

from countermark.vector.artboard import artboards
from countermark.vector.draw import draw_display
from countermark.vector.kit import BOARDS
from countermark.vector.pdf_writer import write_pages
from countermark.vector.resolve import resolve
from countermark.vector.svg.import_ import import_svg

ROOT: Final = Path(__file__).resolve().parent.parent
LOGO: Final = ROOT / "assets" / "logo.svg"
WIDTH: Final = 1600
HEIGHT: Final = 1200
PATHS: Final = 1000
ROUNDS: Final = 5


def drawing() -> bytes:
    """Return an SVG of 1,000 mixed paths with 16 gradients, a clip and opacity: research 7.3's."""
    rng = random.Random(7)  # noqa: S311 - a drawing, no secret
    stops = '<stop stop-color="#1a6cff"/><stop offset="1" stop-color="#ff921f"/>'
    parts = [f'<linearGradient id="g{n}" x2="{n / 16:.2f}" y2="1">{stops}</linearGradient>' for n in range(16)]
    parts.append(
        '<clipPath id="c"><path d="M0 0H1600V900L900 1200H0Z"/></clipPath><g clip-path="url(#c)" opacity=".9">'
    )
    for n in range(PATHS):
        x, y, r = rng.uniform(0, WIDTH), rng.uniform(0, HEIGHT), rng.uniform(5, 60)
        spots = [(x + r * math.cos(a), y + r * math.sin(a)) for a in (0, 1.2, 2.4, 3.6, 4.8)]
        points = " ".join(f"{a:.2f} {b:.2f}" for a, b in spots[1:4])
        data = f"M{spots[0][0]:.2f} {spots[0][1]:.2f}C{points}L{spots[4][0]:.2f} {spots[4][1]:.2f}Z"
        colour = f"url(#g{n % 16})" if n % 10 == 0 else f"#{rng.randrange(1 << 24):06x}"
        line = f' stroke="#123456" stroke-width="{rng.uniform(0.5, 3):.2f}"' if n % 3 == 0 else ""
        parts.append(f'<path d="{data}" fill="{colour}"{line}/>')
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</g></svg>'.encode()


def timed(work: Callable[[], object]) -> Callable[[], float]:
    """Return a function that does the work once and returns the seconds it took."""

    def once() -> float:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began

    return once


def libraries(svg: bytes) -> list[Row]:
    """Measure PNG and PDF against CairoSVG."""

    def png() -> bytes:
        document = import_svg(svg, name="d.svg").document
        return draw_display(resolve(document, artboards(document)[0]), WIDTH, HEIGHT)

    def pdf() -> bytes:
        document = import_svg(svg, name="d.svg").document
        return write_pages([resolve(document, artboards(document)[0])], "d")

    rows = []
    sides = ((png, cairosvg.svg2png, "PNG", 1.0), (pdf, cairosvg.svg2pdf, "PDF", 0.3))
    for ours, peer, what, bar in sides:
        mine, theirs = interleave(ROUNDS, timed(ours), timed(lambda peer=peer: peer(bytestring=svg)))
        said, other = (f"{sorted(side)[len(side) // 2] * 1000:.0f} ms" for side in (mine, theirs))
        note = f"{spread(mine, theirs)}; import included"
        claim = f"1,000 paths, SVG to {what}"
        rows.append(Row(claim, said, f"CairoSVG {other}", ratio(mine, theirs), bar, "at most", note))
    return rows


def kit(folder: Path, inkscape: str) -> list[Row]:
    """Measure the whole kit against one Inkscape process a file, and one shell for all."""
    space = folder / "space"
    argv = [sys.executable, "-c", "import sys; from countermark.surfaces.cli import main; sys.exit(main())"]
    run: Callable[[list[str], Path], object] = lambda words, place: subprocess.run(  # noqa: E731
        words, cwd=place, check=True, capture_output=True
    )
    run([*argv, "init", "space"], folder)
    run([*argv, "vector", "import", str(LOGO)], space)
    files = [f"{row.id}.{kind}" for row in BOARDS for kind in row.formats] + ["pages.pdf"]

    def arguments(name: str) -> list[str]:
        row = next((one for one in BOARDS if name.startswith(f"{one.id}.")), BOARDS[0])
        return [f"--export-filename={folder / name}", f"--export-width={row.width}", f"--export-height={row.height}"]

    ours = timed(lambda: run([*argv, "vector", "kit"], space))()
    processes = timed(lambda: [run([inkscape, str(LOGO), *arguments(name)], folder) for name in files])()
    lines = [f"file-open:{LOGO}"]
    for name in files:
        lines += [
            *(one.removeprefix("--").replace("=", ":", 1) for one in arguments(name)),
            "export-do",
        ]
    script = "\n".join([*lines, "quit", ""]).encode()
    shell = timed(lambda: subprocess.run([inkscape, "--shell"], input=script, check=True, capture_output=True))()
    said = f"{ours:.1f} s for the kit with its checks and receipt"
    return [
        Row(
            "whole kit of one logo, cold",
            said,
            f"{len(files)} Inkscape processes {processes:.1f} s",
            ours / processes,
            0.6,
            "at most",
        ),
        Row("the same beside one Inkscape shell", said, f"one shell {shell:.1f} s", ours / shell),
    ]


def main() -> None:
    """Measure, print, and say whether the bars are reached."""
    rows = libraries(drawing())
    inkscape = shutil.which("inkscape")
    with scratch() as folder:
        rows += kit(folder, inkscape) if inkscape else []
    if not inkscape:
        print("inkscape is not on PATH: the kit was not measured against it")
    finish(rows)


if __name__ == "__main__":
    main()
