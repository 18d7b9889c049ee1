"""The log of a command, where it was asked for."""

from __future__ import annotations

import json

from .conftest import Desk


def test_what_a_command_does_is_logged_under_its_correlation_ids(desk: Desk) -> None:
    task = desk.perform(grant="reviewed").task
    wire = desk.json("task", "show", task).data
    said = desk("task", "accept", task, "--evidence", wire["evidence"], env={"COUNTERMARK_LOG": "info"})
    lines = [json.loads(line) for line in said.err.splitlines()]
    assert [line["event"] for line in lines] == ["retaken", "accepted", "completed"]
    last = lines[-1]
    assert (last["taskId"], last["planHash"]) == (task, wire["planHash"])
    assert last["runtimeIdentity"].startswith("scripted 1 ")
    assert last["artifactHash"].startswith("sha256:")
    assert last["transition"] == ["review_ready", "completed"]
    assert len({line["projectId"] for line in lines}) == 1


def test_less_is_logged_at_a_higher_level_and_nothing_without_one(desk: Desk) -> None:
    for level, events in (("warning", ["taken_over", "unknown"]), ("error", []), ("", []), ("loud", [])):
        task = desk.abandon(f"k{level}", fault="die-after")
        said = desk("task", "reconcile", task, env={"COUNTERMARK_LOG": level})
        assert [json.loads(line)["event"] for line in said.err.splitlines()] == events
        (desk.space_path / "doc.txt").unlink()
