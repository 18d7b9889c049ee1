"""Commands as a user would give them: processes of their own, their lines shown as they come."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import countermark
from countermark.kernel.child import Expired, ProcessChild, ProcessRunner
from countermark.kernel.clock import Clock
from countermark.kernel.errors import CountermarkError, Ending, register
from countermark.kernel.files import Root
from countermark.surfaces.cli.demo.transcript import Transcript

register(Ending.FAILED, "demo_failed")

PROGRAM: Final = "countermark"
MOST_SECONDS: Final = 300
"""For one command. None takes more than some seconds; a machine that needs longer than this has stopped."""

_ENTRY: Final = "from countermark.surfaces.cli import main; main()"
_STEP_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Done:
    """What a command left: its exit status (None when a signal ended it) and both of its streams."""

    status: int | None
    out: str
    err: str

    def value(self, word: str) -> str:
        """Return what stands beside a word at the beginning of a line; raise `demo_failed` when nothing does."""
        for line in self.out.splitlines():
            name, _, rest = line.partition(" ")
            if name == word and rest.strip():
                return rest.strip()
        raise CountermarkError(
            "demo_failed", f"The command did not say its {word}.", next_action="Report this with the lines above."
        )


class Shell:
    """Runs commands in one folder and shows them."""

    def __init__(self, folder: Path, liveness: Root, transcript: Transcript, clock: Clock) -> None:
        """Take the folder the commands run in, and a folder for the lock that shows whether a child still lives."""
        self.folder = folder
        self.transcript = transcript
        self.clock = clock
        self._liveness = liveness
        self._runner = ProcessRunner(clock)

    def run(
        self,
        *arguments: str,
        expect: int = 0,
        why: str = "",
        also: str = "",
        during: Callable[[], None] | None = None,
    ) -> Done:
        """Run `countermark` with these arguments; raise `demo_failed` for another exit status than expected.

        `during` is called again and again while the command runs.
        """
        self.transcript.command((PROGRAM, *arguments), why=why, also=also)
        return self._done(self.start(*arguments), (PROGRAM, *arguments), expect, during)

    def run_other(self, *words: str) -> Done:
        """Run any other program that PATH offers; raise `demo_failed` unless it ends with 0."""
        self.transcript.command(words)
        child = self.spawn(words, "other.live")
        child.go()
        return self._done(child, words, 0, None)

    def _done(self, child: ProcessChild, words: Sequence[str], expect: int, during: Callable[[], None] | None) -> Done:
        with child:
            child.end_input()
            done = self._follow(child, during)
        if done.status != expect:
            raise CountermarkError(
                "demo_failed",
                f"`{' '.join(words)}` ended with exit status {done.status}, not {expect}.",
                next_action=f"Read its last lines above, then try `{PROGRAM} doctor`.",
                details={"status": done.status, "expected": expect},
            )
        return done

    def enter(self, name: str) -> None:
        """Run what follows in a folder of this one."""
        self.folder /= name

    def start(self, *arguments: str) -> ProcessChild:
        """Start `countermark` with these arguments, from the sources that this very program runs from."""
        argv = [sys.executable, "-P", "-c", _ENTRY, *arguments]
        child = self.spawn(argv, f"{arguments[0]}.live")
        child.go()
        return child

    def spawn(self, argv: Sequence[str], name: str) -> ProcessChild:
        """Start any program in the folder; it waits for its go."""
        if not self._liveness.exists(name):
            self._liveness.create(name, b"")
        package = Path(countermark.__path__[0]).parent
        return self._runner.start(
            argv,
            liveness=Path(self._liveness.path) / name,
            env={"PYTHONPATH": str(package), "PYTHONUTF8": "1"},
            cwd=self.folder,
        )

    def deadline(self) -> float:
        """Return the moment at which a command that began now has taken too long."""
        return self.clock.monotonic() + MOST_SECONDS

    def _follow(self, child: ProcessChild, during: Callable[[], None] | None) -> Done:
        latest = self.deadline()
        taken = bytearray()
        shown = 0
        step = _STEP_SECONDS if during is None else _STEP_SECONDS / 50
        while (chunk := child.receive(self.clock.monotonic() + step)) != b"":
            if isinstance(chunk, Expired):
                if self.clock.monotonic() > latest:
                    raise _overdue()
                if during is not None:
                    during()
                self.transcript.tick()
                continue
            taken += chunk
            whole = taken.rfind(b"\n") + 1
            self.transcript.output(taken[shown:whole].decode("utf-8", "replace"))
            shown = max(shown, whole)
        ended = child.wait(latest)
        if isinstance(ended, Expired):
            raise _overdue()
        self.transcript.output(taken[shown:].decode("utf-8", "replace"))
        errors = child.stderr.decode("utf-8", "replace")
        self.transcript.output(errors)
        return Done(ended.code, taken.decode("utf-8", "replace"), errors)


def _overdue() -> CountermarkError:
    return CountermarkError(
        "demo_failed",
        f"A command took more than {MOST_SECONDS} s and was stopped.",
        next_action="Run the demo again on a machine that is less busy.",
    )
