"""Parts that pip cannot bring: when apt-get runs, with which words, and what is said when it may not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final, NoReturn

import parts
import pytest

ROOT_ON_DEBIAN: Final = parts.Machine(root=True, debian=True, may_use_apt=True, linux=True)
HARP: Final = parts.Part("a harp", programs=("harp",), debian=("harp-bin", "harp-data"), elsewhere="the harp package")


class Stopped(Exception):
    """What the set-up's stop does here."""


def stop(message: str) -> NoReturn:
    raise Stopped(message)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a PATH with nothing on it but an apt-get that writes down how it was called."""
    monkeypatch.setattr(parts, "PAUSE", 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    write(tmp_path / "apt-get", f'echo "$DEBIAN_FRONTEND $*" >> {tmp_path}/calls\n')
    return tmp_path


def write(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
    path.chmod(0o755)


def calls(machine: Path) -> list[str]:
    seen = machine / "calls"
    return seen.read_text(encoding="utf-8").splitlines() if seen.exists() else []


def provide(part: parts.Part, on: parts.Machine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(parts, "LAYER_PARTS", {"test": (part,)})
    parts.provide("test", Path(sys.executable), on, said.append, stop)
    return said


def test_root_on_debian_installs_after_showing_the_exact_line(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine / "chmod").symlink_to("/bin/chmod")
    log = f'echo "$DEBIAN_FRONTEND $*" >> {machine}/calls'
    write(machine / "apt-get", f'{log}\n[ "$1" = update ] || {{ : > {machine}/harp; chmod +x {machine}/harp; }}\n')
    said = provide(HARP, ROOT_ON_DEBIAN, monkeypatch)
    options = "-o DPkg::Lock::Timeout=300 -o Acquire::Retries=3"
    assert calls(machine) == [
        f"noninteractive update {options}",
        f"noninteractive install --yes --no-install-recommends {options} harp-bin harp-data",
    ]
    assert [f"running: DEBIAN_FRONTEND=noninteractive apt-get {calls(machine)[1].partition(' ')[2]}"] == said[1:2]
    assert not any("missing" in line for line in said)


def test_what_is_here_is_not_installed(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(machine / "harp", ":")
    assert provide(HARP, ROOT_ON_DEBIAN, monkeypatch) == []
    assert calls(machine) == []


def test_a_failing_apt_get_is_tried_three_times_and_then_named(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(machine / "apt-get", f'echo "$*" >> {machine}/calls\necho broken mirror; exit 100')
    said = provide(HARP, ROOT_ON_DEBIAN, monkeypatch)
    assert len(calls(machine)) == 6
    assert "broken mirror" in said[-2]
    assert said[-1].startswith("a harp missing: apt-get could not bring it")
    assert said[-1].endswith("report it unavailable.")


@pytest.mark.parametrize(
    ("on", "words"),
    [
        (parts.Machine(root=True, debian=True, may_use_apt=False, linux=True), "COUNTERMARK_NO_APT is set"),
        (parts.Machine(root=False, debian=True, may_use_apt=True, linux=True), "run as root: apt-get update &&"),
        (parts.Machine(root=True, debian=False, may_use_apt=True, linux=True), "(the harp package)"),
        (parts.Machine(root=False, debian=False, may_use_apt=True, linux=False), "(the harp package)"),
    ],
)
def test_elsewhere_nothing_is_installed_and_the_packages_are_named(
    machine: Path, monkeypatch: pytest.MonkeyPatch, on: parts.Machine, words: str
) -> None:
    said = provide(HARP, on, monkeypatch)
    assert calls(machine) == []
    assert words in said[0]


def test_a_part_that_the_demo_needs_stops_the_set_up(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needed = parts.Part("Skia's libraries", imports="no_such_module", debian=("libgl1",), needed=True)
    with pytest.raises(Stopped, match=r"Skia's libraries missing: run as root: apt-get update && .* libgl1"):
        provide(needed, parts.Machine(root=False, debian=True, may_use_apt=True, linux=True), monkeypatch)
    assert machine.exists()
