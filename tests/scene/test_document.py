"""A document keeps the bytes of what was not touched, and says where it is no scene."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countermark.scene import document
from countermark.scene.codes import SceneError
from countermark.scene.jsontext import same
from countermark.scene.limits import DEFAULT, Limits, clamped
from countermark.scene.spelling import HOUSE, number, spell

SKELETON = "35-skeleton-pipeline.excalidraw"


def scene(*elements: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "excalidraw", "version": 2, "source": "test", "elements": list(elements), **more}


def box(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "type": "rectangle", "x": 1, "y": 2, **more}


def refused(data: bytes, limits: Limits = DEFAULT) -> SceneError:
    with pytest.raises(SceneError) as caught:
        document.load(data, limits)
    return caught.value


WAYS: dict[str, bytes] = {
    "two spaces": json.dumps(scene(box("a"), box("b"), box("c")), indent=2).encode(),
    "tabs": json.dumps(scene(box("a"), box("b"), box("c")), indent="\t").encode(),
    "four spaces, last line": json.dumps(scene(box("a"), box("b"), box("c")), indent=4).encode() + b"\n",
    "compact": json.dumps(scene(box("a"), box("b"), box("c")), separators=(",", ":")).encode(),
    "one line with spaces": json.dumps(scene(box("a"), box("b"), box("c"))).encode(),
    "CRLF": json.dumps(scene(box("a"), box("b"), box("c")), indent=2).replace("\n", "\r\n").encode(),
    "an element a line": b'{"type":"excalidraw","elements":[\n {"id":"a", "x":1.0},\n {"id":"b"},\n {"id":"c"}\n]}',
    "numbers": json.dumps(scene(box("a", x=1.0, y=1e-7), box("b", n=10**22 + 1), box("c", z=-0.0)), indent=2).encode(),
    "escapes": json.dumps(scene(box("a", t="grün"), box("b", t="\u2028/"), box("c")), indent=2).encode(),
    "shared names": b'{"type":"excalidraw","elements":[{}],"elements":[{"id":"a","id":"a"},{"id":"b"},{"id":"c"}]}',
    "odd spaces": b' { "type" :"excalidraw" ,"elements": [ {"id":"a"} , {"id":"b"}\n,{"id":"c"} ] , "z":1 } ',
}


def slices(data: bytes) -> list[bytes]:
    """Return the text of every element, found by a reader that is not the one under test."""
    text = data.decode()
    at = text.rindex("[", 0, text.index('"id"' if '"id"' in text else "]")) if '"elements"' in text else 0
    at = text.index("[", text.rindex('"elements"')) + 1
    decoder = json.JSONDecoder()
    found: list[bytes] = []
    while True:
        while text[at] in " \t\r\n,":
            at += 1
        if text[at] == "]":
            return found
        _, end = decoder.raw_decode(text, at)
        found.append(text[at:end].encode())
        at = end


@pytest.mark.parametrize("way", WAYS)
def test_an_untouched_document_is_written_as_it_was_read(way: str) -> None:
    read = document.load(WAYS[way], DEFAULT)
    assert document.dump(read) == WAYS[way]
    assert document.dump(read.replaced(elements=list(read.elements))) == WAYS[way]


@pytest.mark.parametrize("touched", [0, 1, 2])
@pytest.mark.parametrize("way", WAYS)
def test_a_touched_element_changes_nothing_around_it(way: str, touched: int) -> None:
    data = WAYS[way]
    read = document.load(data, DEFAULT)
    elements = list(read.elements)
    elements[touched] = {**elements[touched], "moved": 12.5}
    new = document.dump(read.replaced(elements=elements))
    old_slices, new_slices = slices(data), slices(new)
    assert json.loads(new)["elements"][touched]["moved"] == 12.5
    assert [text for n, text in enumerate(new_slices) if n != touched] == [
        text for n, text in enumerate(old_slices) if n != touched
    ]
    begin, end = data.index(old_slices[touched]), data.index(old_slices[touched]) + len(old_slices[touched])
    assert new.startswith(data[:begin])
    assert new.endswith(data[end:])


@pytest.mark.parametrize("way", WAYS)
def test_an_element_can_come_and_go_without_a_trace(way: str) -> None:
    data = WAYS[way]
    read = document.load(data, DEFAULT)
    more = document.dump(read.replaced(elements=[*read.elements, box("new")]))
    again = document.load(more, DEFAULT)
    assert [element["id"] for element in again.elements] == ["a", "b", "c", "new"]
    assert document.dump(again.replaced(elements=again.elements[:3])) == data


@pytest.mark.parametrize("way", WAYS)
def test_moving_elements_in_the_order_keeps_their_bytes(way: str) -> None:
    read = document.load(WAYS[way], DEFAULT)
    a, b, c = read.elements
    new = document.dump(read.replaced(elements=[c, a, b]))
    first, second, third = slices(WAYS[way])
    assert slices(new) == [third, first, second]


@pytest.mark.parametrize("way", WAYS)
def test_missing_parts_are_added_when_they_are_given(way: str) -> None:
    read = document.load(WAYS[way], DEFAULT)
    files = {"f": {"id": "f", "mimeType": "image/png", "dataURL": "data:image/png;base64,AA==", "created": 1}}
    new = document.dump(read.replaced(app_state={"gridSize": 20}, files=files))
    again = document.load(new, DEFAULT)
    assert (again.app_state, again.files) == ({"gridSize": 20}, files)
    assert slices(new) == slices(WAYS[way])


def test_one_new_image_leaves_the_bytes_of_the_others(tmp_path: Path) -> None:
    entry = {"id": "f", "mimeType": "image/png", "dataURL": "data:image/png;base64,AA==", "created": 1.0}
    for data in (
        json.dumps(scene(files={"f": entry}), indent=2).encode(),
        json.dumps(scene(files={"f": entry}), indent="\t").encode(),
    ):
        read = document.load(data, DEFAULT)
        new = document.dump(read.replaced(files={**read.files, "g": {**entry, "id": "g"}}))
        assert b'"created": 1.0' in new
        assert list(json.loads(new)["files"]) == ["f", "g"]


@pytest.mark.promise("scene.store.bytes")
def test_every_real_scene_keeps_its_bytes_with_one_element_touched(shared_data: Path) -> None:
    tried = 0
    for path in sorted((shared_data / "scenes").glob("*.excalidraw")):
        if path.name == SKELETON:
            assert refused(path.read_bytes()).details["reason"] == "excalidraw-skeleton"
            continue
        data = path.read_bytes()
        read = document.load(data, DEFAULT)
        assert document.dump(read) == data
        for touched in {0, len(read.elements) // 2, len(read.elements) - 1}:
            elements = list(read.elements)
            elements[touched] = {**elements[touched], "customData": {"seen": True}}
            new = document.dump(read.replaced(elements=elements))
            old = slices(data)
            begin = data.index(old[touched]) if old.count(old[touched]) == 1 else None
            if begin is not None:
                assert new.startswith(data[:begin])
                assert new.endswith(data[begin + len(old[touched]) :])
            assert [t for n, t in enumerate(slices(new)) if n != touched] == [
                t for n, t in enumerate(old) if n != touched
            ]
        tried += 1
    assert tried >= 17


def test_a_touched_element_writes_its_numbers_as_javascript_does() -> None:
    cases = {
        1.0: "1", -0.0: "0", 0.5: "0.5", 1e-7: "1e-7", 1e-6: "0.000001", 1.5e-7: "1.5e-7", 1e21: "1e+21",
        1e20: "100000000000000000000", 123456789012345680.0: "123456789012345680", -12.25: "-12.25",
        1.7976931348623157e308: "1.7976931348623157e+308", 5e-324: "5e-324", 0.1 + 0.2: "0.30000000000000004",
    }  # fmt: skip
    assert {value: number(value) for value in cases} == cases


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_the_same_after_it_was_written(value: float) -> None:
    assert float(number(value)) == value


@pytest.mark.parametrize(
    ("value", "pointer", "reason"),
    [
        ({"a": [1, float("nan")]}, "/a/1", "not-finite"),
        ({"a": {"b/c": float("inf")}}, "/a/b~1c", "not-finite"),
        ({"__proto__": {}}, "", "unsafe-key"),
        ({"customData": {"constructor": 1}}, "/customData", "unsafe-key"),
        ({"text": "\ud800"}, "/text", "half-a-character"),
        ({"x": object()}, "/x", "not-json"),
    ],
)
def test_what_no_reader_could_read_is_not_written(value: Any, pointer: str, reason: str) -> None:
    with pytest.raises(SceneError) as caught:
        spell(value, HOUSE, "")
    assert (caught.value.code, caught.value.details["pointer"], caught.value.details["reason"]) == (
        "invalid_scene",
        pointer,
        reason,
    )


def nested(depth: int) -> bytes:
    return b'{"type":"excalidraw","elements":[],"x":' + b"[" * depth + b"1" + b"]" * depth + b"}"


@pytest.mark.parametrize(
    ("data", "reason", "damaged"),
    [
        (b"", "not-json", True),
        (b"{", "not-json", True),
        (b"\0" * 100, "not-json", True),
        (b'{"type":"excalidraw","elements":[]', "not-json", True),
        (b'\xff{"type":"excalidraw"}', "not-json", True),
        (b'\xef\xbb\xbf{"type":"excalidraw","elements":[]}', "not-strict-json", False),
        (b'{"type":"excalidraw","elements":[NaN]}', "not-strict-json", False),
        (b'{"type":"excalidraw","elements":[],"x":1e400}', "not-strict-json", False),
        (b'{"type":"excalidraw","elements":[],"x":"\\ud800"}', "not-strict-json", False),
        (nested(5000), "too-deep", None),
        (nested(70), "too-deep", None),
        (b"[]", "not-a-scene", None),
        (b"{}", "not-a-scene", None),
        (b'{"type":"excalidrawlib"}', "excalidrawlib", None),
        (b'{"type":"excalidraw","elements":{}}', "not-a-scene", None),
        (b'{"type":"excalidraw","elements":[null]}', "not-a-scene", None),
        (b'{"type":"excalidraw","files":[]}', "not-a-scene", None),
        (b'{"type":"excalidraw","elements":[{"__proto__":1}]}', "unsafe-key", None),
        (b'{"type":"excalidraw","elements":[{"a":{"\\u005f_proto__":1}}]}', "unsafe-key", None),
        (b'{"type":"excalidraw","constructor":{}}', "unsafe-key", None),
        (b'{"type":"excalidraw","files":{"prototype":{}}}', "unsafe-key", None),
    ],
)
def test_what_is_no_scene_is_refused_and_only_damage_is_called_damaged(
    data: bytes,
    reason: str,
    damaged: bool | None,  # noqa: FBT001
) -> None:
    error = refused(data)
    assert (error.code, error.details["reason"], error.details.get("damaged")) == ("invalid_scene", reason, damaged)


def test_a_text_that_only_speaks_of_an_unsafe_name_is_taken() -> None:
    data = json.dumps(scene(box("a", text='"__proto__": 1', other="constructor"))).encode()
    assert document.load(data, DEFAULT).elements[0]["other"] == "constructor"
    assert document.load(nested(60), DEFAULT).whole["x"]


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(max_scene_bytes=20), "too_large"),
        (Limits(max_elements=1), "too_many_elements"),
        (Limits(max_files=1), "too_large"),
        (Limits(max_file_chars=29), "too_large"),
    ],
)
def test_a_scene_beyond_a_bound_is_refused_by_its_code(limits: Limits, code: str) -> None:
    files = {name: {"dataURL": "x" * 15} for name in "fg"}
    data = json.dumps(scene(box("a"), box("b"), files=files)).encode()
    assert refused(data, limits).code == code
    assert len(document.load(data, Limits(100_000, 2, 2, 30)).files) == 2


def test_bounds_are_lowered_by_settings_and_never_raised() -> None:
    settings = {"maxElements": 10, "maxFiles": 10**9, "maxSceneBytes": -5, "maxTextLength": "many", "other": 1}
    assert clamped(settings) == Limits(max_elements=10, max_scene_bytes=1)
    assert clamped({"maxFiles": True, "maxElements": float("nan"), "maxTextLength": 7.9}) == Limits(max_text_length=7)


def test_a_true_is_not_a_one_and_a_one_is_a_one() -> None:
    assert same({"a": [1, 2.0]}, {"a": [1.0, 2]})
    assert not same({"a": True}, {"a": 1})
    assert not same([True], [1])


def test_a_new_scene_has_the_envelope_that_editors_ask_for() -> None:
    value = json.loads(document.empty().source)
    assert (value["type"], value["version"], value["elements"], value["files"]) == ("excalidraw", 2, [], {})
    assert document.load(document.empty().source, DEFAULT).layout is None
