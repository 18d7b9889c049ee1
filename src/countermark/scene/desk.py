"""What a caller can do with the scenes of a workspace, in plain values: tools, HTTP and the command line call these.

A desk belongs to one caller: who they are in the sidecar's words, and the grant they act under. A person's desk is the
page's: it alone may force, and no state of the ledger stops what it saves.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

import orjson

from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.scene import checks, document, kept_library, operation, search, setting
from countermark.scene import name as names
from countermark.scene.adapter import NAME, SceneAdapter
from countermark.scene.codes import refuse
from countermark.scene.document import Scene
from countermark.scene.env import Env
from countermark.scene.governed import SETTLED_AFTER_MS, Governed
from countermark.scene.limits import Limits
from countermark.scene.repair import Repaired, repair

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace
    from countermark.scene.exchange.take import Taken
    from countermark.scene.exporter import Exporter

Json = dict[str, Any]
Change = Callable[[Scene], Scene]

_LYING: Final = ("id", "name", "revision", "sha256", "byteLength", "elementCount", "trashedAt", "trashedBy")


class Found(NamedTuple):
    """A scene as it stands in some bytes; what is not known of an earlier revision is None."""

    name: str
    revision: int
    sha256: str
    data: bytes
    scene: Scene
    updated_at: str | None
    updated_by: str | None

    def facts(self) -> Json:
        """Return what seed 3 §4.2 tells of a scene, beside the scene itself."""
        return {
            "name": self.name,
            "revision": self.revision,
            "sha256": self.sha256,
            "updatedAt": self.updated_at,
            "updatedBy": self.updated_by,
            "byteLength": len(self.data),
        }


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a write is made against, and how it is known when it comes again.

    `revision` None means whatever is there. `sha256` is the digest the caller holds, checked beside the revision.
    `payload` is what was asked, for telling a repeat from another request under the same id.
    """

    revision: int | None
    request_id: str | None = None
    sha256: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    force: bool = False

    def digest(self, *more: Any) -> str:
        """Return the digest of what was asked."""
        asked = {name: value for name, value in self.payload.items() if name != "request_id"}
        try:
            return sha256_hex(orjson.dumps([*more, asked], option=orjson.OPT_SORT_KEYS))
        except TypeError:  # a whole number beyond 64 bits, or half a character: neither is refused here
            return sha256_hex(json.dumps([*more, asked], sort_keys=True).encode())


class _NothingToRepairError(Exception):
    """Ends a save before anything is written."""


class Desk:
    """The scenes of a workspace as one caller meets them."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        actor: Literal["agent", "ui", "cli"],
        grant: str | None = None,
        person: bool = False,
    ) -> None:
        """Stand before a workspace's scenes under a grant, by default the workspace's; `person` is the page alone."""
        folder, limits = setting.of(workspace)
        adapter = cast("SceneAdapter", workspace.adapter(NAME))
        self.folder = folder
        self._workspace, self._adapter = workspace, adapter
        self._store = adapter.store_of(folder, limits, workspace.clock)
        self._way = Governed(workspace, actor=actor, grant=grant, person=person, store=self._store)

    @property
    def read_only(self) -> bool:
        """Whether nothing can be saved in the folder as it is now."""
        return not os.access(self.folder, os.W_OK)

    @property
    def limits(self) -> Limits:
        """How large a scene may be here."""
        return self._store.limits

    def settle(self) -> None:
        """Let the ledger hear of what an earlier process saved and could not tell it; what cannot be told now waits."""
        with suppress(CountermarkError):
            self._way.settle(older_than_ms=SETTLED_AFTER_MS)

    def close(self) -> None:
        """Wait a moment for what the ledger still has to hear, and let go of every lock, descriptor and child."""
        self._way.wait()
        self._adapter.close_exporter()
        self._store.close()

    @property
    def workspace(self) -> Workspace:
        """The workspace whose scenes these are."""
        return self._workspace

    def exporter(self) -> Exporter:
        """Return what draws scenes; it stays warm for the next one."""
        return self._adapter.exporter_of(self._workspace)

    def listing(self) -> list[Json]:
        """Return a row for every scene, readable or not; writes nothing (seed 3 §4.1)."""
        return [row.wire() for row in self._store.list()]

    def read(self, name: Any) -> Found:
        """Return a scene; raise `invalid_name`, `not_found`, `corrupt_scene`, `permission_denied`, `invalid_scene`."""
        found = self._store.read(names.check(name))
        when, who = found.updated_at or None, found.updated_by or None
        return Found(found.name, found.revision, found.sha256, found.data, found.scene, when, who)

    def create(self, name: Any, parts: Mapping[str, Any], request_id: str | None = None) -> Json:
        """Create a scene of elements, application state and files; raise `already_exists` and what the input lacks."""
        names.check(name)
        env = Env(limits=self.limits, app_state=parts.get("app_state"), files=parts.get("files"))
        made = operation.create(parts.get("elements", []), env)
        wanted = Wanted(None, request_id, payload=parts)
        done = self._way.create(name, made.scene, request_id=request_id, payload_sha256=wanted.digest("create"))
        return {**done.wire(), "summary": f"Created with {_count(made.added, 'element')}.", **_guessed(made)}

    def take(self, data: bytes) -> Taken:
        """Return what a file from elsewhere would become here; stores nothing (`exchange.take`)."""
        from countermark.scene.exchange.take import take  # noqa: PLC0415 - for imports alone

        return take(data, Env(limits=self.limits))

    def import_scene(self, name: Any, taken: Taken, source: bytes, request_id: str | None = None) -> Json:
        """Create a scene of what was taken from a file, as `import`; `source` are that file's bytes."""
        names.check(name)
        done = self._way.create(
            name, taken.scene, actor="import", request_id=request_id, payload_sha256=sha256_hex(b"import" + source)
        )
        return {**done.wire(), **taken.wire()}

    def import_items(self, taken: Taken) -> Json:
        """Put the items of a library that was taken behind those of the folder's own; those it has stay once."""
        kept = self.library()
        known = {item["id"] for item in kept.items}
        fresh = [item for item in taken.items if item["id"] not in known]
        done = self.put_library([*kept.items, *fresh], kept.revision)
        return {**done, "added": len(fresh), "known": len(taken.items) - len(fresh), **taken.wire()}

    def apply(self, name: Any, operations: Any, app_state: Any, wanted: Wanted) -> Json:
        """Apply operations to the scene at a revision; one bad operation rejects all (seed 3 §4.4)."""
        env = Env(limits=self.limits, app_state=app_state)
        seen: list[operation.Applied] = []

        def change(scene: Scene) -> Scene:
            seen.append(operation.apply(scene, operations, env))
            return seen[-1].scene

        done = self._save(names.check(name), change, wanted, "apply")
        made = seen[-1] if seen and not done["duplicate"] else None
        counts = {what: getattr(made, what) if made else 0 for what in ("added", "updated", "deleted")}
        said = ", ".join(f"{number} {what}" for what, number in counts.items() if number) or "nothing"
        summary = f"{said}." if made else "Done before under this request id; nothing was run again."
        return {
            **done,
            "operations": {**counts, "ids": list(made.ids) if made else []},
            "summary": summary,
            **_guessed(made),
        }

    def replace(self, name: Any, change: Change, wanted: Wanted) -> Json:
        """Save what a page makes of a scene; what the stored scene already had passes, everything new is checked."""

        def checked(scene: Scene) -> Scene:
            fresh = change(scene)
            checks.require_no_new_fault(fresh, scene, self.limits)
            return fresh

        return self._save(names.check(name), checked, wanted, "replace")

    def rename(self, name: Any, to: Any, wanted: Wanted) -> Json:
        """Give a scene another name, with everything that belongs to it."""
        done = self._way.rename(
            names.check(name), names.check(to), expected_revision=wanted.revision, request_id=wanted.request_id
        )
        return {**done.wire(), "previousName": name}

    def trash(self, name: Any, wanted: Wanted) -> Json:
        """Take a scene away, with everything that belongs to it, into the trash."""
        done = self._way.trash(names.check(name), expected_revision=wanted.revision, request_id=wanted.request_id)
        return {**done.wire(), "trashed": True}

    def trashed(self) -> list[Json]:
        """Return what lies in the trash, what was put there last first; `nameFree` says that its name is free."""
        entries = sorted(self._store.trashed(), key=lambda entry: str(entry["trashedAt"]), reverse=True)
        there = {row.name for row in self._store.list()} if entries else set()
        return [
            {**{member: entry.get(member) for member in _LYING}, "nameFree": entry["name"] not in there}
            for entry in entries
        ]

    def untrash(self, entry: Any, to: Any = None, request_id: str | None = None) -> Json:
        """Bring a scene back out of the trash, by its id there; never over a scene that is there."""
        done = self._way.untrash(entry, None if to is None else names.check(to), request_id=request_id)
        return {**done.wire(), "trashId": entry}

    def library(self) -> kept_library.Kept:
        """Return the person's library and its revision; an empty one at `absent` where there is none."""
        return self._store.library()

    def put_library(self, items: Any, expected: Any) -> Json:
        """Put items in the place of the person's library at a revision."""
        return self._way.put_library(items, expected).wire()

    def search(self, text: Any, limit: int = search.MOST_HITS) -> Json:
        """Return where a text stands in all scenes; `complete` says whether every scene was looked at."""
        return {"text": text, **self._store.search(text, limit=limit).wire()}

    def history(self, name: Any) -> list[Json]:
        """Return the revisions that are kept, newest first; what is not known of one any more is None."""
        return [
            {
                "revision": one.revision,
                "sha256": one.sha256,
                "byteLength": one.byte_length,
                "savedAt": one.updated_at or None,
                "savedBy": one.updated_by or None,
                "current": one.current,
            }
            for one in self._store.history(names.check(name))
        ]

    def version(self, name: Any, revision: int) -> Found:
        """Return an earlier revision, or the current one; raise `not_found`."""
        data = self._store.version(names.check(name), revision)
        scene = document.load(data, self.limits)
        return Found(str(name), revision, sha256_hex(data), data, scene, None, None)

    def restore(self, name: Any, revision: int, wanted: Wanted) -> Json:
        """Make an earlier revision the next one."""
        done = self._way.restore(
            names.check(name),
            revision,
            expected_revision=wanted.revision,
            request_id=wanted.request_id,
            payload_sha256=wanted.digest("restore", revision),
        )
        return dict(done.wire())

    def repair(self, name: Any, wanted: Wanted) -> Json:
        """Repair the references, bindings, ids and order of a scene; `fixes` lists all that was done.

        Where nothing is wrong nothing is saved, and the answer has the revision and digest that stand.
        """
        env = Env(limits=self.limits)
        seen: list[Repaired] = []

        def change(scene: Scene) -> Scene:
            seen.append(repair(scene, env))
            if not seen[-1].fixes:
                raise _NothingToRepairError
            return seen[-1].scene

        try:
            done = self._save(names.check(name), change, wanted, "repair")
        except _NothingToRepairError:
            return {**self.read(name).facts(), "duplicate": False, "fixes": []}
        fixes = seen[-1].fixes if seen and not done["duplicate"] else ()
        return {**done, "fixes": [{"id": fix.element, "what": fix.what} for fix in fixes]}

    def validate(self, value: Any) -> Json:
        """Return what is wrong with a document, strictly; the store is not touched (seed 3 §4.5)."""
        report = checks.diagnose(value, self.limits)
        return {"valid": report.valid, "diagnostics": list(report.diagnostics), "stats": report.stats}

    def _save(self, name: str, change: Change, wanted: Wanted, what: str) -> Json:
        def fenced(scene: Scene) -> Scene:
            if not wanted.force:
                _require_digest(scene, wanted)
            return change(scene)

        done = self._way.save(
            name,
            fenced,
            expected_revision=wanted.revision,
            request_id=wanted.request_id,
            payload_sha256=wanted.digest(what),
            force=wanted.force,
        )
        return dict(done.wire())


def _guessed(made: operation.Applied | None) -> Json:
    """Say which texts of a call have a size that is an assumption; nothing where none has."""
    found = made.approximate if made else ()
    return {"approximate": [{"id": name, "reason": why} for name, why in found]} if found else {}


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _require_digest(scene: Scene, wanted: Wanted) -> None:
    """Raise `revision_conflict` unless the caller holds the bytes that stand there."""
    if wanted.sha256 is None:
        return
    current = sha256_hex(scene.source)
    if current != wanted.sha256:
        raise refuse(
            "revision_conflict",
            "The scene's bytes are not the ones this was made against.",
            next_action="Read the scene again, then apply the change to what it is now.",
            details={
                "currentRevision": wanted.revision,
                "currentSha256": current,
                "expectedRevision": wanted.revision,
                "expectedSha256": wanted.sha256,
            },
        )
