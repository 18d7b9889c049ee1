from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from countermark.raster.difference import measure
from countermark.raster.judge import outline, render
from countermark.raster.picture import decode_png
from countermark.vector.affine import Box
from countermark.vector.artboard import artboards
from countermark.vector.document import Document, dump
from countermark.vector.draw import draw
from countermark.vector.svg_spelling import decimals_for, number
from countermark.vector.svg_writer import write
from tests.vector.drawings import (
    BLUE,
    GREEN,
    RED,
    WHITE,
    Json,
    drawing,
    fill,
    first_board,
    group,
    linear,
    path,
    polygon,
    radial,
    solid,
    square,
    stop,
    stroke,
)

SOURCE = Path(__file__).resolve().parents[2] / "src"
NS = "{http://www.w3.org/2000/svg}"


def everything() -> Document:
    return drawing(
        path(1, square(10, 10, 60, 60), fill(linear([10, 0], [60, 0], stop(0, RED), stop(1, BLUE, opacity=0.3)))),
        path(
            2,
            [square(30, 30, 95, 95), square(45, 45, 80, 80)],
            fill(
                radial([60, 60], [90, 70], stop(0, WHITE), stop(0.4, GREEN), stop(1, RED), aspect=0.5, focal=[70, 60])
            ),
            stroke(solid(BLUE), 4, join="Round", dash={"pattern": [8, 4, 2], "offset": 3}),
            rule="EvenOdd",
            opacity=0.7,
        ),
        path(3, square(5, 70, 25, 90), fill(solid(GREEN)), stroke(solid(RED), 3, align="Outside")),
        path(4, square(70, 5, 90, 25), fill(solid(GREEN)), stroke(solid(RED), 3, align="Inside"), blend="Multiply"),
        group(
            5,
            path(6, polygon((0, 0), (100, 0), (0, 100))),
            path(7, square(0, 50, 60, 64), fill(solid(BLUE))),
            clip=True,
            opacity=0.5,
        ),
        path(8, polygon((-10, -10), (30, 30), closed=False), stroke(solid(RED), 6, cap="Round")),
        path(
            11,
            [polygon((2, 40), (2, 60), closed=False), polygon((2, 40), (20, 45), closed=False)],
            stroke(
                linear([0, 40], [0, 60], stop(0, RED), stop(1, BLUE), countermark={"spread": "repeat"}),
                3,
                countermark={"pen": [2.0, 0.5, 0.0, 0.5]},
            ),
        ),
        group(
            12,
            {
                "id": 13,
                "kind": {
                    "type": "compound",
                    "rule": "NonZero",
                    "children": [path(14, square(80, 60, 90, 99)), path(15, square(85, 70, 99, 80), rule="EvenOdd")],
                    "countermark": {"union": True},
                },
            },
            path(
                16,
                square(70, 50, 100, 100),
                fill(
                    radial([85, 75], [95, 75], stop(0.2, WHITE), stop(1, GREEN), focal=[88, 75])
                    | {"countermark": {"spread": "reflect", "focal_radius": 0.1}}
                ),
            ),
            clip=True,
        ),
        path(17, polygon((5, 5)), stroke(solid(BLUE), 6, cap="Round")),
        group(9, path(10, square(40, 2, 60, 20), fill(solid(RED)), blend="Screen"), isolate=True),
    )


def written(*nodes: Json, width: int = 100, height: int = 100) -> str:
    document = drawing(*nodes)
    return write(document, first_board(document), width, height).decode()


def test_a_filled_shape_keeps_a_pen_that_is_not_round() -> None:
    pen = {"pen": [2.0, 0.0, 0.0, 0.5]}
    document = drawing(path(1, square(30, 30, 70, 70), fill(solid(GREEN)), stroke(solid(RED), 10, countermark=pen)))
    board = first_board(document)

    judged = render(write(document, board, 512, 512), 512, 512).picture
    found = measure(decode_png(draw(document, board, 512, 512).png), judged)

    assert found.painted > 60_000
    assert found.within(1), found


@pytest.mark.parametrize(("width", "height"), [(512, 512), (700, 512), (512, 900)])
def test_another_engine_sees_in_the_svg_what_we_draw(width: int, height: int) -> None:
    document = everything()
    board = first_board(document)

    judged = render(write(document, board, width, height), width, height).picture
    drawn = decode_png(draw(document, board, width, height).png)

    found = measure(drawn, judged)
    assert found.painted > 100_000
    assert found.within(5), found


def test_the_file_has_the_boards_size_and_the_artboards_frame_and_title() -> None:
    document = drawing(boards=(Box(20, 30, 120, 80),))
    data = write(document, first_board(document), 64, 64)

    root = ET.fromstring(data)
    assert (root.get("width"), root.get("height"), root.get("viewBox")) == ("64", "64", "20 5 100 100")
    assert [element.tag for element in root] == [f"{NS}title"]
    assert root[0].text == "Board 1"


def test_an_empty_artboard_is_a_valid_empty_file() -> None:
    document = drawing()
    data = write(document, first_board(document), 32, 32)

    assert outline(data).elements == {"svg": 1, "title": 1}
    assert int(render(data, 32, 32).picture.rgba.max()) == 0


def test_a_title_cannot_break_out_of_its_element() -> None:
    document = drawing()
    document.tree["artboards"][0]["name"] = "A </title><script>&\x01\uffff \u00e9"

    root = ET.fromstring(write(document, first_board(document), 8, 8))

    assert root[0].text == "A </title><script>& \u00e9"
    assert len(root) == 1


def test_an_edit_on_one_board_leaves_the_other_boards_file_alone() -> None:
    def boards(colour: Json) -> list[bytes]:
        document = drawing(
            path(1, square(10, 10, 60, 60), fill(solid(colour))),
            path(2, square(160, 10, 190, 60), fill(linear([0, 0], [9, 0], stop(0, RED), stop(1, BLUE)))),
            boards=(Box(0, 0, 100, 100), Box(150, 0, 250, 100)),
        )
        return [write(document, board, 64, 64) for board in artboards(document)]

    before, after = boards(RED), boards(GREEN)

    assert before[0] != after[0]
    assert before[1] == after[1]


def test_ids_come_from_objects_and_stay_when_others_come_or_go() -> None:
    gradient = fill(linear([0, 0], [9, 0], stop(0, RED), stop(1, BLUE)))
    node = path(7, square(10, 10, 60, 60), gradient)

    assert 'id="o7-fill"' in written(node)
    assert 'id="o7-fill"' in written(path(3, square(1, 1, 5, 5), gradient), node)


def test_nothing_of_the_artwork_beyond_the_artboard_shows_on_a_board_of_another_shape() -> None:
    document = drawing(path(1, square(-50, -50, 250, 250), fill(solid(RED))), boards=(Box(0, 0, 100, 50),))
    rgba = render(write(document, first_board(document), 40, 40), 40, 40).picture.rgba

    assert [int(rgba[row, 20, 3]) for row in (8, 11, 28, 31)] == [0, 255, 255, 0]


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (0.0, 3, "0"),
        (-0.0001, 3, "0"),
        (1.5, 3, "1.5"),
        (100.0, 3, "100"),
        (100.0, 0, "100"),
        (1 / 3, 4, "0.3333"),
        (1e-9, 12, "0.000000001"),
        (123456.0, 0, "123456"),
        (-12.3456, 2, "-12.35"),
    ],
)
def test_numbers_are_the_shortest_text_with_so_many_decimals(value: float, decimals: int, text: str) -> None:
    assert number(value, decimals) == text


@pytest.mark.parametrize(("side", "decimals"), [(1, 5), (24, 4), (256, 3), (1024, 2), (8192, 2), (200000, 0)])
def test_decimals_keep_six_digits_of_the_artboard(side: float, decimals: int) -> None:
    assert decimals_for(side) == decimals


@pytest.mark.promise("vector.export.same-bytes")
def test_the_same_document_gives_the_same_bytes_in_another_process_locale_zone_and_umask(tmp_path: Path) -> None:
    document = everything()
    board = first_board(document)
    here = write(document, board, 192, 192), draw(document, board, 192, 192).png
    (tmp_path / "drawing.vectorcraft").write_bytes(dump(document))
    program = (
        "import os, sys, time, locale; os.umask(0o077); locale.setlocale(locale.LC_ALL, '')\n"
        "from countermark.vector.document import load; from countermark.vector.artboard import artboards\n"
        "from countermark.vector.draw import draw; from countermark.vector.svg_writer import write\n"
        "document = load(open('drawing.vectorcraft', 'rb').read()); board = artboards(document)[0]\n"
        "open('out.svg', 'wb').write(write(document, board, 192, 192))\n"
        "open('out.png', 'wb').write(draw(document, board, 192, 192).png)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "7"}
    environment |= {"LC_ALL": "C", "LANG": "C"}

    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, check=True, timeout=60)

    assert ((tmp_path / "out.svg").read_bytes(), (tmp_path / "out.png").read_bytes()) == here
