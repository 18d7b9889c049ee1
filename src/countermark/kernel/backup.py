"""The ledger's own care: check it, back it up, restore it (seed 1 §16)."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import defaultdict
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from countermark.kernel import schema
from countermark.kernel.canon import canonical, parse_strict
from countermark.kernel.clock import SystemClock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root
from countermark.kernel.ledger import GENESIS, Ledger, LockGate, as_ours, chain
from countermark.kernel.lock import Lock
from countermark.kernel.process import descendants_alive

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

LEDGER: Final = "ledger.sqlite"
INCOMING: Final = "incoming.sqlite"
ASSETS: Final = "assets.json"
_CAP: Final = 1 << 34


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a ledger: where, and in words."""

    place: str
    sentence: str


def check(workspace: Workspace) -> list[Fault]:
    """Return what is wrong with the ledger and the bytes it relies on; an empty list is a sound ledger."""
    faults = examine(workspace.path / ".countermark" / LEDGER)
    rows = workspace.ledger.read(
        lambda tx: tx.all("SELECT DISTINCT digest FROM artifacts WHERE state IN ('published', 'staged')")
    )
    audit = workspace.store.verify_all()
    broken = set(audit.corrupt)
    for (digest,) in rows:
        if digest in broken or not workspace.store.has(digest):
            faults.append(Fault(f"store/{digest[:12]}", "an artefact the ledger names is missing or damaged"))
    return faults


def examine(path: Path) -> list[Fault]:
    """Return what is wrong inside a ledger file: SQLite's own check, the chain of events, the sums of uses."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version != schema.VERSION:
                return [Fault("schema", f"it has schema {version}, and this program knows {schema.VERSION}")]
            words = [row[0] for row in connection.execute("PRAGMA integrity_check(8)")]
            faults = [Fault("sqlite", word) for word in words if word != "ok"]
            return faults or [*_chain_faults(connection), *_sum_faults(connection)]
    except sqlite3.Error as error:
        known = as_ours(error, path)
        if known.code != "ledger_broken":  # no room to look is no damage
            raise known from error
        return [Fault("sqlite", str(error))]


def _chain_faults(connection: sqlite3.Connection) -> list[Fault]:
    previous, expected = GENESIS, 1
    rows = connection.execute("SELECT seq, task, kind, at, body, hash FROM events ORDER BY seq")
    for seq, task, kind, at, body, seal in rows:
        if seq != expected or seal != chain(previous, seq, task, kind, at, body):
            return [Fault(f"event {expected}", "the chain is broken here: an event was changed, removed or added")]
        previous, expected = seal, seq + 1
    return []


def _sum_faults(connection: sqlite3.Connection) -> list[Fault]:
    lineage = {row[0]: (row[0], *json.loads(row[1])) for row in connection.execute("SELECT id, lineage FROM grants")}
    sums: dict[str, dict[str, int]] = defaultdict(dict)
    for owner, counter, amount in connection.execute("SELECT grant_id, counter, SUM(amount) FROM uses GROUP BY 1, 2"):
        for grant_id in lineage.get(owner, ()):
            sums[grant_id][counter] = sums[grant_id].get(counter, 0) + amount
    return [
        Fault(f"grant {grant_id}", "its spent budget is not the sum of its uses")
        for grant_id, spent in connection.execute("SELECT id, spent FROM grants")
        if json.loads(spent) != sums[grant_id]
    ]


def backup(workspace: Workspace, target: str | os.PathLike[str]) -> Path:
    """Write a consistent copy of the ledger and the list of all stored bytes into a new folder; return it.

    The copy is examined before the call returns. Raises `output_exists` when the folder is there.
    """
    path = Path(target).absolute()
    with Root(path.parent) as parent:
        if parent.exists(path.name):
            raise CountermarkError(
                "output_exists",
                f"{path} is there already; a backup goes into a folder of its own.",
                next_action="Name a folder that does not exist yet.",
                details={"path": str(path)},
            )
        parent.make_dir(path.name)
    with Root(path) as files:
        workspace.ledger.copy_to(path / LEDGER)
        files.sync_tree()
        faults = examine(path / LEDGER)
        if faults:
            raise CountermarkError(
                "ledger_broken",
                f"The copy is not sound: {faults[0].place}: {faults[0].sentence}.",
                next_action="Run `countermark ledger check`.",
            )
        assets = {"schema": schema.VERSION, "workspace": workspace.id, "assets": sorted(workspace.store.digests())}
        files.create(ASSETS, canonical(assets) + b"\n")
    return path


def restore(folder: str | os.PathLike[str], source: str | os.PathLike[str]) -> Path:
    """Put a backed up ledger in the place of a workspace's, and keep the one it replaces beside it; return that path.

    Afterwards open the workspace and call `settle_all`: unfinished tasks of the restored ledger are reconciled with
    what is really there. Raises `workspace_newer`, `ledger_broken`, and `resource_busy` while a process has the
    workspace open, before anything moves. After a crash in the middle a workspace without a ledger is refused:
    restore again.
    """
    home = Path(folder) / ".countermark"
    origin = Path(source) / LEDGER
    refuse_unsound(origin)
    with Root(home) as files, Root(source) as copy:
        parse_strict(copy.read(ASSETS, cap=1 << 30), what=ASSETS)
        refuse_open(folder)
        kept = _free_name(files)
        if files.exists(INCOMING):
            files.remove(INCOMING)
        descriptor = copy.open_regular(LEDGER)
        try:
            files.copy_in(INCOMING, descriptor, _CAP)
        finally:
            os.close(descriptor)
        _fold(home, files)
        # A ledger without its log beside it would open, and lack its last commits: the log goes last.
        for suffix in ("", "-wal", "-shm"):
            if files.exists(LEDGER + suffix):
                files.move_new(LEDGER + suffix, kept + suffix)
        files.move_new(INCOMING, LEDGER)
    return home / kept


def refuse_open(folder: str | os.PathLike[str]) -> None:
    """Raise `resource_busy` while any process has the workspace in this folder open."""
    locks = Path(folder) / ".countermark" / "locks"
    with Root(locks) as files:
        entries = files.listing()
    for entry in entries:
        if entry.name.startswith("r-") and entry.name.endswith(".live") and descendants_alive(locks / entry.name):
            raise CountermarkError(
                "resource_busy",
                "A process has this workspace open, so its ledger cannot be replaced.",
                next_action="End it, then restore again.",
            )


def _fold(home: Path, files: Root) -> None:
    """Put the log's commits into the ledger itself, where it is sound enough to be opened."""
    if files.exists(LEDGER):
        with suppress(CountermarkError), files.inside("locks") as locks, closing(Lock(locks, "ledger.lock")) as lock:
            Ledger(home / LEDGER, LockGate(lock), SystemClock()).close()


def refuse_unsound(origin: Path) -> None:
    """Raise `not_found`, `workspace_newer` or `ledger_broken` unless this is a sound copy of a ledger."""
    if not origin.is_file():
        raise CountermarkError(
            "not_found", f"{origin.parent} holds no backup.", next_action="Name a folder made by `ledger backup`."
        )
    with closing(sqlite3.connect(f"{origin.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.Error:
            version = 0
    if version > schema.VERSION:
        raise CountermarkError(
            "workspace_newer",
            f"The backup has schema {version}; this program knows up to {schema.VERSION}.",
            next_action="Use the newer Countermark that wrote it.",
        )
    faults = examine(origin)
    if faults:
        raise CountermarkError(
            "ledger_broken",
            f"The backup is not sound: {faults[0].place}: {faults[0].sentence}.",
            next_action="Use another backup; nothing was changed.",
        )


def _free_name(files: Root) -> str:
    number = 1
    while files.exists(f"replaced-{number}.sqlite"):
        number += 1
    return f"replaced-{number}.sqlite"
