"""The kit's table and the names its boards keep."""

from __future__ import annotations

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.vector import document as native
from countermark.vector.affine import Box
from countermark.vector.artboard import artboard, artboards, new_artboard
from countermark.vector.kit import BOARDS, boards_for, files_for
from countermark.vector.svg.import_ import import_svg
from countermark.vector.variant import TREATMENTS

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 20"><rect width="5" height="5"/></svg>'


def test_the_kit_has_seven_square_sizes_places_with_a_ground_and_other_inks_each_in_two_formats() -> None:
    square = [(board.width, board.height) for board in BOARDS if board.variant == "full-colour"]
    assert square == [(side, side) for side in (1024, 512, 192, 48, 32, 24, 16)]
    grounded = [board.id for board in BOARDS if TREATMENTS[board.variant].ground]
    assert grounded == [
        "maskable-512",
        "apple-touch-180",
        "social-card-1200x630",
        "one-colour-white-512",
        "reversed-512",
    ]
    assert {board.formats for board in BOARDS} == {("svg", "png")}


def test_every_file_of_a_kit_has_a_name_of_its_own_and_parts_that_are_boards() -> None:
    document = import_svg(SVG, name="mark.svg").document
    document = native.rewrite(
        document, {}, artboards=[*document.tree["artboards"], new_artboard(5, "New", Box(0, 0, 9, 9))]
    )
    boards = [name for board in boards_for(document) for name in board.files]
    files = files_for(document, "mark.vectorcraft")
    names = [*boards, *(file.name for file in files)]
    assert len(set(names)) == len(names)
    assert {part for file in files for part in file.parts} <= set(boards)
    assert [file.name for file in files if file.artboard == 5] == ["artboard-5-favicon.ico", "artboard-5-editable.svg"]


@pytest.mark.promise("vector.artboard.stable-ids")
def test_a_board_keeps_its_id_and_file_names_when_artboards_are_added_moved_or_renamed() -> None:
    document = import_svg(SVG, name="mark.svg").document
    before = boards_for(document)
    assert before[0].id == "artboard-1-full-colour-1024"
    assert before[0].files == ("artboard-1-full-colour-1024.svg", "artboard-1-full-colour-1024.png")
    renamed = {**document.tree["artboards"][0], "name": "Sign"}
    added = native.rewrite(document, {}, artboards=[new_artboard(5, "New", Box(0, 0, 9, 9)), renamed])
    after = boards_for(added)
    assert [board.id for board in after if board.artboard == 1] == [board.id for board in before]
    assert {board.artboard_name for board in after if board.artboard == 1} == {"Sign"}
    assert len({name for board in after for name in board.files}) == 2 * 2 * len(BOARDS)


def test_artboards_are_found_by_id_never_by_position() -> None:
    document = import_svg(SVG, name="mark.svg").document
    second = new_artboard(5, "New", Box(0, 0, 9, 9))
    document = native.rewrite(document, {}, artboards=[second, *document.tree["artboards"]])
    assert artboard(document, 1).box == (0, 0, 10, 20)
    with pytest.raises(CountermarkError, match=r"no artboard 2; it has 5 \(New\), 1 \(mark\)") as caught:
        artboard(document, 2)
    assert caught.value.details == {"artboards": [5, 1]}


@pytest.mark.parametrize(
    "wrong",
    [
        {"rect": None},
        {"rect": {"x0": 0}},
        {"rect": {"x0": 0, "y0": 0, "x1": 0, "y1": 5}},
        {"id": None},
        {"id": 1},
    ],
)
def test_an_artboard_without_area_or_identity_is_refused(wrong: dict[str, object]) -> None:
    document = import_svg(SVG, name="mark.svg").document
    board = {**document.tree["artboards"][0], "id": 2, **wrong}
    broken = native.rewrite(document, {}, artboards=[*document.tree["artboards"], board])
    with pytest.raises(CountermarkError) as caught:
        artboards(broken)
    assert caught.value.code == "artifact_invalid"
