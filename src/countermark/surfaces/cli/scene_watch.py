"""`countermark scene watch`: every change of the scenes of a folder, as it happens: which, who, and what in words."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

import click

from countermark.kernel.errors import CountermarkError
from countermark.scene import document
from countermark.scene import name as names
from countermark.scene.desk import Desk, Found
from countermark.scene.diff import diff
from countermark.surfaces.cli.call import Call, command, envelope
from countermark.surfaces.cli.scene_call import open_desk
from countermark.surfaces.cli.terminal import one_line, paint
from countermark.surfaces.web.watch import Watch

PAUSE: Final = 0.25
"""Seconds between two looks at the folder."""

HELD: Final = 64 << 20
"""Bytes of scenes that are held to say what was changed in them; beyond, it is looked up in their history."""

_SHOWN: Final = 8


@command(example="scene watch plan", notes="With --json, one JSON object a line.")
@click.argument("name", required=False)
@click.option("--changes", type=click.IntRange(1), help="Stop after so many; left out: at Ctrl-C.")
def watch(call: Call, name: str | None, changes: int | None) -> None:
    """Tell every change of a scene, or of all, as it happens.

    Whoever made it: the page, an agent, a command, another program.
    """
    if name is not None:
        names.check(name)
    with open_desk(call) as desk:
        if name is not None:
            desk.read(name)
        witness = Witness(desk, name)
        if not call.json:
            what = "the scenes" if name is None else one_line(name)
            sys.stdout.write(f"Watching {what} in {one_line(str(desk.folder))}, until Ctrl-C.\n")
            sys.stdout.flush()
        with suppress(KeyboardInterrupt):  # that is how it ends
            _tell(call, witness, changes)


def _tell(call: Call, witness: Witness, most: int | None) -> None:
    for told, change in enumerate(witness.changes(), 1):
        if call.json:
            sys.stdout.write(envelope(call.command, data=change, exit_status=0))
        else:
            sys.stdout.writelines(f"{line}\n" for line in _lines(change))
        sys.stdout.flush()
        if told == most:
            return


class Witness:
    """Remembers what the scenes of a folder were, and tells how they become others."""

    def __init__(self, desk: Desk, name: str | None) -> None:
        """Look at one scene, or at all."""
        self._desk = desk
        self._name = name
        self._watch = Watch(desk.folder, self._listing)
        self._held: dict[str, bytes] = {}
        self._size = 0
        self._watch.turn()
        self._revisions = {one: seen.revision for one, seen in self._watch.look.items()}
        for one in self._watch.look:
            self._keep(one)

    def changes(self) -> Iterator[dict[str, Any]]:
        """Yield every change, for ever; between two looks the thread sleeps."""
        while True:
            told = self._watch.turn()
            moved = {change["to"] for change in told if "to" in change}
            for change in told:
                if change["change"] == "created" and change["name"] in moved:
                    self._keep(change["name"])
                else:
                    yield from self._told(change)
            time.sleep(PAUSE)

    def _listing(self) -> list[dict[str, Any]]:
        rows = self._desk.listing()
        return rows if self._name is None else [row for row in rows if row["name"] == self._name]

    def _told(self, change: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        name = str(change["name"])
        if change["change"] == "removed":
            self._drop(name)
            to = change.get("to")
            yield {"name": name, "change": "renamed" if to else "removed", **({"to": to} if to else {})}
            return
        try:
            found = self._desk.read(name)
        except CountermarkError as error:
            yield {"name": name, "change": "unreadable", "code": error.code, "lines": [str(error)]}
            return
        known = self._revisions.get(name)
        if known == found.revision:  # only the sidecar was written
            return
        before = self._before(name, known)
        self._hold(found)
        facts = {"revision": found.revision, "sha256": found.sha256, "by": found.updated_by, "at": found.updated_at}
        said = {"name": name, "change": change["change"], **facts}
        if before is None:
            yield {**said, "summary": f"{found.scene.live} elements", "lines": []}
            return
        differs = diff(document.load(before, self._desk.limits), found.scene)
        yield {**said, "summary": differs.summary(), "lines": differs.lines()}

    def _before(self, name: str, revision: int | None) -> bytes | None:
        held = self._held.get(name)
        if held is not None or revision is None:
            return held
        with suppress(CountermarkError):
            return self._desk.version(name, revision).data
        return None

    def _keep(self, name: str) -> None:
        with suppress(CountermarkError):
            self._hold(self._desk.read(name))

    def _hold(self, found: Found) -> None:
        self._drop(found.name)
        self._revisions[found.name] = found.revision
        if self._size + len(found.data) <= HELD:
            self._held[found.name] = found.data
            self._size += len(found.data)

    def _drop(self, name: str) -> None:
        self._size -= len(self._held.pop(name, b""))
        self._revisions.pop(name, None)


def _lines(change: Mapping[str, Any]) -> Iterator[str]:
    """Return a change for a person: the hour, the scene, revision and who; then what, beneath where it is much."""
    what = {"removed": "is gone", "renamed": f"is now {change.get('to')}", "unreadable": "cannot be read"}
    hour = datetime.now().astimezone().strftime("%H:%M:%S")
    said = what.get(str(change["change"]))
    if said is None:
        place = "is new" if change["change"] == "created" else f"revision {change['revision']}"
        said = f"{place}, by {_who(change['by'])}: {change['summary']}"
    yield f"{paint(hour, 'dim', sys.stdout)}  {paint(one_line(change['name']), 'bold', sys.stdout)}  {one_line(said)}"
    lines = change.get("lines") or ()
    yield from (f"          {one_line(line)}" for line in lines[:_SHOWN])
    if len(lines) > _SHOWN:
        yield f"          and {len(lines) - _SHOWN} more: `countermark scene diff {one_line(change['name'])}`"


def _who(by: str | None) -> str:
    """Return who wrote a revision; what nobody of ours wrote, the store calls recovered."""
    return "another program" if by in (None, "", "recovery") else one_line(by)
