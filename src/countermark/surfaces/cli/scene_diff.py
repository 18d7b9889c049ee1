"""`countermark scene diff`: what differs between two revisions of a scene, in words."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from countermark.kernel.errors import CountermarkError
from countermark.scene import compare, marked
from countermark.scene.diff import ADDED, CHANGED, MARKS, REMOVED, Diff
from countermark.scene.render import MEDIA_TYPES, Format
from countermark.surfaces.cli.call import Answer, Call, command
from countermark.surfaces.cli.picture import write
from countermark.surfaces.cli.scene_call import open_desk
from countermark.surfaces.cli.terminal import count, one_line, paint

_TONES: Final = {MARKS[ADDED]: "green", MARKS[REMOVED]: "red", MARKS[CHANGED]: "yellow"}


@command(
    example="scene diff plan 3 5",
    notes="+ was added   - was removed   ~ was changed",
)
@click.argument("name")
@click.argument("older", metavar="[A]", required=False, type=click.IntRange(0))
@click.argument("newer", metavar="[B]", required=False, type=click.IntRange(0))
@click.option("-o", "--output", metavar="FILE", help="Draw it too: an .svg or .png with a mark around each change.")
@click.option("--replace", is_flag=True, help="Put it in the place of a file that is there.")
def diff(call: Call, name: str, older: int | None, newer: int | None, *, output: str | None, replace: bool) -> Answer:
    """Say what differs between two revisions of a scene.

    A and B are revisions that `scene history` lists. Without B it is the current one, without A the one before. What
    only followed (labels, arrow ends, children of frames) is counted, not listed; `--json` has every field.
    """
    kind = _format(output)
    with open_desk(call) as desk:
        found = compare.revisions(desk, name, older, newer)
        if output is not None and kind is not None:
            write(Path(output), marked.picture(desk, found, kind).data, replace=replace)
    ends = {
        place: {"revision": one.revision, "sha256": one.sha256}
        for place, one in (("from", found.older), ("to", found.newer))
    }
    head = f"{one_line(name)}, revision {found.older.revision} to {found.newer.revision}: {found.diff.summary()}"
    lines = [f"{head}.", *([""] if found.diff.lines() else ()), *painted(found.diff)]
    if found.diff.quiet:
        also = "Also, " if found.diff.lines() else ""
        verb = "differs" if found.diff.quiet == 1 else "differ"
        what = "version, order key, list of what is bound to it"
        lines += ["", f"{also}{count(found.diff.quiet, 'element')} {verb} in bookkeeping only: {what}."]
    drawn = {"file": output} if output is not None else {}
    if output is not None:
        lines += ["", f"Drawn to {one_line(output)}: added green, changed orange, removed red and faint."]
    return Answer({"name": name, **ends, **found.diff.wire(), **drawn}, lines)


def _format(output: str | None) -> Format | None:
    """Return what to draw, by a file's ending; raise `input_invalid` for another ending."""
    if output is None:
        return None
    for kind in MEDIA_TYPES:
        if output.lower().endswith(f".{kind}"):
            return kind
    endings = " or ".join(f".{kind}" for kind in MEDIA_TYPES)
    raise CountermarkError(
        "input_invalid", f"{output} ends in none of {endings}.", next_action=f"Name a file that ends in {endings}."
    )


def painted(found: Diff) -> list[str]:
    """Return a diff's sentences for the terminal, one a line."""
    return [paint(one_line(line), _TONES[line[0]], sys.stdout) for line in found.lines()]
