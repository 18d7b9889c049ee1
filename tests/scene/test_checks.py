from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from countermark.scene.checks import diagnose, require_no_new_fault
from countermark.scene.codes import SceneError
from countermark.scene.document import Scene, load
from countermark.scene.limits import DEFAULT, Limits

PNG = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg=="


def shape(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "type": "rectangle", "x": 0, "y": 0, "width": 10, "height": 10, **more}


def arrow(name: str, **more: Any) -> dict[str, Any]:
    return shape(name, **({"type": "arrow", "points": [[0, 0], [10, 10]]} | more))


def whole(*elements: Any, **more: Any) -> dict[str, Any]:
    return {"type": "excalidraw", "version": 2, "elements": list(elements), "appState": {}, "files": {}, **more}


def errors(value: Any, limits: Limits = DEFAULT) -> set[tuple[str, str]]:
    report = diagnose(value, limits)
    found = {(one["code"], one["pointer"]) for one in report.diagnostics if one["severity"] == "error"}
    assert report.valid is not bool(found)
    return found


def stored(value: Any) -> Scene:
    return load(json.dumps(value).encode(), DEFAULT)


def test_a_clean_document_is_valid_and_counted() -> None:
    report = diagnose(whole(shape("a"), shape("b", x=30, isDeleted=True)), DEFAULT)
    assert (report.valid, report.diagnostics) == (True, ())
    assert report.stats["types"] == {"rectangle": 1}
    assert (report.stats["live"], report.stats["deleted"], report.stats["bounds"]) == (1, 1, [0, 0, 10, 10])


@pytest.mark.parametrize(
    ("value", "code", "pointer"),
    [
        (5, "invalid_scene", ""),
        ({"type": "excalidraw-skeleton", "version": 2}, "invalid_scene", "/type"),
        (whole() | {"elements": {}}, "invalid_scene", "/elements"),
        (whole(None), "invalid_scene", "/elements/0"),
        (whole("text"), "invalid_scene", "/elements/0"),
        (whole(shape("a"), shape("a")), "duplicate_id", "/elements/1/id"),
        (whole(shape(7)), "invalid_scene", "/elements/0/id"),  # type: ignore[arg-type]
        (whole(shape("a", type="cloud")), "unsupported_element", "/elements/0/type"),
        (whole(shape("a", x="10")), "invalid_scene", "/elements/0/x"),
        (whole(shape("a", x=True)), "invalid_scene", "/elements/0/x"),
        (whole(shape("a", opacity=1000)), "invalid_scene", "/elements/0/opacity"),
        (whole(shape("a", seed=1.5)), "invalid_scene", "/elements/0/seed"),
        (whole(shape("a", strokeColor={})), "invalid_scene", "/elements/0/strokeColor"),
        (whole(shape("a", roundness={"type": 9})), "invalid_scene", "/elements/0/roundness"),
        (whole(shape("a", groupIds="g")), "invalid_scene", "/elements/0/groupIds"),
        (whole(shape("a", boundElements="b")), "invalid_scene", "/elements/0/boundElements"),
        (whole(shape("a", index="!!!")), "invalid_scene", "/elements/0/index"),
        (whole(shape("a", index="zz")), "invalid_scene", "/elements/0/index"),
        (whole(shape("a", type="arrow")), "invalid_scene", "/elements/0/points"),
        (whole(arrow("a", points=[[0, 0], None])), "invalid_scene", "/elements/0/points/1"),
        (whole(arrow("a", points=[[0, 0]])), "invalid_scene", "/elements/0/points"),
        (whole(shape("a", type="freedraw")), "invalid_scene", "/elements/0/points"),
        (whole(shape("a", type="text", text=None)), "invalid_scene", "/elements/0/text"),
        (whole(shape("a", frameId="f")), "invalid_reference", "/elements/0/frameId"),
        (whole(shape("a", frameId="b"), shape("b")), "invalid_reference", "/elements/0/frameId"),
        (whole(shape("a", type="text", text="x", containerId="c")), "invalid_reference", "/elements/0/containerId"),
        (whole(arrow("a", endBinding={"elementId": "x"})), "invalid_reference", "/elements/0/endBinding/elementId"),
        (whole(shape("a", type="image", fileId="f")), "invalid_reference", "/elements/0/fileId"),
        (whole(files={"f": {"mimeType": "image/bmp", "dataURL": PNG}}), "invalid_scene", "/files/f/mimeType"),
        (whole(files={"f": {"mimeType": "image/gif", "dataURL": PNG}}), "invalid_scene", "/files/f/dataURL"),
        (whole(shape("a", customData={"__proto__": 1})), "invalid_scene", "/elements/0/customData/__proto__"),
        (whole(shape("a", x=float("nan"))), "invalid_scene", "/elements/0/x"),
    ],
)
def test_a_fault_is_named_with_its_place(value: Any, code: str, pointer: str) -> None:
    assert (code, pointer) in errors(value)


@pytest.mark.parametrize("name", ["__proto__", "constructor", "prototype"])
def test_a_polluting_name_is_found_at_any_depth(name: str) -> None:
    assert ("invalid_scene", f"/appState/a/0/{name}") in errors(whole(appState={"a": [{name: {}}]}))


def test_nesting_that_no_editor_writes_is_an_error_and_no_crash() -> None:
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    assert any(code == "invalid_scene" for code, _ in errors(whole(appState={"deep": deep})))


def test_caps_are_named() -> None:
    limits = Limits(max_elements=1, max_files=1, max_file_chars=10, max_text_length=2)
    value = whole(
        shape("a", type="text", text="abc"),
        shape("b"),
        files={name: {"mimeType": "image/png", "dataURL": PNG} for name in "fg"},
    )
    assert {("too_many_elements", "/elements"), ("too_large", "/files"), ("too_large", "/elements/0/text")} <= errors(
        value, limits
    )


def test_keys_that_fall_are_a_warning_because_the_editor_makes_new_ones() -> None:
    report = diagnose(whole(shape("a", index="a2"), shape("b", index="a1")), DEFAULT)
    assert report.valid
    assert [one["pointer"] for one in report.diagnostics] == ["/elements/1/index"]


def test_an_arrow_that_its_target_does_not_list_is_a_warning() -> None:
    report = diagnose(whole(shape("b"), arrow("a", endBinding={"elementId": "b"})), DEFAULT)
    assert report.valid
    assert "will not follow" in report.diagnostics[0]["message"]


def test_what_the_base_had_already_passes() -> None:
    value = whole(shape("a", frameId="gone"), shape("b", type="cloud"), shape("c"))
    base = stored(value)
    moved = copy.deepcopy(base.elements[0]) | {"x": 99}
    require_no_new_fault(base.replaced(elements=[base.elements[2], moved, base.elements[1]]), base, DEFAULT)


@pytest.mark.parametrize(
    ("fresh", "code"),
    [
        (shape("n", type="cloud"), "unsupported_element"),
        (shape("c"), "duplicate_id"),
        (shape("n", frameId="gone"), "invalid_reference"),
        (arrow("n", points=[[0, 0], None]), "invalid_scene"),
    ],
)
def test_what_is_new_does_not(fresh: dict[str, Any], code: str) -> None:
    base = stored(whole(shape("a", frameId="gone"), shape("b", type="cloud"), shape("c")))
    with pytest.raises(SceneError) as caught:
        require_no_new_fault(base.replaced(elements=[*base.elements, fresh]), base, DEFAULT)
    assert caught.value.code == code
    assert caught.value.details["element"] == fresh["id"]


def test_removing_what_others_refer_to_is_new() -> None:
    base = stored(whole(shape("f", type="frame"), shape("a", frameId="f")))
    with pytest.raises(SceneError, match="invalid_reference"):
        require_no_new_fault(base.replaced(elements=base.elements[1:]), base, DEFAULT)


def test_a_new_file_is_looked_at_and_an_old_one_is_not() -> None:
    base = stored(whole(files={"old": {"mimeType": "image/bmp", "dataURL": "data:image/bmp;base64,AA=="}}))
    require_no_new_fault(base.replaced(elements=[shape("a")]), base, DEFAULT)
    with pytest.raises(SceneError, match="/files/new/dataURL"):
        require_no_new_fault(
            base.replaced(files={**base.files, "new": {"mimeType": "image/png", "dataURL": "data:x"}}), base, DEFAULT
        )


def test_real_files_of_all_versions_are_valid(shared_data: Path) -> None:
    faulty = {}
    for path in sorted((shared_data / "scenes").iterdir()):
        report = diagnose(json.loads(path.read_bytes()), DEFAULT)
        if not report.valid:
            faulty[path.name] = {one["code"] for one in report.diagnostics if one["severity"] == "error"}
    # The first is no scene; the second's generator wrote arrows that name '' on both ends.
    assert faulty == {"35-skeleton-pipeline.excalidraw": {"invalid_scene"}, "38-out.excalidraw": {"invalid_reference"}}


def test_a_link_that_runs_a_script_is_refused_when_it_is_new_and_passes_when_it_was_there() -> None:
    link = "java\tscript:alert(1)"
    assert ("invalid_scene", "/elements/0/link") in errors(whole(shape("a", link=link)))
    base = stored(whole(shape("a"), shape("b", link=link)))
    for changed in (
        [*base.elements, shape("c", link="javascript:x")],
        [shape("a", link=link), base.elements[1]],
        [base.elements[0], shape("b", link="javascript:another")],
    ):
        with pytest.raises(SceneError) as refused:
            require_no_new_fault(base.replaced(elements=changed), base, DEFAULT)
        assert (refused.value.code, refused.value.details["pointer"][-5:]) == ("invalid_scene", "/link")
    moved = base.replaced(elements=[base.elements[0], shape("b", x=5, link=link)])
    require_no_new_fault(moved, base, DEFAULT)
