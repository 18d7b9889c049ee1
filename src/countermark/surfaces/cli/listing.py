"""What people see of a brand document: colours in use, swatches, losses, the formats of a board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from countermark.surfaces.cli.terminal import columns, count

Rows = Sequence[Mapping[str, Any]]

SHOWN: Final = 12
"""Rows of a list that people see; `--json` has all of them."""


def titled(title: str, rows: Sequence[Sequence[str]]) -> list[str]:
    """Return an indented list under a title, its first rows only; nothing for an empty one."""
    if not rows:
        return []
    more = [f"  and {len(rows) - SHOWN} more: see --json"] if len(rows) > SHOWN else []
    return ["", title, *(f"  {line}" for line in columns(rows[:SHOWN])), *more]


def losses(title: str, rows: Rows) -> list[str]:
    """Return what an import could not carry over: its name, its element, its place in the SVG, and why."""
    return titled(title, [(one["name"], f"<{one['element']}>", one["path"], one["reason"]) for one in rows])


def report(found: Mapping[str, Any], title: str) -> list[str]:
    """Return what a change of colours reached, and what looks alike and was left."""
    if not found:
        return []
    alike = titled("look alike, not bound, untouched", _uses(found["lookalikes"]))
    return [*titled(title, _uses(found["changed"])), *alike]


def palette(found: Mapping[str, Any]) -> list[str]:
    """Return what a token file did to each swatch, what follows, and what was narrowed or left out."""
    if not found:
        return []
    rows = [(one["swatch"], f"{one['before']} to {one['after']}") for one in found["recoloured"]]
    return [
        *titled("made", [(name, "nothing is bound to it yet") for name in found["created"]]),
        *titled("recoloured", rows),
        *titled("follow, because bound", _uses(found["changed"])),
        *titled("notices", [(one["token"], one["notice"]) for one in found["notices"]]),
    ]


def swatches(data: Mapping[str, Any]) -> list[str]:
    """Return the swatches of a document, and the colours that could be bound with the objects that have them."""
    bound = [
        (one["name"], str(one["colour"]), count(len(one["consumers"]), "colour") + " bound") for one in data["swatches"]
    ]
    free = [
        (one["colour"] if first else "", _object(use["object"]), use["name"], use["place"])
        for one in data["colours"]
        for first, use in zip((True, *[False] * len(one["objects"])), one["objects"], strict=False)
    ]
    return [*titled("swatches", bound), *titled("colours that are not bound", free)]


def formats(files: Sequence[str]) -> str:
    """Return the formats of a board's files: `svg, png`."""
    return ", ".join(name.rpartition(".")[2] for name in files)


def _uses(uses: Rows) -> list[tuple[str, ...]]:
    return [(_object(one["object_id"]), str(one["name"]), str(one["place"]), str(one["colour"])) for one in uses]


def _object(number: int) -> str:
    return f"object {number}"  # `#3` would look like a colour, and this stands in a list of colours
