"""Keys: shown so that they can be given away, rotated, trusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from countermark.kernel.key import keyid_of
from countermark.kernel.review import UNPROVEN

from .conftest import Desk


def test_the_public_key_alone_goes_to_standard_output(desk: Desk) -> None:
    said = desk("key", "show")
    assert keyid_of(said.out) == desk.json("key", "show").data["current"]
    assert "PRIVATE" not in said.out + said.err
    assert "current" in said.err


def test_receipts_signed_before_a_rotation_still_verify(desk: Desk) -> None:
    desk.perform("file:kit", payload={"text": "hello", "folder": True})
    before = desk.json("key", "show").data["current"]
    said = desk.json("key", "rotate")
    assert (said.data["before"], said.data["by"]) == (before, UNPROVEN)
    assert desk.json("key", "show").data["current"] == said.data["keyid"] != before
    assert desk.json("receipt", "verify", "kit").data["keyid"] == before
    assert f"recorded as: {UNPROVEN}" in desk("key", "rotate").out


def test_rotating_and_trusting_stand_in_the_ledger(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "a.pub").write_text(desk("key", "show").out)
    desk("key", "rotate")
    desk("key", "trust", str(tmp_path / "a.pub"), "--name", "Studio\x1b[2J North")
    assert [one["kind"] for one in desk.json("ledger", "events").data["events"][-1:]] == ["key_rotated"]
    desk("key", "trust", str(tmp_path / "a.pub"), "--name", "Studio North")
    event = desk.json("ledger", "events").data["events"][-1]
    assert (event["kind"], event["body"]["name"], event["body"]["by"]) == ("key_trusted", "Studio North", UNPROVEN)
    assert "Studio North" in desk("key", "show").err


@pytest.mark.parametrize("name", ["", "this workspace", "a\nb", "x" * 101], ids=["none", "ours", "lines", "long"])
def test_a_name_that_would_mislead_is_refused(desk: Desk, tmp_path: Path, name: str) -> None:
    (tmp_path / "a.pub").write_text(desk("key", "show").out)
    said = desk("key", "trust", str(tmp_path / "a.pub"), "--name", name, "--json")
    assert (said.status, said.error["code"]) == (2, "input_invalid")
    assert desk.json("key", "show").data["trusted"] == []


def test_dry_runs_change_no_key(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "a.pub").write_text(desk("key", "show").out)
    before = desk.json("key", "show").data
    assert desk.json("key", "rotate", "--dry-run").data["dry_run"] is True
    assert desk.json("key", "trust", str(tmp_path / "a.pub"), "--name", "A", "--dry-run").data["dry_run"] is True
    assert desk.json("key", "show").data == before
