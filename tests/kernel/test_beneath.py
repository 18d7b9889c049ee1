from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from countermark.kernel.beneath import Beneath, Opener, best_opener, open_argument, open_by_openat2, open_by_walk
from countermark.kernel.errors import CountermarkError
from tests.conftest import unavailable


@pytest.fixture(params=["openat2", "walk"])
def opener(request: pytest.FixtureRequest) -> Opener:
    if request.param == "walk":
        return open_by_walk
    if best_opener() is not open_by_openat2:
        unavailable("openat2", "this system has no such call, or filters it")
    return open_by_openat2


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file, a folder and links of every kind, beside something secret."""
    (tmp_path / "secret").write_bytes(b"secret")
    top = tmp_path / "top"
    (top / "sub").mkdir(parents=True)
    (top / "file").write_bytes(b"content")
    (top / "sub" / "inner").write_bytes(b"inner")
    (top / "to_file").symlink_to("file")
    (top / "to_outside").symlink_to("../secret")
    (top / "to_absolute").symlink_to("/etc/hostname")
    (top / "to_parent").symlink_to("..")
    (top / "to_sub").symlink_to("sub")
    (top / "dangling").symlink_to("nowhere")
    return top


@pytest.fixture
def root(folder: Path, opener: Opener) -> Iterator[Beneath]:
    with Beneath(folder, opener=opener) as opened:
        yield opened


def code_of(error: pytest.ExceptionInfo[CountermarkError]) -> str:
    return error.value.code


def test_files_are_read_beneath(root: Beneath) -> None:
    assert root.read("file", cap=7) == b"content"
    assert root.read("sub/inner", cap=100) == b"inner"


@pytest.mark.promise("kernel.files.no-escape")
@pytest.mark.parametrize(
    "name",
    [
        "../secret",
        "sub/../../secret",
        "sub/../file",
        "/etc/hostname",
        "to_file",
        "to_outside",
        "to_absolute",
        "to_parent/secret",
        "to_sub/inner",
        "dangling",
    ],
)
def test_nothing_is_read_outside_or_through_a_link(root: Beneath, name: str) -> None:
    with pytest.raises(CountermarkError) as error:
        root.read(name, cap=100)
    assert code_of(error) == "path_escape"


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "to_outside", "to_sub/inner", "to_parent", "to_file"])
def test_the_system_itself_refuses_escapes(folder: Path, opener: Opener, name: str) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        for flags in (os.O_RDONLY, os.O_RDONLY | os.O_DIRECTORY):
            with pytest.raises(OSError, match="symbolic link") as error:
                opener(fd, name, flags)
            assert error.value.errno == errno.ELOOP
    finally:
        os.close(fd)


@pytest.mark.parametrize("name", ["", "a//b", "a/", "./file", "a\0b", "\ud800"])
def test_what_is_no_name_is_refused(root: Beneath, name: str) -> None:
    with pytest.raises(CountermarkError) as error:
        root.read(name, cap=1)
    assert code_of(error) == "input_invalid"


def test_a_name_too_long_for_the_disk_is_refused(root: Beneath) -> None:
    with pytest.raises(CountermarkError) as error:
        root.read("n" * 300, cap=1)
    assert code_of(error) == "input_invalid"


@pytest.mark.parametrize("name", ["nothing", "nothing/inner", "file/inner"])
def test_a_missing_file_is_not_found(root: Beneath, name: str) -> None:
    with pytest.raises(CountermarkError) as error:
        root.read(name, cap=1)
    assert code_of(error) == "not_found"
    assert name in error.value.sentence


def test_a_missing_folder_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(CountermarkError) as error:
        Beneath(tmp_path / "nothing")
    assert code_of(error) == "not_found"


def test_a_pipe_a_socket_and_a_folder_are_refused_at_once(folder: Path, root: Beneath) -> None:
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
        for name in ("pipe", "socket", "sub"):
            with pytest.raises(CountermarkError) as error:
                root.read(name, cap=1)
            assert code_of(error) == "not_a_regular_file"


def test_one_byte_over_the_cap_is_too_large(root: Beneath) -> None:
    with pytest.raises(CountermarkError) as error:
        root.read("file", cap=6)
    assert code_of(error) == "input_too_large"


def test_a_file_that_never_ends_stops_at_the_cap() -> None:
    # Its size says 0, its bytes do not end: only a cap that counts while reading holds.
    endless = Path("/proc/self/environ")
    if not endless.exists():
        unavailable("/proc", "no file of this system has more bytes than its size says")
    with Beneath("/proc/self") as process:
        assert process.stat("environ").st_size == 0
        with pytest.raises(CountermarkError) as error:
            process.read("environ", cap=3)
    assert code_of(error) == "input_too_large"


def test_digests_are_of_the_bytes(root: Beneath) -> None:
    assert root.digest("file") == "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73"


def test_a_listing_is_sorted_and_names_links_as_links(root: Beneath) -> None:
    listing = root.listing()
    assert listing == sorted(listing)
    assert dict(listing) == {
        "dangling": "link",
        "file": "file",
        "sub": "folder",
        "to_absolute": "link",
        "to_file": "link",
        "to_outside": "link",
        "to_parent": "link",
        "to_sub": "link",
    }


def test_a_link_exists_as_a_link(root: Beneath) -> None:
    assert root.exists("dangling")
    assert stat.S_ISLNK(root.stat("dangling").st_mode)
    assert not root.exists("nothing")


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    top = tmp_path / "plain"
    (top / "b").mkdir(parents=True)
    (top / "a").write_bytes(b"1")
    (top / "b" / "c").write_bytes(b"22")
    (top / "b-").write_bytes(b"333")
    return top


def test_a_tree_is_every_file_sorted(plain: Path) -> None:
    with Beneath(plain) as root:
        assert [(file.path, file.size) for file in root.tree()] == [("a", 1), ("b-", 3), ("b/c", 2)]
        assert [file.path for file in root.tree("b")] == ["c"]


@pytest.mark.parametrize("make", [lambda at: at.symlink_to("a"), os.mkfifo], ids=["link", "pipe"])
def test_a_tree_with_a_link_or_a_pipe_is_refused_by_name(plain: Path, make: object) -> None:
    assert callable(make)
    make(plain / "b" / "odd")
    with Beneath(plain) as root, pytest.raises(CountermarkError) as error:
        root.tree()
    assert code_of(error) == "not_a_regular_file"
    assert "b/odd" in error.value.sentence


def test_a_tree_revision_changes_with_content_names_and_folders_alone(plain: Path) -> None:
    with Beneath(plain) as root:
        seen = [root.tree_revision()]
        os.utime(plain / "a", (1, 1))
        (plain / "a").chmod(0o600)
        assert root.tree_revision() == seen[0]
        (plain / "a").write_bytes(b"2")
        seen.append(root.tree_revision())
        (plain / "a").rename(plain / "z")
        seen.append(root.tree_revision())
        (plain / "empty").mkdir()
        seen.append(root.tree_revision())
        assert len(set(seen)) == len(seen)
        assert root.tree_revision(ignoring=frozenset({"empty"})) == seen[2]
        assert all(revision.startswith("sha256:") for revision in seen)


def test_a_revision_is_of_the_file_the_folder_or_absent(plain: Path) -> None:
    with Beneath(plain) as root:
        assert root.revision("nothing") == root.tree_revision("nothing") == "absent"
        assert root.revision("a") == "sha256:" + root.digest("a")
        assert root.revision("b") == root.tree_revision("b")


def test_a_folder_beneath_is_a_root_of_its_own(plain: Path) -> None:
    with Beneath(plain) as root, root.inside("b") as inner:
        assert inner.read("c", cap=2) == b"22"
        with pytest.raises(CountermarkError) as error:
            inner.read("../a", cap=1)
    assert code_of(error) == "path_escape"


def test_a_renamed_folder_stays_the_one_that_was_opened(plain: Path) -> None:
    with Beneath(plain) as root:
        plain.rename(plain.parent / "moved")
        plain.mkdir()
        assert root.read("a", cap=1) == b"1"


def test_devices_are_told_apart(plain: Path) -> None:
    with Beneath(plain) as root:
        assert root.same_device("a", "b")
        assert root.free_bytes() > 0
    with Beneath("/") as system:
        assert not system.same_device("proc", plain.as_posix().lstrip("/"))


class TestArgument:
    def test_a_regular_file_is_read(self, folder: Path) -> None:
        assert open_argument(str(folder / "file"), 7) == b"content"

    @pytest.mark.promise("kernel.files.no-escape")
    @pytest.mark.parametrize("name", ["sub", "sub/", "to_file", "dangling", "to_sub", "pipe"])
    def test_anything_else_is_refused_at_once(self, folder: Path, name: str) -> None:
        os.mkfifo(folder / "pipe")
        with pytest.raises(CountermarkError) as error:
            open_argument(f"{folder}/{name}", 100)
        assert code_of(error) == "not_a_regular_file"

    def test_a_device_is_refused(self) -> None:
        with pytest.raises(CountermarkError) as error:
            open_argument("/dev/zero", 100)
        assert code_of(error) == "not_a_regular_file"

    @pytest.mark.parametrize(("name", "code"), [("nothing", "not_found"), ("file/x", "not_found"), ("", "not_found")])
    def test_a_missing_file_is_not_found(self, folder: Path, name: str, code: str) -> None:
        with pytest.raises(CountermarkError) as error:
            open_argument(f"{folder}/{name}" if name else "", 100)
        assert code_of(error) == code

    def test_a_path_with_a_nul_is_no_path(self) -> None:
        with pytest.raises(CountermarkError) as error:
            open_argument("a\0b", 1)
        assert code_of(error) == "input_invalid"

    def test_a_large_file_is_refused(self, folder: Path) -> None:
        with (folder / "large").open("wb") as large:
            large.truncate(1 << 32)
        with pytest.raises(CountermarkError) as error:
            open_argument(str(folder / "large"), 1 << 20)
        assert code_of(error) == "input_too_large"

    def test_a_name_that_would_move_the_cursor_is_shown_escaped(self, folder: Path) -> None:
        with pytest.raises(CountermarkError) as error:
            open_argument(f"{folder}/\x1b[2J", 1)
        assert "\x1b" not in str(error.value)
