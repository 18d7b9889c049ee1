"""Four public calls beside the contract's five: a scene as a picture, what differs, what looks wrong, what was.

They only read. Answers are short, in the five's form; whole documents and SVGs are links, read by whoever wants them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from countermark.kernel.tool import Link, Picture, Result, Tool, read_schema
from countermark.scene import compare, marked, render
from countermark.scene.codes import refuse
from countermark.scene.desk import Desk
from countermark.scene.lint import lint
from countermark.scene.render import Rendered
from countermark.scene.tools import failure

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

Call = Callable[["Workspace", Mapping[str, Any]], Result]

DOCUMENT: Final = "application/json"
MOST_ROWS: Final = 100
"""So many lines or revisions one answer carries; the rest is counted in `left`."""

MOST_PICTURE: Final = 4 << 20
"""Bytes of a picture that go with an answer; a line of the protocol has 8 MiB, and the picture takes four thirds."""

_LINKED: Final = 5
_MOST_REVISION: Final = 2**53 - 1
_PLACE: Final = re.compile(
    r"countermark://scene/(?P<name>[a-z0-9][a-z0-9._-]{0,63}?)(?:/(?P<revision>[0-9]{1,15})\.(?P<kind>excalidraw|svg))?"
)


class Resource(NamedTuple):
    """What a link names."""

    media_type: str
    text: str


def resource(workspace: Workspace, uri: str) -> Resource | None:
    """Return what a link to a scene names: the document, that of a revision, or its SVG; None for another link."""
    place = _PLACE.fullmatch(uri)
    if place is None:
        return None
    desk = Desk(workspace, actor="agent")
    if place["revision"] is None:
        return Resource(DOCUMENT, desk.read(place["name"]).data.decode("utf-8"))
    revision = int(place["revision"])
    if place["kind"] == "excalidraw":
        return Resource(DOCUMENT, desk.version(place["name"], revision).data.decode("utf-8"))
    made = render.render(desk, place["name"], revision=revision)
    return Resource(made.media_type, made.data.decode("utf-8"))


def _render(workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    made = render.render(
        Desk(workspace, actor="agent"),
        arguments["name"],
        revision=_revision(arguments, "revision"),
        format=arguments.get("format", "png"),
        dark=arguments.get("dark", False),
        scale=arguments.get("scale", 1.0),
    )
    data = {"ok": True, **made.facts(), "warnings": list(made.warnings[:MOST_ROWS])}
    pictures = (_picture(made),) if made.format != "svg" else ()  # an SVG is text, and goes by its link
    return Result("", data, (_link(made.name, made.revision, "svg", render.MEDIA_TYPES["svg"]),), pictures)


def _diff(workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    older, newer = _revision(arguments, "from"), _revision(arguments, "to")
    desk = Desk(workspace, actor="agent")
    found = compare.revisions(desk, arguments["name"], older, newer)
    pictures = (_picture(marked.picture(desk, found, "png")),) if arguments.get("picture", False) else ()
    lines = found.diff.lines()
    wire = found.diff.wire()
    rows = {
        kind: [{key: row[key] for key in ("id", "name", "what") if key in row} for row in wire[kind][:MOST_ROWS]]
        for kind in ("added", "removed", "changed")
    }
    data = {
        "ok": True,
        "name": found.newer.name,
        "from": found.older.revision,
        "to": found.newer.revision,
        "summary": found.diff.summary(),
        "lines": lines[:MOST_ROWS],
        **rows,
        "left": max(0, len(lines) - MOST_ROWS),
    }
    ends = dict.fromkeys((found.older.revision, found.newer.revision))
    return Result("", data, tuple(_link(found.newer.name, one) for one in ends), pictures)


def _lint(workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    found = Desk(workspace, actor="agent").read(arguments["name"])
    report = lint(found.scene)
    number = len(report.findings) + report.left
    summary = f"{number} finding{'' if number == 1 else 's'}" if number else "nothing looks wrong"
    facts = {"ok": True, "name": found.name, "revision": found.revision, "sha256": found.sha256, "summary": summary}
    return Result("", {**facts, **report.wire()})


def _history(workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    name = arguments["name"]
    rows = Desk(workspace, actor="agent").history(name)
    data = {"ok": True, "name": name, "versions": rows[:MOST_ROWS], "left": max(0, len(rows) - MOST_ROWS)}
    return Result("", data, tuple(_link(name, int(row["revision"])) for row in rows[:_LINKED]))


def _picture(made: Rendered) -> Picture:
    if len(made.data) > MOST_PICTURE:
        raise refuse(
            "too_large",
            f"The picture has {len(made.data)} bytes, more than the {MOST_PICTURE} that an answer carries.",
            next_action="Ask excalidraw_scene_render with a smaller scale, or for the format svg, which is a link.",
            details={"byteLength": len(made.data), "limit": MOST_PICTURE},
        )
    return Picture(made.media_type, made.data)


def _link(name: str, revision: int, kind: str = "excalidraw", media_type: str = DOCUMENT) -> Link:
    return Link(f"{name}.{revision}.{kind}", f"countermark://scene/{name}/{revision}.{kind}", media_type)


def _revision(arguments: Mapping[str, Any], member: str) -> int | None:
    value = arguments.get(member)
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= _MOST_REVISION:
        raise refuse(
            "invalid_operation",
            f"/{member} must be a whole number, zero or more.",
            next_action="Give a revision that the history lists, or leave it out.",
            details={"pointer": f"/{member}"},
        )
    return value


_NAME: Final = {"type": "string", "description": "Scene name"}
_NUMBER: Final = {"type": "integer", "minimum": 0}
_LOW, _HIGH = render.SCALES

TOOLS: Final = (
    Tool(
        "excalidraw_scene_render",
        "See a scene",
        "See a scene, or an earlier revision of it, as the editor draws it; the SVG is a link.",
        read_schema(
            {
                "name": _NAME,
                "revision": {**_NUMBER, "description": "Left out: the current one"},
                "format": {"enum": sorted(render.MEDIA_TYPES), "description": "Left out: png; svg is a link alone"},
                "dark": {"type": "boolean"},
                "scale": {"type": "number", "minimum": _LOW, "maximum": _HIGH},
            },
            "name",
        ),
        _render,
        read_only=True,
        failure=failure,
    ),
    Tool(
        "excalidraw_scene_diff",
        "Compare revisions",
        "Say in words what differs between two revisions: what was added, removed, moved, relabelled.",
        read_schema(
            {
                "name": _NAME,
                "from": {**_NUMBER, "description": "Left out: the one before `to`"},
                "to": {**_NUMBER, "description": "Left out: the current one"},
                "picture": {
                    "type": "boolean",
                    "description": "A picture too: added green, changed orange, removed red",
                },
            },
            "name",
        ),
        _diff,
        read_only=True,
        failure=failure,
    ),
    Tool(
        "excalidraw_scene_lint",
        "Look for slips",
        "Find text out of its shape, overlaps, arrows through shapes or not attached, children out of their frame. "
        "`operations` are what excalidraw_scene_apply takes to mend it.",
        read_schema({"name": _NAME}, "name"),
        _lint,
        read_only=True,
        failure=failure,
    ),
    Tool(
        "excalidraw_scene_history",
        "List revisions",
        "List the revisions of a scene that are kept, newest first: when, by whom, how large.",
        read_schema({"name": _NAME}, "name"),
        _history,
        read_only=True,
        failure=failure,
    ),
)
