from __future__ import annotations

import json
import random
from typing import Any

import pytest

from countermark.scene.checks import diagnose
from countermark.scene.codes import SceneError
from countermark.scene.element import make
from countermark.scene.limits import DEFAULT, Limits
from countermark.scene.operation import Env, create

BASE = (
    *("id", "type", "x", "y", "width", "height", "angle", "strokeColor", "backgroundColor", "fillStyle", "strokeWidth"),
    *("strokeStyle", "roughness", "opacity", "groupIds", "frameId", "index", "roundness", "seed", "version"),
    *("versionNonce", "isDeleted", "boundElements", "updated", "link", "locked"),
)
LINE = ("points", "lastCommittedPoint", "startBinding", "endBinding", "startArrowhead", "endArrowhead")
PNG = {"mimeType": "image/png", "dataURL": "data:image/png;base64,iVBORw0KGgo="}
INPUTS: dict[str, dict[str, Any]] = {
    "rectangle": {"width": 10, "height": 20},
    "ellipse": {},
    "diamond": {},
    "arrow": {"points": [[0, 0], [30, 40]]},
    "line": {"width": 30, "height": -40},
    "text": {"text": "Ledger"},
    "freedraw": {"points": [[0, 0], [3, 4], [5, 5]], "pressures": [0.5]},
    "image": {"width": 10, "height": 20, "fileId": "f"},
}
OWN = {
    "arrow": (*LINE, "elbowed"),
    "line": LINE,
    "text": (
        *("text", "fontSize", "fontFamily", "textAlign", "verticalAlign", "containerId", "originalText", "autoResize"),
        "lineHeight",
    ),
    "freedraw": ("points", "pressures", "simulatePressure", "lastCommittedPoint"),
    "image": ("status", "fileId", "scale", "crop"),
}


def env(**more: Any) -> Env:
    return Env(chance=random.Random(5), now=3, **more)  # noqa: S311 - the same ids each time


def made(kind: str, **more: Any) -> dict[str, Any]:
    return make({"type": kind, "id": "e", "x": 1, "y": 2, **INPUTS[kind], **more}, "/elements/0", env()).element


@pytest.mark.parametrize("kind", INPUTS)
def test_a_new_element_has_the_editor_s_fields_in_its_order(kind: str) -> None:
    assert tuple(made(kind)) == BASE + OWN.get(kind, ())


@pytest.mark.parametrize("kind", INPUTS)
def test_a_scene_of_each_type_passes_the_independent_checks(kind: str) -> None:
    scene = create([{"type": kind, "x": 1, "y": 2, **INPUTS[kind]}], env(files={"f": PNG})).scene
    report = diagnose(json.loads(json.dumps(scene.value())), DEFAULT)
    assert (report.valid, report.diagnostics) == (True, ())


def test_defaults_are_those_of_the_editor() -> None:
    shape = made("rectangle")
    assert [shape[name] for name in ("strokeColor", "fillStyle", "strokeWidth", "roughness", "opacity")] == [
        *("#1e1e1e", "solid", 2, 1, 100)
    ]
    assert shape["roundness"] == {"type": 3}
    assert {made(kind)["roundness"]["type"] for kind in ("ellipse", "diamond", "arrow", "line")} == {2}
    assert (made("arrow")["endArrowhead"], made("line")["endArrowhead"]) == ("arrow", None)
    assert (made("image")["strokeColor"], made("image")["status"]) == ("transparent", "saved")
    text = made("text")
    assert (text["fontSize"], text["fontFamily"], text["lineHeight"]) == (20, 5, 1.25)
    assert made("text", fontFamily=3)["lineHeight"] == 1.2
    assert made("freedraw")["simulatePressure"] is False
    assert (made("ellipse")["width"], made("line")["points"]) == (100, [[0, 0], [30, -40]])


def test_points_that_begin_elsewhere_move_the_line_instead() -> None:
    line = made("arrow", points=[[10, 20], [0, 0]])
    assert (line["x"], line["y"], line["points"]) == (11, 22, [[0, 0], [-10, -20]])
    assert (line["width"], line["height"]) == (10, 20)


def test_text_is_normalized_and_kept_unwrapped() -> None:
    assert made("text", text="a\r\nb\tc")["originalText"] == "a\nb        c"


@pytest.mark.parametrize(
    ("kind", "more", "pointer"),
    [
        ("rectangle", {"x": "1"}, "/x"),
        ("rectangle", {"x": True}, "/x"),
        ("rectangle", {"x": float("nan")}, "/x"),
        ("rectangle", {"x": float("inf")}, "/x"),
        ("rectangle", {"x": 1_000_001}, "/x"),
        ("rectangle", {"width": 0}, "/width"),
        ("rectangle", {"width": -5}, "/width"),
        ("rectangle", {"opacity": 101}, "/opacity"),
        ("rectangle", {"fillStyle": "dots"}, "/fillStyle"),
        ("rectangle", {"strokeColor": {"r": 1}}, "/strokeColor"),
        ("rectangle", {"strokeColor": "red; background:url(x)"}, "/strokeColor"),
        ("rectangle", {"roundness": {"type": 9}}, "/roundness/type"),
        ("rectangle", {"groupIds": "g"}, "/groupIds"),
        ("rectangle", {"locked": "yes"}, "/locked"),
        ("rectangle", {"link": "javascript:alert(1)"}, "/link"),
        ("rectangle", {"link": " java\nscript&colon;alert(1)"}, "/link"),
        ("rectangle", {"link": "%6aavascript:alert(1)"}, "/link"),
        ("rectangle", {"seed": 1.5}, "/seed"),
        ("rectangle", {"customData": []}, "/customData"),
        ("rectangle", {"customData": {"a": [{"__proto__": 1}]}}, "/customData/a/0/__proto__"),
        ("rectangle", {"customData": {"a": float("nan")}}, "/customData/a"),
        ("rectangle", {"__proto__": {}}, "/__proto__"),
        ("rectangle", {"version": 4}, "/version"),
        ("rectangle", {"boundElements": []}, "/boundElements"),
        ("rectangle", {"myField": 1}, "/myField"),
        ("rectangle", {"label": {"text": "x", "width": 3}}, "/label/width"),
        ("rectangle", {"label": "  "}, "/label/text"),
        ("arrow", {"points": [[0, 0]]}, "/points"),
        ("arrow", {"points": [[0, 0], None]}, "/points/1"),
        ("arrow", {"points": [[0, 0], [1, 2, 3]]}, "/points/1"),
        ("arrow", {"points": [[0, 0], [1e14, 0]]}, "/points"),
        ("arrow", {"points": [[0, 0], [0, 0]]}, "/points"),
        ("arrow", {"width": 3}, "/width"),
        ("arrow", {"endArrowhead": "hook"}, "/endArrowhead"),
        ("arrow", {"startBinding": {"elementId": "a"}}, "/startBinding"),
        ("line", {"startElementId": "a"}, "/startElementId"),
        ("text", {"text": ""}, "/text"),
        ("text", {"text": None}, "/text"),
        ("text", {"text": "\ud800"}, "/text"),
        ("text", {"width": 40}, "/width"),
        ("text", {"fontFamily": 99}, "/fontFamily"),
        ("text", {"fontFamily": True}, "/fontFamily"),
        ("freedraw", {"points": None}, "/points"),
        ("freedraw", {"pressures": [1, 1, 1, 1]}, "/pressures"),
        ("freedraw", {"pressures": [2]}, "/pressures/0"),
        ("image", {"fileId": None}, "/fileId"),
        ("image", {"scale": [2, 1]}, "/scale"),
        ("image", {"crop": {"x": 0, "y": 0}}, "/crop/width"),
    ],
)
def test_bad_input_is_refused_with_the_element_and_the_place(kind: str, more: dict[str, Any], pointer: str) -> None:
    with pytest.raises(SceneError) as caught:
        made(kind, **more)
    assert caught.value.code == "invalid_operation"
    assert caught.value.details == {"pointer": f"/elements/0{pointer}", "element": "e"}
    assert caught.value.next_action


@pytest.mark.parametrize("name", ["", "x" * 65, 7, None, "__proto__"])
def test_an_id_is_text_of_1_to_64_characters(name: Any) -> None:
    with pytest.raises(SceneError) as caught:
        make({"type": "ellipse", "id": name, "x": 0, "y": 0}, "", env())
    assert caught.value.details["pointer"] == "/id"


@pytest.mark.parametrize("kind", ["frame", "magicframe", "embeddable", "iframe", "selection", "draw", "cloud"])
def test_what_cannot_be_created_is_an_unsupported_element(kind: str) -> None:
    with pytest.raises(SceneError, match="unsupported_element"):
        make({"type": kind, "x": 0, "y": 0}, "", env())


def test_text_over_the_cap_is_too_large() -> None:
    with pytest.raises(SceneError, match="too_large"):
        make({"type": "text", "x": 0, "y": 0, "text": "abcd"}, "", env(limits=Limits(max_text_length=3)))


def test_ids_of_the_store_are_of_the_editor_s_form() -> None:
    name = make({"type": "ellipse", "x": 0, "y": 0}, "", env()).element["id"]
    assert len(name) == 21
