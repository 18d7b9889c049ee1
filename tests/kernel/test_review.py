"""A person's decision: what it may end, what must still stand when it is made, and what it has to take first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from countermark.kernel import cancel, fence, grant, perform, points, review, task
from countermark.kernel.adapter import Finding
from countermark.kernel.errors import CountermarkError
from countermark.kernel.recovery import Executed
from countermark.kernel.state import State
from countermark.kernel.task import Task
from countermark.kernel.workspace import Workspace

from .conftest import Bench


@pytest.fixture
def unsettled(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Task:
    """A direct effect whose reply is lost, and nobody can look."""
    bench.adapter.script["k"] = ["lose"]
    with monkeypatch.context() as blind:
        blind.setattr(bench.adapter, "reconcile", lambda *_: Finding(Executed.UNKNOWN))
        with pytest.raises(CountermarkError, match="not known"):
            bench.perform("test.direct", "world:a", key="k")
    return current(bench)


@pytest.fixture
def at_commit() -> Iterator[None]:
    yield
    points.install(None)


def current(bench: Bench) -> Task:
    return bench.space.ledger.read(lambda tx: task.load_recent(tx, 1))[0]


def code_of(act: object) -> str:
    assert callable(act)
    with pytest.raises(CountermarkError) as caught:
        act()
    return caught.value.code


def test_what_a_person_has_seen_is_a_result_that_a_restart_finds(bench: Bench, unsettled: Task) -> None:
    done = review.settle_by_person(bench.space, unsettled.id, Executed.YES, "it is there")
    assert done.state is State.COMPLETED
    assert bench.space.ledger.read(lambda tx: task.facts(tx, unsettled.id)) == {"settledBy": review.UNPROVEN}


def test_an_answer_after_a_person_has_settled_it_is_late(bench: Bench, unsettled: Task) -> None:
    intent = perform.intent_of(bench.space, unsettled)
    assert code_of(lambda: review.settle_by_person(bench.space, unsettled.id, Executed.NO, "nothing")) == "task_failed"
    assert current(bench).epoch > intent.epoch
    assert code_of(lambda: perform.late(bench.space, intent)) == "stale_epoch"


def test_a_person_settles_nothing_that_is_still_worked_on(bench: Bench, unsettled: Task) -> None:
    with bench.space.running(unsettled.id):
        way = lambda: review.settle_by_person(bench.space, unsettled.id, Executed.NO, "I think not")  # noqa: E731
        assert code_of(way) == "resource_busy"
    assert current(bench).state is State.RECONCILING


def test_nothing_is_published_under_a_grant_that_has_expired_since(bench: Bench) -> None:
    bench.grant("soon", acceptance="person", expires_at=bench.space.clock.now_ms() + 3_600_000)
    waiting = bench.perform(grant="soon")
    evidence = review.waiting(bench.space, waiting.task).evidence
    bench.space.ledger.apply(lambda tx: tx.run("UPDATE grants SET expires_at = 1 WHERE id = 'soon'"))
    assert code_of(lambda: review.accept(bench.space, waiting.task, evidence)) == "grant_expired"
    assert not (bench.folder / "space/doc.txt").exists()
    assert current(bench).state is State.REVIEW_READY


def test_what_a_direct_effect_wrote_must_still_be_there_when_it_is_accepted(bench: Bench) -> None:
    bench.grant("reviewed", acceptance="person")
    waiting = bench.perform("test.direct", "world:a", grant="reviewed", key="k")
    evidence = review.waiting(bench.space, waiting.task).evidence
    bench.world.change("world:a", "somebody else")
    assert code_of(lambda: review.accept(bench.space, waiting.task, evidence)) == "stale_evidence"
    assert current(bench).state is State.FAILED


@pytest.mark.usefixtures("at_commit")
def test_a_stop_that_comes_while_a_result_is_being_accepted_ends_it_unpublished(bench: Bench) -> None:
    """The request comes when the acceptance has taken the resources and hands its stage on, before it publishes."""
    bench.grant("reviewed", acceptance="person")
    waiting = bench.perform(grant="reviewed")
    evidence = review.waiting(bench.space, waiting.task).evidence
    other = Workspace(bench.folder / "space", adapters=[bench.adapter])
    asked: list[State] = []

    def stop(point: str) -> None:
        if point.startswith("files."):
            points.install(None)
            asked.append(cancel.cancel(other, waiting.task).state)

    points.install(stop)
    assert code_of(lambda: review.accept(bench.space, waiting.task, evidence)) == "cancelled"
    other.close()
    assert asked == [State.CANCEL_REQUESTED]
    assert current(bench).state is State.CANCELLED
    assert not (bench.folder / "space/doc.txt").exists()
    assert bench.space.ledger.read(lambda tx: fence.load(tx, "file:doc.txt")).holder is None  # type: ignore[union-attr]


def test_what_only_waits_is_stopped_by_any_process_although_its_own_lives(bench: Bench) -> None:
    bench.grant("reviewed", acceptance="person")
    waiting = bench.perform(grant="reviewed")
    with Workspace(bench.folder / "space", adapters=[bench.adapter]) as other:
        assert cancel.cancel(other, waiting.task).state is State.CANCELLED


def test_a_grant_that_is_revoked_ends_what_waits_under_it_from_any_process(bench: Bench) -> None:
    bench.grant("reviewed", acceptance="person")
    waiting = bench.perform(grant="reviewed")
    with Workspace(bench.folder / "space", adapters=[bench.adapter]) as other:
        [ended] = cancel.cancel_grant(other, "reviewed")
    assert (ended.id, ended.state) == (waiting.task, State.CANCELLED)
    assert bench.space.ledger.read(lambda tx: grant.load(tx, "reviewed")).revoked_at is not None
