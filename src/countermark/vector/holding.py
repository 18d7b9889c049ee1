"""The documents of a workspace: which there are, what they may be called, and one as it was read once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from countermark.kernel.canon import revision_of
from countermark.kernel.errors import CountermarkError
from countermark.kernel.plan import InputRef
from countermark.vector import document as native
from countermark.vector import operation
from countermark.vector.artboard import artboards

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

DOCUMENT_CAP: Final = 512 << 20
_NAMED: Final = 80


class Open:
    """A document of the workspace as it was read once: its name, revision, bytes and tree."""

    def __init__(self, workspace: Workspace, name: str | None) -> None:
        """Read a document by name, or the only one there is; raise `not_found` and list the documents."""
        self.name = name if name is not None else only_document(workspace)
        plain_name(self.name, operation.SUFFIX)
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


def plain_name(name: str, suffix: str) -> None:
    """Raise `input_invalid` unless a name is plain and ends in the suffix: a document's name, or any other."""
    fits = name.endswith(suffix) if suffix else not name.endswith(operation.SUFFIX)
    if not re.fullmatch(r"[\w][\w .-]{0,199}", name) or not fits or name.startswith("countermark.toml"):
        raise CountermarkError(
            "input_invalid",
            f"{name[:_NAMED]!r} is no name for this.",
            next_action="Use letters, digits, spaces, dots and dashes, "
            + (f"ending in {suffix}." if suffix else f"not ending in {operation.SUFFIX}."),
        )
