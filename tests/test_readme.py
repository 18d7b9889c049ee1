"""What the README and the tutorial show is there and works: commands, options, files, the Python example."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import pytest

from countermark.surfaces.cli.call import Later
from countermark.surfaces.cli.program import root
from tests.conftest import ROOT

README: Final = ROOT / "README.md"
TUTORIAL: Final = ROOT / "docs" / "tutorial" / "first-mark.md"
PROGRAM: Final = "from countermark.surfaces.cli import main; main()"
_BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE: Final = re.compile(r"`(countermark [^`]+)`")
_LINK: Final = re.compile(r"\]\(([^)#\s]+)")
_SOURCE: Final = re.compile(r'src="([^"]+)"')


def blocks(page: Path, language: str) -> list[str]:
    return [text for name, text in _BLOCK.findall(page.read_text("utf-8")) if name == language]


def commands(page: Path) -> Iterator[list[str]]:
    """Yield every `countermark` command that a page shows, in its blocks and in its sentences."""
    for text in (*blocks(page, ""), *blocks(page, "console")):
        for line in text.splitlines():
            for part in line.removeprefix("$ ").split(" && "):
                if part.startswith("countermark "):
                    yield shlex.split(part, comments=True)
    for said in _INLINE.findall(_BLOCK.sub("", page.read_text("utf-8"))):
        yield shlex.split(said)


COMMANDS: Final = sorted({tuple(words) for page in (README, TUTORIAL) for words in commands(page)})


@pytest.mark.promise("house.readme.true")
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_and_option_that_is_shown_exists(words: tuple[str, ...]) -> None:
    found: click.Command = root
    rest = list(words[1:])
    while isinstance(found, Later):
        assert rest, f"{' '.join(words)} is a group, not a command"
        inner = found.get_command(click.Context(found), rest.pop(0))
        assert inner is not None, " ".join(words)
        found = inner
    offered = {name for option in found.params for name in (*option.opts, *option.secondary_opts)}
    assert [word for word in rest if word.startswith("--") and word.partition("=")[0] not in offered] == []


def test_the_readme_shows_the_commands_of_the_main_job() -> None:
    shown = [" ".join(words[1:3]) for words in commands(README)]
    job = ["init mybrand", *["vector import"] * 2, "vector swatch", "vector kit", *["vector swatch"] * 2, "vector kit"]
    assert shown[:10] == [*job, "vector loss", "receipt verify"]


@pytest.mark.parametrize("page", [README, TUTORIAL, ROOT / "ARCHITECTURE.md"], ids=lambda page: page.name)
def test_every_file_that_is_pointed_to_is_there(page: Path) -> None:
    text = page.read_text("utf-8")
    named = [link for link in (*_LINK.findall(text), *_SOURCE.findall(text)) if "://" not in link]
    assert named
    assert [link for link in named if not (page.parent / link).exists()] == []


def test_every_make_target_that_is_shown_exists() -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    shown = re.findall(r"\bmake ([a-z]+)\b", README.read_text("utf-8"))
    assert shown
    assert set(shown) <= set(targets)


@pytest.mark.promise("house.readme.true")
def test_the_python_example_runs_as_it_stands(tmp_path: Path) -> None:
    shutil.copy(ROOT / "assets" / "logo.svg", tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    for words in (
        ("init", "mybrand"),
        ("vector", "import", "logo.svg", "--workspace", "mybrand"),
        ("vector", "swatch", "bind", "primary", "#1a6cff", "--workspace", "mybrand"),
    ):
        subprocess.run([sys.executable, "-c", PROGRAM, *words], cwd=tmp_path, env=environment, check=True)
    (example,) = blocks(README, "python")
    said = f"{example}\nimport sys; sys.stdout.buffer.write(receipt)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", said], cwd=tmp_path, env=environment, check=True, capture_output=True
    )
    assert done.stderr == b""
    (tmp_path / "receipt.json").write_bytes(done.stdout)
    shown = subprocess.run(
        [sys.executable, "-c", PROGRAM, "receipt", "verify", "../receipt.json"],
        cwd=tmp_path / "mybrand",
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "signed by this workspace" in shown.stdout
    document = (tmp_path / "mybrand" / "logo.vectorcraft").read_text("utf-8")
    assert '"primary"' in document
