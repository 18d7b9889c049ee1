"""Derivatives opened by programs that are none of ours, without a warning."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from countermark.vector import document as native
from countermark.vector.artboard import artboards
from countermark.vector.embedding import embed
from countermark.vector.pdf_writer import write_pages
from countermark.vector.resolve import resolve
from countermark.vector.svg_writer import write_display
from tests.conftest import unavailable
from tests.vector.drawings import BLUE, RED, drawing, fill, linear, path, solid, square, stop


def document() -> native.Document:
    shade = linear([0, 0], [90, 0], stop(0, RED, opacity=0.3), stop(1, BLUE))
    return drawing(
        path(2, square(0, 0, 90, 90), fill(shade)), path(3, square(40, 40, 60, 60), fill(solid(RED), blend="Multiply"))
    )


@pytest.mark.parametrize(
    "command",
    [
        ["pdftoppm", "-r", "30", "-png", "pages.pdf", "page"],
        ["gs", "-dSAFER", "-dNOPAUSE", "-dBATCH", "-dQUIET", "-dPDFSTOPONWARNING", "-sDEVICE=nullpage", "pages.pdf"],
    ],
    ids=lambda command: str(command[0]),
)
def test_pages_are_opened_without_a_warning(command: list[str], tmp_path: Path) -> None:
    if shutil.which(command[0]) is None:
        unavailable(command[0], "it is not on PATH")
    shown = [resolve(document(), board) for board in artboards(document())]
    (tmp_path / "pages.pdf").write_bytes(write_pages(shown, "Real"))
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr.strip()) == (0, "", "")


def test_an_svg_with_its_document_inside_is_opened_by_inkscape_without_a_word_about_it(tmp_path: Path) -> None:
    if shutil.which("inkscape") is None:
        unavailable("Inkscape", "it is not on PATH")
    shown = resolve(document(), artboards(document())[0])
    (tmp_path / "mark.svg").write_bytes(embed(write_display(shown, 64, 64), native.dump(document())))
    command = ["inkscape", "mark.svg", "--export-filename=mark.png"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    # Without a desktop Inkscape warns of GTK's list of recent files, whatever it opens.
    said = [line for line in done.stderr.splitlines() if line.strip() and "GtkRecentManager" not in line]
    assert (done.returncode, said) == (0, [])
    assert (tmp_path / "mark.png").exists()
