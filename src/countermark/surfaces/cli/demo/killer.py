"""Kills the engine of a task in the middle of its work, from outside, with SIGKILL."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from countermark.kernel.child import Identity
from countermark.kernel.process import identity_of
from countermark.kernel.publish import STAGE
from countermark.kernel.workspace import Workspace

_ENGINE: Final = "countermark.vector.engine"
# Who is started for a task stands in the ledger before it may run.
_STARTED: Final = (
    "SELECT p.task, p.identity FROM processes p JOIN tasks t ON t.id = p.task "
    "WHERE t.ended_at IS NULL AND p.argv LIKE ? ORDER BY p.epoch DESC, p.n DESC"
)


class Killer:
    """Kills one engine as soon as it has drawn something, and never before.

    It is stopped first, so that what stands in its stage can be counted before it is killed; one that was done by then
    is let go on, and counts as not killed.
    """

    def __init__(self, home: Path, folder: str) -> None:
        """Watch the workspace at `home` for an engine that draws into `folder`."""
        self._home = home
        self._folder = folder
        self._space = Workspace(home)
        self._engine: tuple[str, Identity] | None = None
        self.killed = False
        self.said = "the engine was not killed: it was done before"

    def look(self) -> None:
        """Kill it if the moment has come."""
        if self.killed:
            return
        self._engine = self._engine or self._find()
        if self._engine is None:
            return
        task, identity = self._engine
        if not self._drawn(task) or identity_of(identity.pid) != identity:
            return
        with suppress(ProcessLookupError):
            os.kill(identity.pid, signal.SIGSTOP)
            drawn = self._drawn(task)
            if not self._draws(task):
                os.kill(identity.pid, signal.SIGCONT)
                return
            os.kill(identity.pid, signal.SIGKILL)
            self.killed = True
            files = "one file" if drawn == 1 else f"{drawn} files"
            self.said = f"the engine, process {identity.pid}, was killed when it had drawn {files}"

    def __enter__(self) -> Self:
        """Keep the workspace open for the length of a block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the workspace."""
        self._space.close()

    def _find(self) -> tuple[str, Identity] | None:
        row = self._space.ledger.read(lambda tx: tx.one(_STARTED, (f"%{_ENGINE}%",)))
        return None if row is None else (str(row[0]), Identity(**json.loads(row[1])))

    def _draws(self, task: str) -> bool:
        """Return whether the engine has not been heard yet: what it has drawn is no result."""
        row = self._space.ledger.read(lambda tx: tx.one("SELECT state FROM tasks WHERE id = ?", (task,)))
        return row == ("running",)

    def _drawn(self, task: str) -> int:
        """Return how many files stand in the task's stage; one that is being written has another name."""
        found = (self._home / STAGE / task).glob(f"*/{self._folder}/*")
        return sum(not path.name.startswith(".") for path in found)
