"""The log of a command: on standard error where it was asked for, and a file where a defect is told.

`COUNTERMARK_LOG=info` (or `warning`, `error`) writes what happened in the workspace meanwhile, one JSON object a line.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from countermark.kernel import config, secret, task
from countermark.kernel.clock import SystemClock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root
from countermark.kernel.log import LEVELS, Appender, Correlation, Log
from countermark.kernel.secret import Redactor
from countermark.kernel.task import Task
from countermark.kernel.workspace import HOME, Workspace

ENVIRONMENT: Final = "COUNTERMARK_LOG"
LOGS: Final = f"{HOME}/logs"
DEFECTS: Final = "defects.jsonl"
_DEEPEST: Final = 30  # frames of a defect's trace that are kept


@contextmanager
def journal(workspace: Workspace) -> Iterator[None]:
    """Log what happens in a workspace during the `with`, if logs were asked for."""
    least = next((level for level in LEVELS if level == os.environ.get(ENVIRONMENT)), None)
    if least is None:
        yield
        return
    about = Correlation(projectId=workspace.id)
    log = Log(sys.stderr.write, clock=workspace.clock, redactor=redactor(workspace.path), about=about, least=least)
    since = _head(workspace)
    try:
        yield
    finally:
        _repeat(workspace, log, since)


def _repeat(workspace: Workspace, log: Log, since: int) -> None:
    tasks: dict[str, Task] = {}
    while events := workspace.ledger.events(since):
        for event in events:
            if event.task and event.task not in tasks:
                tasks[event.task] = workspace.ledger.read(lambda tx, name=event.task: task.load(tx, name))  # type: ignore[misc]
            log.event(event, tasks.get(event.task))
        since = events[-1].seq


def _head(workspace: Workspace) -> int:
    row = workspace.ledger.read(lambda tx: tx.one("SELECT COALESCE(MAX(seq), 0) FROM events"))
    return int(row[0]) if row else 0


def redactor(folder: Path) -> Redactor:
    """Return what removes the workspace's own secrets; one that is not available here cannot be shown either."""
    known = []
    with suppress(CountermarkError, OSError):
        for reference in config.secrets((folder / config.PROJECT_FILE).read_bytes()).values():
            with suppress(CountermarkError):
                known.append(secret.resolve(reference))
    return Redactor(known)


def defect(folder: Path | None, command: str, error: BaseException) -> Path | None:
    """Write a defect with its trace to the workspace's log, or the user's; return the file, None where none can be."""
    trace = traceback.format_exception(error)[-_DEEPEST:]
    for base, place in _homes(folder):
        with suppress(CountermarkError, OSError), Root(base) as files:
            files.make_dir(place, mode=0o700)
            with files.inside(place) as logs, closing(Appender(logs, DEFECTS)) as appender:
                log = Log(appender, clock=SystemClock(), redactor=redactor(folder or base))
                log.line("error", "internal_error", {"command": command, "trace": trace})
                return Path(logs.path) / DEFECTS
    return None


def _homes(folder: Path | None) -> Iterator[tuple[Path, str]]:
    if folder is not None:
        yield folder, LOGS
    state = os.environ.get("XDG_STATE_HOME")
    yield (Path(state), "countermark/logs") if state else (Path.home(), ".local/state/countermark/logs")
