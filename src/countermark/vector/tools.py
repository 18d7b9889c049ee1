"""The vector domain's public calls: read, import, apply, export.

Callers name documents and kits of the workspace and give content or digests, never paths; the command line opens a
typed path once and hands its bytes on. Every write names a key and the revision it was made against.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from countermark.kernel import fence, publish, task
from countermark.kernel.canon import ABSENT
from countermark.kernel.errors import CountermarkError
from countermark.kernel.perform import Performed
from countermark.kernel.state import State
from countermark.kernel.tool import (
    Link,
    Picture,
    Result,
    Tool,
    invalid,
    read_schema,
    receipt_link,
    task_data,
    write_schema,
)
from countermark.vector import document as native
from countermark.vector import operation, origin, swatch
from countermark.vector.artboard import artboards
from countermark.vector.document import Document
from countermark.vector.holding import DOCUMENT_CAP, Open
from countermark.vector.kit import PAGE, boards_for, files_for
from countermark.vector.proposal import (
    KIT,
    Proposal,
    propose_bind,
    propose_colour,
    propose_import,
    propose_kit,
    propose_tokens,
    published,
    repeated,
    stands,
    written,
)

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

SVG_TEXT_MAX: Final = 4 << 20
_SHOWN: Final = 100


def facts_of(workspace: Workspace, task_id: str) -> dict[str, Any]:
    """Return what a task said of itself: losses of an import, the brand report of a recolouring."""
    return workspace.ledger.read(lambda tx: task.facts(tx, task_id))


def read(workspace: Workspace, name: str | None = None, *, board: str | None = None) -> Result:
    """Return what a document holds: revision, artboards, swatches with their consumers, losses of its import."""
    opened = Open(workspace, name)
    document = opened.document
    losses = origin.remembered(document).get("losses", [])
    tokens = swatch.swatches(document)
    data = {
        "document": opened.name,
        "revision": opened.revision,
        "title": document.tree.get("title", ""),
        "objects": sum(1 for _ in native.walk(document)),
        "artboards": [
            {"id": b.id, "name": b.name, "width": b.box.width, "height": b.box.height} for b in artboards(document)
        ],
        "swatches": [_swatch_data(one) for one in tokens],
        "colours": _colours(document),
        "losses": losses[:_SHOWN],
        "lossesTotal": len(losses),
        "kit": {"folder": KIT, "revision": written(workspace, KIT)},
    }
    holds = f"{_count(int(data['objects']), 'object')}, {_count(len(tokens), 'swatch', 'es')}"
    lost = f"{_count(len(losses), 'loss', 'es')} on import"
    pictures = _board_picture(workspace, board) if board else ()
    summary = f"{opened.name} at {fence.short(opened.revision)}: {holds}, {lost}."
    return Result(summary, data, pictures=pictures)


def _count(number: int, noun: str, ending: str = "s") -> str:
    return f"{number} {noun}{'' if number == 1 else ending}"


def import_svg(
    workspace: Workspace,
    svg: bytes,
    source: str,
    *,
    grant: str,
    document: str | None = None,
    into: str | None = None,
    revision: str | None = None,
    key: str | None = None,
) -> tuple[Performed, dict[str, Any]]:
    """Import an SVG as a new document, or as one more artboard; return the task and what could not be carried over."""
    wanted = propose_import(workspace, svg, source, document=document, into=into)
    return _perform(workspace, wanted, grant, key, revision)


def bind(  # noqa: PLR0913 - each is an option of the one call
    workspace: Workspace,
    name: str,
    colour: str,
    *,
    grant: str,
    document: str | None = None,
    only: Sequence[int] | None = None,
    leave: Sequence[int] = (),
    places: Sequence[str] = (),
    revision: str | None = None,
    key: str | None = None,
) -> tuple[Performed, dict[str, Any]]:
    """Bind a colour to a swatch; return the task and the brand report."""
    chosen: dict[str, Any] = {"only": only, "leave": leave, "places": places}
    wanted = propose_bind(workspace, name, colour, document=document, anew=key is not None, **chosen)
    return _perform(workspace, wanted, grant, key, revision)


def set_colour(
    workspace: Workspace,
    name: str,
    colour: str,
    *,
    grant: str,
    document: str | None = None,
    revision: str | None = None,
    key: str | None = None,
) -> tuple[Performed, dict[str, Any]]:
    """Give a swatch another colour; return the task and the brand report."""
    wanted = propose_colour(workspace, name, colour, document=document, anew=key is not None)
    return _perform(workspace, wanted, grant, key, revision)


def apply_tokens(
    workspace: Workspace,
    data: bytes,
    *,
    grant: str,
    document: str | None = None,
    revision: str | None = None,
    key: str | None = None,
) -> tuple[Performed, dict[str, Any]]:
    """Give swatches the colours of a token file; return the task and what it did to each swatch."""
    wanted = propose_tokens(workspace, data, document=document, anew=key is not None)
    return _perform(workspace, wanted, grant, key, revision)


def export(
    workspace: Workspace,
    *,
    grant: str,
    document: str | None = None,
    folder: str = KIT,
    accept_loss: Sequence[str] = (),
    revision: str | None = None,
    key: str | None = None,
) -> tuple[Performed, dict[str, Any]]:
    """Export the kit of a document into a folder; return the task and which boards changed (see `propose_kit`)."""
    wanted = propose_kit(
        workspace,
        document=document,
        folder=folder,
        accept_loss=accept_loss,
        revision=revision,
        anew=key is not None,
    )
    done, said = _perform(workspace, wanted, grant, key)
    return done, _kit_facts(workspace, done, said)


def _perform(
    workspace: Workspace, wanted: Proposal, grant: str, key: str | None, revision: str | None = None
) -> tuple[Performed, dict[str, Any]]:
    if key is not None:
        wanted = repeated(workspace, wanted, key, revision)
    try:
        done = workspace.perform(wanted.plan, grant=grant, revision=revision or wanted.revision, key=key)
    except CountermarkError as error:
        if error.code == "revision_conflict" and error.details.get("expected") == ABSENT:
            kit = wanted.plan.operation == KIT  # one that we made is a newer revision, and no stranger in the way
            if not (kit and stands(workspace, wanted.plan.resources[0], str(error.details.get("current")))):
                raise _in_the_way(error) from error
        raise
    return done, facts_of(workspace, done.task)


def _in_the_way(error: CountermarkError) -> CountermarkError:
    """Say of a conflict with something that was not expected at all what it is: an output that is not ours."""
    name = publish.place(str(error.details["resource"]))
    return CountermarkError(
        "output_exists",
        f"{name} is there already, and it is not what this command made; nothing was changed.",
        next_action=f"Move {name} away, or choose another name.",
        details=error.details,
    )


def _kit_facts(workspace: Workspace, done: Performed, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return which boards of a kit are new, changed, or byte-equal to the kit before."""
    plan = workspace.ledger.read(lambda tx: task.load(tx, done.task)).plan
    # The document as it was exported: it may have changed since, or be gone.
    ref = operation.input_of(plan, operation.DOCUMENT)
    document = native.load(workspace.store.get(ref.digest, DOCUMENT_CAP))
    before = operation.before(plan)
    now = {name: sha for name, sha in published(workspace, done.task) if name != PAGE}
    boards = []
    for board in boards_for(document):
        if not any(name in now for name in board.files):
            continue  # a variant that this drawing does not have
        states = {_change(before.get(name), now.get(name)) for name in board.files}
        status = "changed" if "changed" in states else "new" if "new" in states else "byte-equal"
        boards.append(
            {
                "id": board.id,
                "artboard": board.artboard,
                "variant": board.variant,
                "width": board.width,
                "height": board.height,
                "status": status,
                "files": list(board.files),
            }
        )
    others = [
        {"name": file.name, "status": _change(before.get(file.name), now.get(file.name))}
        for file in files_for(document, operation.native_name(plan))
    ]
    return {
        "folder": publish.place(plan.resources[0]),
        "boards": boards,
        "others": others,
        "files": len(now),
        "undrawn": said.get("undrawn", []),
        "notDerivable": said.get("notDerivable", []),
        "reused": said.get("reused", 0),
    }


def _change(before: str | None, now: str | None) -> str:
    return "new" if before is None else "byte-equal" if before == now else "changed"


def _swatch_data(one: swatch.Swatch) -> dict[str, Any]:
    return {
        "name": one.name,
        "colour": one.colour,
        "consumers": [{"object": use.object_id, "name": use.name, "place": use.place} for use in one.uses[:_SHOWN]],
        "artboards": list(one.artboards),
    }


def _colours(document: Document) -> list[dict[str, Any]]:
    """Return the colours in use with the objects that have them and are not bound: what could be bound."""
    found: dict[str, list[swatch.Use]] = {}
    for use in swatch.uses(document):
        if use.colour and use.swatch is None:
            found.setdefault(use.colour, []).append(use)
    return [
        {
            "colour": colour,
            "objects": [{"object": use.object_id, "name": use.name, "place": use.place} for use in uses[:_SHOWN]],
        }
        for colour, uses in sorted(found.items())[:_SHOWN]
    ]


def _board_picture(workspace: Workspace, board: str) -> tuple[Picture, ...]:
    name = f"{KIT}/{board}.png"
    if not workspace.files.exists(name):
        raise CountermarkError(
            "not_found", f"There is no board {board} in the kit.", next_action="Export the kit first."
        )
    return (Picture("image/png", workspace.files.read(name, cap=64 << 20)),)


# What MCP and HTTP offer.


def _call_read(workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    return read(workspace, arguments.get("document"), board=arguments.get("board"))


def _call_import(workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    if ("svg" in arguments) == ("sha256" in arguments):
        raise invalid("svg", "given, or sha256 in its place; not both")
    if "svg" in arguments:
        svg = arguments["svg"].encode("utf-8")
    else:
        svg = workspace.store.get(arguments["sha256"], DOCUMENT_CAP)
    done, facts = import_svg(
        workspace,
        svg,
        arguments["name"],
        into=arguments.get("into"),
        grant=_grant(workspace, arguments),
        revision=arguments["expected_revision"],
        key=arguments["idempotency_key"],
    )
    summary = f"Imported {arguments['name']}; {facts.get('lossesTotal', 0)} things could not be carried over."
    return _write_result(done, summary, facts)


def _call_preview(workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    from countermark.vector.preview import preview  # noqa: PLC0415 - draws, with 50 MB

    return preview(workspace, arguments["swatch"], arguments["colour"], document=arguments.get("document"))


def _call_loss(workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    from countermark.vector.rechecking import recheck  # noqa: PLC0415 - brings the judges

    return recheck(workspace, arguments.get("folder", KIT))


def _call_apply(workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    common: dict[str, Any] = {
        "grant": _grant(workspace, arguments),
        "document": arguments.get("document"),
        "revision": arguments["expected_revision"],
        "key": arguments["idempotency_key"],
    }
    if arguments["operation"] == "swatch.bind":
        done, facts = bind(
            workspace,
            arguments["swatch"],
            arguments["colour"],
            only=arguments.get("only"),
            leave=arguments.get("leave", ()),
            places=arguments.get("places", ()),
            **common,
        )
    else:
        done, facts = set_colour(workspace, arguments["swatch"], arguments["colour"], **common)
    report = facts.get("report", {})
    data = {name: report.get(name, [])[:_SHOWN] for name in ("changed", "lookalikes")}
    data |= {"status": report.get("status"), "artboards": report.get("artboards", [])}
    data["revision"] = _revision_now(workspace, done)
    count = len(report.get("changed", []))
    summary = f"{report.get('swatch')} is {report.get('colour')}: {count} colours follow, "
    return _write_result(done, summary + f"{len(report.get('lookalikes', []))} look alike and were not touched.", data)


def _call_tokens(workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    done, facts = apply_tokens(
        workspace,
        arguments["tokens"].encode("utf-8"),
        grant=_grant(workspace, arguments),
        document=arguments.get("document"),
        revision=arguments["expected_revision"],
        key=arguments["idempotency_key"],
    )
    report = facts.get("report", {})
    data = {name: report.get(name, [])[:_SHOWN] for name in ("created", "recoloured", "same", "changed", "notices")}
    data |= {"status": report.get("status"), "artboards": report.get("artboards", [])}
    data["revision"] = _revision_now(workspace, done)
    counts = f"{len(report.get('created', ()))} swatches made, {len(report.get('recoloured', ()))} recoloured"
    return _write_result(done, f"{counts}, {len(report.get('changed', ()))} colours follow.", data)


def _call_export(workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    done, facts = export(
        workspace,
        grant=_grant(workspace, arguments),
        document=arguments.get("document"),
        folder=arguments.get("folder", KIT),
        accept_loss=arguments.get("accept_loss", ()),
        revision=arguments["expected_revision"],
        key=arguments["idempotency_key"],
    )
    changed = sum(board["status"] == "changed" for board in facts["boards"])
    equal = sum(board["status"] == "byte-equal" for board in facts["boards"])
    summary = f"{len(facts['boards'])} boards in {facts['folder']}: {changed} changed, {equal} byte-equal."
    links = [
        Link(name, f"countermark://artifact/{sha}", "text/html" if name == PAGE else "application/octet-stream")
        for name, sha in published(workspace, done.task)
    ]
    facts["revision"] = _revision_now(workspace, done)
    return _write_result(done, summary, facts, tuple(links[:_SHOWN]))


def _write_result(done: Performed, summary: str, data: dict[str, Any], links: tuple[Link, ...] = ()) -> Result:
    waits = " It waits for a person's acceptance." if done.state is State.REVIEW_READY else ""
    first = "First result, repeated. " if done.repeated else ""
    return Result(first + summary + waits, {**task_data(done), **data}, (*receipt_link(done), *links))


def _revision_now(workspace: Workspace, done: Performed) -> str:
    found = workspace.ledger.read(lambda tx: task.load(tx, done.task))
    return publish.observe(workspace, found.plan.resources[0])


def _grant(workspace: Workspace, arguments: Mapping[str, Any]) -> str:
    return str(arguments.get("grant") or workspace.settings.grant)


_DOCUMENT: Final = {"type": "string", "maxLength": 200, "description": "A document's name; left out: the only one."}
_IDS: Final = {"type": "array", "items": {"type": "integer"}, "maxItems": 4096}

TOOLS: Final = (
    Tool(
        "vector_read",
        "Read a brand document",
        "Show a document's revision, artboards, swatches and what is bound to them, unbound colours, import losses, "
        "the kit's revision. "
        "Give `board` (such as artboard-1-full-colour-512) to see that board of the kit as a picture.",
        read_schema({"document": _DOCUMENT, "board": {"type": "string", "maxLength": 200}}),
        _call_read,
        read_only=True,
    ),
    Tool(
        "vector_import",
        "Import an SVG",
        "Make a native document of an SVG, given as text or by the digest of a stored file. The answer names "
        "everything that could not be carried over.",
        write_schema(
            {
                "name": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 150,
                    "description": "A file name, such as logo.svg.",
                },
                "svg": {"type": "string", "maxLength": SVG_TEXT_MAX},
                "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                "into": {**_DOCUMENT, "description": "A document that gets it as one more artboard."},
            },
            "name",
        ),
        _call_import,
    ),
    Tool(
        "vector_apply",
        "Bind or change a brand colour",
        "`swatch.bind` binds objects of one colour to a swatch (all of them, or `only` some, or all but `leave`; "
        "of an object only the `places` named, as 7:fill[0].stop[1]); "
        "`swatch.set` gives the swatch another colour. Only what is bound changes; look-alikes are listed, untouched.",
        write_schema(
            {
                "operation": {"enum": ["swatch.bind", "swatch.set"]},
                "swatch": {"type": "string", "minLength": 1, "maxLength": 64},
                "colour": {"type": "string", "minLength": 1, "maxLength": 64, "description": "A CSS colour: #0057ff"},
                "only": _IDS,
                "leave": _IDS,
                "places": {"type": "array", "items": {"type": "string", "maxLength": 80}, "maxItems": 4096},
                "document": _DOCUMENT,
            },
            "operation",
            "swatch",
            "colour",
        ),
        _call_apply,
    ),
    Tool(
        "vector_preview",
        "Preview a brand colour",
        "Show which objects and artboards another colour of a swatch would change, with pictures before and after. "
        "Nothing is written.",
        read_schema(
            {
                "swatch": {"type": "string", "minLength": 1, "maxLength": 64},
                "colour": {"type": "string", "minLength": 1, "maxLength": 64},
                "document": _DOCUMENT,
            },
            "swatch",
            "colour",
        ),
        _call_preview,
        read_only=True,
    ),
    Tool(
        "vector_loss",
        "Measure a kit again",
        "Measure from the files of a kit what each lost, and compare with its exchange-loss.json.",
        read_schema({"folder": {"type": "string", "maxLength": 200}}),
        _call_loss,
        read_only=True,
    ),
    Tool(
        "vector_tokens",
        "Apply design tokens",
        "Give swatches the colours of a DTCG 2025.10 token file, given as text: a token's path, joined with dots, "
        "names the swatch; missing swatches are made. Only what is bound changes. "
        "Narrowed colours are told in `notices`.",
        write_schema({"tokens": {"type": "string", "maxLength": SVG_TEXT_MAX}, "document": _DOCUMENT}, "tokens"),
        _call_tokens,
    ),
    Tool(
        "vector_export",
        "Export the kit",
        "Write every board of a document as SVG and PNG, each checked by another engine, with a record page. "
        "`expected_revision` is the kit folder's: `kit.revision` of vector_read. "
        "Losses that a person shall answer for are named in `accept_loss`; the kit then waits for that person.",
        write_schema(
            {
                "document": _DOCUMENT,
                "folder": {"type": "string", "maxLength": 200},
                "accept_loss": {"type": "array", "items": {"type": "string", "maxLength": 200}, "maxItems": 200},
            }
        ),
        _call_export,
    ),
)
