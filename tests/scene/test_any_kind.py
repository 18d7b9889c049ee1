"""Every kind of JSON value at every member of every type: a fault or a refusal by its code, never another exception."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from typing import Any, Final

import pytest

from countermark.scene.checks import diagnose, require_no_new_fault
from countermark.scene.codes import SceneError
from countermark.scene.document import Scene, dump, empty
from countermark.scene.env import Env
from countermark.scene.limits import DEFAULT
from countermark.scene.operation import apply
from countermark.scene.repair import repair
from countermark.scene.vocabulary import LEGACY_TYPES, READABLE

Element = dict[str, Any]

KINDS: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 3, 2.5, 1e-300, 1e308, -1e308, 10**23, 10**400, -(10**400), 10**5000, float("nan")),
    *(
        float("inf"),
        "",
        "x",
        "box",
        "\ud800",
        "x" * 2_000,
        [],
        [[]],
        [1, 2],
        ["box"],
        [{}],
        [None],
        [[0, 0], [1e308, 1]],
    ),
    *([[0, 0], [10**400, 1]], {}, {"a": []}, {"id": []}, {"elementId": []}, {"elementId": "box"}, {"type": []}),
    *({"type": 3, "value": 10**400}, {"elementId": "box", "mode": [], "focus": 10**400, "gap": 1e308}, {"id": "box"}),
    *(
        {"elementId": "box", "mode": "orbit", "fixedPoint": [1e308, 10**400]},
        [{"id": "box", "type": []}],
        {"__proto__": 1},
    ),
)
COMMON: Final = {
    "x": 0,
    "y": 0,
    "width": 90,
    "height": 60,
    "angle": 0,
    "strokeColor": "#000000",
    "backgroundColor": "red",
    "fillStyle": "solid",
    "strokeWidth": 2,
    "strokeStyle": "solid",
    "roughness": 1,
    "opacity": 100,
    "groupIds": [],
    "frameId": "frame",
    "index": "a5",
    "roundness": {"type": 3},
    "seed": 1,
    "version": 1,
    "versionNonce": 1,
    "isDeleted": False,
    "boundElements": [],
    "updated": 1,
    "link": None,
    "locked": False,
    "customData": {},
    "boundElementIds": None,
}
LINE: Final = {
    "points": [[0, 0], [90, 60]],
    "startArrowhead": None,
    "endArrowhead": "arrow",
    "lastCommittedPoint": None,
    "startBinding": {"elementId": "box", "focus": 0, "gap": 5},
    "endBinding": None,
    "elbowed": False,
}
OWN: Final[dict[str, Element]] = {
    "text": {
        "text": "word",
        "originalText": "word",
        "fontSize": 20,
        "fontFamily": 5,
        "textAlign": "left",
        "verticalAlign": "top",
        "lineHeight": 1.25,
        "containerId": "box",
        "autoResize": True,
        "baseline": 3,
    },
    "arrow": {**LINE, "boundElements": [{"id": "label", "type": "text"}]},
    "line": {**LINE, "startBinding": None, "polygon": False},
    "draw": {**LINE, "startBinding": None},
    "freedraw": {"points": [[0, 0], [1, 1]], "pressures": [0.5], "simulatePressure": False},
    "image": {"fileId": "f", "scale": [1, 1], "status": "saved", "crop": None},
    "frame": {"name": "Frame"},
}
TYPES: Final = (*READABLE, *sorted(LEGACY_TYPES))
ENTRY: Final = {"id": "f", "mimeType": "image/png", "dataURL": "data:image/png;base64,iVBORw0KGgo=", "created": 1}


def scene(*elements: Element, **files: Any) -> Scene:
    blank = empty()
    return Scene(elements, blank.app_state, {"f": ENTRY, **files}, blank.whole, blank.source)


@cache
def holders(*, arrow: bool) -> tuple[Element, ...]:
    """What an element is held by and holds on to: the same objects each time, so that it alone is what is new."""
    box = {**COMMON, "id": "box", "type": "rectangle", "boundElements": [{"id": "it", "type": "arrow"}], "index": "a1"}
    label = {**COMMON, **OWN["text"], "id": "label", "type": "text", "containerId": "it", "index": "a6"}
    frame = {**COMMON, "id": "frame", "type": "frame", "frameId": None, "index": "a7"}
    bound = {**COMMON, **LINE, "id": "arrow", "type": "arrow", "elbowed": arrow, "index": "a8"}
    return box, label, frame, {**bound, "endBinding": {"elementId": "it", "focus": 0, "gap": 1}}


def around(element: Element, *, arrow: bool) -> list[Element]:
    """A scene in which an element is held by others, and holds on to them."""
    box, *others = holders(arrow=arrow)
    return [box, element, *others]


def variants(kind: str) -> Iterator[tuple[str, Element]]:
    whole = {**COMMON, **OWN.get(kind, {}), "id": "it", "type": kind}
    for member in whole:
        for value in KINDS:
            yield member, {**whole, member: copy.deepcopy(value)}


def only_refused(what: str, act: Callable[[], Any]) -> None:
    try:
        with suppress(SceneError):
            act()
    except Exception as error:
        raise AssertionError(f"{what}: {error!r}") from error


def changes(name: str) -> tuple[list[dict[str, Any]], ...]:
    """Calls that reach an element from every side."""
    arrow = {
        "type": "arrow",
        "id": "new",
        "x": 300,
        "y": 300,
        "startElementId": name,
        "endElementId": "box",
        "label": "to",
    }
    return (
        [{"op": "update", "id": name, "patch": {"x": 40, "angle": 1, "frameId": None}}],
        [{"op": "update", "id": name, "patch": {"width": 300, "height": 200, "strokeColor": "#ff0000"}}],
        [{"op": "update", "id": name, "patch": {"label": "words"}}, {"op": "add", "element": arrow}],
        [{"op": "update", "id": name, "patch": {"text": "other words", "fontSize": 30}}],
        [{"op": "update", "id": "label", "patch": {"text": "of it"}}, {"op": "update", "id": "box", "patch": {"x": 9}}],
        [{"op": "add", "element": arrow}, {"op": "update", "id": "frame", "patch": {"x": 70, "y": 1}}],
        [{"op": "add", "element": {"type": "text", "x": 0, "y": 0, "text": "in", "containerId": name}}],
        [{"op": "add", "element": {**arrow, "elbowed": True}}, {"op": "update", "id": "arrow", "patch": {"y": 5}}],
        [{"op": "delete", "id": "box"}],
        [{"op": "delete", "id": name}],
        [{"op": "delete", "id": "frame"}],
    )


def applied(base: Scene, operations: list[dict[str, Any]]) -> Scene:
    return apply(base, operations, Env(chance=random.Random(1), now=5)).scene  # noqa: S311 - the same ids each time


def saved(base: Scene, operations: list[dict[str, Any]]) -> None:
    dump(applied(base, operations))


@pytest.mark.parametrize("kind", TYPES)
def test_any_value_at_any_member_is_a_fault_or_a_refusal_and_nothing_else(kind: str) -> None:
    whole = {**COMMON, **OWN.get(kind, {}), "id": "it", "type": kind}
    bases = [scene(*around(whole, arrow=arrow)) for arrow in (False, True)]
    calls = changes("it")
    for count, (member, element) in enumerate(variants(kind)):
        base = bases[count % 2]
        stored = scene(*around(element, arrow=count % 2 == 1))
        said = f"{kind}.{member} = {type(element[member]).__name__} ({count % len(KINDS)})"
        report = diagnose(stored.value(), DEFAULT)
        assert report.stats["elements"] == 5, said
        only_refused(f"{said} saved", partial(require_no_new_fault, stored, base, DEFAULT))
        only_refused(f"{said} repaired", partial(repair, stored, Env(chance=random.Random(1), now=5)))  # noqa: S311
        for operations in (calls[count % len(calls)],):
            only_refused(f"{said} {operations}", partial(applied, stored, operations))


@pytest.mark.parametrize("kind", ["rectangle", "arrow", "line", "text", "freedraw", "image"])
def test_any_value_in_a_call_is_refused_by_its_code(kind: str) -> None:
    base = scene(*around({**COMMON, "id": "it", "type": "rectangle"}, arrow=False))
    more = {"startElementId": 1, "endElementId": 1, "label": "", "files": {}, "text": "", "originalText": ""}
    for member in {**COMMON, **OWN.get(kind, {}), **more, "id": "", "type": ""}:
        for value in KINDS:
            element = {"type": kind, "x": 0, "y": 0, member: value}
            patch = {"op": "update", "id": "it", "patch": {member: value}}
            only_refused(f"{member} {type(value)}", partial(saved, base, [{"op": "add", "element": element}]))
            only_refused(f"{member} {type(value)}", partial(saved, base, [patch]))


@pytest.mark.parametrize("member", ["", "id", "mimeType", "dataURL", "created", "lastRetrieved", "version"])
def test_any_value_in_a_file_entry_is_a_fault_or_a_refusal(member: str) -> None:
    base = scene({**COMMON, **OWN["image"], "id": "it", "type": "image"})
    for value in KINDS:
        entry = {**ENTRY, member: value} if member else value
        after = scene(*base.elements, f=entry)
        diagnose(after.value(), DEFAULT)
        only_refused(member, partial(require_no_new_fault, after, base, DEFAULT))
        env = Env(files={"new": entry, "it": {**ENTRY, "id": "it", **({member: value} if member else {})}})
        only_refused(member, partial(apply, base, [{"op": "delete", "id": "it"}], env))


@pytest.mark.parametrize("member", ["type", "version", "elements", "appState", "files"])
def test_any_value_of_a_documents_member_is_diagnosed(member: str) -> None:
    for value in KINDS:
        diagnose({**scene().value(), member: value}, DEFAULT)
        diagnose({**scene().value(), "appState": {"viewBackgroundColor": value, "gridSize": value}}, DEFAULT)
        diagnose(value, DEFAULT)
