"""`countermark scene import`: a drawing that another program wrote becomes a scene, and a report says what was done."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

import click

from countermark.kernel import beneath
from countermark.kernel.errors import CountermarkError
from countermark.scene import name as names
from countermark.scene.codes import refuse
from countermark.scene.exchange.take import LARGEST_FILE, Taken
from countermark.surfaces.cli.call import Answer, Call, command
from countermark.surfaces.cli.scene_call import open_desk, saved
from countermark.surfaces.cli.terminal import columns, count, one_line, pairs, short

_SUFFIXES: Final = re.compile(r"(\.excalidraw)?(\.(md|png|svg|json|excalidraw|excalidrawlib))?$", re.IGNORECASE)
_OTHERS: Final = re.compile(r"[^a-z0-9._-]+")
_LONGEST: Final = 64
_SHOWN: Final = 60


@command(
    example="scene import sketch.excalidraw.md --name sketch",
    dry_run=True,
    notes="FILE: .excalidraw, .excalidrawlib, skeletons, Obsidian's .excalidraw.md, or a PNG or SVG with its scene.",
)
@click.argument("file")
@click.option("--name", metavar="NAME", help="The scene's name; left out: made of the file's.")
@click.option("--library", "into_library", is_flag=True, help="Put a library's items into the folder's own library.")
@click.option("--request-id", metavar="ID", help="Yours: told back when the same call is made again.")
@click.option("--grant", "grant_id", metavar="GRANT", help="The grant to act under; left out: the default one.")
def import_scene(
    call: Call, file: str, *, name: str | None, into_library: bool, request_id: str | None, grant_id: str | None
) -> Answer:
    """Import a drawing that another program wrote.

    What is wrong in it is repaired, dropped or left, and each is told; what is sound keeps its bytes. Never takes the
    place of a scene that is there.
    """
    if into_library and name is not None:
        raise click.UsageError("Give --name for a scene, or --library, not both.")
    data = beneath.open_argument(file, LARGEST_FILE)
    with open_desk(call, grant_id) as desk:
        taken = desk.take(data)
        if into_library and not taken.items:
            raise _no_library(file)
        if into_library:
            made = _planned(taken) if call.dry_run else desk.import_items(taken)
            return _shelved(made, taken, dry_run=call.dry_run)
        given = names.check(name) if name is not None else _named(file)
        if call.dry_run:
            return _would(given, taken)
        made = desk.import_scene(given, taken, data, request_id)
    said = saved(made, f"Imported {made['name']} from {_kind(taken)}: {count(made['elementCount'], 'element')}")
    return said._replace(lines=[*said.lines, *_told(taken)])


def _named(file: str) -> str:
    """Return the name that a file's own name comes nearest to; raise `invalid_name` when nothing is left of it."""
    stem = _SUFFIXES.sub("", PurePath(file).name)
    plain = _OTHERS.sub("-", stem.lower()).strip("-._")
    return names.check(re.sub(r"\.{2,}", ".", plain)[:_LONGEST].strip("-._") or stem)


def _would(name: str, taken: Taken) -> Answer:
    made = {"name": name, "elementCount": len(taken.scene.elements), **taken.wire()}
    said = f"Would import {name} from {_kind(taken)}: {count(made['elementCount'], 'element')}."
    return Answer(made, [said, *_told(taken)])


def _planned(taken: Taken) -> dict[str, Any]:
    return {"itemCount": len(taken.items), **taken.wire()}


def _shelved(made: Mapping[str, Any], taken: Taken, *, dry_run: bool) -> Answer:
    if dry_run:
        return Answer(made, [f"Would put {count(len(taken.items), 'item')} into the library.", *_told(taken)])
    known = f", {count(made['known'], 'item')} there already" if made["known"] else ""
    lines = [
        f"Put {count(made['added'], 'item')} into the library{known}.",
        *pairs(("items", str(made["itemCount"])), ("sha-256", short(made["revision"]))),
    ]
    return Answer(made, [*lines, *_told(taken)])


def _kind(taken: Taken) -> str:
    return taken.format if taken.format[0].isupper() else f"a {taken.format}".replace("a skeletons", "skeletons")


def _told(taken: Taken) -> list[str]:
    """Tell what was done on the way in, or that nothing had to be."""
    if not taken.notes:
        return ["Nothing had to be repaired, and nothing was dropped."]
    counts = [f"{number} {deed}" for deed, number in taken.counts.items() if number]
    rows = ((note.deed, note.about, note.what) for note in taken.notes[:_SHOWN])
    more = len(taken.notes) - _SHOWN
    last = [f"and {more} more: see --json"] if more > 0 else []
    return ["", f"{', '.join(counts)}:", *columns(rows), *last]


def _no_library(file: str) -> CountermarkError:
    return refuse(
        "invalid_operation",
        f"{one_line(file)[:100]} is no library, or has no item that can be kept.",
        next_action="Leave --library out to import it as a scene.",
    )
