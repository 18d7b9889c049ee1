"""The watcher counts what appears at a name, from outside, and each thing once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from countermark.kernel.files import Root
from countermark.testkit.watcher import Watcher
from countermark.testkit.witness import effects
from tests.conftest import ROOT


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "kit").mkdir(parents=True)
    (home / "doc").write_text("first")
    (home / "kit" / "a.png").write_text("a")
    return home


def put(home: Path, name: str, text: str) -> None:
    (home / f".{name}").write_text(text)
    (home / f".{name}").replace(home / name)


def test_every_new_file_at_a_name_counts_once_and_what_stood_before_does_not(tmp_path: Path, home: Path) -> None:
    with Watcher(tmp_path / "seen.jsonl", home, ["doc", "kit"]) as watcher:
        assert watcher.count("doc") == 0
        for number, text in enumerate(("second", "second", "third"), start=1):
            put(home, "doc", text)
            assert watcher.wait(30) == "doc"
            assert watcher.count("doc") == number, "the same bytes published twice are two effects"
        assert watcher.count("kit") == 0
    assert effects(tmp_path / "seen.jsonl") == ["doc"] * 3, "the file outlives the watcher"


def test_a_folder_counts_when_another_stands_there_not_when_something_is_put_into_it(
    tmp_path: Path, home: Path
) -> None:
    with Watcher(tmp_path / "seen.jsonl", home, ["kit"]) as watcher:
        (home / "kit" / "receipt.json").write_text("{}")
        assert watcher.count("kit") == 0
        (home / "stage").mkdir()
        with Root(home) as root:
            root.exchange("stage", "kit")
        assert watcher.count("kit") == 1
        with Root(home) as root:
            root.remove_tree("kit")
        assert watcher.count("kit") == 1, "what is gone is no new thing"


def test_what_was_there_at_the_end_is_seen_in_a_last_look(tmp_path: Path, home: Path) -> None:
    with Watcher(tmp_path / "seen.jsonl", home, ["doc"]):
        put(home, "doc", "second")
    assert effects(tmp_path / "seen.jsonl") == ["doc"]


def test_waiting_has_an_end(tmp_path: Path, home: Path) -> None:
    with Watcher(tmp_path / "seen.jsonl", home, ["doc"]) as watcher:
        assert watcher.wait(0.01) is None


def test_a_watcher_that_cannot_start_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="did not start"), Watcher(tmp_path / "seen.jsonl", tmp_path / "nowhere", ["a"]):
        pass


def test_a_watcher_ends_with_whoever_started_it(tmp_path: Path, home: Path) -> None:
    owner = (
        "import os, sys; from pathlib import Path; from countermark.testkit.watcher import Watcher\n"
        "Watcher(Path(sys.argv[1]), Path(sys.argv[2]), ['doc']).__enter__(); os._exit(0)"
    )
    argv = [sys.executable, "-c", owner, str(tmp_path / "seen.jsonl"), str(home)]
    # The watcher holds the owner's standard error open, so this returns when both have ended.
    subprocess.run(argv, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, check=True)
    put(home, "doc", "second")
    assert effects(tmp_path / "seen.jsonl") == []
