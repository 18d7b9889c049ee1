"""Two real processes on one resource: one stops half-way or is killed, the other works, then the first wakes up."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from countermark.kernel import backup
from countermark.kernel.workspace import Workspace
from countermark.testkit.adapter import POINTS, ScriptedAdapter, World
from countermark.testkit.crash import At, Step, Trial, Victims
from countermark.testkit.witness import effects

FILE: Final = Step("perform", "first", "test.staged", "file:doc.txt", {"text": "first"})
OTHER: Final = Step("perform", "second", "test.staged", "file:doc.txt", {"text": "second"})
DIRECT: Final = Step("perform", "first", "test.direct", "world:one")
OTHER_DIRECT: Final = Step("perform", "second", "test.direct", "world:one")
# Where the first writer of a file stops: at the first touch of the disk after so many of its commits (admitted;
# checked; about to publish), and around the exchange itself. Never inside a commit: there it holds the ledger.
AFTER_COMMITS: Final = (1, 2, 3)
AROUND: Final = ("files.exchange.before", "files.exchange.after")


def place(trial: Trial, where: int | str) -> At:
    """Return the point at which the first writer stops or is killed."""
    if isinstance(where, str):
        return At(1, where)
    passed = trial.rehearse(steps=(FILE,))
    commits = [number for number, name in enumerate(passed) if name == "ledger.commit.after"]
    return At(next(n for n in range(commits[where - 1] + 1, len(passed)) if passed[n].startswith("files.")) + 1)


@pytest.fixture(name="other", scope="module")
def make_other() -> Iterator[Victims]:
    """Return a second process that forks victims, so that one can run while another is stopped."""
    with Victims() as started:
        yield started


@pytest.fixture(name="pair")
def make_pair(trial: Trial, other: Victims) -> tuple[Trial, Trial]:
    """Return two hands on one workspace, with a document that stands already."""
    trial.run(steps=(Step("perform", "zero", "test.staged", "file:doc.txt", {"text": "zero"}),))
    return trial, Trial(trial.folder, trial.socket, trial.witness_file, other)


def text(trial: Trial) -> str:
    return (trial.space / "doc.txt").read_text()


def published(folder: Path) -> list[str]:
    """Return the keys of the publications that the ledger says were completed, in order."""
    with Workspace(folder, adapters=[ScriptedAdapter(World(folder.parent / "world"))]) as space:
        assert backup.check(space) == []
        rows = space.ledger.read(
            lambda tx: tx.all(
                "SELECT t.key FROM events e JOIN tasks t ON t.id = e.task WHERE e.kind = 'completed' ORDER BY e.seq"
            )
        )
    return [row[0] for row in rows]


@pytest.mark.parametrize("where", [*AFTER_COMMITS, *AROUND])
def test_a_writer_that_is_stopped_keeps_its_resource_and_ends_well_when_it_goes_on(
    pair: tuple[Trial, Trial], where: int | str
) -> None:
    """Nothing that time does frees a resource: the second process is refused, and told by whom."""
    first, second = pair
    paused = first.run(steps=(FILE,), stop=place(first, where))
    assert paused.stopped
    refused = second.run(steps=(OTHER,))
    assert refused.said == ("second !resource_busy",)
    assert first.note(first.victims.resume(paused.pid)).code == 0
    assert text(first) == "first"
    assert second.run(steps=(OTHER,)).said[0].startswith("second t-")
    assert text(first) == "second"
    assert published(first.space) == ["zero", "first", "second"]


@pytest.mark.parametrize("where", [*AFTER_COMMITS, *AROUND])
def test_a_writer_that_is_killed_is_taken_over_at_once(pair: tuple[Trial, Trial], where: int | str) -> None:
    first, second = pair
    assert first.run(steps=(FILE,), kill=place(first, where)).signal == signal.SIGKILL
    said = second.run(steps=(OTHER,)).said[0]
    if said == "second !revision_conflict":  # it was planned on what stood before the dead one's work was finished
        said = second.run(steps=(OTHER,)).said[0]
    assert said.startswith("second t-")
    assert text(first) == "second"
    assert published(first.space) == ["zero", "first", "second"]


@pytest.mark.promise("kernel.fence.stale-epoch-cannot-publish")
@pytest.mark.parametrize("where", AFTER_COMMITS)
def test_a_stale_epoch_cannot_publish_when_its_process_wakes_up(pair: tuple[Trial, Trial], where: int) -> None:
    """As if the proof that it is gone had been wrong: its task is taken over while it is only stopped."""
    first, second = pair
    paused = first.run(steps=(FILE,), stop=place(first, where))
    assert paused.stopped
    taken = second.run(steps=(Step("takeover"), Step("settle"), OTHER))
    assert [line.split()[0] for line in taken.said] == ["takeover", "left", "second"]
    assert text(first) == "second"
    woken = first.note(first.victims.resume(paused.pid))
    assert woken.said == ("first !stale_epoch",)
    assert text(first) == "second"
    assert published(first.space) == ["zero", "first", "second"]


def test_a_stale_writer_inside_its_exchange_still_holds_the_lock(pair: tuple[Trial, Trial]) -> None:
    """It looked at its epoch and stopped before the exchange: nobody can publish past it, so nothing is overwritten."""
    first, second = pair
    paused = first.run(steps=(FILE,), stop=At(1, "files.exchange.before"))
    taken = second.run(steps=(Step("takeover"),))
    assert taken.said[0].startswith("takeover ")
    woken = first.note(first.victims.resume(paused.pid))
    assert woken.said == ("first !stale_epoch",)
    settled = second.run(steps=(Step("settle"), OTHER))
    assert settled.said[0] == "left 0"
    assert text(first) == "second"
    assert published(first.space) == ["zero", "first", "second"]


@pytest.mark.parametrize(
    "stop", [At(1, "ledger.commit.after"), *(At(1, name) for name in POINTS), At(2, "ledger.commit.before")]
)
def test_a_direct_effect_happens_once_whoever_is_killed(pair: tuple[Trial, Trial], stop: At) -> None:
    first, second = pair
    first.run(steps=(DIRECT,), kill=stop)
    second.run(steps=(Step("settle"), DIRECT, OTHER_DIRECT))
    assert World(first.folder / "world").lines("world:one") == ["first", "second"]
    seen = effects(first.witness_file)
    assert (seen.count("first"), seen.count("second")) == (1, 1)


@pytest.mark.parametrize("where", POINTS)
def test_the_same_key_in_two_processes_is_one_effect(pair: tuple[Trial, Trial], where: str) -> None:
    first, second = pair
    paused = first.run(steps=(DIRECT,), stop=At(1, where))
    assert second.run(steps=(DIRECT,)).said == ("first !resource_busy",)
    first.note(first.victims.resume(paused.pid))
    assert second.run(steps=(DIRECT,)).said[0].startswith("first t-")
    assert effects(first.witness_file).count("first") == 1
