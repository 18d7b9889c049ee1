"""What the commands of scenes share: the desk they work at, the options of a write, and how one is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from countermark.scene.desk import Desk
from countermark.surfaces.cli.call import Answer, Call
from countermark.surfaces.cli.terminal import pairs, short

Facts = Mapping[str, Any]


@contextmanager
def open_desk(call: Call, grant_id: str | None = None) -> Iterator[Desk]:
    """Open the workspace, and stand before its scenes under a grant; left out: the workspace's own."""
    with call.open(working=True) as workspace:
        desk = Desk(workspace, actor="cli", grant=grant_id)
        try:
            yield desk
        finally:
            desk.close()


def writing(function: Callable[..., Answer]) -> Callable[..., Answer]:
    """Add what every write takes: grant, revision and request id."""
    for option in (
        click.option("--request-id", metavar="ID", help="Yours: said again, it answers the first result."),
        click.option("--revision", type=click.IntRange(0), help="What this is made against; left out: what is there."),
        click.option("--grant", "grant_id", metavar="GRANT", help="The grant to act under; left out: the default one."),
    ):
        function = option(function)
    return function


def saved(made: Facts, said: str) -> Answer:
    """Tell what a write did: revision and digest, and whether it was done before."""
    if made.get("duplicate"):
        said = f"Done before under this request id; nothing was done again ({said})"
        if made.get("payloadMatches") is False:
            said += ". What was asked this time is something else, and was not done"
    lines = [
        f"{said}.",
        *pairs(
            ("revision", str(made.get("revision", ""))),
            ("sha-256", short(made.get("sha256") or "")),
            ("restored", f"from revision {made['restoredFrom']}" if made.get("restoredFrom") is not None else ""),
            ("ledger", "not entered yet: it will be, late" if made.get("unledgered") else ""),
        ),
    ]
    return Answer(dict(made), lines)
