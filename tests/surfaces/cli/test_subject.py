"""A scene verified where it lies, by the receipt of its last save, and a task by its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from countermark.kernel.workspace import Workspace

from .conftest import Desk, Here, program

BOX = {"type": "rectangle", "id": "box", "x": 0, "y": 0, "width": 100, "height": 50, "label": "Review"}


@pytest.fixture
def here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Here:
    with Workspace.create(tmp_path / "space"):
        pass
    here = Here(tmp_path / "space", capsys)
    (here.folder / "boxes.json").write_text(json.dumps([BOX]))
    assert here("scene", "create", "plan", "--elements", "boxes.json", "--request-id", "one").status == 0
    return here


def test_a_scene_is_verified_by_the_receipt_of_its_last_save_made_on_demand(here: Here) -> None:
    said = here("receipt", "verify", "plan.excalidraw")
    assert (said.status, said.err) == (0, "")
    assert "signed by this workspace" in said.out
    assert "plan.excalidraw as signed; what lies beside was not looked at" in said.out
    shown = here("receipt", "show", "plan.excalidraw").out
    assert "scene:plan  absent  ->  1" in shown
    (here.folder / "move.json").write_text('[{"op": "update", "id": "box", "patch": {"x": 9}}]')
    assert here("scene", "apply", "plan", "move.json").status == 0
    again = here.json("receipt", "verify", "plan.excalidraw").data
    assert again["files"] == ["plan.excalidraw"]
    assert "scene:plan  1  ->  2" in here("receipt", "show", "plan.excalidraw").out


def test_one_changed_byte_is_named_and_looking_changes_nothing(here: Here) -> None:
    file = here.folder / "plan.excalidraw"
    changed = file.read_bytes().replace(b"Review", b"Reviev")
    file.write_bytes(changed)
    for _ in range(2):
        said = here.json("receipt", "verify", "plan.excalidraw")
        assert (said.status, said.error["code"]) == (1, "receipt_mismatch")
        assert said.error["details"]["changed"] == ["plan.excalidraw"]
    assert "plan.excalidraw was changed" in here("receipt", "verify", "plan.excalidraw").err
    assert file.read_bytes() == changed
    assert here.json("task", "list").data["tasks"][1:] == []


def test_a_missing_scene_and_a_link_in_its_place_are_named(here: Here) -> None:
    file = here.folder / "plan.excalidraw"
    file.rename(here.folder / "away")
    said = here.json("receipt", "verify", "plan.excalidraw")
    assert (said.status, said.error["details"]["missing"]) == (1, ["plan.excalidraw"])
    file.symlink_to(here.folder / "away")
    said = here.json("receipt", "verify", "plan.excalidraw")
    assert (said.status, said.error["details"]["irregular"]) == (1, ["plan.excalidraw"])


def test_a_scene_that_no_task_wrote_has_no_receipt(here: Here, tmp_path: Path) -> None:
    (here.folder / "mine.excalidraw").write_bytes((here.folder / "plan.excalidraw").read_bytes())
    (tmp_path / "plan.excalidraw").write_bytes((here.folder / "plan.excalidraw").read_bytes())
    for path in ("mine.excalidraw", "none.excalidraw", "../plan.excalidraw"):
        for verb in ("show", "verify"):
            said = here.json("receipt", verb, path)
            assert (said.status, said.error["code"]) == (3, "not_found")
    outside = program("receipt", "verify", "plan.excalidraw", "--json", cwd=tmp_path)
    assert outside.error["code"] == "workspace_missing"


def test_a_row_entered_late_does_not_stand_for_the_last_save(here: Here) -> None:
    (here.folder / "move.json").write_text('[{"op": "update", "id": "box", "patch": {"x": 9}}]')
    assert here("scene", "apply", "plan", "move.json").status == 0
    with Workspace(here.folder) as space:
        # The first save's row comes to stand behind the second's, as when its process died before it told the ledger.
        space.ledger.apply(lambda tx: tx.run("UPDATE tasks SET rowid = rowid + 10 WHERE key LIKE '%/request/one'"))
    assert here("receipt", "verify", "plan.excalidraw").status == 0


def test_a_scene_made_anew_under_the_name_is_verified_by_its_own_receipt(here: Here) -> None:
    assert here("scene", "rename", "plan", "old").status == 0
    gone = here.json("receipt", "verify", "plan.excalidraw")
    assert (gone.status, gone.error["details"]["missing"]) == (1, ["plan.excalidraw"])
    assert here("scene", "create", "plan").status == 0
    for name in ("plan", "old"):
        assert here("receipt", "verify", f"{name}.excalidraw").status == 0


def test_a_task_is_verified_by_its_own_receipt_and_an_older_one_no_longer_fits(here: Here) -> None:
    task = here.json("task", "list").data["tasks"][0]["task"]
    assert here("receipt", "verify", task).status == 0
    (here.folder / "move.json").write_text('[{"op": "update", "id": "box", "patch": {"x": 9}}]')
    assert here("scene", "apply", "plan", "move.json").status == 0
    said = here.json("receipt", "verify", task)
    assert (said.status, said.error["details"]["task"]) == (1, task)
    assert here("scene", "trash", "plan").status == 0
    trashed = here.json("task", "list").data["tasks"][0]["task"]
    assert here.json("receipt", "verify", trashed).data["files"] is None


@pytest.mark.parametrize(("resource", "folder"), [("file:kit", True), ("file:deep/doc.txt", False)])
def test_a_task_that_wrote_files_is_verified_where_they_lie(desk: Desk, resource: str, folder: bool) -> None:  # noqa: FBT001 - two cases
    task = desk.perform(resource, payload={"text": "hello", **({"folder": True} if folder else {})}).task
    assert desk("receipt", "verify", task).status == 0
    place = desk.space_path / resource.removeprefix("file:")
    (place / "a.txt" if folder else place).write_text("hellO")
    said = desk.json("receipt", "verify", task)
    assert (said.status, said.error["details"]["changed"]) == (1, ["a.txt" if folder else "doc.txt"])
