from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root
from countermark.kernel.leftover import is_orphan, temporary_name
from countermark.testkit.disk import FaultyCalls


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    with Root(tmp_path) as opened:
        yield opened


def test_folders_are_made_with_those_above_and_kept_when_there(root: Root, tmp_path: Path) -> None:
    root.make_dir("a/b/c")
    (tmp_path / "a" / "b" / "file").touch()
    root.make_dir("a/b")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "c", "file"]


def test_a_folder_is_not_made_over_a_file_or_a_link(root: Root, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere")
    for name in ("file", "link"):
        with pytest.raises(CountermarkError) as error:
            root.make_dir(name)
        assert error.value.code == "output_exists"
    with pytest.raises(CountermarkError) as error:
        root.make_dir("link/inner")
    assert error.value.code in {"output_exists", "path_escape"}
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_remove_takes_a_file_or_a_link_itself(root: Root, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    root.remove("link")
    assert (tmp_path / "file").exists()
    root.remove("file")
    with pytest.raises(CountermarkError) as error:
        root.remove("file")
    assert error.value.code == "not_found"


@pytest.mark.promise("kernel.files.no-escape")
def test_removing_a_tree_never_follows_a_link(root: Root, tmp_path: Path) -> None:
    keep = tmp_path / "keep"
    keep.mkdir()
    (keep / "file").write_text("kept")
    tree = tmp_path / "tree"
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "a" / "file").touch()
    (tree / "a" / "link").symlink_to("../../keep")
    (tree / "absolute").symlink_to(keep)
    os.mkfifo(tree / "pipe")
    root.remove_tree("tree")
    root.remove_tree("tree")
    assert [path.name for path in tmp_path.iterdir()] == ["keep"]
    assert (keep / "file").read_text() == "kept"


def test_removing_a_link_to_a_tree_leaves_the_tree(root: Root, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "link").symlink_to("tree")
    root.remove_tree("link")
    assert [path.name for path in tmp_path.iterdir()] == ["tree"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_two_names_change_places_in_one_step(root: Root, tmp_path: Path, kind: str) -> None:
    (tmp_path / "deep").mkdir()
    one, other = tmp_path / "one", tmp_path / "deep" / "other"
    for place in (one, other):
        if kind == "folder":
            place.mkdir()
            (place / place.name).touch()
        else:
            place.write_text(place.name)
    root.exchange("one", "deep/other")
    if kind == "folder":
        assert [path.name for path in one.iterdir()] == ["other"]
        assert [path.name for path in other.iterdir()] == ["one"]
    else:
        assert (one.read_text(), other.read_text()) == ("other", "one")


def test_an_exchange_needs_both_and_no_links(root: Root, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "link").symlink_to("file")
    for one, other, code in (("file", "nothing", "not_found"), ("link", "file", "not_a_regular_file")):
        with pytest.raises(CountermarkError) as error:
            root.exchange(one, other)
        assert error.value.code == code
    assert (tmp_path / "file").read_text() == "kept"


def test_a_folder_moves_to_a_new_name_only(root: Root, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with pytest.raises(CountermarkError) as error:
        root.move_new("a", "b")  # a plain rename would replace the empty folder
    assert error.value.code == "output_exists"
    assert "b exists" in error.value.sentence
    root.move_new("a", "b/c")
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["b", "b/c"]


@pytest.mark.parametrize("act", ["exchange", "move_new"])
def test_a_disk_that_cannot_do_it_in_one_step_says_so_and_changes_nothing(tmp_path: Path, act: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    calls = FaultyCalls(
        number=errno.EINVAL,
        operation="exchange",
        always=True,
        under=FaultyCalls(number=errno.EINVAL, operation="rename_new", always=True),
    )
    with Root(tmp_path, calls=calls) as root, pytest.raises(CountermarkError) as error:
        getattr(root, act)("a", "b" if act == "exchange" else "c")
    assert error.value.code == "part_unavailable"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_syncing_a_tree_reaches_every_file_and_folder(tmp_path: Path) -> None:
    (tmp_path / "tree" / "deep").mkdir(parents=True)
    (tmp_path / "tree" / "a").touch()
    (tmp_path / "tree" / "deep" / "b").touch()
    synced: set[int] = set()

    class Noting(FaultyCalls):
        def fsync(self, fd: int) -> None:
            synced.add(os.fstat(fd).st_ino)
            super().fsync(fd)

    with Root(tmp_path, calls=Noting()) as root:
        root.sync_tree("tree")
        assert synced == {path.stat().st_ino for path in [tmp_path / "tree", *(tmp_path / "tree").rglob("*")]}
        os.mkfifo(tmp_path / "tree" / "pipe")
        with pytest.raises(CountermarkError) as error:
            root.sync_tree("tree")
    assert error.value.code == "not_a_regular_file"


def test_only_what_a_dead_process_left_is_swept(root: Root, tmp_path: Path) -> None:
    program = "from countermark.kernel.leftover import temporary_name as n; print(n())"
    dead = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip()
    alive = temporary_name()
    (tmp_path / "sub").mkdir()
    for name in (dead, f"sub/{dead}", alive, ".cm-of-somebody-else", "file"):
        (tmp_path / name).touch()
    assert sorted(root.sweep_temp()) == [dead, f"sub/{dead}"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted([alive, ".cm-of-somebody-else", "file", "sub"])


def test_what_was_made_before_the_machine_started_again_is_an_orphan() -> None:
    host, boot, pid, start, count = temporary_name().removeprefix(".cm-").split("-")
    assert not is_orphan(f".cm-{host}-{boot}-{pid}-{start}-{count}")
    assert is_orphan(f".cm-{host}-00000000-{pid}-{start}-{count}")
    assert is_orphan(f".cm-{host}-{boot}-{pid}-{int(start) + 1}-{count}")
    assert not is_orphan(f".cm-00000000-00000000-{pid}-{start}-{count}"), "another host's process cannot be looked at"


def test_permission_bits_of_folders_are_as_asked(root: Root, tmp_path: Path) -> None:
    root.make_dir("keys", mode=0o700)
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
