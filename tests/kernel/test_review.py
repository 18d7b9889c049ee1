"""A person's decision: what it may end, what must still stand when it is made, and what it has to take first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from countermark.kernel import cancel, fence, grant, perform, points, restart, review, task
from countermark.kernel.adapter import Context, Finding, Intent, Stopped
from countermark.kernel.canon import ABSENT
from countermark.kernel.errors import CountermarkError
from countermark.kernel.plan import Plan
from countermark.kernel.recovery import EffectClass, Executed
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


def half_accepted(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> str:
    """Break an acceptance off when it has taken the resources; return the task, which holds them."""
    bench.grant("reviewed", acceptance="person")
    waiting = bench.perform(grant="reviewed")
    evidence = review.waiting(bench.space, waiting.task).evidence

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(bench.space, "move_stage", interrupt)
        with pytest.raises(KeyboardInterrupt):
            review.accept(bench.space, waiting.task, evidence)
    assert bench.space.ledger.read(lambda tx: fence.load(tx, "file:doc.txt")).holder == waiting.task  # type: ignore[union-attr]
    return waiting.task


def test_an_acceptance_that_fails_gives_back_what_it_took_and_can_be_made_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.grant("reviewed", acceptance="person")
    waiting = bench.perform(grant="reviewed")
    evidence = review.waiting(bench.space, waiting.task).evidence

    def full(*_: object) -> None:
        raise CountermarkError("disk_full", "The disk is full.", next_action="Free some space.")

    with monkeypatch.context() as broken:
        broken.setattr(bench.space, "move_stage", full)
        assert code_of(lambda: review.accept(bench.space, waiting.task, evidence)) == "disk_full"
    assert bench.space.ledger.read(lambda tx: fence.load(tx, "file:doc.txt")).holder is None  # type: ignore[union-attr]
    assert review.accept(bench.space, waiting.task, evidence).state is State.COMPLETED


def test_an_acceptance_made_while_another_takes_the_task_up_publishes_and_ends(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second process accepts between the takeover and the release of what a failed acceptance had left held."""
    waiting = half_accepted(bench, monkeypatch)
    evidence = review.waiting(bench.space, waiting).evidence
    other = Workspace(bench.folder / "space", adapters=[bench.adapter])
    asked: list[State] = []
    look = restart._publish_intent  # noqa: SLF001 - the last look before the release

    def between(space: Workspace, found: Task) -> dict[str, tuple[str, str]] | None:
        wanted = look(space, found)
        if space is bench.space and space.is_running(found.id) and not asked:
            asked.append(review.accept(other, waiting, evidence).state)
        return wanted

    monkeypatch.setattr(restart, "_publish_intent", between)
    assert bench.space.settle(waiting)
    other.close()
    assert asked == [State.COMPLETED]
    assert current(bench).state is State.COMPLETED
    assert bench.read("doc.txt") == "hello"


def test_a_task_that_is_revised_keeps_nothing_that_a_failed_acceptance_had_taken(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = half_accepted(bench, monkeypatch)
    plan = Plan("scripted", "test.staged", "test.staged", ("file:other.txt",), {"text": "instead"})
    done = bench.space.perform(plan, grant="test", revision=ABSENT, supersedes=waiting)
    assert done.state is State.COMPLETED
    assert bench.perform(key="next").state is State.COMPLETED


def test_a_process_without_the_domain_leaves_a_task_to_one_that_has_it(bench: Bench, unsettled: Task) -> None:
    _, host, boot, _, began = bench.space.runner_text.split("|")
    gone = f"r-gone|{host}|{boot}|4194303|{began}"  # above the largest process number there is
    bench.space.ledger.apply(lambda tx: tx.run("UPDATE tasks SET runner = ?", (gone,)))
    with Workspace(bench.folder / "space", adapters=[]) as other:
        assert other.settle_all() == [unsettled.id]
        assert current(bench).epoch == unsettled.epoch
        assert bench.space.settle_all() == []
    assert current(bench).state is State.COMPLETED


def test_a_stop_that_is_asked_for_while_the_owner_looks_is_confirmed_by_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.adapter.script["k"] = ["lose"]
    other = Workspace(bench.folder / "space", adapters=[bench.adapter])
    asked: list[State] = []

    def look(intent: Intent, _: Context) -> Finding:
        if not asked:
            asked.append(cancel.cancel(other, intent.task).state)
        return Finding(Executed.UNKNOWN)

    monkeypatch.setattr(bench.adapter, "reconcile", look)
    monkeypatch.setattr(bench.adapter, "cancel", lambda *_: Stopped(confirmed=True, executed=Executed.YES))
    assert code_of(lambda: bench.perform("test.direct", "world:a", key="k")) == "cancelled"
    other.close()
    assert asked == [State.CANCEL_REQUESTED]
    assert (current(bench).state, current(bench).executed) == (State.CANCELLED, Executed.YES)


def test_a_blocked_task_of_a_living_process_is_cancelled_from_another(bench: Bench) -> None:
    bench.adapt(EffectClass.NON_IDEMPOTENT)
    bench.adapter.script["k"] = ["nothing"]
    assert code_of(lambda: bench.perform("test.direct", "world:a", key="k")) == "outcome_unknown"
    assert current(bench).state is State.BLOCKED
    with Workspace(bench.folder / "space", adapters=[bench.adapter]) as other:
        assert cancel.cancel(other, current(bench).id).state is State.CANCELLED
    assert bench.space.ledger.read(lambda tx: fence.load(tx, "world:a")).holder is None  # type: ignore[union-attr]


def test_one_task_that_cannot_be_stopped_holds_up_no_other_of_its_grant(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.grant("reviewed", acceptance="person")
    first = bench.perform(grant="reviewed", key="1")
    second = bench.perform(grant="reviewed", key="2", resource="file:other.txt")
    confirm = cancel._confirm  # noqa: SLF001 - the step that breaks

    def broken(space: Workspace, task_id: str) -> Task:
        if task_id == first.task:
            raise CountermarkError("part_unavailable", "Its domain is not here.", next_action="Install it.")
        return confirm(space, task_id)

    monkeypatch.setattr(cancel, "_confirm", broken)
    ended = {one.id: one.state for one in cancel.cancel_grant(bench.space, "reviewed")}
    assert ended == {first.task: State.CANCEL_REQUESTED, second.task: State.CANCELLED}
