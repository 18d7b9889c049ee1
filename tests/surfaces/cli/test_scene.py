"""`countermark scene …` on real scenes of a real workspace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from countermark.kernel import grant
from countermark.kernel.ledger import Tx
from countermark.kernel.workspace import Workspace

from .conftest import Here, Said

BOX = {"type": "rectangle", "id": "box", "x": 0, "y": 0, "width": 100, "height": 50}


@pytest.fixture
def here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Here:
    with Workspace.create(tmp_path / "space") as workspace:

        def narrow(tx: Tx) -> None:
            terms = grant.Terms(("vector.write",), ("",))
            grant.issue(tx, grant.Grant("narrow", None, (), "test", "test", terms, tx.now))

        workspace.ledger.apply(narrow)
    return Here(tmp_path / "space", capsys)


def applied(here: Here, operations: Any, *more: str) -> Said:
    (here.folder / "operations.json").write_text(json.dumps(operations))
    return here("scene", "apply", "plan", "operations.json", *more)


def created(here: Here) -> dict[str, Any]:
    (here.folder / "boxes.json").write_text(json.dumps([BOX]))
    return here.json("scene", "create", "plan", "--elements", "boxes.json").data


def test_a_scene_is_created_changed_shown_and_its_history_brought_back(here: Here) -> None:
    made = created(here)
    assert (made["revision"], made["verified"]) == (1, True)
    first = (here.folder / "plan.excalidraw").read_bytes()
    done = applied(here, [{"op": "update", "id": "box", "patch": {"x": 7, "label": "Here"}}])
    assert (done.status, done.err) == (0, "")
    assert "plan: 1 updated." in done.out
    assert "revision  2" in done.out
    shown = here("scene", "show", "plan").out
    assert "1 rectangle, 1 text" in shown
    assert "  Here" in shown
    assert here.json("scene", "show", "plan").data["scene"]["elements"][0]["x"] == 7
    old = here.json("scene", "show", "plan", "--revision", "1").data
    assert (old["revision"], old["scene"]["elements"][0]["x"]) == (1, 0)
    rows = here.json("scene", "history", "plan").data["versions"]
    assert [(one["revision"], one["savedBy"], one["current"]) for one in rows] == [
        (2, "cli", True),
        (1, "cli", False),
    ]
    back = here.json("scene", "restore", "plan", "1").data
    assert (back["revision"], back["restoredFrom"]) == (3, 1)
    assert (here.folder / "plan.excalidraw").read_bytes() == first


def test_scenes_are_listed_for_people_and_machines_and_an_empty_folder_says_what_to_do(here: Here) -> None:
    assert "countermark serve" in here("scene", "list").out
    created(here)
    (here.folder / "broken.excalidraw").write_text("{")
    out = here("scene", "list").out
    assert out.splitlines()[0].split()[:3] == ["NAME", "REV", "ELEMENTS"]
    assert "not readable" in next(line for line in out.splitlines() if line.startswith("broken"))
    rows = here.json("scene", "list").data["scenes"]
    assert {one["name"]: one["valid"] for one in rows} == {"plan": True, "broken": False}


def test_a_rename_takes_the_past_along_and_the_trash_leaves_nothing_to_inherit(here: Here) -> None:
    created(here)
    assert here.json("scene", "rename", "plan", "plan-2").data["previousName"] == "plan"
    assert here.json("scene", "trash", "plan-2").data["trashed"] is True
    assert here.json("scene", "list").data["scenes"] == []
    assert created(here)["revision"] == 1


def test_the_trash_is_listed_and_a_scene_comes_back_from_it(here: Here) -> None:
    created(here)
    assert here("scene", "trash", "--list").out == "The trash is empty.\n"
    here("scene", "trash", "plan")
    out = here("scene", "trash", "--list").out
    assert out.splitlines()[0].split()[:3] == ["NAME", "REV", "ELEMENTS"]
    created(here)
    [entry] = here.json("scene", "trash", "--list").data["trashed"]
    assert "its name is taken" in here("scene", "trash", "--list").out
    assert here("scene", "untrash", "plan").status == 5
    assert here("scene", "untrash", "plan", "--grant", "narrow", "--as", "old").status == 4
    back = here.json("scene", "untrash", entry["id"], "--as", "old").data
    assert (back["name"], back["revision"], back["trashId"]) == ("old", 2, entry["id"])
    assert here("scene", "untrash", "plan").status == 3
    assert here("scene", "trash").status == here("scene", "trash", "plan", "--list").status == 2


def test_a_text_is_found_with_scene_element_and_line(here: Here) -> None:
    created(here)
    applied(here, [{"op": "update", "id": "box", "patch": {"label": "Payment\x1b[31m service"}}])
    (here.folder / "broken.excalidraw").write_text("{")
    said = here("scene", "search", "PAYMENT")
    assert said.status == 0
    assert said.out.startswith("1 hit in 1 scene of 2.\n\nplan\n  label")
    assert "\x1b" not in said.out
    assert "broken was not looked at: not-json." in said.out
    [hit] = here.json("scene", "search", "payment").data["hits"]
    assert (hit["scene"], hit["container"], hit["match"]) == ("plan", "box", "Payment")
    assert here("scene", "search", " ").status == 2


def test_a_stale_revision_is_a_conflict_and_the_scene_stands(here: Here) -> None:
    created(here)
    move = [{"op": "update", "id": "box", "patch": {"x": 7}}]
    applied(here, move)
    before = (here.folder / "plan.excalidraw").read_bytes()
    said = applied(here, move, "--revision", "1", "--json")
    assert (said.status, said.error["code"]) == (5, "revision_conflict")
    assert said.error["details"]["currentRevision"] == 2
    assert (here.folder / "plan.excalidraw").read_bytes() == before


def test_a_request_said_again_answers_the_first_result_and_says_so(here: Here) -> None:
    created(here)
    move = [{"op": "update", "id": "box", "patch": {"x": 7}}]
    applied(here, move, "--request-id", "r")
    again = applied(here, move, "--request-id", "r")
    assert again.out.startswith("Done before under this request id")
    other = applied(here, [{"op": "delete", "id": "box"}], "--request-id", "r")
    assert "was not done" in other.out
    assert here.json("scene", "list").data["scenes"][0]["revision"] == 2


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (("show", "nope"), 3, "not_found"),
        (("show", "../nope"), 2, "invalid_name"),
        (("show", "plan", "--revision", "9"), 3, "not_found"),
        (("create", "plan"), 5, "already_exists"),
        (("create", "b", "--elements", "missing.json"), 3, "not_found"),
        (("apply", "plan", "boxes.json", "--grant", "narrow"), 4, "permission_denied"),
        (("trash", "plan", "--grant", "narrow"), 4, "permission_denied"),
        (("apply", "plan", "boxes.json"), 2, "invalid_operation"),
        (("restore", "plan", "9"), 3, "not_found"),
        (("restore", "plan", "-1"), 2, "usage"),
        (("rename", "plan", "Plan"), 2, "invalid_name"),
    ],
)
def test_what_cannot_be_done_has_its_code_and_exit_status_and_changes_nothing(
    here: Here, arguments: tuple[str, ...], status: int, code: str
) -> None:
    created(here)
    before = (here.folder / "plan.excalidraw").read_bytes()
    said = here("scene", *arguments, "--json")
    assert (said.status, said.error["code"]) == (status, code)
    assert (here.folder / "plan.excalidraw").read_bytes() == before
    assert sorted(one.name for one in here.folder.glob("*.excalidraw")) == ["plan.excalidraw"]


def test_a_repair_lists_every_fix_once_and_leaves_a_sound_scene_alone(here: Here) -> None:
    created(here)
    file = here.folder / "plan.excalidraw"
    whole = json.loads(file.read_bytes())
    whole["elements"][0] |= {"frameId": "gone", "boundElements": [{"id": "nobody", "type": "arrow"}]}
    file.write_text(json.dumps(whole))
    revision = here.json("scene", "show", "plan").data["revision"]
    stale = here("scene", "repair", "plan", "--revision", "7")
    assert ("revision_conflict" in stale.err, file.read_text()) == (True, json.dumps(whole))

    done = here.json("scene", "repair", "plan", "--request-id", "r").data
    assert done["revision"] == revision + 1
    assert done["fixes"] == [
        {"id": "box", "what": "named a frame that is not there"},
        {"id": "box", "what": "listed other bound elements than there are"},
    ]
    element = json.loads(file.read_bytes())["elements"][0]
    assert (element["frameId"], element["boundElements"]) == (None, [])

    again = here.json("scene", "repair", "plan", "--request-id", "r").data
    assert (again["duplicate"], again["revision"], again["fixes"]) == (True, revision + 1, [])
    kept = file.read_bytes()
    sound = here("scene", "repair", "plan")
    assert "plan: nothing to repair." in sound.out
    assert (file.read_bytes(), here.json("scene", "show", "plan").data["revision"]) == (kept, revision + 1)


def test_a_text_measured_by_assumption_is_named_in_the_answer_and_no_other_is(here: Here) -> None:
    text = {"type": "text", "id": "t", "x": 0, "y": 0, "text": "plain"}
    (here.folder / "boxes.json").write_text(json.dumps([{**BOX, "label": "A"}, text]))
    assert "approximate" not in here.json("scene", "create", "plan", "--elements", "boxes.json").data
    patch = {"op": "update", "id": "t", "patch": {"text": "\U0001f680"}}
    (one,) = applied(here, [patch], "--json").data["approximate"]
    assert (one["id"], "U+1F680" in one["reason"]) == ("t", True)
    gone = [{"op": "add", "element": {**text, "id": "u", "fontFamily": 2}}, {"op": "delete", "id": "u"}]
    assert "approximate" not in applied(here, gone, "--json").data


SKELETON = [
    {"type": "rectangle", "id": "a", "x": 0, "y": 0, "label": {"text": "One"}, "sparkle": True},
    {"type": "arrow", "id": "go", "x": 200, "y": 20, "start": {"id": "a"}},
]


def test_an_import_tells_what_it_did_and_never_takes_the_place_of_a_scene(here: Here) -> None:
    (here.folder / "My Plan.excalidraw.json").write_text(json.dumps(SKELETON))
    said = here("scene", "import", "My Plan.excalidraw.json", "--dry-run")
    assert said.out.startswith("Would import my-plan from skeletons: 3 elements.")
    assert not (here.folder / "my-plan.excalidraw").exists()
    said = here("scene", "import", "My Plan.excalidraw.json")
    assert said.status == 0
    assert "Imported my-plan from skeletons: 3 elements." in said.out
    assert "1 dropped:\ndropped  a  sparkle" in said.out
    assert here.json("scene", "history", "my-plan").data["versions"][0]["savedBy"] == "import"
    before = (here.folder / "my-plan.excalidraw").read_bytes()
    assert here("scene", "import", "My Plan.excalidraw.json").status == 5
    assert (here.folder / "my-plan.excalidraw").read_bytes() == before
    done = here.json("scene", "import", "My Plan.excalidraw.json", "--name", "other", "--request-id", "r").data
    assert (done["revision"], done["format"], done["report"]["dropped"]) == (1, "skeletons", 1)
    again = here.json("scene", "import", "My Plan.excalidraw.json", "--name", "other", "--request-id", "r")
    assert again.error["details"]["sameRequest"] is True


def test_an_import_that_is_refused_leaves_nothing_behind(here: Here) -> None:
    (here.folder / "boxes.json").write_text(json.dumps(SKELETON))
    (here.folder / "broken.excalidraw.md").write_text("---\nexcalidraw-plugin: parsed\n---\n")
    (here.folder / "link.json").symlink_to("boxes.json")
    before = {path.name for path in here.folder.rglob("*") if "locks" not in path.parts}
    for status, arguments in (
        (2, ("broken.excalidraw.md", "--name", "a")),
        (2, ("boxes.json", "--name", "../a")),
        (2, ("boxes.json", "--library")),
        (2, ("boxes.json", "--library", "--name", "a")),
        (2, ("link.json", "--name", "a")),
        (3, ("none.json", "--name", "a")),
        (4, ("boxes.json", "--name", "a", "--grant", "narrow")),
    ):
        assert here("scene", "import", *arguments).status == status, arguments
    after = {path.name for path in here.folder.rglob("*") if "locks" not in path.parts}
    assert {name for name in after - before if not name.startswith((".dsh", "backups", "intents"))} <= {
        "quarantine",
        "trash",
    }
    assert not (here.folder / "a.excalidraw").exists()


def test_a_library_goes_into_the_folders_own_once(here: Here) -> None:
    item = {"id": "i", "status": "published", "created": 1, "elements": [{**BOX, "isDeleted": False}]}
    (here.folder / "shapes.excalidrawlib").write_text(
        json.dumps({"type": "excalidrawlib", "version": 2, "libraryItems": [item]})
    )
    assert "Would put 1 item" in here("scene", "import", "shapes.excalidrawlib", "--library", "--dry-run").out
    assert "Put 1 item into the library." in here("scene", "import", "shapes.excalidrawlib", "--library").out
    again = here.json("scene", "import", "shapes.excalidrawlib", "--library").data
    assert (again["added"], again["known"], again["itemCount"], again["duplicate"]) == (0, 1, 1, True)
    assert "from a library: 1 element" in here("scene", "import", "shapes.excalidrawlib").out
