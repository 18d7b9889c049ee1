"""Saving, by the letter of seed 3 §3: fence, idempotency, evidence, and nothing lost when anything fails."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.kernel.kept import KeptRoot
from countermark.scene import document
from countermark.scene import sidecar as sidecars
from countermark.scene.backup import Retention
from countermark.scene.codes import refuse
from countermark.scene.document import Scene
from countermark.scene.limits import Limits
from countermark.scene.store import Store
from countermark.testkit.disk import FaultyCalls

from .shop import KEPT, StoppedClock, add, adding, box, contents, drawn, ids, make, refused, sidecar


@pytest.fixture(name="store")
def make_store(tmp_path: Path) -> Store:
    return Store(tmp_path, clock=StoppedClock())


def test_a_created_scene_is_revision_one_with_evidence_that_holds(store: Store, tmp_path: Path) -> None:
    done = make(store, "plan", "a", "b")
    data = (tmp_path / "plan.excalidraw").read_bytes()
    assert done.wire() == {
        "name": "plan", "revision": 1, "previousRevision": None, "sha256": sha256(data).hexdigest(),
        "byteLength": len(data), "elementCount": 2, "savedAt": "2030-03-17T17:46:40.000Z", "verified": True,
        "duplicate": False, "deletedCount": 0,
    }  # fmt: skip
    value = sidecar(tmp_path)
    assert (value["schema"], value["revision"], value["updatedBy"]) == ("dsh-excalidraw/revision@1", 1, "agent")
    assert value["previousRevision"] is None


def test_a_save_keeps_the_bytes_before_and_names_both_revisions(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a")
    before = (tmp_path / "plan.excalidraw").read_bytes()
    done = add(store, 1, "b")
    assert (done.revision, done.previous_revision) == (2, 1)
    assert (tmp_path / KEPT / "backups" / "plan.1.excalidraw").read_bytes() == before
    assert store.version("plan", 1) == before
    value = sidecar(tmp_path)
    assert (value["previousRevision"], value["previousSha256"]) == (1, sha256(before).hexdigest())
    assert ids(store.read("plan").data) == ["a", "b"]


def test_a_stale_revision_is_refused_with_what_is_there_now(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a")
    now = add(store, 1, "b", actor="ui")
    before = contents(tmp_path)
    error = refused(lambda: add(store, 1, "c"))
    assert (error.code, error.status) == ("revision_conflict", 409)
    assert error.details["currentRevision"] == 2
    assert error.details["currentSha256"] == now.sha256
    assert error.details["expectedRevision"] == 1
    assert error.details["updatedAt"] == now.saved_at
    assert contents(tmp_path) == before


def test_a_person_s_overwrite_becomes_the_next_revision(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a")
    add(store, 1, "b")
    done = store.save(
        "plan", lambda scene: scene.replaced(elements=[box("z")]), expected_revision=1, actor="ui", force=True
    )
    assert (done.revision, sidecar(tmp_path)["updatedBy"]) == (3, "ui")
    assert ids(store.version("plan", 2)) == ["a", "b"]


@pytest.mark.parametrize("revision", [True, False, "1", 1.0, 3.5, -1, None, [1]])
def test_only_a_whole_number_is_a_revision(store: Store, revision: Any) -> None:
    make(store)
    assert refused(lambda: add(store, revision, "a")).code == "invalid_operation"


@pytest.mark.promise("scene.request.once")
def test_a_repeated_request_is_answered_and_not_run_again(store: Store) -> None:
    make(store, "plan", "a")
    first = add(store, 1, "b", request_id="r", payload_sha256="p")
    add(store, 2, "c")

    def never(_: Scene) -> Scene:
        raise AssertionError

    again = store.save("plan", never, expected_revision=1, actor="agent", request_id="r", payload_sha256="p")
    assert (again.duplicate, again.revision, again.sha256) == (True, 2, first.sha256)
    assert (again.payload_matches, again.previous_revision) == (True, 1)
    assert (again.byte_length, again.element_count, again.saved_at) == (first.byte_length, 2, first.saved_at)
    assert ids(store.read("plan").data) == ["a", "b", "c"]


def test_the_same_id_for_another_payload_runs_nothing_and_says_so(store: Store) -> None:
    make(store)
    add(store, 1, "a", request_id="r", payload_sha256="p")
    other = add(store, 1, "b", request_id="r", payload_sha256="q")
    assert (other.duplicate, other.payload_matches) == (True, False)
    assert "carried out before with other content" in other.wire()["message"]
    assert ids(store.read("plan").data) == ["a"]


def test_thirty_two_requests_are_remembered_and_no_more(store: Store, tmp_path: Path) -> None:
    make(store, request_id="r0")
    for count in range(1, 34):
        add(store, count, f"e{count}", request_id=f"r{count}")
    assert [one["id"] for one in sidecar(tmp_path)["recentRequests"]] == [f"r{count}" for count in range(2, 34)]
    assert add(store, 1, "x", request_id="r2").duplicate
    assert refused(lambda: add(store, 1, "x", request_id="r1")).code == "revision_conflict"


@pytest.mark.parametrize("request_id", ["", "x" * 201, 3, "a\nb", True])
def test_a_request_id_is_printable_text(store: Store, request_id: Any) -> None:
    make(store)
    assert refused(lambda: add(store, 1, "a", request_id=request_id)).code == "invalid_operation"


def test_a_create_that_comes_again_is_a_collision_that_knows_its_own(store: Store) -> None:
    made = make(store, "plan", "a", request_id="r")
    now = add(store, 1, "b")
    again = refused(lambda: make(store, "plan", "a", request_id="r"))
    assert (again.code, again.status) == ("already_exists", 409)
    assert again.details["sameRequest"] is True
    assert (again.details["revision"], again.details["sha256"]) == (1, made.sha256)
    assert again.details["currentSha256"] == now.sha256
    other = refused(lambda: make(store, "plan", "a", request_id="other"))
    assert "sameRequest" not in other.details
    assert "sameRequest" not in refused(lambda: make(store, "plan")).details


def test_tombstones_count(store: Store, tmp_path: Path) -> None:
    scene = document.empty().replaced(elements=[box("a"), box("b", isDeleted=True)])
    done = store.create("plan", scene, actor="agent")
    assert (done.element_count, done.deleted_count) == (2, 1)
    assert sidecar(tmp_path)["elementCount"] == 2
    assert store.list()[0].element_count == 2


def test_a_change_that_raises_leaves_everything_as_it_was(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a")
    before = contents(tmp_path)

    def bad(_: Scene) -> Scene:
        raise refuse("invalid_operation", "No.", next_action="Another.")

    error = refused(lambda: store.save("plan", bad, expected_revision=1, actor="agent", request_id="r"))
    assert error.code == "invalid_operation"
    assert contents(tmp_path) == before
    assert add(store, 1, "b", request_id="r").revision == 2


def test_a_scene_that_grows_beyond_its_bound_is_not_saved(tmp_path: Path) -> None:
    with Store(tmp_path, Limits(max_scene_bytes=900, max_elements=3)) as store:
        make(store, "plan", "a")
        before = contents(tmp_path)
        assert refused(lambda: add(store, 1, "b", "c", "d")).code == "too_many_elements"
        big = lambda scene: scene.replaced(elements=[box("a", text="x" * 900)])  # noqa: E731
        assert refused(lambda: store.save("plan", big, expected_revision=1, actor="ui")).code == "too_large"
        unsafe = lambda scene: scene.replaced(elements=[box("a", customData={"__proto__": 1})])  # noqa: E731
        assert refused(lambda: store.save("plan", unsafe, expected_revision=1, actor="ui")).code == "invalid_scene"
        assert contents(tmp_path) == before


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_at_any_call_leaves_the_old_scene_whole(tmp_path: Path, number: int) -> None:
    whole = FaultyCalls()
    start(tmp_path / "whole")
    with Store(KeptRoot(tmp_path / "whole", calls=whole)) as store:
        add(store, 1, "b", request_id="r")
    failed = 0
    for at in range(1, len(whole.made) + 1):
        folder = tmp_path / str(at)
        start(folder)
        before = (folder / "plan.excalidraw").read_bytes()
        done = None
        with Store(KeptRoot(folder, calls=FaultyCalls(number=number, at=at))) as store:
            try:
                done = add(store, 1, "b", request_id="r")
            except CountermarkError as error:
                assert error.code in {"io_error", "scene_busy"}  # noqa: PT017
                failed += 1
        now = (folder / "plan.excalidraw").read_bytes()
        assert (ids(now) == ["a", "b"]) if done else (now == before), f"{at}: {whole.made[at - 1]}"
        with Store(folder) as store:  # the disk is well again: the retry is done once
            again = add(store, 1, "b", request_id="r")
            assert (again.duplicate, again.revision) == (done is not None, 2)
            assert ids(store.read("plan").data) == ["a", "b"]
        if whole.made[at - 1] != "unlink":  # what could not be taken away is swept when its process is gone
            assert [path.name for path in folder.rglob(".cm-*")] == []
    assert failed > 10


def start(folder: Path) -> None:
    folder.mkdir()
    with Store(folder) as store:
        make(store, "plan", "a")


def test_a_disk_that_lies_is_found_by_reading_back(tmp_path: Path) -> None:
    start(tmp_path / "d")
    before = (tmp_path / "d" / "plan.excalidraw").read_bytes()
    with Store(KeptRoot(tmp_path / "d", calls=FaultyCalls(spoil=True))) as store:
        error = refused(lambda: add(store, 1, "b"))
    assert error.code in {"io_error", "scene_busy"}
    assert (tmp_path / "d" / "plan.excalidraw").read_bytes() == before


def test_an_edit_in_the_last_instant_is_not_overwritten(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a")
    theirs = document.dump(drawn("theirs"))

    def change(scene: Scene) -> Scene:
        (tmp_path / "plan.excalidraw").write_bytes(theirs)
        return adding("ours")(scene)

    error = refused(lambda: store.save("plan", change, expected_revision=1, actor="agent"))
    assert (error.code, error.details["reason"]) == ("revision_conflict", "changed-meanwhile")
    assert (tmp_path / "plan.excalidraw").read_bytes() == theirs
    assert store.read("plan").revision == 2


def test_a_lost_lock_is_seen_before_the_rename(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a")
    before = (tmp_path / "plan.excalidraw").read_bytes()

    def change(scene: Scene) -> Scene:
        (tmp_path / KEPT / "locks" / "plan.lock").write_text("another program's")
        return adding("ours")(scene)

    error = refused(lambda: store.save("plan", change, expected_revision=1, actor="agent"))
    assert (error.code, error.details["reason"]) == ("scene_busy", "lock-lost")
    assert (tmp_path / "plan.excalidraw").read_bytes() == before
    assert (tmp_path / KEPT / "locks" / "plan.lock").read_text() == "another program's"


def test_after_a_save_no_lock_is_left(store: Store, tmp_path: Path) -> None:
    make(store)
    assert not (tmp_path / KEPT / "locks" / "plan.lock").exists()


def test_the_past_is_thinned_out_and_the_newest_stays(tmp_path: Path) -> None:
    with Store(tmp_path, retention=Retention(count=4, size=1 << 30, always=2, every=16)) as store:
        make(store)
        for count in range(1, 32):
            add(store, count, f"e{count}")
        kept = [version.revision for version in store.history("plan")]
    assert kept == [32, 31, 30, 29, 28]
    with Store(tmp_path, retention=Retention(count=1000, size=1, always=1, every=16)) as store:
        for count in range(32, 48):
            add(store, count, f"e{count}")
        assert [version.revision for version in store.history("plan")] == [48, 47]


def test_a_restored_revision_is_a_new_one_with_the_same_bytes(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a")
    first = (tmp_path / "plan.excalidraw").read_bytes()
    add(store, 1, "b")
    done = store.restore("plan", 1, expected_revision=2, request_id="r")
    assert (done.revision, done.restored_from, done.wire()["restoredFrom"]) == (3, 1, 1)
    assert (tmp_path / "plan.excalidraw").read_bytes() == first
    assert sidecar(tmp_path)["updatedBy"] == "restore"
    assert store.restore("plan", 1, request_id="r").duplicate
    assert refused(lambda: store.restore("plan", 1, expected_revision=2)).code == "revision_conflict"
    gone = refused(lambda: store.restore("plan", 9))
    assert (gone.code, gone.details["revisions"]) == ("not_found", [1, 2])
    history = store.history("plan")
    assert [(one.revision, one.updated_by, one.current) for one in history] == [
        (3, "restore", True), (2, "agent", False), (1, "agent", False),
    ]  # fmt: skip


def test_a_renamed_scene_takes_its_past_along_and_leaves_nothing(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a")
    add(store, 1, "b", request_id="r")
    uid = store.read("plan").uid
    done = store.rename("plan", "map", expected_revision=2, actor="cli", request_id="move")
    assert (done.name, done.revision, done.previous_revision) == ("map", 3, 2)
    assert refused(lambda: store.read("plan")).code == "not_found"
    assert [one.revision for one in store.history("map")] == [3, 2, 1]
    assert store.read("map").uid == uid
    assert store.rename("plan", "map", actor="cli", request_id="move").duplicate
    assert add(store, 1, "x", name="map", request_id="r").duplicate
    assert [path for path in contents(tmp_path) if "plan" in path] == []
    make(store, "plan", "new")
    assert (store.read("plan").revision, store.read("plan").uid == uid) == (1, False)
    assert refused(lambda: store.rename("plan", "map", actor="cli")).code == "already_exists"
    assert refused(lambda: store.rename("plan", "plan", actor="cli")).code == "already_exists"


def test_a_scene_in_the_trash_leaves_a_name_that_inherits_nothing(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a", request_id="made")
    add(store, 1, "b", request_id="r")
    data = (tmp_path / "plan.excalidraw").read_bytes()
    done = store.trash("plan", expected_revision=2, actor="ui", request_id="bin")
    assert (done.revision, done.sha256) == (2, sha256(data).hexdigest())
    assert store.list() == []
    assert store.trash("plan", actor="ui", request_id="bin").duplicate
    assert refused(lambda: store.trash("plan", actor="ui", request_id="other")).code == "not_found"
    [entry] = store.trashed()
    assert (tmp_path / entry["folder"] / "plan.excalidraw").read_bytes() == data
    assert (tmp_path / entry["folder"] / "plan.1.excalidraw").exists()
    made = make(store, "plan", "c")
    assert (made.revision, [one.revision for one in store.history("plan")]) == (1, [1])
    assert not add(store, 1, "d", request_id="r").duplicate


def links(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_nlink for path in folder.rglob("*.excalidraw")}


def test_a_renamed_scene_shares_its_bytes_with_nothing_that_is_kept(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a")
    before = (tmp_path / "plan.excalidraw").read_bytes()
    store.rename("plan", "map", actor="cli")
    (tmp_path / "map.excalidraw").write_text("written in place")
    assert store.version("map", 1) == before
    assert set(links(tmp_path).values()) == {1}
    assert [row.warning for row in store.list()] == [""]


def test_a_save_or_rename_that_fails_at_any_call_leaves_no_second_name(tmp_path: Path) -> None:
    acts: dict[str, Callable[[Store], object]] = {
        "save": lambda store: add(store, 1, "b"),
        "rename": lambda store: store.rename("plan", "map", actor="cli"),
        "restore": lambda store: store.restore("plan", 0),
    }
    for what, act in acts.items():
        for at in range(1, 80):
            folder = tmp_path / f"{what}{at}"
            folder.mkdir()
            (folder / "plan.excalidraw").write_bytes(document.dump(drawn("a")))
            with Store(folder) as store:
                add(store, 0, "b")
            calls = FaultyCalls(number=errno.EIO, at=at)
            with Store(KeptRoot(folder, calls=calls)) as store, suppress(CountermarkError):
                act(store)
            if len(calls.made) < at:
                break
            if calls.made[at - 1] != "unlink":  # what could not be taken away
                assert set(links(folder).values()) == {1}, f"{what} {at}: {calls.made[at - 1]}"
        else:
            pytest.fail("the act never came to its end")


def test_what_a_crash_left_kept_twice_is_parted_by_the_next_read(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a")
    (tmp_path / KEPT / "backups" / "plan.1.excalidraw").hardlink_to(tmp_path / "plan.excalidraw")
    assert store.read("plan").revision == 1
    assert links(tmp_path) == {"plan.excalidraw": 1}


def test_a_trash_that_is_asked_again_takes_no_new_scene_of_the_name(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a")
    store.trash("plan", actor="ui", request_id="bin")
    make(store, "plan", "new")
    assert store.trash("plan", actor="ui", request_id="bin").duplicate
    assert ids((tmp_path / "plan.excalidraw").read_bytes()) == ["new"]
    assert not store.trash("plan", actor="ui", request_id="other").duplicate


def test_a_trash_that_fails_at_any_call_never_loses_the_scene(tmp_path: Path) -> None:
    for always in (False, True):
        for at in range(1, 80):
            folder = tmp_path / f"{at}{always}"
            start(folder)
            before = (folder / "plan.excalidraw").read_bytes()
            calls = FaultyCalls(number=errno.EIO, at=at, always=always)
            with Store(KeptRoot(folder, calls=calls)) as store, suppress(CountermarkError):
                store.trash("plan", actor="ui", request_id="bin")
            there = list(folder.rglob("plan.excalidraw"))
            assert [path.read_bytes() for path in there] == [before], f"{at}: {calls.made[at - 1 :]}"
            if len(calls.made) < at:
                break
        else:
            pytest.fail("the act never came to its end")


class NoWayBack(FaultyCalls):
    """A disk on which the move of a scene is done, its sync fails, and so does its undo; all else is well."""

    def __init__(self) -> None:
        super().__init__()
        self._moved = False

    def rename_new(self, folder: int, name: str, new_folder: int, new_name: str) -> None:
        if self._moved:
            raise OSError(errno.EIO, "no way back")
        super().rename_new(folder, name, new_folder, new_name)
        self._moved = name == "plan.excalidraw"

    def fsync(self, fd: int) -> None:
        if self._moved:
            raise OSError(errno.EIO, "no sync")
        super().fsync(fd)


def test_a_move_into_the_trash_that_cannot_be_undone_keeps_the_scene_there(tmp_path: Path) -> None:
    start(tmp_path / "d")
    before = (tmp_path / "d" / "plan.excalidraw").read_bytes()
    with Store(KeptRoot(tmp_path / "d", calls=NoWayBack())) as store:
        assert refused(lambda: store.trash("plan", actor="ui", request_id="bin")).code == "io_error"
    with Store(tmp_path / "d") as store:
        [entry] = store.trashed()
        assert (tmp_path / "d" / entry["folder"] / "plan.excalidraw").read_bytes() == before
        assert store.trash("plan", actor="ui", request_id="bin").duplicate


def test_a_rename_that_cannot_be_undone_stands_with_its_past(tmp_path: Path) -> None:
    start(tmp_path / "d")
    with Store(KeptRoot(tmp_path / "d", calls=NoWayBack())) as store:
        uid = store.read("plan").uid
        assert refused(lambda: store.rename("plan", "map", actor="ui", request_id="move")).code == "io_error"
    with Store(tmp_path / "d") as store:
        assert store.rename("plan", "map", actor="ui", request_id="move").duplicate
        assert (store.read("map").uid, [one.revision for one in store.history("map")]) == (uid, [2, 1])


def test_a_restore_that_is_asked_again_is_answered_when_its_revision_is_kept_no_more(tmp_path: Path) -> None:
    with Store(tmp_path, retention=Retention(count=1, size=1 << 30, always=1, every=3)) as store:
        make(store, "plan", "a")
        add(store, 1, "b")
        done = store.restore("plan", 1, request_id="r")
        assert refused(lambda: store.version("plan", 1)).code == "not_found"
        again = store.restore("plan", 1, request_id="r")
        assert (again.duplicate, again.revision) == (True, done.revision)


def test_what_somebody_deleted_by_hand_is_not_inherited_either(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a")
    add(store, 1, "b", request_id="r")
    (tmp_path / "plan.excalidraw").unlink()
    assert refused(lambda: store.read("plan")).code == "not_found"
    assert make(store, "plan", "c").revision == 1
    assert not add(store, 1, "d", request_id="r").duplicate
    assert ids((next((tmp_path / KEPT / "trash").rglob("plan.1.excalidraw"))).read_bytes()) == ["a"]


@pytest.mark.promise("scene.store.one-winner")
def test_two_threads_on_one_revision_have_one_winner(store: Store) -> None:
    make(store)

    def attempt(who: str, expected: int) -> bool:
        try:
            return add(store, expected, f"{who}{expected}").revision == expected + 1
        except CountermarkError as error:
            assert error.code == "revision_conflict"  # noqa: PT017
            return False

    with ThreadPoolExecutor(4) as pool:
        for expected in range(1, 16):
            won = list(pool.map(attempt, "abcd", [expected] * 4))
            assert sum(won) == 1
    assert len(store.read("plan").scene.elements) == 15


def test_a_record_is_read_back_as_it_was_written(store: Store, tmp_path: Path) -> None:
    make(store, request_id="made", payload_sha256="p")
    add(store, 1, "a", request_id="r", mark="grant")
    data = (tmp_path / KEPT / "plan.meta.json").read_bytes()
    record = sidecars.parse(data, "plan")
    assert record is not None
    assert record.bytes() == data
    assert [(one.revision, one.mark) for one in record.lineage] == [(1, None), (2, "grant")]
    assert sidecars.parse(data, "other") is None
    assert sidecars.parse(data.replace(b"revision@1", b"revision@2"), "plan") is None


def test_the_store_keeps_its_folder_when_a_rename_moves_it(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    with Store(folder) as store:
        make(store)
        folder.rename(tmp_path / "e")
        assert add(store, 1, "a").revision == 2
    assert json.loads((tmp_path / "e" / "plan.excalidraw").read_text())["elements"]


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert refused(lambda: Store(tmp_path / "link")).code == "permission_denied"
    assert refused(lambda: Store(f"{tmp_path}/link/")).code == "permission_denied"
    assert refused(lambda: Store(tmp_path / "none")).code == "not_found"
