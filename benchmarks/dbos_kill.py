"""SIGKILL after the effect and before its record: how often the effect has happened once everything has recovered.

The peer is DBOS, whose steps run at least once. Ours is a direct effect of the test kit: the process is killed inside
`submit` after the world was changed, and a new process settles the task by looking at the world. Both effects are
counted in files that neither engine reads for its own purposes, after recovery has ended.
"""

from __future__ import annotations

import importlib.metadata
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from _claim import Row, finish, scratch

from countermark.kernel import grant
from countermark.kernel.canon import ABSENT
from countermark.kernel.ledger import Tx
from countermark.kernel.perform import Performed
from countermark.kernel.plan import Plan
from countermark.kernel.workspace import Workspace
from countermark.testkit.adapter import ScriptedAdapter, World

TRIALS: Final = 3
PEER: Final = Path(__file__).with_name("_dbos.py")
RESOURCE: Final = "world:a"


def theirs(folder: Path) -> int:
    """Return how often DBOS had its one effect."""
    effects = folder / "effects"
    argv = [sys.executable, str(PEER), "kill", str(folder / "dbos.sqlite"), str(effects)]
    killed = subprocess.run(argv, check=False, stderr=subprocess.DEVNULL).returncode
    assert killed == -signal.SIGKILL
    subprocess.run(argv, check=True, stderr=subprocess.DEVNULL)
    return len(effects.read_text("utf-8").splitlines())


def ours(folder: Path) -> int:
    """Return how often we had our one effect."""
    (folder / "world").mkdir()
    with Workspace.create(folder / "space") as space:
        terms = grant.Terms(effects=("test",), resources=("",))

        def issue(tx: Tx) -> None:
            grant.issue(tx, grant.Grant("bench", None, (), "local user", "bench", terms, tx.now))

        space.ledger.apply(issue)
    argv = [sys.executable, __file__, "die", str(folder)]
    assert subprocess.run(argv, check=False).returncode == -signal.SIGKILL
    world = World(folder / "world")
    with Workspace(folder / "space", adapters=[ScriptedAdapter(world)]) as space:
        assert space.settle_all() == []
        assert be_called(space).repeated
    return len(world.lines(RESOURCE))


def be_called(space: Workspace) -> Performed:
    """Ask for the one effect under its key."""
    plan = Plan("scripted", "test.direct", "test.direct", (RESOURCE,), {"text": "once"})
    return space.perform(plan, grant="bench", revision=ABSENT, key="once")


def die(folder: Path) -> None:
    """Be the process that is killed."""
    adapter = ScriptedAdapter(World(folder / "world"), {"once": ["die-after"]})
    be_called(Workspace(folder / "space", adapters=[adapter]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["die"]:
        die(Path(sys.argv[2]))
    counts = {"ours": 0, "theirs": 0}
    with scratch() as top:
        for trial in range(TRIALS):
            for name, run in (("ours", ours), ("theirs", theirs)):
                folder = top / f"{name}{trial}"
                folder.mkdir()
                counts[name] += run(folder)
    version = importlib.metadata.version("dbos")
    finish(
        [
            Row(
                "effects after SIGKILL between an effect and its record",
                f"{counts['ours']} for {TRIALS} intents",
                f"{counts['theirs']} of DBOS {version} for {TRIALS} intents",
                counts["ours"] / TRIALS,
                1.0,
                "at most",
                note="the ratio is ours to the intents; both counted after recovery, outside of either engine",
            )
        ]
    )
