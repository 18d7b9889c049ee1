"""Each row of seed 3 §3.5, and the holes between them: the file wins, and nothing that can be read is thrown away."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from countermark.kernel.canon import sha256_hex
from countermark.kernel.kept import KeptRoot
from countermark.scene import document, intent, recovery
from countermark.scene import name as names
from countermark.scene.store import Store
from countermark.testkit.disk import DeafCalls, FaultyCalls, Loss, LossyCalls, PowerCut

from .shop import KEPT, StoppedClock, add, box, contents, drawn, ids, make, refused, sidecar


@pytest.fixture(name="clock")
def make_clock() -> StoppedClock:
    return StoppedClock()


@pytest.fixture(name="store")
def make_store(tmp_path: Path, clock: StoppedClock) -> Store:
    return Store(tmp_path, clock=clock, lock_seconds=1.0, pause=clock.pause)


def put(folder: Path, data: bytes | str, name: str = "plan") -> Path:
    file = folder / f"{name}.excalidraw"
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    return file


def test_a_leftover_temporary_file_is_no_scene(store: Store, tmp_path: Path) -> None:
    make(store)
    for name in ("plan.excalidraw.tmp-123", ".cm-x", ".plan.excalidraw", "plan.tmp-1"):
        (tmp_path / name).write_text("{")
    assert [row.name for row in store.list()] == ["plan"]
    assert store.read("plan").revision == 1


def test_a_file_that_was_dropped_in_is_revision_zero_until_it_is_read(store: Store, tmp_path: Path) -> None:
    put(tmp_path, document.dump(drawn("a")))
    before = contents(tmp_path)
    [row] = store.list()
    assert (row.revision, row.valid, row.element_count) == (0, True, 1)
    assert contents(tmp_path) == before
    read = store.read("plan")
    assert (read.revision, read.updated_by) == (1, "recovery")
    assert store.list()[0].revision == 1
    assert (tmp_path / "plan.excalidraw").read_bytes() == document.dump(drawn("a"))


def test_zero_is_current_for_a_scene_that_nothing_stands_beside(store: Store, tmp_path: Path) -> None:
    put(tmp_path, document.dump(drawn("a")))
    assert refused(lambda: add(store, 1, "b")).code == "revision_conflict"
    done = add(store, 0, "b")
    assert (done.revision, done.previous_revision) == (1, 0)
    assert ids(store.version("plan", 0)) == ["a"]
    assert refused(lambda: add(store, 0, "c")).code == "revision_conflict"


def test_an_edit_by_hand_wins_and_advances_the_revision(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a")
    add(store, 1, "b", request_id="r")
    put(tmp_path, document.dump(drawn("theirs")))
    assert store.list()[0].revision == 2
    error = refused(lambda: add(store, 2, "c"))
    assert error.details["currentRevision"] == 3
    read = store.read("plan")
    assert (read.revision, read.updated_by, ids(read.data)) == (3, "recovery", ["theirs"])
    assert add(store, 1, "x", request_id="r").revision == 2


@pytest.mark.parametrize("damage", ["gone", "empty", "broken", "other-schema", "other-name"])
def test_a_lost_sidecar_is_rebuilt_and_no_number_is_given_twice(store: Store, tmp_path: Path, damage: str) -> None:
    make(store, "plan", "a")
    add(store, 1, "b")
    add(store, 2, "c")
    file = tmp_path / KEPT / "plan.meta.json"
    told = store.read("plan")
    for slot in (0, 1):
        (tmp_path / names.intent_file("plan", slot)).unlink()
    if damage == "gone":
        file.unlink()
    else:
        text = file.read_text()
        changed = {"empty": "", "broken": text[:40], "other-schema": text.replace("@1", "@9")}
        file.write_text(changed.get(damage, text.replace('"plan"', '"other"')))
    read = store.read("plan")
    assert (read.revision, read.sha256, read.updated_by) == (told.revision, told.sha256, "recovery")
    assert sidecar(tmp_path)["schema"] == "dsh-excalidraw/revision@1"
    assert add(store, 3, "d").revision == 4


def test_a_crash_between_the_rename_and_the_sidecar_loses_no_request(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a")
    old = (tmp_path / KEPT / "plan.meta.json").read_bytes()
    done = add(store, 1, "b", request_id="r")
    (tmp_path / KEPT / "plan.meta.json").write_bytes(old)
    assert store.list()[0].revision == 2
    again = add(store, 1, "b", request_id="r")
    assert (again.duplicate, again.revision, again.sha256) == (True, 2, done.sha256)
    assert sidecar(tmp_path)["updatedBy"] == "agent"


def test_an_intent_that_came_to_nothing_is_not_taken_for_a_request_that_was_carried_out(
    store: Store, tmp_path: Path
) -> None:
    put(tmp_path, document.dump(drawn("a")))
    add(store, 0, "b", request_id="r")
    (tmp_path / KEPT / "plan.meta.json").unlink()
    put(tmp_path, document.dump(drawn("a")))  # as if the process had died after the intent and before the rename
    done = add(store, 0, "b", request_id="r")
    assert not done.duplicate
    assert ids(store.read("plan").data) == ["a", "b"]


def test_a_torn_intent_is_none(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a")
    add(store, 1, "b")
    file = tmp_path / names.intent_file("plan", 2)
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert [record.revision for record in intent.read(store.shelf.root, "plan")] == [1]


@pytest.mark.promise("scene.store.damaged")
def test_damaged_bytes_give_way_to_the_newest_valid_backup_and_are_kept(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a")
    add(store, 1, "b")
    add(store, 2, "c")
    (tmp_path / KEPT / "backups" / "plan.2.excalidraw").write_text("{")
    put(tmp_path, "{broken")
    [row] = store.list()
    assert (row.valid, row.reason) == (False, "not-json")
    read = store.read("plan")
    assert (read.revision, read.updated_by, read.restored_from, ids(read.data)) == (4, "recovery", 1, ["a"])
    [kept] = (tmp_path / KEPT / "quarantine").iterdir()
    assert kept.read_text() == "{broken"
    assert refused(lambda: add(store, 3, "d")).code == "revision_conflict"
    assert add(store, 4, "d").revision == 5


def test_damaged_bytes_without_a_backup_are_left_alone(store: Store, tmp_path: Path) -> None:
    put(tmp_path, "{broken")
    before = contents(tmp_path)
    error = refused(lambda: store.read("plan"))
    assert (error.code, error.status) == ("corrupt_scene", 500)
    assert refused(lambda: add(store, 0, "a")).code == "corrupt_scene"
    assert refused(lambda: make(store)).code == "already_exists"
    assert contents(tmp_path) == before


def test_a_backup_of_another_scene_is_never_restored(store: Store, tmp_path: Path) -> None:
    make(store, "a.1", "theirs")
    add(store, 1, "more", name="a.1")
    put(tmp_path, "{broken", "a")
    assert refused(lambda: store.read("a")).code == "corrupt_scene"


MERGE = '{"type":"excalidraw",\n<<<<<<< ours\n"elements":[]\n=======\n"elements":[{}]\n>>>>>>> theirs\n}'


def test_an_unfinished_merge_is_for_a_person(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a")
    add(store, 1, "b")
    put(tmp_path, MERGE)
    before = contents(tmp_path)
    error = refused(lambda: store.read("plan"))
    assert (error.code, error.details["reason"]) == ("corrupt_scene", "conflict-markers")
    assert contents(tmp_path) == before
    done = store.restore("plan", 1)  # which is a person's decision
    assert (done.revision, done.restored_from) == (3, 1)
    [kept] = (tmp_path / KEPT / "quarantine").iterdir()
    assert kept.read_text() == MERGE
    assert ids(store.read("plan").data) == ["a"]


@pytest.mark.parametrize("share", [0, 0.5, 0.99])
def test_damaged_bytes_that_are_young_are_waited_for_and_old_ones_are_damage(
    store: Store, tmp_path: Path, clock: StoppedClock, share: float
) -> None:
    make(store, "plan", "a")
    add(store, 1, "b")
    whole = document.dump(drawn("by another program"))
    file = put(tmp_path, whole[: int(share * len(whole))])
    os.utime(file, ns=(0, (clock.now - 1999) * 1_000_000))
    error = refused(lambda: store.read("plan"))
    assert (error.code, error.details["reason"]) == ("scene_busy", "still-changing")
    clock.now += 1
    assert store.read("plan").restored_from == 1


def test_a_file_that_is_read_half_written_is_whole_when_its_writer_is_done(tmp_path: Path) -> None:
    theirs = document.dump(drawn(*(f"theirs{number}" for number in range(40))))
    with Store(tmp_path) as store:
        make(store, "plan", "a")
        add(store, 1, "b")
        with (tmp_path / "plan.excalidraw").open("wb") as writer:
            writer.write(theirs[:500])
            writer.flush()
            for act in (
                lambda: store.read("plan"),
                lambda: add(store, 2, "c"),
                lambda: store.restore("plan", 1),
                lambda: store.trash("plan", expected_revision=2, actor="ui"),
            ):
                assert refused(act).code == "scene_busy"
            writer.write(theirs[500:])
        assert list((tmp_path / KEPT / "quarantine").iterdir()) == []
        assert store.read("plan").data == theirs


def test_bytes_that_change_between_two_looks_are_being_written_however_old_they_seem(
    store: Store, tmp_path: Path
) -> None:
    make(store, "plan", "a")
    add(store, 1, "b")
    file = put(tmp_path, "{broken")
    seen = recovery.look(store.shelf, "plan")
    file.write_text("{brokem")  # as long as before
    os.utime(file, ns=(0, seen.print[2] + 1))
    error = refused(lambda: recovery.refuse_damaged(store.shelf, "plan", seen))
    assert (error.code, error.details["reason"]) == ("scene_busy", "still-changing")


def test_damaged_bytes_dated_ahead_of_the_clock_are_for_a_person(
    store: Store, tmp_path: Path, clock: StoppedClock
) -> None:
    make(store, "plan", "a")
    add(store, 1, "b")
    file = put(tmp_path, "{broken")
    os.utime(file, ns=(0, (clock.now + 1000) * 1_000_000))
    assert refused(lambda: store.read("plan")).code == "scene_busy"
    os.utime(file, ns=(0, (clock.now + 60_000) * 1_000_000))
    error = refused(lambda: store.read("plan"))
    assert (error.code, error.details["reason"]) == ("corrupt_scene", "dated-ahead")
    assert file.read_text() == "{broken"
    assert store.restore("plan", 1, expected_revision=error.details["currentRevision"]).revision == 3


def test_a_damaged_scene_has_a_history_and_can_be_restored_or_put_away(store: Store, tmp_path: Path) -> None:
    for name in ("plan", "other"):
        make(store, name, "a")
        add(store, 1, "b", name=name)
        put(tmp_path, MERGE, name)
    assert [(one.revision, one.current) for one in store.history("plan")] == [(1, False)]
    error = refused(lambda: store.read("plan"))
    now = error.details["currentRevision"]
    assert now == {row.name: row.revision for row in store.list()}["plan"] == 2
    stale = refused(lambda: store.restore("plan", 1, expected_revision=1))
    assert (stale.code, stale.details["currentRevision"]) == ("revision_conflict", 2)
    assert refused(lambda: store.trash("plan", expected_revision=1, actor="ui")).code == "revision_conflict"
    assert store.restore("plan", 1, expected_revision=now, actor="ui", request_id="r").revision == 3
    uid = sidecar(tmp_path, "other")["uid"]
    done = store.trash("other", expected_revision=2, actor="ui")
    assert (done.revision, done.uid, done.sha256) == (2, uid, sha256_hex(MERGE.encode()))
    [entry] = store.trashed()
    assert (tmp_path / entry["folder"] / "other.excalidraw").read_text() == MERGE


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'\xef\xbb\xbf{"type":"excalidraw","elements":[]}', "not-strict-json"),
        (b'{"type":"excalidraw","elements":[],"n":NaN}', "not-strict-json"),
        (b'{"type":"excalidraw-skeleton","elements":[]}', "excalidraw-skeleton"),
        (b"[]", "not-a-scene"),
    ],
)
def test_what_somebody_meant_to_write_is_never_replaced(store: Store, tmp_path: Path, data: bytes, reason: str) -> None:
    make(store, "plan", "a")
    add(store, 1, "b")
    put(tmp_path, data)
    error = refused(lambda: store.read("plan"))
    assert (error.code, error.details["reason"]) == ("invalid_scene", reason)
    assert (tmp_path / "plan.excalidraw").read_bytes() == data
    assert store.restore("plan", 1).revision == 3


def test_a_folder_that_cannot_be_written_shows_its_scenes_and_promises_no_revision(tmp_path: Path) -> None:
    put(tmp_path, document.dump(drawn("a")))
    before = contents(tmp_path)
    calls = FaultyCalls(number=errno.EROFS, always=True)
    with Store(KeptRoot(tmp_path, calls=calls)) as store:
        read = store.read("plan")
        assert (read.revision, ids(read.data)) == (0, ["a"])
        assert [row.revision for row in store.list()] == [0]
        assert refused(lambda: add(store, 0, "b")).code == "io_error"
    assert contents(tmp_path) == before
    with Store(tmp_path) as store:
        add(store, 0, "b")
    with Store(KeptRoot(tmp_path, calls=FaultyCalls(number=errno.EROFS, always=True))) as store:
        assert store.read("plan").revision == 1


def cut_short(folder: Path) -> Store:
    """Leave a rename of `plan` to `map` as a crash right after the move of its file does; return a new store."""
    with Store(folder) as store:
        make(store, "plan", "a")
        add(store, 1, "b")
        beside = {file: file.read_bytes() for file in (folder / KEPT).rglob("plan.*") if file.parent.name != "locks"}
        store.rename("plan", "map", actor="cli")
    for file in (folder / KEPT / "backups").iterdir():
        file.unlink()
    (folder / KEPT / "map.meta.json").unlink()  # its intent stands
    for file, data in beside.items():
        file.write_bytes(data)
    return Store(folder)


def test_a_new_scene_of_the_old_name_takes_nothing_from_a_rename_that_was_cut_short(tmp_path: Path) -> None:
    with cut_short(tmp_path) as store:
        assert make(store, "plan", "new").revision == 1
        assert [one.revision for one in store.history("plan")] == [1]
        assert [one.revision for one in store.history("map")] == [3, 1]
        assert list((tmp_path / KEPT / "trash").iterdir()) == []


def test_a_scene_that_goes_back_to_its_old_name_brings_its_past(tmp_path: Path) -> None:
    with cut_short(tmp_path) as store:
        store.rename("map", "plan", actor="cli")
        assert [one.revision for one in store.history("plan")] == [4, 3, 1]


def test_a_scene_that_moves_on_brings_what_stands_at_its_first_name(tmp_path: Path) -> None:
    with cut_short(tmp_path) as store:
        store.rename("map", "third", actor="cli")
        assert [one.revision for one in store.history("third")] == [4, 3, 1]
        assert [path for path in contents(tmp_path) if "plan" in path] == []


def test_a_damaged_scene_is_brought_back_from_what_stands_at_its_old_name(tmp_path: Path) -> None:
    with cut_short(tmp_path) as store:
        os.utime(put(tmp_path, "{broken", "map"), (0, 0))
        assert make(store, "plan", "new").revision == 1
        assert ids(store.read("map").data) == ["a"]


def test_a_rename_that_was_cut_short_is_finished_later(tmp_path: Path) -> None:
    """The scene has moved and nothing that stands beside it has."""
    whole = FaultyCalls()
    for at in [0, *range(1, 60)]:
        folder = tmp_path / str(at)
        folder.mkdir()
        with Store(folder) as store:
            make(store, "plan", "a")
            add(store, 1, "b")
            uid = store.read("plan").uid
        calls = FaultyCalls(number=errno.EIO, at=at, always=True) if at else whole
        with Store(KeptRoot(folder, calls=calls)) as store:
            try:
                store.rename("plan", "map", actor="cli", request_id="move")
            except Exception as error:  # noqa: BLE001
                assert getattr(error, "code", "") in {"io_error", "scene_busy", "not_found"}, repr(error)  # noqa: PT017
        with Store(folder) as store:
            rows = store.list()
            assert len(rows) == 1, at
            read = store.read(rows[0].name)
            assert ids(read.data) == ["a", "b"]
            assert read.uid == uid
            if read.name == "map":
                assert [one.revision for one in store.history("map")] == [3, 2, 1], at
                assert store.rename("plan", "map", actor="cli", request_id="move").duplicate
        if at >= len(whole.made):
            break


QUICK = DeafCalls(FaultyCalls())


@pytest.mark.promise("scene.store.crash")
@pytest.mark.parametrize("loss", Loss)
def test_a_power_loss_at_any_call_of_a_save_keeps_what_was_acknowledged(tmp_path: Path, loss: Loss) -> None:
    def ready(folder: Path) -> None:
        folder.mkdir()
        with Store(folder) as store:
            make(store, "plan", "a")
            add(store, 1, "b", request_id="before")

    ready(tmp_path / "whole")
    disk = LossyCalls(tmp_path / "whole", under=QUICK)
    with Store(KeptRoot(tmp_path / "whole", calls=disk)) as store:
        add(store, 2, "c", request_id="r")
    for cut in [*range(1, len(disk.made) + 1, 2), None]:
        folder = tmp_path / f"{cut}"
        ready(folder)
        disk = LossyCalls(folder, cut_after=cut, under=QUICK)
        acknowledged = False
        store = Store(KeptRoot(folder, calls=disk))
        try:
            add(store, 2, "c", request_id="r")
            acknowledged = True
        except PowerCut:
            pass
        disk.power_cut(loss, seed=cut or 0)
        for file in (folder / KEPT / "locks").iterdir():  # a machine takes its time to come back
            os.utime(file, (0, 0))
        with Store(folder) as store:
            read = store.read("plan")
            assert ids(read.data) in ([["a", "b", "c"]] if acknowledged else [["a", "b"], ["a", "b", "c"]])
            again = add(store, 2, "c", request_id="r")
            assert again.revision == 3
            assert not acknowledged or again.duplicate
            assert ids(store.read("plan").data) == ["a", "b", "c"]
            assert add(store, 1, "b", request_id="before").duplicate


def test_power_that_goes_after_the_answer_takes_no_revision_back(tmp_path: Path) -> None:
    """The same bytes as two revisions before: only the intent tells which of the two it is."""
    with Store(tmp_path) as store:
        make(store, "plan", "a")
        add(store, 1, "b")
    disk = LossyCalls(tmp_path, under=QUICK)
    with Store(KeptRoot(tmp_path, calls=disk)) as store:
        store.restore("plan", 1, request_id="undo")
        store.save("plan", lambda scene: scene.replaced(elements=[box("a"), box("b")]), expected_revision=3, actor="ui")
        done = store.restore("plan", 1, request_id="again")
    disk.power_cut(Loss.LOST)
    with Store(tmp_path) as store:
        assert store.read("plan").revision == done.revision == 5
        assert store.restore("plan", 1, request_id="again").duplicate


def test_a_clock_that_was_set_back_changes_no_order(store: Store, tmp_path: Path, clock: StoppedClock) -> None:
    make(store, "plan", "a")
    clock.now -= 10**9
    done = add(store, 1, "b")
    assert done.revision == 2
    assert json.loads((tmp_path / KEPT / "plan.meta.json").read_text())["updatedAt"] == done.saved_at
