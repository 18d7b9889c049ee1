"""`countermark scene …`: scenes of a folder, one command for each of the domain's public calls.

What is saved here is saved as `cli`, under the workspace's grant; only the page may overwrite what it has not seen.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any, Final

import click

from countermark.kernel import beneath
from countermark.kernel.errors import CountermarkError
from countermark.scene import jsontext
from countermark.scene.desk import Desk, Wanted
from countermark.surfaces.cli.call import Answer, Call, command
from countermark.surfaces.cli.scene_call import open_desk, saved, writing
from countermark.surfaces.cli.terminal import columns, count, one_line, pairs, short

_STDIN: Final = "-"
_SHOWN_TEXTS: Final = 12


@command(example="scene list")
def list_scenes(call: Call) -> Answer:
    """List the scenes of the folder."""
    with open_desk(call) as desk:
        rows = desk.listing()
    if not rows:
        return Answer({"scenes": []}, ["No scenes here yet. Draw one: `countermark serve .`"])
    lines = columns(
        (
            (
                one["name"],
                str(one["revision"]),
                str(one["elementCount"]),
                f"{one['byteLength']:,}",
                str(one["updatedAt"] or ""),
                str(one["updatedBy"] or ""),
                short(one["sha256"] or ""),
                "" if one["valid"] else f"not readable: {one.get('reason') or 'damaged'}",
            )
            for one in rows
        ),
        head=("NAME", "REV", "ELEMENTS", "BYTES", "UPDATED", "BY", "SHA-256", ""),
    )
    return Answer({"scenes": rows}, lines)


@command(example="scene show plan")
@click.argument("name")
@click.option("--revision", type=click.IntRange(0), help="An earlier revision that is kept.")
def show(call: Call, name: str, revision: int | None) -> Answer:
    """Show what a scene holds.

    `--json` has the whole document.
    """
    with open_desk(call) as desk:
        found = desk.read(name) if revision is None else desk.version(name, revision)
    facts = found.facts()
    live = [one for one in found.scene.elements if not one.get("isDeleted")]
    kinds = Counter(str(one.get("type")) for one in live)
    texts = [str(one.get("text", "")) for one in live if one.get("type") == "text"]
    gone = len(found.scene.elements) - len(live)
    lines = pairs(
        ("scene", facts["name"]),
        ("revision", str(facts["revision"])),
        ("sha-256", short(facts["sha256"])),
        ("updated", " by ".join(filter(None, (facts.get("updatedAt"), facts.get("updatedBy"))))),
        ("bytes", f"{facts['byteLength']:,}"),
        ("elements", ", ".join(count(number, kind) for kind, number in sorted(kinds.items())) or "none"),
        ("deleted", str(gone) if gone else ""),
        ("pictures", str(len(found.scene.files)) if found.scene.files else ""),
    )
    if texts:
        lines += ["", "texts", *(f"  {one_line(text)}" for text in texts[:_SHOWN_TEXTS])]
        if len(texts) > _SHOWN_TEXTS:
            lines.append(f"  and {len(texts) - _SHOWN_TEXTS} more: see --json")
    return Answer({**facts, "scene": found.scene.value()}, lines)


@command(example="scene create plan --elements boxes.json")
@click.argument("name")
@click.option(
    "--elements", metavar="FILE", help="A JSON array of elements, as the tool takes them; - reads standard input."
)
@click.option("--request-id", metavar="ID", help="Yours: told back when the same call is made again.")
@click.option("--grant", "grant_id", metavar="GRANT", help="The grant to act under; left out: the default one.")
def create(call: Call, name: str, elements: str | None, request_id: str | None, grant_id: str | None) -> Answer:
    """Create a scene, empty or with elements."""
    with open_desk(call, grant_id) as desk:
        parts = {"elements": _json(elements, desk.limits.max_scene_bytes)} if elements else {}
        made = desk.create(name, parts, request_id)
    return saved(made, f"Created {made['name']}")


@command(
    example="scene apply plan operations.json", notes='The file: [{"op": "add", "element": {"type": "rectangle", …}}]'
)
@click.argument("name")
@click.argument("file")
@writing
def apply(
    call: Call, name: str, file: str, *, grant_id: str | None, revision: int | None, request_id: str | None
) -> Answer:
    """Apply operations to a scene: add, update, delete.

    FILE holds a JSON array of operations, or an object with `operations` and `app_state`; - reads standard input. One
    bad operation rejects all.
    """
    with open_desk(call, grant_id) as desk:
        given = _json(file, desk.limits.max_scene_bytes)
        body = given if isinstance(given, dict) else {"operations": given}
        wanted = Wanted(revision=_current(desk, name, revision), request_id=request_id, payload=body)
        made = desk.apply(name, body.get("operations"), body.get("app_state"), wanted)
    done = made["operations"]
    said = ", ".join(f"{done[what]} {what}" for what in ("added", "updated", "deleted") if done[what])
    return saved(made, f"{made['name']}: {said or 'nothing changed'}")


@command(example="scene rename plan plan-2026")
@click.argument("name")
@click.argument("to", metavar="NEW")
@writing
def rename(
    call: Call, name: str, to: str, *, grant_id: str | None, revision: int | None, request_id: str | None
) -> Answer:
    """Give a scene another name, with its history."""
    with open_desk(call, grant_id) as desk:
        made = desk.rename(name, to, Wanted(revision=revision, request_id=request_id, payload={"to": to}))
    return saved(made, f"Renamed {one_line(name)} to {made['name']}")


@command(example="scene history plan")
@click.argument("name")
def history(call: Call, name: str) -> Answer:
    """List the revisions of a scene that are kept."""
    with open_desk(call) as desk:
        rows = desk.history(name)
    lines = columns(
        (
            (
                str(one["revision"]),
                f"{one['byteLength']:,}",
                one["savedAt"] or "",
                one["savedBy"] or "",
                short(one["sha256"]),
                "now" if one["current"] else "",
            )
            for one in rows
        ),
        head=("REV", "BYTES", "SAVED", "BY", "SHA-256", ""),
    )
    return Answer({"name": name, "versions": rows}, lines)


@command(example="scene restore plan 3")
@click.argument("name")
@click.argument("back", metavar="REVISION", type=click.IntRange(0))
@writing
def restore(
    call: Call, name: str, back: int, *, grant_id: str | None, revision: int | None, request_id: str | None
) -> Answer:
    """Bring an earlier revision back, as the next one."""
    with open_desk(call, grant_id) as desk:
        wanted = Wanted(revision=_current(desk, name, revision), request_id=request_id, payload={"revision": back})
        made = desk.restore(name, back, wanted)
    return saved(made, f"{made['name']} is as it was at revision {back}")


@command(example="scene repair plan")
@click.argument("name")
@writing
def repair(call: Call, name: str, *, grant_id: str | None, revision: int | None, request_id: str | None) -> Answer:
    """Repair references, bindings, ids and order of a scene.

    Every fix is listed, no element is dropped, and what is not wrong keeps its bytes.
    """
    with open_desk(call, grant_id) as desk:
        wanted = Wanted(revision=_current(desk, name, revision), request_id=request_id, payload={})
        made = desk.repair(name, wanted)
    fixes = made["fixes"]
    what = count(len(fixes), "repair") if fixes else "nothing to repair"
    said = saved(made, f"{made['name']}: {what}")
    listed = columns(((one_line(fix["id"]), one_line(fix["what"])) for fix in fixes), head=("ELEMENT", "WHAT IT WAS"))
    return said._replace(lines=[*said.lines, *(["", *listed] if fixes else ())])


def _current(desk: Desk, name: str, revision: int | None) -> int:
    return desk.read(name).revision if revision is None else revision


def _json(file: str, cap: int) -> Any:
    if file != _STDIN:
        return jsontext.unique(beneath.open_argument(file, cap))
    data = sys.stdin.buffer.read(cap + 1)
    if len(data) > cap:
        raise CountermarkError(
            "too_large", f"Standard input is longer than {cap} bytes.", next_action="Send less at a time."
        )
    return jsontext.unique(data)
