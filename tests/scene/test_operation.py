from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countermark.scene.checks import diagnose
from countermark.scene.codes import SceneError
from countermark.scene.document import Scene, dump, load
from countermark.scene.limits import DEFAULT, Limits
from countermark.scene.operation import Applied, Env, apply, create
from countermark.scene.outline import distance

Element = dict[str, Any]


def env(**said: Any) -> Env:
    return Env(chance=random.Random(7), now=1_700_000_000_000, **said)  # noqa: S311 - the same ids each time


def drawn(*elements: Element) -> Scene:
    return load(dump(create(list(elements), env()).scene), DEFAULT)


def box(name: str, x: float = 0, y: float = 0, **more: Any) -> Element:
    return {"type": "rectangle", "id": name, "x": x, "y": y, "width": 200, "height": 100, **more}


def update(name: str, **patch: Any) -> dict[str, Any]:
    return {"op": "update", "id": name, "patch": patch}


def add(**element: Any) -> dict[str, Any]:
    return {"op": "add", "element": element}


def done(scene: Scene, *operations: dict[str, Any]) -> Applied:
    return apply(scene, list(operations), env())


def of(scene: Scene, name: str) -> Element:
    return scene.by_id[name]


def end_of(arrow: Element, place: int) -> tuple[float, float]:
    x, y = arrow["points"][place]
    return arrow["x"] + x, arrow["y"] + y


@contextmanager
def suppress_refusals(*codes: str) -> Iterator[None]:
    try:
        yield
    except SceneError as error:
        if error.code not in codes:
            raise


def label_of(scene: Scene, container: str) -> Element:
    return next(e for e in scene.elements if e.get("containerId") == container and not e["isDeleted"])


def test_what_is_not_touched_stays_the_same_object() -> None:
    scene = drawn(box("a"), box("b", 400), box("c", 800))
    after = done(scene, update("b", x=450)).scene
    assert [one is other for one, other in zip(scene.elements, after.elements, strict=True)] == [True, False, True]


def test_only_the_touched_element_gets_a_new_version() -> None:
    scene = drawn(box("a"), box("b", 400))
    after = done(scene, update("a", strokeColor="#ff0000")).scene
    before, now = of(scene, "a"), of(after, "a")
    assert now == before | {
        "strokeColor": "#ff0000",
        "version": before["version"] + 1,
        "versionNonce": now["versionNonce"],
        "updated": 1_700_000_000_000,
    }
    assert now["versionNonce"] != before["versionNonce"]


def test_an_update_that_says_what_is_there_changes_no_byte() -> None:
    scene = drawn(box("a", label="hello"))
    assert dump(done(scene, update("a", x=0, width=200, strokeColor="#1e1e1e")).scene) == dump(scene)


def test_one_bad_operation_rejects_all() -> None:
    scene = drawn(box("a"))
    before = json.dumps(scene.elements)
    with pytest.raises(SceneError) as caught:
        done(scene, update("a", x=9), update("a", opacity=101))
    assert caught.value.code == "invalid_operation"
    assert caught.value.details == {"pointer": "/operations/1/patch/opacity", "element": "a"}
    assert json.dumps(scene.elements) == before


def test_a_label_becomes_bound_text_right_behind_its_container() -> None:
    scene = drawn(box("a", label="Ledger"), box("b", 400))
    names = [element["type"] for element in scene.elements]
    text = label_of(scene, "a")
    assert names == ["rectangle", "text", "rectangle"]
    assert of(scene, "a")["boundElements"] == [{"id": text["id"], "type": "text"}]
    assert (text["x"] + text["width"] / 2, text["y"] + text["height"] / 2) == pytest.approx((100, 50))


@pytest.mark.promise("scene.arrow.attached")
def test_a_moved_container_takes_its_text_and_its_arrows_along() -> None:
    scene = drawn(
        box("a", label="one"),
        box("b", 600, label="two"),
        {"type": "arrow", "id": "r", "x": 0, "y": 0, "startElementId": "a", "endElementId": "b", "label": "calls"},
    )
    after = done(scene, update("b", x=600, y=500)).scene
    assert label_of(after, "b")["y"] == label_of(scene, "b")["y"] + 500
    arrow = of(after, "r")
    assert distance(of(after, "b"), end_of(arrow, -1)) == pytest.approx(6, abs=1e-4)
    assert distance(of(after, "a"), end_of(arrow, 0)) == pytest.approx(6, abs=1e-4)
    text = label_of(after, "r")
    middle = [(one + other) / 2 for one, other in zip(end_of(arrow, 0), end_of(arrow, -1), strict=True)]
    assert [text["x"] + text["width"] / 2, text["y"] + text["height"] / 2] == pytest.approx(middle)
    assert of(after, "a") is of(scene, "a")


def test_a_container_grows_with_its_text() -> None:
    scene = drawn(box("a", label="short"))
    after = done(scene, update("a", label="many words " * 30)).scene
    text, container = label_of(after, "a"), of(after, "a")
    assert container["height"] >= text["height"] + 10
    assert text["originalText"] == "many words " * 30
    assert text["id"] == label_of(scene, "a")["id"]


def test_deleting_a_shape_frees_arrows_and_deletes_its_text() -> None:
    scene = drawn(
        box("a", label="one"),
        box("b", 600),
        {"type": "arrow", "id": "r", "x": 0, "y": 0, "startElementId": "a", "endElementId": "b"},
    )
    after = done(scene, {"op": "delete", "id": "a"}).scene
    text = label_of(scene, "a")["id"]
    assert (of(after, "a")["isDeleted"], of(after, text)["isDeleted"]) == (True, True)
    arrow = of(after, "r")
    assert (arrow["startBinding"], arrow["endBinding"]["elementId"]) == (None, "b")
    assert arrow["points"] == of(scene, "r")["points"]
    assert len(after.elements) == len(scene.elements)


def test_deleting_an_arrow_lets_its_targets_forget_it() -> None:
    scene = drawn(
        box("a"),
        box("b", 600),
        {"type": "arrow", "id": "r", "x": 0, "y": 0, "startElementId": "a", "endElementId": "b"},
    )
    after = done(scene, {"op": "delete", "id": "r"}).scene
    assert (of(after, "a")["boundElements"], of(after, "b")["boundElements"]) == ([], [])


def test_null_unbinds_one_end() -> None:
    scene = drawn(
        box("a"),
        box("b", 600),
        {"type": "arrow", "id": "r", "x": 0, "y": 0, "startElementId": "a", "endElementId": "b"},
    )
    after = done(scene, update("r", startElementId=None)).scene
    assert of(after, "r")["startBinding"] is None
    assert of(after, "r")["endBinding"]["elementId"] == "b"
    assert of(after, "a")["boundElements"] == []


def test_an_arrow_may_name_what_the_same_call_adds_later() -> None:
    scene = drawn(box("a"))
    after = done(
        scene,
        add(type="arrow", id="r", x=0, y=0, startElementId="a", endElementId="z"),
        add(**box("z", 0, 400)),
    ).scene
    assert of(after, "z")["boundElements"] == [{"id": "r", "type": "arrow"}]


@pytest.mark.parametrize(
    ("operation", "code", "pointer"),
    [
        (add(**box("a")), "duplicate_id", "/operations/0/element/id"),
        (update("nobody", x=1), "not_found", "/operations/0/id"),
        ({"op": "delete", "id": "nobody"}, "not_found", "/operations/0/id"),
        ({"op": "move", "id": "a"}, "invalid_operation", "/operations/0/op"),
        (update("a", version=3), "invalid_operation", "/operations/0/patch/version"),
        (update("a"), "invalid_operation", "/operations/0/patch"),
        (update("a", frameId="nobody"), "invalid_reference", "/operations/0/patch/frameId"),
        (add(type="arrow", x=0, y=0, endElementId="nobody"), "invalid_reference", "/operations/0/element/endElementId"),
        (
            add(type="image", x=0, y=0, width=1, height=1, fileId="no"),
            "invalid_reference",
            "/operations/0/element/fileId",
        ),
        (add(type="frame", x=0, y=0), "unsupported_element", "/operations/0/element/type"),
        ({"op": "add"}, "invalid_operation", "/operations/0/element"),
        (5, "invalid_operation", "/operations/0"),
    ],
)
def test_a_refusal_names_its_code_and_place(operation: dict[str, Any], code: str, pointer: str) -> None:
    with pytest.raises(SceneError) as caught:
        done(drawn(box("a")), operation)
    assert (caught.value.code, caught.value.details["pointer"]) == (code, pointer)


@pytest.mark.parametrize("operations", [[], [update("a", x=1)] * 501, None, {}])
def test_a_call_has_1_to_500_operations(operations: Any) -> None:
    with pytest.raises(SceneError, match="invalid_operation"):
        apply(drawn(box("a")), operations, env())


def test_more_elements_than_allowed_are_refused() -> None:
    with pytest.raises(SceneError, match="too_many_elements"):
        create([box("a"), box("b")], env(limits=Limits(max_elements=1)))


def test_counts_and_ids_are_those_of_the_operations() -> None:
    scene = drawn(box("a", label="x"), box("b", 300))
    applied = done(scene, update("b", x=310), {"op": "delete", "id": "a"}, add(**box("c", 900)))
    assert (applied.added, applied.updated, applied.deleted, applied.ids) == (1, 1, 1, ("b", "a", "c"))
    assert applied.followed == (label_of(scene, "a")["id"],)


def test_a_target_of_an_old_file_lists_its_arrows_where_the_editor_reads_them() -> None:
    old = {"id": "a", "type": "rectangle", "x": 0, "y": 0, "width": 50, "height": 50, "boundElementIds": ["other"]}
    value = {"type": "excalidraw", "version": 2, "elements": [old]}
    scene = load(json.dumps(value).encode(), DEFAULT)
    after = done(scene, add(type="arrow", id="r", x=300, y=0, endElementId="a")).scene.by_id["a"]
    # While the older list is there, the editor reads it and not the other.
    assert "boundElementIds" not in after
    assert after["boundElements"] == [{"id": "other", "type": "arrow"}, {"id": "r", "type": "arrow"}]


def test_an_element_without_usable_numbers_is_not_changed_but_can_be_deleted() -> None:
    value = {"type": "excalidraw", "version": 2, "elements": [{"id": "a", "type": "rectangle", "x": None}]}
    scene = load(json.dumps(value).encode(), DEFAULT)
    with pytest.raises(SceneError, match="invalid_scene"):
        done(scene, update("a", x=1))
    assert done(scene, {"op": "delete", "id": "a"}).scene.by_id["a"]["isDeleted"]


def test_an_arrow_whose_target_does_not_list_it_follows_and_is_listed_from_then_on() -> None:
    scene = drawn(box("a"), box("b", 600), {"type": "arrow", "id": "r", "x": 0, "y": 0, "endElementId": "b"})
    odd = [dict(one) | ({"boundElements": None} if one["id"] == "b" else {}) for one in scene.elements]
    after = done(scene.replaced(elements=odd), update("b", x=700)).scene
    assert distance(of(after, "b"), end_of(of(after, "r"), -1)) == pytest.approx(6, abs=1e-4)
    assert of(after, "b")["boundElements"] == [{"id": "r", "type": "arrow"}]


def test_application_state_is_merged_and_keys_of_other_editors_stay() -> None:
    scene = drawn(box("a"))
    scene = scene.replaced(app_state={**scene.app_state, "gridStep": 5})
    after = apply(scene, [update("a", x=1)], env(app_state={"gridSize": 10})).scene
    assert after.app_state == {**scene.app_state, "gridSize": 10, "gridStep": 5}
    with pytest.raises(SceneError, match="/app_state/zoom"):
        apply(scene, [update("a", x=1)], env(app_state={"zoom": 2}))


def test_a_straight_arrow_does_not_hold_one_element_at_both_ends() -> None:
    loop = {"type": "arrow", "id": "r", "x": 0, "y": 0, "startElementId": "a", "endElementId": "a"}
    with pytest.raises(SceneError, match="invalid_reference"):
        done(drawn(box("a")), add(**loop))
    bent = loop | {"points": [[0, 0], [400, -100], [0, -200]]}
    assert of(done(drawn(box("a")), add(**bent)).scene, "r")["endBinding"]["elementId"] == "a"


@settings(max_examples=60)
@given(st.data())
def test_whatever_is_asked_for_the_scene_stays_sound(data: st.DataObject) -> None:
    names = ["a", "b", "c", "r", "q"]
    scene = drawn(
        box("a", label="one"),
        box("b", 400, 100),
        {"type": "ellipse", "id": "c", "x": -300, "y": 50, "label": "two"},
        {"type": "arrow", "id": "r", "x": 0, "y": 0, "startElementId": "a", "endElementId": "b", "label": "x"},
        {"type": "arrow", "id": "q", "x": 0, "y": 0, "startElementId": "c", "endElementId": "a", "elbowed": True},
    )
    numbers = st.integers(-500, 500)
    shapes = st.sampled_from(["a", "b", "c"])
    asked = st.one_of(
        st.builds(lambda name, x, y: update(name, x=x, y=y), st.sampled_from(names), numbers, numbers),
        st.builds(lambda name, side: update(name, width=side), shapes, st.integers(1, 300)),
        st.builds(lambda name, angle: update(name, angle=angle), shapes, st.floats(-3, 3)),
        st.builds(lambda target: update("r", endElementId=target), st.one_of(shapes, st.none())),
        st.builds(lambda name: update(name, label="some words to wrap"), st.sampled_from(names)),
        st.builds(lambda name: update(name, label=None), st.sampled_from(names)),
        st.builds(lambda name: {"op": "delete", "id": name}, st.sampled_from(names)),
        st.builds(lambda target: add(type="arrow", x=0, y=0, startElementId=target, label="new"), shapes),
    )
    for operation in data.draw(st.lists(asked, max_size=8)):
        with suppress_refusals("not_found", "invalid_reference"):
            scene = load(dump(apply(scene, [operation], Env()).scene), DEFAULT)
    report = diagnose(json.loads(dump(scene)), DEFAULT)
    assert (report.valid, [one["message"] for one in report.diagnostics]) == (True, [])


def test_a_moved_target_takes_an_arrow_s_stored_label_along_as_wide_as_it_is() -> None:
    base = drawn(
        box("a"), box("b", 600), add(type="arrow", id="r", x=0, y=0, startElementId="a", endElementId="b")["element"]
    )
    base = done(base, update("r", label={"text": "as others measured it", "id": "l"})).scene
    stored = [{**one, "width": 77.125, "height": 31.5} if one["id"] == "l" else one for one in base.elements]
    base = load(dump(base.replaced(elements=stored)), DEFAULT)
    moved = done(base, update("b", x=300, y=400)).scene
    before, after, arrow = of(base, "l"), of(moved, "l"), of(moved, "r")
    for member in ("text", "width", "height", "fontSize"):
        assert after[member] == before[member]
    assert after["x"] + 77.125 / 2 == pytest.approx(arrow["x"] + arrow["points"][1][0] / 2)
    assert after["y"] + 31.5 / 2 == pytest.approx(arrow["y"] + arrow["points"][1][1] / 2)
    edited = done(base, update("b", x=300), update("r", label="as others measured it")).scene
    assert of(edited, "l")["width"] != 77.125


def test_labels_of_many_elements_are_found_without_a_pass_over_the_scene_for_each() -> None:
    scene = drawn(*(box(f"b{number}", x=300 * number) for number in range(40)))
    looks: list[str] = []

    class Watched(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            looks.append(key)
            return super().get(key, default)

    watched = scene.replaced(elements=[Watched(element) for element in scene.elements])
    done = apply(watched, [update(f"b{number}", label="x") for number in range(40)], env())
    assert done.updated == 40
    assert looks.count("frameId") <= 4 * 40
