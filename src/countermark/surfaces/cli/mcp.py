"""`countermark mcp`: a domain's tools for an agent, over standard input and output."""

from __future__ import annotations

import click

from countermark.surfaces.cli import opening
from countermark.surfaces.cli.call import Answer, Call, command


@command(example="mcp --tools vector")
@click.option(
    "--tools",
    "toolsets",
    multiple=True,
    default=("vector",),
    show_default=True,
    help="A set: vector, scene, scene-view. Repeatable, or several with commas.",
)
@click.option("--grant", "grant_id", metavar="GRANT", help="The grant all calls act under; by default the workspace's.")
def mcp(call: Call, toolsets: tuple[str, ...], grant_id: str | None) -> Answer | None:
    """Serve the tools of a domain to an agent, over standard input and output."""
    opening.module("countermark.surfaces.mcp.server")  # names what is not installed, before anything is served
    names = [name for one in toolsets for name in one.split(",") if name]
    opening.module("countermark.surfaces.mcp").serve(call.place(), toolsets=names, grant=grant_id)
    return None
