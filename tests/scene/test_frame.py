from __future__ import annotations

import json
from typing import Any

import pytest

from countermark.scene.codes import SceneError
from countermark.scene.document import Scene, load
from countermark.scene.limits import DEFAULT
from countermark.scene.operation import Applied, Env, apply


def shape(which: str, kind: str = "rectangle", **more: Any) -> dict[str, Any]:
    base = {"id": which, "type": kind, "x": 0, "y": 0, "width": 50, "height": 50, "angle": 0, "frameId": None}
    return base | {"boundElements": [], "isDeleted": False, "version": 1, "versionNonce": 1, "updated": 1} | more


def scene() -> Scene:
    elements = [
        shape("child", frameId="f", index="a0"),
        shape("f", "frame", name="Plan", width=300, height=300, index="a1"),
        shape("outside", index="a2", boundElements=[{"id": "t", "type": "text"}]),
        shape("t", "text", text="x", originalText="x", containerId="outside", index="a3"),
    ]
    value = {"type": "excalidraw", "version": 2, "elements": elements, "appState": {}, "files": {}}
    return load(json.dumps(value).encode(), DEFAULT)


def update(which: str, **patch: Any) -> dict[str, Any]:
    return {"op": "update", "id": which, "patch": patch}


def done(*operations: dict[str, Any]) -> Applied:
    return apply(scene(), list(operations), Env())


def test_a_deleted_frame_leaves_its_children() -> None:
    after = done({"op": "delete", "id": "f"}).scene
    assert (after.by_id["f"]["isDeleted"], after.by_id["child"]["isDeleted"]) == (True, False)
    assert after.by_id["child"]["frameId"] is None


def test_what_enters_a_frame_stands_right_below_it_with_its_text_and_new_keys() -> None:
    after = done(update("outside", frameId="f")).scene
    assert [element["id"] for element in after.elements] == ["child", "outside", "t", "f"]
    assert after.by_id["t"]["frameId"] == "f"
    keys = [element["index"] for element in after.elements]
    assert keys == sorted(set(keys))
    assert (after.by_id["f"]["index"], after.by_id["child"]["index"]) == ("a1", "a0")


def test_a_new_child_stands_right_below_its_frame() -> None:
    after = done(
        {"op": "add", "element": {"type": "ellipse", "id": "n", "x": 0, "y": 0, "frameId": "f", "label": "x"}}
    ).scene
    assert [element["type"] for element in after.elements][:4] == ["rectangle", "ellipse", "text", "frame"]
    assert after.elements[2]["frameId"] == "f"


def test_a_moved_frame_takes_its_children_along_but_not_those_that_the_call_moves() -> None:
    assert done(update("f", x=30, y=-5)).scene.by_id["child"]["x"] == 30
    after = done(update("f", x=30), update("child", x=7)).scene
    assert after.by_id["child"]["x"] == 7


@pytest.mark.parametrize(
    ("operation", "reason"),
    [(update("outside", frameId="child"), "no live frame"), (update("f", frameId="f"), "cannot hold a frame")],
)
def test_only_a_frame_holds_elements_and_none_holds_a_frame(operation: dict[str, Any], reason: str) -> None:
    with pytest.raises(SceneError, match=reason) as caught:
        done(operation)
    assert caught.value.code == "invalid_reference"


def test_a_frame_s_name_is_changed_and_cleared() -> None:
    assert done(update("f", name="New")).scene.by_id["f"]["name"] == "New"
    assert done(update("f", name=None)).scene.by_id["f"]["name"] is None
