"""The demo as a whole, played once; and what it does when something is not as it has to be."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from countermark.kernel.clock import SystemClock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root
from countermark.kernel.reply import Ambiguous, Answered, ToolError
from countermark.record.scoreboard import Moment
from countermark.surfaces.cli.demo import place
from countermark.surfaces.cli.demo.agent import heard, refusal
from countermark.surfaces.cli.demo.cast import digest_of
from countermark.surfaces.cli.demo.killer import Killer
from countermark.surfaces.cli.demo.moment import AGENT_COLOUR, KIT, SPRING, TITLE, play
from countermark.surfaces.cli.demo.shell import Shell
from countermark.surfaces.cli.demo.transcript import WIDEST, Transcript, fold
from countermark.testkit.witness import effects

from .conftest import PROGRAM, SOURCES, program

# The one run is for all tests of this file: it takes as long as many others together.
pytestmark = [pytest.mark.xdist_group("demo"), pytest.mark.timeout(400)]

README: Final = Path(__file__).resolve().parents[3] / "README.md"


class Part(NamedTuple):
    """A command as the demo shows it, and the lines beneath it."""

    command: str
    lines: tuple[str, ...]


class Played(NamedTuple):
    """One run of the demo."""

    folder: Path
    status: int
    text: str

    @property
    def home(self) -> Path:
        return self.folder / place.WORKSPACE

    def parts(self) -> Iterator[Part]:
        """Yield each command with what stands beneath it, up to the next line that is not indented."""
        lines = self.text.splitlines()
        for number, line in enumerate(lines):
            if line.startswith("$ "):
                beneath: list[str] = []
                for below in lines[number + 1 :]:
                    if below and not below.startswith("  "):
                        break
                    beneath.append(below)
                yield Part(line.removeprefix("$ "), tuple(beneath))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder = tmp_path_factory.mktemp("demo") / "into"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "demo", "--into", str(folder)],
        env={**os.environ, "PYTHONPATH": str(SOURCES), "PYTHONUTF8": "1", "COUNTERMARK_WORKSPACE": "/nowhere"},
        capture_output=True,
        check=False,
        timeout=380,
    )
    assert done.stderr == b""
    return Played(folder, done.returncode, done.stdout.decode())


@pytest.mark.promise("house.demo.four-moments")
def test_every_moment_holds_in_the_words_of_the_scoreboard(played: Played) -> None:
    assert played.status == 0, played.text[-3000:]
    _, _, board = played.text.partition("\nThe four moments\n")
    assert "4 of 4 held" in board
    for moment in Moment:
        when, outcome = moment.value.split(" → ")
        assert when in board
        assert f"→ {outcome}" in board
        assert f"{when} → {outcome}" in " ".join(played.text.split())
    last = [line.split() for line in played.text.strip().splitlines()[-2:]]
    assert [Path(words[-1]) for words in last] == [played.home / KIT / "index.html", played.home / KIT / "receipt.json"]
    assert all(Path(words[-1]).is_file() for words in last)


def test_it_gives_the_readmes_commands_in_the_readmes_order(played: Played) -> None:
    block = README.read_text("utf-8").partition("```\ncountermark init")[2].partition("```")[0]
    wanted = [shlex.split(line, comments=True) for line in f"countermark init{block}".strip().splitlines()]
    shown = [shlex.split(part.command) for part in played.parts()][: len(wanted)]
    assert [words[: len(own)] for words, own in zip(shown, wanted, strict=True)] == wanted


@pytest.mark.promise("house.demo.real-output")
def test_what_stands_beneath_a_command_is_what_that_command_prints(played: Played) -> None:
    # Those that only look, each as it was given last, are given once more; a story may have gone on meanwhile.
    looks = {part.command: part for part in played.parts() if re.search(r" (why|verify) ", part.command)}
    assert [command.split()[1] for command in looks] == ["receipt", "task", "task", "receipt"]
    for command, part in looks.items():
        said = program(*shlex.split(command)[1:], cwd=played.home)
        shown = " ".join(" ".join(part.lines).split())
        assert said.status == 0
        assert " ".join(said.out.split()).startswith(shown.partition(" next ")[0])
    repeat = next(part for part in played.parts() if "  Done before" in part.lines[0])
    said = program(*shlex.split(repeat.command)[1:], cwd=played.home)
    assert said.out.split() == " ".join(repeat.lines).split()


@pytest.mark.promise("house.demo.witness")
def test_the_witness_has_one_line_for_each_effect_and_the_ledger_agrees(played: Played) -> None:
    assert effects(played.folder / place.WITNESS / "reply-lost.jsonl") == [place.DOCUMENT]
    assert effects(played.folder / place.WITNESS / "engine-killed.jsonl") == [SPRING]
    events = program("ledger", "events", "--json", "--limit", "1000", cwd=played.home).data["events"]
    kinds = [event["kind"] for event in events]
    assert kinds.count("refused") == 2, "the agent was refused twice, and nothing else was"
    assert kinds.count("again") == 1, "one attempt was made again: the one whose engine was killed"
    assert kinds.count("completed") == 8
    assert program("ledger", "check", cwd=played.home).status == 0


def test_the_persons_edit_stands_beneath_the_agents(played: Played) -> None:
    tree = json.loads((played.home / place.DOCUMENT).read_bytes())["document"]
    assert tree["title"] == TITLE


def test_the_record_page_shows_before_and_after_and_asks_nobody_for_anything(played: Played) -> None:
    page = (played.home / KIT / "index.html").read_text("utf-8")
    assert "Set primary from" in page
    assert AGENT_COLOUR not in page, "it is the page of the main job, not of a moment"
    assert page.count("data:image/png;base64,") >= 12
    assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", page)


def test_the_lines_fit_the_page_and_hold_no_colour_where_nobody_looks(played: Played) -> None:
    assert "\x1b" not in played.text
    too_long = [line for line in played.text.splitlines() if len(line) > WIDEST]
    assert all(len(line.split()) <= 2 for line in too_long), "only a path may be longer"


def test_a_second_run_makes_its_own_things_anew_and_touches_nothing_else(tmp_path: Path) -> None:
    into = tmp_path / "into"
    assert place.prepare(into) == into
    (into / place.WORKSPACE).mkdir()
    (into / place.WORKSPACE / "old").write_text("old")
    (into / "mine.txt").write_text("mine")
    place.prepare(into)
    assert not (into / place.WORKSPACE).exists()
    assert (into / "mine.txt").read_text() == "mine"
    assert all((into / name).read_bytes() == place.drawing(name) for name in place.DRAWINGS)


@pytest.mark.promise("house.demo.own-folder")
@pytest.mark.parametrize("kind", ["file", "holds something", "link to such a folder"])
def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path, kind: str) -> None:
    into = tmp_path / "theirs"
    if kind == "file":
        into.write_text("mine")
    else:
        into.mkdir()
        (into / "mybrand").write_text("mine")
    named = into
    if kind.startswith("link"):
        named = tmp_path / "link"
        named.symlink_to(into)
    said = program("demo", "--into", str(named), "--json", cwd=tmp_path)
    assert (said.status, said.error["code"]) == (5, "output_exists")
    assert (into if kind == "file" else into / "mybrand").read_text() == "mine"
    assert into.is_file() or [path.name for path in into.iterdir()] == ["mybrand"]


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    folder = place.prepare(tmp_path / "into")
    with Root(folder / place.LIVENESS) as liveness:
        yield Shell(folder, liveness, Transcript(io.StringIO()), SystemClock())


def test_a_moment_that_breaks_off_does_not_hold_and_the_next_is_played(shell: Shell) -> None:
    rows = list(play(shell, shell.folder))
    assert {row.moment for row in rows} == set(Moment)
    assert [row.held for row in rows] == [False] * 5
    assert place.WORKSPACE in rows[0].evidence


def test_a_command_that_ends_otherwise_than_it_has_to_is_an_error(shell: Shell) -> None:
    with pytest.raises(CountermarkError, match=r"ended with exit status 2, not 0") as caught:
        shell.run("no-such-command")
    assert caught.value.code == "demo_failed"
    assert shell.run("no-such-command", expect=2).err.startswith("Usage:")


def test_a_kit_whose_engine_nobody_killed_is_not_told_as_killed(shell: Shell) -> None:
    shell.run("init", place.WORKSPACE)
    with Killer(shell.folder / place.WORKSPACE, KIT) as killer:
        killer.look()
    assert not killer.killed
    assert "not killed" in killer.said


def test_only_a_reply_that_says_no_is_a_refusal() -> None:
    error = {"code": "permission_denied", "message": "No.", "details": {"event": 7}}
    denied = ToolError("No.", {"error": error})
    assert refusal(denied) == ("permission_denied", 7)
    assert heard(denied) == "permission_denied: No. (event 7)"
    for other in (
        Answered(({"type": "text", "text": "Done.\n{}"},), {"repeated": True}),
        Ambiguous("its output ended"),
    ):
        assert refusal(other) == ("", None)
    assert heard(Ambiguous("its output ended")) == "nothing: its output ended"


def test_a_folders_digest_is_of_every_name_and_byte(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_text("1")
    first = digest_of(tmp_path / "a")
    shutil.move(tmp_path / "a" / "x", tmp_path / "a" / "y")
    second = digest_of(tmp_path / "a")
    (tmp_path / "a" / "y").write_text("2")
    assert len({first, second, digest_of(tmp_path / "a")}) == 3


def test_a_long_line_goes_on_beneath_its_value() -> None:
    assert list(fold("short", 20)) == ["short"]
    assert list(fold("checked     one two three four", 24)) == ["checked     one two", "            three four"]
    assert list(fold("no value here but words", 12)) == ["no value", "  here but", "  words"]


def test_a_terminal_without_unicode_gets_the_same_words() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    transcript = Transcript(stream)
    transcript.title("a → b")
    transcript.output("é…\n")
    stream.flush()
    assert raw.getvalue().decode("ascii").split("\n")[1:5] == ["a -> b", "-" * 80, "  \\xe9...", ""]
