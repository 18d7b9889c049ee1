from __future__ import annotations

import random
from typing import Any

from countermark.scene import document, operation
from countermark.scene.checks import diagnose
from countermark.scene.diff import ADDED, CHANGED, REMOVED, diff
from countermark.scene.document import Scene
from countermark.scene.env import Env
from countermark.scene.limits import DEFAULT
from countermark.scene.marked import COLOURS, document_of


def env(seed: int) -> Env:
    return Env(chance=random.Random(seed), now=1_900_000_000_000)  # noqa: S311 - a test that replays


def boxes(*places: tuple[str, float]) -> Scene:
    shapes = [
        {"type": "rectangle", "id": name, "x": x, "y": 0, "width": 100, "height": 50, "label": name}
        for name, x in places
    ]
    return document.load(document.dump(operation.create(shapes, env(1)).scene), DEFAULT)


def marks(value: dict[str, Any]) -> list[tuple[str, float, float]]:
    return [
        (one["strokeColor"], one["x"], one["width"])
        for one in value["elements"]
        if one["id"].startswith("countermark-mark-")
    ]


def test_what_was_added_changed_and_removed_has_a_mark_and_what_is_gone_stays_faint() -> None:
    before = boxes(("a", 0), ("b", 200), ("c", 400), ("d", 600))
    label = next(one["id"] for one in before.elements if one.get("containerId") == "d")
    after = operation.apply(
        before,
        [
            {"op": "delete", "id": "a"},
            {"op": "update", "id": "b", "patch": {"x": 250}},
            {"op": "update", "id": label, "patch": {"text": "other"}},
            {"op": "add", "element": {"type": "ellipse", "id": "e", "x": 800, "y": 0, "width": 40, "height": 40}},
        ],
        env(2),
    ).scene
    value = document_of(before, after, diff(before, after))
    assert sorted(marks(value)) == sorted(
        [
            (COLOURS[REMOVED], -8, 116),
            (COLOURS[CHANGED], 200, 100),
            (COLOURS[CHANGED], 242, 116),
            (COLOURS[CHANGED], 592, 116),
            (COLOURS[ADDED], 792, 56),
        ]
    )
    ghosts = [one for one in value["elements"] if one["opacity"] < 60]
    assert {one["type"] for one in ghosts} == {"rectangle", "text"}
    assert [one["id"] for one in value["elements"]].count("a") == 1
    errors = [row for row in diagnose(value, DEFAULT).diagnostics if row["severity"] == "error"]
    assert errors == []


def test_where_nothing_differs_the_drawing_is_the_scene() -> None:
    scene = boxes(("a", 0))
    assert document_of(scene, scene, diff(scene, scene))["elements"] == list(scene.elements)
