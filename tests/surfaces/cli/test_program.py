"""The program as a whole: its help, its envelope, its exit statuses, and what it does when something breaks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import click
import pytest

from countermark.kernel import task
from countermark.kernel.errors import CountermarkError, Ending, registered
from countermark.surfaces.cli.call import Call, Later, Wanted
from countermark.surfaces.cli.failure import tell
from countermark.surfaces.cli.program import COMMANDS, root, run

from .conftest import PROGRAM, Desk, program

# Written by others into this package or beside it: a name in the list of commands, not loaded here.
ELSEWHERE = {"demo"}


def leaves(group: Later, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Wanted]]:
    for name, wanted in group.wanted.items():
        if isinstance(wanted, Later):
            yield from leaves(wanted, (*path, name))
        else:
            yield (*path, name), wanted


def loaded(path: tuple[str, ...]) -> click.Command:
    found: click.Command = root
    for name in path:
        assert isinstance(found, Later)
        inner = found.get_command(click.Context(found), name)
        assert inner is not None
        found = inner
    return found


LEAVES = [(path, wanted) for path, wanted in leaves(root) if path[0] not in ELSEWHERE]


@pytest.mark.promise("cli.help.nothing-loaded")
def test_help_loads_nothing_but_click_and_the_list_of_commands(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom countermark.surfaces.cli.program import run\nrun(sys.argv[1:])\n"
        "print(sorted(name for name in sys.modules if name.startswith('countermark.')), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    ours = ["surfaces", "surfaces.cli", "surfaces.cli.call", "surfaces.cli.program"]
    assert done.stderr.strip() == str([f"countermark.{name}" for name in ours])
    assert all(name in done.stdout for name in COMMANDS)


@pytest.mark.parametrize(("path", "wanted"), LEAVES, ids=[" ".join(path) for path, _ in LEAVES])
def test_the_list_of_commands_says_what_each_command_says_itself(path: tuple[str, ...], wanted: Wanted) -> None:
    assert (loaded(path).help or "").split("\n\n")[0].replace("\n", " ") == wanted.help


@pytest.mark.parametrize("path", [path for path, _ in LEAVES] + [(), ("task",), ("vector", "swatch")], ids=" ".join)
def test_every_help_has_one_example_of_that_command(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*path, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.count("Example:") == 1
    assert f"  countermark {' '.join(path)}".rstrip() in out.split("Example:")[1]


def test_without_a_command_the_help_is_shown_and_it_is_a_usage_error(desk: Desk) -> None:
    said = desk()
    assert (said.status, said.out) == (2, "")
    assert "Commands:" in said.err


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (("ledger", "bakup"), "ledger"),
        (("task", "show"), "task show"),
        (("task", "list", "--limit", "many"), "task list"),
        (("--nope",), ""),
        (("grant", "new", "--effect", "vector.write"), "grant new"),
        ((), ""),
    ],
)
def test_a_usage_error_is_an_envelope_too_and_exits_2(desk: Desk, arguments: tuple[str, ...], command: str) -> None:
    said = desk(*arguments, "--json")
    assert (said.status, said.error["code"], said.wire["command"]) == (2, "usage", command)
    assert said.err == ""


def test_a_mistyped_command_is_answered_with_the_one_that_was_meant(desk: Desk) -> None:
    said = desk("ledger", "bakup")
    assert "Did you mean `countermark ledger backup`?" in said.err


def test_words_after_two_dashes_are_not_flags(desk: Desk) -> None:
    said = desk("task", "show", "--", "--json")
    assert (said.status, said.out) == (3, "")


@pytest.mark.promise("cli.error.three-lines")
def test_every_error_is_three_lines_for_people_with_its_own_exit_status(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for code, ending in registered().items():

        def fail(*_: object, code: str = code) -> None:
            raise CountermarkError(code, "It is\x1b[2Jso.", next_action="Do this.", details={"task": "t-1"})

        monkeypatch.setattr(task, "load_recent", fail)
        said = desk("task", "list")
        assert (said.status, said.out) == (ending.value, ""), code
        what, where, following = said.err.splitlines()
        assert what.endswith("It is<U+001B>[2Jso.")
        assert (where.split(maxsplit=1)[0], where.endswith(f"({code})")) == ("Where:", True)
        assert following.split(maxsplit=1) == ["Next:", "Do this."]
        machine = desk("task", "list", "--json")
        assert (machine.status, machine.error["code"], machine.err) == (said.status, code, "")
    assert {ending.value for ending in Ending} == set(range(1, 8))


@pytest.mark.promise("cli.error.three-lines")
def test_a_defect_is_one_error_whose_trace_is_in_the_log_it_names(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = desk.space_path / "countermark.toml"
    settings.write_text(settings.read_text("utf-8") + '\n[secrets]\nforge = "env:FORGE_TOKEN"\n', "utf-8")
    monkeypatch.setenv("FORGE_TOKEN", "s3cr3t-c4n4ry")

    def fail(*_: object) -> None:
        message = "broken with s3cr3t-c4n4ry"
        raise ZeroDivisionError(message)

    monkeypatch.setattr(task, "load_recent", fail)
    said = desk("task", "list")
    assert said.status == 1
    assert "internal_error" in said.err
    log = desk.space_path / ".countermark" / "logs" / "defects.jsonl"
    assert str(log) in said.err
    text = log.read_text("utf-8")
    assert "ZeroDivisionError" in text
    assert "[redacted env:FORGE_TOKEN]" in text
    assert "s3cr3t-c4n4ry" not in text + said.err
    assert desk("task", "list", "--json").error["code"] == "internal_error"


def test_a_defect_outside_a_workspace_is_logged_in_the_users_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "state").mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert tell(Call(json=False), ZeroDivisionError("oops")) == 1
    log = tmp_path / "state" / "countermark" / "logs" / "defects.jsonl"
    assert "oops" in log.read_text("utf-8")
    assert str(log) in capsys.readouterr().err


def test_a_closed_pipe_ends_the_program_without_a_word(desk: Desk) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        for more in ((), ("--json",)):
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM, "grant", "list", *more],
                cwd=desk.space_path,
                stdout=pipe,
                stderr=subprocess.PIPE,
                check=False,
            )
            assert (done.returncode, done.stderr) == (141, b"")


def test_an_answer_that_standard_output_has_no_room_for_is_an_error_not_a_trace(desk: Desk) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, "grant", "list"],
            cwd=desk.space_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "io_failed" in done.stderr
    assert "Traceback" not in done.stderr


def test_colour_is_for_terminals_only_and_not_with_no_color(desk: Desk) -> None:
    assert "\x1b" not in desk("doctor").out
    # `script` gives the program a terminal.
    command = f"{sys.executable} -c '{PROGRAM}' doctor"
    shown = []
    for extra in ({}, {"NO_COLOR": "1"}):
        done = subprocess.run(
            ["script", "-qec", command, "/dev/null"],
            cwd=desk.space_path,
            env={**os.environ, "TERM": "xterm", **extra},
            capture_output=True,
            check=True,
        )
        shown.append(b"\x1b[" in done.stdout)
    assert shown == [True, False]


def test_an_interrupt_outside_any_work_is_status_130_and_says_that_nothing_was_under_way(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(task, "load_recent", interrupted)
    said = desk("task", "list")
    assert (said.status, said.out) == (130, "")
    assert "nothing was under way" in said.err
    assert desk("task", "list", "--json").error["code"] == "cancelled"


def test_tools_are_served_for_a_workspace_only(tmp_path: Path) -> None:
    said = program("mcp", "--tools", "vector", "--json", cwd=tmp_path)
    assert (said.status, said.error["code"]) == (3, "workspace_missing")


def test_several_toolsets_are_named_at_once_and_an_unknown_one_is_told(desk: Desk) -> None:
    said = program("mcp", "--tools", "scene,nope", "--json", cwd=desk.space_path)
    assert (said.status, said.error["code"]) == (3, "not_found")
    assert "nope" in said.error["message"]
    assert "scene" in said.error["next"]


def test_the_version_is_the_packages(tmp_path: Path) -> None:
    said = program("--version", cwd=tmp_path)
    assert (said.status, said.err) == (0, "")
    try:
        wanted = f"countermark {metadata.version('countermark')}\n"
    except metadata.PackageNotFoundError:
        wanted = "countermark, run from its source without being installed\n"
    assert said.out == wanted
