"""Stopping: what can be stopped, what cannot any more, and what a grant's end stops."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from countermark.kernel import cancel, fence, points, review, task
from countermark.kernel.adapter import Finding
from countermark.kernel.errors import CountermarkError
from countermark.kernel.recovery import Executed
from countermark.kernel.state import State

from .conftest import Bench


@pytest.fixture
def while_publishing(bench: Bench) -> Iterator[Callable[[Callable[[], None]], None]]:
    """Run something at the moment when a new file has just taken its place, before the ledger says so."""

    def arrange(act: Callable[[], None]) -> None:
        def hook(point: str) -> None:
            if point == "files.rename_new.after" and (bench.folder / "space" / "doc.txt").exists():
                points.install(None)
                act()

        points.install(hook)

    yield arrange
    points.install(None)


def test_what_is_being_published_can_no_longer_be_cancelled(
    bench: Bench, while_publishing: Callable[[Callable[[], None]], None]
) -> None:
    bench.grant("reviewed", acceptance="person")
    waiting = bench.perform(grant="reviewed", key="k")
    codes = []

    def stop() -> None:
        with pytest.raises(CountermarkError) as caught:
            cancel.cancel(bench.space, waiting.task)
        codes.append(caught.value.code)

    evidence = review.waiting(bench.space, waiting.task).evidence
    while_publishing(stop)
    done = review.accept(bench.space, waiting.task, evidence)
    assert codes == ["illegal_state"]
    assert (done.state, done.executed) == (State.COMPLETED, Executed.YES)
    assert bench.read("doc.txt") == "hello"


def test_revoking_a_grant_leaves_a_publication_under_way_to_end(
    bench: Bench, while_publishing: Callable[[Callable[[], None]], None]
) -> None:
    stopped: list[str] = []
    while_publishing(lambda: stopped.extend(one.id for one in cancel.cancel_grant(bench.space, "test")))
    done = bench.perform(key="k")
    assert stopped == []
    assert done.state is State.COMPLETED
    assert bench.read("doc.txt") == "hello"


def test_a_task_that_waits_for_a_person_is_cancelled_with_nothing_executed(bench: Bench) -> None:
    bench.grant("reviewed", acceptance="person")
    waiting = bench.perform(grant="reviewed")
    found = cancel.cancel(bench.space, waiting.task)
    assert (found.state, found.executed) == (State.CANCELLED, Executed.NO)


def test_a_task_that_has_ended_cannot_be_cancelled(bench: Bench) -> None:
    done = bench.perform()
    with pytest.raises(CountermarkError, match="can no longer be cancelled"):
        cancel.cancel(bench.space, done.task)
    assert bench.space.ledger.read(lambda tx: task.load(tx, done.task)).state is State.COMPLETED


def test_a_person_settles_a_stop_that_looking_could_not_confirm(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.adapter.script["k"] = ["nothing"]
    monkeypatch.setattr(bench.adapter, "reconcile", lambda *_: Finding(Executed.UNKNOWN))
    with pytest.raises(CountermarkError, match="not known"):
        bench.perform("test.direct", "world:a", key="k")
    [unsettled] = bench.space.ledger.read(task.load_open)
    assert cancel.cancel(bench.space, unsettled.id).state is State.CANCEL_REQUESTED
    with pytest.raises(CountermarkError) as caught:
        review.settle_by_person(bench.space, unsettled.id, Executed.NO, "I looked: nothing there")
    assert (caught.value.code, caught.value.details["executed"]) == ("cancelled", "no")
    assert bench.space.ledger.read(lambda tx: fence.load(tx, "world:a")).holder is None  # type: ignore[union-attr]
    assert bench.perform("test.direct", "world:a", key="another").state is State.COMPLETED
