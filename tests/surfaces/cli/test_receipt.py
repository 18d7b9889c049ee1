"""Receipts: shown, and verified offline by whoever has the key."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from countermark.kernel.errors import CountermarkError

from .conftest import Desk, program


@pytest.fixture
def kit(desk: Desk) -> Path:
    desk.perform("file:kit", payload={"text": "hello", "folder": True})
    return desk.space_path / "kit"


@pytest.fixture
def stranger(desk: Desk, kit: Path, tmp_path: Path) -> Path:
    """A copy of the kit in a folder that belongs to no workspace."""
    shutil.copytree(kit, tmp_path / "elsewhere" / "kit")
    return tmp_path / "elsewhere"


def test_a_kit_of_this_workspace_is_signed_by_it(desk: Desk, kit: Path) -> None:
    said = desk("receipt", "verify", "kit/")
    assert said.status == 0
    assert "signed by this workspace" in said.out
    assert "\nsigned with  " in said.out
    assert "2 files as signed, none changed, missing or extra" in said.out
    assert desk.json("receipt", "verify", str(kit)).data["files"] == ["a.txt", "sub/b.txt"]


@pytest.mark.promise("cli.receipt.signer-unknown")
def test_to_a_stranger_it_is_consistent_and_its_signer_unknown_with_a_status_of_its_own(stranger: Path) -> None:
    said = program("receipt", "verify", "kit", cwd=stranger)
    assert said.status == 6
    assert "consistent, signer unknown" in said.out
    assert "signer_unknown" in said.err
    wire = program("receipt", "verify", "kit", "--json", cwd=stranger)
    assert (wire.status, wire.error["code"]) == (6, "signer_unknown")
    assert wire.error["details"]["result"] == "consistent, signer unknown"
    assert wire.error["details"]["files"] == ["a.txt", "sub/b.txt"]


def test_a_stranger_who_got_the_key_beforehand_knows_the_signer(desk: Desk, stranger: Path) -> None:
    public = desk("key", "show").out
    (stranger / "mybrand.pub").write_text(public)
    said = program("receipt", "verify", "kit", "--key", "mybrand.pub", cwd=stranger)
    assert (said.status, said.err) == (0, "")
    assert "signed by mybrand" in said.out


def test_a_key_trusted_by_another_workspace_counts_there(desk: Desk, stranger: Path) -> None:
    (stranger / "mybrand.pub").write_text(desk("key", "show").out)
    for arguments in (
        ("init", "theirs"),
        ("key", "trust", "mybrand.pub", "--name", "My Brand", "--workspace", "theirs"),
    ):
        assert program(*arguments, cwd=stranger).status == 0
    said = program("receipt", "verify", "kit", "--workspace", "theirs", "--json", cwd=stranger)
    assert (said.status, said.data["signer"]) == (0, "My Brand")


def test_changed_missing_and_extra_files_are_named(desk: Desk, stranger: Path) -> None:
    kit = stranger / "kit"
    (kit / "a.txt").write_text("hellO")
    (kit / "sub" / "b.txt").unlink()
    (kit / "extra.txt").write_text("x")
    said = program("receipt", "verify", "kit", "--json", cwd=stranger)
    assert (said.status, said.error["code"]) == (1, "receipt_mismatch")
    details = said.error["details"]
    assert (details["changed"], details["missing"], details["extra"]) == (["a.txt"], ["sub/b.txt"], ["extra.txt"])
    assert "changed: a.txt" in program("receipt", "verify", "kit", cwd=stranger).err


def test_another_spelling_of_a_receipt_is_invalid(stranger: Path) -> None:
    path = stranger / "kit" / "receipt.json"
    path.write_text(json.dumps(json.loads(path.read_text()), indent=1))
    said = program("receipt", "verify", "kit", "--json", cwd=stranger)
    assert (said.status, said.error["code"]) == (1, "receipt_invalid")


def test_a_receipt_is_shown_for_a_task_a_folder_and_a_file_alike(desk: Desk, kit: Path) -> None:
    task = desk.json("task", "list").data["tasks"][0]["task"]
    shown = [desk("receipt", "show", what).out for what in (task, "kit", "kit/receipt.json")]
    assert shown[0] == shown[1] == shown[2]
    assert "allowed by   grant test (test)" in shown[0]
    assert "kit  absent  ->" in shown[0]
    assert desk("receipt", "show", task, "--raw").out.encode() == (kit / "receipt.json").read_bytes()
    assert desk.json("receipt", "show", task).data["statement"]["_type"] == "https://in-toto.io/Statement/v1"


def test_a_failed_task_has_a_receipt_too(desk: Desk) -> None:
    with pytest.raises(CountermarkError) as caught:
        desk.perform(payload={"text": "x", "verdict": "failed"})
    said = desk("receipt", "show", caught.value.details["task"])
    assert "failed: verification_failed" in said.out


def test_a_task_that_has_not_ended_has_none_yet(desk: Desk) -> None:
    task = desk.perform(grant="reviewed").task
    said = desk("receipt", "show", task, "--json")
    assert (said.status, said.error["code"]) == (1, "illegal_state")
