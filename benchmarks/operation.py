"""A governed operation against what the disk allows: event and compare-and-set commits of bare SQLite.

The peer is a loop on the same disk with the same pragmas (WAL, synchronous=FULL) that inserts one event of the same
size and moves one row by compare-and-set in each commit. A governed operation is three such commits, so the peer's rate
is divided by three. Beside it stands how fast the background sweep renders evidence, four files a task.
"""

from __future__ import annotations

import itertools
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from _claim import Row, finish, interleave, per_second, rate, ratio, scratch, spread
from _operation import Client, create

from countermark.kernel import projection
from countermark.kernel.workspace import Workspace

COMMITS: Final = 3
ROUNDS: Final = 40
SLICE: Final = 0.3
SWEPT: Final = 64


def bare(path: Path, body: str) -> Callable[[], None]:
    """Return one commit of the peer: an event, and a compare-and-set."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, task TEXT, body TEXT, hash TEXT) STRICT")
    connection.execute("CREATE TABLE tasks (id TEXT PRIMARY KEY, state INTEGER) STRICT")
    connection.execute("INSERT INTO tasks VALUES ('task', 0)")
    numbers = itertools.count()

    def commit() -> None:
        number = next(numbers)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO events (task, body, hash) VALUES ('task', ?, ?)", (body, "0" * 64))
        moved = connection.execute("UPDATE tasks SET state = ? WHERE id = 'task' AND state = ?", (number + 1, number))
        assert moved.rowcount == 1
        connection.execute("COMMIT")

    return commit


def event_size(space: Workspace, task: str) -> int:
    """Return the mean size of the events of a task, in bytes."""
    rows = space.ledger.read(lambda tx: tx.all("SELECT length(body) FROM events WHERE task = ?", (task,)))
    assert len(rows) == COMMITS
    return int(sum(size for (size,) in rows) / COMMITS)


def sweep_rate(space: Workspace) -> float:
    """Return how many tasks a second the sweep renders, its syncs included."""
    began = time.perf_counter()
    done = projection.sweep(space, limit=SWEPT)
    return done / (time.perf_counter() - began)


if __name__ == "__main__":
    with scratch() as folder:
        workspace = create(folder / "space")
        client = Client(workspace, "one")
        warm = [client.operation() for _ in range(60)][-1]
        client.with_receipt()
        commit = bare(folder / "bare.sqlite", "x" * event_size(workspace, warm.task))
        limit, plain, receipted = interleave(
            ROUNDS,
            lambda: rate(commit, SLICE) / COMMITS,
            lambda: rate(client.operation, SLICE),
            lambda: rate(client.with_receipt, SLICE),
        )
        swept = sweep_rate(workspace)
    peer = per_second(limit, "times 3 bare commits")
    finish(
        [
            Row(
                "one governed operation, one client",
                per_second(plain, "operations"),
                peer,
                ratio(plain, limit),
                0.5,
                note=spread(plain, limit),
            ),
            Row(
                "the same with its signed receipt returned",
                per_second(receipted, "operations"),
                peer,
                ratio(receipted, limit),
                0.35,
                note=f"{spread(receipted, limit)}; the sweep renders {swept:,.0f} tasks/s, four files each, synced",
            ),
        ]
    )
