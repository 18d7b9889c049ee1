"""Looking at tasks: the list, one of them, and its story."""

from __future__ import annotations

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.kernel.recovery import EffectClass
from countermark.testkit.adapter import ScriptedAdapter

from .conftest import Desk


def test_tasks_are_listed_newest_first_in_aligned_columns(desk: Desk) -> None:
    first = desk.perform().task
    second = desk.perform("file:other.txt").task
    said = desk("task", "list")
    head, *rows = said.out.splitlines()
    assert head.split() == ["task", "state", "asked", "grant", "when"]
    assert [row.split()[0] for row in rows] == [second, first]
    assert {row.index("completed") for row in rows} == {head.index("state")}
    assert [one["task"] for one in desk.json("task", "list", "--limit", "1").data["tasks"]] == [second]
    assert desk.json("task", "list", "--open").data["tasks"] == []


def test_people_see_twelve_digits_and_programs_all_of_them(desk: Desk) -> None:
    task = desk.perform().task
    wire = desk.json("task", "show", task).data
    shown = desk("task", "show", task).out
    assert len(wire["planHash"]) == len(wire["evidence"]) == 64
    assert wire["planHash"][:12] in shown
    assert wire["planHash"][:13] not in shown


def test_a_task_shows_its_checks_with_who_made_and_who_looked(desk: Desk) -> None:
    task = desk.perform().task
    [verdict] = desk.json("task", "show", task).data["verdicts"]
    assert (verdict["status"], verdict["maker"]["label"], verdict["observer"]["label"]) == (
        "passed",
        "scripted maker",
        "scripted observer",
    )
    assert "passed  looked  seen by scripted observer" in desk("task", "show", task).out


@pytest.mark.promise("cli.task.why")
def test_why_tells_who_allowed_it_what_was_seen_and_what_comes_next(desk: Desk) -> None:
    task = desk.perform(key="mine").task
    said = desk("task", "why", task)
    text = said.out
    assert f"Task {task} is completed. Asked: test.staged (test.staged) on doc.txt." in text
    order = [
        "Admitted under grant test",
        "Made against doc.txt, not there yet",
        "1 passed, seen by scripted observer",
        "is at",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert f"`countermark receipt show {task}`" in text
    story = desk.json("task", "why", task).data["story"]
    assert [one["kind"] for one in story] == ["admitted", "result", "verified", "completed"]


def test_why_tells_a_failure_by_its_code_and_its_own_next_step(desk: Desk) -> None:
    with pytest.raises(CountermarkError) as caught:
        desk.perform(payload={"text": "x", "verdict": "unavailable"})
    text = desk("task", "why", caught.value.details["task"]).out
    assert "failed: verification_unavailable" in text
    assert "These required checks could not be made: looked." in text


def test_why_tells_a_refused_call_by_its_event_number(desk: Desk) -> None:
    with pytest.raises(CountermarkError) as caught:
        desk.perform(grant="default")
    number = str(caught.value.details["event"])
    said = desk("task", "why", number)
    assert "Refused (permission_denied): test.staged (test.staged) on doc.txt, asked under grant default." in said.out
    assert "It had no effect." in said.out
    assert desk.json("task", "why", number).data["body"]["code"] == "permission_denied"


@pytest.mark.parametrize(("name", "code"), [("t-none", "not_found"), ("9999", "not_found")])
@pytest.mark.parametrize("verb", ["show", "why"])
def test_an_unknown_task_is_not_found(desk: Desk, verb: str, name: str, code: str) -> None:
    said = desk("task", verb, name, "--json")
    assert (said.status, said.error["code"]) == (3, code)


@pytest.mark.promise("cli.output.no-steering")
def test_what_others_wrote_cannot_steer_the_terminal(desk: Desk) -> None:
    task = desk.perform("file:a\x1b[2J\u202eb\n.txt").task
    for arguments in (("task", "list"), ("task", "show", task), ("task", "why", task), ("ledger", "events")):
        out = desk(*arguments).out
        assert not set("\x1b\u202e") & set(out)
    assert "a<U+001B>[2J<U+202E>b" in desk("task", "show", task).out


def test_a_task_whose_process_is_gone_says_so_and_how_to_settle_it(desk: Desk) -> None:
    task = desk.abandon()
    said = desk("task", "show", task)
    assert "running, its process is gone" in said.out
    assert f"`countermark task reconcile {task}`" in said.out
    assert desk.json("task", "why", task).data["stale"] is True


def test_a_blocked_task_asks_for_a_person(desk: Desk) -> None:
    desk.adapter = ScriptedAdapter(desk.world, {"k": ["nothing"]}, effect_class=EffectClass.NON_IDEMPOTENT)
    with pytest.raises(CountermarkError) as caught:
        desk.perform("world:a", word="test.direct", key="k")
    text = desk("task", "why", caught.value.details["task"]).out
    assert "Blocked" in text
    assert "--executed no --evidence TEXT" in text
