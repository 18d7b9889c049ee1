"""DBOS on SQLite, in a process of its own: `python _dbos.py steps FILE` or `python _dbos.py kill FILE EFFECTS`.

`steps` answers each line `N` on standard input with the steps a second of a workflow of N steps. `kill` runs a workflow
of one step that appends a line to EFFECTS and is then killed before it can return; started again, DBOS recovers it.

DBOS's schema needs SQLite 3.42 or newer, which Debian's Python does not have, so `pysqlite3` takes the place of
`sqlite3` in this process, where it is installed; the version that answers is printed first.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

with suppress(ModuleNotFoundError):  # elsewhere than on Linux the standard module has to be new enough
    sys.modules["sqlite3"] = importlib.import_module("pysqlite3")
    sys.modules["sqlite3.dbapi2"] = importlib.import_module("pysqlite3.dbapi2")

import sqlite3

from dbos import DBOS

RECOVERED_WITHIN = 30.0


@DBOS.step()
def step(number: int) -> int:
    """Do nothing that costs: the time measured is the engine's."""
    return number


@DBOS.workflow()
def steps(count: int) -> int:
    """Take steps one after the other, each durable before the next."""
    for number in range(count):
        step(number)
    return count


@DBOS.step()
def effect(path: str) -> int:
    """Have an effect, and the first time be killed before the engine can know of it."""
    with Path(path).open("a+", encoding="utf-8") as file:
        file.write("effect\n")
        file.flush()
        file.seek(0)
        count = len(file.readlines())
    if count == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return count


@DBOS.workflow()
def once(path: str) -> int:
    """Have one effect."""
    return effect(path)


def launch(file: str) -> None:
    """Open the system database, made as DBOS ships it or with the journal mode that the file already has."""
    DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{file}", "log_level": "ERROR"})
    DBOS.launch()


def answer_rates() -> None:
    """Measure whenever asked."""
    for line in sys.stdin:
        count = int(line)
        began = time.perf_counter()
        assert steps(count) == count
        print(count / (time.perf_counter() - began), flush=True)


def journal_mode(file: str) -> str:
    """Return the journal mode the file has."""
    connection = sqlite3.connect(file)
    try:
        return str(connection.execute("PRAGMA journal_mode").fetchone()[0])
    finally:
        connection.close()


if __name__ == "__main__":
    task, database, *rest = sys.argv[1:]
    launch(database)
    if task == "steps":
        print(f"{sqlite3.sqlite_version} {journal_mode(database)}", flush=True)
        answer_rates()
    else:
        pending = DBOS.list_workflows(status="PENDING")
        if pending:
            DBOS.retrieve_workflow(pending[0].workflow_id).get_result()
        else:
            once(rest[0])
    DBOS.destroy()
