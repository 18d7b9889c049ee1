"""Structured logs: one JSON object a line, tied to a project, a task, an attempt, an engine, a plan and an artefact.

The ledger is the record; a log is for whoever watches. What the ledger's events say is repeated here under seed 1's
correlation names (seed 1 §16): transitions, queue wait, duration, retries, checks. No payload, no content, and every
line goes through a redactor, so a secret that slipped into a message does not reach the log.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from countermark.kernel.canon import digest
from countermark.kernel.clock import Clock
from countermark.kernel.files import Root
from countermark.kernel.ledger import Event
from countermark.kernel.lock import Lock
from countermark.kernel.secret import Redactor
from countermark.kernel.task import Task

Level = Literal["info", "warning", "error"]

LEVELS: Final[tuple[Level, ...]] = ("info", "warning", "error")
LARGEST: Final = 4 << 20
"""Bytes after which a log file is set aside; one earlier file is kept."""

_LOCK_SECONDS: Final = 5.0
_TOLD: Final = ("attempt", "epoch", "code", "reply", "succeeded", "finding", "queueMs", "durationMs", "retries", "uses")
_WARNINGS: Final = frozenset({"refused", "unknown", "blocked", "failed", "late", "stop_unconfirmed", "taken_over"})


@dataclass(frozen=True, slots=True)
class Correlation:
    """What a line is about; an empty member is left out of it. Names and meaning are those of seed 1 §16."""

    projectId: str = ""  # noqa: N815 - the wire name
    taskId: str = ""  # noqa: N815
    attemptId: str = ""  # noqa: N815
    runtimeIdentity: str = ""  # noqa: N815
    planHash: str = ""  # noqa: N815
    artifactHash: str = ""  # noqa: N815

    def of(self, task: Task) -> Correlation:
        """Return the same with what a task's row adds."""
        who = task.runtime
        return replace(
            self, taskId=task.id, runtimeIdentity=f"{who.name} {who.version} {who.digest}", planHash=task.plan_digest
        )


class Log:
    """Writes lines; `write` takes each with its line feed and may be a stream's or `Appender`."""

    def __init__(
        self,
        write: Callable[[str], object],
        *,
        clock: Clock,
        redactor: Redactor | None = None,
        about: Correlation | None = None,
        least: Level = "info",
    ) -> None:
        """Write lines of at least a level through a redactor; without one nothing is known that had to be removed."""
        self._write = write
        self._clock = clock
        self._redactor = redactor or Redactor(())
        self._about = about or Correlation()
        self._least = least

    def about(self, about: Correlation) -> Log:
        """Return a log whose lines are about this."""
        return Log(self._write, clock=self._clock, redactor=self._redactor, about=about, least=self._least)

    def line(self, level: Level, what: str, facts: Mapping[str, Any] | None = None, *, at: int | None = None) -> None:
        """Write one line; `at` is in milliseconds since the Unix epoch, by default now."""
        if LEVELS.index(level) < LEVELS.index(self._least):
            return
        ids = {name: value for name, value in asdict(self._about).items() if value}
        wire = {"at": self._clock.now_ms() if at is None else at, "level": level, "event": what, **ids, **(facts or {})}
        # The redactor sees values and the finished line: a secret may also stand across a value's end.
        text = json.dumps(self._redactor.value(wire), ensure_ascii=True, default=str)
        self._write(self._redactor.text(text) + "\n")

    def event(self, event: Event, task: Task | None = None) -> None:
        """Repeat a ledger event: its transition, its times, its checks, never its payload."""
        body = event.body
        about = self._about.of(task) if task is not None else self._about
        if task is not None and body.get("attempt"):
            about = replace(about, attemptId=f"{task.id}/{body['attempt']}")
        if body.get("revisions"):
            about = replace(about, artifactHash=_artifact(body["revisions"]))
        facts: dict[str, Any] = {"seq": event.seq} | {name: body[name] for name in _TOLD if name in body}
        if "path" in body:
            facts["transition"] = body["path"]
        if "verdicts" in body:
            facts["checks"] = dict(sorted(Counter(verdict["status"] for verdict in body["verdicts"]).items()))
            facts["evidence"] = body.get("evidence", "")
        level: Level = "warning" if event.kind in _WARNINGS else "info"
        self.about(about).line(level, event.kind, facts, at=event.at)


def _artifact(revisions: Mapping[str, str]) -> str:
    return next(iter(revisions.values())) if len(revisions) == 1 else digest(dict(revisions))


class Appender:
    """A log file beneath a folder of its own: synced lines, one writer at a time, one earlier file kept."""

    def __init__(self, root: Root, name: str) -> None:
        """Write to `name`, which is made when the first line comes."""
        self._root = root
        self._name = name
        self._lock = Lock(root, "log.lock")

    def __call__(self, line: str) -> None:
        """Append a line; raises as `Root.append` does."""
        with self._lock.hold(_LOCK_SECONDS):
            if self._root.exists(self._name) and self._root.stat(self._name).st_size > LARGEST:
                earlier = f"{self._name}.1"
                if self._root.exists(earlier):
                    self._root.remove(earlier)
                self._root.move_new(self._name, earlier)
            self._root.append(self._name, line.encode("ascii", "backslashreplace"))

    def close(self) -> None:
        """Give the lock's descriptors back."""
        self._lock.close()
