"""Work that may take long: carried out in a thread, so that Ctrl-C asks the task to stop instead of tearing it.

The kernel records a stop before anything is stopped, ends the children, looks at the originals and says whether the
effect happened; the thread that did the work then finds its task cancelled and comes back. Only then does the program
end. A second Ctrl-C leaves at once; the next command finds the task and settles it.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from typing import Final, Generic, Self, TypeVar

from countermark.kernel import cancel, task
from countermark.kernel.errors import CountermarkError
from countermark.kernel.task import Task
from countermark.kernel.workspace import Workspace
from countermark.surfaces.cli.failure import StoppedError
from countermark.surfaces.cli.story import sentence
from countermark.surfaces.cli.terminal import one_line, paint

T = TypeVar("T")

_LOOK_SECONDS: Final = 0.05


class _Work(Generic[T]):
    """A call in a thread, with what it returned or raised."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._result: list[T] = []
        self._error: BaseException | None = None
        self._done = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self._result.append(self._work())
        except BaseException as error:  # noqa: BLE001 - raised again where the call is waited for
            self._error = error
        finally:
            self._done.set()

    def ended(self, seconds: float) -> bool:
        """Wait so long at the most; say whether the call has come back."""
        return self._done.wait(seconds)

    def outcome(self) -> T:
        """Return what the call returned, or raise what it raised."""
        if self._error is not None:
            raise self._error
        return self._result[0]


class _Interrupts:
    """Counts Ctrl-C instead of raising it anywhere, so that no write is ever cut in the middle."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._one)
        return self

    def _one(self, *_: object) -> None:
        self.count += 1

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)


def carry(workspace: Workspace, work: Callable[[], T]) -> T:
    """Do work that runs tasks, showing their progress on a terminal; Ctrl-C stops them, and says how they ended.

    Raise StoppedError after an interrupt, else whatever the work raises. Call it from the main thread.
    """
    first = seen = _head(workspace)
    with _Interrupts() as interrupts:
        running = _Work(work)
        while not running.ended(_LOOK_SECONDS):
            seen = _progress(workspace, seen)
            if interrupts.count:
                _stop(workspace, running, interrupts)
                raise _interrupted(workspace, first)
    return running.outcome()


def _stop(workspace: Workspace, running: _Work[T], interrupts: _Interrupts) -> None:
    sys.stderr.write("Stopping…\n")
    sys.stderr.flush()
    while True:
        # Again and again: the work may have been about to begin a task when it was asked to stop.
        for one in _own(workspace):
            try:
                cancel.cancel(workspace, one.id, "Ctrl-C")
            except CountermarkError as error:
                if error.code not in ("illegal_state", "stale_epoch"):
                    raise
        if running.ended(_LOOK_SECONDS) or interrupts.count > 1:
            return


def _own(workspace: Workspace) -> list[Task]:
    tasks = workspace.ledger.read(task.load_open)
    return [one for one in tasks if one.runner == workspace.runner_text]


def _interrupted(workspace: Workspace, first: int) -> StoppedError:
    touched = {event.task: None for event in workspace.ledger.events(first) if event.task}
    tasks = [workspace.ledger.read(lambda tx, name=name: task.load(tx, name)) for name in touched]  # type: ignore[misc]
    if not tasks:
        return StoppedError("Stopped by Ctrl-C before anything was begun.", next_action="Run the command again.")
    said = " ".join(f"Task {one.id} is {one.state}; its effect was {_executed(one)}." for one in tasks)
    last = tasks[-1]
    open_ = next((one for one in tasks if not one.ended), None)
    what = f"countermark task reconcile {open_.id}" if open_ is not None else f"countermark task why {last.id}"
    details = {"task": last.id, "state": last.state.value, "executed": last.executed.value}
    return StoppedError(f"Stopped by Ctrl-C. {said}", next_action=f"See `{what}`.", details=details)


def _executed(one: Task) -> str:
    return {"yes": "executed", "no": "not executed"}.get(one.executed.value, "perhaps executed: that is not known yet")


def _progress(workspace: Workspace, seen: int) -> int:
    if not sys.stderr.isatty():
        return seen
    for event in workspace.ledger.events(seen):
        sys.stderr.write(paint(f"  {one_line(sentence(event))}\n", "dim", sys.stderr))
        seen = event.seq
    return seen


def _head(workspace: Workspace) -> int:
    row = workspace.ledger.read(lambda tx: tx.one("SELECT COALESCE(MAX(seq), 0) FROM events"))
    return int(row[0]) if row else 0
