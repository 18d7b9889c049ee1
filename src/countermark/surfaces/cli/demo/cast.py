"""Who and what the moments are played with, and what every judgement of them stands on.

Every judgement is of something outside the program that is judged: its exit status and words, the digest of a file, a
count that a process of its own wrote down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from countermark.kernel.errors import CountermarkError
from countermark.record.scoreboard import Moment, Row
from countermark.surfaces.cli.demo import place
from countermark.surfaces.cli.demo.agent import Agent
from countermark.surfaces.cli.demo.shell import Shell
from countermark.testkit.watcher import Watcher

HOLDER: Final = "agent"


class Reach(NamedTuple):
    """What the agent's grant lets it write, in the words of `grant narrow`, and why; and the tools it gets."""

    toolset: str
    terms: Sequence[str]
    why: str


class Cast:
    """Who and what the moments are played with: the shell, the folder, the agent and its grant."""

    def __init__(self, shell: Shell, folder: Path, workspace: str, reach: Reach) -> None:
        """Begin in a workspace of the folder; the agent comes when it is first asked for."""
        self.shell = shell
        self.folder = folder
        self.home = folder / workspace
        self._reach = reach
        self._grant: str | None = None
        self._agent: Agent | None = None
        self._session = ExitStack()

    @property
    def grant(self) -> str:
        """Return the name of the grant that the agent acts under; it is made at the first time."""
        if self._grant is None:
            narrow = ("grant", "narrow", "default", *self._reach.terms, "--holder", HOLDER)
            self._grant = self.shell.run(*narrow, why=self._reach.why).value("grant")
        return self._grant

    @property
    def agent(self) -> Agent:
        """Return the agent in its session; a new session when there is none."""
        if self._agent is None:
            self._agent = self._session.enter_context(Agent(self.shell, self.grant, self._reach.toolset))
        return self._agent

    def dismiss(self) -> None:
        """End the agent's session."""
        self._agent = None
        self._session.close()

    def watcher(self, name: str, watched: str) -> Watcher:
        """Return a witness that writes its own file, outside the workspace."""
        return Watcher(self.folder / place.WITNESS / name, self.home, [watched])

    def introduce(self, witness: Watcher, what: str) -> None:
        """Say who the witness is and where it writes."""
        file = f"{place.WITNESS}/{witness.file.name}"
        self.shell.transcript.fact(f"a witness, process {witness.pid}, writes down every new {what} it sees, in {file}")

    def lines_on_file(self, witness: Watcher, what: str) -> str:
        """Return what `wc -l` says of the witness's file: one line for each effect it saw."""
        name = f"{place.WITNESS}/{witness.file.name}"
        lines = self.shell.run_other("wc", "-l", f"../{name}").out.split()[0]
        return f"{name} has {lines} line{'' if lines == '1' else 's'}, one for each new {what}"


Scenes = Mapping[Moment, Sequence[Callable[[Cast], Row]]]


def perform(on: Cast, scenes: Scenes) -> Iterator[Row]:
    """Play all moments in their order; one that breaks off does not hold, and the next is played all the same."""
    try:
        for letter, moment in zip("abcd", Moment, strict=True):
            on.shell.transcript.title(f"({letter}) {moment.value}")
            for scene in scenes[moment]:
                try:
                    yield scene(on)
                except (CountermarkError, OSError) as error:
                    on.shell.transcript.fact(f"it broke off: {error}")
                    yield Row(moment, "it broke off", str(error), held=False)
    finally:
        on.dismiss()


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and digests of all files in a folder, in hexadecimal."""
    if path.is_dir():
        rows = [f"{one.relative_to(path)} {digest_of(one)}\n" for one in sorted(path.rglob("*")) if one.is_file()]
        return sha256("".join(rows).encode()).hexdigest()
    return sha256(path.read_bytes()).hexdigest()
