"""What is no file, no room, no path: each ends with its code and one sentence, and nothing is changed."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import unavailable

from .conftest import Desk, Here, program

KINDS = ("folder", "fifo", "device", "link", "dangling link", "socket")


def odd(tmp_path: Path, kind: str) -> Path:
    """Return something that is not a regular file."""
    path = tmp_path / "odd"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        return Path("/dev/zero")
    elif kind == "link":
        (tmp_path / "real").write_text("x")
        path.symlink_to(tmp_path / "real")
    elif kind == "dangling link":
        path.symlink_to(tmp_path / "nowhere")
    else:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(path))
    return path


@pytest.mark.promise("cli.input.regular-files-only")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "before",
    [
        ("receipt", "show"),
        ("receipt", "verify"),
        ("receipt", "verify", "kit", "--key"),
        ("key", "trust", "--name", "A"),
    ],
    ids=" ".join,
)
def test_what_is_no_regular_file_is_refused_at_once(
    desk: Desk, tmp_path: Path, kind: str, before: tuple[str, ...]
) -> None:
    said = desk(*before, str(odd(tmp_path, kind)), "--json")
    if kind == "folder" and before[0] == "receipt" and "--key" not in before:
        assert (said.status, said.error["code"]) == (3, "not_found")  # a folder without a receipt in it
    else:
        assert (said.status, said.error["code"]) == (2, "not_a_regular_file")


@pytest.mark.parametrize("verb", ["verify", "show"])
@pytest.mark.parametrize(
    "name", ["", "nowhere", "a\0b", "x" * 5000, "nowhere/receipt.json", "countermark.toml/receipt.json"], ids=len
)
def test_a_file_that_is_not_there_is_not_found(desk: Desk, verb: str, name: str) -> None:
    said = desk("receipt", verb, name, "--json")
    assert said.status in (2, 3)
    assert said.error["code"] in ("not_found", "input_invalid")


def test_an_endless_key_file_is_too_large(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "large.pub").write_bytes(b"x" * 100_000)
    said = desk("key", "trust", str(tmp_path / "large.pub"), "--name", "A", "--json")
    assert (said.status, said.error["code"]) == (2, "input_too_large")


@pytest.mark.parametrize("kind", ["file", "fifo", "device", "link", "dangling link", "socket"])
def test_init_goes_over_nothing_that_is_no_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    path = tmp_path / "odd"
    if kind == "file":
        path.write_text("mine")
    else:
        path = odd(tmp_path, kind)
    before = sorted(tmp_path.iterdir())
    for more in ((), ("--dry-run",)):
        said = Here(tmp_path, capsys)("init", str(path), *more, "--json")
        assert (said.status, said.error["code"]) == (5, "output_exists")
    assert sorted(tmp_path.iterdir()) == before


def test_init_beneath_what_is_not_there_makes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for more in ((), ("--dry-run",)):
        said = Here(tmp_path, capsys)("init", "a/b", *more, "--json")
        assert (said.status, said.error["code"]) == (3, "not_found")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_path_stops_nothing_that_needs_no_program(tmp_path: Path) -> None:
    assert program("init", "w", cwd=tmp_path, env={"PATH": ""}).status == 0
    assert program("ledger", "check", cwd=tmp_path / "w", env={"PATH": ""}).status == 0
    lines = program("doctor", "--json", cwd=tmp_path / "w", env={"PATH": ""}).data["lines"]
    assert {one["name"]: one["status"] for one in lines}["PATH"] == "warn"


def test_settings_that_cannot_be_read_are_named(desk: Desk) -> None:
    path = desk.space_path / "countermark.toml"
    whole = path.read_text()
    for text in (whole.replace("[settings]", "[settings]\ngrant = 7"), whole + "colour = 1\n", whole + "= ="):
        path.write_text(text)
        said = desk("task", "list", "--json")
        assert (said.status, said.error["code"]) == (2, "config_invalid")


class Disk:
    """A small disk of its own, mounted as root."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        with (self.folder / "filler").open("wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(1 << 16))
            except OSError:
                pass
            try:
                while True:
                    filler.write(b"x")
            except OSError:
                pass

    def freeze(self) -> None:
        subprocess.run(["mount", "-o", "remount,ro", str(self.folder)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", "size=24m", "tmpfs"]
    if subprocess.run(["mount", *options, str(folder)], capture_output=True, check=False).returncode:
        unavailable("mount", "a disk of the test's own needs root and the right to mount")
    yield Disk(folder)
    subprocess.run(["umount", "-l", str(folder)], check=True)


WRITES = [
    ("init", "other"),
    ("grant", "new", "--preset", "brand", "--workspace", "w"),
    ("key", "rotate", "--workspace", "w"),
    ("ledger", "backup", "b", "--workspace", "w"),
]


@pytest.mark.promise("kernel.files.failed-write-changes-nothing")
@pytest.mark.parametrize("arguments", WRITES, ids=lambda arguments: " ".join(arguments[:2]))
def test_a_read_only_disk_is_said_and_nothing_is_half_done(disk: Disk, arguments: tuple[str, ...]) -> None:
    assert program("init", "w", cwd=disk.folder).status == 0
    before = sorted(str(path) for path in disk.folder.rglob("*"))
    disk.freeze()
    said = program(*arguments, "--json", cwd=disk.folder)
    assert (said.status, said.error["code"]) == (1, "disk_read_only")
    assert sorted(str(path) for path in disk.folder.rglob("*")) == before


@pytest.mark.parametrize("arguments", WRITES, ids=lambda arguments: " ".join(arguments[:2]))
def test_a_full_disk_is_said_and_the_workspace_stays_sound(
    disk: Disk, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    here = Here(disk.folder, capsys)
    assert here("init", "w").status == 0
    # Several times: the reserve for recording an ending takes the first writes of a full disk.
    disk.fill()
    for _ in range(40):
        if here(*arguments, "--json").status:
            break
        disk.fill()
    # Once as its users run it: nothing that this process holds in memory or has open helps.
    said = program(*arguments, "--json", cwd=disk.folder)
    assert (said.status, said.error["code"]) == (1, "disk_full")
    assert here("ledger", "check", "--workspace", "w", "--json").error["code"] != "ledger_broken"
    lines = here("doctor", "--workspace", "w", "--json").error["details"]["lines"]
    assert "disk" in {one["name"] for one in lines if one["status"] == "missing"}
    (disk.folder / "filler").unlink()
    assert here("ledger", "check", "--workspace", "w").status == 0
    again = arguments if arguments[0] != "ledger" else ("ledger", "backup", "c", "--workspace", "w")
    assert program(*again, cwd=disk.folder).status == 0
