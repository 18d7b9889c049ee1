"""The lock that other programs see: ours is never stale for ever, theirs is respected for thirty seconds."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from countermark.scene.store import Store
from countermark.scene.token import SCHEMA

from .shop import KEPT, StoppedClock, add, make, refused


@pytest.fixture(name="clock")
def make_clock() -> StoppedClock:
    return StoppedClock()


@pytest.fixture(name="store")
def make_store(tmp_path: Path, clock: StoppedClock) -> Store:
    made = Store(tmp_path, clock=clock, lock_seconds=1.0, pause=clock.pause)
    make(made)
    return made


def leave(folder: Path, text: str, age_ms: int, clock: StoppedClock) -> Path:
    file = folder / KEPT / "locks" / "plan.lock"
    file.write_text(text)
    os.utime(file, ns=(0, (clock.now - age_ms) * 1_000_000))
    return file


@pytest.mark.parametrize("text", ["", "4711", "{", '{"pid": 4711}', "x" * 5000])
def test_a_fresh_lock_of_another_program_is_waited_for_and_then_named(
    store: Store, tmp_path: Path, clock: StoppedClock, text: str
) -> None:
    file = leave(tmp_path, text, 29_999, clock)
    error = refused(lambda: add(store, 1, "a"))
    assert (error.code, error.status, error.details["reason"]) == ("scene_busy", 423, "lock")
    assert clock.waited >= 1.0
    assert file.read_text() == text


@pytest.mark.parametrize("text", ["", "4711", "{", "x" * 5000])
@pytest.mark.parametrize("age", [30_001, 10**9, -30_001])
def test_a_lock_older_than_thirty_seconds_is_taken_away(
    store: Store, tmp_path: Path, clock: StoppedClock, text: str, age: int
) -> None:
    leave(tmp_path, text, age, clock)
    assert add(store, 1, "a").revision == 2
    assert [path.name for path in (tmp_path / KEPT / "locks").iterdir() if ".lock" in path.name] == []


def test_a_lock_of_ours_whose_maker_died_is_taken_away_at_once(
    store: Store, tmp_path: Path, clock: StoppedClock
) -> None:
    said = {"schema": SCHEMA, "host": os.uname().nodename, "pid": 1, "token": "t"}
    leave(tmp_path, json.dumps(said), 0, clock)
    assert add(store, 1, "a").revision == 2
    assert clock.waited == 0.0


def test_a_lock_of_ours_from_another_machine_is_as_a_stranger_s(
    store: Store, tmp_path: Path, clock: StoppedClock
) -> None:
    said = {"schema": SCHEMA, "host": "elsewhere", "pid": 7, "token": "t"}
    leave(tmp_path, json.dumps(said), 0, clock)
    error = refused(lambda: add(store, 1, "a"))
    assert "process 7 on elsewhere" in error.sentence


def test_a_writer_of_ours_that_still_works_is_waited_for(store: Store, tmp_path: Path) -> None:
    with Store(tmp_path, lock_seconds=0.05) as other, other.shelf.turn("plan"):
        error = refused(lambda: add(store, 1, "a"))
    assert error.code == "scene_busy"
    assert add(store, 1, "a").revision == 2


def test_another_scene_is_not_waited_for(store: Store, tmp_path: Path) -> None:
    with Store(tmp_path) as other, other.shelf.turn("else"):
        assert add(store, 1, "a").revision == 2


def test_many_scenes_leave_few_descriptors(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for count in range(60):
            make(store, f"s{count}")
        assert len(store.shelf._locks) <= 32  # noqa: SLF001 - two descriptors each
