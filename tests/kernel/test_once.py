"""The law of once, decision by decision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from countermark.kernel import backup, grant, once, perform, task
from countermark.kernel.adapter import Estimate, Outcome
from countermark.kernel.errors import CountermarkError
from countermark.kernel.plan import Plan
from countermark.kernel.recovery import EffectClass, Executed
from countermark.kernel.state import State

from .conftest import Bench

Failing = Callable[..., str]


def newest(bench: Bench) -> task.Task:
    return bench.space.ledger.read(lambda tx: task.load_recent(tx, 1))[0]


def spent(bench: Bench, name: str) -> dict[str, int]:
    return dict(bench.space.ledger.read(lambda tx: grant.load(tx, name)).spent)


class TestKeys:
    def test_a_derived_key_tells_a_value_set_back_from_a_repeat(self) -> None:
        first = once.derive_key("p", "i", {"file:a": ("absent", 0)})
        assert once.derive_key("p", "i", {"file:a": ("absent", 0)}) == first
        assert once.derive_key("p", "i", {"file:a": ("absent", 2)}) != first
        assert once.derive_key("p", "i", {"file:a": ("sha256:1", 0)}) != first
        assert once.derive_key("q", "i", {"file:a": ("absent", 0)}) != first
        assert once.derive_key("p", "j", {"file:a": ("absent", 0)}) != first

    def test_a_derived_key_does_not_depend_on_the_order_of_the_resources(self) -> None:
        one, other = ("absent", 0), ("sha256:1", 3)
        assert once.derive_key("p", "i", {"a": one, "b": other}) == once.derive_key("p", "i", {"b": other, "a": one})

    @pytest.mark.promise("kernel.once.same-key-same-result")
    def test_a_callers_own_key_never_runs_again_even_when_nothing_was_executed(
        self, bench: Bench, failing: Failing
    ) -> None:
        bench.adapter.script["k"] = ["fail", "done"]
        assert failing("test.direct", "world:a", key="k") == "child_failed"
        assert failing("test.direct", "world:a", key="k") == "child_failed"
        assert bench.world.lines("world:a") == []
        assert len(bench.space.ledger.read(lambda tx: task.load_recent(tx, 9))) == 1

    def test_a_derived_key_runs_again_as_a_new_task_that_names_the_old(self, bench: Bench, failing: Failing) -> None:
        assert failing(payload={"text": "a", "verdict": "failed"}) == "verification_failed"
        first = newest(bench)
        assert failing(payload={"text": "a", "verdict": "failed"}) == "verification_failed"
        assert (newest(bench).supersedes, newest(bench).key) == (first.id, first.key)

    def test_a_refusal_binds_no_key_and_leaves_one_event(self, bench: Bench, failing: Failing) -> None:
        before = bench.space.ledger.events()[-1].seq
        assert failing(key="k", revision="sha256:" + "0" * 64) == "revision_conflict"
        [event] = bench.space.ledger.events(since=before)
        assert (event.kind, event.task, event.body["code"]) == ("refused", "", "revision_conflict")
        assert bench.perform(key="k").state is State.COMPLETED

    def test_the_key_comes_before_a_grant_that_is_spent(self, bench: Bench) -> None:
        bench.grant("one", limits={"attempts": 1})
        first = bench.perform(key="k", grant="one")
        assert bench.perform(key="k", grant="one").task == first.task

    def test_the_key_comes_before_a_grant_that_is_revoked(self, bench: Bench) -> None:
        first = bench.perform(key="k")
        bench.space.ledger.apply(lambda tx: grant.revoke(tx, "test"))
        assert bench.perform(key="k").task == first.task


class TestUses:
    def test_an_attempt_reserves_itself_and_its_estimate(self) -> None:
        plan = Plan("scripted", "test.direct", "x", ("world:a",))
        estimate = Estimate(bytes=10, seconds=0, counters={"pages": 2})
        assert once.uses_of(estimate, plan) == {"attempts": 1, "bytes": 10, "pages": 2}

    def test_a_plan_whose_own_budget_is_smaller_is_refused(self) -> None:
        plan = replace(Plan("scripted", "test.direct", "x", ("world:a",)), budget={"bytes": 9})
        with pytest.raises(CountermarkError, match="its own budget is 9"):
            once.uses_of(Estimate(bytes=10), plan)

    def test_another_attempt_is_charged_on_what_others_have_spent_meanwhile(self, bench: Bench) -> None:
        """The grant as it was before the look must not be written back over what was spent since."""
        bench.adapter.script["k"] = ["nothing"]
        bench.adapt(EffectClass.NON_IDEMPOTENT)
        with pytest.raises(CountermarkError, match="outcome_unknown"):
            bench.perform("test.direct", "world:a", key="k")
        waiting = newest(bench)
        chain = bench.space.ledger.read(lambda tx: grant.load_chain(tx, "test"))
        bench.perform("test.direct", "world:b", key="meanwhile")
        bench.space.ledger.apply(lambda tx: tx.run("UPDATE tasks SET state = 'ready' WHERE id = ?", (waiting.id,)))
        perform.again(bench.space, perform.intent_of(bench.space, waiting), chain, {}, ready=True)
        assert spent(bench, "test") == {"attempts": 3}
        assert backup.examine(bench.space.path / ".countermark/ledger.sqlite") == []

    def test_a_grant_that_is_spent_meanwhile_gives_no_other_attempt(self, bench: Bench, failing: Failing) -> None:
        bench.grant("two", limits={"attempts": 2})
        bench.adapter.script["k"] = ["nothing", "nothing", "done"]
        assert failing("test.direct", "world:a", key="k", grant="two") == "task_failed"
        assert newest(bench).state is State.FAILED
        assert spent(bench, "two") == {"attempts": 2}


class TestDeadline:
    def test_nothing_starts_after_its_deadline(self, bench: Bench) -> None:
        plan = Plan("scripted", "test.direct", "x", ("world:a",), {})
        with pytest.raises(CountermarkError, match="deadline_exceeded"):
            bench.space.perform(plan, grant="test", revision="absent", key="k", deadline=1)
        assert bench.world.lines("world:a") == []
        assert bench.space.ledger.read(lambda tx: task.load_recent(tx, 1)) == []

    def test_a_later_deadline_is_the_same_plan(self, bench: Bench) -> None:
        plan = Plan("scripted", "test.direct", "x", ("world:a",), {})
        far = bench.space.clock.now_ms() + 10**9
        first = bench.space.perform(plan, grant="test", revision="absent", key="k", deadline=far)
        assert bench.space.perform(plan, grant="test", revision="absent", key="k", deadline=far + 1).task == first.task


class TestKinds:
    def test_a_read_takes_no_resource_and_changes_no_revision(self, bench: Bench) -> None:
        bench.perform("test.direct", "world:a", key="w")
        done = bench.perform("test.read", "world:a", key="r")
        assert done.state is State.COMPLETED
        assert bench.world.lines("world:a") == ["w"]
        assert bench.perform("test.direct", "world:a", key="w2").state is State.COMPLETED

    def test_a_known_error_says_that_it_did_not_happen_and_frees_the_resource(
        self, bench: Bench, failing: Failing
    ) -> None:
        bench.adapter.script["k"] = ["fail"]
        assert failing("test.direct", "world:a", key="k") == "child_failed"
        assert newest(bench).executed is Executed.NO
        assert bench.perform("test.direct", "world:a", key="other").state is State.COMPLETED

    @pytest.mark.parametrize("operation", ["reconcile", "verify"])
    def test_a_defect_in_an_adapter_is_an_ending_or_an_open_question_never_a_crash(
        self, bench: Bench, failing: Failing, operation: str
    ) -> None:
        bench.adapter.breaks[operation] = "raise"
        bench.adapter.script["k"] = ["lose"]
        code = failing("test.direct", "world:a", key="k")
        assert code == ("outcome_unknown" if operation == "reconcile" else "verification_unavailable")
        assert bench.world.lines("world:a") == ["k"]

    def test_an_outcome_survives_the_ledger(self) -> None:
        outcome = Outcome.unknown("?")
        assert perform.outcome_read(perform.outcome_wire(outcome)) == outcome
