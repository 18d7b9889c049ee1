from __future__ import annotations

import json
import random
from typing import Any

from countermark.scene.checks import diagnose
from countermark.scene.document import Scene, dump, load
from countermark.scene.env import Env
from countermark.scene.limits import DEFAULT
from countermark.scene.repair import repair

Element = dict[str, Any]


def shape(name: str, **more: Any) -> Element:
    return {"id": name, "type": "rectangle", "x": 0, "y": 0, "width": 10, "height": 10, "boundElements": [], **more}


def scene(*elements: Element) -> Scene:
    value = {"type": "excalidraw", "version": 2, "elements": elements, "appState": {}, "files": {}}
    return load(json.dumps(value).encode(), DEFAULT)


def env() -> Env:
    return Env(chance=random.Random(3), now=9)  # noqa: S311 - the same ids each time


def broken() -> Scene:
    return scene(
        shape("t", type="text", text="x", containerId="a", index="a0"),
        shape("a", boundElements=[{"id": "gone", "type": "arrow"}, {"id": "r", "type": "arrow"}] * 2, index="a1"),
        shape("a", index="a1"),
        shape("b", frameId="nowhere", index="!!!"),
        shape(
            "r", type="arrow", points=[[0, 0], [1, 1]], endBinding={"elementId": "a"}, startBinding={"elementId": "x"}
        ),
        shape("good", index="b00"),
    )


def test_what_was_broken_is_whole_and_every_fix_is_reported() -> None:
    after = repair(broken(), env())
    report = diagnose(after.scene.value(), DEFAULT)
    assert (report.valid, report.diagnostics) == (True, ())
    said = {fix.element for fix in after.fixes}
    fresh = next(name for name in said if name not in {"t", "a", "b", "r"})
    assert said == {"t", "a", "b", "r", fresh}


def test_nothing_is_dropped_and_text_stands_behind_its_container() -> None:
    before, after = broken(), repair(broken(), env()).scene
    assert len(after.elements) == len(before.elements)
    names = [element["id"] for element in after.elements]
    assert names.index("t") == names.index("a") + 1
    keys = [element["index"] for element in after.elements]
    assert keys == sorted(set(keys))


def test_a_sound_element_stays_the_same_object() -> None:
    before = broken()
    after = repair(before, env()).scene
    assert after.by_id["good"] is before.by_id["good"]


def test_a_sound_scene_keeps_every_byte() -> None:
    before = scene(shape("a", index="a0"), shape("b", index="a1"))
    after = repair(before, env())
    assert (after.fixes, dump(after.scene)) == ((), before.source)


def test_a_file_without_keys_gets_none() -> None:
    after = repair(scene(shape("a"), shape("b", frameId="gone")), env()).scene
    assert [element.get("index") for element in after.elements] == [None, None]


def test_repairing_twice_changes_nothing_more() -> None:
    once = repair(broken(), env()).scene
    assert repair(once, env()).fixes == ()


def test_an_element_with_several_faults_gets_one_new_version() -> None:
    after = repair(scene(shape("b", version=4, frameId="gone", index="!!!"), shape("c", index="a5")), env())
    assert len([fix for fix in after.fixes if fix.element == "b"]) == 2
    assert after.scene.by_id["b"]["version"] == 5
