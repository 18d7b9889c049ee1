"""`countermark serve`: the drawing page over a folder of scenes, on this machine only."""

from __future__ import annotations

import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from countermark.kernel import config
from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.kernel.workspace import HOME, Workspace
from countermark.surfaces.cli import opening
from countermark.surfaces.cli.call import Answer, Call, command, envelope
from countermark.surfaces.cli.journal import defect, journal
from countermark.surfaces.cli.terminal import one_line, pairs

if TYPE_CHECKING:
    from countermark.surfaces.web.server import Serving

_WAYS: Final = {
    "ledger_broken": "The scenes are whole whatever the ledger says. To draw at once, move "
    f"{HOME} and {config.PROJECT_FILE} out of the folder, keep them, and serve again: a new ledger is made, and the "
    "scenes keep their revisions.",
    "disk_read_only": "Or copy the scenes into a folder of yours, and serve that.",
}
_FIRST_PORT: Final = 20_000
_PORTS: Final = 12_000
"""Below what systems hand out by themselves (from 32768 on Linux, from 49152 on macOS)."""


@command(example="serve drawings")
@click.argument("folder", metavar="DIR", default=".")
@click.option("--port", type=click.IntRange(0, 65535), help="The port; left out: the folder's own, or a free one.")
def serve(call: Call, folder: str, port: int | None) -> Answer | None:
    """Open a folder of scenes in the browser, with the real editor.

    No `init` is needed. The server answers on this machine only, until Ctrl-C; the address works once.
    """
    opening.module("countermark.surfaces.web.server")  # names what is not installed, before anything is made
    from countermark.scene.desk import Desk  # noqa: PLC0415 - after the check of what is installed
    from countermark.surfaces.web.server import Serving  # noqa: PLC0415 - likewise

    path = Path(folder)
    made = not ((path / config.PROJECT_FILE).is_file() and (path / HOME).is_dir())
    try:
        workspace = _made(path) if made else Workspace(path, adapters=opening.installed())
    except CountermarkError as error:
        raise helped(error) from error
    with workspace, journal(workspace):
        call.folder = workspace.path
        desk = Desk(workspace, actor="ui", person=True)

        def report(error: Exception) -> None:
            log = defect(workspace.path, "serve", error)
            sys.stderr.write(f"Countermark is at fault ({type(error).__name__}); its trace is in {log}.\n")

        def bound(number: int) -> Serving:
            return Serving(desk, desk.folder, now=_now, report=report, announce=_announce, port=number)

        try:
            serving = bound(_own_port(workspace) if port is None else port)
        except CountermarkError as error:
            if port is not None or error.code != "resource_busy":
                raise
            serving = bound(0)
        desk.settle()
        try:
            serving.run(lambda: _tell(call, serving, workspace, made=made))
        finally:
            desk.close()
    if not call.json:
        sys.stdout.write("Stopped; nothing of it runs any more.\n")
    return None


def helped(error: CountermarkError) -> CountermarkError:
    """Return why a folder cannot be served, with a way to go on drawing where there is one."""
    more = _WAYS.get(error.code)
    if more is None:
        return error
    said = f"{error.next_action.rstrip('.')}. {more}"
    return CountermarkError(error.code, error.sentence, next_action=said, details=error.details)


def _own_port(workspace: Workspace) -> int:
    """Return the port that a folder has by itself: a browser keeps what it was not yet rid of under its address."""
    return _FIRST_PORT + int(sha256_hex(workspace.id.encode())[:8], 16) % _PORTS


def _made(path: Path) -> Workspace:
    return Workspace.create(path, adapters=opening.installed())


def _tell(call: Call, serving: Serving, workspace: Workspace, *, made: bool) -> None:
    if call.json:
        data = {
            "address": serving.address,
            "start": serving.start,
            "folder": str(workspace.path),
            "editor": serving.editor,
            "made": made,
        }
        sys.stdout.write(envelope(call.command, data=data, exit_status=0))
    else:
        where = one_line(str(workspace.path))
        lines = [
            *([f"Made {HOME} in {where}: the ledger of what is done here, with its key."] if made else []),
            f"Scenes of {where}, on this machine only, until Ctrl-C.",
            *pairs(
                ("open", serving.start),
                ("agent", f"countermark mcp --tools scene --workspace {shlex.quote(where)}"),
                ("page", "" if serving.editor else "not built: `make editor` builds it; tools and commands work"),
            ),
        ]
        sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


def _announce(start: str) -> None:
    sys.stderr.write(f"A browser without a session asked for a page. A fresh address, if it was you: {start}\n")
    sys.stderr.flush()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
