from __future__ import annotations

import random
from contextlib import suppress
from itertools import pairwise
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from countermark.scene import document, operation, order
from countermark.scene.checks import diagnose
from countermark.scene.codes import SceneError
from countermark.scene.dispute import Choice, Conflict
from countermark.scene.document import Element, Scene
from countermark.scene.env import Env
from countermark.scene.jsontext import same
from countermark.scene.limits import DEFAULT
from countermark.scene.merge import Choices, Merged, merge
from countermark.scene.touch import KEPT_BY_THE_EDITOR

NOW = 1_900_000_000_000


def env(seed: int = 0) -> Env:
    return Env(chance=random.Random(seed), now=NOW)  # noqa: S311 - a test that replays


def stored(scene: Scene) -> Scene:
    return document.load(document.dump(scene), DEFAULT)


BASE = stored(
    operation.create(
        [
            {"type": "rectangle", "id": "a", "x": 0, "y": 0, "width": 120, "height": 60, "label": {"text": "API"}},
            {"type": "rectangle", "id": "b", "x": 400, "y": 0, "width": 120, "height": 60, "label": {"text": "DB"}},
            {"type": "ellipse", "id": "c", "x": 200, "y": 300, "width": 80, "height": 80},
            {"type": "arrow", "id": "ab", "x": 0, "y": 0, "points": [[0, 0], [9, 9]], "startElementId": "a",
             "endElementId": "b", "label": {"text": "asks"}},
            {"type": "arrow", "id": "bc", "x": 0, "y": 0, "points": [[0, 0], [30, 200], [9, 9]],
             "startElementId": "b", "endElementId": "c"},
            {"type": "text", "id": "t", "x": 0, "y": 200, "text": "notes"},
        ],
        env(1),
    ).scene
)  # fmt: skip
LABEL_OF_A, LABEL_OF_B = (
    next(str(one["id"]) for one in BASE.elements if one.get("containerId") == name) for name in ("a", "b")
)


def did(*operations: dict[str, Any], to: Scene = BASE, seed: int = 2) -> Scene:
    return operation.apply(to, list(operations), env(seed)).scene


def update(name: str, **patch: Any) -> dict[str, Any]:
    return {"op": "update", "id": name, "patch": patch}


def delete(name: str) -> dict[str, Any]:
    return {"op": "delete", "id": name}


def add(**element: Any) -> dict[str, Any]:
    return {"op": "add", "element": element}


def merged(ours: Scene, theirs: Scene, choices: Choices | None = None, base: Scene = BASE) -> Merged:
    return merge(base, ours, theirs, env(9), choices)


def content(scene: Scene) -> dict[Any, Element]:
    """What a person sees of each element that is there."""
    return {
        one["id"]: {name: value for name, value in one.items() if name not in KEPT_BY_THE_EDITOR}
        for one in scene.elements
        if not one.get("isDeleted")
    }


def alike(one: Any, other: Any) -> bool:
    """Say whether two values are the same but for the last digits of places."""
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(alike(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(alike, one, other))
    return bool(one == (pytest.approx(other, abs=1e-6) if isinstance(other, float) else other))


def listed(scene: Scene, name: str) -> set[str]:
    return {entry["id"] for entry in scene.by_id[name].get("boundElements") or ()}


def test_what_each_side_did_stands_and_what_nobody_touched_keeps_its_object() -> None:
    theirs = stored(did(update("t", text="their notes")))
    both = merged(did(update("c", backgroundColor="#ffc9c9")), theirs)
    assert both.clean
    assert both.scene.by_id["c"]["backgroundColor"] == "#ffc9c9"
    assert both.scene.by_id["t"]["text"] == "their notes"
    for name in ("a", "b", "t", "ab", "bc"):
        assert both.scene.by_id[name] is theirs.by_id[name]


def test_both_ends_of_an_arrow_moved_by_two_people_lie_as_if_one_had_moved_them() -> None:
    one, other = update("a", x=-300, y=40), update("b", y=250, width=200)
    both = merged(did(one), did(other))
    assert both.clean
    assert alike(content(both.scene), content(did(other, to=did(one))))


def test_a_new_arrow_finds_the_box_that_the_other_moved() -> None:
    arrow = add(type="arrow", id="n", x=0, y=0, points=[[0, 0], [5, 5]], startElementId="c", endElementId="a")
    both = merged(did(arrow), did(update("a", x=900)))
    assert both.clean
    end = both.scene.by_id["n"]
    assert end["x"] + end["points"][-1][0] > 800
    assert {"ab", "n"} <= listed(both.scene, "a")
    assert "n" in listed(both.scene, "c")


def test_a_label_is_edited_while_its_box_is_moved_and_another_resized() -> None:
    long = "a name that needs more room than there was"
    ours = did(update(LABEL_OF_A, text="Gateway"), update("b", width=60))
    both = merged(ours, did(update("a", x=500), update(LABEL_OF_B, text=long)))
    assert both.clean
    seen = both.scene.by_id
    assert seen[LABEL_OF_A]["text"] == "Gateway"
    assert seen["a"]["x"] < seen[LABEL_OF_A]["x"] < seen["a"]["x"] + seen["a"]["width"]
    label, box = seen[LABEL_OF_B], seen["b"]
    assert label["originalText"] == long
    assert label["width"] <= box["width"] - 10 + 0.01
    assert label["y"] >= box["y"]
    assert label["y"] + label["height"] <= box["y"] + box["height"]


def test_what_both_changed_stays_theirs_until_somebody_chooses() -> None:
    ours, theirs = did(update("c", x=0)), did(update("c", strokeColor="#e03131"))
    open_ = merged(ours, theirs)
    (conflict,) = open_.conflicts
    assert conflict == Conflict("c", frozenset({"x"}), frozenset({"strokeColor"}), get_args(Choice), (("c", 0),))
    assert not open_.settled
    assert content(open_.scene) == content(theirs)
    assert content(merged(ours, theirs, {"c": "mine"}).scene) == content(ours)
    together = merged(ours, theirs, {"c": "both"})
    assert together.settled
    assert (together.scene.by_id["c"]["x"], together.scene.by_id["c"]["strokeColor"]) == (0, "#e03131")


def test_two_changes_of_one_place_cannot_both_stand() -> None:
    (conflict,) = merged(did(update("c", x=0)), did(update("c", width=99))).conflicts
    assert conflict.choices == ("mine", "theirs")


def test_what_one_deleted_and_the_other_changed_is_a_conflict_with_its_label() -> None:
    ours, theirs = did(delete("a")), did(update(LABEL_OF_A, text="Gateway"))
    cases: tuple[tuple[Scene, Scene, Choice, Choice], ...] = (
        (ours, theirs, "theirs", "mine"),
        (theirs, ours, "mine", "theirs"),
    )
    for one, other, kept, dropped in cases:
        found = merged(one, other)
        (conflict,) = found.conflicts
        assert conflict.id == "a"
        revived = content(merged(one, other, {"a": kept}).scene)
        assert revived["a"]["isDeleted"] is False
        assert revived[LABEL_OF_A]["text"] == "Gateway"
        gone = merged(one, other, {"a": dropped}).scene
        assert gone.by_id["a"]["isDeleted"]
        assert gone.by_id[LABEL_OF_A]["isDeleted"]
        assert gone.by_id["ab"]["startBinding"] is None


def test_two_labels_of_one_box_are_a_conflict_and_one_of_them_stays() -> None:
    ours, theirs = did(update("c", label="one")), did(update("c", label="two"), seed=3)
    (conflict,) = merged(ours, theirs).conflicts
    assert conflict.id == "c"
    for choice, words in (("mine", "one"), ("theirs", "two")):
        scene = merged(ours, theirs, {"c": choice}).scene  # type: ignore[dict-item]
        texts = [one["text"] for one in content(scene).values() if one.get("containerId") == "c"]
        assert texts == [words]


def test_an_arrow_to_what_the_other_deleted_lets_go_and_says_so() -> None:
    arrow = add(type="arrow", id="n", x=0, y=400, points=[[0, 0], [5, 5]], endElementId="c")
    both = merged(did(delete("c")), did(arrow))
    assert both.clean
    assert both.scene.by_id["n"]["endBinding"] is None
    assert both.scene.by_id["c"]["isDeleted"]
    assert ("n", "c") in {(note.key[0], note.gone[0]) for note in both.notes}


def test_children_go_along_when_the_other_moves_their_frame() -> None:
    base = operation.create(
        [{"type": "rectangle", "id": "in", "x": 10, "y": 10, "width": 20, "height": 20}], env()
    ).scene
    frame = {**base.elements[0], "id": "f", "type": "frame", "x": 0, "width": 200, "height": 200, "name": None}
    base = stored(base.replaced(elements=[{**base.elements[0], "frameId": "f"}, frame]))
    ours = did(update("in", backgroundColor="#ffc9c9"), to=base)
    both = merged(ours, did(update("f", x=1000), to=base), base=base)
    assert both.clean
    assert (both.scene.by_id["in"]["x"], both.scene.by_id["in"]["backgroundColor"]) == (1010, "#ffc9c9")


def test_order_is_theirs_with_ours_put_where_we_had_it() -> None:
    first = [dict(one) for one in BASE.elements]
    ours = BASE.replaced(elements=[*first[-1:], *first[:-1]])  # the notes went to the back
    both = merged(ours, did(add(type="diamond", id="d", x=0, y=0, width=9, height=9)))
    assert [one["id"] for one in both.scene.elements] == [
        *(one["id"] for one in ours.elements),
        "d",
    ]
    keys = [one["index"] for one in both.scene.elements]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)


def test_settings_and_pictures_merge_by_name() -> None:
    ours = BASE.replaced(app_state={**BASE.app_state, "gridSize": 20}, files={"f": {"id": "f", "dataURL": "data:,"}})
    theirs = BASE.replaced(app_state={**BASE.app_state, "viewBackgroundColor": "#000000"})
    both = merged(ours, theirs)
    assert both.clean
    assert (both.scene.app_state["gridSize"], both.scene.app_state["viewBackgroundColor"]) == (20, "#000000")
    assert set(both.scene.files) == {"f"}
    white = BASE.replaced(app_state={**BASE.app_state, "viewBackgroundColor": "#fff9db"})
    (conflict,) = merged(white, theirs).conflicts
    assert conflict.id == "/appState/viewBackgroundColor"


@pytest.mark.parametrize(
    "members",
    [
        {"x": "10"},
        {"x": None, "width": None},
        {"points": None},
        {"text": 5, "originalText": None},
        {"groupIds": "g", "index": 4},
        {"startBinding": "api", "endBinding": {"elementId": 3}, "boundElements": "x", "frameId": 7, "containerId": {}},
        {"boundElements": [{"id": {}, "type": "text"}, 3], "id": 5, "type": 6, "version": "x"},
    ],
)
def test_what_a_file_may_hold_is_merged_without_failing(members: dict[str, Any]) -> None:
    moved = did(update("a", x=-40), update("b", y=90), update("c", x=0))
    for name in BASE.by_id:
        odd = BASE.replaced(elements=[{**one, **members} if one["id"] == name else one for one in BASE.elements])
        for versions in ((BASE, odd, moved), (BASE, moved, odd), (odd, BASE, moved), (odd, moved, BASE)):
            assert isinstance(merge(*versions, env()).scene, Scene)


NAMES = st.sampled_from(["a", "b", "c", "ab", "bc", "t", LABEL_OF_A])
SHAPES = st.sampled_from(["a", "b", "c"])
PLACES = st.integers(-500, 500)
STEPS = st.one_of(
    st.builds(lambda name, x: update(name, x=x), SHAPES, PLACES),
    st.builds(lambda name, y, wide: update(name, y=y, width=wide), SHAPES, PLACES, st.integers(40, 300)),
    st.builds(lambda name, colour: update(name, strokeColor=colour), NAMES, st.sampled_from(["#e03131", "#2f9e44"])),
    st.builds(lambda name, text: update(name, text=text), st.sampled_from(["t", LABEL_OF_A]), st.sampled_from("xyz")),
    st.builds(delete, NAMES),
    st.builds(
        lambda start, end: add(
            type="arrow", x=0, y=0, points=[[0, 0], [5, 50], [9, 9]], startElementId=start, endElementId=end
        ),
        SHAPES,
        SHAPES,
    ),
    st.builds(lambda x, text: add(type="rectangle", x=x, y=500, label=text), PLACES, st.sampled_from(["new", "newer"])),
    st.builds(lambda name, end: update(name, endElementId=end), st.sampled_from(["ab", "bc"]), SHAPES),
    st.builds(lambda name, end: update(name, startElementId=end), st.sampled_from(["ab", "bc"]), st.none()),
)


PLANS = st.tuples(st.lists(STEPS, max_size=4), st.none() | st.integers(0, len(BASE.elements) - 1))


def planned(plan: tuple[list[dict[str, Any]], int | None], seed: int) -> Scene:
    """BASE after those operations that hold, and one element brought to the front."""
    steps, place = plan
    scene = BASE
    for number, step in enumerate(steps):
        with suppress(SceneError):  # deleted before: this step holds in another example
            scene = did(step, to=scene, seed=seed * 100 + number)
    if place is not None:
        name = scene.elements[place].get("containerId") or scene.elements[place]["id"]
        front = [one for one in scene.elements if name in (one["id"], one.get("containerId"))]
        keys = order.between(max(one["index"] for one in scene.elements), None, len(front))
        fronted = [{**one, "index": key} for one, key in zip(front, keys, strict=True)]
        scene = scene.replaced(elements=[*(one for one in scene.elements if one not in front), *fronted])
    return scene


thorough = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


@thorough
@given(PLANS)
def test_one_sides_change_alone_is_exactly_that_change(plan: Any) -> None:
    change = planned(plan, 3)
    for both in (merged(change, BASE), merged(BASE, change)):
        assert both.clean
        pairs = zip(both.scene.elements, change.elements, strict=True)
        assert all(same({**one, "index": None}, {**other, "index": None}) for one, other in pairs)
    assert all(one is other for one, other in zip(merged(BASE, change).scene.elements, change.elements, strict=True))


@thorough
@given(PLANS, PLANS)
def test_a_clean_merge_is_the_same_from_either_side(plan: Any, against: Any) -> None:
    one, other = planned(plan, 4), planned(against, 5)
    there, back = merged(one, other), merged(other, one)
    assert there.clean == back.clean
    assert {conflict.id for conflict in there.conflicts} == {conflict.id for conflict in back.conflicts}
    if there.clean:
        assert alike(content(there.scene), content(back.scene))


@pytest.mark.promise("scene.merge.nothing-lost")
@thorough
@given(PLANS, PLANS, st.sampled_from(["mine", "theirs", None]))
def test_nothing_is_lost_and_no_reference_dangles(plan: Any, counter: Any, choice: Any) -> None:
    one, other = planned(plan, 6), planned(counter, 7)
    found = merged(one, other)
    chosen = {conflict.id: choice for conflict in found.conflicts} if choice else {}
    found = merged(one, other, chosen)
    scene = found.scene
    live, base = content(scene), content(BASE)
    disputed = {member[0] for conflict in found.conflicts for member in conflict.members}
    for side, against in ((one, other), (other, one)):
        for name in content(side).keys() - disputed:
            assert name in live or (name in base and name not in content(against))
    assert {name for name in one.by_id if name in other.by_id} <= set(scene.by_id)  # tombstones stay
    report = diagnose(scene.value(), DEFAULT)
    wrong = [row for row in report.diagnostics if row["severity"] == "error" or "does not list" in row["message"]]
    assert wrong == []
    keys = [element["index"] for element in scene.elements]
    assert all(low < high for low, high in pairwise(keys))
    for element in live.values():
        holder = scene.by_id.get(element.get("containerId") or "")
        if element["type"] == "text" and holder is not None:
            assert not holder["isDeleted"]
            assert element["id"] in listed(scene, holder["id"])
            place = [row["id"] for row in scene.elements].index(element["id"])
            before = scene.elements[place - 1]
            assert holder["id"] in (before["id"], before.get("containerId"))
