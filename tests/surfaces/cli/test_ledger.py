"""The ledger's care: checked, backed up, restored, read."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from .conftest import Desk, program


def change(desk: Desk, *statements: str) -> None:
    """Be somebody with an editor for SQLite files."""
    with closing(sqlite3.connect(desk.space_path / ".countermark" / "ledger.sqlite")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_a_sound_ledger_is_sound(desk: Desk) -> None:
    desk.perform()
    said = desk("ledger", "check")
    assert said.status == 0
    assert "The ledger is sound" in said.out


def test_a_changed_event_is_named_by_its_number(desk: Desk) -> None:
    desk.perform()
    change(desk, "DROP TRIGGER events_are_final", "UPDATE events SET body = '{}' WHERE seq = 2")
    said = desk("ledger", "check", "--json")
    assert (said.status, said.error["code"]) == (1, "ledger_broken")
    assert [fault["place"] for fault in said.error["details"]["faults"]] == ["event 2"]
    assert "event 2" in desk("ledger", "check").out


def test_a_damaged_artefact_in_the_store_is_named(desk: Desk) -> None:
    desk.perform()
    [blob] = [
        path for path in (desk.space_path / ".countermark" / "store").glob("??/*") if path.read_bytes() == b"hello"
    ]
    blob.chmod(0o644)
    blob.write_bytes(b"hellO")
    faults = desk("ledger", "check", "--json").error["details"]["faults"]
    assert [fault["place"] for fault in faults] == [f"store/{(blob.parent.name + blob.name)[:12]}"]


def test_a_file_that_is_no_ledger_is_an_error_not_a_trace(desk: Desk) -> None:
    for suffix in ("-wal", "-shm"):
        (desk.space_path / ".countermark" / f"ledger.sqlite{suffix}").unlink(missing_ok=True)
    (desk.space_path / ".countermark" / "ledger.sqlite").write_bytes(b"not a database" * 100)
    for arguments in (("ledger", "check"), ("task", "list"), ("grant", "list"), ("ledger", "events")):
        said = desk(*arguments, "--json")
        assert (said.status, said.error["code"]) == (1, "ledger_broken")


@pytest.mark.promise("cli.workspace.newer-refused")
def test_a_workspace_of_a_newer_version_is_refused_and_left_as_it_is(desk: Desk) -> None:
    change(desk, "PRAGMA user_version = 2")
    ledger = desk.space_path / ".countermark" / "ledger.sqlite"
    before = ledger.read_bytes()
    for arguments in (("task", "list"), ("grant", "new", "--preset", "brand"), ("ledger", "backup", "../b")):
        said = desk(*arguments, "--json")
        assert (said.status, said.error["code"]) == (1, "workspace_newer")
    assert ledger.read_bytes() == before


def test_a_backup_brings_the_ledger_back_and_keeps_the_one_it_replaces(desk: Desk, tmp_path: Path) -> None:
    first = desk.perform().task
    assert "examined and sound" in desk("ledger", "backup", str(tmp_path / "b")).out
    later = desk.perform("file:other.txt").task
    said = desk.json("ledger", "restore", str(tmp_path / "b"))
    assert [one["task"] for one in desk.json("task", "list").data["tasks"]] == [first]
    with closing(sqlite3.connect(said.data["replaced"])) as connection:
        assert later in [row[0] for row in connection.execute("SELECT id FROM tasks")]


def test_what_a_restored_ledger_left_open_is_reconciled_with_what_is_there(desk: Desk, tmp_path: Path) -> None:
    task = desk.abandon(fault="die-after")
    desk("ledger", "backup", str(tmp_path / "b"))
    said = desk.json("ledger", "restore", str(tmp_path / "b"))
    assert said.data["open"] == []
    assert desk.json("task", "show", task).data["state"] == "completed"


def test_a_backup_never_goes_over_what_is_there(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "mine.txt").write_text("mine")
    for more in ((), ("--dry-run",)):
        said = desk("ledger", "backup", str(tmp_path / "b"), *more, "--json")
        assert (said.status, said.error["code"]) == (5, "output_exists")
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == ["mine.txt"]


def test_nothing_is_restored_while_another_process_has_the_workspace_open(desk: Desk, tmp_path: Path) -> None:
    desk("ledger", "backup", str(tmp_path / "b"))
    with desk.open():
        for more in ((), ("--dry-run",)):
            said = desk("ledger", "restore", str(tmp_path / "b"), *more, "--json")
            assert (said.status, said.error["code"]) == (5, "resource_busy")


@pytest.mark.parametrize("place", ["nowhere", "empty", "damaged"])
def test_what_is_no_backup_restores_nothing(desk: Desk, tmp_path: Path, place: str) -> None:
    (tmp_path / "empty").mkdir()
    desk("ledger", "backup", str(tmp_path / "damaged"))
    (tmp_path / "damaged" / "ledger.sqlite").write_bytes(b"no" * 5000)
    before = desk.json("ledger", "events").data
    for more in ((), ("--dry-run",)):
        said = desk("ledger", "restore", str(tmp_path / place), *more, "--json")
        assert (said.status, said.error["code"]) == ((1, "ledger_broken") if place == "damaged" else (3, "not_found"))
    assert desk.json("ledger", "events").data == before


def test_events_go_on_from_a_number(desk: Desk) -> None:
    desk.perform()
    whole = desk.json("ledger", "events").data
    first = desk.json("ledger", "events", "--limit", "2").data
    rest = desk.json("ledger", "events", "--since", str(first["next"])).data
    assert first["events"] + rest["events"] == whole["events"]
    assert desk.json("ledger", "events", "--since", str(whole["next"])).data == {"events": [], "next": whole["next"]}
    assert all(len(event["hash"]) == 64 for event in whole["events"])


def test_the_ledger_of_a_workspace_is_read_by_a_process_of_its_own(desk: Desk) -> None:
    assert program("ledger", "check", "--json", cwd=desk.space_path).data["sound"] is True
