"""Kill a real process at every named point, and see what a new one makes of it.

    python -m countermark.testkit.crash WORKSPACE WORLD SOCKET [--kill-at N] [--seed S]

A victim performs a fixed list of operations in a workspace and prints a line for each receipt it was given. With
`--kill-at N` it gets SIGKILL at the N-th named point it passes. Run again without it, it is the new process: it settles
what was left, repeats every operation with the same keys, and prints the same lines. `Trial` drives both and checks
what must hold: no effect twice by the witness, no acknowledged receipt lost or changed, a sound ledger.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from countermark.kernel import backup, grant, points, publish
from countermark.kernel.canon import sha256_hex
from countermark.kernel.ledger import Tx
from countermark.kernel.plan import Plan
from countermark.kernel.workspace import Workspace
from countermark.testkit.adapter import ScriptedAdapter, World
from countermark.testkit.witness import effects

GRANT: Final = "crash-test"
OPERATIONS: Final[tuple[tuple[str, str, str, dict[str, object]], ...]] = (
    ("direct-1", "test.direct", "world:one", {}),
    ("file-1", "test.staged", "file:doc.txt", {"text": "first"}),
    ("file-2", "test.staged", "file:doc.txt", {"text": "second"}),
    ("folder-1", "test.staged", "file:kit", {"text": "one", "folder": True}),
    ("folder-2", "test.staged", "file:kit", {"text": "two", "folder": True}),
    ("child-1", "test.staged", "file:made/by-child.txt", {"text": "child", "child": True}),
    ("direct-2", "test.direct", "world:one", {}),
)


def plan(word: str, resource: str, payload: dict[str, object]) -> Plan:
    """Return the plan of one operation."""
    return Plan("scripted", word, word, (resource,), payload)


def allow(workspace: Workspace) -> None:
    """Issue the grant under which the operations run."""

    def issue(tx: Tx) -> None:
        terms = grant.Terms(("test",), ("",))
        grant.issue(tx, grant.Grant(GRANT, None, (), "test kit", "test kit", terms, tx.now))

    workspace.ledger.apply(issue)


def act(workspace: Workspace, adapter: ScriptedAdapter) -> None:
    """Settle, then perform every operation once, and print what was acknowledged."""
    workspace.settle_all()
    for key, word, resource, payload in OPERATIONS:
        seen = adapter.observe(resource)
        revision = seen if seen is not None else publish.observe(workspace, resource)
        done = workspace.perform(plan(word, resource, payload), grant=GRANT, revision=revision, key=key)
        sys.stdout.write(f"{key} {done.task} {sha256_hex(done.receipt())}\n")
        sys.stdout.flush()


def main() -> None:
    """Be the victim, or the process that comes after it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("workspace", type=Path)
    parser.add_argument("world", type=Path)
    parser.add_argument("socket", type=Path)
    parser.add_argument("--kill-at", type=int, default=0)
    parser.add_argument("--points", type=Path)
    options = parser.parse_args()
    passed: list[str] = []

    def hook(name: str) -> None:
        passed.append(name)
        if len(passed) == options.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    points.install(hook)
    adapter = ScriptedAdapter(World(options.world, options.socket))
    with Workspace(options.workspace, adapters=[adapter]) as workspace:
        act(workspace, adapter)
    if options.points:
        options.points.write_text("\n".join(passed) + "\n", "utf-8")


@dataclass
class Trial:
    """One workspace with its world and witness, for one victim and the process after it."""

    folder: Path
    socket: Path
    witness_file: Path
    acknowledged: dict[str, str] = field(default_factory=dict)

    def prepare(self) -> None:
        """Make the workspace and the world."""
        (self.folder / "world").mkdir(parents=True)
        adapter = ScriptedAdapter(World(self.folder / "world", self.socket))
        with Workspace.create(self.folder / "space", adapters=[adapter]) as workspace:
            allow(workspace)

    def run(self, *, kill_at: int = 0, points_file: Path | None = None) -> int:
        """Run one process; return its exit status, negative for a signal."""
        argv = [sys.executable, "-m", __spec__.name, str(self.folder / "space"), str(self.folder / "world")]
        argv += [str(self.socket), "--kill-at", str(kill_at)]
        argv += ["--points", str(points_file)] if points_file else []
        source = str(Path(__file__).resolve().parents[2])
        done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": source}, check=False)
        for line in done.stdout.splitlines():
            key, rest = line.split(" ", 1)
            if self.acknowledged.setdefault(key, rest) != rest:
                message = f"the receipt of {key} changed: {self.acknowledged[key]} became {rest}"
                raise AssertionError(message)
        if done.returncode not in (0, -signal.SIGKILL):
            message = f"the process ended with {done.returncode}:\n{done.stderr}"
            raise AssertionError(message)
        return done.returncode

    def check(self) -> None:
        """Raise AssertionError unless everything that must hold after recovery holds."""
        keys = [key for key, *_ in OPERATIONS]
        missing = [key for key in keys if key not in self.acknowledged]
        assert not missing, f"never acknowledged: {missing}"  # noqa: S101 - an assertion is this module's result
        world = World(self.folder / "world")
        assert world.lines("world:one") == ["direct-1", "direct-2"], world.lines("world:one")  # noqa: S101
        seen = effects(self.witness_file)
        twice = [key for key in keys if key.startswith("direct") and seen.count(key) > 1]
        assert not twice, f"effects twice by the witness: {twice}"  # noqa: S101
        space = self.folder / "space"
        assert (space / "doc.txt").read_text("utf-8") == "second"  # noqa: S101
        assert (space / "kit/sub/b.txt").read_text("utf-8") == "two"  # noqa: S101
        with Workspace(space, adapters=[ScriptedAdapter(world)]) as workspace:
            faults = backup.check(workspace)
        assert not faults, faults  # noqa: S101


if __name__ == "__main__":
    main()
