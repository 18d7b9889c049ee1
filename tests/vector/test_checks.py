from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import countermark
from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.kernel.proof import Engine, Status, Verdict, judge
from countermark.raster.judge import Judged
from countermark.vector import checks
from countermark.vector.checks import Board
from countermark.vector.draw import draw
from countermark.vector.svg_writer import write
from tests.vector.drawings import BLUE, GREEN, RED, Json, drawing, fill, first_board, path, solid, square

MAKER = Engine("maker", "a" * 64)
ORIGINAL = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">
<rect x="10" y="10" width="50" height="50" fill="#f00"/>
<rect x="40" y="40" width="50" height="50" fill="#00f"/></svg>"""


def board(side: int = 512, second: Json = BLUE, *, moved: float = 0) -> Board:
    document = drawing(
        path(1, square(10 + moved, 10, 60 + moved, 60), fill(solid(RED))),
        path(2, square(40, 40, 90, 90), fill(solid(second))),
    )
    artboard = first_board(document)
    return Board(
        id=f"full-{side}",
        width=side,
        height=side,
        png=draw(document, artboard, side, side).png,
        svg=write(document, artboard, side, side),
        png_maker=MAKER,
        svg_maker=MAKER,
    )


@pytest.fixture(scope="module")
def large() -> Board:
    return board()


def test_a_good_board_passes_every_check_under_another_engines_eyes(large: Board) -> None:
    verdicts = [
        checks.png_decodes(large),
        checks.svg_structure(large),
        checks.svg_renders(large),
        checks.original(ORIGINAL, large),
    ]

    assert [verdict.status for verdict in verdicts] == [Status.PASSED] * 4
    assert judge(verdicts, ["png_decodes", "svg_structure", "svg_renders", "original"]).code == ""
    assert {verdict.observer.label.split()[0] for verdict in verdicts} == {"pillow", "Python", "resvg"}
    assert verdicts[2].subjects == (sha256_hex(large.svg or b""), sha256_hex(large.png or b""))


def test_figures_are_whole_numbers_and_decimal_text(large: Board) -> None:
    for verdict in (checks.png_decodes(large), checks.svg_structure(large), checks.svg_renders(large)):
        values = [*verdict.measured.values(), *verdict.threshold.values()]
        assert values
        assert {type(value) for value in values} <= {int, str}


def test_a_picture_that_differs_fails_and_names_where(large: Board) -> None:
    other = board(second=GREEN)

    against_svg = checks.svg_renders(replace(large, svg=other.svg))
    against_original = checks.original(ORIGINAL, other)

    for verdict in (against_svg, against_original):
        assert verdict.status is Status.FAILED
        assert int(verdict.measured["off"]) > 60_000
        assert "painted pixels are off by more than 48/255" in verdict.reason


def test_a_shift_of_one_part_in_a_hundred_is_seen() -> None:
    assert checks.original(ORIGINAL, board(moved=1)).status is Status.FAILED


def test_a_blank_picture_never_passes_for_a_drawing(large: Board) -> None:
    document = drawing()
    blank = draw(document, first_board(document), 512, 512).png

    assert checks.original(ORIGINAL, replace(large, png=blank)).status is Status.FAILED
    assert checks.svg_renders(replace(large, png=blank)).status is Status.FAILED


def test_a_small_board_leans_on_the_large_one_and_on_nothing_else(large: Board) -> None:
    small = board(16)
    passed = checks.original(ORIGINAL, large)
    failed = replace(passed, status=Status.FAILED)
    missing = replace(passed, status=Status.UNAVAILABLE)

    assert checks.original(ORIGINAL, small, larger=passed).status is Status.PASSED
    for larger in (None, failed, missing):
        assert checks.original(ORIGINAL, small, larger=larger).status is Status.FAILED
    document = drawing()
    blank = replace(small, png=draw(document, first_board(document), 16, 16).png)
    assert checks.svg_renders(blank, larger=passed).status is Status.FAILED


@pytest.mark.parametrize("cut", [0, 8, 40, -1])
def test_a_png_that_does_not_decode_fails(large: Board, cut: int) -> None:
    verdict = checks.png_decodes(replace(large, png=(large.png or b"")[:cut]))

    assert (verdict.status, verdict.measured) == (Status.FAILED, {})
    assert "could not be decoded" in verdict.reason


def test_a_png_of_another_size_fails_with_the_size(large: Board) -> None:
    verdict = checks.png_decodes(replace(large, width=511))

    assert verdict.status is Status.FAILED
    assert verdict.reason == "width is 512, not 511"


def test_a_file_that_is_not_there_fails(large: Board) -> None:
    for verdict in (checks.png_decodes(replace(large, png=None)), checks.svg_renders(replace(large, svg=None))):
        assert verdict.status is Status.FAILED


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b"<title>", b"<script>x()</script><title>", "<script>"),
        (b"<title>", b'<image href="http://host/a.png"/><title>', "<image href>"),
        (b"<title>", b"<style>a{}</style><title>", "<style>"),
        (b"<title>", b"<title", "not well-formed"),
        (b'width="512"', b'width="500"', "width is 500, not 512"),
        (b' viewBox="0 0 100 100"', b"", "view_box is 0, not 1"),
    ],
)
def test_an_svg_that_runs_leaves_itself_or_has_another_size_fails(
    large: Board, old: bytes, new: bytes, words: str
) -> None:
    data = (large.svg or b"").replace(old, new, 1)
    assert data != large.svg

    verdict = checks.svg_structure(replace(large, svg=data))

    assert verdict.status is Status.FAILED
    assert words in verdict.reason


@pytest.mark.promise("kernel.proof.unavailable-is-not-passed")
@pytest.mark.parametrize(
    ("module", "look"),
    [
        ("resvg_py", checks.svg_renders),
        ("resvg_py", lambda one: checks.original(ORIGINAL, one)),
        ("PIL", checks.png_decodes),
    ],
)
def test_a_missing_engine_is_unavailable_and_the_result_cannot_complete(
    large: Board, monkeypatch: pytest.MonkeyPatch, module: str, look: Callable[[Board], Verdict]
) -> None:
    monkeypatch.setitem(sys.modules, module, None)

    verdict = look(large)

    assert verdict.status is Status.UNAVAILABLE
    assert judge([verdict], [verdict.check]).code == "verification_unavailable"


@pytest.mark.parametrize("code", ["deadline_exceeded", "child_failed"])
def test_a_judge_that_never_answered_leaves_the_original_unseen(large: Board, code: str) -> None:
    def silent(*_: object, **__: object) -> Judged:
        raise CountermarkError(code, "The judge said nothing.", next_action="Look.")

    verdict = checks.original(ORIGINAL, large, render=silent)

    assert (verdict.status, verdict.reason) == (Status.UNAVAILABLE, "The judge said nothing.")


def test_without_an_original_the_check_is_skipped_and_says_so(large: Board) -> None:
    verdict = checks.original(None, large, required=False)

    assert (verdict.status, verdict.reason) == (Status.SKIPPED, "the document has no original SVG")


def test_what_the_judge_cannot_see_stands_in_the_figures(large: Board) -> None:
    verdict = checks.original(ORIGINAL.replace(b"</svg>", b'<text x="3" y="3">hi</text></svg>'), large)

    assert verdict.measured["unobserved"] == "text: 1 element(s), the judge loads no fonts"


def test_an_original_without_a_size_is_compared_at_the_artboards(large: Board) -> None:
    bare = ORIGINAL.replace(b' viewBox="0 0 100 100"', b"")

    assert checks.original(bare, large, unstated=(100, 100)).status is Status.PASSED
    assert checks.original(bare, large).status is Status.FAILED


def test_digests_name_what_is_changed_missing_or_extra() -> None:
    files = {"a": b"1", "b": b"2"}
    expected = {name: sha256_hex(data) for name, data in files.items()}

    assert checks.digests(files, expected, MAKER).status is Status.PASSED
    changed = checks.digests({"a": b"1", "b": b"3"}, expected, MAKER)
    missing = checks.digests({"a": b"1"}, expected, MAKER)
    extra = checks.digests({**files, "c": b""}, expected, MAKER)
    assert [verdict.status for verdict in (changed, missing, extra)] == [Status.FAILED] * 3
    assert (changed.reason, missing.reason, extra.reason) == (
        "b is not what its maker announced",
        "b is missing",
        "c was not announced",
    )


def test_losses_pass_only_when_each_is_accepted() -> None:
    assert checks.losses([], [], MAKER, b"report").status is Status.PASSED
    assert checks.losses(["text:1"], [], MAKER, b"report").status is Status.PASSED
    left = checks.losses(["text:1", "mask:2"], ["mask:2"], MAKER, b"report")
    assert left.status is Status.FAILED
    assert left.reason.startswith("not carried over: mask:2 (")
    assert left.measured == {"lost": 2, "unaccepted": 1}


def test_the_checks_never_import_what_made_the_artefact() -> None:
    package = Path(countermark.__path__[0])
    seen: set[str] = set()
    waiting = ["countermark.vector.checks"]
    while waiting:
        module = waiting.pop()
        place = package.parent / (module.replace(".", "/") + ".py")
        if module in seen or not place.is_file():
            continue
        seen.add(module)
        for node in ast.walk(ast.parse(place.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                waiting += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                waiting += [alias.name for alias in node.names]
                assert "skia" not in {alias.name for alias in node.names}, module

    makers = {
        f"countermark.vector.{name}" for name in ("draw", "svg_writer", "resolve", "display", "document", "engine")
    }
    assert "countermark.raster.judge" in seen
    assert not seen & makers
