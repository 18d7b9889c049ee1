"""Why an import or a kit was not made, told by what a person at the command line can do about it.

The domain tells an agent to read again and name the revision it read. A person has named none: they need to know which
file is not as it was, or which loss of the import is in the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from countermark.kernel import publish
from countermark.kernel.errors import CountermarkError
from countermark.kernel.proof import Status
from countermark.kernel.receipt import FILE_NAME as RECEIPT
from countermark.kernel.workspace import Workspace
from countermark.vector import holding, origin, proposal

LOSSES: Final = frozenset({"losses", "original"})
"""The checks that fail of a loss alone: it is on the list, and it is why the picture differs."""

_NAMED: Final = 4


@contextmanager
def to_an_import() -> Iterator[None]:
    """Say of a document that is there already how the drawing can still get in."""
    try:
        yield
    except CountermarkError as error:
        if error.code != "output_exists":
            raise
        name = publish.place(str(error.details["resource"]))
        raise _told(
            error,
            f"{name} is there already; nothing was changed.",
            f"Add the drawing to it with `--into {name}`, or name a new document with `--document NAME`.",
        ) from error


@contextmanager
def to_a_kit(
    workspace: Workspace, document: str | None, folder: str, accept_loss: Sequence[str], *, named: bool
) -> Iterator[None]:
    """Say what stands in the way of a kit: losses that nobody answers for, or files that somebody changed.

    `named` says that the caller named a revision; then the conflict is with that one, and is told as it is.
    """
    try:
        yield
    except CountermarkError as error:
        if error.code == "verification_failed":
            raise _unanswered(workspace, error, document, accept_loss) from error
        if error.code == "revision_conflict" and error.details.get("resource") == publish.FILE + folder and not named:
            raise _changed(workspace, error, folder) from error
        raise


def answering(workspace: Workspace, losses: Sequence[Mapping[str, Any]], document: str | None) -> str:
    """Return the command that exports a kit without what was lost; kinds in the place of names where there are many."""
    names = [str(one["name"]) for one in losses]
    if len(names) > _NAMED:
        names = list(dict.fromkeys(str(one["code"]) for one in losses))
    which = f" --document {document}" if document and len(holding.documents(workspace)) > 1 else ""
    return f"`countermark vector kit{which}{''.join(f' --accept-loss {name}' for name in names)}`"


def _unanswered(
    workspace: Workspace, error: CountermarkError, document: str | None, accept_loss: Sequence[str]
) -> CountermarkError:
    if not LOSSES >= _failed(workspace, str(error.details.get("task", ""))) >= {"losses"}:
        return error  # there is something else, and it comes first
    lost = origin.losses(holding.Open(workspace, document).document)
    left = [one for one in lost if not {one.name, one.code} & set(accept_loss)]
    if not left:
        return error
    wire = [{"name": one.name, "code": one.code} for one in lost]
    return _told(
        error,
        f"Something that the import could not carry over is missing from this kit, and nobody answers for it: "
        f"{', '.join(one.name for one in left[:_NAMED])}{' and more' if len(left) > _NAMED else ''}. "
        "Nothing was published.",
        f"Import a simpler SVG, or answer for it: {answering(workspace, wire, document)}.",
    )


def _failed(workspace: Workspace, task: str) -> frozenset[str]:
    verdicts = [one for event in workspace.ledger.events(task=task) for one in event.body.get("verdicts", ())]
    return frozenset(one["check"] for one in verdicts if one["status"] == Status.FAILED)


def _changed(workspace: Workspace, error: CountermarkError, folder: str) -> CountermarkError:
    last = proposal.last_task(workspace, publish.FILE + folder)
    if last is None or not workspace.files.exists(folder):
        return error
    made = dict(proposal.published(workspace, last.id))
    there = {entry.path: entry.sha256 for entry in workspace.files.tree(folder) if entry.path != RECEIPT}
    found = {
        "changed": sorted(name for name in made.keys() & there.keys() if made[name] != there[name]),
        "missing": sorted(made.keys() - there.keys()),
        "added": sorted(there.keys() - made.keys()),
    }
    said = "; ".join(f"{word} {_few(names)}" for word, names in found.items() if names)
    return _told(
        error,
        f"{folder}/ is not as its last kit left it: {said}. What is there stands; nothing was written.",
        f"Move {folder}/ away and export again, or export beside it: `countermark vector kit --folder NAME`.",
    )


def _few(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _told(error: CountermarkError, sentence: str, next_action: str) -> CountermarkError:
    return CountermarkError(error.code, sentence, next_action=next_action, details=error.details)
