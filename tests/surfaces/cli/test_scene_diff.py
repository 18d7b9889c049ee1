"""`countermark scene diff`, `watch` and `lint` on real scenes of a real workspace."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.kernel.workspace import Workspace
from countermark.scene import node
from countermark.scene.adapter import SceneAdapter
from countermark.scene.desk import Desk, Wanted
from countermark.surfaces.cli.scene_watch import Witness
from tests.conftest import unavailable

from .conftest import Here

BOX = {"type": "rectangle", "id": "box", "x": 0, "y": 0, "width": 100, "height": 50, "label": "API"}


@pytest.fixture
def here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Here:
    with Workspace.create(tmp_path / "space", adapters=[SceneAdapter()]) as workspace:
        desk = Desk(workspace, actor="cli")
        desk.create("plan", {"elements": [BOX]})
        apply(desk, {"op": "update", "id": "box", "patch": {"x": 40}})
        apply(desk, {"op": "add", "element": {"type": "ellipse", "id": "e", "x": 9, "y": 9, "width": 9, "height": 9}})
        desk.close()
    return Here(tmp_path / "space", capsys)


def apply(desk: Desk, *operations: dict[str, Any]) -> None:
    revision = desk.read("plan").revision
    desk.apply("plan", list(operations), None, Wanted(revision))


def test_two_revisions_are_told_apart_in_words(here: Here) -> None:
    said = here("scene", "diff", "plan")
    assert (said.status, said.err) == (0, "")
    assert said.out == "plan, revision 2 to 3: 1 added.\n\n+ ellipse at 9, 9\n"
    assert "~ box “API” moved 40 px right" in here("scene", "diff", "plan", "1").out
    assert "- ellipse at 9, 9" in here("scene", "diff", "plan", "3", "1").out
    data = here.json("scene", "diff", "plan", "1", "2").data
    assert (data["from"]["revision"], data["to"]["revision"]) == (1, 2)
    assert data["changed"][0]["fields"]["x"] == {"from": 0, "to": 40}


def test_a_revision_that_is_not_kept_is_not_found(here: Here) -> None:
    assert here("scene", "diff", "plan", "9").status == 3
    assert here("scene", "diff", "plan", "1", "9").status == 3
    assert here("scene", "diff", "none").status == 3


def test_a_picture_is_drawn_by_its_ending_or_refused_before_anything_is_done(here: Here) -> None:
    said = here("scene", "diff", "plan", "-o", "changes.pdf")
    assert (said.status, "changes.pdf ends in none of .svg or .png" in said.err) == (2, True)
    try:
        node.find()
    except CountermarkError as error:
        unavailable("scene render", error.sentence)
    said = here("scene", "diff", "plan", "-o", "changes.svg")
    assert "Drawn to changes.svg" in said.out
    assert "#2f9e44" in (here.folder / "changes.svg").read_text()
    assert here("scene", "diff", "plan", "-o", "changes.svg").status != 0
    assert here("scene", "diff", "plan", "-o", "changes.svg", "--replace").status == 0


def test_a_watch_tells_who_changed_what_a_rename_and_an_end(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    with Workspace(here.folder, adapters=[SceneAdapter()]) as workspace:
        desk, agent = Desk(workspace, actor="cli"), Desk(workspace, actor="agent")
        path = here.folder / "plan.excalidraw"

        def by_another_program() -> None:
            scene = json.loads(path.read_text())
            scene["elements"][0]["strokeColor"] = "#e03131"
            path.write_text(json.dumps(scene))

        steps: Iterator[Callable[[], object]] = iter(
            [
                lambda: apply(agent, {"op": "update", "id": "box", "patch": {"y": 12}}),
                by_another_program,
                lambda: agent.rename("plan", "plan2", Wanted(None)),
                lambda: agent.trash("plan2", Wanted(None)),
            ]
        )
        monkeypatch.setattr("time.sleep", lambda _: next(steps)())
        told = list(islice(Witness(desk, None).changes(), 4))
        desk.close()
        agent.close()
    assert [(one["name"], one["change"], one.get("by")) for one in told] == [
        ("plan", "changed", "agent"),
        ("plan", "changed", "recovery"),
        ("plan", "renamed", None),
        ("plan2", "removed", None),
    ]
    assert told[0]["lines"] == ["~ box “API” moved 12 px down"]
    assert told[1]["lines"] == ["~ box “API”: its stroke is now #e03131 (was #1e1e1e)"]
    assert told[2]["to"] == "plan2"


def test_a_watch_ends_after_the_changes_it_was_asked_for(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    def change(_: float) -> None:
        with Workspace(here.folder, adapters=[SceneAdapter()]) as workspace:
            desk = Desk(workspace, actor="agent")
            apply(desk, {"op": "delete", "id": "e"})
            desk.close()

    monkeypatch.setattr("time.sleep", change)
    said = here("scene", "watch", "plan", "--changes", "1")
    assert "plan  revision 4, by agent: 1 removed" in said.out
    assert "- ellipse at 9, 9" in said.out
    assert said.out.startswith("Watching plan in ")
    assert here("scene", "watch", "none").status == 3


def test_ctrl_c_is_how_a_watch_ends(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupted)
    said = here("scene", "watch")
    assert (said.status, said.err) == (0, "")


def test_what_looks_wrong_is_told_and_its_operations_are_what_apply_takes(here: Here) -> None:
    assert here("scene", "lint", "plan").out == "plan: nothing looks wrong.\n"
    crossing = [{"op": "add", "element": {**BOX, "id": "other", "x": 100, "y": 20, "label": "DB"}}]
    (here.folder / "crossing.json").write_text(json.dumps(crossing))
    assert here("scene", "apply", "plan", "crossing.json").status == 0
    said = here("scene", "lint", "plan")
    assert "plan, revision 4: 1 finding.\n\noverlap\n  Box “API” and box “DB” overlap by 40 by 30 px." in said.out
    data = here.json("scene", "lint", "plan").data
    assert (data["revision"], data["counts"], data["left"]) == (4, {"overlap": 1}, 0)
    (here.folder / "mend.json").write_text(here("scene", "lint", "plan", "--operations").out)
    assert here("scene", "apply", "plan", "mend.json").status == 0
    assert here("scene", "lint", "plan").out == "plan: nothing looks wrong.\n"
