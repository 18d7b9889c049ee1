from __future__ import annotations

import json
from typing import Any

import pytest

from countermark.scene import document
from countermark.scene.codes import SceneError
from countermark.scene.document import Scene
from countermark.scene.jsontext import same
from countermark.scene.limits import DEFAULT
from countermark.scene.whole import replacing

TEXT = """{"type":"excalidraw","version":2,"source":"elsewhere","elements":[
  {"id":"a","type":"rectangle","x":1.0,"y":1e-07,"width":10,"height":10,"big":12345678901234567890123},
  {"id":"b","type":"image","x":0,"y":0,"fileId":"f1","isDeleted":true},
  {"type":"mystery"}
],"appState":{"gridSize":null,"viewBackgroundColor":"#ffffff","gridStep":5},
"files":{"f1":{"id":"f1","dataURL":"data:image/png;base64,AAAA"},"f2":{"id":"f2"}},"mine":[1.0]}"""


@pytest.fixture
def base() -> Scene:
    return document.load(TEXT.encode(), DEFAULT)


def as_a_browser_sends(base: Scene) -> dict[str, Any]:
    """The document after a trip through JavaScript: 1.0 is 1 there, and a long number a double."""

    def spoken(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: spoken(member) for name, member in reversed(value.items())}
        if isinstance(value, list):
            return [spoken(item) for item in value]
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return float(value) if isinstance(value, int) and not isinstance(value, bool) and value > 2**53 else value

    sent: dict[str, Any] = spoken(base.value())
    return sent


def test_what_a_browser_read_and_did_not_change_is_saved_byte_for_byte(base: Scene) -> None:
    assert document.dump(replacing(base, as_a_browser_sends(base))) == TEXT.encode()


def test_only_the_moved_element_is_written_anew(base: Scene) -> None:
    sent = as_a_browser_sends(base)
    sent["elements"][0]["x"] = 99
    moved = replacing(base, sent)
    assert moved.elements[0]["x"] == 99
    assert moved.elements[1] is base.elements[1]
    assert moved.elements[2] is base.elements[2]
    written = document.dump(moved).decode()
    assert '{"id":"b","type":"image","x":0,"y":0,"fileId":"f1","isDeleted":true}' in written
    assert '"mine":[1.0]' in written


def test_an_element_left_out_is_removed_and_order_is_the_senders(base: Scene) -> None:
    sent = as_a_browser_sends(base)
    sent["elements"] = [sent["elements"][2], sent["elements"][0]]
    assert [one.get("id") for one in replacing(base, sent).elements] == [None, "a"]


def test_of_elements_that_share_an_id_each_stored_one_is_used_once() -> None:
    twin = '{"id":"a","type":"line","x":%d}'
    text = '{"type":"excalidraw","elements":[' + twin % 1 + "," + twin % 2 + '],"appState":{},"files":{}}'
    base = document.load(text.encode(), DEFAULT)
    saved = replacing(base, {"elements": [{"id": "a", "type": "line", "x": 2}, {"id": "a", "type": "line", "x": 2}]})
    assert saved.elements[0] is base.elements[1]
    assert saved.elements[1] is not base.elements[1]


def test_of_the_application_state_three_keys_are_taken_and_the_rest_stays(base: Scene) -> None:
    sent = as_a_browser_sends(base)
    sent["appState"] = {"viewBackgroundColor": "#000000", "zoom": 3, "gridStep": 9}
    state = replacing(base, sent).app_state
    assert state == {"gridSize": None, "viewBackgroundColor": "#000000", "gridStep": 5}


def test_a_file_left_out_is_kept_while_a_tombstone_refers_to_it_or_nothing_did_before(base: Scene) -> None:
    sent = as_a_browser_sends(base)
    sent["files"] = {}
    assert replacing(base, sent).files is base.files
    sent["elements"] = sent["elements"][:1]
    assert set(replacing(base, sent).files) == {"f2"}


def test_a_new_file_comes_in_and_the_others_stay_the_same_objects(base: Scene) -> None:
    sent = as_a_browser_sends(base)
    sent["files"] = {"f3": {"id": "f3"}}
    files = replacing(base, sent).files
    assert set(files) == {"f1", "f2", "f3"}
    assert files["f1"] is base.files["f1"]


@pytest.mark.parametrize(
    ("sent", "pointer"),
    [
        ({}, "/elements"),
        ({"elements": {}}, "/elements"),
        ({"elements": [1]}, "/elements/0"),
        ({"elements": [], "appState": []}, "/appState"),
        ({"elements": [], "files": 3}, "/files"),
        ({"elements": [], "appState": {"gridModeEnabled": 1}}, "/appState/gridModeEnabled"),
        ({"elements": [], "appState": {"viewBackgroundColor": {}}}, "/appState/viewBackgroundColor"),
    ],
)
def test_what_is_no_scene_is_refused_with_its_place(base: Scene, sent: Any, pointer: str) -> None:
    with pytest.raises(SceneError) as refused:
        replacing(base, sent)
    assert (refused.value.code, refused.value.details["pointer"]) == ("invalid_scene", pointer)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("1.0", "1", True),
        ("1e-7", "0.0000001", True),
        ("12345678901234567890123", "1.2345678901234568e+22", True),
        ("1" + "0" * 400, "2" + "0" * 400, True),
        ('{"a":1,"b":[2.0]}', '{"b":[2],"a":1}', True),
        ("true", "1", False),
        ("0", "false", False),
        ("null", "0", False),
        ('"1"', "1", False),
        ("[1]", "[1,1]", False),
        ('{"a":null}', "{}", False),
        ("-0", "0", True),
    ],
)
def test_values_are_the_same_as_javascript_sees_them(one: str, other: str, equal: bool) -> None:  # noqa: FBT001
    assert same(json.loads(one), json.loads(other), doubles=True) is equal
    assert same(json.loads(other), json.loads(one), doubles=True) is equal


def test_a_moved_element_keeps_the_long_numbers_that_a_page_rounds() -> None:
    custom = '{"n":12345678901234567890123,"deep":[{"one":1.0,"long":98765432109876543210987}],"other":1}'
    text = '{"type":"excalidraw","elements":[{"id":"a","type":"line","x":1,"customData":%s}],"appState":{},"files":{}}'
    base = document.load((text % custom).encode(), DEFAULT)
    sent = json.loads(text % custom, parse_int=float)
    sent["elements"][0]["x"] = 2
    assert document.dump(replacing(base, sent)) == (text % custom).replace('"x":1', '"x":2').encode()
    sent["elements"][0]["customData"]["other"] = 2
    written = document.dump(replacing(base, sent)).decode()
    assert "12345678901234567890123" in written
    assert "98765432109876543210987" in written
    assert json.loads(written)["elements"][0]["customData"]["other"] == 2


def test_a_long_number_that_a_call_gives_exactly_is_another_than_the_stored_one() -> None:
    assert not same({"n": 12345678901234567890123}, {"n": 12345678901234567890124})
    assert same({"n": 12345678901234567890123}, {"n": 12345678901234567890124}, doubles=True)
