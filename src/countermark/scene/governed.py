"""The one way a save goes: the grant is read, the scene's store writes, the ledger hears of it (design §3, journalled).

The file, its sidecar and the intent are the truth; the ledger is a journal. It holds no revision of a scene and answers
no retry of one. Its key is the scene's lasting identity and the request id (or, without one, the revision).

What a crash between the two books leaves, and what becomes of it:

| the process died | in the store | in the ledger | next |
|---|---|---|---|
| before the scene's rename | the old scene; an intent that matches nothing | nothing | nothing happened: a retry does it |
| after the rename, before the sidecar | the new scene; the intent that matches it | nothing | the sidecar is written from the intent; a retry is a duplicate; entered late |
| after the sidecar, before the ledger | the new revision | nothing | entered late, from the record's lineage |
| after the ledger | the new revision | its row | nothing: the key is there |
| the ledger is an older copy | revisions it has not heard of | some rows | those still in the lineage are entered late, under the grant that was named |
| git changed the file | a revision by `recovery` | nothing | nobody asked for it through us: no row; the next save names it as what it replaced |

A ledger that is locked, broken or gone never stops a person's save: it is stored, says `unledgered`, and is entered
later. An agent's is refused before anything is written: `scene_busy` with the reason `ledger`, or `permission_denied`.
"""  # noqa: E501 - a table's row is one line

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from countermark.kernel import journal
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Tx
from countermark.kernel.plan import Plan
from countermark.scene import kept_library, untrash
from countermark.scene import name as names
from countermark.scene.adapter import NAME, RESOURCE, WRITE, SceneAdapter
from countermark.scene.codes import as_scene_error, refuse
from countermark.scene.document import Scene
from countermark.scene.evidence import Evidence
from countermark.scene.kept_library import Saved
from countermark.scene.limits import DEFAULT, Limits
from countermark.scene.row import PAGE_GRANT, LibraryRow, Row, allow_page, lineage, unheard
from countermark.scene.sidecar import instant
from countermark.scene.store import Store

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

WAIT_SECONDS: Final = 1.0
"""How long a person's answer waits for the ledger, once the scene is stored."""
SETTLED_AFTER_MS: Final = 5000
"""How old a revision has to be before another process takes it for one that a crash kept out of the ledger."""

_REFUSED: Final = frozenset({"permission_denied", "grant_revoked"})


class Late(NamedTuple):
    """What a settling did: the keys it entered, and those it could not, with the reason."""

    entered: tuple[str, ...]
    left: tuple[tuple[str, str], ...]


def _nothing(_: Tx) -> None:
    """Write nothing: a transaction that only shows that one can be had. It has no page to sync."""


class Governed:
    """The scenes of a workspace for one caller: who they are in the sidecar's words, and the grant they act under."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        actor: str,
        grant: str | None = None,
        person: bool = False,
        store: Store | None = None,
        limits: Limits = DEFAULT,
    ) -> None:
        """Stand before the scenes in the workspace's folder, or in another store.

        `person` is the page: it has a grant of its own, it alone may force, and no state of the ledger stops it. Raises
        `part_unavailable` when the workspace was opened without this domain.
        """
        self._workspace, self._actor, self._person = workspace, actor, person
        self._adapter = cast("SceneAdapter", workspace.adapter(NAME))
        self.store = store or self._adapter.store_of(workspace.path, limits, workspace.clock)
        self._grant = grant or (PAGE_GRANT if person else workspace.settings.grant)

    def wait(self) -> None:
        """Wait a moment for what the ledger still has to hear."""
        for thread in self._adapter.waiting.threads:
            thread.join(WAIT_SECONDS)

    def create(
        self,
        name: str,
        scene: Scene,
        *,
        actor: str | None = None,
        request_id: str | None = None,
        payload_sha256: str | None = None,
    ) -> Evidence:
        """Create a scene (`Store.create`); the sidecar names another actor where it is an import."""
        return self._write(
            (name,),
            request_id,
            lambda: self.store.create(
                name,
                scene,
                actor=actor or self._actor,
                request_id=request_id,
                payload_sha256=payload_sha256,
                mark=self._grant,
            ),
        )

    def save(
        self,
        name: str,
        change: Callable[[Scene], Scene],
        *,
        expected_revision: int | None,
        request_id: str | None = None,
        payload_sha256: str | None = None,
        force: bool = False,
    ) -> Evidence:
        """Change a scene (`Store.save`); only a person may `force`."""
        if force and not self._person:
            raise refuse(
                "permission_denied",
                "Only a person's page may overwrite what it has not seen.",
                next_action="Read the scene again and apply the change to what it is now.",
                details={"reason": "force"},
            )
        return self._write(
            (name,),
            request_id,
            lambda: self.store.save(
                name,
                change,
                expected_revision=expected_revision,
                actor=self._actor,
                request_id=request_id,
                payload_sha256=payload_sha256,
                force=force,
                mark=self._grant,
            ),
        )

    def rename(
        self, name: str, to: str, *, expected_revision: int | None = None, request_id: str | None = None
    ) -> Evidence:
        """Give a scene another name (`Store.rename`); the grant has to reach both."""
        return self._write(
            (name, to),
            request_id,
            lambda: self.store.rename(
                name,
                to,
                expected_revision=expected_revision,
                actor=self._actor,
                request_id=request_id,
                mark=self._grant,
            ),
        )

    def trash(self, name: str, *, expected_revision: int | None = None, request_id: str | None = None) -> Evidence:
        """Put a scene into the trash (`Store.trash`)."""
        return self._write(
            (name,),
            request_id,
            lambda: self.store.trash(
                name,
                expected_revision=expected_revision,
                actor=self._actor,
                request_id=request_id,
                mark=self._grant,
            ),
            trashed=True,
        )

    def untrash(self, entry: str, to: str | None = None, *, request_id: str | None = None) -> Evidence:
        """Bring a scene back out of the trash (`Store.untrash`); the grant has to reach the name it gets."""
        return self._write(
            (untrash.name_of(entry) if to is None else to,),
            request_id,
            lambda: self.store.untrash(entry, to, actor=self._actor, request_id=request_id, mark=self._grant),
        )

    def restore(
        self,
        name: str,
        revision: int,
        *,
        expected_revision: int | None = None,
        request_id: str | None = None,
        payload_sha256: str | None = None,
    ) -> Evidence:
        """Bring an earlier revision back (`Store.restore`)."""
        return self._write(
            (name,),
            request_id,
            lambda: self.store.restore(
                name,
                revision,
                expected_revision=expected_revision,
                request_id=request_id,
                payload_sha256=payload_sha256,
                mark=self._grant,
            ),
        )

    def put_library(self, items: Any, expected: Any) -> Saved:
        """Write the person's library (`Store.put_library`); its grant names it `scene::library`.

        A ledger that cannot hear of it then never does: a library has no sidecar to tell it from.
        """
        self._permit((kept_library.NAME,))
        done = self.store.put_library(items, expected)
        return done if done.duplicate else replace(done, unledgered=not self._tell(LibraryRow(done, self._grant)))

    def settle(self, scene: str | None = None, *, older_than_ms: int = 0) -> Late:
        """Enter what the store did, to one scene or any, and the ledger has not heard of; each row says it is late.

        Called at the start of a surface, and for a scene when it is first written. Revisions younger than that are
        left: their process may be about to enter them. Raises what the ledger raises.
        """
        until = instant(self._workspace.clock.now_ms() - older_than_ms)
        found = list(unheard(self._workspace, self._all(scene, until)))
        entered: list[str] = []
        left: list[tuple[str, str]] = []
        for done in found:
            try:
                self._enter(done, late=True)
                entered.append(done.key)
            except CountermarkError as error:
                if error.code.startswith("ledger") or error.code == "commit_unknown":
                    raise
                left.append((done.key, error.code))
        return Late(tuple(entered), tuple(left))

    def _write(
        self, scenes: tuple[str, ...], request_id: str | None, act: Callable[[], Evidence], *, trashed: bool = False
    ) -> Evidence:
        for scene in scenes:
            names.check(scene)
        self._permit(scenes)
        done = act()
        if done.duplicate:
            if not self._person:
                with suppress(CountermarkError):  # the first answer may have been lost to a crash before the ledger
                    self.settle(done.name)
            return done
        said = Row(
            done.name,
            done.uid,
            done.revision,
            done.sha256,
            done.byte_length,
            done.element_count,
            request_id,
            self._grant,
            trashed,
        )
        return replace(done, unledgered=not self._tell(said))

    def _permit(self, scenes: Iterable[str]) -> None:
        resources = tuple(sorted(RESOURCE + scene for scene in scenes))
        try:
            journal.permit(self._workspace, Plan(NAME, WRITE, "write", resources), self._grant)
            if not self._person:
                self._workspace.ledger.apply(_nothing)  # reading goes on beside a writer that never lets go
        except CountermarkError as error:
            if not self._person:
                raise as_scene_error(error) from error
            if error.code == "grant_unknown":
                with suppress(CountermarkError):
                    allow_page(self._workspace)
            elif error.code in _REFUSED:
                raise as_scene_error(error) from error

    def _tell(self, done: Row | LibraryRow) -> bool:
        """Let the ledger hear of a save; say whether it has."""
        heard: list[bool] = []
        waiting = self._adapter.waiting

        def tell() -> None:
            with suppress(CountermarkError):
                self._enter(done, late=False)
                heard.append(True)
                if isinstance(done, Row) and done.name not in waiting.looked_at:
                    waiting.looked_at.add(done.name)
                    self.settle(done.name, older_than_ms=SETTLED_AFTER_MS)

        if self._person:
            # A ledger that is locked is waited for in the background: the person's scene is stored, and they are told.
            waiting.threads[:] = [thread for thread in waiting.threads if thread.is_alive()]
            thread = threading.Thread(target=tell, name="scene-ledger", daemon=True)
            thread.start()
            waiting.threads.append(thread)
            thread.join(WAIT_SECONDS)
        else:
            tell()
        if not heard:
            waiting.looked_at.discard(done.name)
        return bool(heard)

    def _enter(self, done: Row | LibraryRow, *, late: bool) -> None:
        try:
            journal.enter(self._workspace, done.entry(self._adapter.capabilities(), late=late), done.grant)
        except CountermarkError as error:
            if error.code == "grant_unknown" and done.grant == PAGE_GRANT:
                allow_page(self._workspace)
                journal.enter(self._workspace, done.entry(self._adapter.capabilities(), late=late), done.grant)
            elif error.code != "key_conflict":  # entered before, under the name it had then
                raise

    def _all(self, scene: str | None, until: str) -> Iterator[Row]:
        for record in self.store.records(scene):
            yield from lineage(record, until)
        if scene is not None:
            return
        for entry in self.store.trashed():
            if entry.get("mark") and entry["trashedAt"] <= until:
                counts = entry["byteLength"], entry["elementCount"]
                yield Row(
                    entry["name"],
                    entry["uid"],
                    entry["revision"],
                    entry["sha256"],
                    *counts,
                    None,
                    entry["mark"],
                    trashed=True,
                )
