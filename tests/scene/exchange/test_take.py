"""What comes in, whatever wrote it: the scene, what was done to it, and the right refusal of what holds none."""

from __future__ import annotations

import json
import random
import zlib
from typing import Any, Final

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.scene import checks, document
from countermark.scene.codes import STATUS
from countermark.scene.env import Env
from countermark.scene.exchange.take import Taken, take
from countermark.scene.limits import DEFAULT, Limits

from .made import SIGNATURE, box, chunk, international, note, packed, payload, plain, png, scene, svg, text

SKELETON: Final = {
    "type": "excalidraw-skeleton",
    "elements": [
        {"type": "rectangle", "id": "a", "x": 100, "y": 100, "width": 160, "height": 80, "label": {"text": "Ingest"}},
        {"type": "ellipse", "id": "b", "x": 480, "y": 110, "width": 140, "height": 80, "label": {"text": "Store"}},
        {"type": "arrow", "x": 270, "y": 140, "width": 200, "height": 0, "start": {"id": "a"}, "end": {"id": "b"}},
    ],
}
LZ_SCENE: Final = (  # of the reference implementation, lz-string 1.5.0: the scene below in compressToBase64
    "N4IgLgngDgpiBcIYA8DGBDANgSwCYCd0B3EAGhADcZ8BnbAewDsEAmcmTGAWxkbBoQBtUHgTgAjGXDQ4iMCjBTkCceQityRPGAAWCAKwAGcj"
    "pjYA5jsXwW+8vOTWQjdAHuqAAkDUzh8C8G4AA9qXp8C2wXTAAVBTEXdxhvP0DyADMmMABlbAAvWRZjEFS+ADF0LmxMdXg7EGwaABEOGHlcBGS"
    "sGhgAXwBdcnQoKHSwdHkEYE6U8pgBeHHOoA"
)


def taken(data: bytes, limits: Limits = DEFAULT) -> Taken:
    return take(data, Env(limits=limits))


def refused(data: bytes, limits: Limits = DEFAULT) -> CountermarkError:
    with pytest.raises(CountermarkError) as caught:
        taken(data, limits)
    assert caught.value.code in STATUS
    return caught.value


def notes(found: Taken) -> list[tuple[str, str, str]]:
    return [(one.deed, one.about, one.what) for one in found.notes]


def sound(found: Taken) -> bool:
    """Say whether the strict check, which made nothing of this, finds no error."""
    value = json.loads(document.dump(found.scene))
    return checks.diagnose(value, DEFAULT).valid


@pytest.mark.promise("scene.import.bytes")
@pytest.mark.parametrize("version", ["2", "1.0", "1e-7"])
def test_a_sound_scene_keeps_every_byte(version: str) -> None:
    data = b'{"type":"excalidraw","version":%s,"elements":[],"ours":[1.50, 1e-7],"appState":{"zoom":1},"files":{}}'
    found = taken(data % version.encode())
    assert document.dump(found.scene) == data % version.encode()
    assert (found.format, found.notes, found.found) == ("scene", (), 0)


@pytest.mark.promise("scene.import.carried")
@pytest.mark.parametrize(
    ("format_", "data"),
    [
        ("PNG", png(plain(scene(text())))),
        ("PNG", png(chunk(b"tEXt", b"Software\0other"), plain(scene(text())))),
        ("PNG", png(packed(scene(text())))),
        ("PNG", png(international(scene(text()), compressed=True))),
        ("PNG", png(international(scene(text()), compressed=False))),
        ("PNG", png(chunk(b"tEXt", b"application/vnd.excalidraw+json\0" + scene(text())))),
        ("SVG", svg(scene(text()))),
        ("SVG", svg(scene(text()), 1)),
        ("SVG", b"\n<?xml version='1.0'?>\n" + svg(scene(text()))),
        ("Obsidian Markdown", note(scene(text()).decode(), fence="json")),
    ],
)
def test_the_scene_that_a_file_carries_comes_out_byte_for_byte(format_: str, data: bytes) -> None:
    found = taken(data)
    assert (found.format, found.notes) == (format_, ())
    assert document.dump(found.scene) == scene(text())


@pytest.mark.promise("scene.import.carried")
def test_obsidians_packed_drawing_is_read_and_what_stands_around_it_is_told() -> None:
    sections = (
        "## Text Elements\nother words ^t1\n\nlost ^t9\n\n## Element Links\nt1: [[Page]]\n\n"
        "## Embedded Files\nf1: [[photo.png]]\n\n"
    )
    halves = "\n\n".join(LZ_SCENE[at : at + 256] for at in range(0, len(LZ_SCENE), 256))
    found = taken(note(halves, before="My thoughts\non this", sections=sections).replace(b"\n", b"\r\n"))
    assert found.scene.elements[0]["text"] == "naïve 猫 😀"
    assert notes(found) == [
        ("dropped", "note", "2 lines of the note outside the drawing: a scene has no place for them"),
        ("dropped", "file f1", "'[[photo.png]]' lies in the vault, not in the note"),
        ("left", "t1", "the note says 'other words' where the drawing says 'naïve 猫 😀'"),
        ("dropped", "t9", "the note's text 'lost': the drawing has no such element"),
        ("left", "t1", "the note links it to '[[Page]]'; the drawing does not"),
    ]
    assert sound(found)


WRONG: Final[list[tuple[Any, str, str | None]]] = [
    (None, "dropped", "null is no element"),
    ("text", "dropped", "is no element"),
    (box(type="hologram"), "dropped", "is not known"),
    (box(type=["x"]), "dropped", "is not known"),
    ({**box(), "type": "arrow", "points": None}, "dropped", "0 points 0 are sound"),
    ({**box(), "type": "arrow", "points": [[0, 0]]}, "dropped", "1 points 1 are sound"),
    ({**box(), "type": "arrow", "points": [[0, 0], [None, 1], [9, 9]]}, "repaired", "1 that were none"),
    ({**box(), "type": "freedraw"}, "dropped", "points"),
    ({**box(), "type": "freedraw", "points": [[0, 0]], "pressures": [1, 1]}, "repaired", "2 for 1"),
    ({**box(), "type": "line", "points": [[5, 5], [9, 9]]}, "repaired", "began at 5, 5"),
    (box(boundElements="none"), "repaired", "boundElements"),
    (box(boundElements=[{"id": 5}, 7]), "repaired", "boundElements"),
    (box(index="!!!"), "repaired", "index"),
    (box(x="10"), "repaired", "x was '10': 10 now"),
    (box(x=None), "repaired", "x was null"),
    (box(width=-100), "repaired", "to the other side"),
    (box(groupIds="g"), "repaired", "groupIds"),
    (box(groupIds=["g", 5]), "repaired", "groupIds"),
    (box(opacity=1000), "repaired", "opacity was 1000: 100"),
    (box(roundness={"type": 9}), "repaired", "roundness"),
    (box(strokeColor={}), "repaired", "strokeColor"),
    (box(seed=1.5), "repaired", "not whole"),
    (box(locked="yes"), "repaired", "locked"),
    (box(fillStyle="sparkling"), "repaired", "fillStyle"),
    (box(link="java\nscript:alert(1)"), "dropped", "its link"),
    (box(link=5), "dropped", "its link"),
    (box(customData=[]), "dropped", "customData"),
    (box(id=7), "repaired", "was the number 7"),
    (box(id=None), "repaired", "another's or none"),
    (box(frameId="gone"), "repaired", "frame that is not there"),
    (box(width=0, height=0), "left", "no size"),
    (text(said=None), "dropped", "text without text"),
    (text(said=5), "repaired", "number 5"),
    (text(said=""), "dropped", "text without text"),
    (text(said="", originalText="Old"), "repaired", "text was ''"),
    (text(fontSize="big"), "repaired", "fontSize"),
    (text(fontFamily=99), "left", "no known font"),
    ({name: one for name, one in text().items() if name not in ("width", "height")}, "repaired", "measured"),
    (text(containerId="gone"), "repaired", "container that is not there"),
    (box(startBinding={"elementId": "x"}), "repaired", "is no arrow"),
    ({**box(), "type": "arrow", "points": [[0, 0], [9, 9]], "endArrowhead": "fish"}, "repaired", "endArrowhead"),
    ({**box(), "type": "arrow", "points": [[0, 0], [9, 9]], "startBinding": 5}, "repaired", "startBinding"),
    ({**box(), "type": "image", "fileId": "gone"}, "left", "is not in the file"),
]


@pytest.mark.promise("scene.import.nothing-silent")
@pytest.mark.parametrize(("element", "deed", "said"), WRONG)
def test_every_fault_is_repaired_dropped_or_left_with_a_note_and_the_rest_stands(
    element: Any, deed: str, said: str
) -> None:
    other = box("other", x=1.5)
    found = taken(scene(element, other))
    assert any(one.deed == deed and said in one.what for one in found.notes), found.notes
    assert found.scene.by_id["other"] == other
    dropped = sum(one.deed == "dropped" and not one.what.startswith("its ") for one in found.notes)
    assert len(found.scene.elements) == 2 - dropped
    assert sound(found) or (element or {}).get("type") == "image"


def test_ids_given_twice_and_one_sided_bindings_are_repaired() -> None:
    found = taken(scene(box("a"), box("a"), text(containerId="a")))
    assert len({one["id"] for one in found.scene.elements}) == 3
    assert [one["type"] for one in found.scene.elements] == ["rectangle", "text", "rectangle"]
    assert found.scene.elements[0]["boundElements"] == [{"id": "t", "type": "text"}]


def test_a_label_that_a_program_wrote_on_a_shape_becomes_bound_text() -> None:
    arrow = {**box("arrow"), "type": "arrow", "points": [[0, 0], [9, 9]], "start": {"id": "a"}, "label": {"text": "go"}}
    found = taken(
        scene(
            box("a", label={"text": "Pay", "fontSize": 16, "colour": 1}),
            arrow,
            box("b", label="x"),
            text("l", containerId="b"),
        )
    )
    said = {one.get("containerId"): one["text"] for one in found.scene.elements if one["type"] == "text"}
    assert said == {"a": "Pay", "arrow": "go", "b": "Hello"}
    assert next(one for one in found.scene.elements if one.get("text") == "Pay")["fontSize"] == 16
    assert ("dropped", "a", "label/colour 1: a label has none") in notes(found)
    assert found.scene.by_id["arrow"]["startBinding"]["elementId"] == "a"
    assert not any("label" in one or "start" in one for one in found.scene.elements)
    assert ("dropped", "b", "its label 'x': it has a text already") in notes(found)
    assert sound(found)


@pytest.mark.promise("scene.import.nothing-silent")
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xef\xbb\xbf" + scene(box()), "byte-order mark (UTF-8)"),
        ("\ufeff".encode("utf-16-le") + scene(box()).decode().encode("utf-16-le"), "byte-order mark (UTF-16)"),
        (scene(box(angle=0)).replace(b'"angle": 0', b'"angle": NaN'), "NaN"),
        (scene(box(angle=0)).replace(b'"angle": 0', b'"angle": 1e400'), "1e400"),
        (scene(box(angle=0)).replace(b'"angle": 0', b'"angle": ' + b"9" * 5000), "5000 digits"),
        (scene(box(link="x")).replace(b'"x"', b'"\\ud800"'), "halves of characters"),
        (scene(box(angle=0)).replace(b'"angle": 0', b'"angle": 1, "angle": 0'), "twice"),
        (scene(box(customData={"__proto__": {"a": 1}})), "'__proto__'"),
        (scene(box(), constructor={}), "'constructor'"),
        (scene(box(), appState=[]), "it is no object"),
        (scene(box(), files=5), "it is no object"),
        (scene(box()).replace(b'"excalidraw"', b'"excalidraw/clipboard"'), "its type was"),
        (scene(box()).replace(b'"type": "excalidraw",', b"", 1), "its type was null"),
        (
            scene(box(), files={"f": {"mimeType": "image/png", "dataURL": "data:image/png;base64,AAAA"}}),
            "does not hold",
        ),
        (scene(box(), files={"f": 5}), "is not an object"),
        (
            scene(box(), files={"f": {"mimeType": "image/svg+xml", "dataURL": "data:image/svg+xml;base64,PHN2Zy8+"}}),
            "no SVG document",
        ),
        (
            scene(box(), files={"f": {"mimeType": "image/png", "dataURL": "data:image/gif;base64,R0lGODlh"}}),
            "mimeType was",
        ),
        (
            scene(box(), files={"f": {"mimeType": "image/bmp", "dataURL": "data:image/bmp;base64,Qk0="}}),
            "only some editors",
        ),
    ],
)
def test_a_file_that_strict_readers_refuse_is_read_and_what_was_odd_is_told(data: bytes, said: str) -> None:
    found = taken(data)
    assert any(said in one.what for one in found.notes), found.notes
    assert found.scene.by_id["box"]["type"] == "rectangle"
    assert sound(found) or "only some" in said


DEEP: Final = b'{"type": "excalidraw", "elements": [' + b'{"a": [' * 5000 + b"]}" * 5000 + b"]}"


@pytest.mark.promise("scene.import.refused")
@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "invalid_scene"),
        (b"  \n", "invalid_scene"),
        (b"\0" * 99, "invalid_scene"),
        (b"hello", "invalid_scene"),
        (b"\xff\xfe\x00", "invalid_scene"),
        (b"\xff\xd8\xff\xe0 a JPEG", "invalid_scene"),
        (scene(box())[:-20], "invalid_scene"),
        (DEEP, "invalid_scene"),
        (scene(box(customData={"a": [[[[[[[[1]]]]]]]]})).replace(b"1", b"[" * 70 + b"]" * 70), "invalid_scene"),
        (b"[" * 100_000, "invalid_scene"),
        (b'{"type": "other", "elements": []}', "invalid_scene"),
        (b'{"elements": 5}', "invalid_scene"),
        (b'{"type": "excalidraw", "elements": {}}', "invalid_scene"),
        (b"<html><script>alert(1)</script></html>", "invalid_scene"),
        (b"<svg/>", "invalid_scene"),
        (svg(scene(box()))[:-60], "invalid_scene"),
        (svg(scene(box())).replace(b"payload-start -->", b"payload-start -->%%%"), "invalid_scene"),
        (png(), "invalid_scene"),
        (png(plain(scene(box())))[:-30], "invalid_scene"),
        (SIGNATURE, "invalid_scene"),
        (SIGNATURE + b"\xff\xff\xff\xffIHDR" + b"\0" * 30, "invalid_scene"),
        (SIGNATURE + chunk(b"IDAT", b"") + chunk(b"IEND", b""), "invalid_scene"),
        (png(plain(scene(box()))[:-1] + b"\0"), "invalid_scene"),
        (png(chunk(b"zTXt", b"application/vnd.excalidraw+json\0\1x")), "invalid_scene"),
        (png(chunk(b"iTXt", b"application/vnd.excalidraw+json\0\5\0\0\0{}")), "invalid_scene"),
        (png(chunk(b"tEXt", b"application/vnd.excalidraw+json\0{}")), "invalid_scene"),
        (png(chunk(b"tEXt", b"application/vnd.excalidraw+json\0" + payload(b"x" * 9).encode()[:-9])), "invalid_scene"),
        (svg(b"not JSON"), "invalid_scene"),
        (note("", fence="json"), "invalid_scene"),
        (note(LZ_SCENE[:-40]), "invalid_scene"),
        (note("<script>"), "invalid_scene"),
        (note(LZ_SCENE).replace(b"\n```\n", b""), "invalid_scene"),
        (b"---\nexcalidraw-plugin: parsed\n---\nnothing", "invalid_scene"),
        (scene(text(said="x" * 20_001)), "too_large"),
        (scene(*[box(str(one)) for one in range(20_001)]), "too_many_elements"),
        (scene(files={str(one): {} for one in range(65)}), "too_large"),
        (b'{"type": "excalidraw-skeleton", "elements": [{"type": "frame", "children": ["x"]}]}', "invalid_reference"),
        (b'{"type": "excalidraw-skeleton", "elements": [{"type": "hologram"}]}', "unsupported_element"),
        (b'{"type": "excalidraw-skeleton", "elements": [{"type": "line", "x": "1"}]}', "invalid_operation"),
        (b'{"type": "excalidraw-skeleton", "elements": {}}', "invalid_scene"),
        (b'[{"type": "arrow", "end": {"id": "nobody"}}]', "invalid_reference"),
        (b'{"type": "excalidrawlib", "library": 5}', "invalid_scene"),
    ],
)
def test_what_holds_no_scene_or_cannot_be_read_is_refused_with_its_code(data: bytes, code: str) -> None:
    assert refused(data).code == code


@pytest.mark.promise("scene.import.refused")
@pytest.mark.parametrize(
    "data",
    [
        png(plain(b" " * 3_000_000)),
        png(packed(b" " * 3_000_000)),
        png(chunk(b"zTXt", b"application/vnd.excalidraw+json\0\0" + zlib.compress(b" " * 9_000_000))),
        png(international(b" " * 3_000_000, compressed=True)),
        svg(b" " * 3_000_000),
        note("IY18ZXTt/DFOS1b0c1oA"),
        b" " * 300_000 + b"{}",
    ],
)
def test_what_unpacks_to_more_than_a_scene_may_have_is_refused_as_too_large(data: bytes) -> None:
    small = Limits(max_scene_bytes=100_000) if b"compressed-json" not in data else Limits(max_scene_bytes=290)
    code = refused(data, small).code
    assert code == "too_large" or (data.startswith(b" ") and code == "invalid_scene")


def test_a_skeleton_becomes_shapes_whose_labels_fit_and_arrows_that_end_on_them() -> None:
    found = taken(json.dumps(SKELETON).encode())
    assert (found.format, found.notes) == ("skeletons", ())
    by_id = found.scene.by_id
    arrow = next(one for one in found.scene.elements if one["type"] == "arrow")
    assert (arrow["startBinding"]["elementId"], arrow["endBinding"]["elementId"]) == ("a", "b")
    assert by_id["a"]["boundElements"][0]["type"] in ("text", "arrow")
    right, left = 260, 480
    assert right < arrow["x"] < left
    assert right < arrow["x"] + arrow["points"][-1][0] < left
    texts = {one["containerId"]: one["text"] for one in found.scene.elements if one["type"] == "text"}
    assert texts == {"a": "Ingest", "b": "Store"}
    assert sound(found)


def test_a_bare_array_with_targets_made_on_the_way_and_frames_around_children() -> None:
    elements = [
        {"type": "rectangle", "id": "fit", "label": {"text": "A long label", "color": "red"}},
        {"type": "text", "id": "words", "x": 0, "y": 200, "text": "Words", "width": 3},
        {
            "type": "arrow", "id": "go", "x": 300, "y": 0, "start": {"type": "diamond", "id": "d"},
            "end": {"type": "text", "text": "End"}, "startBinding": {"elementId": "x"}, "label": {"text": "go"},
        },
        {"type": "line", "id": "line", "x": 0, "y": 300, "start": {"id": "fit"}},
        {"type": "frame", "id": "frame", "children": ["fit", "words"], "name": "Part", "opacity": 50},
    ]  # fmt: skip
    found = taken(json.dumps(elements).encode())
    by_id = found.scene.by_id
    assert by_id["fit"]["width"] > 100 > by_id["fit"]["height"]
    frame = by_id["frame"]
    assert (by_id["fit"]["frameId"], by_id["words"]["frameId"], frame["name"]) == ("frame", "frame", "Part")
    assert (frame["x"], frame["y"]) == (-10, -10)
    assert frame["width"] == by_id["fit"]["width"] + 20
    end = by_id[by_id["go"]["endBinding"]["elementId"]]
    assert (end["text"], by_id["go"]["startBinding"]["elementId"]) == ("End", "d")
    assert {(deed, about) for deed, about, _ in notes(found)} == {
        ("dropped", "fit"), ("dropped", "go"), ("dropped", "line"), ("dropped", "frame"),
    }  # fmt: skip
    assert sound(found)


def test_a_library_of_either_version_becomes_items_and_a_scene_of_them_side_by_side() -> None:
    one, two = [box("a"), text("t", containerId="a")], [box("a", x=900, y=900)]
    old = {"type": "excalidrawlib", "version": 1, "library": [one, two, []]}
    item = {"id": "i", "status": "published", "elements": one, "created": 1, "name": "First"}
    bad = [{**item, "elements": [{"type": "image", "id": "p", "x": 0, "y": 0, "width": 1, "height": 1}]}, 5]
    new = {"type": "excalidrawlib", "version": 2, "libraryItems": [item, {**item, "elements": two}, *bad]}
    for value, kept in ((old, 2), (new, 2)):
        found = taken(json.dumps(value).encode())
        assert (found.format, len(found.items)) == ("library", kept)
        assert len({one["id"] for one in found.items}) == kept
        boxes = [one for one in found.scene.elements if one["type"] == "rectangle"]
        assert len({one["id"] for one in boxes}) == 2
        assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
        assert found.counts["dropped"] >= 1
        assert sound(found)


@pytest.mark.parametrize("seed", range(12))
def test_no_damage_to_any_format_ends_in_anything_but_a_scene_or_a_code(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - damage, no secret
    skeletons, rich = json.dumps(SKELETON).encode(), scene(box(), text(containerId="box"), files={})
    for whole in (rich, skeletons, svg(rich), png(plain(rich), packed(rich)), note(LZ_SCENE), note(rich.decode())):
        for _ in range(25):
            data = bytearray(whole)
            for _ in range(chance.randrange(1, 6)):
                at = chance.randrange(len(data))
                match chance.randrange(3):
                    case 0:
                        data[at] = chance.randrange(256)
                    case 1:
                        del data[at : at + chance.randrange(1, 40)]
                    case _:
                        data[at:at] = chance.choice([b"null", b"-1e999", b"[", b'"', b"\\ud800", b"\0", b"{}"])
                data = data or bytearray(b" ")
            try:
                found = taken(bytes(data))
            except CountermarkError as error:
                assert error.code in STATUS, error.code  # noqa: PT017
                assert error.code != "io_error"  # noqa: PT017
            else:
                assert json.loads(document.dump(found.scene))["type"] == "excalidraw"
