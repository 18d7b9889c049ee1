"""Workspaces for the tests of the whole way: made once, copied for every test, with the real engine or a lying one."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from countermark.kernel import task
from countermark.kernel.child import ProcessRunner
from countermark.kernel.clock import SystemClock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.launch import Child
from countermark.kernel.perform import Performed
from countermark.kernel.workspace import HOME, Workspace
from countermark.vector.adapter import VectorAdapter
from countermark.vector.session import MODULE

LIAR: Final = Path(__file__).with_name("liar.py")
MARK: Final = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><title>Mark</title>'
    b'<path id="plate" fill="#1a6cff" d="M4 4h40v40h-40z"/><circle id="bead" fill="#1a6cff" cx="52" cy="52" r="8"/>'
    b"</svg>"
)
LOSSY: Final = MARK.replace(b"</svg>", b'<text id="word" x="5" y="60">Mark</text></svg>')
MARK_NAME: Final = "mark.vectorcraft"
BLUE: Final = "#1a6cff"
OTHER_BLUE: Final = "#0057ff"


class Understudy:
    """Starts the liar in the engine's place, so many times; after that the engine itself."""

    def __init__(self, lie: str, times: int = 99) -> None:
        self.started = 0
        self._lie = lie
        self._times = times
        self._runner = ProcessRunner(SystemClock())

    def start(
        self,
        argv: Sequence[str],
        *,
        liveness: int | Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        pass_fds: Sequence[int] = (),
    ) -> Child:
        """Start one of the two; the judge's child is neither."""
        if MODULE in argv:
            self.started += 1
            if self.started <= self._times:
                argv = [sys.executable, "-P", str(LIAR), self._lie, argv[-1]]
        return self._runner.start(argv, liveness=liveness, env=env, cwd=cwd, pass_fds=pass_fds)


@contextmanager
def opened(folder: Path, **options: Any) -> Iterator[Workspace]:
    """Open a copy of a workspace that was made before."""
    with Workspace(folder, adapters=options.pop("adapters", [VectorAdapter()]), **options) as workspace:
        yield workspace


def copied(folder: Path, there: Path) -> Path:
    """Copy a workspace that nobody has open."""
    shutil.copytree(folder, there)
    return there


def refusal(call: Any) -> CountermarkError:
    """Return the one error that a call raises."""
    with pytest.raises(CountermarkError) as caught:
        call()
    assert caught.value.sentence
    assert caught.value.next_action
    assert "Traceback" not in str(caught.value)
    return caught.value


def shown_files(folder: Path) -> dict[str, bytes]:
    """Return what a person sees in a workspace: every file outside of its own folder."""
    found = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != HOME]
        for name in names:
            path = Path(place) / name
            found[path.relative_to(folder).as_posix()] = b"" if path.is_symlink() else path.read_bytes()
    return found


def boards(folder: Path) -> dict[str, bytes]:
    """Return the boards of a kit: all but its record page and its receipt."""
    return {name: data for name, data in shown_files(folder).items() if name not in ("index.html", "receipt.json")}


def open_tasks(workspace: Workspace) -> list[str]:
    """Return the states of the tasks that have not ended."""
    return [found.state.value for found in workspace.ledger.read(task.load_open)]


def verdicts(workspace: Workspace, done: Performed | str) -> dict[str, set[str]]:
    """Return what each check of a task said."""
    name = done if isinstance(done, str) else done.task
    found: dict[str, set[str]] = {}
    for event in workspace.ledger.events(task=name):
        for verdict in event.body.get("verdicts", ()):
            found.setdefault(verdict["check"], set()).add(verdict["status"])
    return found
