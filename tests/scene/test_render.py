"""A scene as a picture without a browser; what the browser makes of the same scenes is compared in tests/real."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.kernel.process import descendants_alive
from countermark.kernel.workspace import Workspace
from countermark.raster.picture import decode_png
from countermark.scene import exporter, node
from countermark.scene.adapter import SceneAdapter
from countermark.scene.desk import Desk, Wanted
from countermark.scene.render import render
from countermark.typeset import measure
from tests.conftest import unavailable

SVG = "{http://www.w3.org/2000/svg}"
BOX = {"id": "box", "type": "rectangle", "x": 0, "y": 0, "width": 120, "height": 60, "seed": 7}
FRAME = {"id": "frame", "type": "frame", "x": 0, "y": 0, "width": 100, "height": 60, "name": "A title longer than that"}

Draws = Callable[..., Desk]


@pytest.fixture(scope="module", autouse=True)
def parts() -> node.Parts:
    """Return Node and the bundle."""
    try:
        return node.find()
    except CountermarkError as error:
        unavailable("scene render", error.sentence)


@pytest.fixture
def draws(tmp_path: Path) -> Iterator[Draws]:
    """Lay a scene of these elements into a workspace and stand before it."""
    with Workspace.create(tmp_path / "space", adapters=[SceneAdapter()]) as workspace:
        desk = Desk(workspace, actor="agent")

        def put(*elements: dict[str, Any], name: str = "plan", **members: Any) -> Desk:
            whole = {"type": "excalidraw", "version": 2, "source": "test", "elements": elements, "files": {}, **members}
            (tmp_path / "space" / f"{name}.excalidraw").write_text(json.dumps(whole))
            return desk

        yield put
        desk.close()


def text(said: str, **more: Any) -> dict[str, Any]:
    size = {"x": 10, "y": 10, "width": 80, "height": 25}
    style = {"fontSize": 20, "fontFamily": 5, "textAlign": "left", "verticalAlign": "top", "lineHeight": 1.25}
    kept = {"containerId": None, "originalText": said, "autoResize": True}
    return {"id": "text", "type": "text", "text": said, **size, **style, **kept, **more}


def test_the_same_scene_gives_the_same_bytes_from_a_warm_and_from_a_new_child(draws: Draws) -> None:
    desk = draws(BOX, text("Hello"))
    first = render(desk, "plan", embed_scene=True)
    again = render(desk, "plan", embed_scene=True)
    desk.exporter().close()
    fresh = render(desk, "plan", embed_scene=True)
    assert first.data == again.data == fresh.data
    assert (first.width, first.height, first.warnings) == (140, 80, ())


def test_used_characters_of_the_fonts_are_inside_and_nothing_is_elsewhere(draws: Draws) -> None:
    desk = draws(text("Hello"), text("Box", id="other", fontFamily=7), text("世界", id="east"))
    said = render(desk, "plan").data.decode()
    found = re.findall(r"@font-face \{ font-family: (\"?[\w ]+\"?); src: url\(([^)]{20})", said)
    assert [family for family, _ in found] == ["Xiaolai", "Excalifont", '"Lilita One"']
    assert {address for _, address in found} == {"data:font/woff2;base"}
    bare = render(desk, "plan", fonts=False).data.decode()
    assert "@font-face" not in bare
    assert len(bare) < len(said) / 3
    assert re.findall(r"https?://(?!www\.w3\.org/)", said + bare) == []


def test_a_frame_cuts_its_title_by_real_widths(draws: Draws) -> None:
    desk = draws(FRAME)
    titles = ET.fromstring(render(desk, "plan").data).iter(f"{SVG}text")
    assert [one.text for one in titles] == ["A title longer t..."]


def test_scale_and_background_and_dark_are_the_editors(draws: Draws) -> None:
    desk = draws(BOX, appState={"viewBackgroundColor": "#ffeecc"})
    large = ET.fromstring(render(desk, "plan", scale=2, dark=True).data)
    assert (large.get("width"), large.get("viewBox")) == ("280", "0 0 140 80")
    assert large.get("filter") == "invert(93%) hue-rotate(180deg)"
    assert "#ffeecc" in render(desk, "plan").data.decode()
    assert "#ffeecc" not in render(desk, "plan", background=False).data.decode()


def test_an_earlier_revision_is_drawn_as_it_was(draws: Draws) -> None:
    desk = draws(BOX)
    first = render(desk, "plan")
    desk.apply("plan", [{"op": "delete", "id": "box"}], None, Wanted(first.revision))
    assert render(desk, "plan").data != first.data
    then = render(desk, "plan", revision=first.revision)
    assert (then.data, then.sha256) == (first.data, first.sha256)


def test_a_no_break_space_and_a_control_character_leave_the_svg_readable(draws: Draws) -> None:
    desk = draws(text("a\u00a0b\u0001c"))
    [drawn] = ET.fromstring(render(desk, "plan").data).iter(f"{SVG}text")
    assert drawn.text == "a\u00a0bc"


def test_what_the_editor_cannot_draw_is_refused_with_its_place(draws: Draws) -> None:
    desk = draws({**BOX, "strokeColor": {}})
    with pytest.raises(CountermarkError) as refused:
        render(desk, "plan")
    assert refused.value.code == "invalid_scene"
    assert refused.value.details == {"pointer": "/elements/0/strokeColor", "element": "box"}


def test_what_is_deleted_is_neither_drawn_nor_judged(draws: Draws) -> None:
    desk = draws(BOX, {**BOX, "id": "gone", "x": 900, "strokeColor": {}, "isDeleted": True})
    assert render(desk, "plan").width == 140


def test_a_dangling_binding_is_drawn_and_told(draws: Draws) -> None:
    line = {"x": 0, "y": 0, "width": 90, "height": 0, "points": [[0, 0], [90, 0]]}
    bound = {"elementId": "nobody", "focus": 0, "gap": 1}
    desk = draws({"id": "arrow", "type": "arrow", **line, "startBinding": bound, "endBinding": None})
    [said] = render(desk, "plan").warnings
    assert said.startswith("/elements/0/startBinding/elementId: ")


@pytest.mark.parametrize("scale", [0, -1, 0.09, 10.5, float("nan")])
def test_a_scale_out_of_bounds_is_refused(draws: Draws, scale: float) -> None:
    with pytest.raises(CountermarkError, match="scaled by"):
        render(draws(BOX), "plan", scale=scale)


def test_a_child_that_died_is_started_again(draws: Draws) -> None:
    desk = draws(BOX)
    first = render(desk, "plan")
    child = desk.exporter()._child  # noqa: SLF001 - the test is the accident
    assert child is not None
    child.stop(0.0)
    assert render(desk, "plan").data == first.data


def test_without_node_or_bundle_the_next_step_is_said(
    draws: Draws, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    desk = draws(BOX)
    with monkeypatch.context() as patch:
        patch.setattr(node, "WHEEL", "no_such_package")
        patch.setenv("PATH", str(tmp_path))
        with pytest.raises(CountermarkError) as missing:
            render(desk, "plan")
    assert (missing.value.code, "countermark[scene-render]" in missing.value.next_action) == ("part_unavailable", True)
    monkeypatch.setenv("COUNTERMARK_EDITOR", str(tmp_path))
    with pytest.raises(CountermarkError) as missing:
        render(desk, "plan")
    assert (missing.value.code, "make editor" in missing.value.next_action) == ("part_unavailable", True)


def test_a_bundle_of_another_version_is_not_used(
    draws: Draws, monkeypatch: pytest.MonkeyPatch, parts: node.Parts, tmp_path: Path
) -> None:
    other = tmp_path / "main.mjs"
    other.write_text(parts.bundle.read_text().replace("padding", "margins"))
    for file in parts.bundle.parent.glob("*.mjs"):
        if file.name != other.name:
            (tmp_path / file.name).symlink_to(file)
    monkeypatch.setattr(node, "find", lambda: parts._replace(bundle=other))
    with pytest.raises(CountermarkError, match="another version"):
        render(draws(BOX), "plan")


def test_an_exporter_that_nobody_closed_leaves_no_child(draws: Draws) -> None:
    workspace = draws(BOX).workspace
    forgotten = exporter.Exporter(workspace)
    forgotten.export(json.dumps({"elements": [], "files": {}}), exporter.Look())
    live = workspace.locks / "render-0.live"
    assert descendants_alive(live)
    del forgotten
    gc.collect()
    assert not descendants_alive(live)


def test_a_scene_that_takes_too_long_is_stopped(draws: Draws, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = draws(BOX)
    render(desk, "plan")
    monkeypatch.setattr(exporter, "SECONDS", 0.0)
    with pytest.raises(CountermarkError) as late:
        render(desk, "plan")
    assert late.value.code == "deadline_exceeded"


def painted(data: bytes) -> Any:
    return decode_png(data).rgba[..., :3]


def test_a_png_has_the_scene_in_whole_pixels_with_its_texts_in_their_own_fonts(draws: Draws) -> None:
    desk = draws({**BOX, "backgroundColor": "#ff0000", "fillStyle": "solid"}, text("Hi", x=150, width=50))
    made = render(desk, "plan", format="png", scale=2)
    assert (made.media_type, made.width, made.height, made.warnings) == ("image/png", 440, 160, ())
    shown = painted(made.data)
    assert shown.shape == (160, 440, 3)
    assert shown[80, 140].tolist() == [255, 0, 0]
    letters = shown[20:120, 320:420].min()
    assert letters < 60
    other = painted(render(draws(text("Hi", fontFamily=3), name="other"), "other", format="png", scale=2).data)
    same = painted(render(draws(text("Hi"), name="same"), "same", format="png", scale=2).data)
    assert other.shape == same.shape
    assert (other != same).any()


def test_in_a_png_every_character_is_in_the_face_that_has_it(draws: Draws) -> None:
    desk = draws(text("a 世 ≤ b"))
    assert render(desk, "plan", format="png").warnings == ()
    [said] = render(draws(text("ok 😀"), name="smile"), "smile", format="png").warnings
    assert said == "no font here has 😀 (U+1F600): left out of the picture"


def test_a_dark_png_is_dark(draws: Draws) -> None:
    shown = painted(render(draws(BOX), "plan", format="png", dark=True).data)
    assert shown[2, 2].max() < 20


def test_a_png_of_too_many_pixels_is_refused(draws: Draws) -> None:
    desk = draws({**BOX, "width": 9000, "height": 9000})
    with pytest.raises(CountermarkError) as refused:
        render(desk, "plan", format="png", scale=1)
    assert (refused.value.code, refused.value.details["limit"]) == ("too_large", 64 << 20)


def test_a_picture_leaves_no_file_and_no_child(draws: Draws) -> None:
    desk = draws(text("Hi"))
    render(desk, "plan", format="png")
    home = desk.workspace.path / ".countermark"
    assert list((home / "stage").iterdir()) == []
    locks = sorted(path.name for path in (home / "locks").glob("render-*.live"))
    assert locks == ["render-0.live", "render-1.live"]
    desk.exporter().close()
    assert not any(descendants_alive(home / "locks" / name) for name in locks)


def test_a_font_piece_that_is_not_there_is_an_error_and_no_address_elsewhere(
    draws: Draws, monkeypatch: pytest.MonkeyPatch, parts: node.Parts, tmp_path: Path
) -> None:
    monkeypatch.setattr(node, "find", lambda: parts._replace(fonts=(tmp_path,)))
    with pytest.raises(CountermarkError, match="would fetch a font from elsewhere") as failed:
        render(draws(text("Hello")), "plan")
    assert failed.value.code == "child_failed"


def test_what_the_editor_measures_is_measured_until_it_asks_for_nothing_new(draws: Draws) -> None:
    link = "https://example.org/" + "a-path/with-many-parts/" * 12
    desk = draws({**BOX, "type": "embeddable", "link": link})
    lines = [one.text or "" for one in ET.fromstring(render(desk, "plan").data).iter(f"{SVG}text")]
    assert "".join(lines) == link
    widths = [measure(one, 2, 4).width for one in lines]
    assert len(lines) > 4
    assert all(60 < width <= 100 for width in widths[:-1])


def test_nothing_is_left_out_of_a_hand_drawn_line(draws: Draws) -> None:
    line = {**BOX, "type": "freedraw", "points": [[0, 0], [30, 20], [60, 0]], "pressures": [], "simulatePressure": True}
    made = render(draws(line), "plan")
    assert made.warnings == ()
    assert len(list(ET.fromstring(made.data).iter(f"{SVG}path"))) == 1
