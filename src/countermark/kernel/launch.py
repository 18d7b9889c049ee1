"""What a child is to its owner: the interface and the typed answers; `child` holds the real one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from countermark.kernel.process import Identity


@dataclass(frozen=True, slots=True)
class Exited:
    """How a process ended: its exit code, or the signal that ended it."""

    code: int | None
    signal: int | None


@dataclass(frozen=True, slots=True)
class Expired:
    """The deadline, in seconds of the clock's monotonic time, came first; the process may still be working."""

    deadline: float


@dataclass(frozen=True, slots=True)
class Sent:
    """How many bytes the pipe took, and why it took no more: `expired`, `broken`, or nothing."""

    accepted: int
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Stopped:
    """What is known after a stop.

    `forced` says that TERM did not suffice. `group_gone` covers the group and session, `descendants_gone` everything
    that inherited the liveness lock; `survivors` are the pids that still hold it, as far as the system shows them.
    """

    forced: bool
    group_gone: bool
    descendants_gone: bool
    survivors: tuple[int, ...]
    exit: Exited | None

    @property
    def confirmed(self) -> bool:
        """Whether nothing of this child runs any more; only then may its resource be taken over."""
        return self.group_gone and self.descendants_gone


class Child(Protocol):
    """One child process as its owner sees it; used from one thread. Deadlines are monotonic seconds of the clock."""

    @property
    def identity(self) -> Identity:
        """Return who it is, to be written down before `go`."""
        ...

    @property
    def output(self) -> bytes:
        """Return the standard output that was read and not yet received."""
        ...

    @property
    def stderr(self) -> bytes:
        """Return the last 64 KiB of standard error: for people, never for a receipt."""
        ...

    def go(self) -> None:
        """Let the program run; raise `runtime_missing` or `child_failed` when it certainly did not start."""
        ...

    def send(self, data: bytes, deadline: float) -> Sent:
        """Write to standard input, taking in output meanwhile so that neither side waits for the other."""
        ...

    def receive(self, deadline: float) -> bytes | Expired:
        """Return some output, or no bytes at its end."""
        ...

    def end_input(self) -> None:
        """Close the program's standard input."""
        ...

    def wait(self, deadline: float) -> Exited | Expired:
        """Wait for the end, keeping what is printed in `output`; raise `child_failed` past the output limit."""
        ...

    def stop(self, grace_seconds: float) -> Stopped:
        """Ask with TERM, insist with KILL, and say what is confirmed."""
        ...

    def close(self) -> None:
        """Let go of everything; what still runs in the group is stopped, a program at its gate never runs."""
        ...


class Runner(Protocol):
    """Starts children; injected wherever one is needed."""

    def start(
        self,
        argv: Sequence[str],
        *,
        liveness: int | Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        pass_fds: Sequence[int] = (),
    ) -> Child:
        """Create a process that waits at its gate."""
        ...
