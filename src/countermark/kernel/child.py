"""Children: the only module that starts processes (design §4, Files → Children).

A child is made in two steps. `start` creates a process that waits at a gate; the caller commits its row; `go` writes
one byte and the program runs. If the caller dies between the two, the gate reads end of file and the program never
runs. So no program runs that the ledger does not know.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from countermark.kernel import gate, process
from countermark.kernel.clock import Clock, SystemClock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.gate import locate
from countermark.kernel.launch import Child, Exited, Expired, Runner, Sent, Stopped
from countermark.kernel.pipe import Tail, await_ready, take
from countermark.kernel.points import reach
from countermark.kernel.process import Identity, Row, descendants_alive

__all__ = [
    "OUTPUT_LIMIT",
    "POINTS",
    "Child",
    "Exited",
    "Expired",
    "Identity",
    "ProcessChild",
    "ProcessRunner",
    "Runner",
    "Sent",
    "Stopped",
    "descendants_alive",
    "group_alive",
    "locate",
    "stop_group",
]

POINTS: Final = tuple(f"child.{act}.{side}" for act in ("spawn", "go", "send") for side in ("before", "after"))
OUTPUT_LIMIT: Final = 8 * 1024 * 1024  # research, vector §2.4: bounded output of 8 MiB
STDERR_KEPT: Final = 64 * 1024
_STEP_SECONDS: Final = 0.01
_LOOK_SECONDS: Final = 0.05
_KILL_SECONDS: Final = 5.0
_CLOSE_SECONDS: Final = 0.5
_EXEC_SECONDS: Final = 30.0


class ProcessRunner:
    """Starts real processes: argv only, an allow-listed environment, a session of their own, bounded output."""

    def __init__(self, clock: Clock | None = None, *, output_limit: int = OUTPUT_LIMIT) -> None:
        """Take the clock of all deadlines, and the bytes of output a child may leave unread."""
        self._clock = clock or SystemClock()
        self._output_limit = output_limit

    def start(
        self,
        argv: Sequence[str],
        *,
        liveness: int | Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        pass_fds: Sequence[int] = (),
    ) -> ProcessChild:
        """Create a process that waits at its gate and holds the liveness lock.

        `argv[0]` is an absolute program or a bare name looked up in PATH. `liveness` is a permanent file, or a
        descriptor on one that is handed over: it is locked here if it was not, and closed in this process in every
        case. `env` adds to `gate.ENVIRONMENT`. Raises `runtime_missing`, `input_invalid`, `child_failed`, and
        `resource_busy` while a descendant of an earlier child still holds the lock.
        """
        held = liveness if isinstance(liveness, int) else process.open_liveness(liveness)
        try:
            command = gate.resolved(argv)
            environment = gate.environment(env or {})
            process.hold(held)
            probe = process.reopen(held)
            return self._spawn(command, environment, cwd, probe, (held, *pass_fds))
        finally:
            os.close(held)

    def _spawn(
        self, command: list[str], environment: dict[str, str], cwd: Path | None, probe: int, inherited: tuple[int, ...]
    ) -> ProcessChild:
        gate_in, gate_out = os.pipe()
        status_in, status_out = os.pipe()
        ends = _Ends(gate_out, status_in, probe)
        name = Path(command[0]).name
        reach("child.spawn.before")
        try:
            popen = subprocess.Popen(
                gate.gated(command, environment, gate_in, status_out),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=environment,
                cwd=cwd,
                start_new_session=True,
                pass_fds=(gate_in, status_out, *inherited),
            )
        except OSError as error:
            ends.close()
            raise _not_run(name, f"could not be started: {error.strerror}") from error
        finally:
            os.close(gate_in)
            os.close(status_out)
        reach("child.spawn.after")
        identity = process.identity_of(popen.pid)
        if identity is None:
            ends.close()
            with popen:
                raise _not_run(name, "ended at its gate, before its program ran")
        return ProcessChild(popen, identity, ends, self._clock, limit=self._output_limit, name=name)


@dataclass(slots=True)
class _Ends:
    """Our ends: the gate until the go, the word whether the program was accepted, and a trial of the liveness lock."""

    gate: int | None
    status: int
    probe: int

    def seal(self) -> None:
        """Close the gate: without a go before, the program can never run."""
        if self.gate is not None:
            os.close(self.gate)
            self.gate = None

    def close(self) -> None:
        """Close all three, once."""
        self.seal()
        os.close(self.status)
        os.close(self.probe)


class ProcessChild:
    """A real child process (see `Child`)."""

    def __init__(
        self, popen: subprocess.Popen[bytes], identity: Identity, ends: _Ends, clock: Clock, *, limit: int, name: str
    ) -> None:
        """Own a process that waits at its gate; `limit` bounds its output in bytes, `name` is for sentences."""
        self._popen = popen
        self._ends = ends
        self._clock = clock
        self._limit = limit
        self._program = name
        self._inbox = bytearray()
        self._exit: Exited | None = None
        self._closed = False
        self._stdin: int | None = _unblocked(popen.stdin)
        self._stdout: int | None = _unblocked(popen.stdout)
        self._tail = Tail(_unblocked(popen.stderr), STDERR_KEPT)
        self._pidfd = process.pidfd(popen.pid)
        self._identity = identity

    @property
    def identity(self) -> Identity:
        """Return who it is, to be written down before `go`."""
        return self._identity

    @property
    def output(self) -> bytes:
        """Return the standard output that was read and not yet received."""
        return bytes(self._inbox)

    @property
    def stderr(self) -> bytes:
        """Return the last 64 KiB of standard error, all of it once the program has ended."""
        if self._exit is not None:
            self._tail.settle(_LOOK_SECONDS)
        return self._tail.kept()

    def go(self) -> None:
        """Let the program run, and return when the system has accepted it (or said why not)."""
        if self._ends.gate is None:
            raise _not_run(self._program, "was let go before, or was stopped at its gate")
        reach("child.go.before")
        try:
            os.write(self._ends.gate, gate.GO)
        except BrokenPipeError as error:
            raise _not_run(self._program, "ended at its gate, before its program ran") from error
        finally:
            self._ends.seal()
        reach("child.go.after")
        await_ready({self._ends.status: select.POLLIN}, _EXEC_SECONDS)
        os.set_blocking(self._ends.status, False)
        refused = take(self._ends.status)
        if refused:
            raise CountermarkError(
                "runtime_missing",
                f"{self._program} is there but the system does not run it: {os.strerror(int(refused))}.",
                next_action="Check that it is a program for this machine.",
                details={"executed": "no"},
            )

    def send(self, data: bytes, deadline: float) -> Sent:
        """Write to standard input, taking in output meanwhile."""
        reach("child.send.before")
        sent = self._write(data, deadline)
        reach("child.send.after")
        return sent

    def receive(self, deadline: float) -> bytes | Expired:
        """Return some output, or no bytes at its end."""
        while not self._inbox and self._stdout is not None:
            if not self._attend(None, deadline):
                return Expired(deadline)
        taken = bytes(self._inbox)
        self._inbox.clear()
        return taken

    def end_input(self) -> None:
        """Close the program's standard input."""
        if self._stdin is not None and self._popen.stdin is not None:
            self._popen.stdin.close()
            self._stdin = None

    def wait(self, deadline: float) -> Exited | Expired:
        """Wait for the end of the program itself; its descendants may outlive it."""
        while True:
            ended = self._ended()
            self._within_limit()
            while self._take():
                self._within_limit()
            if ended is not None:
                return ended
            watched = {} if self._pidfd is None else {self._pidfd: select.POLLIN}
            if not self._attend(watched, deadline):
                return Expired(deadline)

    def stop(self, grace_seconds: float) -> Stopped:
        """Ask the group with TERM, insist with KILL, and say what is confirmed gone.

        Seconds here are real ones: a signal takes effect in real time. Only the group and session of this child are
        signalled; a survivor that left both is named, not killed.
        """
        self._ends.seal()
        forced = not _gone_after(self._identity, signal.SIGTERM, grace_seconds)
        group_gone = not forced or _gone_after(self._identity, signal.SIGKILL, _KILL_SECONDS)
        alive = descendants_alive(self._ends.probe)
        survivors = process.holders(self._ends.probe) if alive else ()
        return Stopped(forced, group_gone, not alive, survivors, self._ended())

    def close(self) -> None:
        """Let go of everything; whatever still runs in the group is stopped: nothing outlives its owner."""
        if self._closed:
            return
        if self._members():
            self.stop(_CLOSE_SECONDS)
        self._closed = True
        self._ends.close()
        self._tail.close()
        for stream in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if stream is not None:
                stream.close()
        self._stdin = self._stdout = None
        if self._pidfd is not None:
            os.close(self._pidfd)
        with suppress(subprocess.TimeoutExpired):  # it was killed: what is left to wait for is the system's doing
            self._popen.wait(_CLOSE_SECONDS)

    def __enter__(self) -> Self:
        """Own the child for the length of a block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def _write(self, data: bytes, deadline: float) -> Sent:
        accepted = 0
        view = memoryview(data)
        while self._stdin is not None and accepted < len(view):
            try:
                accepted += os.write(self._stdin, view[accepted : accepted + 65536])
            except BlockingIOError:
                if not self._attend({self._stdin: select.POLLOUT}, deadline):
                    return Sent(accepted, "expired")
            except BrokenPipeError:
                return Sent(accepted, "broken")
        return Sent(accepted, None if self._stdin is not None else "broken")

    def _attend(self, wanted: dict[int, int] | None, deadline: float) -> bool:
        """Wait a moment for the wanted descriptors (None: for output), taking in output meanwhile.

        False once the deadline has passed and nothing wanted is ready.
        """
        watched = dict(wanted or {})
        if self._stdout is not None and len(self._inbox) <= self._limit:
            watched[self._stdout] = select.POLLIN
        left = deadline - self._clock.monotonic()
        # Short waits, so that an injected clock is read again, and an end without a pidfd is seen.
        ready = await_ready(watched, min(left, _LOOK_SECONDS if self._pidfd is not None else _STEP_SECONDS))
        if self._stdout in ready:
            self._take()
        return left > 0 or bool(ready if wanted is None else ready & wanted.keys())

    def _take(self) -> bool:
        if self._stdout is None:
            return False
        chunk = take(self._stdout)
        if chunk == b"":
            self._stdout = None
        self._inbox += chunk or b""
        return bool(chunk)

    def _within_limit(self) -> None:
        if len(self._inbox) > self._limit:
            self.stop(0.0)
            raise CountermarkError(
                "child_failed",
                f"{self._program} printed more than {self._limit} bytes and was stopped.",
                next_action="Let it write its result to a file.",
            )

    def _ended(self) -> Exited | None:
        if self._exit is None:
            self._exit = _peek(self._popen)
        return self._exit

    def _members(self) -> tuple[Row, ...]:
        return process.members(self._identity, _table)


def _not_run(name: str, what: str) -> CountermarkError:
    return CountermarkError(
        "child_failed",
        f"{name} {what}.",
        next_action="Check the working folder and the machine's limits, then start it again.",
        details={"executed": "no"},
    )


def stop_group(identity: Identity, grace_seconds: float) -> bool:
    """Stop a child from another thread than its owner's: TERM, then KILL; return whether group and session are gone.

    It touches nothing of the owner's child but the processes themselves; the owner sees them end.
    """
    return _gone_after(identity, signal.SIGTERM, grace_seconds) or _gone_after(identity, signal.SIGKILL, _KILL_SECONDS)


def group_alive(identity: Identity) -> bool:
    """Return whether anything of a child's group or session still runs, also from a later process.

    A surviving member counts as alive when its leader has ended; a pid given anew does not. Raises `io_failed` when
    the process table cannot be read: unreadable is not gone.
    """
    return bool(process.members(identity, _table))


def _table() -> Iterator[Row]:
    if process.has_proc():
        return process.rows_from_proc()
    return process.rows_from_ps(_ask(("/bin/ps", *process.PS_ARGUMENTS)))


def _ask(argv: tuple[str, ...]) -> str:
    """Return what a tool of the system prints, in one language and time zone, so that it can be compared."""
    try:
        done = subprocess.run(argv, capture_output=True, check=True, env={"LC_ALL": "C", "TZ": "UTC"}, timeout=10)
    except (OSError, subprocess.SubprocessError) as error:
        raise CountermarkError(
            "io_failed",
            f"The process table cannot be read: {argv[0]} gave no answer.",
            next_action="Run where the process table can be read.",
        ) from error
    return done.stdout.decode("utf-8", "replace")


def _gone_after(identity: Identity, number: signal.Signals, seconds: float) -> bool:
    """Signal every group of the session until none is left, or the seconds are spent."""
    waited, step = 0.0, _STEP_SECONDS
    rows = process.members(identity, _table)
    _signal_groups(rows, number)
    while rows and waited < seconds:
        time.sleep(step)
        waited += step
        step = min(2 * step, _LOOK_SECONDS)
        rows = process.members(identity, _table)
        if number is signal.SIGKILL:
            _signal_groups(rows, number)
    return not rows


def _signal_groups(rows: tuple[Row, ...], number: signal.Signals) -> None:
    for leader in {row.pgid for row in rows}:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, number)


def _unblocked(stream: IO[bytes] | None) -> int:
    assert stream is not None  # noqa: S101 - all three were asked for
    os.set_blocking(stream.fileno(), False)
    return stream.fileno()


def _peek(popen: subprocess.Popen[bytes]) -> Exited | None:
    """Return how it ended without reaping it: as long as it is not reaped, its pid and group are its own."""
    if not hasattr(os, "waitid"):
        code = popen.poll()
        return None if code is None else Exited(code, None) if code >= 0 else Exited(None, -code)
    try:
        info = os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return Exited(None, None)
    if info is None:
        return None
    return Exited(info.si_status, None) if info.si_code == os.CLD_EXITED else Exited(None, info.si_status)
