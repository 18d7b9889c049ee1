"""`countermark ledger check | backup | restore | events`: the care of the one record."""

from __future__ import annotations

import os
from pathlib import Path

import click

from countermark.kernel import backup as care
from countermark.kernel.errors import CountermarkError
from countermark.kernel.workspace import HOME
from countermark.surfaces.cli import story
from countermark.surfaces.cli.call import Answer, Call, command
from countermark.surfaces.cli.carry import carry
from countermark.surfaces.cli.terminal import clock_time, columns, count, iso, one_line


@command(example="ledger check")
def check(call: Call) -> Answer:
    """Check the ledger, its chain of events and the stored bytes."""
    faults = care.examine(call.place() / HOME / care.LEDGER)
    events = None
    if not faults:
        with call.open() as workspace:
            faults = care.check(workspace)
            row = workspace.ledger.read(lambda tx: tx.one("SELECT COUNT(*) FROM events"))
            events = int(row[0]) if row else 0
    found = [{"place": fault.place, "sentence": fault.sentence} for fault in faults]
    if not faults:
        said = f"The ledger is sound: {count(events or 0, 'event')} in an unbroken chain, stored bytes as they were."
        return Answer({"sound": True, "events": events, "faults": found}, [said])
    error = CountermarkError(
        "ledger_broken",
        f"The ledger is not sound: {faults[0].place}: {faults[0].sentence}.",
        next_action="Keep a copy of the folder, then restore a backup: `countermark ledger restore DIR`.",
        details={"sound": False, "faults": found},
    )
    return Answer({}, columns([(fault.place, fault.sentence) for fault in faults]), error=error)


@command(example="ledger backup ../mybrand-backup", dry_run=True)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def backup(call: Call, folder: Path) -> Answer:
    """Write a consistent copy of the ledger into a new folder.

    The copy is examined before this says that it is done. It lists the stored bytes by digest; it does not hold them.
    """
    with call.open() as workspace:
        if call.dry_run:
            if os.path.lexists(folder):
                raise CountermarkError(
                    "output_exists", f"{folder} exists already.", next_action="Name a folder that is not there yet."
                )
            return Answer({"folder": str(folder)}, [f"Would write a copy of the ledger into {folder}."])
        made = care.backup(workspace, folder)
        row = workspace.ledger.read(lambda tx: tx.one("SELECT COUNT(*) FROM events"))
    size = (made / care.LEDGER).stat().st_size
    events = int(row[0]) if row else 0
    said = f"Backed up into {one_line(str(made))}: {count(events, 'event')}, {size} bytes, examined and sound."
    return Answer({"folder": str(made), "events": events, "bytes": size}, [said])


@command(example="ledger restore ../mybrand-backup", dry_run=True)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def restore(call: Call, folder: Path) -> Answer:
    """Put a backed up ledger in the place of this one.

    The one it replaces is kept beside it. Unfinished tasks of the restored ledger are reconciled with what is there.
    """
    place = call.place()
    if call.dry_run:
        care.refuse_open(place)
        care.refuse_unsound(folder / care.LEDGER)
        return Answer({"folder": str(folder)}, [f"Would restore {folder}, and keep the present ledger beside it."])
    kept = care.restore(place, folder)
    with call.open(working=True) as workspace:
        left = carry(workspace, workspace.settle_all)
    lines = [f"Restored from {one_line(str(folder))}. The ledger it replaced is {one_line(str(kept))}."]
    lines += [f"Task {task} is still open; see `countermark task why {task}`." for task in left]
    return Answer({"replaced": str(kept), "open": left}, lines)


@command(example="ledger events --since 0")
@click.option("--since", type=click.IntRange(min=0), default=0, show_default=True, help="Only those after this number.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=1000, show_default=True, help="How many at the most.")
@click.option("--task", "task_id", metavar="TASK", help="Only those of this task.")
def events(call: Call, since: int, limit: int, task_id: str | None) -> Answer:
    """List events, oldest first.

    With --json each has its whole body and its hash, and `next` is the number to go on from.
    """
    with call.open() as workspace:
        found = workspace.ledger.events(since, task=task_id, limit=limit)
    wire = [
        {"seq": e.seq, "task": e.task or None, "kind": e.kind, "at": iso(e.at), "body": e.body, "hash": e.hash}
        for e in found
    ]
    rows = [(str(e.seq), clock_time(e.at), e.task or "-", story.sentence(e)) for e in found]
    lines = columns(rows) if rows else [f"No events after {since}."]
    return Answer({"events": wire, "next": found[-1].seq if found else since}, lines)
