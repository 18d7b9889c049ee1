"""The native document: read strictly, written alike every time, nothing unknown lost."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countermark.kernel.errors import CountermarkError
from countermark.vector import document as native

# A complete version 1 document as that version wrote it, with the format's first name.
VERSION_1 = b"""{"format":"drawcraft","version":1,"generator":"DrawCraft 0.1.0","document":{"version":1,"title":"Old",
"artboards":[{"id":1,"name":"Artboard 1","rect":{"x0":0.0,"y0":0.0,"x1":100.0,"y1":80.0}}],
"layers":[{"id":1,"name":"Layer 1","visible":true,"locked":false,"opacity":1.0,"kind":{"type":"layer","children":[
{"id":2,"visible":true,"locked":false,"opacity":1.0,"kind":{"type":"path","path":{"subpaths":[{"anchors":[
{"p":{"x":10.0,"y":10.0},"in":{"x":10.0,"y":10.0},"out":{"x":30.0,"y":0.0},"kind":"Smooth"},
{"p":{"x":50.0,"y":40.0},"in":{"x":50.0,"y":40.0},"out":{"x":50.0,"y":40.0},"kind":"Corner"}],"closed":false}]},
"rule":"NonZero","clipping":false,"guide":false}}],"color":{"Preset":0}}}],
"next_id":3,"unknown":{"colorProfiles":{"rgb":"sRGB IEC61966-2.1","cmyk":null}}},"images":{}}"""


def path_node(node_id: int, **members: Any) -> dict[str, Any]:
    anchors = [{"p": [0.0, 0.0], "out": [5.0, 0.0], "later": 1}, {"p": [10.0, 10.0], "in": [10.0, 5.0]}]
    kind = {"type": "path", "path": {"subpaths": [{"anchors": anchors, "closed": True}]}, "futureKind": [1]}
    return {"id": node_id, "kind": kind, "appearance": {"items": []}, **members}


def sample(*nodes: dict[str, Any]) -> native.Document:
    layer = {"id": 1, "name": "Layer 1", "kind": {"type": "layer", "children": list(nodes)}}
    board = {"id": 7, "name": "Mark", "rect": {"x0": 0.0, "y0": 0.0, "x1": 64.0, "y1": 64.0}}
    return native.new("Mark", artboards=[board], layers=[layer], next_id=99)


def refused(data: bytes) -> CountermarkError:
    with pytest.raises(CountermarkError) as caught:
        native.load(data)
    return caught.value


@pytest.mark.promise("vector.native.unknown-kept")
def test_unknown_members_are_kept_at_every_level_and_in_order() -> None:
    document = sample(path_node(2, futureNode={"z": 1, "a": [True, None]}))
    document.tree["futureTop"] = {"b": 1, "a": 2}
    document.file["futureFile"] = [1.5]
    document.tree["artboards"][0]["futureBoard"] = "x"
    again = native.load(native.dump(document))
    assert json.dumps(again.file) == json.dumps(document.file)


def test_an_edit_keeps_unknown_members_and_shares_what_it_did_not_touch() -> None:
    document = sample(path_node(2, future=1), path_node(3))
    edited = native.rewrite(document, {2: {**native.find(document, 2).node, "opacity": 0.5}}, title="New")
    assert native.find(edited, 2).node == {**native.find(document, 2).node, "opacity": 0.5}
    assert native.find(edited, 3).node is native.find(document, 3).node
    assert (document.tree["title"], edited.tree["title"]) == ("Mark", "New")
    assert "opacity" not in native.find(document, 2).node


def test_an_edit_reaches_mask_art_symbols_and_nested_groups() -> None:
    masked = path_node(4, mask={"art": path_node(5), "clip": True})
    group = {"id": 3, "kind": {"type": "group", "children": [masked], "clip": False}}
    document = sample(group)
    document.tree["symbols"] = [{"name": "Dot", "art": path_node(6)}]
    edited = native.rewrite(document, {5: path_node(5, opacity=0.1), 6: path_node(6, opacity=0.2)})
    assert native.find(edited, 5).node["opacity"] == 0.1
    assert native.find(edited, 6).node["opacity"] == 0.2
    assert [node["id"] for node in native.find(edited, 5).parents] == [1, 3, 4]


def test_version_1_files_open_and_become_version_5_when_edited() -> None:
    document = native.load(VERSION_1)
    assert json.loads(native.dump(document)) == json.loads(VERSION_1)
    edited = native.rewrite(document, {})
    assert (edited.file["format"], edited.file["version"]) == ("vectorcraft", 5)
    anchors = native.find(edited, 2).node["kind"]["path"]["subpaths"][0]["anchors"]
    assert anchors == [{"p": [10.0, 10.0], "out": [30.0, 0.0], "kind": "Smooth"}, {"p": [50.0, 40.0]}]
    assert edited.tree["color_profiles"] == {"rgb": "sRGB IEC61966-2.1"}
    assert edited.tree["unknown"] == {}


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_every_version_up_to_5_is_read(version: int) -> None:
    file = {**sample(path_node(2)).file, "version": version}
    assert native.load(json.dumps(file).encode()).file["version"] == version


def test_a_newer_version_is_refused_and_named() -> None:
    error = refused(json.dumps({**sample().file, "version": 6}).encode())
    assert error.code == "document_newer"
    assert error.details == {"version": 6, "known": 5}


def test_a_duplicate_member_is_refused_by_name() -> None:
    text = native.dump(sample(path_node(2, name='a \\" quoted \\\\ name'))).decode()
    assert native.dump(native.load(text.encode())) == text.encode()
    error = refused(text.replace('"next_id": 99', '"next_id": 99, "next_id": 98').encode())
    assert error.code == "artifact_invalid"
    assert "'next_id' twice" in error.sentence


@pytest.mark.parametrize("token", [b"NaN", b"Infinity", b"-Infinity", b"1e999"])
def test_numbers_that_are_not_finite_are_refused(token: bytes) -> None:
    error = refused(native.dump(sample()).replace(b"72.0", token))
    assert error.code == "artifact_invalid"


def test_a_cut_file_is_refused_with_the_place() -> None:
    error = refused(native.dump(sample())[:-40])
    assert error.code == "artifact_invalid"
    assert "line" in error.sentence


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"<svg/>", b'{"format": "psd", "version": 1}', b"\xff\xfe"])
def test_other_files_are_refused(data: bytes) -> None:
    assert refused(data).code == "artifact_invalid"


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": {"type": "path", "path": {"subpaths": [{"anchors": [{"p": [1]}]}]}}},
        {"kind": {"type": "path", "path": {"subpaths": [{"anchors": [{"p": ["1", 2]}]}]}}},
        {"kind": {"type": "path"}},
        {"kind": {"type": "group", "children": ["x"]}},
        {"kind": 3},
        {"id": True},
        {"id": 1},
        {"appearance": {"items": [3]}},
        {"appearance": {"items": [{"kind": "fill", "paint": {"type": "solid", "color": {"model": "rgb", "r": "1"}}}]}},
        {"appearance": {"items": [{"kind": "fill", "paint": {"type": "gradient", "gradient": {}}}]}},
        {"kind": {"type": "text", "runs": [{"style": []}]}},
        {"kind": {"type": "text", "runs": [{"style": {"fill": 1}}]}},
    ],
)
def test_a_tree_of_the_wrong_shape_is_refused(wrong: dict[str, Any]) -> None:
    assert refused(json.dumps(sample({**path_node(2), **wrong}).file).encode()).code == "artifact_invalid"


@pytest.mark.parametrize(
    "members",
    [
        {"swatches": 1},
        {"swatches": [1]},
        {"swatches": [{"paint": {"type": "none"}}]},
        {"swatches": [{"name": "a", "paint": {"type": "solid"}}]},
        {"swatches": [{"name": "a", "paint": {"type": "solid", "color": {"model": "rgb", "r": 1, "g": 1}}}]},
        {"swatch_groups": [{"name": "g", "swatches": [{"name": 5}]}]},
        {"graphic_styles": [{"appearance": {"items": [1]}}]},
        {"symbols": [{"art": {"id": 1}}]},
        {"artboards": {}},
        {"layers": None},
    ],
)
def test_swatches_and_lists_of_the_wrong_shape_are_refused(members: dict[str, Any]) -> None:
    file = sample(path_node(2)).file
    assert (
        refused(json.dumps({**file, "document": {**file["document"], **members}}).encode()).code == "artifact_invalid"
    )


def test_a_compressed_file_opens_and_a_cut_one_does_not() -> None:
    plain = native.dump(sample(path_node(2)))
    packed = gzip.compress(plain)
    assert native.load(packed).file == native.load(plain).file
    assert refused(packed[: len(packed) // 2]).code == "artifact_invalid"


def test_a_compressed_bomb_is_refused_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("countermark.vector.container.UNPACKED_MAX", 1 << 20)
    assert refused(gzip.compress(b" " * (1 << 21))).code == "input_too_large"


def test_images_after_the_json_are_kept_and_a_cut_tail_is_refused() -> None:
    document = sample()
    document.file["images"] = {"photo": {"mime": "image/png", "blob": [0, 9000]}}
    data = native.dump(native.Document(document.file, bytes(9000)))
    assert native.dump(native.load(data)) == data
    assert refused(data[:-1]).code == "artifact_invalid"
    assert refused(data[: data.index(b"VCBLOBS") + 3]).code == "artifact_invalid"


def test_next_id_is_raised_above_every_id() -> None:
    document = sample(path_node(500))
    assert native.load(native.dump(document)).tree["next_id"] == 501


def test_small_documents_are_indented_and_large_ones_compact() -> None:
    assert native.dump(sample()).startswith(b'{\n  "format": "vectorcraft",\n  "version": 5')
    large = native.dump(sample(*(path_node(number) for number in range(2, 2002))))
    assert b"\n" not in large
    assert large.startswith(b'{"format":"vectorcraft","version":5')


def test_missing_objects_are_named() -> None:
    with pytest.raises(CountermarkError, match="no object 12"):
        native.find(sample(), 12)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**53), 2**53)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(exclude_categories=["Cs"])),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
        ),
        max_leaves=12,
    )
)
def test_any_unknown_json_survives_a_round_trip(value: Any) -> None:
    document = sample(path_node(2, future=value))
    assert json.dumps(native.load(native.dump(document)).file) == json.dumps(document.file)
