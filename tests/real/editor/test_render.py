"""Scenes drawn without a browser are the browser's own export: a sample of what benchmarks/scene_render.py compares."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchmarks._editor import Editor, editor, lacking
from countermark.kernel.errors import CountermarkError
from countermark.kernel.workspace import Workspace
from countermark.raster.picture import decode_png
from countermark.scene import node, picture
from countermark.scene.exporter import Exporter, Look
from tests.conftest import unavailable

if TYPE_CHECKING:
    from playwright.sync_api import Playwright

# One worker for all: a browser, the bundled editor and the render child are started once.
pytestmark = pytest.mark.xdist_group("render")

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9Q"
    "DwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
FILE = {"id": "pixel", "mimeType": "image/png", "dataURL": PIXEL, "created": 1}
# Each of fonts, colours and scene both ways, and each pair of them met.
WAYS = [
    Look(dark=False, fonts=False, embed=True),
    Look(dark=False, fonts=True, embed=False),
    Look(dark=True, fonts=False, embed=False),
    Look(dark=True, fonts=True, embed=True, background=False, scale=1.5),
]


def one(identifier: str, kind: str, x: float, y: float, **more: Any) -> dict[str, Any]:
    return {"id": identifier, "type": kind, "x": x, "y": y, "width": 120, "height": 70, "seed": 11, **more}


def text(identifier: str, said: str, x: float, y: float, family: int = 5, **more: Any) -> dict[str, Any]:
    style = {"fontSize": 20, "fontFamily": family, "textAlign": "left", "verticalAlign": "top", "lineHeight": 1.25}
    return one(identifier, "text", x, y, text=said, originalText=said, containerId=None, **style, **more)


def filled(colour: str, style: str) -> dict[str, Any]:
    return {"backgroundColor": colour, "fillStyle": style}


def everything() -> str:
    """Return a scene with what the browser, its fonts or its clock has a part in: no order keys, ids given twice."""
    wave = [[step * 9.7, step * step % 13 * 3.1] for step in range(15)]
    ends: dict[str, Any] = {
        "startBinding": None,
        "endBinding": None,
        "startArrowhead": "dot",
        "endArrowhead": "triangle",
    }
    ends |= {"boundElements": [{"type": "text", "id": "l"}]}
    elements = [
        one(
            "box", "rectangle", 0, 0, backgroundColor="#a5d8ff", fillStyle="hachure", roundness={"type": 3}, frameId="f"
        ),
        one("f", "frame", -10, -10, name="A title that is <longer> than its frame"),
        one("g", "magicframe", 150, -10, angle=0.3, opacity=60),
        one(
            "round", "ellipse", 300, 0, fillStyle="zigzag", backgroundColor="#ffc9c9", strokeStyle="dashed", roughness=2
        ),
        one("tilted", "diamond", 450, 0, angle=0.5, opacity=50, link="https://example.org/?a=1&b=2"),
        one(
            "line",
            "arrow",
            0,
            120,
            points=[[0, 0], [60, 50], [120, 0]],
            **ends,
        ),
        text("l", "label", 40, 150) | {"containerId": "line", "width": 50, "height": 25},
        one("hand", "freedraw", 150, 120, points=wave, pressures=[], simulatePressure=True),
        one("zero", "rectangle", 300, 120) | {"seed": 0},
        one("box", "ellipse", 450, 120),
        one("im", "image", 0, 240, fileId="pixel", status="saved", scale=[-1, 1], roundness={"type": 3}),
        one("page", "embeddable", 150, 240, link="https://example.org/a-bc") | {"width": 240, "height": 120},
        text("t1", "世界 hello 한국어\nfi → a\u00a0b", 450, 240),
        text("t2", "Lilita & Co", 450, 320, 7),
        text("t3", "Comic  two", 0, 340, 8),
    ]
    whole = {"type": "excalidraw", "version": 2, "source": "test", "elements": elements, "files": {"pixel": FILE}}
    return json.dumps({**whole, "appState": {"viewBackgroundColor": "#fffbe6"}})


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace.create(tmp_path_factory.mktemp("render") / "space") as opened:
        yield opened


@pytest.fixture(scope="module")
def export(workspace: Workspace) -> Iterator[Exporter]:
    try:
        node.find()
    except CountermarkError as error:
        unavailable("scene render", error.sentence)
    made = Exporter(workspace)
    yield made
    made.close()


@pytest.fixture(scope="module")
def peer(playwright: Playwright, chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """Return the npm editor in a browser with one font, two pixels to the CSS pixel."""
    del chromium
    if missing := lacking():
        unavailable(missing, "the npm editor cannot be shown without")
    with editor(playwright, tmp_path_factory.mktemp("fonts"), scale=2.0) as opened:
        yield opened


@pytest.mark.promise("scene.render.byte-equal")
@pytest.mark.parametrize("look", WAYS)
def test_the_svg_is_byte_for_byte_what_the_browser_exports(export: Exporter, peer: Editor, look: Look) -> None:
    made = export.export(everything(), look)
    assert made.svg == peer.export(everything(), look)
    assert made.complaints == ()


@pytest.mark.promise("scene.render.byte-equal")
@pytest.mark.parametrize("name", ["22-diagram", "43-test-arrowheads", "46-test-image-from-data"])
def test_a_real_scene_too(export: Exporter, peer: Editor, shared_data: Path, name: str) -> None:
    said = (shared_data / "scenes" / f"{name}.excalidraw").read_text("utf-8")
    for look in (WAYS[0], WAYS[3]):
        assert export.export(said, look).svg == peer.export(said, look)


def test_the_png_is_what_the_browser_shows(
    workspace: Workspace, export: Exporter, peer: Editor, shared_data: Path
) -> None:
    said = (shared_data / "scenes" / "50-test-text-fonts.excalidraw").read_text("utf-8")
    bare = export.export(said, Look(fonts=False)).svg
    size = tuple(float(bare.partition(f' {side}="')[2].partition('"')[0]) for side in ("width", "height"))
    ours = decode_png(picture.draw(workspace, bare, (size[0], size[1]), 2.0)[0]).rgba[..., :3].astype(int)
    theirs = peer.picture(export.export(said, Look()).svg, int(size[0] + 1), int(size[1] + 1))[..., :3].astype(int)
    off = np.abs(ours - theirs[: ours.shape[0], : ours.shape[1]]).max(axis=2) > 128
    assert off.mean() < 0.005
    assert (theirs.min(axis=2) < 128).mean() > 0.02
