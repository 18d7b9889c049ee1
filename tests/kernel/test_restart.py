"""Taking up what a killed process left: from every state there is a typed way on, and nothing happens twice."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from countermark.kernel import backup, cancel, fence, grant, receipt, restart, review, task, verification
from countermark.kernel.adapter import Context, Intent, Outcome
from countermark.kernel.errors import CountermarkError
from countermark.kernel.recovery import EffectClass, Executed
from countermark.kernel.state import State
from countermark.kernel.task import Task
from countermark.kernel.workspace import Workspace
from countermark.testkit.adapter import ScriptedAdapter, World
from countermark.testkit.crash import CAREFUL, GRANT, At, Step, Trial
from tests.crash.conftest import make_fast_folder, make_template, make_trial, make_victims, make_witness  # noqa: F401

from .conftest import Bench

DIRECT = Step("perform", "k", "test.direct", "world:a")
STAGED = Step("perform", "k", "test.staged", "file:doc.txt", {"text": "new"}, revision="absent")


def leave(trial: Trial, *steps: Step, **options: Any) -> Task:
    """Have a real process killed in the middle of these steps, and return the task it left."""
    ended = trial.run(steps=steps, **options)
    assert ended.signal == signal.SIGKILL, ended
    with opened(trial) as space:
        return newest(space)


@contextmanager
def opened(trial: Trial, effect_class: EffectClass = EffectClass.IDEMPOTENT_WRITE, **more: Any) -> Iterator[Workspace]:
    world = World(trial.folder / "world", trial.socket)
    adapter = ScriptedAdapter(world, effect_class=effect_class, **more)
    with Workspace(trial.space, adapters=[adapter]) as space:
        yield space
    assert backup.examine(trial.space / ".countermark/ledger.sqlite") == []


def newest(space: Workspace) -> Task:
    return space.ledger.read(lambda tx: task.load_recent(tx, 1))[0]


def lines(trial: Trial) -> list[str]:
    return World(trial.folder / "world").lines("world:a")


def holder(space: Workspace, name: str) -> str | None:
    known = space.ledger.read(lambda tx: fence.load(tx, name))
    return known.holder if known else None


class TestEveryState:
    """One test for each state a kill can leave."""

    @pytest.mark.parametrize(("fault", "attempts"), [("die", 2), ("die-after", 1)])
    def test_running_and_direct(self, trial: Trial, fault: str, attempts: int) -> None:
        assert leave(trial, DIRECT, script={"k": [fault]}).state is State.RUNNING
        with opened(trial) as space:
            assert space.settle_all() == []
            found = newest(space)
            assert (found.state, found.executed) == (State.COMPLETED, Executed.YES)
            assert space.ledger.read(lambda tx: task.attempts(tx, found.id)) == attempts
        assert lines(trial) == ["k"]

    @pytest.mark.parametrize("fault", ["die", "die-after"])
    def test_running_and_staged(self, trial: Trial, fault: str) -> None:
        assert leave(trial, STAGED, script={"k": [fault]}).state is State.RUNNING
        with opened(trial) as space:
            assert space.settle_all() == []
            assert newest(space).state is State.COMPLETED
        assert (trial.space / "doc.txt").read_text() == "new"

    @pytest.mark.promise("kernel.once.non-idempotent-never-replayed")
    @pytest.mark.parametrize("kind", [EffectClass.NON_IDEMPOTENT, EffectClass.DESTRUCTIVE])
    def test_running_and_not_to_be_repeated_waits_for_a_person(self, trial: Trial, kind: EffectClass) -> None:
        leave(trial, DIRECT, script={"k": ["die"]}, effect_class=kind)
        with opened(trial, kind) as space:
            assert space.settle_all() == [newest(space).id]
            assert newest(space).state is State.BLOCKED
            assert holder(space, "world:a") == newest(space).id
            assert lines(trial) == []
            assert review.settle_by_person(space, newest(space).id, Executed.NO, "looked").state is State.COMPLETED
        assert lines(trial) == ["k"]

    def test_running_not_to_be_repeated_but_done_is_completed(self, trial: Trial) -> None:
        leave(trial, DIRECT, script={"k": ["die-after"]}, effect_class=EffectClass.NON_IDEMPOTENT)
        with opened(trial, EffectClass.NON_IDEMPOTENT) as space:
            assert space.settle_all() == []
            assert newest(space).state is State.COMPLETED
        assert lines(trial) == ["k"]

    def test_reconciling(self, trial: Trial) -> None:
        assert leave(trial, DIRECT, script={"k": ["lose"]}, breaks={"reconcile": "die"}).state is State.RECONCILING
        with opened(trial) as space:
            assert space.settle_all() == []
            assert newest(space).state is State.COMPLETED
        assert lines(trial) == ["k"]

    def test_reconciling_while_the_world_is_out_of_reach_stays_and_keeps_its_resource(self, trial: Trial) -> None:
        leave(trial, DIRECT, script={"k": ["lose"]}, breaks={"reconcile": "die"})
        with opened(trial, breaks={"reconcile": "refuse"}) as space:
            assert space.settle_all() == [newest(space).id]
            assert newest(space).state is State.RECONCILING
            assert holder(space, "world:a") == newest(space).id
        with opened(trial) as space:
            assert space.settle_all() == []
        assert lines(trial) == ["k"]

    @pytest.mark.parametrize("step", [DIRECT, STAGED])
    @pytest.mark.parametrize("way", ["die", "die-after"])
    def test_verifying_checks_again(self, trial: Trial, step: Step, way: str) -> None:
        assert leave(trial, step, breaks={"verify": way}).state is State.VERIFYING
        with opened(trial) as space:
            assert space.settle_all() == []
            assert newest(space).state is State.COMPLETED
            found = newest(space)
            assert space.ledger.read(lambda tx: task.attempts(tx, found.id)) == 1

    @pytest.mark.parametrize("side", ["before", "after"])
    @pytest.mark.parametrize("point", ["rename_new", "exchange"])
    def test_publishing_is_finished(self, trial: Trial, point: str, side: str) -> None:
        if point == "exchange":
            trial.run(steps=(Step("perform", "0", "test.staged", "file:doc.txt", {"text": "old"}),))
            left = leave(trial, _rewrite(), kill=At(1, f"files.exchange.{side}"))
        else:
            left = leave(trial, STAGED, kill=_publication_of(trial, side))
        assert left.state is State.REVIEW_READY
        with opened(trial) as space:
            assert holder(space, "file:doc.txt") == left.id
            assert space.settle_all() == []
            assert newest(space).state is State.COMPLETED
        assert (trial.space / "doc.txt").read_text() == "new"

    def test_waiting_for_a_person_goes_on_waiting_and_holds_nothing(self, trial: Trial) -> None:
        step = Step("perform", "k", "test.staged", "file:doc.txt", {"text": "new"}, grant=CAREFUL)
        leave(trial, step, Step("takeover"), kill=_last_commit(trial, step))
        with opened(trial) as space:
            assert space.settle_all() == []
            found = newest(space)
            assert (found.state, holder(space, "file:doc.txt")) == (State.REVIEW_READY, None)
            done = review.accept(space, found.id, review.waiting(space, found.id).evidence)
            assert done.state is State.COMPLETED
        assert (trial.space / "doc.txt").read_text() == "new"

    def test_ready(self, trial: Trial) -> None:
        kind = EffectClass.NON_IDEMPOTENT
        trial.run(steps=(DIRECT,), script={"k": ["nothing"]}, effect_class=kind)
        left = leave(trial, Step("unblock"), effect_class=kind, kill=At(1, "ledger.commit.after"))
        assert left.state is State.READY
        with opened(trial, kind) as space:
            assert space.settle_all() == []
            assert newest(space).state is State.COMPLETED
        assert lines(trial) == ["k"]

    def test_ready_without_a_grant_any_more_is_blocked(self, trial: Trial) -> None:
        kind = EffectClass.NON_IDEMPOTENT
        trial.run(steps=(DIRECT,), script={"k": ["nothing"]}, effect_class=kind)
        leave(trial, Step("unblock"), effect_class=kind, kill=At(1, "ledger.commit.after"))
        with opened(trial, kind) as space:
            space.ledger.apply(lambda tx: grant.revoke(tx, GRANT))
            assert space.settle_all() == [newest(space).id]
            assert newest(space).state is State.BLOCKED
        assert lines(trial) == []

    @pytest.mark.parametrize("state", [State.PLANNED, State.BLOCKED])
    def test_what_has_begun_nothing_waits_and_is_left_as_it_stands(self, bench: Bench, state: State) -> None:
        bench.adapter.script["k"] = ["nothing"]
        bench.adapt(EffectClass.NON_IDEMPOTENT)
        with pytest.raises(CountermarkError):
            bench.perform("test.direct", "world:a", key="k")
        left = newest(bench.space)
        bench.space.ledger.apply(lambda tx: tx.run("UPDATE tasks SET state = ? WHERE id = ?", (state.value, left.id)))
        before = bench.kinds(left.id)
        assert bench.space.settle_all() == [left.id]
        assert newest(bench.space).state is state
        assert bench.kinds(left.id) == before, "looking at a task that waits is no event"
        assert cancel.cancel(bench.space, left.id).state is State.CANCELLED

    @pytest.mark.parametrize(("fault", "executed"), [("lose", Executed.YES), ("nothing", Executed.NO)])
    def test_cancel_requested(self, trial: Trial, fault: str, executed: Executed) -> None:
        breaks = {"reconcile": "refuse", "cancel": "die"}
        left = leave(trial, DIRECT, Step("cancel"), script={"k": [fault]}, breaks=breaks)
        assert left.state is State.CANCEL_REQUESTED
        with opened(trial) as space:
            assert holder(space, "world:a") == left.id
            assert space.settle_all() == []
            found = newest(space)
            assert (found.state, found.executed) == (State.CANCELLED, executed)
            assert holder(space, "world:a") is None

    def test_cancel_requested_while_unknown_keeps_its_resource(self, trial: Trial) -> None:
        breaks = {"reconcile": "refuse", "cancel": "die"}
        left = leave(trial, DIRECT, Step("cancel"), script={"k": ["lose"]}, breaks=breaks)
        with opened(trial, breaks={"reconcile": "refuse"}) as space:
            assert space.settle_all() == [left.id]
            assert newest(space).state is State.CANCEL_REQUESTED
            assert holder(space, "world:a") == left.id

    @pytest.mark.promise("kernel.proof.evidence-in-every-ending")
    @pytest.mark.parametrize(
        ("state", "options"),
        [
            (State.COMPLETED, {}),
            (State.FAILED, {"script": {"k": ["fail"]}}),
            (State.CANCELLED, {"script": {"k": ["nothing"]}}),
        ],
    )
    def test_what_has_ended_gets_the_receipt_that_a_kill_prevented(
        self, trial: Trial, state: State, options: dict[str, Any]
    ) -> None:
        steps = (DIRECT, Step("cancel")) if state is State.CANCELLED else (DIRECT,)
        if state is State.CANCELLED:
            trial.run(steps=(DIRECT,), breaks={"reconcile": "refuse"}, **options)
            steps = (Step("cancel"),)
        found = leave(trial, *steps, kill=_last_commit(trial, *steps, **options), **options)
        assert found.state is state
        with opened(trial) as space:
            first = space.receipts.render(found.id)
            assert space.settle_all() == []
            trusted = space.keys.trusted()
        assert receipt.parse(first).facts.state is state
        place = trial.space / ".countermark/runs" / found.id / "receipt.json"
        assert place.read_bytes() == first
        assert verification.verify(place, trusted).signer is not None


class TestInterruptedRecovery:
    """What takes a task up may itself be killed."""

    def test_a_stage_outlives_two_takeovers(self, trial: Trial) -> None:
        """The second process dies when the task is its own and the stage is not yet."""
        leave(trial, STAGED, breaks={"verify": "die"})
        assert leave(trial, Step("settle"), kill=At(1, "ledger.commit.after")).state is State.VERIFYING
        assert leave(trial, Step("settle"), kill=At(1, "ledger.commit.after")).state is State.VERIFYING
        with opened(trial) as space:
            assert space.settle_all() == []
            found = newest(space)
            assert (found.state, found.epoch) == (State.COMPLETED, 4)
            assert space.ledger.read(lambda tx: task.attempts(tx, found.id)) == 1
        assert (trial.space / "doc.txt").read_text() == "new"
        assert not (trial.space / ".countermark/stage" / found.id).exists()

    def test_a_stage_of_an_attempt_that_did_not_happen_is_not_handed_on(self, trial: Trial) -> None:
        left = leave(trial, STAGED, script={"k": ["partial", "die"]})
        assert left.state is State.RUNNING
        with opened(trial, script={"k": ["", "", "done"]}) as space:
            assert space.settle_all() == []
            assert space.ledger.read(lambda tx: task.attempts(tx, left.id)) == 3
        assert (trial.space / "doc.txt").read_text() == "new"

    def test_an_acceptance_that_died_after_taking_the_lease_gives_it_back(self, trial: Trial) -> None:
        trial.run(steps=(Step("perform", "k", "test.staged", "file:doc.txt", {"text": "new"}, grant=CAREFUL),))
        left = leave(trial, Step("accept"), kill=At(1, "ledger.commit.after"))
        assert left.state is State.REVIEW_READY
        with opened(trial) as space:
            assert holder(space, "file:doc.txt") == left.id
            assert space.settle_all() == []
            assert holder(space, "file:doc.txt") is None
            done = review.accept(space, left.id, review.waiting(space, left.id).evidence)
            assert done.state is State.COMPLETED
        assert (trial.space / "doc.txt").read_text() == "new"

    @pytest.mark.promise("kernel.fence.last-instant-edit-survives")
    def test_an_edit_of_the_last_instant_stands_although_the_process_died_before_it_looked(self, trial: Trial) -> None:
        trial.run(steps=(Step("perform", "0", "test.staged", "file:doc.txt", {"text": "old"}),))
        instant = {"edit": ("doc.txt", "by hand"), "edit_at": At(1, "files.exchange.before")}
        leave(trial, _rewrite(), kill=At(1, "files.exchange.after"), **instant)
        assert (trial.space / "doc.txt").read_text() == "new"
        with opened(trial) as space:
            assert space.settle_all() == []
            found = newest(space)
            assert (found.state, found.code) == (State.FAILED, "revision_conflict")
        assert (trial.space / "doc.txt").read_text() == "by hand"


class TestProof:
    """A task is taken over only when its runner and all that it started are proven gone."""

    @pytest.mark.promise("kernel.fence.takeover-needs-proof")
    def test_a_descendant_in_a_session_of_its_own_keeps_the_task_until_it_is_gone(self, trial: Trial) -> None:
        left = leave(trial, STAGED, script={"k": ["leave"]})
        child, descendant = map(int, (trial.folder / "world/left.txt").read_text().split())
        with opened(trial) as space:
            assert space.settle_all() == [left.id]
            assert newest(space).state is State.RUNNING
            end(child)
            assert space.settle_all() == [left.id], "the descendant still lives"
            end(descendant)
            assert space.settle_all() == []
            assert newest(space).state is State.COMPLETED

    def test_a_runner_that_lives_keeps_its_task(self, trial: Trial) -> None:
        paused = trial.run(steps=(STAGED,), stop=At(1, "files.rename_new.after"))
        assert paused.stopped
        with opened(trial) as space:
            [left] = space.ledger.read(task.load_open)
            assert space.settle_all() == [left.id]
            with pytest.raises(CountermarkError, match="resource_busy"):
                space.perform(left.plan, grant=GRANT, revision="absent", key="another")
        assert trial.note(trial.victims.resume(paused.pid)).code == 0
        assert (trial.space / "doc.txt").read_text() == "new"

    def test_what_has_ended_is_not_taken_over(self, bench: Bench) -> None:
        done = bench.perform(key="k")
        before = done.receipt()
        with pytest.raises(CountermarkError, match="stale_epoch"):
            restart.take(bench.space, newest(bench.space))
        assert bench.space.receipts.render(done.task) == before

    def test_a_runner_of_another_host_is_never_proven_gone(self, bench: Bench) -> None:
        bench.adapter.script["k"] = ["nothing"]
        bench.adapter.breaks["reconcile"] = "refuse"
        with pytest.raises(CountermarkError, match="outcome_unknown"):
            bench.perform("test.direct", "world:a", key="k")
        left = newest(bench.space)
        name, _, *rest = left.runner.split("|")
        elsewhere = "|".join((f"{name}x", "another-host", *rest))
        bench.space.ledger.apply(lambda tx: tx.run("UPDATE tasks SET runner = ?", (elsewhere,)))
        assert not restart.can_take(bench.space, newest(bench.space))

    def test_looking_waits_until_what_was_started_is_gone(self, bench: Bench) -> None:
        """A child that outlives a lost reply would do the work after somebody looked and saw nothing."""
        gate = bench.folder / "gate"
        os.mkfifo(gate)
        submit = bench.adapter.submit
        program = "import sys; open(sys.argv[1]).read(); open(sys.argv[2], 'a').write('effect\\n')"
        effect = bench.folder / "effect"

        def lose(intent: Intent, context: Context) -> Outcome:
            if intent.attempt > 1:
                return submit(intent, context)
            context.launch([sys.executable, "-I", "-S", "-c", program, str(gate), str(effect)])
            return Outcome.unknown("The reply was lost.")

        bench.adapter.submit = lose  # type: ignore[method-assign]
        done = bench.perform("test.direct", "world:a", key="k")
        assert done.state is State.COMPLETED
        # Nobody reads the gate any more: the child was stopped before anybody looked.
        with pytest.raises(OSError, match="No such device"):
            os.open(gate, os.O_WRONLY | os.O_NONBLOCK)
        assert not effect.exists()

    def test_a_late_result_of_an_overtaken_attempt_changes_no_state(self, bench: Bench) -> None:
        submit = bench.adapter.submit

        def overtaken(intent: Intent, context: Context) -> Outcome:
            outcome = submit(intent, context)
            restart.take(bench.space, newest(bench.space))
            return outcome

        bench.adapter.submit = overtaken  # type: ignore[method-assign]
        with pytest.raises(CountermarkError, match="stale_epoch"):
            bench.perform(key="k")
        left = newest(bench.space)
        assert left.state is State.RUNNING
        assert not (bench.folder / "space/doc.txt").exists()
        states = bench.space.ledger.read(lambda tx: tx.all("SELECT state FROM artifacts WHERE task = ?", (left.id,)))
        assert states == [("orphan",)]
        assert "late" in bench.kinds(left.id)


def end(pid: int) -> None:
    """Kill a process that is no child of ours, and wait until the system has let it go."""
    watched = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    poll = select.poll()
    poll.register(watched, select.POLLIN)
    poll.poll(30_000)
    os.close(watched)


def _rewrite() -> Step:
    return Step("perform", "k", "test.staged", "file:doc.txt", {"text": "new"})


def _last_commit(trial: Trial, *steps: Step, **options: Any) -> At:
    """Return the point after the last commit that belongs to the steps, not to the sweep that follows them."""
    passed = trial.rehearse(steps=steps, **options)
    ends = [n for n, name in enumerate(passed) if name == "ledger.commit.after"]
    return At(len(ends) - 1, "ledger.commit.after")


def _publication_of(trial: Trial, side: str) -> At:
    passed = trial.rehearse(steps=(STAGED,))
    commits = [n for n, name in enumerate(passed) if name == "ledger.commit.after"]
    # admission, result, publish intent: the next move of a name is the publication
    number = sum(name == f"files.rename_new.{side}" for name in passed[: commits[2]])
    return At(number + 1, f"files.rename_new.{side}")
