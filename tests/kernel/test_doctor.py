"""The doctor finds what is wrong, in a workspace and in an installation, and changes nothing."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from countermark.kernel import doctor
from countermark.kernel.clock import SystemClock
from countermark.kernel.doctor import Area, Line, Part, Standing
from countermark.kernel.workspace import HOME, RESERVE, Workspace

from .conftest import Bench

PATH = {"PATH": os.environ.get("PATH", ""), "HOME": "/nonexistent"}


@pytest.fixture
def space(bench: Bench) -> Path:
    bench.perform()
    return bench.folder / "space"


def contents(space: Path) -> dict[Path, bytes]:
    """Return everything but what each opening of a workspace leaves: its lock, its journal, evidence it rendered."""
    passing = {"locks", "runs", "ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"}
    return {path: path.read_bytes() for path in space.rglob("*") if path.is_file() and not passing & set(path.parts)}


def named(space: Path | None, name: str, parts: tuple[Part, ...] = (), env: dict[str, str] | None = None) -> list[Line]:
    return [line for line in doctor.examine(space, parts, PATH if env is None else env) if line.name == name]


def test_a_sound_workspace_is_ok_throughout_and_unchanged(bench: Bench, space: Path) -> None:
    before = contents(space)
    events = bench.space.ledger.events()
    lines = doctor.examine(space, (), PATH)
    assert [line for line in lines if line.status is not Standing.OK and line.name != "git"] == []
    assert [area for area in Area if area not in {line.area for line in lines}] == []
    assert bench.space.ledger.events() == events
    assert contents(space) == before


def test_what_is_not_ok_has_a_next_action_and_what_is_ok_has_none(space: Path) -> None:
    (space / "doc.txt").unlink()
    lines = doctor.examine(space, (Part("no-such-package", "no_such_package", "none"),), {})
    assert {line.name for line in lines if line.status is not Standing.OK} >= {
        "PATH",
        "git",
        "published",
        "no-such-package",
    }
    assert all(bool(line.next) == (line.status is not Standing.OK) for line in lines)


def test_a_package_that_is_installed_and_does_not_load_names_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_part.py").write_text("raise ImportError('libGL.so.1: cannot open shared object file')")
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("broken_part", None)
    [line] = named(None, "rfc8785", (Part("rfc8785", "broken_part", "vector"),))[1:]
    assert (line.status, "libGL.so.1" in line.sentence) == (Standing.WARN, True)
    assert "libgl1 libegl1" in line.next


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [("PYTHON", (99, 0), "Python"), ("SQLITE", (99, 0), "SQLite")],
)
def test_versions_that_are_too_old_are_missing(
    monkeypatch: pytest.MonkeyPatch, name: str, value: tuple[int, int], expected: str
) -> None:
    monkeypatch.setattr(doctor, name, value)
    [line] = named(None, expected)
    assert line.status is Standing.MISSING


def test_a_key_that_others_can_read_is_said(space: Path) -> None:
    [key] = (space / HOME / "keys").glob("*.key")
    key.chmod(0o644)
    [line] = named(space, "signing key")
    assert (line.status, key.name in line.sentence) == (Standing.WARN, True)
    assert "chmod go-rwx" in line.next
    assert "key rotate" in line.next
    key.chmod(0o600)
    (space / HOME / "keys").chmod(0o755)
    [line] = named(space, "signing key")
    assert f"{HOME}/keys" in line.sentence


@pytest.mark.parametrize("text", ["[secrets]\nforge = 7\n", "secrets = 1\n"])
def test_settings_of_secrets_that_are_none_are_a_line(space: Path, text: str) -> None:
    settings = space / "countermark.toml"
    settings.write_text(text + settings.read_text() if text.startswith("secrets") else settings.read_text() + text)
    [line] = [line for line in named(space, "workspace") if line.status is Standing.MISSING]
    assert "secrets must be" in line.sentence


def test_a_disk_below_the_bound_is_missing_and_a_used_up_reserve_is_said(space: Path) -> None:
    settings = space / "countermark.toml"
    whole = settings.read_text()
    settings.write_text(whole + "min_free_mib = 999999999\n")
    assert named(space, "disk")[0].status is Standing.MISSING
    settings.write_text(whole)
    (space / RESERVE).unlink()
    assert named(space, "disk")[0].status is Standing.WARN


def test_secrets_are_checked_by_reference_and_never_shown(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = space / "countermark.toml"
    settings.write_text(settings.read_text() + '\n[secrets]\nforge = "env:FORGE_TOKEN"\nother = "env:NOT_SET"\n')
    monkeypatch.setenv("FORGE_TOKEN", "c4n4ry")
    lines = doctor.examine(space, (), PATH)
    found = {line.name: line.status for line in lines if line.name.startswith("secret")}
    assert found == {"secret forge": Standing.OK, "secret other": Standing.WARN}
    assert "c4n4ry" not in repr(lines)


def test_a_broken_chain_a_newer_schema_and_no_ledger_at_all_are_lines_not_crashes(space: Path) -> None:
    ledger = space / HOME / "ledger.sqlite"
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("DROP TRIGGER events_are_final")
        connection.execute("UPDATE events SET kind = 'x' WHERE seq = 2")
        connection.commit()
    [line] = named(space, "ledger")
    assert (line.status, "event 2" in line.sentence) == (Standing.MISSING, True)
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("PRAGMA user_version = 99")
    [line] = named(space, "ledger")
    assert (line.status, "newer" in line.next) == (Standing.MISSING, True)


def test_a_clock_set_back_is_said(space: Path) -> None:
    class Ahead(SystemClock):
        def now_ms(self) -> int:
            return super().now_ms() + 3_600_000

    assert named(space, "clock") == []
    with Workspace(space, clock=Ahead()) as opened:
        opened.ledger.apply(lambda tx: tx.event("", "granted", {}))
    [line] = named(space, "clock")
    assert line.status is Standing.WARN


def test_a_file_a_person_changed_is_no_fault_and_one_that_is_gone_names_its_task(bench: Bench, space: Path) -> None:
    bench.perform("test.staged", "file:gone.txt")
    bench.write("doc.txt", "mine")
    (space / "gone.txt").unlink()
    gone, told = named(space, "published")
    assert (gone.status, "gone.txt" in gone.sentence) == (Standing.WARN, True)
    assert told.sentence == "0 of 2 stand as published, 1 changed since"
    assert told.status is Standing.OK


def test_a_task_that_waits_for_a_person_is_said_with_the_command_that_shows_it(bench: Bench, space: Path) -> None:
    bench.grant("reviewed", acceptance="person")
    waiting = bench.perform(resource="file:other.txt", grant="reviewed").task
    [line] = named(space, "tasks")
    assert (line.sentence, line.next) == (f"{waiting} waits for a person", f"See `countermark task show {waiting}`.")
