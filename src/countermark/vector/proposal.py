"""From what a caller wants to a plan and the revision it was made against.

A proposal reads what it needs once, puts those bytes into the store, and names them by digest: what is performed later
is exactly what was read here, or it is refused.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from countermark.kernel import fence, publish, task
from countermark.kernel.canon import ABSENT, SHA256_PREFIX
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Tx
from countermark.kernel.plan import InputRef, Plan
from countermark.vector import operation, origin, token
from countermark.vector.document import Document
from countermark.vector.holding import Open, plain_name
from countermark.vector.kit import boards_for
from countermark.vector.svg.parse import MAX_BYTES
from countermark.vector.verification import PICTURE_LOSS

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

KIT: Final = "kit"
_DOCUMENT_FACTOR: Final = 8
_SLACK: Final = 1 << 20
_TOKENS_ROOM: Final = token.MAX_BYTES
_SOURCE_MAX: Final = 255


class Proposal(NamedTuple):
    """A plan, and the revision of its resource that it was made against."""

    plan: Plan
    revision: str


def propose_import(
    workspace: Workspace,
    svg: bytes,
    source: str,
    *,
    document: str | None = None,
    into: str | None = None,
) -> Proposal:
    """Propose to import an SVG as a new document, named after `source` unless `document` names it.

    With `into` it becomes one more artboard of that document instead.
    """
    source = source.encode("utf-8", "backslashreplace").decode("utf-8")  # a file's name may be no text
    _check_source(svg, source)
    if into is not None:
        return _propose_joining(workspace, svg, source, into)
    target = document or f"{_stem(source)}{operation.SUFFIX}"
    plain_name(target, operation.SUFFIX)
    digest = workspace.store.put(svg)
    plan = Plan(
        "vector",
        operation.EFFECT,
        "import",
        (publish.FILE + target,),
        {"source": source, "bytes": len(svg) * _DOCUMENT_FACTOR + _SLACK},
        (InputRef(operation.SOURCE, SHA256_PREFIX + digest, digest),),
    )
    return Proposal(plan, ABSENT)


def _propose_joining(workspace: Workspace, svg: bytes, source: str, into: str) -> Proposal:
    opened = Open(workspace, into)
    digest = workspace.store.put(svg)
    payload = {"source": source, "bytes": len(svg) * _DOCUMENT_FACTOR + len(opened.data) * 2 + _SLACK}
    refs = (InputRef(operation.SOURCE, SHA256_PREFIX + digest, digest), opened.ref(workspace))
    plan = Plan("vector", operation.EFFECT, "import", (publish.FILE + opened.name,), payload, refs)
    return Proposal(plan, opened.revision)


def propose_bind(
    workspace: Workspace,
    name: str,
    colour: str,
    *,
    document: str | None = None,
    only: Sequence[int] | None = None,
    leave: Sequence[int] = (),
    places: Sequence[str] = (),
    anew: bool = False,
) -> Proposal:
    """Propose to bind a colour to a swatch: all objects that have it, `only` some, or all but `leave`.

    Of the objects in `places` (`ID:PLACE`) only those fills, strokes or stops.

    The last change said again is proposed as the same plan, unless `anew`: then it is a plan on what is there now.
    """
    payload: dict[str, Any] = {"swatch": name, "colour": colour, "leave": list(leave)}
    if only is not None:
        payload["only"] = list(only)
    if places:
        payload["places"] = list(places)
    return _propose_change(workspace, "swatch.bind", payload, document, anew=anew)


def propose_colour(
    workspace: Workspace, name: str, colour: str, *, document: str | None = None, anew: bool = False
) -> Proposal:
    """Propose to give a swatch another colour; `anew` as in `propose_bind`."""
    return _propose_change(workspace, "swatch.set", {"swatch": name, "colour": colour}, document, anew=anew)


def propose_tokens(workspace: Workspace, data: bytes, *, document: str | None = None, anew: bool = False) -> Proposal:
    """Propose to give swatches the colours of a token file; `anew` as in `propose_bind`.

    Raise what `token.read` raises.
    """
    token.read(data)
    digest = workspace.store.put(data)
    ref = InputRef(operation.TOKENS, SHA256_PREFIX + digest, digest)
    return _propose_change(workspace, "tokens.apply", {"tokens": digest}, document, anew=anew, more=(ref,))


def _propose_change(
    workspace: Workspace,
    word: str,
    payload: dict[str, Any],
    name: str | None,
    *,
    anew: bool,
    more: tuple[InputRef, ...] = (),
) -> Proposal:
    opened = Open(workspace, name)
    resource = publish.FILE + opened.name
    whole = {**payload, "bytes": len(opened.data) * 2 + _SLACK + _TOKENS_ROOM * len(more)}
    plan = Plan("vector", operation.EFFECT, word, (resource,), whole, (opened.ref(workspace), *more))
    last = last_task(workspace, resource)
    if not anew and last is not None and last.plan.operation == word and last.plan.payload.keys() == whole.keys():
        # The same change said again, and the document stands as it left it: that is a repeat, with the first one's key.
        same = all(last.plan.payload[member] == whole[member] for member in payload)
        if same and stands(workspace, resource, opened.revision):
            plan = last.plan
    return Proposal(plan, opened.revision)


def propose_kit(
    workspace: Workspace,
    *,
    document: str | None = None,
    folder: str = KIT,
    accept_loss: Sequence[str] = (),
    revision: str | None = None,
    anew: bool = False,
) -> Proposal:
    """Propose to export the kit of a document into a folder; `anew` as in `propose_bind`.

    Without `revision` the kit is written against what was last published there: a file that a person changed or added
    since is a `revision_conflict`, never overwritten; another document's kit is an `output_exists`. Raises
    `loss_unknown` for a loss that the document does not have, and `verification_unavailable` when an original it has to
    be compared with is not in the store.
    """
    plain_name(folder, "")
    opened = Open(workspace, document)
    resource = publish.FILE + folder
    ref = opened.ref(workspace)
    last = last_task(workspace, resource)
    boards = boards_for(opened.document)
    pixels = sum(board.width * board.height for board in boards)
    payload = {
        "document": opened.name,
        "command": _command(opened.name, folder, accept_loss),
        "acceptLoss": list(accept_loss),
        "boards": len(boards),
        # A picture is at most its pixels uncompressed; an SVG, a page or an embedded document a few times the document.
        "bytes": pixels * 4 + len(boards) * len(opened.data) * _DOCUMENT_FACTOR + _SLACK,
    }
    plan = Plan("vector", operation.EFFECT, KIT, (resource,), payload, (ref, *_context(workspace, opened, last)))
    if not anew and last is not None and dict(last.plan.payload) == payload and ref in last.plan.inputs:
        plan = last.plan
    else:
        _check_losses(workspace, opened.document, accept_loss)
    if revision is None:
        revision = written(workspace, folder)
        if revision != ABSENT and last is not None and last.plan.payload.get("document") != opened.name:
            raise _another_kit(folder, str(last.plan.payload.get("document")))
    return Proposal(plan, revision)


def _another_kit(folder: str, document: str) -> CountermarkError:
    """Return the refusal to write one document's kit over another's, which nobody asked for by its revision."""
    return CountermarkError(
        "output_exists",
        f"{folder} holds the kit of {document}; nothing was changed.",
        next_action="Name another folder for this kit, or name that one's revision to replace it.",
        details={"document": document},
    )


def _command(document: str, folder: str, accept_loss: Sequence[str]) -> str:
    """Return the command line that asks for this kit; names come from documents, so they are quoted."""
    words = ["countermark", "vector", "kit", "--document", document]
    words += ["--folder", folder] if folder != KIT else []
    return shlex.join([*words, *(word for name in accept_loss for word in ("--accept-loss", name))])


def repeated(workspace: Workspace, wanted: Proposal, key: str, revision: str | None) -> Proposal:
    """Return the plan that a key was used for, when this is the same request again.

    A change moves the document it was made on, so its retry reads another one: what the plan itself changed does not
    make it another request. A `revision` that the caller names has to be the one it named the first time.
    """

    def question(tx: Tx) -> task.Task | None:
        row = tx.one("SELECT id FROM tasks WHERE key = ? ORDER BY rowid DESC LIMIT 1", (key,))
        return task.load(tx, row[0]) if row else None

    found = workspace.ledger.read(question)
    if found is None or _asked(found.plan) != _asked(wanted.plan):
        return wanted
    if revision is not None and revision != found.expected.get(wanted.plan.resources[0]):
        return wanted
    return Proposal(found.plan, wanted.revision)


def _asked(plan: Plan) -> tuple[Any, ...]:
    """Return what makes two plans the same request: the operation, its arguments, and the inputs it does not change."""
    kept = {operation.SOURCE, operation.DOCUMENT} if plan.operation == KIT else {operation.SOURCE, operation.TOKENS}
    arguments = {name: value for name, value in plan.payload.items() if name not in ("boards", "bytes")}
    return plan.operation, plan.resources, arguments, [ref for ref in plan.inputs if ref.name in kept]


def _context(workspace: Workspace, opened: Open, last: task.Task | None) -> list[InputRef]:
    """Return the inputs beside the document: its originals, and what stood in the kit before."""
    refs = [
        InputRef(f"original/{one.artboard}", SHA256_PREFIX + one.sha256, one.sha256)
        for one in origin.sources(opened.document)
        if workspace.store.has(one.sha256)
    ]
    if last is not None:
        refs += [InputRef(f"{operation.BEFORE}{name}", "published", sha) for name, sha in published(workspace, last.id)]
        refs += [
            InputRef(operation.PREVIOUS, operation.MADE_BY + last.runtime.digest, ref.digest)
            for ref in last.plan.inputs
            if ref.name == operation.DOCUMENT
        ]
    return refs


def published(workspace: Workspace, task_id: str) -> list[tuple[str, str]]:
    """Return the names and digests of what a task made, in order of name."""
    return workspace.ledger.read(
        lambda tx: [
            (name, digest)
            for name, digest in tx.all(
                "SELECT name, digest FROM artifacts WHERE task = ? AND state IN ('published', 'staged') ORDER BY name",
                (task_id,),
            )
        ]
    )


def last_task(workspace: Workspace, resource: str) -> task.Task | None:
    """Return the task that last wrote a resource."""

    def question(tx: Tx) -> task.Task | None:
        known = fence.load(tx, resource)
        return task.load(tx, known.last_task) if known is not None and known.last_task else None

    return workspace.ledger.read(question)


def written(workspace: Workspace, folder: str) -> str:
    """Return the revision that was last published at a folder: what a person changed there since makes another."""
    known = workspace.ledger.read(lambda tx: fence.load(tx, publish.FILE + folder))
    return known.revision if known is not None and workspace.files.exists(folder) else ABSENT


def stands(workspace: Workspace, resource: str, revision: str) -> bool:
    """Return whether a revision is the one that was last written here, under this workspace's ledger."""
    known = workspace.ledger.read(lambda tx: fence.load(tx, resource))
    return known is not None and known.revision == revision


def _check_source(svg: bytes, source: str) -> None:
    """Refuse what the engine would refuse unread, before any of it is kept."""
    if len(svg) > MAX_BYTES:
        raise CountermarkError(
            "input_too_large",
            f"The SVG has {len(svg)} bytes; they are read up to {MAX_BYTES} bytes.",
            next_action="Simplify the drawing, or leave embedded pictures out.",
        )
    if not 0 < len(source) <= _SOURCE_MAX:
        raise CountermarkError(
            "input_invalid",
            f"The SVG's name has {len(source)} characters.",
            next_action=f"Give it a name of 1 to {_SOURCE_MAX} characters, such as logo.svg.",
        )


def _check_losses(workspace: Workspace, document: Document, names: Sequence[str]) -> None:
    wanted = [name for name in names if name != PICTURE_LOSS]
    if wanted:
        origin.accepted(origin.losses(document), wanted)
    gone = [one for one in origin.sources(document) if not workspace.store.has(one.sha256)]
    if gone and PICTURE_LOSS not in names:
        raise CountermarkError(
            "verification_unavailable",
            f"{gone[0].name!r}, the original of artboard {gone[0].artboard}, is not in this workspace's store: the kit "
            "cannot be compared with it.",
            next_action=f"Import that SVG here once more, or let a person answer for it: --accept-loss {PICTURE_LOSS}.",
            details={"artboard": gone[0].artboard, "sha256": gone[0].sha256},
        )


def _stem(source: str) -> str:
    stem = re.sub(r"\.svgz?\Z", "", source.rsplit("/", 1)[-1], flags=re.IGNORECASE)
    return re.sub(r"[^\w .-]+", "-", stem).strip(" .-")[:150] or "document"
