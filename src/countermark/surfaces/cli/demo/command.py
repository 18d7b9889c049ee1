"""The command: the main job, the four moments, the scoreboard, and where to look."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any, Final, NamedTuple

import click

from countermark.kernel.clock import SystemClock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root
from countermark.record.scoreboard import Moment, Row, look_of, scoreboard
from countermark.surfaces.cli import opening
from countermark.surfaces.cli.call import Answer, Call, command
from countermark.surfaces.cli.demo import diagram, moment, place, scene
from countermark.surfaces.cli.demo.job import main_job
from countermark.surfaces.cli.demo.shell import Shell
from countermark.surfaces.cli.demo.transcript import Transcript


class Played(NamedTuple):
    """What a demo left: its rows, the paths that `--json` names, and the lines at the end that say where to look."""

    rows: Sequence[Row]
    paths: Mapping[str, str]
    lines: Sequence[str]


class Piece(NamedTuple):
    """One demo: its title, its default folder, the drawings it begins with, and how it is played in a folder."""

    title: str
    home: str
    drawings: Sequence[str]
    play: Callable[[Shell, Path], Played]


def _vector(shell: Shell, folder: Path) -> Played:
    main_job(shell)
    rows = list(moment.play(shell, folder))
    home = folder / place.WORKSPACE / moment.KIT
    paths = {"record": str(home / "index.html"), "receipt": str(home / "receipt.json")}
    return Played(rows, paths, [f"record page  {paths['record']}", f"receipt      {paths['receipt']}"])


def _scene(shell: Shell, folder: Path) -> Played:
    opening.module("countermark.surfaces.web.server")  # names what is not installed, before anything is played
    diagram.begin(shell)
    rows = list(scene.play(shell, folder))
    home = folder / place.SCENES
    paths = {"scene": str(home / diagram.FILE), "serve": f"countermark serve {quote(str(home))}"}
    look = [
        f"scene  {paths['scene']}",
        f"page   {paths['serve']}",
        "       It prints the page's address, http://127.0.0.1:PORT/start?token=…, which works once.",
    ]
    return Played(rows, paths, look)


PIECES: Final = {
    "vector": Piece("Countermark: one logo in, checked files and a receipt out", "demo", place.DRAWINGS, _vector),
    "scene": Piece("Countermark: a person and an agent draw together, and nobody loses", "demo-scene", (), _scene),
}


@command(example="demo --into /tmp/countermark-demo")
@click.argument("what", metavar="[vector|scene]", type=click.Choice(list(PIECES)), default="vector")
@click.option("--into", metavar="DIR", type=click.Path(path_type=Path), help="A folder for it, empty or not there yet.")
@click.option("--serve/--no-serve", default=None, help="scene: serve the page in the end; by default on a terminal.")
def demo(call: Call, what: str, into: Path | None, *, serve: bool | None) -> Answer | None:
    """Run the main job on a real logo, or on a diagram, and the four moments.

    `demo scene` plays the moments on a diagram that a scripted agent draws. Every command is run as you would run it,
    and what it prints is shown. It works in a folder of its own, by default build/demo of the project or
    ./countermark-demo (with -scene for that one), and makes that anew each time. The exit status is 0 only if every
    command ended as it has to and every moment held.
    """
    if serve and (what != "scene" or call.json):
        raise click.UsageError("--serve goes with `demo scene`, without --json.", click.get_current_context())
    began = time.monotonic()
    # With --json, standard output belongs to the envelope.
    stream = sys.stderr if call.json else sys.stdout
    transcript = Transcript(stream)
    piece = PIECES[what]
    folder = place.prepare(into or place.default(piece.home), piece.drawings)
    transcript.title(piece.title)
    transcript.say(f"All of it happens in {folder}.")
    with Root(folder) as root, root.inside(place.LIVENESS) as liveness:
        played = piece.play(Shell(folder, liveness, transcript, SystemClock()), folder)
    transcript.block("\n" + scoreboard(played.rows, look_of(stream, os.environ)))
    held = {row.moment: all(r.held for r in played.rows if r.moment is row.moment) for row in played.rows}
    data: dict[str, Any] = {
        "folder": str(folder),
        **played.paths,
        "moments": [
            {"moment": row.moment.value, "happened": row.happened, "evidence": row.evidence, "held": row.held}
            for row in played.rows
        ],
        "seconds": round(time.monotonic() - began, 1),
    }
    lost = [one.value for one in Moment if not held.get(one, False)]
    if not lost and what == "scene" and not call.json and (serve or (serve is None and _attended())):
        transcript.block("\n")
        return _served(folder / place.SCENES)
    return Answer(data, ["", *played.lines], error=_not_held(lost) if lost else None)


def _attended() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _served(home: Path) -> Answer | None:
    """Serve the page in this process, until Ctrl-C."""
    from countermark.surfaces.cli.serve import serve  # noqa: PLC0415 - for this demo alone

    answer: Answer | None = click.get_current_context().invoke(serve, folder=str(home), port=0)
    return answer


def _not_held(lost: list[str]) -> CountermarkError:
    return CountermarkError(
        "demo_failed",
        f"{len(lost)} of {len(Moment)} moments did not hold: {'; '.join(lost)}.",
        next_action="Read what happened above. The folder is left as it is.",
    )
