from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest

from countermark.scene.document import Scene, dump, load
from countermark.scene.label import grown, room
from countermark.scene.limits import DEFAULT
from countermark.scene.operation import Env, apply, create

SHAPES = ("rectangle", "ellipse", "diamond")


@dataclass(frozen=True)
class Square:
    width: float
    height: float
    approximate: bool = False
    reason: str = ""


def measure(text: str, _family: int, size: float, spacing: float) -> Square:
    """Every character is as wide as it is high."""
    lines = text.split("\n")
    return Square(max(len(line) for line in lines) * size, len(lines) * size * spacing)


def wrap(text: str, _family: int, size: float, width: float) -> str:
    """One word a line as soon as the whole does not fit."""
    return text if len(text) * size <= width else text.replace(" ", "\n")


def env(*, real: bool = False) -> Env:
    return Env() if real else Env(measure=measure, wrap=wrap)


def drawn(kind: str, label: Any, *, real: bool = False, **more: Any) -> Scene:
    element = {"type": kind, "id": "c", "x": 100, "y": 50, "width": 240, "height": 120, "label": label, **more}
    return load(dump(create([element], env(real=real)).scene), DEFAULT)


def parts(scene: Scene) -> tuple[dict[str, Any], dict[str, Any]]:
    text = next(element for element in scene.elements if element["type"] == "text")
    return scene.by_id["c"], text


def centre(element: dict[str, Any]) -> tuple[float, float]:
    return element["x"] + element["width"] / 2, element["y"] + element["height"] / 2


def test_the_room_of_a_container_is_the_editor_s() -> None:
    size = {"width": 200, "height": 100}
    assert room({"type": "rectangle", **size}, 20) == (190, 90)
    assert room({"type": "ellipse", **size}, 20) == (131, 61)
    assert room({"type": "diamond", **size}, 20) == (90, 40)
    assert room({"type": "arrow", **size}, 20) == (220, math.inf)
    assert (grown("rectangle", 90.2), grown("ellipse", 90.2), grown("diamond", 90.2)) == (101, 143, 202)


@pytest.mark.parametrize("kind", SHAPES)
def test_a_label_is_centred_in_the_colour_of_its_shape(kind: str) -> None:
    container, text = parts(drawn(kind, "four", strokeColor="#2f9e44"))
    assert centre(text) == pytest.approx(centre(container), abs=0.5)  # the editor rounds the room of an ellipse
    assert (text["strokeColor"], text["textAlign"], text["verticalAlign"]) == ("#2f9e44", "center", "middle")
    assert (text["width"], text["height"]) == (80, 25)


@pytest.mark.parametrize("kind", SHAPES)
def test_a_label_that_does_not_fit_wraps_and_its_shape_grows(kind: str) -> None:
    container, text = parts(drawn(kind, "one two three four five six seven"))
    assert text["text"].count("\n") == 6
    assert text["originalText"] == "one two three four five six seven"
    assert container["height"] == grown(kind, 7 * 25)
    assert (container["x"], container["y"]) == (100, 50)
    assert room(container, 20)[1] >= text["height"]


def test_a_word_wider_than_its_shape_widens_it() -> None:
    container, text = parts(drawn("rectangle", "incomprehensible"))
    assert (text["width"], container["width"]) == (320, 330)


def test_alignment_of_a_label_is_kept() -> None:
    container, text = parts(
        drawn("rectangle", {"text": "ab", "textAlign": "right", "verticalAlign": "top", "fontSize": 10})
    )
    assert text["x"] + text["width"] == container["x"] + container["width"] - 5
    assert text["y"] == container["y"] + 5


def test_a_turned_shape_has_its_text_turned_about_its_own_centre() -> None:
    container, text = parts(drawn("rectangle", {"text": "ab", "verticalAlign": "top"}, angle=math.pi / 2))
    assert text["angle"] == math.pi / 2
    x, y = centre(text)
    assert (x, y) == pytest.approx((centre(container)[0] + 60 - 5 - text["height"] / 2, centre(container)[1]))


def test_a_resized_shape_wraps_its_text_anew() -> None:
    scene = drawn("rectangle", "one two")
    assert "\n" not in parts(scene)[1]["text"]
    after = apply(scene, [{"op": "update", "id": "c", "patch": {"width": 100}}], env()).scene
    container, text = parts(after)
    assert text["text"] == "one\ntwo"
    assert centre(text) == pytest.approx(centre(container))


def test_a_moved_shape_does_not_correct_the_stored_width_of_its_text() -> None:
    scene = drawn("rectangle", "one two")
    odd = [dict(element) | ({"width": 33.3} if element["type"] == "text" else {}) for element in scene.elements]
    after = apply(
        scene.replaced(elements=odd), [{"op": "update", "id": "c", "patch": {"x": 107, "angle": 0}}], env()
    ).scene
    assert parts(after)[1]["width"] == 33.3
    assert parts(after)[1]["x"] == odd[1]["x"] + 7


def test_null_deletes_a_label_and_text_makes_one() -> None:
    scene = drawn("ellipse", "old")
    name = parts(scene)[1]["id"]
    without = apply(scene, [{"op": "update", "id": "c", "patch": {"label": None}}], env()).scene
    assert without.by_id[name]["isDeleted"]
    assert without.by_id["c"]["boundElements"] == []
    again = apply(without, [{"op": "update", "id": "c", "patch": {"label": {"text": "new", "id": "t"}}}], env()).scene
    assert again.by_id["t"]["containerId"] == "c"
    assert [element["id"] for element in again.elements] == ["c", "t", name]


def test_an_arrow_s_label_is_at_its_middle_and_never_turned() -> None:
    for points, middle in (([[0, 0], [100, 40]], (50, 20)), ([[0, 0], [80, 10], [90, 90]], (80, 10))):
        made = create([{"type": "arrow", "id": "c", "x": 0, "y": 0, "points": points, "label": "x"}], env()).scene
        text = parts(made)[1]
        assert centre(text) == pytest.approx(middle)
        assert text["angle"] == 0
        assert parts(made)[0]["width"] == max(point[0] for point in points)


def test_real_fonts_measure_what_is_drawn() -> None:
    text = parts(drawn("rectangle", "Hello there my friend", real=True))[1]
    assert text["width"] == pytest.approx(199.6, abs=0.5)
    assert text["height"] == 25


def test_text_of_its_own_keeps_the_side_it_is_aligned_to() -> None:
    for align, share in (("left", 0), ("center", 0.5), ("right", 1)):
        element = {"type": "text", "id": "t", "x": 10, "y": 20, "text": "four", "textAlign": align}
        scene = create([element], env()).scene
        before = scene.by_id["t"]
        after = apply(scene, [{"op": "update", "id": "t", "patch": {"text": "sixsix\nx"}}], env()).scene.by_id["t"]
        assert after["x"] + after["width"] * share == pytest.approx(before["x"] + before["width"] * share)
        assert (after["y"], after["height"]) == (20, 50)


def test_bound_text_is_changed_by_its_own_id_too_but_not_moved() -> None:
    scene = drawn("rectangle", "one")
    name = parts(scene)[1]["id"]
    after = apply(scene, [{"op": "update", "id": name, "patch": {"text": "seven", "fontSize": 10}}], env()).scene
    container, text = parts(after)
    assert (text["text"], text["width"]) == ("seven", 50)
    assert centre(text) == pytest.approx(centre(container))
    with pytest.raises(Exception, match="follows its container"):
        apply(scene, [{"op": "update", "id": name, "patch": {"x": 0}}], env())


def test_text_with_a_width_of_its_own_wraps_at_it() -> None:
    element = {"type": "text", "id": "t", "x": 0, "y": 0, "text": "one two", "autoResize": False, "width": 100}
    text = create([element], env()).scene.by_id["t"]
    assert (text["text"], text["originalText"], text["width"], text["height"]) == ("one\ntwo", "one two", 100, 50)
    scene = create([{"type": "text", "id": "t", "x": 0, "y": 0, "text": "one two"}], env()).scene
    after = apply(scene, [{"op": "update", "id": "t", "patch": {"width": 90}}], env()).scene.by_id["t"]
    assert (after["text"], after["width"], after["autoResize"]) == ("one\ntwo", 90, False)
