"""SIGKILL at every named point: a new process finishes what was begun, and nothing happens twice.

Which points there are is found out by a first process that is not killed. Each distinct point is tried at its first and
at its last occurrence, and so are fifty more places chosen by a seed. The recovery itself is killed, too.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Final

import pytest

from countermark.kernel import calls, child, ledger
from countermark.testkit.adapter import POINTS as WORLD
from countermark.testkit.crash import OPERATIONS, At, Step, Trial, Victims
from countermark.testkit.witness import Witness

SEED: Final = int(os.environ.get("COUNTERMARK_CRASH_SEED", "20"))
KILLS: Final = 50
# What no effect of a scripted domain does: a second name where the disk cannot exchange, and talking to a child.
NOT_HERE: Final = frozenset(
    f"{name}.{side}" for name in ("files.link", "files.allocate", "child.send") for side in ("before", "after")
)


@pytest.fixture(name="passed", scope="session")
def make_passed(fast_folder: Path, template: Path, victims: Victims) -> list[str]:
    """Return the points of a run that nobody kills, in order."""
    place = Path(tempfile.mkdtemp(dir=fast_folder))
    with Witness(place) as own:
        trial = Trial(place / "trial", own.socket, own.file, victims)
        trial.prepare(template)
        trial.run(record=place / "points")
        trial.check()
    points = (place / "points").read_text().split()
    shutil.rmtree(place)
    return points


def places(passed: list[str]) -> list[int]:
    """Return the numbers of the points that are tried: first and last of each name, and KILLS more."""
    coin = random.Random(SEED)  # noqa: S311 - a replayable choice, no secret
    return ends(passed) + coin.sample(range(1, len(passed) + 1), KILLS)


def ends(passed: list[str]) -> list[int]:
    """Return the numbers of the first and of the last point of each name."""
    firsts = {name: number for number, name in reversed(list(enumerate(passed, start=1)))}
    lasts = {name: number for number, name in enumerate(passed, start=1)}
    return sorted({*firsts.values(), *lasts.values()})


def trials(fast_folder: Path, template: Path, victims: Victims) -> Generator[Trial]:
    """Yield one workspace after another, each with a witness of its own."""
    while True:
        place = Path(tempfile.mkdtemp(dir=fast_folder))
        with Witness(place) as own:
            trial = Trial(place / "trial", own.socket, own.file, victims)
            trial.prepare(template)
            yield trial
        shutil.rmtree(place)


SHARES: Final = 8
SLACK: Final = 16
"""Points by which two whole runs may differ: random identifiers decide how many folders are made and synced."""


@pytest.mark.promise("kernel.crash.every-point")
@pytest.mark.parametrize("share", range(SHARES))
def test_a_kill_at_any_point_is_recovered_from(
    share: int, passed: list[str], fast_folder: Path, template: Path, victims: Victims
) -> None:
    made = trials(fast_folder, template, victims)
    failures = []
    for number in places(passed)[share::SHARES]:
        trial = next(made)
        ended = trial.run(kill=At(number))
        try:
            if ended.signal is None:  # this run had a few points less, and ended before its last ones
                assert number > len(passed) - SLACK, "the point was not reached"
            else:
                assert ended.signal == signal.SIGKILL
                trial.run()
            trial.check()
        except AssertionError as error:
            failures.append(f"killed at point {number}, {passed[number - 1]}: {error}")
    made.close()
    assert failures == []


def test_the_points_are_all_there_are(passed: list[str], record_property: Callable[[str, object], None]) -> None:
    """A point of the two modules that is never passed here would never be tried."""
    declared = {*calls.POINTS, *child.POINTS, *ledger.POINTS}
    assert declared - set(passed) <= NOT_HERE
    assert set(passed) - declared == set(WORLD)
    distinct, tried = len(set(passed)), len(places(passed))
    record_property("told", f"crash points: {distinct} distinct, passed {len(passed)} times; {tried} killed at")


@pytest.mark.parametrize("first", ["files.exchange.after", "ledger.commit.after", "files.rename_new.before"])
def test_a_kill_during_recovery_is_recovered_from(
    first: str, passed: list[str], fast_folder: Path, template: Path, victims: Victims
) -> None:
    """The second process is killed at each commit of its settling, and a third one takes over from it."""
    numbers = [number for number, name in enumerate(passed, start=1) if name == first]
    made = trials(fast_folder, template, victims)
    for again in range(1, 5):
        trial = next(made)
        trial.run(kill=At(numbers[len(numbers) // 2]))
        trial.run(kill=At(again, "ledger.commit.after"))
        trial.run(kill=At(again, "ledger.commit.before"))
        trial.run()
        trial.check()
    made.close()


@pytest.mark.parametrize("share", range(2))
def test_a_kill_while_a_workspace_is_made_leaves_one_that_can_be_made(
    share: int, fast_folder: Path, victims: Victims
) -> None:
    """`init` again, and it is whole: with its key, its default grant and its reserve."""
    place = Path(tempfile.mkdtemp(dir=fast_folder))
    with Witness(place) as own:
        whole = Trial(place / "whole", own.socket, own.file, victims)
        (whole.folder / "world").mkdir(parents=True)
        steps = (Step("perform", "k", "test.staged", "file:doc.txt", {"text": "new"}),)
        assert whole.run(fresh=True, steps=(), record=place / "points").code == 0
        for number in ends((place / "points").read_text().split())[share::2]:
            trial = Trial(place / str(number), own.socket, own.file, victims)
            (trial.folder / "world").mkdir(parents=True)
            if trial.run(fresh=True, steps=(), kill=At(number)).signal is None:
                continue
            made = (trial.space / "countermark.toml").exists()
            ended = trial.run(fresh=not made, steps=(Step("settle"), Step("grants"), *steps))
            assert [line.split()[0] for line in ended.said] == ["left", "grants", "k"], (number, ended)
            trial.check_ledger()
    shutil.rmtree(place)


def test_the_operations_end_in_every_way_a_publication_can_go() -> None:
    """What is killed above makes a file and a folder, replaces both, uses a child, and changes the world outside."""
    ways = {(step.word, *sorted(name for name in step.payload if name != "text")) for step in OPERATIONS if step.word}
    assert ways == {("test.direct",), ("test.staged",), ("test.staged", "folder"), ("test.staged", "child")}
