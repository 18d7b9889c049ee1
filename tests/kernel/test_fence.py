"""The law of fence, decision by decision."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from countermark.kernel import fence
from countermark.kernel.clock import SystemClock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.fence import Resource
from countermark.kernel.ledger import Ledger, Tx


class Free:
    """A gate nobody else stands at."""

    def hold(self) -> None:
        """Take it."""

    def release(self) -> None:
        """Give it back."""


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    opened = Ledger(tmp_path / "l.sqlite", Free(), SystemClock())
    yield opened
    opened.close()


def acquire(ledger: Ledger, task: str, **seen: str) -> int:
    return ledger.apply(lambda tx: fence.acquire(tx, task, seen, seen))


def known(ledger: Ledger, name: str) -> Resource:
    found = ledger.read(lambda tx: fence.load(tx, name))
    assert found is not None
    return found


def code(ledger: Ledger, *arguments: object) -> str:
    act, *rest = arguments
    with pytest.raises(CountermarkError) as caught:
        ledger.apply(lambda tx: act(tx, *rest))  # type: ignore[operator]
    return caught.value.code


def test_every_taking_raises_the_epoch(ledger: Ledger) -> None:
    assert acquire(ledger, "t1", a="absent") == 1
    ledger.apply(lambda tx: fence.release(tx, "t1", ["a"], {"a": "r1"}))
    assert acquire(ledger, "t2", a="r1") == 2
    assert known(ledger, "a") == Resource("a", "r1", 2, "t2", 1, "t1")


def test_several_resources_share_the_highest_epoch(ledger: Ledger) -> None:
    acquire(ledger, "t1", b="absent")
    ledger.apply(lambda tx: fence.release(tx, "t1", ["b"]))
    acquire(ledger, "t2", b="absent")
    ledger.apply(lambda tx: fence.release(tx, "t2", ["b"]))
    assert acquire(ledger, "t3", a="absent", b="absent", c="absent") == 3
    assert {known(ledger, name).epoch for name in "abc"} == {3}


def test_of_several_resources_all_or_none_is_taken(ledger: Ledger) -> None:
    acquire(ledger, "t1", b="absent")
    names = dict.fromkeys(("a", "b", "c"), "absent")
    assert code(ledger, fence.acquire, "t2", names, names) == "resource_busy"
    assert ledger.read(lambda tx: fence.load(tx, "a")) is None
    assert known(ledger, "b").holder == "t1"


def test_a_held_resource_is_busy_even_when_the_revision_is_wrong_too(ledger: Ledger) -> None:
    """Who waits for the holder learns the new revision then; a conflict now would be about a moving thing."""
    acquire(ledger, "t1", a="absent")
    assert code(ledger, fence.acquire, "t2", {"a": "r1"}, {"a": "r2"}) == "resource_busy"


@pytest.mark.promise("kernel.fence.stale-writer-refused")
def test_another_revision_than_the_one_that_was_seen_is_a_conflict(ledger: Ledger) -> None:
    assert code(ledger, fence.acquire, "t1", {"a": "r1"}, {"a": "r2"}) == "revision_conflict"


@pytest.mark.promise("kernel.fence.stale-epoch-cannot-publish")
def test_a_stale_epoch_cannot_commit(ledger: Ledger) -> None:
    epoch = acquire(ledger, "t1", a="absent")
    newer = ledger.apply(lambda tx: fence.renew(tx, "t1", ["a"], epoch))
    assert newer == epoch + 1
    assert code(ledger, fence.assert_held, "t1", ["a"], epoch) == "stale_epoch"
    ledger.apply(lambda tx: fence.assert_held(tx, "t1", ["a"], newer))


def test_what_another_task_holds_is_not_held(ledger: Ledger) -> None:
    epoch = acquire(ledger, "t1", a="absent")
    assert code(ledger, fence.assert_held, "t2", ["a"], epoch) == "stale_epoch"
    assert code(ledger, fence.assert_held, "t1", ["never"], epoch) == "stale_epoch"


def test_what_another_task_holds_is_not_renewed(ledger: Ledger) -> None:
    acquire(ledger, "t1", a="absent")
    assert code(ledger, fence.renew, "t2", ["a"], 1) == "resource_busy"
    assert known(ledger, "a").holder == "t1"


def test_letting_go_of_what_another_task_holds_changes_nothing(ledger: Ledger) -> None:
    acquire(ledger, "t1", a="absent")
    ledger.apply(lambda tx: fence.release(tx, "t2", ["a"], {"a": "forged"}))
    assert known(ledger, "a") == Resource("a", "absent", 1, "t1", 0, None)


def test_only_what_was_written_counts_a_write(ledger: Ledger) -> None:
    acquire(ledger, "t1", a="absent", b="absent")
    ledger.apply(lambda tx: fence.release(tx, "t1", ["a", "b"], {"a": "r1"}))
    assert (known(ledger, "a").writes, known(ledger, "b").writes) == (1, 0)
    assert (known(ledger, "a").last_task, known(ledger, "b").last_task) == ("t1", None)


def test_a_failed_taking_in_a_shared_commit_leaves_its_neighbours(ledger: Ledger) -> None:
    def both(tx: Tx) -> None:
        fence.acquire(tx, "t1", {"a": "absent"}, {"a": "absent"})

    ledger.apply(both)
    assert code(ledger, fence.acquire, "t2", {"a": "absent"}, {"a": "absent"}) == "resource_busy"
    assert acquire(ledger, "t3", b="absent") == 1
