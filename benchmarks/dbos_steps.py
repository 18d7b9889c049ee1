"""A governed operation against a step of DBOS on SQLite: durable work, nearest in kind, by an established engine.

A step of DBOS is one row, committed after the step returned. A governed operation is admission, result, and verdicts
with completion: three durable commits; no receipt is made, as DBOS makes none. DBOS is measured as shipped (rollback
journal) and with a database file that was set to WAL beforehand, in the pattern that suits it best: many steps in one
workflow. What the disk alone would allow, three bare commits, stands in the note: where syncs are slow, three of ours
cannot outrun one of theirs.
"""

from __future__ import annotations

import importlib.metadata
import sqlite3
import statistics
import subprocess
import sys
from pathlib import Path
from typing import IO, Final, cast

from _claim import Row, finish, interleave, per_second, rate, ratio, scratch, spread
from _operation import Client, create
from operation import COMMITS, bare

ROUNDS: Final = 14
SLICE: Final = 0.4
STEPS: Final = 50
PEER: Final = Path(__file__).with_name("_dbos.py")


class Engine:
    """A process with DBOS in it."""

    def __init__(self, file: Path) -> None:
        """Start it and wait until it is ready."""
        argv = [sys.executable, str(PEER), "steps", str(file)]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.sqlite, self.journal = self._line().split()

    def rate(self) -> float:
        """Return steps a second, over one workflow."""
        pipe = cast("IO[str]", self._process.stdin)
        pipe.write(f"{STEPS}\n")
        pipe.flush()
        return float(self._line())

    def _line(self) -> str:
        line = cast("IO[str]", self._process.stdout).readline()
        assert line, "DBOS died"
        return line

    def close(self) -> None:
        """End it."""
        cast("IO[str]", self._process.stdin).close()
        self._process.wait()


if __name__ == "__main__":
    with scratch() as folder:
        preset = folder / "wal.sqlite"
        with sqlite3.connect(preset) as file:
            assert file.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
        file.close()
        shipped, wal = Engine(folder / "shipped.sqlite"), Engine(preset)
        assert (shipped.journal, wal.journal) == ("delete", "wal")
        client = Client(create(folder / "space"), "one")
        for _ in range(20):
            client.operation()
        shipped.rate()
        wal.rate()
        commit = bare(folder / "bare.sqlite", "x" * 300)
        limit, ours, theirs, preset_rate = interleave(
            ROUNDS,
            lambda: rate(commit, SLICE / 2) / COMMITS,
            lambda: rate(client.operation, SLICE),
            shipped.rate,
            wal.rate,
        )
        shipped.close()
        wal.close()
    version = f"DBOS {importlib.metadata.version('dbos')}, SQLite {shipped.sqlite}"
    disk = f"three bare commits: {per_second(limit, 'times')}, of which ours is {ratio(ours, limit):.2f}"
    plain = f"{statistics.median(ours):,.0f} operations/s"
    finish(
        [
            Row(
                "a governed operation beside a step of DBOS as shipped",
                plain,
                f"{per_second(theirs, 'steps')} of {version}, rollback journal",
                ratio(ours, theirs),
                2.0,
                note=f"{spread(ours, theirs)}; {disk}",
            ),
            Row(
                "the same with DBOS's file set to WAL beforehand",
                plain,
                f"{per_second(preset_rate, 'steps')} of {version}, WAL",
                ratio(ours, preset_rate),
                1.2,
                note=f"{spread(ours, preset_rate)}; {disk}",
            ),
        ]
    )
