"""`countermark scene trash` and `scene untrash`: away with its history, and back with it."""

from __future__ import annotations

from typing import Any

import click

from countermark.kernel.errors import CountermarkError
from countermark.scene.codes import refuse
from countermark.scene.desk import Desk, Wanted
from countermark.surfaces.cli.call import Answer, Call, command
from countermark.surfaces.cli.scene_call import open_desk, saved, writing
from countermark.surfaces.cli.terminal import columns, one_line, short


@command(example="scene trash plan", notes="`scene trash --list` shows what lies in the trash.")
@click.argument("name", required=False)
@click.option("--list", "listing", is_flag=True, help="List what lies in the trash; puts nothing there.")
@writing
def trash(
    call: Call,
    name: str | None,
    *,
    listing: bool,
    grant_id: str | None,
    revision: int | None,
    request_id: str | None,
) -> Answer:
    """Put a scene into the trash, with its history, or list what lies there.

    A new scene of that name inherits nothing of it; `scene untrash` brings it back.
    """
    if listing == (name is not None):
        raise click.UsageError("Name one scene, or give --list.")
    with open_desk(call, grant_id) as desk:
        if listing:
            return _listed(desk.trashed())
        made = desk.trash(name, Wanted(revision=revision, request_id=request_id, payload={}))
    return saved(made, f"{one_line(str(name))} is in the trash")


@command(example="scene untrash plan", notes="`scene trash --list` shows what lies in the trash, with the ids.")
@click.argument("what", metavar="NAME|ID")
@click.option("--as", "to", metavar="NEW", help="Another name for it, where its own is taken.")
@click.option("--request-id", metavar="ID", help="Yours: said again, it answers the first result.")
@click.option("--grant", "grant_id", metavar="GRANT", help="The grant to act under; left out: the default one.")
def untrash(call: Call, what: str, to: str | None, request_id: str | None, grant_id: str | None) -> Answer:
    """Bring a scene back out of the trash, with its history.

    A name means what was put there last under it. It never takes the place of a scene that is there.
    """
    with open_desk(call, grant_id) as desk:
        made = desk.untrash(_entry(desk, what), to, request_id)
    return saved(made, f"{made['name']} is back")


def _entry(desk: Desk, what: str) -> str:
    """Return an id in the trash: the one given, or that of what was put there last under a name."""
    entries = desk.trashed()
    for entry in entries:
        if what in (entry["id"], entry["name"]):
            return str(entry["id"])
    raise _missing(what)


def _missing(what: str) -> CountermarkError:
    return refuse(
        "not_found",
        f"Nothing named {one_line(what)[:100]} lies in the trash.",
        next_action="See what does: `countermark scene trash --list`.",
    )


def _listed(entries: list[dict[str, Any]]) -> Answer:
    if not entries:
        return Answer({"trashed": []}, ["The trash is empty."])
    lines = columns(
        (
            (
                one["name"],
                str(one["revision"]),
                str(one["elementCount"]),
                f"{one['byteLength']:,}",
                one["trashedAt"] or "",
                one["trashedBy"] or "",
                short(one["sha256"] or ""),
                one["id"],
                "" if one["nameFree"] else "its name is taken: --as NEW",
            )
            for one in entries
        ),
        head=("NAME", "REV", "ELEMENTS", "BYTES", "TRASHED", "BY", "SHA-256", "ID", ""),
    )
    return Answer({"trashed": entries}, lines)
