"""Publishing: staged bytes become the user's files in one moment, or everything is as it was."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Any

import pytest

from countermark.kernel import projection, publish, receipt, review, task
from countermark.kernel.errors import CountermarkError
from countermark.kernel.perform import Performed
from countermark.kernel.plan import Plan
from countermark.kernel.recovery import Executed
from countermark.kernel.state import State
from countermark.testkit.crash import At, Step, Trial
from tests.crash.conftest import make_fast_folder, make_template, make_trial, make_victims, make_witness  # noqa: F401

from .conftest import Bench
from .test_restart import leave, newest, opened

Failing = Callable[..., str]
PAIR = ("file:a.txt", "file:b.txt")
KIT = {"text": "x", "folder": True}


def write_pair(bench: Bench, text: str, key: str, revision: dict[str, str] | None = None) -> Performed:
    plan = Plan("scripted", "test.staged", "pair", PAIR, {"text": text})
    seen = revision or {name: bench.seen(name) for name in PAIR}
    return bench.space.perform(plan, grant="test", revision=seen, key=key)


class TestSeveralTargets:
    def test_a_conflict_on_the_last_puts_back_the_first(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        write_pair(bench, "old", "1")
        exchange, calls = type(bench.space.files).exchange, []

        def edit_second(self: Any, one: str, other: str) -> None:
            calls.append(other)
            if calls == ["a.txt", "b.txt"]:
                bench.write("b.txt", "by hand")
            exchange(self, one, other)

        monkeypatch.setattr(type(bench.space.files), "exchange", edit_second)
        with pytest.raises(CountermarkError, match="revision_conflict"):
            write_pair(bench, "new", "2")
        assert (bench.read("a.txt"), bench.read("b.txt")) == ("old", "by hand")

    def test_new_files_are_taken_away_again_when_a_later_one_is_in_the_way(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        move = type(bench.space.files).move_new

        def appear(self: Any, name: str, new_name: str) -> None:
            if new_name == "b.txt":
                bench.write("b.txt", "by hand")
            move(self, name, new_name)

        monkeypatch.setattr(type(bench.space.files), "move_new", appear)
        with pytest.raises(CountermarkError, match="revision_conflict"):
            write_pair(bench, "new", "1")
        assert bench.read("b.txt") == "by hand"
        assert not (bench.space.path / "a.txt").exists()


class TestAfterAKill:
    """The process dies around the moment itself."""

    OLD = Step("perform", "old", "test.staged", "file:kit", {"text": "old", "folder": True})
    NEW = Step("perform", "new", "test.staged", "file:kit", {"text": "new", "folder": True})

    @pytest.mark.parametrize("side", ["before", "after"])
    def test_a_folder_is_swapped_whole_and_finished(self, trial: Trial, side: str) -> None:
        trial.run(steps=(self.OLD,))
        leave(trial, self.NEW, kill=At(1, f"files.exchange.{side}"))
        kit = trial.space / "kit"
        assert {(kit / name).read_text() for name in ("a.txt", "sub/b.txt")} in ({"old"}, {"new"}), "never a mixture"
        with opened(trial) as space:
            assert space.settle_all() == []
            assert newest(space).state is State.COMPLETED
        assert {(kit / name).read_text() for name in ("a.txt", "sub/b.txt")} == {"new"}

    def test_an_edit_made_while_nobody_ran_stands(self, trial: Trial) -> None:
        trial.run(steps=(self.OLD,))
        leave(trial, self.NEW, kill=At(1, "files.exchange.before"))
        (trial.space / "kit/a.txt").write_text("by hand")
        with opened(trial) as space:
            assert space.settle_all() == []
            found = newest(space)
            assert (found.state, found.code, found.executed) == (State.FAILED, "revision_conflict", Executed.NO)
            for digest in publish_digests(space, found.id):
                assert space.store.has(digest), "what was made is kept"
        assert (trial.space / "kit/a.txt").read_text() == "by hand"


def publish_digests(space: Any, task_id: str) -> list[str]:
    rows = space.ledger.read(lambda tx: tx.all("SELECT digest FROM artifacts WHERE task = ?", (task_id,)))
    assert rows
    return [row[0] for row in rows]


class TestLooking:
    @pytest.mark.parametrize("added", [" ", " " * 4096])
    def test_a_changed_receipt_in_a_folder_is_an_edit_whatever_its_size(
        self, bench: Bench, failing: Failing, added: str
    ) -> None:
        bench.perform(resource="file:kit", payload=KIT)
        old = bench.seen("file:kit")
        with (bench.space.path / "kit/receipt.json").open("a") as file:
            file.write(added)
        assert failing(resource="file:kit", payload={**KIT, "text": "y"}, revision=old) == "revision_conflict"

    def test_bytes_that_change_in_the_stage_after_they_were_checked_are_not_published(
        self, bench: Bench, failing: Failing, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        intend = publish.intend

        def and_tamper(tx: Any, intent: Any, wanted: Any) -> None:
            intend(tx, intent, wanted)
            (bench.space.path / publish.staged(intent, "file:doc.txt")).write_text("slipped in")

        monkeypatch.setattr(publish, "intend", and_tamper)
        assert failing() == "artifact_invalid"
        assert not (bench.space.path / "doc.txt").exists()

    @pytest.mark.parametrize("kind", ["fifo", "link", "dangling"])
    def test_what_is_no_file_and_no_folder_is_refused_by_name(self, bench: Bench, failing: Failing, kind: str) -> None:
        place = bench.space.path / "doc.txt"
        if kind == "fifo":
            os.mkfifo(place)
        else:
            bench.write("real.txt", "real")
            place.symlink_to("real.txt" if kind == "link" else "nowhere")
        assert failing(revision="absent") in ("not_a_regular_file", "path_escape", "revision_conflict")
        assert stat.S_ISFIFO(place.lstat().st_mode) if kind == "fifo" else place.is_symlink()

    def test_a_file_may_become_a_folder(self, bench: Bench) -> None:
        bench.perform(resource="file:kit")
        done = bench.perform(resource="file:kit", payload=KIT)
        assert done.state is State.COMPLETED
        assert bench.read("kit/sub/b.txt") == "x"

    @pytest.mark.parametrize(
        "resource",
        [
            "file:../out.txt",
            "file:/etc/x",
            "file:",
            "file:.countermark/ledger.sqlite",
            "file:.Countermark/keys/current",
            "file:countermark.toml",
        ],
    )
    def test_nothing_is_published_outside_or_over_the_workspaces_own(
        self, bench: Bench, failing: Failing, resource: str
    ) -> None:
        before = (bench.space.path / "countermark.toml").read_bytes()
        assert failing(resource=resource, revision="absent") in ("path_escape", "input_invalid", "permission_denied")
        assert not (bench.folder / "out.txt").exists()
        assert (bench.space.path / "countermark.toml").read_bytes() == before


class TestAfterwards:
    def test_what_an_exchange_brought_out_is_in_the_store(self, bench: Bench) -> None:
        bench.write("doc.txt", "the person's own")
        bench.perform(payload={"text": "new"}, revision=bench.seen("file:doc.txt"))
        texts = {bench.space.store.get(digest, cap=1 << 20) for digest in bench.space.store.digests()}
        assert b"the person's own" in texts

    def test_no_stage_is_left_not_even_of_attempts_that_did_not_happen(self, bench: Bench) -> None:
        bench.adapter.script["k"] = ["partial", "nothing", "done"]
        bench.perform(key="k")
        assert list((bench.space.path / ".countermark/stage").iterdir()) == []

    def test_tidying_up_that_fails_leaves_the_effect_completed_and_the_sweep_repeats_it(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: object) -> None:
            raise CountermarkError("disk_full", "Full.", next_action="Free some space.")

        with monkeypatch.context() as patched:
            patched.setattr(publish, "clear_stage", broken)
            done = bench.perform(resource="file:kit", payload=KIT)
        assert done.state is State.COMPLETED
        projection.sweep(bench.space)
        assert list((bench.space.path / ".countermark/stage").iterdir()) == []
        assert (bench.space.path / "kit/receipt.json").read_bytes() == done.receipt()

    def test_a_replaced_output_is_no_longer_restored(self, bench: Bench) -> None:
        bench.perform(key="1", payload={"text": "one"})
        bench.perform(key="2", payload={"text": "two"})
        assert bench.perform(key="1", payload={"text": "one"}).restored == ()
        assert bench.read("doc.txt") == "two"

    def test_a_changed_output_is_left_and_named(self, bench: Bench, failing: Failing) -> None:
        bench.perform(key="1", payload={"text": "one"})
        bench.write("doc.txt", "by hand")
        assert failing(key="1", payload={"text": "one"}) == "revision_conflict"
        assert bench.read("doc.txt") == "by hand"


class TestLastInstant:
    def test_what_came_out_and_cannot_be_looked_at_gets_its_place_back(
        self, bench: Bench, failing: Failing, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bench.perform(resource="file:kit", key="1", payload=KIT)
        kit = bench.space.path / "kit"
        before = sorted(path.name for path in kit.iterdir())
        files = type(bench.space.files)
        exchange = files.exchange

        def edited(self: Any, one: str, other: str) -> None:
            if not (kit / "link").is_symlink():
                (kit / "link").symlink_to("nowhere")
            exchange(self, one, other)

        monkeypatch.setattr(files, "exchange", edited)
        assert failing(resource="file:kit", key="2", payload={**KIT, "text": "two"}) == "not_a_regular_file"
        assert sorted(path.name for path in kit.iterdir()) == sorted([*before, "link"])


class TestAcceptance:
    def test_a_result_that_is_being_published_is_no_longer_anybodys_to_decide(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bench.grant("careful", acceptance="person")
        waits = bench.perform(grant="careful")
        evidence = review.waiting(bench.space, waits.task).evidence
        publishing, codes = publish.publish, []
        plan = Plan("scripted", "test.staged", "test.staged", ("file:doc.txt",), {"text": "revised"})
        decisions: list[Callable[[], object]] = [
            lambda: review.reject(bench.space, waits.task, "not so"),
            lambda: review.accept(bench.space, waits.task, evidence),
            lambda: bench.space.perform(plan, grant="careful", revision="absent", key="new", supersedes=waits.task),
        ]

        def meanwhile(*arguments: Any) -> None:
            for decide in decisions:
                with pytest.raises(CountermarkError) as caught:
                    decide()
                codes.append(caught.value.code)
            publishing(*arguments)

        monkeypatch.setattr(publish, "publish", meanwhile)
        done = review.accept(bench.space, waits.task, evidence)
        assert (codes, done.state) == (["illegal_state"] * 3, State.COMPLETED)
        assert bench.read("doc.txt") == "hello"

    def test_a_stage_that_changed_while_it_waited_is_stale_evidence(self, bench: Bench) -> None:
        bench.grant("careful", acceptance="person")
        waits = bench.perform(grant="careful")
        found = newest(bench.space)
        stage = bench.space.path / publish.stage_of(waits.task, found.epoch)
        (stage / "doc.txt").write_text("not what was reviewed")
        evidence = review.waiting(bench.space, waits.task).evidence
        with pytest.raises(CountermarkError, match="stale_evidence"):
            review.accept(bench.space, waits.task, evidence)
        assert newest(bench.space).state is State.FAILED
        assert not (bench.space.path / "doc.txt").exists()
        assert bench.perform(key="next").state is State.COMPLETED, "the resource is free again"

    @pytest.mark.parametrize("decision", ["accept", "reject"])
    def test_a_direct_effect_that_waited_says_what_it_left_whatever_is_decided(
        self, bench: Bench, decision: str
    ) -> None:
        bench.grant("careful", acceptance="person")
        waits = bench.perform("test.direct", "world:a", key="k", grant="careful")
        if decision == "accept":
            review.accept(bench.space, waits.task, review.waiting(bench.space, waits.task).evidence)
        else:
            review.reject(bench.space, waits.task, "not so")
        facts = receipt.parse(bench.space.receipts.render(waits.task)).facts
        [resource] = facts.resources
        assert (facts.executed, resource.revision_after) == (Executed.YES, bench.world.revision("world:a"))

    def test_two_acceptances_publish_once(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        bench.grant("careful", acceptance="person")
        waits = bench.perform(grant="careful")
        evidence = review.waiting(bench.space, waits.task).evidence
        observe = publish.observe

        def accepted_meanwhile(*_: object) -> str:
            monkeypatch.setattr(publish, "observe", observe)
            review.accept(bench.space, waits.task, evidence)
            return "absent"

        monkeypatch.setattr(publish, "observe", accepted_meanwhile)
        with pytest.raises(CountermarkError, match=r"stale_epoch|revision_conflict"):
            review.accept(bench.space, waits.task, evidence)
        found = bench.space.ledger.read(lambda tx: task.load(tx, waits.task))
        assert found.state is State.COMPLETED
        assert bench.kinds(waits.task).count("completed") == 1
