"""`countermark scene render`, as a person or a program uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.kernel.workspace import Workspace
from countermark.scene import node
from tests.conftest import unavailable

from .conftest import Here

BOX = {"id": "box", "type": "rectangle", "x": 0, "y": 0, "width": 120, "height": 60, "seed": 7}
SCENE = {"type": "excalidraw", "version": 2, "source": "test", "elements": [BOX], "appState": {}, "files": {}}


@pytest.fixture
def here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Here:
    try:
        node.find()
    except CountermarkError as error:
        unavailable("scene render", error.sentence)
    Workspace.create(tmp_path / "space").close()
    (tmp_path / "space" / "plan.excalidraw").write_text(json.dumps(SCENE))
    return Here(tmp_path / "space", capsys)


def test_a_picture_is_written_once_and_replaced_only_when_asked(here: Here) -> None:
    done = here("scene", "render", "plan", "-o", "plan.svg")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("Rendered plan to plan.svg.\n")
    assert "140 by 80 px" in done.out
    made = (here.folder / "plan.svg").read_bytes()
    assert made.startswith(b"<svg ")
    again = here.json("scene", "render", "plan", "--png", "-o", "plan.svg")
    assert (again.error["code"], "--replace" in again.error["next"]) == ("output_exists", True)
    assert (here.folder / "plan.svg").read_bytes() == made
    here("scene", "render", "plan", "--dark", "-o", "plan.svg", "--replace")
    assert b"invert(93%)" in (here.folder / "plan.svg").read_bytes()


def test_without_a_file_an_svg_goes_to_standard_output_and_json_holds_it(here: Here) -> None:
    said = here("scene", "render", "plan").out
    assert said.startswith("<svg ")
    assert said.endswith("</svg>")
    facts = here.json("scene", "render", "plan").data
    assert (facts["svg"], facts["revision"], facts["width"], facts["warnings"]) == (said, 1, 140, [])


def test_what_a_png_cannot_hold_is_refused(here: Here) -> None:
    for flag in ("--embed-scene", "--no-fonts"):
        refused = here.json("scene", "render", "plan", "--png", flag, "-o", "plan.png")
        assert refused.error["code"] == "input_invalid"
    assert not (here.folder / "plan.png").exists()


def test_a_scene_that_is_not_there_and_a_revision_that_is_not_kept_write_nothing(here: Here) -> None:
    for arguments in (("nothing",), ("plan", "--revision", "9")):
        missing = here.json("scene", "render", *arguments, "-o", "plan.svg")
        assert (missing.status, missing.error["code"]) == (3, "not_found")
    assert not (here.folder / "plan.svg").exists()
