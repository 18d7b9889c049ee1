"""Ctrl-C: it asks the task to stop, stops its children, and says in which state it left it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading

import pytest

from countermark.kernel import fence
from countermark.surfaces.cli import carry
from countermark.surfaces.cli.failure import StoppedError

from .conftest import Desk


def said_first(started: subprocess.Popen[str]) -> str:
    """Wait until the adapter says that it is in the middle of its work."""
    assert started.stderr is not None
    return started.stderr.readline().strip()


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.promise("cli.interrupt.settled")
def test_an_interrupt_ends_the_children_and_leaves_the_task_cancelled(desk: Desk) -> None:
    task = desk.abandon("k")
    started = desk.start({"k": ["die", "hang"]}, "task", "reconcile", task)
    word, pid = said_first(started).split()
    assert word == "working"
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=60)
    assert (started.returncode, out) == (130, "")
    assert f"Task {task} is cancelled; its effect was not executed." in err
    assert "Traceback" not in err
    assert gone(int(pid))
    found = desk.json("task", "show", task).data
    assert (found["state"], found["executed"]) == ("cancelled", "no")
    with desk.open() as space:
        resource = space.ledger.read(lambda tx: fence.load(tx, "file:doc.txt"))
    assert resource is not None
    assert resource.holder is None


def test_an_interrupt_is_an_envelope_too(desk: Desk) -> None:
    task = desk.abandon("k")
    started = desk.start({"k": ["die", "hang"]}, "task", "reconcile", task, "--json")
    said_first(started)
    started.send_signal(signal.SIGINT)
    out, _ = started.communicate(timeout=60)
    wire = json.loads(out)
    assert (wire["ok"], wire["exit"], wire["error"]["code"]) == (False, 130, "cancelled")
    assert wire["error"]["details"] == {"task": task, "state": "cancelled", "executed": "no"}


def test_a_second_interrupt_leaves_at_once_and_the_next_command_settles_it(desk: Desk) -> None:
    task = desk.abandon("k")
    started = desk.start({"k": ["die", "deaf"]}, "task", "reconcile", task)
    assert said_first(started) == "working"
    started.send_signal(signal.SIGINT)
    assert said_first(started) == "Stopping…"
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=60)
    assert started.returncode == 130
    assert f"Task {task} is cancel_requested" in err
    assert f"countermark task reconcile {task}" in err
    assert "Traceback" not in err
    assert desk.json("task", "reconcile", task).data["state"] == "cancelled"


def test_an_interrupt_before_anything_began_says_that_nothing_did(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        asked.wait()

    def own(_: object) -> list[object]:
        asked.set()
        return []

    monkeypatch.setattr(carry, "_own", own)
    with desk.open() as space, pytest.raises(StoppedError, match="before anything was begun"):
        carry.carry(space, work)


def test_an_error_of_the_work_is_told_as_if_it_had_not_been_carried(desk: Desk) -> None:
    task = desk.perform(grant="reviewed").task
    (desk.space_path / "doc.txt").write_text("mine")
    evidence = desk.json("task", "show", task).data["evidence"]
    said = desk("task", "accept", task, "--evidence", evidence)
    assert said.status == 5
    assert "stale_evidence" in said.err
