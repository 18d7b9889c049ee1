from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from countermark.scene import document, operation
from countermark.scene.document import Scene
from countermark.scene.env import Env
from countermark.scene.limits import DEFAULT
from countermark.scene.lint import MOST, Report, lint


def env(seed: int = 0) -> Env:
    return Env(chance=random.Random(seed), now=1_900_000_000_000)  # noqa: S311 - a test that replays


def made(*elements: dict[str, Any]) -> Scene:
    return document.load(document.dump(operation.create(list(elements), env(1)).scene), DEFAULT)


def box(name: str, x: float, y: float, **more: Any) -> dict[str, Any]:
    return {"type": "rectangle", "id": name, "x": x, "y": y, "width": 120, "height": 60, **more}


def arrow(*points: tuple[float, float], **more: Any) -> dict[str, Any]:
    (x, y), *_ = points
    return {"type": "arrow", "id": "arrow", "x": x, "y": y, "points": [[px - x, py - y] for px, py in points], **more}


def with_(scene: Scene, name: str, **members: Any) -> Scene:
    return scene.replaced(elements=[{**one, **members} if one["id"] == name else one for one in scene.elements])


def rules(report: Report) -> list[tuple[str, tuple[str, ...]]]:
    return [(finding.rule, finding.elements) for finding in report.findings]


def mended(scene: Scene, report: Report) -> Scene:
    return operation.apply(scene, report.operations(), env(3)).scene


def test_a_tidy_drawing_has_no_findings() -> None:
    scene = made(
        box("a", 0, 0, label="API"),
        box("b", 400, 0, label="DB"),
        {"type": "ellipse", "id": "c", "x": 200, "y": 300, "width": 90, "height": 90, "label": "Cache"},
        arrow((0, 0), (9, 9), startElementId="a", endElementId="b", label="asks"),
        box("around", -50, -50, width=900, height=800),
    )
    assert rules(lint(scene)) == []


def test_a_label_that_leaves_its_box_is_wrapped_anew() -> None:
    scene = made(box("a", 0, 0, label="short"))
    label = next(one["id"] for one in scene.elements if one["type"] == "text")
    long = "much too long for a box of this width"
    scene = with_(scene, label, text=long, originalText=long, width=340)
    report = lint(scene)
    assert rules(report) == [("text-overflow", ("a", label))]
    assert "px too wide" in report.findings[0].message
    after = mended(scene, report)
    assert "\n" in after.by_id[label]["text"]
    assert rules(lint(after)) == []


def test_a_stored_width_that_is_wrong_is_no_overflow() -> None:
    scene = made(box("a", 0, 0, label="short"))
    label = next(one["id"] for one in scene.elements if one["type"] == "text")
    assert rules(lint(with_(scene, label, width=400, x=-140))) == []


def test_boxes_over_each_other_are_put_apart_and_groups_and_see_through_circles_left_alone() -> None:
    scene = made(box("a", 0, 0), box("b", 100, 30))
    report = lint(scene)
    assert rules(report) == [("overlap", ("a", "b"))]
    assert rules(lint(mended(scene, report))) == []
    assert rules(lint(made(box("a", 0, 0, groupIds=["g"]), box("b", 100, 30, groupIds=["g"])))) == []
    circle = {"type": "ellipse", "width": 100, "height": 100, "y": 0}
    assert rules(lint(made({**circle, "id": "a", "x": 0}, {**circle, "id": "b", "x": 60}))) == []
    filled = {"backgroundColor": "#ffc9c9", "fillStyle": "solid"}
    assert len(lint(made({**circle, "id": "a", "x": 0}, {**circle, "id": "b", "x": 60, **filled})).findings) == 1


def test_texts_over_each_other_are_found() -> None:
    text = {"type": "text", "text": "some words", "x": 0}
    scene = made({**text, "id": "a", "y": 0}, {**text, "id": "b", "y": 10})
    report = lint(scene)
    assert rules(report) == [("overlap", ("a", "b"))]
    assert rules(lint(mended(scene, report))) == []
    assert rules(lint(made({**text, "id": "a", "y": 0}, {**text, "id": "b", "y": 25}))) == []


def test_an_arrow_through_a_box_is_led_around_it() -> None:
    scene = made(
        box("a", 0, 0),
        box("between", 300, 0),
        box("b", 600, 0),
        arrow((0, 0), (9, 9), startElementId="a", endElementId="b"),
    )
    report = lint(scene)
    assert rules(report) == [("arrow-through", ("arrow", "between"))]
    after = mended(scene, report)
    assert len(after.by_id["arrow"]["points"]) == 4
    assert after.by_id["arrow"]["startBinding"]["elementId"] == "a"
    assert rules(lint(after)) == []


def test_an_arrow_into_a_box_within_another_crosses_only_what_it_must() -> None:
    scene = made(box("outer", 300, -100, width=400, height=300), box("inner", 450, 0), box("a", 0, 0))
    into = operation.apply(
        scene,
        [{"op": "add", "element": arrow((0, 0), (9, 9), startElementId="a", endElementId="inner")}],
        env(2),
    ).scene
    assert rules(lint(into)) == []


def test_an_end_beside_a_shape_is_attached() -> None:
    scene = made(box("a", 0, 0), box("b", 400, 0), arrow((126, 30), (398, 30)))
    report = lint(scene)
    assert rules(report) == [("arrow-unattached", ("arrow", "a", "b"))]
    after = mended(scene, report)
    assert {entry["id"] for name in ("a", "b") for entry in after.by_id[name]["boundElements"]} == {"arrow"}
    assert rules(lint(after)) == []


@pytest.mark.parametrize("points", [((200, 30), (350, 30)), ((150, 30), (60, 30)), ((20, 20), (100, 40))])
def test_an_end_in_the_open_or_deep_inside_points_at_nothing_in_particular(points: Any) -> None:
    assert rules(lint(made(box("a", 0, 0), arrow(*points)))) == []


def test_a_child_out_of_its_frame_is_let_out() -> None:
    scene = made(box("in", 10, 10), box("half", 150, 150), box("out", 500, 10))
    first = scene.elements[0]
    frame = {**first, "id": "f", "type": "frame", "x": 0, "y": 0, "width": 200, "height": 200, "name": "Part"}
    scene = scene.replaced(elements=[*({**one, "frameId": "f"} for one in scene.elements), frame])
    report = lint(scene)
    assert rules(report) == [("outside-frame", ("half", "f")), ("outside-frame", ("out", "f"))]
    assert "frame “Part”" in report.findings[0].message
    after = mended(scene, report)
    assert [after.by_id[name]["frameId"] for name in ("in", "half", "out")] == ["f", None, None]


def test_two_suggestions_for_one_arrow_are_one_operation() -> None:
    scene = made(box("a", 0, 0), box("between", 300, 0), box("b", 600, 0), arrow((126, 30), (595, 30)))
    report = lint(scene)
    (operation_,) = report.operations()
    assert set(operation_["patch"]) == {"points", "startElementId", "endElementId"}
    assert rules(lint(mended(scene, report))) == []


def test_what_a_file_may_hold_is_looked_at_without_failing_and_the_findings_are_bounded() -> None:
    scene = made(box("a", 0, 0, label="x"), arrow((0, 0), (9, 9)))
    odd: tuple[dict[str, Any], ...] = (
        {"x": "1"},
        {"points": 3},
        {"width": None},
        {"groupIds": 3},
        {"frameId": {}},
        {"angle": "x"},
    )
    for members in odd:
        for one in scene.elements:
            assert isinstance(lint(with_(scene, one["id"], **members)).wire(), dict)
    crowd = made(*(box(f"b{number}", number * 10, number * 7) for number in range(60)))
    report = lint(crowd)
    assert len(report.findings) == MOST
    assert report.left > 0


EXPECTED = {
    "03-architecture": ["arrow-through", *["arrow-unattached"] * 4],
    "11-diagrams": ["arrow-unattached"] * 2,
    "31-drawing": ["overlap"],
    "45-test-frame": ["text-overflow"],
}
"""What a person, looking at the pictures of these files, agrees is a slip; in the others nothing is."""


@pytest.mark.promise("scene.lint.slips")
def test_in_real_files_only_what_a_person_sees_is_found_and_the_suggestions_mend_it(shared_data: Path) -> None:
    for path in sorted((shared_data / "scenes").glob("*.excalidraw")):
        if path.stem.startswith("35-"):  # a skeleton, no scene
            continue
        scene = document.load(path.read_bytes(), DEFAULT)
        report = lint(scene)
        assert (path.stem, [finding.rule for finding in report.findings]) == (path.stem, EXPECTED.get(path.stem, []))
        if report.findings:
            assert len(lint(mended(scene, report)).findings) < len(report.findings)
