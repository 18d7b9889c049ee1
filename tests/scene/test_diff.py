from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from countermark.scene import document, operation
from countermark.scene.diff import Diff, diff
from countermark.scene.document import Scene
from countermark.scene.env import Env
from countermark.scene.limits import DEFAULT


def env(seed: int = 0) -> Env:
    return Env(chance=random.Random(seed), now=1_900_000_000_000)  # noqa: S311 - a test that replays


def made(*elements: dict[str, Any]) -> Scene:
    return document.load(document.dump(operation.create(list(elements), env(1)).scene), DEFAULT)


BASE = made(
    {"type": "rectangle", "id": "api", "x": 0, "y": 0, "width": 120, "height": 60, "label": "API"},
    {"type": "rectangle", "id": "db", "x": 400, "y": 0, "width": 120, "height": 60, "label": "DB"},
    {"type": "arrow", "id": "asks", "x": 0, "y": 0, "startElementId": "api", "endElementId": "db"},
    {"type": "ellipse", "id": "plain", "x": 40, "y": 300, "width": 80, "height": 40},
    {"type": "text", "id": "note", "x": 0, "y": 400, "text": "first line\nsecond"},
    {"type": "line", "id": "line", "x": 0, "y": 500, "points": [[0, 0], [100, 0]]},
)


def did(*operations: dict[str, Any], to: Scene = BASE) -> Scene:
    return operation.apply(to, list(operations), env(2)).scene


def update(name: str, **patch: Any) -> dict[str, Any]:
    return {"op": "update", "id": name, "patch": patch}


def with_(name: str, **members: Any) -> Scene:
    return BASE.replaced(elements=[{**one, **members} if one["id"] == name else one for one in BASE.elements])


def said(after: Scene, before: Scene = BASE) -> list[str]:
    return diff(before, after).lines()


@pytest.mark.promise("scene.diff.words")
def test_a_moved_box_is_one_sentence_with_what_went_along() -> None:
    found = diff(BASE, did(update("db", x=440, y=-20)))
    assert found.lines() == ["~ box “DB” moved 40 px right and 20 px up (1 arrow went along)"]
    assert found.counts() == {"added": 0, "removed": 0, "changed": 1}
    row = found.wire()["changed"][0]
    assert row["fields"]["x"] == {"from": 400, "to": 440}
    assert "asks" in row["followers"]
    assert {one["id"] for one in found.wire()["followed"]} >= {"asks"}


@pytest.mark.parametrize(
    ("name", "patch", "phrase"),
    [
        ("db", {"width": 200}, "box “DB” was resized from 120 × 60 to 200 × 60 px"),  # noqa: RUF001
        ("plain", {"angle": 3.141592653589793 / 2}, "ellipse at 40, 300 was turned 90° clockwise"),
        ("plain", {"strokeColor": "#e03131"}, "ellipse at 40, 300: its stroke is now #e03131 (was #1e1e1e)"),
        ("plain", {"opacity": 50}, "ellipse at 40, 300: its opacity is now 50 % (was 100 %)"),
        ("plain", {"locked": True}, "ellipse at 40, 300 was locked"),
        ("plain", {"link": "https://a.b"}, "ellipse at 40, 300 links to “https://a.b”"),
        ("plain", {"groupIds": ["g"]}, "ellipse at 40, 300 was grouped"),
        ("note", {"text": "other"}, "text “first line…” now says “other” (was “first line second”)"),
        ("note", {"fontFamily": 6}, "text “first line…”: its font is now Nunito (was Excalifont)"),
        ("asks", {"endElementId": "plain"}, "arrow “API” → “DB” now ends at ellipse at 40, 300 (was box “DB”)"),
        ("asks", {"endElementId": None}, "arrow “API” → “DB”: its end is no longer attached to box “DB”"),
        ("asks", {"endArrowhead": "triangle"}, "arrow “API” → “DB”: its end arrowhead is now triangle (was arrow)"),
        ("line", {"points": [[0, 0], [100, 50]]}, "line at 0, 500: its end moved 50 px down"),
        ("line", {"points": [[0, 0], [50, 50], [100, 0]]}, "line at 0, 500 has 1 bend (had none)"),
        ("line", {"x": 10}, "line at 0, 500 moved 10 px right"),
    ],
)  # fmt: skip
def test_each_change_is_told_as_a_person_tells_it(name: str, patch: dict[str, Any], phrase: str) -> None:
    lines = said(did(update(name, **patch)))
    assert f"~ {phrase}" in lines
    assert len(lines) == 1


def test_a_label_is_spoken_of_by_its_box() -> None:
    label = next(one["id"] for one in BASE.elements if one.get("containerId") == "api")
    assert said(did(update(label, text="Gateway"))) == ["~ the label of box “API” now says “Gateway” (was “API”)"]
    assert said(did({"op": "delete", "id": "api"})) == ["- box “API”"]
    assert said(did({"op": "add", "element": {"type": "diamond", "x": 0, "y": 900, "label": "Ok?"}})) == [
        "+ diamond “Ok?”"
    ]


def test_alike_changes_share_a_sentence() -> None:
    moves = [update(name, y=after) for name, after in (("plain", 310), ("note", 410), ("line", 510), ("db", 10))]
    (line,) = said(did(*moves, update("api", y=10)))
    assert line.startswith("~ box “API”, box “DB”, ellipse at 40, 300 and 2 more: moved 10 px down")


def test_what_the_editor_keeps_for_itself_is_not_told() -> None:
    rewritten = [
        {**one, "version": one["version"] + 3, "versionNonce": 7, "updated": 5, "index": f"b{one['index']}"}
        for one in copy.deepcopy(list(BASE.elements))
    ]
    found = diff(BASE, BASE.replaced(elements=rewritten))
    assert found.lines() == []
    assert found.quiet == len(BASE.elements)
    assert found.summary() == "nothing that shows"
    assert diff(BASE, BASE).summary() == "nothing"


def test_tombstones_count_as_removed_and_their_return_as_added() -> None:
    gone = with_("plain", isDeleted=True)
    assert said(gone) == ["- ellipse at 40, 300"]
    assert said(BASE, gone) == ["+ ellipse at 40, 300"]
    assert said(gone.replaced(elements=[one for one in gone.elements if one["id"] != "plain"]), gone) == []


def test_order_settings_and_files_are_told() -> None:
    first, *rest = BASE.elements[6:]
    moved = BASE.replaced(elements=[first, *BASE.elements[:6], *rest])
    assert said(moved) == ["~ text “first line…” was moved in the stack"] or said(moved)[0].endswith("in the stack")
    dark = BASE.replaced(
        app_state={**BASE.app_state, "viewBackgroundColor": "#000000", "gridSize": 20}, files={"f": {"id": "f"}}
    )
    assert said(dark) == [
        "~ the canvas is now #000000 (was #ffffff)",
        "~ the grid is now 20 (was off)",
        "~ 1 image file came",
    ]


@pytest.mark.parametrize(
    "members",
    [
        {"x": "10"},
        {"x": None, "width": None},
        {"points": None},
        {"text": 5, "originalText": None},
        {"groupIds": "g", "scale": 3, "roundness": 4},
        {"angle": 10**400},
        {"fontFamily": [1], "roughness": {}, "opacity": "x", "strokeWidth": None, "type": 5},
        {"startBinding": "api", "endBinding": {"elementId": 3}, "boundElements": "x", "frameId": 7, "containerId": {}},
        {"customData": {"deep": [1]}, "unknownThing": 10**30},
    ],
)
def test_what_a_file_may_hold_is_told_without_failing(members: dict[str, Any]) -> None:
    for one in BASE.elements:
        for pair in ((BASE, with_(one["id"], **members)), (with_(one["id"], **members), BASE)):
            found: Diff = diff(*pair)
            assert isinstance(found.wire()["lines"], list)
