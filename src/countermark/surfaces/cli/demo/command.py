"""The command: the main job, the four moments, the scoreboard, and where to look."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import click

from countermark.kernel.clock import SystemClock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root
from countermark.record.scoreboard import Moment, look_of, scoreboard
from countermark.surfaces.cli.call import Answer, Call, command
from countermark.surfaces.cli.demo import place
from countermark.surfaces.cli.demo.job import main_job
from countermark.surfaces.cli.demo.moment import KIT, play
from countermark.surfaces.cli.demo.shell import Shell
from countermark.surfaces.cli.demo.transcript import Transcript


@command(example="demo --into /tmp/countermark-demo")
@click.option("--into", metavar="DIR", type=click.Path(path_type=Path), help="A folder for it, empty or not there yet.")
def demo(call: Call, into: Path | None) -> Answer:
    """Run the main job on a real logo, and the four moments.

    Every command is run as you would run it, and what it prints is shown. It works in a folder of its own, by default
    build/demo of the project or ./countermark-demo, and makes that anew each time. The exit status is 0 only if every
    command ended as it has to and every moment held.
    """
    began = time.monotonic()
    # With --json, standard output belongs to the envelope.
    stream = sys.stderr if call.json else sys.stdout
    transcript = Transcript(stream)
    folder = place.prepare(into or place.default())
    transcript.title("Countermark: one logo in, checked files and a receipt out")
    transcript.say(f"All of it happens in {folder}.")
    with Root(folder) as root, root.inside(place.LIVENESS) as liveness:
        shell = Shell(folder, liveness, transcript, SystemClock())
        main_job(shell)
        rows = list(play(shell, folder))
    transcript.block("\n" + scoreboard(rows, look_of(stream, os.environ)))
    held = {row.moment: all(r.held for r in rows if r.moment is row.moment) for row in rows}
    home = folder / place.WORKSPACE / KIT
    data: dict[str, Any] = {
        "folder": str(folder),
        "record": str(home / "index.html"),
        "receipt": str(home / "receipt.json"),
        "moments": [
            {"moment": row.moment.value, "happened": row.happened, "evidence": row.evidence, "held": row.held}
            for row in rows
        ],
        "seconds": round(time.monotonic() - began, 1),
    }
    lines = [f"record page  {home / 'index.html'}", f"receipt      {home / 'receipt.json'}"]
    lost = [moment.value for moment in Moment if not held.get(moment, False)]
    return Answer(data, ["", *lines], error=_not_held(lost) if lost else None)


def _not_held(lost: list[str]) -> CountermarkError:
    return CountermarkError(
        "demo_failed",
        f"{len(lost)} of {len(Moment)} moments did not hold: {'; '.join(lost)}.",
        next_action="Read what happened above. The folder is left as it is.",
    )
