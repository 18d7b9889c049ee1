"""The one call, end to end, with a scripted domain."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from typing import Any

import pytest

from countermark.kernel import fence, grant, once, receipt, restart, review, task
from countermark.kernel.canon import ABSENT
from countermark.kernel.errors import CountermarkError
from countermark.kernel.perform import Performed
from countermark.kernel.plan import Plan
from countermark.kernel.recovery import EffectClass, Executed
from countermark.kernel.state import State

from .conftest import Bench

Failing = Callable[..., str]


def stored(bench: Bench, task_id: str) -> task.Task:
    return bench.space.ledger.read(lambda tx: task.load(tx, task_id))


def only_task(bench: Bench) -> task.Task:
    return bench.space.ledger.read(lambda tx: task.load_recent(tx, 1))[0]


class TestOnce:
    @pytest.mark.promise("kernel.once.same-key-same-result")
    def test_the_same_key_and_inputs_give_the_first_result_and_no_second_effect(self, bench: Bench) -> None:
        first = bench.perform("test.direct", "world:a", key="k")
        again = bench.perform("test.direct", "world:a", key="k")
        assert (again.task, again.repeated, again.receipt()) == (first.task, True, first.receipt())
        assert bench.world.lines("world:a") == ["k"]

    @pytest.mark.promise("kernel.once.changed-inputs-conflict")
    def test_the_same_key_with_another_plan_is_a_conflict(self, bench: Bench, failing: Failing) -> None:
        bench.perform(key="k", payload={"text": "one"})
        assert failing(key="k", payload={"text": "two"}) == "key_conflict"
        assert bench.read("doc.txt") == "one"

    @pytest.mark.promise("kernel.once.key-before-fence")
    def test_a_retry_finds_its_result_although_the_revision_moved_on_by_it(self, bench: Bench) -> None:
        first = bench.perform(key="k", revision="absent")
        assert bench.perform(key="k", revision="absent").task == first.task

    @pytest.mark.promise("kernel.once.lost-reply-no-second-effect")
    @pytest.mark.parametrize("fault", ["lose", "ambiguous", "raise"])
    def test_a_lost_reply_is_settled_by_looking_and_the_effect_stays_single(self, bench: Bench, fault: str) -> None:
        bench.adapter.script["k"] = [fault]  # type: ignore[list-item]
        done = bench.perform("test.direct", "world:a", key="k")
        assert done.state is State.COMPLETED
        assert bench.world.lines("world:a") == ["k"]
        assert "unknown" in bench.kinds(done.task)
        assert "reconciled" in bench.kinds(done.task)

    def test_what_is_confirmed_not_executed_runs_again_under_a_new_epoch(self, bench: Bench) -> None:
        bench.adapter.script["k"] = ["nothing", "nothing", "done"]
        done = bench.perform("test.direct", "world:a", key="k")
        assert done.state is State.COMPLETED
        assert stored(bench, done.task).epoch == 3
        assert receipt.parse(done.receipt()).facts.uses == {"attempts": 3}

    def test_attempts_are_bounded(self, bench: Bench, failing: Failing) -> None:
        bench.adapter.script["k"] = ["nothing"] * 9
        assert failing("test.direct", "world:a", key="k") == "task_failed"
        assert bench.world.lines("world:a") == []
        assert bench.perform("test.direct", "world:a", key="k2").state is State.COMPLETED

    @pytest.mark.parametrize("kind", [EffectClass.NON_IDEMPOTENT, EffectClass.DESTRUCTIVE])
    def test_a_non_idempotent_effect_waits_for_a_person_even_when_it_did_not_happen(
        self, bench: Bench, failing: Failing, kind: EffectClass
    ) -> None:
        bench.adapter.script["k"] = ["nothing"]
        bench.adapt(kind)
        assert failing("test.direct", "world:a", key="k") == "outcome_unknown"
        held = only_task(bench)
        assert held.state is State.BLOCKED
        assert failing("test.direct", "world:a", key="other") == "resource_busy"
        done = review.settle_by_person(bench.space, held.id, Executed.NO, "looked at it")
        assert done.state is State.COMPLETED
        assert bench.world.lines("world:a") == ["k"]

    def test_an_unknown_outcome_keeps_the_resource_until_it_is_settled(self, bench: Bench, failing: Failing) -> None:
        bench.adapter.script["k"] = ["lose"]
        look = bench.adapter.reconcile

        def cannot_look(*_: object) -> None:
            raise CountermarkError("io_failed", "The world is out of reach.", next_action="Wait.")

        bench.adapter.reconcile = cannot_look  # type: ignore[assignment, method-assign]
        assert failing("test.direct", "world:a", key="k") == "outcome_unknown"
        assert only_task(bench).state is State.RECONCILING
        assert failing("test.direct", "world:a", key="other", revision="absent") == "resource_busy"
        bench.adapter.reconcile = look  # type: ignore[method-assign]
        assert bench.perform("test.direct", "world:a", key="k").state is State.COMPLETED
        assert bench.world.lines("world:a") == ["k"]

    def test_a_derived_key_repeats_what_stands_and_runs_again_after_a_change(self, bench: Bench) -> None:
        first = bench.perform(payload={"text": "a"})
        assert bench.perform(payload={"text": "a"}).task == first.task
        second = bench.perform(payload={"text": "b"})
        third = bench.perform(payload={"text": "a"})
        assert len({first.task, second.task, third.task}) == 3
        assert bench.read("doc.txt") == "a"

    def test_a_derived_key_may_run_again_after_an_ending_that_executed_nothing(
        self, bench: Bench, failing: Failing
    ) -> None:
        assert failing(payload={"text": "a", "verdict": "failed"}) == "verification_failed"
        assert failing(payload={"text": "a", "verdict": "failed"}) == "verification_failed"

    def test_a_missing_output_whose_content_is_lost_is_named_with_a_way_out(self, bench: Bench) -> None:
        bench.perform(key="1")
        path = bench.space.path / "doc.txt"
        path.unlink()
        for blob in (bench.space.path / ".countermark/store").glob("??/*"):
            blob.unlink()
        with pytest.raises(CountermarkError, match=r"not_found: doc\.txt, made by task .* another key"):
            bench.perform(key="1", revision="absent")
        assert bench.perform(key="2", revision="absent").state is State.COMPLETED
        assert path.read_text() == "hello"

    def test_a_missing_output_comes_back_from_the_store(self, bench: Bench) -> None:
        first = bench.perform(resource="file:kit", payload={"text": "x", "folder": True})
        (bench.folder / "space/kit/sub/b.txt").unlink()
        again = bench.perform(
            resource="file:kit", payload={"text": "x", "folder": True}, key=stored(bench, first.task).key
        )
        assert again.restored == ("kit/sub/b.txt",)
        assert bench.read("kit/sub/b.txt") == "x"

    @pytest.mark.promise("kernel.grant.refusal-has-no-effect")
    def test_a_refusal_binds_no_key_makes_no_task_and_leaves_one_event(self, bench: Bench, failing: Failing) -> None:
        before = len(bench.space.ledger.events())
        assert failing(key="k", revision="sha256:" + "0" * 64) == "revision_conflict"
        events = bench.space.ledger.events()
        assert [event.kind for event in events[before:]] == ["refused"]
        assert bench.space.ledger.read(lambda tx: task.load_recent(tx, 9)) == []
        assert bench.perform(key="k").state is State.COMPLETED


class TestFence:
    @pytest.mark.promise("kernel.fence.stale-writer-refused")
    def test_a_writer_that_saw_an_older_revision_is_refused_and_the_persons_edit_stands(
        self, bench: Bench, failing: Failing
    ) -> None:
        bench.perform(payload={"text": "one"})
        old = bench.seen("file:doc.txt")
        bench.write("doc.txt", "by hand")
        assert failing(payload={"text": "two"}, revision=old) == "revision_conflict"
        assert bench.read("doc.txt") == "by hand"

    @pytest.mark.promise("kernel.fence.last-instant-edit-survives")
    def test_an_edit_made_between_the_checks_and_the_exchange_survives(self, bench: Bench, failing: Failing) -> None:
        bench.perform(payload={"text": "one"})
        verify = bench.adapter.verify

        def edit_then_verify(*args: object) -> object:
            bench.write("doc.txt", "in the last instant")
            return verify(*args)  # type: ignore[arg-type]

        bench.adapter.verify = edit_then_verify  # type: ignore[assignment, method-assign]
        assert failing(payload={"text": "two"}) == "revision_conflict"
        assert bench.read("doc.txt") == "in the last instant"
        assert only_task(bench).executed is Executed.NO

    def test_an_edit_that_slips_in_before_the_exchange_itself_comes_back(
        self, bench: Bench, failing: Failing, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The exchange happens and brings out what nobody expected: it is exchanged back."""
        bench.perform(payload={"text": "one"})
        files = bench.space.files
        exchange = type(files).exchange
        edited: list[bool] = []

        def edit_then_exchange(self: object, one: str, other: str) -> None:
            if not edited:
                edited.append(True)
                bench.write("doc.txt", "slipped in")
            exchange(self, one, other)  # type: ignore[arg-type]

        monkeypatch.setattr(type(files), "exchange", edit_then_exchange)
        assert failing(payload={"text": "two"}) == "revision_conflict"
        assert bench.read("doc.txt") == "slipped in"

    def test_a_file_that_appears_where_none_was_expected_stands(self, bench: Bench, failing: Failing) -> None:
        bench.write("doc.txt", "mine")
        assert failing(revision="absent") == "revision_conflict"
        assert bench.read("doc.txt") == "mine"

    def test_a_persons_file_inside_a_published_folder_is_an_edit(self, bench: Bench, failing: Failing) -> None:
        bench.perform(resource="file:kit", payload={"text": "x", "folder": True})
        old = bench.seen("file:kit")
        bench.write("kit/mine.txt", "note to self")
        assert failing(resource="file:kit", payload={"text": "y", "folder": True}, revision=old) == "revision_conflict"
        assert bench.read("kit/mine.txt") == "note to self"

    def test_our_own_receipt_is_no_edit_but_a_changed_one_is(self, bench: Bench, failing: Failing) -> None:
        bench.perform(resource="file:kit", payload={"text": "x", "folder": True})
        old = bench.seen("file:kit")
        with (bench.folder / "space/kit/receipt.json").open("a") as file:
            file.write(" ")
        assert failing(resource="file:kit", payload={"text": "y", "folder": True}, revision=old) == "revision_conflict"

    @pytest.mark.promise("kernel.fence.stale-epoch-cannot-publish")
    def test_a_stale_epoch_cannot_publish(self, bench: Bench, failing: Failing) -> None:
        """While the first writer is still in its checks, another takes its task over and its epoch is gone."""
        bench.perform(payload={"text": "one"})
        verify = bench.adapter.verify

        def overtaken(intent: object, *rest: object) -> object:
            restart.take(bench.space, stored(bench, intent.task))  # type: ignore[attr-defined]
            return verify(intent, *rest)  # type: ignore[arg-type]

        bench.adapter.verify = overtaken  # type: ignore[assignment, method-assign]
        assert failing(payload={"text": "two"}) in ("stale_epoch", "not_found", "outcome_unknown")
        assert bench.read("doc.txt") == "one"

    def test_two_writers_of_one_resource_never_both_win(self, bench: Bench) -> None:
        results: list[Performed | CountermarkError] = []

        def write(text: str) -> None:
            try:
                results.append(bench.perform(payload={"text": text}, revision="absent"))
            except CountermarkError as error:
                results.append(error)

        threads = [threading.Thread(target=write, args=(str(n),)) for n in range(6)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        codes = [r.code for r in results if isinstance(r, CountermarkError)]
        assert len(codes) == 5
        assert set(codes) <= {"resource_busy", "revision_conflict"}

    def test_a_plan_over_two_files_publishes_both_or_neither(self, bench: Bench) -> None:
        pair = ("file:a.txt", "file:b.txt")
        wanted = Plan("scripted", "test.staged", "pair", pair, {"text": "new"})
        bench.space.perform(wanted, grant="test", revision=dict.fromkeys(pair, "absent"), key="1")
        seen = {name: bench.seen(name) for name in pair}
        verify = bench.adapter.verify

        def edit_b(*args: object) -> object:
            bench.write("b.txt", "by hand")
            return verify(*args)  # type: ignore[arg-type]

        bench.adapter.verify = edit_b  # type: ignore[assignment, method-assign]
        newer = Plan("scripted", "test.staged", "pair", pair, {"text": "newer"})
        with pytest.raises(CountermarkError, match="revision_conflict"):
            bench.space.perform(newer, grant="test", revision=seen, key="2")
        assert (bench.read("a.txt"), bench.read("b.txt")) == ("new", "by hand")


class TestGrant:
    @pytest.mark.promise("kernel.grant.children-share-one-budget")
    def test_no_number_of_children_multiplies_a_budget(self, bench: Bench) -> None:
        bench.grant("parent", limits={"attempts": 3})
        for n in range(4):
            bench.grant(f"child-{n}", "parent", limits={"attempts": 2})
        done, refused = 0, []
        for n in range(8):
            try:
                bench.perform("test.direct", f"world:{n}", key=str(n), grant=f"child-{n % 4}")
                done += 1
            except CountermarkError as error:
                refused.append(error.code)
        assert done == 3
        assert set(refused) == {"budget_exhausted"}

    def test_a_child_grant_cannot_be_wider_than_its_parent(self, bench: Bench, failing: Failing) -> None:
        bench.grant("narrow", resources=("file:a",))
        child = bench.grant("child", "narrow", resources=("",), effects=("",))
        assert child.terms.resources == ("file:a",)
        assert failing(resource="file:b.txt", grant="child") == "permission_denied"

    def test_another_grants_key_gives_nothing_away(self, bench: Bench, failing: Failing) -> None:
        bench.grant("one")
        bench.grant("two")
        bench.perform(key="secret", grant="one")
        assert failing(key="secret", grant="two") == "permission_denied"

    def test_a_parent_sees_its_childs_result(self, bench: Bench) -> None:
        bench.grant("parent")
        bench.grant("child", "parent")
        first = bench.perform(key="k", grant="child")
        assert bench.perform(key="k", grant="parent").task == first.task

    def test_the_plans_own_budget_is_kept_too(self, bench: Bench, failing: Failing) -> None:
        assert failing(budget={"attempts": 0}) == "budget_exhausted"


class TestProof:
    @pytest.mark.promise("kernel.proof.unavailable-is-not-passed")
    @pytest.mark.parametrize(
        ("status", "code"),
        [
            ("failed", "verification_failed"),
            ("unavailable", "verification_unavailable"),
            ("skipped", "verification_unavailable"),
        ],
    )
    def test_only_passed_counts_as_passed(self, bench: Bench, failing: Failing, status: str, code: str) -> None:
        assert failing(payload={"text": "x", "verdict": status}) == code
        assert not (bench.folder / "space/doc.txt").exists()
        assert only_task(bench).state is State.FAILED

    @pytest.mark.promise("kernel.proof.maker-is-not-observer")
    def test_a_maker_cannot_pass_its_own_work(self, bench: Bench, failing: Failing) -> None:
        assert failing(payload={"text": "x", "observer": "maker"}) == "verification_failed"
        assert not (bench.folder / "space/doc.txt").exists()

    def test_bytes_that_are_not_what_was_declared_are_not_published(self, bench: Bench, failing: Failing) -> None:
        bench.adapter.script["k"] = ["lie"]
        assert failing(key="k") == "artifact_invalid"
        assert not (bench.folder / "space/doc.txt").exists()

    def test_a_failed_effect_has_a_receipt_that_says_so(self, bench: Bench, failing: Failing) -> None:
        bench.adapter.script["k"] = ["fail"]
        assert failing(key="k") == "child_failed"
        facts = receipt.parse(bench.space.receipts.render(only_task(bench).id)).facts
        assert (facts.state, facts.code, facts.executed) == (State.FAILED, "child_failed", Executed.NO)

    def test_a_receipt_is_made_again_byte_for_byte(self, bench: Bench) -> None:
        done = bench.perform()
        assert done.receipt() == bench.space.receipts.render(done.task)

    def test_every_ending_leaves_complete_evidence(self, bench: Bench, failing: Failing) -> None:
        bench.perform(key="good")
        failing(payload={"text": "x", "verdict": "failed"}, key="bad")
        bench.space.close()
        runs = sorted((bench.folder / "space/.countermark/runs").iterdir())
        assert len(runs) == 2
        for run in runs:
            assert {f.name for f in run.iterdir()} == {"trace.jsonl", "manifest.json", "summary.json", "receipt.json"}
        bench.space = type(bench.space)(bench.folder / "space", adapters=[bench.adapter])
        kept = {path: path.read_bytes() for run in runs for path in run.iterdir()}
        shutil.rmtree(runs[0])
        bench.space.ledger.apply(lambda tx: tx.run("UPDATE tasks SET swept = 0"))
        bench.space.close()
        assert {path: path.read_bytes() for run in runs for path in run.iterdir()} == kept
        bench.space = type(bench.space)(bench.folder / "space", adapters=[bench.adapter])


class TestReview:
    @pytest.mark.promise("kernel.proof.acceptance-binds-evidence")
    def test_a_waiting_result_is_published_only_by_accepting_its_evidence(self, bench: Bench) -> None:
        bench.grant("careful", acceptance="person")
        waits = bench.perform(grant="careful")
        assert waits.state is State.REVIEW_READY
        assert not (bench.folder / "space/doc.txt").exists()
        with pytest.raises(CountermarkError, match="stale_evidence"):
            review.accept(bench.space, waits.task, "0" * 64)
        evidence = review.waiting(bench.space, waits.task).evidence
        done = review.accept(bench.space, waits.task, evidence)
        assert done.state is State.COMPLETED
        assert bench.read("doc.txt") == "hello"
        acceptance = receipt.parse(done.receipt()).facts.acceptance
        assert acceptance is not None
        assert (acceptance.how, acceptance.by, acceptance.authenticated) == ("person", review.UNPROVEN, False)

    def test_a_waiting_task_holds_no_lease_and_is_stale_once_its_target_moved(self, bench: Bench) -> None:
        bench.grant("careful", acceptance="person")
        waits = bench.perform(grant="careful")
        bench.perform(payload={"text": "another"}, key="other")
        evidence = review.waiting(bench.space, waits.task).evidence
        with pytest.raises(CountermarkError, match="stale_evidence"):
            review.accept(bench.space, waits.task, evidence)
        assert stored(bench, waits.task).state is State.FAILED
        assert bench.read("doc.txt") == "another"

    def test_an_irreversible_effect_is_never_accepted_by_checks_alone(self, bench: Bench) -> None:
        bench.adapt(EffectClass.IDEMPOTENT_WRITE, reversible=False)
        assert bench.perform().state is State.REVIEW_READY

    def test_a_rejected_result_stays_in_the_store(self, bench: Bench) -> None:
        bench.grant("careful", acceptance="person")
        waits = bench.perform(grant="careful")
        review.reject(bench.space, waits.task, "not the blue I meant")
        assert stored(bench, waits.task).state is State.FAILED
        assert fence.short("sha256:" + "a" * 64) == "a" * 12

    def test_a_revision_ends_the_waiting_task_as_superseded(self, bench: Bench) -> None:
        bench.grant("careful", acceptance="person")
        waits = bench.perform(grant="careful", payload={"text": "one"})
        plan = Plan("scripted", "test.staged", "w", ("file:doc.txt",), {"text": "two"})
        newer = bench.space.perform(plan, grant="careful", revision="absent", key="2", supersedes=waits.task)
        old = stored(bench, waits.task)
        assert (old.state, old.code) == (State.FAILED, "superseded")
        assert receipt.parse(bench.space.receipts.render(old.id)).facts.code == "superseded"
        evidence = review.waiting(bench.space, newer.task).evidence
        done = review.accept(bench.space, newer.task, evidence)
        assert receipt.parse(done.receipt()).facts.supersedes == waits.task
        assert bench.read("doc.txt") == "two"

    def test_only_a_waiting_task_can_be_revised(self, bench: Bench) -> None:
        done = bench.perform(payload={"text": "one"})
        plan = Plan("scripted", "test.staged", "w", ("file:doc.txt",), {"text": "two"})
        with pytest.raises(CountermarkError, match="illegal_state"):
            bench.space.perform(plan, grant="test", revision=bench.seen("file:doc.txt"), key="2", supersedes=done.task)
        assert bench.read("doc.txt") == "one"


class TestDeadline:
    def test_nothing_starts_after_its_deadline(self, bench: Bench) -> None:
        plan = Plan("scripted", "test.staged", "w", ("file:doc.txt",), {"text": "x"})
        with pytest.raises(CountermarkError, match="deadline_exceeded"):
            bench.space.perform(plan, grant="test", revision="absent", key="k", deadline=1)
        assert not (bench.folder / "space/doc.txt").exists()


def test_a_task_is_worked_on_from_the_moment_its_intent_is_durable(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply, taken = bench.space.ledger.apply, []

    def watched(transition: Any) -> Any:
        decision = apply(transition)
        if isinstance(decision, once.Admitted):
            [row] = bench.space.ledger.read(lambda tx: tx.all("SELECT id FROM tasks"))
            taken.append(bench.space.settle(row[0]))
        return decision

    monkeypatch.setattr(bench.space.ledger, "apply", watched)
    done = bench.perform("test.direct", "world:a", key="k")
    assert (taken, done.state) == ([False], State.COMPLETED)


def test_an_error_that_says_nobody_knows_is_looked_at_and_not_taken_for_a_no(bench: Bench) -> None:
    submit = bench.adapter.submit

    def unsure(intent: Any, context: Any) -> Any:
        submit(intent, context)
        raise CountermarkError("commit_unknown", "The disk failed.", next_action="Look.")

    bench.adapter.submit = unsure  # type: ignore[method-assign]
    done = bench.perform("test.direct", "world:a", key="k")
    assert (done.state, done.executed) == (State.COMPLETED, Executed.YES)


class TestBringingBack:
    """A repeat whose output is gone writes: it asks the grant, and waits for whoever holds the place."""

    def test_a_revoked_grant_brings_nothing_back_but_an_output_that_stands_is_answered(
        self, bench: Bench, failing: Failing
    ) -> None:
        done = bench.perform(key="k")
        bench.space.ledger.apply(lambda tx: grant.revoke(tx, "test"))
        assert bench.perform(key="k", revision=ABSENT).task == done.task
        (bench.folder / "space/doc.txt").unlink()
        assert failing(key="k") == "grant_revoked"
        assert not (bench.folder / "space/doc.txt").exists()

    def test_a_place_that_another_task_holds_is_left_alone(self, bench: Bench, failing: Failing) -> None:
        bench.perform(key="k")
        bench.space.ledger.apply(lambda tx: tx.run("UPDATE resources SET holder = 'another'"))
        (bench.folder / "space/doc.txt").unlink()
        assert failing(key="k") == "resource_busy"
        assert not (bench.folder / "space/doc.txt").exists()


class TestAnotherAttempt:
    """Trying again costs what trying cost, within the plan's own budget."""

    def test_each_attempt_is_charged_its_bytes(self, bench: Bench) -> None:
        bench.grant("limited", limits={"bytes": 9})
        bench.adapter.script["k"] = ["nothing", "done"]
        bench.perform(grant="limited", key="k", payload={"text": "four"})
        assert bench.space.ledger.read(lambda tx: grant.load(tx, "limited")).spent == {"attempts": 2, "bytes": 8}

    def test_an_attempt_that_the_grant_has_no_bytes_for_is_not_begun(self, bench: Bench, failing: Failing) -> None:
        bench.grant("limited", limits={"bytes": 7})
        bench.adapter.script["k"] = ["nothing", "done"]
        assert failing(grant="limited", key="k", payload={"text": "four"}) == "budget_exhausted"
        assert not (bench.folder / "space/doc.txt").exists()

    @pytest.mark.parametrize("budget", [{"attempts": 1}, {"bytes": 7}])
    def test_the_plans_own_budget_holds_for_all_attempts_together(
        self, bench: Bench, failing: Failing, budget: dict[str, int]
    ) -> None:
        bench.adapter.script["k"] = ["nothing", "done"]
        assert failing(key="k", payload={"text": "four"}, budget=budget) == "budget_exhausted"
        assert [word for word, _ in bench.adapter.calls].count("submit") == 1


def test_what_was_observed_before_another_wrote_is_looked_at_again(
    bench: Bench, failing: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second call looks, is held up while the first writes, and then asks with what it saw."""
    bench.perform("test.direct", "world:a", key="0")
    seen = bench.seen("world:a")
    look = bench.adapter.observe

    def held_up(resource: str) -> str | None:
        monkeypatch.setattr(bench.adapter, "observe", look)
        token = look(resource)
        bench.perform("test.direct", "world:a", key="first", revision=seen)
        return token

    monkeypatch.setattr(bench.adapter, "observe", held_up)
    assert failing("test.direct", "world:a", key="second", revision=seen) == "revision_conflict"
    assert bench.world.lines("world:a") == ["0", "first"]
    known = bench.space.ledger.read(lambda tx: fence.load(tx, "world:a"))
    assert known is not None
    assert known.revision == bench.seen("world:a")


def test_an_edit_from_outside_is_taken_for_what_it_is(bench: Bench) -> None:
    bench.perform("test.direct", "world:a", key="0")
    bench.world.change("world:a", "outside")
    assert bench.perform("test.direct", "world:a", key="1").state is State.COMPLETED


def test_the_error_of_an_ending_is_the_endings_own_whatever_came_behind_it(bench: Bench, failing: Failing) -> None:
    bench.adapter.script["k"] = ["fail"]
    assert failing("test.direct", "world:a", key="k") == "child_failed"
    [ended] = bench.space.ledger.read(lambda tx: task.load_recent(tx, 1))
    bench.space.ledger.apply(lambda tx: tx.event(ended.id, "late", {"files": []}))
    with pytest.raises(CountermarkError) as caught:
        bench.perform("test.direct", "world:a", key="k")
    assert caught.value.sentence == "The scripted effect refused."
