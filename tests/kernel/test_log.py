"""Logs: one JSON object a line, correlated, bounded, and without a secret in any form."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from countermark.kernel import log, task
from countermark.kernel.clock import SystemClock
from countermark.kernel.files import Root
from countermark.kernel.log import Appender, Correlation, Log
from countermark.kernel.secret import Redactor, Secret

from .conftest import Bench

CANARY = 'c4n4ry/+"s3cr3t'


class Fixed(SystemClock):
    def now_ms(self) -> int:
        return 1234


def lines_of(wrote: list[str]) -> list[dict[str, object]]:
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in wrote)
    return [json.loads(line) for line in wrote]


@pytest.mark.promise("kernel.secret.never-shown")
@pytest.mark.parametrize(
    "form",
    [
        CANARY,
        json.dumps(CANARY),
        quote(CANARY, safe=""),
        base64.b64encode(CANARY.encode()).decode(),
        base64.b64encode(f"user:{CANARY}".encode()).decode(),
    ],
    ids=["plain", "json", "percent", "base64", "basic"],
)
def test_no_form_of_a_secret_reaches_a_log(form: str) -> None:
    wrote: list[str] = []
    writer = Log(wrote.append, clock=Fixed(), redactor=Redactor([Secret("env:TOKEN", CANARY)]))
    writer.line("error", "told", {"message": f"sent {form} away", form: [form, {"deep": form}]})
    assert form not in wrote[0]
    assert json.dumps(form)[1:-1] not in wrote[0]
    assert "[redacted env:TOKEN]" in wrote[0]
    assert lines_of(wrote)


def test_a_line_carries_what_it_is_about_and_nothing_empty() -> None:
    wrote: list[str] = []
    Log(wrote.append, clock=Fixed(), about=Correlation(projectId="w-1", taskId="t-1")).line("info", "x", {"n": 1})
    assert lines_of(wrote) == [{"at": 1234, "level": "info", "event": "x", "projectId": "w-1", "taskId": "t-1", "n": 1}]


def test_lines_below_the_least_level_are_not_written() -> None:
    wrote: list[str] = []
    writer = Log(wrote.append, clock=Fixed(), least="warning").about(Correlation(projectId="w-1"))
    for level in log.LEVELS:
        writer.line(level, "x")
    assert [line["level"] for line in lines_of(wrote)] == ["warning", "error"]


def test_a_tasks_events_are_repeated_with_their_times_and_checks_but_without_its_payload(bench: Bench) -> None:
    done = bench.perform(payload={"text": "private words"})
    found = bench.space.ledger.read(lambda tx: task.load(tx, done.task))
    wrote: list[str] = []
    writer = Log(wrote.append, clock=Fixed(), about=Correlation(projectId=bench.space.id))
    for event in bench.space.ledger.events(task=done.task):
        writer.event(event, found)
    admitted, result, verified, completed = lines_of(wrote)
    assert admitted["transition"] == ["planned", "ready", "running"]
    assert {"queueMs", "retries", "uses"} <= admitted.keys()
    assert "durationMs" in result
    assert verified["checks"] == {"passed": 1}
    assert completed["artifactHash"] == bench.seen("file:doc.txt")
    assert {line["taskId"] for line in lines_of(wrote)} == {done.task}
    assert admitted["attemptId"] == f"{done.task}/1"
    assert "private words" not in "".join(wrote)


def test_a_log_file_is_set_aside_when_it_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "LARGEST", 100)
    with Root(tmp_path) as root:
        append = Appender(root, "a.jsonl")
        for number in range(40):
            append(f'{{"n": {number}}}\n')
        append.close()
    kept = [
        json.loads(line)["n"]
        for name in ("a.jsonl.1", "a.jsonl")
        for line in (tmp_path / name).read_text().splitlines()
    ]
    assert kept == list(range(kept[0], 40))
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".lock" and "lock" not in path.name) == [
        "a.jsonl",
        "a.jsonl.1",
    ]
