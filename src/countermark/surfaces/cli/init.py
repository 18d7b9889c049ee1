"""`countermark init`: a folder becomes a workspace."""

from __future__ import annotations

import os
from pathlib import Path

import click

from countermark.kernel import config, grant
from countermark.kernel.errors import CountermarkError
from countermark.kernel.workspace import Workspace
from countermark.surfaces.cli import story
from countermark.surfaces.cli.call import Answer, Call, command
from countermark.surfaces.cli.terminal import one_line, pairs, short


@command(example="init mybrand", dry_run=True)
@click.argument("folder", metavar="DIR")
@click.option("--name", default="", help="What the workspace is called; by default the folder's name.")
def init(call: Call, folder: str, name: str) -> Answer:
    """Make a workspace, with its key and its default grant.

    The folder may exist and hold anything but a workspace.
    """
    path = Path(folder)
    if os.path.lexists(path) and not path.is_dir():
        raise CountermarkError(
            "output_exists",
            f"{folder} is there already, and is no folder.",
            next_action="Name a folder, or a name that is not taken.",
            details={"path": folder},
        )
    if call.dry_run:
        return _would_make(path)
    with Workspace.create(path, name=name) as workspace:
        call.folder = workspace.path
        default = workspace.ledger.read(lambda tx: grant.load(tx, "default"))
        keyid = workspace.keys.current_id()
        made = workspace.path
        identity = workspace.id
    allowed = f"{', '.join(default.terms.effects)} on {story.reach(default.terms.resources)} in it"
    data = {"folder": str(made), "workspace": identity, "keyid": keyid, "grant": default.wire()}
    lines = [
        f"Made a workspace in {one_line(str(made))}.",
        *pairs(
            ("key", f"{short(keyid)} signs its receipts"),
            ("grant", f"default allows {allowed}, accepted by {default.terms.acceptance}"),
            ("next", f"cd {one_line(folder)}, then `countermark doctor` or `countermark vector import FILE.svg`"),
        ),
    ]
    return Answer(data, lines)


def _would_make(path: Path) -> Answer:
    if (path / config.PROJECT_FILE).exists():
        raise CountermarkError(
            "output_exists", f"{path} is a workspace already.", next_action="Use it as it is, or name another folder."
        )
    parent = path.absolute().parent
    if not parent.is_dir():
        raise CountermarkError("not_found", f"{parent} does not exist.", next_action="Make it first, or name another.")
    return Answer({"folder": str(path.absolute())}, [f"Would make a workspace in {path.absolute()}."])
