"""`countermark scene search`: where a text stands in all scenes of the folder."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any, Final

import click

from countermark.scene.search import MOST_HITS
from countermark.surfaces.cli.call import Answer, Call, command
from countermark.surfaces.cli.scene_call import open_desk
from countermark.surfaces.cli.terminal import columns, count, one_line

_STOPPED: Final = {"hits": "the limit of hits was reached", "time": "it took too long"}


@command(example='scene search "payment service"')
@click.argument("text")
@click.option("--limit", type=click.IntRange(1, MOST_HITS), default=MOST_HITS, help="At most so many lines.")
def search(call: Call, text: str, limit: int) -> Answer:
    """Find a text in all scenes of the folder.

    Names of scenes, texts, labels, titles of frames and links are looked at, whatever the case of their letters.
    Answers the scene, the element's id and the line.
    """
    with open_desk(call) as desk:
        found = desk.search(text, limit)
    hits, scenes = found["hits"], len({hit["scene"] for hit in found["hits"]})
    lines = [f"{count(len(hits), 'hit')} in {count(scenes, 'scene')} of {found['searched'] + found['left']}."]
    for name, group in groupby(hits, key=lambda hit: hit["scene"]):
        lines += ["", one_line(name), *(f"  {line}" for line in columns(_row(hit) for hit in group))]
    notes = [f"{one['name']} was not looked at: {one['reason']}." for one in found["unreadable"]]
    if not found["complete"]:
        notes.append(f"{count(found['left'], 'scene')} not looked at to the end: {_STOPPED[found['stopped']]}.")
    return Answer(found, [*lines, *([""] if notes else ()), *map(one_line, notes)])


def _row(hit: Mapping[str, Any]) -> tuple[str, str, str]:
    line = f"{hit['before']}{hit['match']}{hit['after']}"
    return hit["where"], str(hit.get("element", "")), line
