"""What the ledger hears of a scene: one row for every revision that somebody was allowed to make.

Everything in a row can be read from the scene's own record again, so that one which a crash kept out is entered later
as it would have been.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from countermark.kernel import grant as grants
from countermark.kernel.canon import ABSENT
from countermark.kernel.journal import Entry
from countermark.kernel.ledger import Tx
from countermark.kernel.plan import Plan, RuntimeIdentity
from countermark.scene import adapter, kept_library
from countermark.scene import name as names
from countermark.scene.adapter import NAME, RESOURCE, WRITE
from countermark.scene.evidence import Evidence
from countermark.scene.kept_library import Saved
from countermark.scene.sidecar import Record

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

PAGE_GRANT: Final = "page"
"""The grant of the person's own page: no budget, no expiry, every scene of the workspace."""

_BY_GRANT: Final = frozenset({"agent", "ui", "cli", "import", "restore"})
_BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class Row:
    """One revision as the ledger hears of it; everything here can be read from the store again."""

    name: str
    uid: str
    revision: int
    sha256: str
    byte_length: int
    element_count: int
    request_id: str | None
    grant: str
    trashed: bool = False

    @property
    def key(self) -> str:
        """The ledger's key: who the scene is, and which request, or which revision, this was."""
        if self.trashed:
            return f"scene/{self.uid}/trash/{self.revision}"
        what = f"revision/{self.revision}" if self.request_id is None else f"request/{self.request_id}"
        return f"scene/{self.uid}/{what}"

    def plan(self) -> Plan:
        """Return the plan that the row carries."""
        payload: dict[str, Any] = {"uid": self.uid, "revision": self.revision, "sha256": self.sha256}
        return Plan(NAME, WRITE, "trash" if self.trashed else "write", (RESOURCE + self.name,), payload)

    def entry(self, runtime: RuntimeIdentity, *, late: bool) -> Entry:
        """Return the row."""
        resource = RESOURCE + self.name
        before = self.revision if self.trashed else self.revision - 1
        seen = Evidence(self.name, self.revision, before, self.sha256, self.byte_length, self.element_count, "")
        return Entry(
            self.plan(),
            self.key,
            {resource: str(before) if before else ABSENT},
            {resource: ABSENT if self.trashed else str(self.revision)},
            {} if self.trashed else {names.scene_file(self.name): (self.sha256, self.byte_length)},
            [adapter.verdict(seen)],
            runtime,
            {"attempts": 1, "bytes": self.byte_length},
            late,
        )


@dataclass(frozen=True, slots=True)
class LibraryRow:
    """One writing of the person's library as the ledger hears of it: its revisions are digests."""

    done: Saved
    grant: str

    name = kept_library.NAME

    @property
    def key(self) -> str:
        """The ledger's key: these bytes, in the place of those, at that moment."""
        return f"scene/library/{self.done.previous_revision[:16]}/{self.done.revision[:16]}/{self.done.saved_at}"

    def entry(self, runtime: RuntimeIdentity, *, late: bool) -> Entry:
        """Return the row."""
        done, resource = self.done, RESOURCE + kept_library.NAME
        payload: dict[str, Any] = {"library": True, "sha256": done.revision}
        seen = Evidence(self.name, 0, None, done.revision, done.byte_length, done.element_count, done.saved_at)
        return Entry(
            Plan(NAME, WRITE, "write library", (resource,), payload),
            self.key,
            {resource: done.previous_revision},
            {resource: done.revision},
            {kept_library.FILE: (done.revision, done.byte_length)},
            [adapter.verdict(seen)],
            runtime,
            {"attempts": 1, "bytes": done.byte_length},
            late,
        )


def allow_page(workspace: Workspace) -> str:
    """Issue the grant of the person's page, once, and return it; raises what the ledger raises."""

    def issue(tx: Tx) -> None:
        if tx.one("SELECT 1 FROM grants WHERE id = ?", (PAGE_GRANT,)) is not None:
            return
        terms = grants.Terms(effects=(WRITE,), resources=(RESOURCE,), acceptance="checks")
        grants.issue(tx, grants.Grant(PAGE_GRANT, None, (), "local user", "page", terms, tx.now))
        tx.event("", "granted", {"grant": PAGE_GRANT, "effects": [WRITE], "resources": [RESOURCE]})

    workspace.ledger.apply(issue)
    return PAGE_GRANT


def lineage(record: Record, until: str) -> Iterator[Row]:
    """Yield the revisions of a scene's recent past that a grant allowed, made until a time."""
    requests = {request.revision: request for request in record.recent}
    for step in record.lineage:
        if step.by not in _BY_GRANT or step.mark is None or step.at > until:
            continue
        request = requests.get(step.revision)
        current = step.revision == record.revision
        length = record.byte_length if current else request.byte_length if request else 0
        count = record.element_count if current else request.element_count if request else 0
        yield Row(
            record.name,
            record.uid,
            step.revision,
            step.sha256,
            length,
            count,
            request.id if request else None,
            step.mark,
        )


def unheard(workspace: Workspace, done: Iterable[Row]) -> Iterator[Row]:
    """Yield those rows that the ledger does not have."""
    waiting = list(done)
    for start in range(0, len(waiting), _BATCH):
        batch = waiting[start : start + _BATCH]
        marks = ",".join("?" * len(batch))
        question = f"SELECT key FROM tasks WHERE kind = 'journalled' AND key IN ({marks})"  # noqa: S608 - question marks only
        heard = {row[0] for row in workspace.ledger.read(partial(_all, question, [one.key for one in batch]))}
        yield from (one for one in batch if one.key not in heard)


def _all(question: str, arguments: Sequence[str], tx: Tx) -> list[tuple[Any, ...]]:
    return tx.all(question, arguments)
