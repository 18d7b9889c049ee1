"""Disks that are really full or really read-only, at every way of writing (root ignores mode bits, not these)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root
from countermark.kernel.lock import Lock
from countermark.kernel.store import Store
from tests.conftest import unavailable

SIZE = 1 << 20
OLD = b"old content"
LARGE = bytes(2 * SIZE)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of one MiB, with one file on it."""
    disk = tmp_path / "small"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", disk], check=False, capture_output=True, text=True
    )
    if mounted.returncode != 0:
        unavailable("mounting a tmpfs", mounted.stderr.strip() or "refused")
    (disk / "there").write_bytes(OLD)
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def put_fd(root: Root) -> None:
    fd = os.memfd_create("source")
    try:
        os.write(fd, LARGE)
        os.lseek(fd, 0, os.SEEK_SET)
        Store(root).put_fd(fd, len(LARGE))
    finally:
        os.close(fd)


WRITING: dict[str, Callable[[Root], object]] = {
    "create": lambda root: root.create("fresh", LARGE),
    "replace": lambda root: root.replace("there", LARGE),
    "replace-absent": lambda root: root.replace("fresh", LARGE),
    "append": lambda root: root.append("there", LARGE),
    "append-absent": lambda root: root.append("fresh", LARGE),
    "reserve": lambda root: root.reserve("fresh", len(LARGE)),
    "put": lambda root: Store(root).put(LARGE),
    "put_fd": put_fd,
}
CHANGING: dict[str, Callable[[Root], object]] = {
    **WRITING,
    "make_dir": lambda root: root.make_dir("folder"),
    "remove": lambda root: root.remove("there"),
    "remove_tree": lambda root: root.remove_tree("there"),
    "move_new": lambda root: root.move_new("there", "fresh"),
    "exchange": lambda root: root.exchange("there", "there"),
    "lock": lambda root: Lock(root, "lock").acquire(0),
}


@pytest.mark.promise("kernel.files.failed-write-changes-nothing")
@pytest.mark.parametrize("way", WRITING)
def test_a_full_disk_is_named_and_nothing_changes(small: Path, way: str) -> None:
    with Root(small) as root, pytest.raises(CountermarkError) as error:
        WRITING[way](root)
    assert error.value.code == "disk_full"
    assert contents(small) == {"there": OLD}


def test_space_that_was_reserved_can_be_used_when_nothing_else_is_left(small: Path) -> None:
    with Root(small) as root:
        root.reserve("space", 64 << 10)
        rest = root.free_bytes()
        root.create("filler", bytes(rest - (8 << 10)))
        with pytest.raises(CountermarkError) as error:
            root.create("record", bytes(32 << 10))
        assert error.value.code == "disk_full"
        root.remove("space")
        root.create("record", bytes(32 << 10))


@pytest.mark.promise("kernel.files.failed-write-changes-nothing")
@pytest.mark.parametrize("way", CHANGING)
def test_a_read_only_disk_is_named_and_nothing_changes(small: Path, way: str) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small], check=True)
    with Root(small) as root, pytest.raises(CountermarkError) as error:
        CHANGING[way](root)
    assert error.value.code == "disk_read_only"
    assert contents(small) == {"there": OLD}


def test_another_device_is_told_before_anything_is_moved(tmp_path: Path, small: Path) -> None:
    (tmp_path / "here").write_bytes(OLD)
    with Root(tmp_path) as root:
        assert not root.same_device("here", "small/there")
        with pytest.raises(CountermarkError) as error:
            root.move_new("here", "small/here")
    assert error.value.code == "io_failed"
    assert (tmp_path / "here").read_bytes() == OLD
    assert contents(small) == {"there": OLD}
