"""Two documents compared in words."""

from __future__ import annotations

from countermark.vector import document as native
from countermark.vector import recolour
from countermark.vector.comparison import Change, compare
from countermark.vector.document import Document
from tests.vector.drawings import BLUE, RED, drawing, fill, group, path, solid, square


def mark() -> Document:
    plate = path(2, square(0, 0, 9, 9), fill(solid(RED)), name="plate")
    return drawing(plate, group(4, path(3, square(0, 0, 5, 5), fill(solid(BLUE)))))


def said(before: Document, after: Document) -> list[tuple[str, str, str]]:
    return [(one.kind, one.id, one.what) for one in compare(before, after)]


def test_equal_documents_have_no_difference_and_a_swatch_is_told_with_what_follows_it() -> None:
    assert compare(mark(), mark()) == []
    bound, _ = recolour.bind(mark(), "primary", "#ff0000")
    assert said(mark(), bound) == [
        ("swatch", "primary", "is new"),
        ("object", "2", "fill[0] #ff0000 → #ff0000 (primary)"),
    ]
    after, _ = recolour.set_colour(bound, "primary", "#0057ff")
    assert compare(bound, after) == [
        Change("swatch", "primary", "primary", "#ff0000 → #0057ff"),
        Change("object", "2", "plate", "fill[0] #ff0000 (primary) → #0057ff (primary)"),
    ]


def test_objects_come_go_move_and_change_and_each_is_told_once() -> None:
    before = mark()
    plate, held = (native.find(before, node).node for node in (2, 4))
    (layer,) = before.tree["layers"]
    shaped = {**plate, "name": "plaque", "kind": path(2, square(0, 0, 8, 9))["kind"], "opacity": 0.5}
    emptied = {**held, "kind": {**held["kind"], "children": []}}
    new = path(7, square(1, 1, 2, 2), fill(solid(RED)))
    children = [emptied, shaped, new]
    after = native.rewrite(before, {layer["id"]: {**layer, "kind": {**layer["kind"], "children": children}}})
    assert said(before, after) == [
        ("object", "1000", "what it holds, or in which order"),
        ("object", "4", "what it holds, or in which order"),
        ("object", "2", "name 'plate' → 'plaque'; opacity None → 0.5; its shape"),
        ("object", "7", "is new: a path"),
        ("object", "3", "is gone"),
    ]


def test_artboards_are_told_by_id() -> None:
    before = mark()
    (board,) = before.tree["artboards"]
    renamed = native.rewrite(before, {}, artboards=[{**board, "name": "Sign"}])
    assert said(before, renamed) == [("artboard", "1", "is called 'Sign', was 'Board 1'")]
    moved = native.rewrite(before, {}, artboards=[{**board, "id": 9}])
    assert said(before, moved) == [("artboard", "1", "is gone"), ("artboard", "9", "is new")]
