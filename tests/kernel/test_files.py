from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from countermark.kernel import points
from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import OPERATIONS, POINTS, TEMP_PREFIX, Calls, Root
from countermark.testkit.disk import FaultyCalls

OLD, NEW = b"old content", b"new, and longer, content"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    with Root(tmp_path) as opened:
        yield opened


def contents(folder: Path) -> dict[str, bytes | None]:
    """Return everything beneath a folder: the bytes of files, None for folders."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def test_a_new_file_has_its_content_and_digest(root: Root, tmp_path: Path) -> None:
    assert root.create("a", NEW) == sha256(NEW)
    assert contents(tmp_path) == {"a": NEW}


def test_create_never_overwrites(root: Root, tmp_path: Path) -> None:
    root.create("a", OLD)
    with pytest.raises(CountermarkError) as error:
        root.create("a", NEW)
    assert error.value.code == "output_exists"
    assert contents(tmp_path) == {"a": OLD}


def test_replace_puts_new_content_where_old_or_none_was(root: Root, tmp_path: Path) -> None:
    assert root.replace("a", OLD) == sha256(OLD)
    assert root.replace("a", NEW) == sha256(NEW)
    assert root.replace("a", b"") == sha256(b"")
    assert contents(tmp_path) == {"a": b""}


def test_replace_keeps_a_files_permissions(root: Root, tmp_path: Path) -> None:
    root.create("a", OLD, mode=0o640)
    root.replace("a", NEW)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_replace_refuses_a_link_a_folder_and_a_pipe(root: Root, tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(OLD)
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "folder", "pipe"):
        with pytest.raises(CountermarkError) as error:
            root.replace(name, NEW)
        assert error.value.code == "not_a_regular_file"
    assert (tmp_path / "target").read_bytes() == OLD
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("act", ["create", "replace", "append"])
def test_nothing_is_written_through_a_link(root: Root, tmp_path: Path, act: str) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (tmp_path / "out").symlink_to(outside)
    (tmp_path / "leaf").symlink_to(outside / "file")
    with pytest.raises(CountermarkError) as error:
        getattr(root, act)("out/file", NEW)
    assert error.value.code == "path_escape"
    with pytest.raises(CountermarkError) as error:
        getattr(root, act)("leaf", NEW)
    assert error.value.code in {"path_escape", "output_exists", "not_a_regular_file"}
    assert contents(outside) == {}


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777])
def test_permissions_do_not_depend_on_the_umask(root: Root, tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        root.create("a", NEW)
        root.create("b", NEW, mode=0o600)
        root.replace("c", NEW)
        root.make_dir("d/e")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"a": 0o644, "b": 0o600, "c": 0o644, "d": 0o755, "e": 0o755}


def test_append_adds_at_the_end(root: Root, tmp_path: Path) -> None:
    root.append("log", b"one\n")
    root.append("log", b"two\n")
    assert contents(tmp_path) == {"log": b"one\ntwo\n"}


def test_append_refuses_a_pipe_at_once(root: Root, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CountermarkError) as error:
        root.append("pipe", NEW)
    assert error.value.code == "not_a_regular_file"


def test_copy_in_counts_while_it_reads(root: Root, tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, NEW)
    os.close(write)
    with pytest.raises(CountermarkError) as error:
        root.copy_in("a", read, len(NEW) - 1)
    os.close(read)
    assert error.value.code == "input_too_large"
    assert contents(tmp_path) == {}


def test_copy_in_refuses_another_digest_than_expected(root: Root, tmp_path: Path) -> None:
    root.create("a", NEW)
    fd = root.open_regular("a")
    with pytest.raises(CountermarkError) as error:
        root.copy_in("b", fd, 100, expected=sha256(OLD))
    os.lseek(fd, 0, os.SEEK_SET)
    assert error.value.code == "artifact_invalid"
    assert root.copy_in("c", fd, 100, expected=sha256(NEW)) == sha256(NEW)
    os.close(fd)
    assert contents(tmp_path) == {"a": NEW, "c": NEW}


def test_reserved_space_is_really_held_and_can_be_changed(root: Root, tmp_path: Path) -> None:
    root.reserve("space", 1 << 20)
    assert (tmp_path / "space").stat().st_blocks * 512 >= 1 << 20
    root.reserve("space", 1 << 12)
    assert (tmp_path / "space").stat().st_size == 1 << 12
    root.reserve("none", 0)
    assert (tmp_path / "none").stat().st_size == 0


# Every way of writing content, over a folder that holds `there` with the old content.
WAYS: dict[str, Callable[[Root], object]] = {
    "create": lambda root: root.create("fresh", NEW),
    "replace": lambda root: root.replace("there", NEW),
    "replace-absent": lambda root: root.replace("fresh", NEW),
    "append": lambda root: root.append("there", NEW),
    "append-absent": lambda root: root.append("fresh", NEW),
    "reserve": lambda root: root.reserve("fresh", 4096),
    "make_dir": lambda root: root.make_dir("sub"),
    "move_new": lambda root: root.move_new("there", "fresh"),
    "exchange": lambda root: root.exchange("there", "other"),
}
MEANING = {
    errno.ENOSPC: "disk_full",
    errno.EDQUOT: "disk_full",
    errno.EROFS: "disk_read_only",
    errno.EACCES: "disk_read_only",
    errno.EIO: "io_failed",
}


def prepared(folder: Path) -> dict[str, bytes | None]:
    folder.mkdir()
    (folder / "there").write_bytes(OLD)
    (folder / "other").write_bytes(b"other")
    return contents(folder)


@pytest.mark.promise("kernel.files.failed-write-changes-nothing")
@pytest.mark.parametrize("number", MEANING, ids=errno.errorcode.get)
@pytest.mark.parametrize("way", WAYS)
def test_a_failure_at_any_call_leaves_what_was_there(tmp_path: Path, way: str, number: int) -> None:
    prepared(tmp_path / "healthy")
    healthy = FaultyCalls()
    with Root(tmp_path / "healthy", calls=healthy) as root:
        WAYS[way](root)
    assert len(healthy.made) > 1
    for at, operation in enumerate(healthy.made, start=1):
        folder = tmp_path / str(at)
        before = prepared(folder)
        refused = code_and_sentence(folder, FaultyCalls(number=number, at=at), WAYS[way])
        if refused is None:
            # Only taking away the second name of the old content may fail unnoticed: it is swept later.
            assert (way, operation) == ("replace", "unlink")
            continue
        after = contents(folder)
        if way == "make_dir":  # an empty folder more is no harm, and may be another's
            after.pop("sub", None)
        assert after == before
        assert refused[0] == MEANING[number]
        assert any(name in refused[1] for name in ("there", "fresh", "sub"))


def code_and_sentence(folder: Path, calls: Calls, way: Callable[[Root], object]) -> tuple[str, str] | None:
    with Root(folder, calls=calls) as root:
        try:
            way(root)
        except CountermarkError as error:
            return error.code, error.sentence
    return None


def test_a_disk_without_hard_links_can_still_replace_and_put_back(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(OLD)
    linkless = FaultyCalls(number=errno.EPERM, operation="link", always=True)
    with Root(tmp_path, calls=linkless) as root:
        root.replace("there", NEW)
    assert contents(tmp_path) == {"there": NEW}
    broken = FaultyCalls(number=errno.EIO, operation="fsync", at=3, under=linkless)
    with Root(tmp_path, calls=broken) as root, pytest.raises(CountermarkError) as error:
        root.replace("there", OLD)
    assert error.value.code == "io_failed"
    assert contents(tmp_path) == {"there": NEW}


@pytest.mark.promise("kernel.files.failed-write-changes-nothing")
def test_what_does_not_read_back_is_undone(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(OLD)
    with Root(tmp_path, calls=FaultyCalls(spoil=True)) as root:
        for name in ("there", "fresh"):
            with pytest.raises(CountermarkError) as error:
                root.replace(name, NEW)
            assert error.value.code == "io_failed"
            assert name in error.value.sentence
    assert contents(tmp_path) == {"there": OLD}


def test_old_content_that_cannot_be_put_back_is_named(tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(OLD)
    broken = FaultyCalls(
        number=errno.EIO, operation="rename", at=2, under=FaultyCalls(number=errno.EIO, operation="fsync", at=2)
    )
    with Root(tmp_path, calls=broken) as root, pytest.raises(CountermarkError) as error:
        root.replace("there", NEW)
    assert error.value.code == "io_failed"
    assert (tmp_path / error.value.details["kept"]).read_bytes() == OLD


@pytest.mark.parametrize("way", WAYS)
def test_interrupted_and_short_calls_go_on(tmp_path: Path, way: str) -> None:
    prepared(tmp_path / "healthy")
    prepared(tmp_path / "slow")
    with Root(tmp_path / "healthy") as root:
        WAYS[way](root)
    with Root(tmp_path / "slow", calls=FaultyCalls(short=1, interrupt=True)) as root:
        WAYS[way](root)
    assert contents(tmp_path / "slow") == contents(tmp_path / "healthy")


def test_a_disk_that_knows_no_flags_still_moves_files_to_new_names_only(tmp_path: Path) -> None:
    prepared(tmp_path / "top")
    old_disk: Calls = FaultyCalls(number=errno.EINVAL, operation="rename_new", always=True)
    with Root(tmp_path / "top", calls=old_disk) as root:
        root.create("fresh", NEW)
        root.move_new("fresh", "moved")
        for act in (lambda: root.create("there", NEW), lambda: root.move_new("moved", "there")):
            with pytest.raises(CountermarkError) as error:
                act()
            assert error.value.code == "output_exists"
    assert contents(tmp_path / "top") == {"there": OLD, "other": b"other", "moved": NEW}


def test_temporary_names_can_be_told(root: Root, tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(NEW)
    fd = root.open_regular("there")
    temporary, digest = root.write_temporary(fd, 100)
    os.close(fd)
    assert temporary.startswith(TEMP_PREFIX)
    assert digest == sha256(NEW)
    root.discard(temporary)
    root.discard(temporary)
    assert contents(tmp_path) == {"there": NEW}


def test_every_call_passes_its_two_points_and_no_other_exists(tmp_path: Path) -> None:
    passed: list[str] = []
    points.install(passed.append)
    try:
        with Root(tmp_path) as root:
            root.make_dir("d/e")
            root.create("a", OLD)
            root.replace("a", NEW)
            root.append("a", NEW)
            root.reserve("s", 4096)
            root.exchange("a", "s")
            root.move_new("s", "d/s")
            root.remove("a")
            root.remove_tree("d")
    finally:
        points.install(None)
    assert set(passed) == set(POINTS)
    assert len(POINTS) == 2 * len(OPERATIONS) == len(set(POINTS))
    # A call that failed has no second point; every other has, with nothing between.
    for number, point in enumerate(passed):
        if point.endswith(".after"):
            assert passed[number - 1] == point.replace(".after", ".before")
