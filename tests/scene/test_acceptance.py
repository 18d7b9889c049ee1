from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from countermark.scene.binding import can_hold
from countermark.scene.codes import SceneError
from countermark.scene.document import Scene, dump, load
from countermark.scene.limits import DEFAULT
from countermark.scene.operation import Env, apply
from countermark.scene.outline import distance
from countermark.scene.relation import is_sound

NAMES = (
    "03-architecture",
    "05-architecture",
    "08-notebooks",
    "11-diagrams",
    "22-diagram",
    "24-02-relation-n-m",
    "31-drawing",
    "36-example",
    "38-out",
    "41-test-arrow-elbows",
    "42-test-arrow-label",
    "43-test-arrowheads",
    "45-test-frame",
    "46-test-image-from-data",
    "48-test-shape-rotation",
    "50-test-text-fonts",
    "56-venn",
)
MARKED = {"boundElements", "version", "versionNonce", "updated"}


def target(scene: Scene) -> dict[str, Any]:
    """Return an element that can hold arrows, of the present format where there is one."""
    able = [element for element in scene.elements if can_hold(element) and is_sound(element)]
    return next((element for element in able if not isinstance(element.get("boundElementIds"), list)), able[0])


@pytest.mark.parametrize("name", NAMES)
def test_every_real_file_takes_a_bound_arrow_with_a_label_and_nothing_else_changes(
    shared_data: Path, name: str
) -> None:
    data = (shared_data / "scenes" / f"{name}.excalidraw").read_bytes()
    scene = load(data, DEFAULT)
    held = target(scene)
    aside = {"x": held["x"] - 300, "y": held["y"] - 200}
    arrow = {"type": "arrow", "id": "fresh", **aside, "endElementId": held["id"], "label": "sends orders"}
    chance = random.Random(1)  # noqa: S311 - the same ids each time
    applied = apply(scene, [{"op": "add", "element": arrow}], Env(chance=chance, now=1_700_000_000_000))
    after = dump(applied.scene)

    before, now = json.loads(data), json.loads(after)
    assert {key: value for key, value in now.items() if key != "elements"} == {
        key: value for key, value in before.items() if key != "elements"
    }
    old = {element["id"]: element for element in before["elements"]}
    kept = [element for element in now["elements"] if element["id"] in old]
    assert [element["id"] for element in kept] == [element["id"] for element in before["elements"]]
    legacy = {"boundElementIds"} if isinstance(held.get("boundElementIds"), list) else set()
    for element in kept:
        differing = {key for key in element | old[element["id"]] if element.get(key) != old[element["id"]].get(key)}
        assert differing <= (MARKED | legacy if element["id"] == held["id"] else set())

    made = [element for element in now["elements"] if element["id"] not in old]
    assert [element["type"] for element in made] == ["arrow", "text"]
    line, label = made
    assert {"id": "fresh", "type": "arrow"} in next(e for e in kept if e["id"] == held["id"])["boundElements"]
    assert line["endBinding"].keys() == {"elementId", "focus", "gap", "fixedPoint", "mode"}
    assert (label["containerId"], label["originalText"]) == ("fresh", "sends orders")
    tip = line["x"] + line["points"][-1][0], line["y"] + line["points"][-1][1]
    assert distance(held, tip) == pytest.approx(5 + held.get("strokeWidth", 2) / 2, abs=1e-4)
    keyed = any(element.get("index") for element in before["elements"])
    assert (line["index"] is None) is not keyed
    if keyed:
        keys = [element["index"] for element in now["elements"]]
        assert keys == sorted(set(keys))


def pieces(data: bytes) -> tuple[str, list[tuple[str, str]], str]:
    """Return a document's text before its elements, the ids and texts of these, and the text behind them."""
    text = data.decode()
    start = text.index('"elements"')
    at = text.index("[", start) + 1
    decoder = json.JSONDecoder()
    found: list[tuple[str, str]] = []
    head = text[:at]
    while True:
        while text[at] in " \t\r\n,":
            at += 1
        if text[at] == "]":
            return head, found, text[at:]
        element, end = decoder.raw_decode(text, at)
        found.append((element["id"], text[at:end]))
        at = end


@pytest.mark.promise("scene.store.bytes")
@pytest.mark.parametrize("name", NAMES)
def test_every_byte_outside_the_target_stays_and_in_it_all_but_the_marks(shared_data: Path, name: str) -> None:
    data = (shared_data / "scenes" / f"{name}.excalidraw").read_bytes()
    scene = load(data, DEFAULT)
    held = target(scene)
    aside = {"x": held["x"] - 300, "y": held["y"]}
    arrow = {"type": "arrow", "id": "fresh", **aside, "endElementId": held["id"], "label": "x"}
    head, before, tail = pieces(data)
    new_head, after, new_tail = pieces(dump(apply(scene, [{"op": "add", "element": arrow}], Env()).scene))
    assert (new_head, new_tail) == (head, tail)
    kept = [piece for piece in after if piece[0] in dict(before)]
    assert [piece for piece in kept if piece[0] != held["id"]] == [piece for piece in before if piece[0] != held["id"]]
    old, new = (dict(pairs)[held["id"]].replace(",", "").splitlines() for pairs in (before, kept))
    lost = [line.strip().split(":")[0].strip('"') for line in old if line not in new]
    assert set(lost) <= MARKED | {"boundElementIds"}


def test_a_skeleton_is_refused_by_its_name(shared_data: Path) -> None:
    data = (shared_data / "scenes" / "35-skeleton-pipeline.excalidraw").read_bytes()
    with pytest.raises(SceneError) as caught:
        load(data, DEFAULT)
    assert (caught.value.code, caught.value.details["reason"]) == ("invalid_scene", "excalidraw-skeleton")


COMPACT = (
    '{"type":"excalidraw","elements":[{"id":"a","type":"rectangle","x":1.0,"y":1e-7,"width":100.50,"height":5e1,'
    '"seed":12345678901234567890123,"version":4,"odd" : [1.0 , 2]}]}'
)
VARIANTS = {
    "compact": COMPACT,
    "tabs": json.dumps(json.loads(COMPACT), indent="\t"),
    "crlf": json.dumps(json.loads(COMPACT), indent=4).replace("\n", "\r\n"),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_changed_element_keeps_the_spelling_of_the_members_that_did_not_change(name: str) -> None:
    text = VARIANTS[name]
    applied = apply(load(text.encode(), DEFAULT), [{"op": "update", "id": "a", "patch": {"x": 2}}], Env(now=5))
    after = dump(applied.scene).decode()
    element = applied.scene.by_id["a"]
    colon = ":" if name == "compact" else ": "
    expected = text.replace(f'"x"{colon}1.0', f'"x"{colon}2').replace(f'"version"{colon}4', f'"version"{colon}5')
    close = {"compact": "}]}", "tabs": "\n\t\t}\n\t]", "crlf": "\r\n        }\r\n    ]"}[name]
    joint = {"compact": ",", "tabs": ",\n\t\t\t", "crlf": ",\r\n            "}[name]
    fresh = f'"versionNonce"{colon}{element["versionNonce"]}{joint}"updated"{colon}5'
    assert after == expected.replace(close, f"{joint}{fresh}{close}")
