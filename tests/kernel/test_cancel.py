"""Stopping: what can be stopped, what cannot any more, and what a grant's end stops."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from countermark.kernel import cancel, fence, grant, points, review, task
from countermark.kernel.adapter import Context, Finding, Intent, Outcome
from countermark.kernel.errors import CountermarkError
from countermark.kernel.recovery import Executed
from countermark.kernel.state import State
from countermark.testkit.crash import GRANT, At, Step, Trial
from tests.crash.conftest import make_fast_folder, make_template, make_trial, make_victims, make_witness  # noqa: F401

from .conftest import Bench
from .test_restart import leave, opened


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


DIRECT = Step("perform", "k", "test.direct", "world:a")
OTHER = Step("perform", "other", "test.direct", "world:b")


@pytest.mark.promise("kernel.grant.revoke-stops-all")
def test_all_tasks_of_a_grant_are_marked_in_the_commit_that_ends_it(trial: Trial) -> None:
    """The process is killed right after that one commit."""
    trial.run(steps=(DIRECT, OTHER), script={"k": ["nothing"], "other": ["lose"]}, breaks={"reconcile": "refuse"})
    leave(trial, Step("revoke"), kill=At(1, "ledger.commit.after"))
    with opened(trial) as space:
        left = space.ledger.read(task.load_open)
        assert {one.state for one in left} == {State.CANCEL_REQUESTED}
        assert len(left) == 2
        assert space.ledger.read(lambda tx: grant.load(tx, GRANT)).revoked_at is not None
        assert space.settle_all() == []
        ended = {one.key: (one.state, one.executed) for one in space.ledger.read(lambda tx: task.load_recent(tx, 9))}
    assert ended == {"k": (State.CANCELLED, Executed.NO), "other": (State.CANCELLED, Executed.YES)}


def test_killed_before_that_commit_nothing_is_marked(trial: Trial) -> None:
    trial.run(steps=(DIRECT,), script={"k": ["nothing"]}, breaks={"reconcile": "refuse"})
    leave(trial, Step("revoke"), kill=At(1, "ledger.commit.before"))
    with opened(trial) as space:
        assert [one.state for one in space.ledger.read(task.load_open)] == [State.RECONCILING]
        assert space.ledger.read(lambda tx: grant.load(tx, GRANT)).revoked_at is None


def test_a_grants_end_stops_what_its_children_allowed_and_nothing_else(bench: Bench) -> None:
    bench.grant("parent")
    bench.grant("child", "parent")
    bench.adapter.breaks["reconcile"] = "refuse"
    for key, name in (("1", "parent"), ("2", "child"), ("3", "test")):
        bench.adapter.script[key] = ["nothing"]
        with pytest.raises(CountermarkError, match="outcome_unknown"):
            bench.perform("test.direct", f"world:{key}", key=key, grant=name)
    bench.adapter.breaks.clear()
    assert {one.key for one in cancel.cancel_grant(bench.space, "parent")} == {"1", "2"}
    assert [one.key for one in bench.space.ledger.read(task.load_open)] == ["3"]
    with pytest.raises(CountermarkError, match="grant_revoked"):
        bench.perform("test.direct", "world:4", key="4", grant="child")


class Running:
    """A staged effect under way in another thread, held at a gate until it is let go."""

    def __init__(self, bench: Bench, *, key: str = "k") -> None:
        self.reached, self.gate = threading.Event(), threading.Event()
        self.error: CountermarkError | None = None
        self.stopping: list[bool] = []
        submit = bench.adapter.submit

        def held(intent: Intent, context: Context) -> Outcome:
            outcome = submit(intent, context)
            self.reached.set()
            self.gate.wait(60)
            self.stopping.append(context.stopping())
            return outcome

        bench.adapter.submit = held  # type: ignore[method-assign]
        self.thread = threading.Thread(target=self._perform, args=(bench, key))
        self.thread.start()
        self.reached.wait(60)

    def _perform(self, bench: Bench, key: str) -> None:
        try:
            bench.perform(key=key)
        except CountermarkError as error:
            self.error = error

    def let_go(self) -> None:
        self.gate.set()
        self.thread.join(60)


@pytest.mark.promise("kernel.cancel.late-result-changes-nothing")
def test_a_result_that_comes_after_the_request_is_an_orphan_and_changes_no_state(bench: Bench) -> None:
    running = Running(bench)
    [found] = bench.space.ledger.read(task.load_open)
    asked = cancel.cancel(bench.space, found.id)
    assert asked.state is State.CANCEL_REQUESTED, "whoever runs it has not stopped yet"
    running.let_go()
    assert running.stopping == [True]
    assert running.error is not None
    assert (running.error.code, running.error.details["executed"]) == ("cancelled", "no")
    assert not (bench.space.path / "doc.txt").exists()
    rows = bench.space.ledger.read(lambda tx: tx.all("SELECT state, digest FROM artifacts WHERE task = ?", (found.id,)))
    assert [state for state, _ in rows] == ["orphan"]
    assert bench.space.store.has(rows[0][1]), "the work is kept, not thrown away"
    assert bench.kinds(found.id)[-2:] == ["late", "cancelled"]


def test_while_it_is_unknown_what_happened_the_request_stays_and_keeps_the_resource(bench: Bench) -> None:
    bench.adapter.script["k"] = ["lose"]
    bench.adapter.breaks |= {"reconcile": "refuse", "cancel": "refuse"}
    with pytest.raises(CountermarkError, match="outcome_unknown"):
        bench.perform("test.direct", "world:a", key="k")
    [found] = bench.space.ledger.read(task.load_open)
    for _ in range(2):
        assert cancel.cancel(bench.space, found.id).state is State.CANCEL_REQUESTED
        held = bench.space.ledger.read(lambda tx: fence.load(tx, "world:a"))
        assert held is not None
        assert held.holder == found.id
    with pytest.raises(CountermarkError, match="resource_busy"):
        bench.perform("test.direct", "world:a", key="other", revision="1:k")
    bench.adapter.breaks.clear()
    ended = cancel.cancel(bench.space, found.id)
    assert (ended.state, ended.executed) == (State.CANCELLED, Executed.YES)


def test_a_request_made_twice_is_one_event(bench: Bench) -> None:
    running = Running(bench)
    [found] = bench.space.ledger.read(task.load_open)
    for _ in range(2):
        cancel.cancel(bench.space, found.id)
    running.let_go()
    assert bench.kinds(found.id).count("cancel_requested") == 1


def test_what_runs_as_a_child_is_stopped(bench: Bench) -> None:
    gate = bench.folder / "gate"
    os.mkfifo(gate)
    started = threading.Event()

    def wait_for_child(intent: Intent, context: Context) -> Outcome:
        argv = [sys.executable, "-I", "-S", "-c", "import sys; open(sys.argv[1]).read()", str(gate)]
        child = context.launch(argv)
        started.set()
        ended = child.wait(context.clock.monotonic() + 60)
        child.close()
        return Outcome.unknown(f"The child ended: {ended}.")

    bench.adapter.submit = wait_for_child  # type: ignore[method-assign]
    errors: list[CountermarkError] = []

    def perform() -> None:
        try:
            bench.perform("test.direct", "world:a", key="k")
        except CountermarkError as error:
            errors.append(error)

    thread = threading.Thread(target=perform)
    thread.start()
    started.wait(60)
    [found] = bench.space.ledger.read(task.load_open)
    cancel.cancel(bench.space, found.id)
    thread.join(60)
    assert [error.code for error in errors] == ["cancelled"]
    assert not bench.space.children_alive(found.id)


def test_a_stop_is_not_confirmed_while_something_that_was_started_still_runs(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.adapter.script["k"] = ["lose"]
    with monkeypatch.context() as blind:
        blind.setattr(bench.adapter, "reconcile", lambda *_: Finding(Executed.UNKNOWN))
        with pytest.raises(CountermarkError, match="not known"):
            bench.perform("test.direct", "world:a", key="k")
    [found] = bench.space.ledger.read(task.load_open)
    with monkeypatch.context() as alive:
        alive.setattr(bench.space, "children_alive", lambda _: True)
        assert cancel.cancel(bench.space, found.id).state is State.CANCEL_REQUESTED
        assert bench.kinds(found.id)[-1] == "stop_unconfirmed"
        with pytest.raises(CountermarkError) as caught:
            review.settle_by_person(bench.space, found.id, Executed.NO, "looked")
        assert caught.value.code == "resource_busy"
    with pytest.raises(CountermarkError) as caught:
        review.settle_by_person(bench.space, found.id, Executed.YES, "looked")
    assert (caught.value.code, caught.value.details["executed"]) == ("cancelled", "yes")


def test_a_task_that_was_asked_to_stop_or_was_taken_over_starts_nothing_more(bench: Bench) -> None:
    """The adapter asks for a child, and to keep a handle, after the request and after a takeover."""
    codes: list[str] = []

    def submit(intent: Intent, context: Context) -> Outcome:
        cancel.cancel(bench.space, intent.task)
        for act in (lambda: context.launch([sys.executable, "-c", ""]), lambda: context.save_handle("h")):
            with pytest.raises(CountermarkError) as caught:
                act()
            codes.append(caught.value.code)
        return Outcome.unknown("stopped")

    bench.adapter.submit = submit  # type: ignore[method-assign]
    with pytest.raises(CountermarkError) as caught:
        bench.perform(key="k")
    assert caught.value.code == "cancelled"
    assert codes == ["stale_epoch", "stale_epoch"]
    assert bench.space.ledger.read(lambda tx: tx.all("SELECT * FROM processes")) == []


def test_a_late_result_is_no_artefact_of_the_receipt(bench: Bench) -> None:
    """The result comes after the request, under the very epoch that was asked to stop."""
    work = bench.adapter.submit

    def submit(intent: Intent, context: Context) -> Outcome:
        outcome = work(intent, context)
        cancel.cancel(bench.space, intent.task)
        return outcome

    bench.adapter.submit = submit  # type: ignore[method-assign]
    with pytest.raises(CountermarkError) as caught:
        bench.perform(key="k")
    assert caught.value.code == "cancelled"
    ended = bench.space.ledger.read(lambda tx: task.load_recent(tx, 1))[0]
    states = bench.space.ledger.read(lambda tx: tx.all("SELECT state FROM artifacts WHERE task = ?", (ended.id,)))
    assert states == [("orphan",)]
    _, subjects = bench.space.receipts.facts(ended.id)
    assert [one.name for one in subjects] == ["plan"]
