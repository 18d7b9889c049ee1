from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from countermark.kernel.calls import OPERATIONS, Calls
from countermark.kernel.files import OsCalls
from countermark.testkit.disk import AroundCalls, DeafCalls, FaultyCalls, Loss, LossyCalls, PowerCut

NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL


@pytest.fixture
def top(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


def put(calls: Calls, folder: int, name: str, data: bytes, *, sync: bool) -> None:
    fd = calls.open(folder, name, NEW, 0o644)
    calls.write(fd, memoryview(data))
    if sync:
        calls.fsync(fd)
    os.close(fd)


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def test_a_name_is_lost_until_its_folder_is_synced(tmp_path: Path, top: int) -> None:
    disk = LossyCalls(tmp_path)
    put(disk, top, "a", b"content", sync=True)
    disk.power_cut(Loss.LOST)
    assert names(tmp_path) == []


def test_a_synced_name_without_synced_content_is_an_empty_file(tmp_path: Path, top: int) -> None:
    disk = LossyCalls(tmp_path)
    put(disk, top, "a", b"content", sync=False)
    disk.fsync(top)
    disk.power_cut(Loss.LOST)
    assert (tmp_path / "a").read_bytes() == b""


def test_what_was_synced_in_both_ways_stands(tmp_path: Path) -> None:
    for seed, loss in enumerate(Loss):
        folder = tmp_path / loss.name
        folder.mkdir()
        inner = os.open(folder, os.O_RDONLY)
        disk = LossyCalls(folder)
        put(disk, inner, "a", b"content", sync=True)
        disk.fsync(inner)
        os.close(inner)
        disk.power_cut(loss, seed=seed)
        assert (folder / "a").read_bytes() == b"content"


def test_a_torn_write_keeps_a_part(tmp_path: Path, top: int) -> None:
    disk = LossyCalls(tmp_path)
    put(disk, top, "a", b"content!", sync=False)
    disk.power_cut(Loss.TORN)
    assert (tmp_path / "a").read_bytes() == b"cont"


def test_an_unsynced_change_of_old_content_can_come_back_old(tmp_path: Path, top: int) -> None:
    (tmp_path / "a").write_bytes(b"old")
    disk = LossyCalls(tmp_path)
    fd = disk.open(top, "a", os.O_RDWR, 0)
    disk.truncate(fd, 0)
    disk.write(fd, memoryview(b"newer"))
    os.close(fd)
    disk.power_cut(Loss.LOST)
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_removed_name_comes_back_until_its_folder_is_synced(tmp_path: Path, top: int) -> None:
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "d").mkdir()
    disk = LossyCalls(tmp_path)
    disk.unlink(top, "a")
    disk.rmdir(top, "d")
    disk.power_cut(Loss.LOST)
    assert names(tmp_path) == ["a", "d"]


def test_a_move_between_folders_needs_both_synced(tmp_path: Path, top: int) -> None:
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "d").mkdir()
    inner = os.open(tmp_path / "d", os.O_RDONLY)
    disk = LossyCalls(tmp_path)
    disk.rename(top, "a", inner, "b")
    disk.fsync(inner)
    os.close(inner)
    disk.power_cut(Loss.LOST)
    assert names(tmp_path) == ["a", "d"]
    assert names(tmp_path / "d") == []


def test_one_rename_is_kept_or_lost_whole(tmp_path: Path) -> None:
    for seed in range(16):
        folder = tmp_path / str(seed)
        folder.mkdir()
        (folder / "a").write_bytes(b"a")
        (folder / "b").write_bytes(b"b")
        inner = os.open(folder, os.O_RDONLY)
        disk = LossyCalls(folder)
        disk.exchange(inner, "a", inner, "b")
        os.close(inner)
        disk.power_cut(Loss.MIXED, seed=seed)
        assert {(folder / name).read_bytes() for name in "ab"} == {b"a", b"b"}


def test_a_number_given_anew_is_another_file(tmp_path: Path, top: int) -> None:
    disk = LossyCalls(tmp_path)
    put(disk, top, "a", b"first", sync=True)
    disk.fsync(top)
    disk.unlink(top, "a")
    put(disk, top, "b", b"second", sync=False)  # most disks give the number of `a` again
    disk.power_cut(Loss.LOST)
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"first"


def test_after_the_power_went_nothing_happens_any_more(tmp_path: Path, top: int) -> None:
    disk = LossyCalls(tmp_path, cut_after=1)
    with pytest.raises(PowerCut):
        disk.mkdir(top, "d", 0o755)
    with pytest.raises(PowerCut):
        disk.rmdir(top, "d")
    assert names(tmp_path) == ["d"]
    assert disk.made == ["mkdir"]


def test_a_deaf_disk_forgets_what_it_said_it_synced(tmp_path: Path, top: int) -> None:
    disk = LossyCalls(tmp_path)
    deaf = DeafCalls(disk, folders=False)
    put(deaf, top, "a", b"content", sync=True)
    deaf.fsync(top)
    disk.power_cut(Loss.LOST)
    assert (tmp_path / "a").read_bytes() == b""


def test_the_nth_call_of_an_operation_fails_and_only_that(tmp_path: Path, top: int) -> None:
    disk = FaultyCalls(number=errno.EIO, operation="mkdir", at=2)
    disk.mkdir(top, "a", 0o755)
    with pytest.raises(OSError, match="Input/output error"):
        disk.mkdir(top, "b", 0o755)
    disk.mkdir(top, "c", 0o755)
    assert names(tmp_path) == ["a", "c"]


def test_a_full_disk_stays_full(top: int) -> None:
    disk = FaultyCalls(number=errno.ENOSPC, operation="mkdir", always=True)
    for name in "ab":
        with pytest.raises(OSError, match="No space left"):
            disk.mkdir(top, name, 0o755)


def test_writes_can_be_short_interrupted_and_spoilt(tmp_path: Path, top: int) -> None:
    disk = FaultyCalls(short=3, interrupt=True, spoil=True)
    with pytest.raises(InterruptedError):
        disk.open(top, "a", NEW, 0o644)
    fd = disk.open(top, "a", NEW, 0o644)
    with pytest.raises(InterruptedError):
        disk.write(fd, memoryview(b"content"))
    assert disk.write(fd, memoryview(b"content")) == 3
    os.close(fd)
    assert (tmp_path / "a").read_bytes() == b"bon"


@pytest.mark.parametrize("kind", [OsCalls, AroundCalls, FaultyCalls])
def test_every_stand_in_offers_every_operation(kind: type) -> None:
    assert all(callable(getattr(kind, operation)) for operation in OPERATIONS)
