"""The calls for seeing a scene, and what their links name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.kernel.tool import Result
from countermark.kernel.workspace import Workspace
from countermark.raster.picture import png_size
from countermark.scene import node, view
from countermark.scene.adapter import SceneAdapter
from countermark.scene.desk import Desk, Wanted
from tests.conftest import unavailable

BOX = {"type": "rectangle", "id": "box", "x": 0, "y": 0, "width": 100, "height": 50, "label": "API"}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """A scene of two revisions."""
    with Workspace.create(tmp_path / "space", adapters=[SceneAdapter()]) as made:
        desk = Desk(made, actor="agent")
        desk.create("plan", {"elements": [BOX]})
        desk.apply("plan", [{"op": "update", "id": "box", "patch": {"x": 40}}], None, Wanted(1))
        yield made
        desk.close()


def call(workspace: Workspace, name: str, **arguments: Any) -> Result:
    tool = next(one for one in view.TOOLS if one.name == f"excalidraw_scene_{name}")
    return tool.call(workspace, {"name": "plan", **arguments})


def test_what_a_link_names_can_be_read(workspace: Workspace) -> None:
    found = call(workspace, "diff")
    assert found.data["changed"] == [{"id": "box", "name": "box “API”", "what": ["moved 40 px right"]}]
    assert [link.name for link in found.links] == ["plan.1.excalidraw", "plan.2.excalidraw"]
    for link, x in zip(found.links, (0, 40), strict=True):
        there = view.resource(workspace, link.uri)
        assert there is not None
        assert there.media_type == link.media_type
        assert json.loads(there.text)["elements"][0]["x"] == x
    whole = view.resource(workspace, "countermark://scene/plan")
    assert whole is not None
    assert whole.text.encode() == (workspace.path / "plan.excalidraw").read_bytes()


@pytest.fixture
def drawing() -> None:
    """Need what draws scenes."""
    try:
        node.find()
    except CountermarkError as error:
        unavailable("scene render", error.sentence)


@pytest.mark.usefixtures("drawing")
def test_a_scene_comes_as_a_picture_with_its_svg_as_a_link(workspace: Workspace) -> None:
    seen = call(workspace, "render", revision=1, scale=2)
    (picture,) = seen.pictures
    assert (picture.media_type, png_size(picture.data)) == ("image/png", (seen.data["width"], seen.data["height"]))
    (link,) = seen.links
    assert link.uri == "countermark://scene/plan/1.svg"
    there = view.resource(workspace, link.uri)
    assert there is not None
    assert there.media_type == link.media_type == "image/svg+xml"
    assert there.text.startswith("<svg ")
    assert call(workspace, "render", format="svg").pictures == ()
    (marks,) = call(workspace, "diff", picture=True).pictures
    assert png_size(marks.data)[0] > png_size(picture.data)[0] / 2
    assert not call(workspace, "diff").pictures


@pytest.mark.parametrize(
    "uri", ["countermark://scene/../plan", "countermark://scene/plan/1.png", "countermark://task/x/receipt", "plan"]
)
def test_another_link_names_nothing(workspace: Workspace, uri: str) -> None:
    assert view.resource(workspace, uri) is None


def test_a_link_to_what_is_not_kept_is_refused(workspace: Workspace) -> None:
    with pytest.raises(CountermarkError, match="not kept") as caught:
        view.resource(workspace, "countermark://scene/plan/7.excalidraw")
    assert caught.value.code == "not_found"


def test_an_answer_is_short_and_says_what_it_leaves_out(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "MOST_ROWS", 3)
    many = [{"op": "add", "element": {**BOX, "id": f"b{place}", "y": 90 * place + 90}} for place in range(5)]
    desk = Desk(workspace, actor="agent")
    desk.apply("plan", many, None, Wanted(2))
    found = call(workspace, "diff").data
    assert (len(found["lines"]), found["left"], found["summary"]) == (3, 2, "5 added")
    for place in range(5):
        desk.apply("plan", [{"op": "update", "id": "b0", "patch": {"x": place + 1}}], None, Wanted(3 + place))
    rows = call(workspace, "history")
    assert (len(rows.data["versions"]), rows.data["left"]) == (3, 5)
