"""Places in a workspace for children that only look: each has a lock that shows whether its child still lives.

They belong to no task, so no row of the ledger names them; a place is free again when nothing of its child is left. The
locks stay in the workspace's folder of locks, a few of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from countermark.kernel import process
from countermark.kernel.child import ProcessRunner
from countermark.kernel.errors import CountermarkError
from countermark.kernel.launch import Child

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

SLOTS: Final = 16
"""So many children may draw for one workspace at the same time, in all processes together."""

OUTPUT_LIMIT: Final = 256 << 20


class Slot(NamedTuple):
    """A place that is held; a child that is started here holds it too, until it and its descendants are gone."""

    number: int
    workspace: Workspace
    descriptor: int

    def start(self, argv: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Child:
        """Start a child and let it go."""
        runner = ProcessRunner(self.workspace.clock, output_limit=OUTPUT_LIMIT)
        child = runner.start(argv, liveness=os.dup(self.descriptor), cwd=cwd, env=env)
        try:
            child.go()
        except BaseException:
            child.close()
            raise
        return child


@contextmanager
def held(workspace: Workspace) -> Iterator[Slot]:
    """Hold the first place that is free; raise `resource_busy` when none is."""
    number, descriptor = _take(workspace)
    try:
        yield Slot(number, workspace, descriptor)
    finally:
        os.close(descriptor)


def _take(workspace: Workspace) -> tuple[int, int]:
    busy: CountermarkError | None = None
    for number in range(SLOTS):
        descriptor = workspace.files.open_permanent(f".countermark/locks/render-{number}.live")
        try:
            process.hold(descriptor)
        except CountermarkError as error:
            os.close(descriptor)
            if error.code != "resource_busy":
                raise
            busy = error
            continue
        return number, descriptor
    assert busy is not None  # noqa: S101 - there is more than one place
    raise busy
