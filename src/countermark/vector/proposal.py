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
from countermark.kernel.canon import ABSENT, SHA256_PREFIX, revision_of
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Tx
from countermark.kernel.plan import InputRef, Plan
from countermark.vector import document as native
from countermark.vector import operation, origin
from countermark.vector.artboard import artboards
from countermark.vector.document import Document
from countermark.vector.kit import boards_for
from countermark.vector.svg.parse import MAX_BYTES
from countermark.vector.verification import PICTURE_LOSS

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

KIT: Final = "kit"
DOCUMENT_CAP: Final = 512 << 20
_DOCUMENT_FACTOR: Final = 8
_SLACK: Final = 1 << 20
_SOURCE_MAX: Final = 255
_NAMED: Final = 80


class Proposal(NamedTuple):
    """A plan, and the revision of its resource that it was made against."""

    plan: Plan
    revision: str


class Open:
    """A document of the workspace as it was read once: its name, revision, bytes and tree."""

    def __init__(self, workspace: Workspace, name: str | None) -> None:
        """Read a document by name, or the only one there is; raise `not_found` and list the documents."""
        self.name = name if name is not None else only_document(workspace)
        _plain_name(self.name, operation.SUFFIX)
        if not workspace.files.exists(self.name):
            raise CountermarkError(
                "not_found",
                f"There is no document {self.name} in this workspace.",
                next_action=f"Choose one of: {', '.join(documents(workspace)) or 'none yet; import an SVG first'}.",
            )
        self.data = workspace.files.read(self.name, cap=DOCUMENT_CAP)
        self.revision = revision_of(self.data)
        self.document = native.load(self.data, what=self.name)
        artboards(self.document)  # raises where one has no area, or two have one id

    def ref(self, workspace: Workspace) -> InputRef:
        """Put the bytes that were read into the store and return them as an input."""
        return InputRef(operation.DOCUMENT, self.revision, workspace.store.put(self.data))


def documents(workspace: Workspace) -> list[str]:
    """Return the names of the documents at the top of the workspace."""
    return sorted(e.name for e in workspace.files.listing() if e.kind == "file" and e.name.endswith(operation.SUFFIX))


def only_document(workspace: Workspace) -> str:
    """Return the one document there is; raise `input_invalid` when it has to be named."""
    found = documents(workspace)
    if len(found) == 1:
        return found[0]
    raise CountermarkError(
        "input_invalid" if found else "not_found",
        f"This workspace has {len(found) or 'no'} documents; {'name one' if found else 'there is nothing to work on'}.",
        next_action=f"Name it: {', '.join(found)}." if found else "Import an SVG: `countermark vector import FILE`.",
        details={"documents": found},
    )


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
    _plain_name(target, operation.SUFFIX)
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
    anew: bool = False,
) -> Proposal:
    """Propose to bind a colour to a swatch: all objects that have it, `only` some, or all but `leave`.

    The last change said again is proposed as the same plan, unless `anew`: then it is a plan on what is there now.
    """
    payload: dict[str, Any] = {"swatch": name, "colour": colour, "leave": list(leave)}
    if only is not None:
        payload["only"] = list(only)
    return _propose_change(workspace, "swatch.bind", payload, document, anew=anew)


def propose_colour(
    workspace: Workspace, name: str, colour: str, *, document: str | None = None, anew: bool = False
) -> Proposal:
    """Propose to give a swatch another colour; `anew` as in `propose_bind`."""
    return _propose_change(workspace, "swatch.set", {"swatch": name, "colour": colour}, document, anew=anew)


def _propose_change(
    workspace: Workspace, word: str, payload: dict[str, Any], name: str | None, *, anew: bool
) -> Proposal:
    opened = Open(workspace, name)
    resource = publish.FILE + opened.name
    whole = {**payload, "bytes": len(opened.data) * 2 + _SLACK}
    plan = Plan("vector", operation.EFFECT, word, (resource,), whole, (opened.ref(workspace),))
    last = last_task(workspace, resource)
    if not anew and last is not None and last.plan.operation == word and last.plan.payload.keys() == whole.keys():
        # The same change said again, and the document stands as it left it: that is a repeat, with the first one's key.
        same = all(last.plan.payload[member] == whole[member] for member in payload)
        if same and _stands(workspace, resource, opened.revision):
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
    since is a `revision_conflict`, never overwritten. Raises `loss_unknown` for a loss that the document does not have,
    and `verification_unavailable` when an original it has to be compared with is not in the store.
    """
    _plain_name(folder, "")
    opened = Open(workspace, document)
    _check_losses(workspace, opened.document, accept_loss)
    resource = publish.FILE + folder
    ref = opened.ref(workspace)
    last = last_task(workspace, resource)
    sides = [board.side for board in boards_for(opened.document)]
    payload = {
        "document": opened.name,
        "command": _command(opened.name, folder, accept_loss),
        "acceptLoss": list(accept_loss),
        "bytes": sum(side * side * 4 + len(opened.data) * 2 for side in sides) + _SLACK,
    }
    plan = Plan("vector", operation.EFFECT, KIT, (resource,), payload, (ref, *_context(workspace, opened, last)))
    if not anew and last is not None and dict(last.plan.payload) == payload and ref in last.plan.inputs:
        plan = last.plan
    if revision is None:
        known = workspace.ledger.read(lambda tx: fence.load(tx, resource))
        revision = known.revision if known is not None and workspace.files.exists(folder) else ABSENT
    return Proposal(plan, revision)


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
    kept = {operation.SOURCE, operation.DOCUMENT} if plan.operation == KIT else {operation.SOURCE}
    arguments = {name: value for name, value in plan.payload.items() if name != "bytes"}
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
            InputRef(operation.PREVIOUS, ref.version, ref.digest)
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


def _stands(workspace: Workspace, resource: str, revision: str) -> bool:
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


def _plain_name(name: str, suffix: str) -> None:
    """Raise `input_invalid` unless a name is plain and ends in the suffix: a document's name, or any other."""
    fits = name.endswith(suffix) if suffix else not name.endswith(operation.SUFFIX)
    if not re.fullmatch(r"[\w][\w .-]{0,199}", name) or not fits or name.startswith("countermark.toml"):
        raise CountermarkError(
            "input_invalid",
            f"{name[:_NAMED]!r} is no name for this.",
            next_action="Use letters, digits, spaces, dots and dashes, "
            + (f"ending in {suffix}." if suffix else f"not ending in {operation.SUFFIX}."),
        )


def _stem(source: str) -> str:
    stem = re.sub(r"\.svgz?\Z", "", source.rsplit("/", 1)[-1], flags=re.IGNORECASE)
    return re.sub(r"[^\w .-]+", "-", stem).strip(" .-")[:150] or "document"
