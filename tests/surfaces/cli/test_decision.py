"""A person's decisions: accept, reject, cancel, reconcile."""

from __future__ import annotations

import pytest

from countermark.kernel import cancel
from countermark.kernel.adapter import Finding
from countermark.kernel.errors import CountermarkError
from countermark.kernel.plan import Plan
from countermark.kernel.recovery import EffectClass, Executed
from countermark.kernel.review import UNPROVEN
from countermark.testkit.adapter import ScriptedAdapter

from .conftest import Desk


@pytest.fixture
def waiting(desk: Desk) -> str:
    return desk.perform(grant="reviewed").task


def evidence(desk: Desk, task: str) -> str:
    return str(desk.json("task", "show", task).data["evidence"])


@pytest.mark.promise("cli.accept.not-authenticated")
def test_accepting_the_evidence_seen_publishes_and_says_who_is_not_known(desk: Desk, waiting: str) -> None:
    assert not (desk.space_path / "doc.txt").exists()
    said = desk("task", "accept", waiting, "--evidence", evidence(desk, waiting)[:12])
    assert (said.status, (desk.space_path / "doc.txt").read_text()) == (0, "hello")
    assert f"recorded as: {UNPROVEN}" in said.out
    assert f"Accepted by a person ({UNPROVEN})." in desk("task", "why", waiting).out


def test_the_next_step_of_a_waiting_task_is_the_command_that_accepts_it(desk: Desk, waiting: str) -> None:
    following = desk.json("task", "show", waiting).data["next"]
    words = following.split("`")[1].split()[1:]
    assert desk(*words).status == 0


@pytest.mark.parametrize(
    ("digits", "status", "code"), [("0" * 12, 5, "stale_evidence"), ("abc", 2, "input_invalid")], ids=["other", "short"]
)
def test_other_evidence_is_not_accepted(desk: Desk, waiting: str, digits: str, status: int, code: str) -> None:
    said = desk("task", "accept", waiting, "--evidence", digits, "--json")
    assert (said.status, said.error["code"]) == (status, code)
    assert not (desk.space_path / "doc.txt").exists()


def test_accepting_needs_the_evidence_to_be_named(desk: Desk, waiting: str) -> None:
    said = desk("task", "accept", waiting, "--json")
    assert (said.status, said.error["code"]) == (2, "usage")


def test_a_result_whose_ground_a_person_changed_is_not_accepted_over_it(desk: Desk, waiting: str) -> None:
    (desk.space_path / "doc.txt").write_text("mine")
    digits = evidence(desk, waiting)
    dry = desk("task", "accept", waiting, "--evidence", digits, "--dry-run", "--json")
    assert (dry.status, dry.error["code"]) == (5, "stale_evidence")
    said = desk("task", "accept", waiting, "--evidence", digits, "--json")
    assert (said.status, said.error["code"]) == (5, "stale_evidence")
    assert (desk.space_path / "doc.txt").read_text() == "mine"


def test_rejecting_publishes_nothing_and_keeps_the_reason(desk: Desk, waiting: str) -> None:
    assert desk("task", "reject", waiting, "--reason", "wrong blue").status == 0
    assert not (desk.space_path / "doc.txt").exists()
    assert "Rejected: wrong blue" in desk("task", "why", waiting).out


def test_a_cancelled_task_says_that_nothing_was_executed(desk: Desk, waiting: str) -> None:
    said = desk("task", "cancel", waiting)
    assert said.out == f"Task {waiting} is cancelled; its effect was not executed.\n"
    again = desk("task", "cancel", waiting, "--json")
    assert (again.status, again.error["code"]) == (1, "illegal_state")


@pytest.mark.promise("cli.dry-run.no-effect")
@pytest.mark.parametrize(
    "verb", [("accept",), ("reject", "--reason", "x"), ("cancel",), ("reconcile",)], ids=lambda v: v[0]
)
def test_a_dry_run_of_a_decision_writes_nothing(desk: Desk, waiting: str, verb: tuple[str, ...]) -> None:
    more = ["--evidence", evidence(desk, waiting)] if verb[0] == "accept" else list(verb[1:])
    before = desk.json("ledger", "events").data
    said = desk.json("task", verb[0], waiting, *more, "--dry-run")
    assert (said.status, said.data["dry_run"]) == (0, True)
    assert desk.json("ledger", "events").data == before


def test_what_a_dead_process_left_is_done_once_by_reconciling(desk: Desk) -> None:
    task = desk.abandon(fault="die-after")
    said = desk.json("task", "reconcile", task)
    assert (said.data["settled"], said.data["state"]) == (True, "completed")
    assert (desk.space_path / "doc.txt").read_text() == "hello"
    kinds = [one["kind"] for one in desk.json("task", "why", task).data["story"]]
    assert kinds.count("taken_over") == 1


def test_an_outcome_that_looking_cannot_tell_is_status_6_and_asks_a_person(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = desk.abandon(word="test.direct", fault="die-after")
    monkeypatch.setattr(desk.adapter, "reconcile", lambda *_: Finding(Executed.UNKNOWN))
    said = desk("task", "reconcile", task, "--json")
    assert (said.status, said.error["code"]) == (6, "outcome_unknown")
    assert "--executed" in said.error["next"]
    settled = desk("task", "reconcile", task, "--executed", "yes", "--evidence", "I see the line")
    assert settled.status == 0
    assert f"recorded as: {UNPROVEN}" in settled.out
    text = desk("task", "why", task).out
    assert f"Settled by a person ({UNPROVEN}): executed yes. Their evidence: I see the line" in text
    assert desk.world.lines("world:a") == ["k"]


def test_settling_as_not_executed_ends_the_task_and_is_no_failure_of_the_command(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = desk.abandon(word="test.direct", fault="die")
    monkeypatch.setattr(desk.adapter, "reconcile", lambda *_: Finding(Executed.UNKNOWN))
    assert desk("task", "reconcile", task).status == 6
    said = desk.json("task", "reconcile", task, "--executed", "no", "--evidence", "nothing there")
    assert (said.status, said.data["state"], said.data["executed"]) == (0, "failed", "no")


def test_a_stop_nobody_can_confirm_is_settled_by_a_person(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    task = desk.abandon(word="test.direct", fault="die")
    monkeypatch.setattr(desk.adapter, "reconcile", lambda *_: Finding(Executed.UNKNOWN))
    said = desk("task", "cancel", task)
    assert f"Task {task} is cancel_requested; whether its effect was executed is not known." in said.out
    settled = desk.json("task", "reconcile", task, "--executed", "no", "--evidence", "nothing there")
    assert (settled.data["state"], settled.data["executed"]) == ("cancelled", "no")


def test_a_blocked_task_goes_on_with_a_persons_word(desk: Desk) -> None:
    desk.adapter = ScriptedAdapter(desk.world, {"k": ["nothing"]}, effect_class=EffectClass.NON_IDEMPOTENT)
    with pytest.raises(CountermarkError) as caught:
        desk.perform("world:a", word="test.direct", key="k")
    task = caught.value.details["task"]
    said = desk.json("task", "reconcile", task, "--executed", "no", "--evidence", "nothing there")
    assert (said.data["state"], desk.world.lines("world:a")) == ("completed", ["k"])


@pytest.mark.parametrize("half", [("--executed", "yes"), ("--evidence", "x")], ids=lambda half: half[0])
def test_a_persons_answer_needs_its_evidence(desk: Desk, half: tuple[str, str]) -> None:
    said = desk("task", "reconcile", "t-x", *half, "--json")
    assert (said.status, said.error["code"]) == (2, "usage")


def test_a_task_in_living_hands_is_left_alone(desk: Desk) -> None:
    desk.adapter.script["k"] = ["nothing"]
    with desk.open() as space, pytest.MonkeyPatch.context() as patch:
        patch.setattr(desk.adapter, "reconcile", lambda *_: Finding(Executed.UNKNOWN))
        plan = Plan("scripted", "test.direct", "test.direct", ("world:a",), {})
        with pytest.raises(CountermarkError) as caught:
            space.perform(plan, grant="test", revision="absent", key="k")
        task = caught.value.details["task"]
        said = desk("task", "reconcile", task, "--json")
        assert (said.status, said.error["code"]) == (5, "resource_busy")
        assert desk.world.lines("world:a") == []
        cancel.cancel(space, task)
