"""One more drawing in a document that exists."""

from __future__ import annotations

from countermark.vector import document as native
from countermark.vector.artboard import artboards
from countermark.vector.display import shapes
from countermark.vector.document import Document, walk
from countermark.vector.kit import BOARDS, boards_for
from countermark.vector.resolve import resolve
from countermark.vector.svg.import_ import import_svg

ONE = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20"><text>x</text>'
    b'<rect id="a" width="55" height="20"/></svg>'
)
TWO = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><text>y</text>'
    b'<path id="b" transform="rotate(45)" d="M-9 0h12v5z"/></svg>'
)


def both() -> tuple[Document, Document]:
    first = import_svg(ONE, name="one.svg").document
    return first, import_svg(TWO, name="two.svg", into=first).document


def test_what_was_there_keeps_its_bytes() -> None:
    first, joined = both()
    assert joined.tree["layers"][0] == first.tree["layers"][0]
    assert joined.tree["artboards"][0] == first.tree["artboards"][0]
    assert native.load(native.dump(joined)).tree == joined.tree


def test_ids_are_never_used_twice() -> None:
    _, joined = both()
    ids = [visit.node["id"] for visit in walk(joined)]
    assert len(ids) == len(set(ids))
    assert joined.tree["next_id"] > max(ids)
    third = import_svg(TWO, name="three.svg", into=joined).document
    assert [board.id for board in artboards(third)] == [1, 2, 3]
    assert len({board.id for board in boards_for(third)}) == 3 * len(BOARDS)


def test_no_art_reaches_into_the_other_artboard() -> None:
    _, joined = both()
    painted = [{shape.node for shape in shapes(resolve(joined, board).items)} for board in artboards(joined)]
    assert painted[0]
    assert painted[1]
    assert not painted[0] & painted[1]


def test_every_loss_and_original_stays_known_by_its_artboard() -> None:
    _, joined = both()
    said = joined.tree["countermark"]
    assert [source["artboard"] for source in said["sources"]] == [1, 2]
    names = [row["name"] for row in said["losses"]]
    assert len(names) == len(set(names)) == 2
