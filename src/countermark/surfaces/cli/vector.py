"""`countermark vector …`: brand documents, one command for each of the domain's public calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any, Final

import click

from countermark.kernel import beneath, fence, journal, publish, task
from countermark.kernel.errors import CountermarkError
from countermark.kernel.perform import Performed
from countermark.kernel.state import State
from countermark.kernel.tool import task_data
from countermark.kernel.workspace import Workspace
from countermark.surfaces.cli import listing, obstacle, story
from countermark.surfaces.cli.call import Answer, Call, command
from countermark.surfaces.cli.carry import carry
from countermark.surfaces.cli.task import staged
from countermark.surfaces.cli.terminal import columns, count, one_line, pairs, short
from countermark.vector import operation, proposal, recolour, swatch, tools
from countermark.vector.colour import from_css, hex_of
from countermark.vector.holding import Open
from countermark.vector.kit import PAGE, boards_for
from countermark.vector.proposal import Proposal

Facts = dict[str, Any]
Made = tuple[Performed, Facts]
Rows = Sequence[dict[str, Any]]


def whole_name(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Take a document's name with its ending or without."""
    del context, option
    return value if value is None or value.endswith(operation.SUFFIX) else value + operation.SUFFIX


of_document = click.option(
    "--document", metavar="NAME", callback=whole_name, help="The document; left out: the only one there is."
)


def writing(function: Callable[..., Answer]) -> Callable[..., Answer]:
    """Add what every write takes: grant, revision and key."""
    for option in (
        click.option("--key", metavar="KEY", help="Your idempotency key: said again, it answers the first result."),
        click.option("--revision", metavar="REVISION", help="What this is made against; left out: what is there now."),
        click.option("--grant", "grant_id", metavar="GRANT", help="The grant to act under; left out: the default one."),
    ):
        function = option(function)
    return function


@command(example="vector import logo.svg", dry_run=True)
@click.argument("file")
@click.option(
    "--document", metavar="NAME", callback=whole_name, help="What the new document is called; left out: as the file."
)
@click.option(
    "--into",
    metavar="NAME",
    callback=whole_name,
    help="Make no new document: add the drawing to this one, on an artboard of its own.",
)
@writing
def import_svg(
    call: Call,
    file: str,
    *,
    document: str | None,
    into: str | None,
    grant_id: str | None,
    revision: str | None,
    key: str | None,
) -> Answer:
    """Import an SVG as a native document.

    What could not be carried over is listed by name: nothing disappears silently.
    """
    with call.open(working=True) as workspace:
        data = beneath.open_argument(file, workspace.settings.max_input_mib << 20)
        more: dict[str, Any] = {"document": document, "into": into}
        source, acting = PurePath(file).name, grant_id or workspace.settings.grant
        if call.dry_run:
            return would(workspace, proposal.propose_import(workspace, data, source, **more), acting, {}, [])
        more |= {"revision": revision, "key": key}
        with obstacle.to_an_import():
            made = carry(workspace, lambda: tools.import_svg(workspace, data, source, grant=acting, **more))
        total = made[1].get("lossesTotal", 0)
        lines = ["", "Everything in it was carried over."]
        if total:
            lines = listing.losses(f"not carried over ({total})", made[1]["losses"])
            name = publish.place(_task(workspace, made).plan.resources[0])
            lines += [f"  To export without them: {obstacle.answering(workspace, made[1]['losses'], name)}."]
        joined = "into" if into else "as"
        return answer(workspace, made, f"Imported {one_line(source)} {joined} {{place}}.", lines)


@command(example="vector read")
@of_document
def read(call: Call, document: str | None) -> Answer:
    """Show what a native document holds."""
    with call.open() as workspace:
        found = tools.read(workspace, document)
    data = found.data
    boards = [(str(one["id"]), one["name"], f"{one['width']:g} x {one['height']:g}") for one in data["artboards"]]
    lines = pairs(
        ("document", data["document"]),
        ("title", data["title"]),
        ("revision", short(data["revision"])),
        ("objects", str(data["objects"])),
    )
    lines += [
        *listing.titled("artboards", boards),
        *listing.swatches(data),
        *listing.losses("not carried over", data["losses"]),
    ]
    return Answer(data, lines)


@command(example="vector swatch bind primary '#1a6cff'", dry_run=True)
@click.argument("name")
@click.argument("colour")
@click.option(
    "--only",
    multiple=True,
    metavar="OBJECT[:PLACE]",
    help="Only this object, by name or id; of it only a place, as a:fill[0]. Repeatable.",
)
@click.option("--leave", multiple=True, metavar="OBJECT", help="All but this object, by its name or id. Repeatable.")
@of_document
@writing
def bind(  # noqa: PLR0913 - what the call takes
    call: Call,
    name: str,
    colour: str,
    *,
    only: tuple[str, ...],
    leave: tuple[str, ...],
    document: str | None,
    grant_id: str | None,
    revision: str | None,
    key: str | None,
) -> Answer:
    """Bind the objects of a colour to a swatch.

    What is bound follows the swatch from now on; other objects of the same colour stay unbound, and are listed.
    """
    with call.open(working=True) as workspace:
        acting = grant_id or workspace.settings.grant
        opened = Open(workspace, document)
        whole, places = _placed(opened, only, colour)
        chosen, left = whole or None, _objects(opened, leave, colour)
        if call.dry_run:
            wanted = proposal.propose_bind(
                workspace, name, colour, document=document, only=chosen, leave=left, places=places
            )
            limits: dict[str, Any] = {"only": set(chosen) if chosen else None, "leave": set(left)}
            limits["places"] = {(int(one.partition(":")[0]), one.partition(":")[2]) for one in places}
            report = recolour.bind(opened.document, name, colour, **limits)[1].as_json()
            return would(workspace, wanted, acting, {"report": report}, listing.report(report, "bound"))
        made = carry(
            workspace,
            lambda: tools.bind(
                workspace,
                name,
                colour,
                grant=acting,
                document=document,
                only=chosen,
                leave=left,
                places=places,
                revision=revision,
                key=key,
            ),
        )
        report = made[1].get("report", {})
        bound = count(len(report["changed"]), "colour") if report.get("changed") else "nothing new"
        said = f"{name} is {report.get('colour', colour)}: {bound} bound."
        return answer(workspace, made, said, listing.report(report, "bound"))


@command(example="vector swatch set primary '#0057ff'", dry_run=True)
@click.argument("name")
@click.argument("colour")
@of_document
@writing
def set_colour(
    call: Call,
    name: str,
    colour: str,
    *,
    document: str | None,
    grant_id: str | None,
    revision: str | None,
    key: str | None,
) -> Answer:
    """Give a swatch another colour; only what is bound to it changes.

    Objects that look alike and are not bound are listed, untouched.
    """
    with call.open(working=True) as workspace:
        acting = grant_id or workspace.settings.grant
        if call.dry_run:
            wanted = proposal.propose_colour(workspace, name, colour, document=document)
            report = recolour.set_colour(Open(workspace, document).document, name, colour)[1].as_json()
            return would(workspace, wanted, acting, {"report": report}, listing.report(report, "changed"))
        made = carry(
            workspace,
            lambda: tools.set_colour(
                workspace, name, colour, grant=acting, document=document, revision=revision, key=key
            ),
        )
        report = made[1].get("report", {})
        said = f"{name} is {report.get('colour', colour)}: {count(len(report.get('changed', ())), 'colour')} changed."
        return answer(workspace, made, said, listing.report(report, "changed"))


@command(example="vector swatch list")
@of_document
def list_swatches(call: Call, document: str | None) -> Answer:
    """List swatches, what is bound to them, and colours that are not bound."""
    with call.open() as workspace:
        data = tools.read(workspace, document).data
    lines = listing.swatches(data)[1:] or ["No swatches, and no colours."]
    return Answer({name: data[name] for name in ("document", "revision", "swatches", "colours")}, lines)


@command(example="vector kit", dry_run=True)
@click.option("--folder", default=proposal.KIT, show_default=True, help="Where the kit goes, in the workspace.")
@click.option(
    "--accept-loss",
    "accept_loss",
    multiple=True,
    metavar="NAME",
    help="A loss of the import that a person answers for; the kit then waits for their acceptance. Repeatable.",
)
@of_document
@writing
def kit(
    call: Call,
    *,
    folder: str,
    accept_loss: tuple[str, ...],
    document: str | None,
    grant_id: str | None,
    revision: str | None,
    key: str | None,
) -> Answer:
    """Export every artboard, each checked by another engine.

    Boards that nothing concerned come out byte-equal, and it says so. A folder that a person changed is left as it is.
    """
    with call.open(working=True) as workspace:
        acting = grant_id or workspace.settings.grant
        common: dict[str, Any] = {"document": document, "folder": folder, "accept_loss": accept_loss}
        common["revision"] = revision
        with obstacle.to_a_kit(workspace, document, folder, accept_loss, named=revision is not None):
            if call.dry_run:
                wanted = proposal.propose_kit(workspace, **common)
                boards = [
                    (one.id, listing.formats(one.files)) for one in boards_for(Open(workspace, document).document)
                ]
                rows = listing.titled("boards", boards)
                return would(workspace, wanted, acting, {"boards": [name for name, _ in boards]}, rows)
            made = carry(workspace, lambda: tools.export(workspace, grant=acting, key=key, **common))
        boards_made: Rows = made[1]["boards"]
        counted = {status: sum(one["status"] == status for one in boards_made) for status in _STATUSES}
        said = ", ".join(f"{number} {status}" for status, number in counted.items() if number)
        states = [(one["id"], one["status"], listing.formats(one["files"])) for one in boards_made]
        others = [(one["name"], one["status"]) for one in made[1]["others"]]
        lines = ["", "boards", *(f"  {line}" for line in columns(states))]
        lines += listing.titled("files made of them", others)
        lines += listing.titled("not derivable", [(one["variant"], one["reason"]) for one in made[1]["notDerivable"]])
        verify = f"countermark receipt verify {made[1]['folder']}/"
        return answer(workspace, made, f"{count(len(boards_made), 'board')} in {{place}}/: {said}.", lines, verify)


_STATUSES: Final = ("new", "changed", "byte-equal")


def answer(workspace: Workspace, made: Made, said: str, lines: Sequence[str], following: str = "") -> Answer:
    """Tell what a write did: the sentence, what belongs to it, its checks, and its receipt."""
    done, facts = made
    found = _task(workspace, made)
    events = workspace.ledger.events(task=done.task)
    place = story.place(found.plan.resources[0])
    waits = done.state is State.REVIEW_READY
    before = [f"Not published yet: {place} stays as it is until a person accepts this.", ""] if waits else []
    first = said.replace("{place}", place)
    if done.repeated:
        back = f" Missing files came back from the store: {', '.join(done.restored)}." if done.restored else ""
        first = f"Done before; this is its first result, and nothing was done again.{back}"
        lines = ()  # the first answer told the rest; --json has it here too
    data = {
        **task_data(done),
        **facts,
        "place": place,
        "revision": publish.observe(workspace, found.plan.resources[0]),
        "authorizationRef": found.grant,
        "next": story.next_step(found, events),
    }
    seen = next((story.seen(event.body) for event in reversed(events) if "verdicts" in event.body), "")
    after = pairs(
        ("checked", "" if done.repeated else seen),
        ("allowed by", "" if done.repeated else f"grant {found.grant}"),
        ("task", f"{done.task}, {found.state}{': it waits for a person' if waits else ''}"),
        ("look", staged(workspace, found, PAGE) if waits else ""),
        ("next", str(data["next"]) if waits else ""),
        ("receipt", "" if waits else following or f"countermark receipt show {done.task}"),
    )
    return Answer(data, [*before, first, *lines, "", *after])


def _task(workspace: Workspace, made: Made) -> task.Task:
    return workspace.ledger.read(lambda tx: task.load(tx, made[0].task))


def would(workspace: Workspace, wanted: Proposal, acting: str, facts: Facts, lines: Sequence[str]) -> Answer:
    """Tell what would be done; raise where the plan, the grant or the fence would refuse it."""
    plan = wanted.plan
    workspace.adapter(plan.adapter).validate(plan)
    journal.permit(workspace, plan, acting)
    for name in plan.resources:
        known = workspace.ledger.read(lambda tx, name=name: fence.load(tx, name))  # type: ignore[misc]
        fence.check(name, known, wanted.revision, publish.observe(workspace, name), "")
    on = ", ".join(map(story.place, plan.resources))
    data = {"operation": plan.operation, "resources": list(plan.resources), "revision": wanted.revision, **facts}
    return Answer(data, [f"Would do {plan.operation} on {on} under grant {acting}; nothing was done.", *lines])


def _placed(opened: Open, said: Sequence[str], colour: str) -> tuple[list[int], list[str]]:
    """Return the ids of objects, and the places among them that were said, as `ID:PLACE`."""
    known = {use.place for use in swatch.uses(opened.document)}
    ids: list[int] = []
    places: list[str] = []
    for word in said:
        name, _, place = word.rpartition(":")
        held = _objects(opened, [name if place in known else word], colour)
        ids += held
        places += [f"{one}:{place}" for one in held] if place in known else []
    return ids, places


def _objects(opened: Open, said: Sequence[str], colour: str) -> list[int]:
    """Return the ids of objects said by name or id.

    A name that several objects have means all of them that have the colour; if none has, it means all of them, so that
    the refusal can name them.
    """
    wanted = hex_of(from_css(colour))
    named: dict[str, list[int]] = {}
    for use in sorted(swatch.uses(opened.document), key=lambda use: use.colour != wanted):
        held = named.setdefault(use.name, [])
        if use.colour == wanted or not held:
            held.append(use.object_id)
    found: list[int] = []
    for word in said:
        if word in named:
            found += dict.fromkeys(named[word])
        elif word.isdecimal():
            found.append(int(word))
        else:
            raise CountermarkError(
                "not_found",
                f"No object of {opened.name} is called {word!r}.",
                next_action="See the names: `countermark vector swatch list`.",
                details={"object": word},
            )
    return found
