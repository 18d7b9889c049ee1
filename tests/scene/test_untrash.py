"""Out of the trash: with its past, never over what is there, and whole whatever fails on the way."""

from __future__ import annotations

import errno
import json
from contextlib import suppress
from pathlib import Path

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.kernel.kept import KeptRoot
from countermark.scene.limits import Limits
from countermark.scene.store import Store
from countermark.testkit.disk import FaultyCalls

from .shop import KEPT, StoppedClock, add, contents, ids, make, refused, sidecar


@pytest.fixture(name="store")
def make_store(tmp_path: Path) -> Store:
    return Store(tmp_path, clock=StoppedClock())


def trashed(store: Store) -> str:
    """Return the id of a scene of two revisions that was put into the trash."""
    make(store, "plan", "a", request_id="made")
    add(store, 1, "b", request_id="r")
    store.trash("plan", actor="ui", request_id="bin")
    return str(store.trashed()[0]["id"])


@pytest.mark.promise("scene.trash.back")
def test_a_scene_comes_back_with_its_bytes_its_past_and_its_requests(store: Store, tmp_path: Path) -> None:
    entry = trashed(store)
    done = store.untrash(entry, actor="ui", request_id="back")
    assert (done.name, done.revision, done.previous_revision) == ("plan", 3, 2)
    assert ids((tmp_path / "plan.excalidraw").read_bytes()) == ["a", "b"]
    assert [one.revision for one in store.history("plan")] == [3, 2, 1]
    assert ids(store.version("plan", 1)) == ["a"]
    assert store.version("plan", 2) == (tmp_path / "plan.excalidraw").read_bytes()
    assert add(store, 1, "b", request_id="r").duplicate
    assert sidecar(tmp_path)["updatedBy"] == "ui"
    assert store.trashed() == []
    assert list((tmp_path / KEPT / "trash").iterdir()) == []
    assert {path.stat().st_nlink for path in tmp_path.rglob("*.excalidraw")} == {1}


def test_the_same_request_brings_nothing_back_twice(store: Store) -> None:
    entry = trashed(store)
    first = store.untrash(entry, actor="ui", request_id="back")
    again = store.untrash(entry, actor="ui", request_id="back")
    assert (again.duplicate, again.revision, again.sha256) == (True, first.revision, first.sha256)
    assert refused(lambda: store.untrash(entry, actor="ui", request_id="other")).code == "not_found"


@pytest.mark.promise("scene.trash.back")
def test_a_scene_that_is_there_is_never_replaced_and_another_name_is_free(store: Store, tmp_path: Path) -> None:
    entry = trashed(store)
    make(store, "plan", "new")
    before = contents(tmp_path)
    assert refused(lambda: store.untrash(entry, actor="ui")).code == "already_exists"
    assert contents(tmp_path) == before
    done = store.untrash(entry, "old-plan", actor="ui")
    assert (done.name, done.revision) == ("old-plan", 3)
    assert [one.revision for one in store.history("old-plan")] == [3, 2, 1]
    assert ids((tmp_path / "plan.excalidraw").read_bytes()) == ["new"]
    assert add(store, 3, "c", name="old-plan").revision == 4


def test_a_damaged_scene_comes_back_as_its_newest_whole_revision(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a")
    add(store, 1, "b")
    (tmp_path / "plan.excalidraw").write_bytes(b'{"type": "excalid')
    store.trash("plan", actor="ui")
    done = store.untrash(str(store.trashed()[0]["id"]), actor="ui")
    assert (done.restored_from, done.revision) == (1, 3)
    assert ids((tmp_path / "plan.excalidraw").read_bytes()) == ["a"]
    [aside] = (tmp_path / KEPT / "quarantine").iterdir()
    assert aside.read_bytes() == b'{"type": "excalid'


def test_of_what_nothing_is_whole_the_folder_is_told_and_all_stays(store: Store, tmp_path: Path) -> None:
    (tmp_path / "odd.excalidraw").write_text('{"type": "other"}')
    store.trash("odd", actor="ui")
    before = contents(tmp_path)
    entry = store.trashed()[0]
    error = refused(lambda: store.untrash(str(entry["id"]), actor="ui"))
    assert (error.code, error.details["folder"]) == ("invalid_scene", entry["folder"])
    assert contents(tmp_path) == before


def test_a_file_beyond_the_limits_can_be_put_away_and_an_earlier_revision_back(tmp_path: Path) -> None:
    with Store(tmp_path, Limits(max_scene_bytes=2000), clock=StoppedClock()) as store:
        make(store, "plan", "a")
        add(store, 1, "b")
        (tmp_path / "plan.excalidraw").write_text(" " * 3000)
        assert refused(lambda: store.read("plan")).code == "too_large"
        assert store.restore("plan", 1, expected_revision=2).revision == 3
        (tmp_path / "plan.excalidraw").write_text(" " * 4000)
        done = store.trash("plan", actor="ui")
        assert (done.byte_length, store.list()) == (4000, [])
        assert store.untrash(str(store.trashed()[0]["id"]), actor="ui").restored_from == 1


@pytest.mark.parametrize("entry", ["", "plan", "../plan.t-d25si0d4o8mbprkc", "plan.t-d25si0d4o8mbprkc", 5, "a/b"])
def test_what_does_not_lie_in_the_trash_is_not_found(store: Store, entry: str) -> None:
    assert refused(lambda: store.untrash(entry, actor="ui")).code == "not_found"


def test_a_return_that_fails_at_any_call_never_loses_the_scene_or_its_past(tmp_path: Path) -> None:
    for always in (False, True):
        for at in range(1, 120):
            folder = tmp_path / f"{at}{always}"
            folder.mkdir()
            with Store(folder) as store:
                entry = trashed(store)
            calls = FaultyCalls(number=errno.EIO, at=at, always=always)
            with Store(KeptRoot(folder, calls=calls)) as store, suppress(CountermarkError):
                store.untrash(entry, actor="ui", request_id="back")
            with Store(folder) as store:
                if store.list():
                    assert store.untrash(entry, actor="ui", request_id="back").duplicate
                else:
                    store.untrash(entry, actor="ui", request_id="back")
                assert json.loads(store.read("plan").data)["elements"][1]["id"] == "b"
                revisions = [one.revision for one in store.history("plan")]
                assert revisions == [3, 2, 1], f"{at}: {calls.made[at - 1 :]}"
            if len(calls.made) < at:
                break
        else:
            pytest.fail("the act never came to its end")
