"""A folder of scenes: named, revisioned, verified, never overwritten by somebody who did not see what was there.

The file, the sidecar beside it and the intent are the truth (seed 3 §3). The store knows no grant; who may write is
decided above it. Every error is one of the fifteen codes. Reading never writes a scene's file, except that damaged
bytes give way to the newest valid backup.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

from countermark.kernel.canon import sha256_hex
from countermark.kernel.clock import Clock, SystemClock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.kept import KeptRoot
from countermark.scene import (
    document,
    history,
    kept_library,
    listing,
    reading,
    recovery,
    rename,
    saving,
    search,
    trash,
    untrash,
    vacancy,
)
from countermark.scene import name as names
from countermark.scene.backup import Retention
from countermark.scene.codes import SceneError, refuse
from countermark.scene.document import Scene
from countermark.scene.evidence import Evidence, Read, Summary, Version, of_record, of_request
from countermark.scene.limits import DEFAULT, Limits
from countermark.scene.question import ours, require_current, require_request, require_revision
from countermark.scene.shelf import LOCK_SECONDS, Shelf, open_folder
from countermark.scene.sidecar import Asked, Record
from countermark.scene.token import Turn


class Store:
    """The scenes of one folder. Safe to share between threads; several processes may hold one each."""

    def __init__(
        self,
        root: KeptRoot | str | os.PathLike[str],
        limits: Limits = DEFAULT,
        *,
        clock: Clock | None = None,
        retention: Retention | None = None,
        lock_seconds: float = LOCK_SECONDS,
        pause: Callable[[float], None] | None = None,
    ) -> None:
        """Open the folder; raise `permission_denied` when it is a symbolic link, `not_found` when it is missing."""
        with ours():
            opened = root if isinstance(root, KeptRoot) else open_folder(root)
        self.shelf = Shelf(
            opened,
            limits,
            clock or SystemClock(),
            retention=retention or Retention(),
            lock_seconds=lock_seconds,
            pause=pause or time.sleep,
        )
        self._listing = listing.Listing(self.shelf)
        self._search = search.Search(self.shelf)
        self._swept = False

    @property
    def path(self) -> str:
        """The folder, as it was named."""
        return self.shelf.root.path

    @property
    def limits(self) -> Limits:
        """The bounds of every scene here."""
        return self.shelf.limits

    def close(self) -> None:
        """Give every descriptor and lock back."""
        self.shelf.close()

    def __enter__(self) -> Self:
        """Return the store, closed at the end of the `with`."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def list(self) -> list[Summary]:
        """Return one row for every `.excalidraw` file, valid or not; writes nothing."""
        with ours():
            return self._listing.rows()

    def read(self, name: str) -> Read:
        """Return a scene; what stands beside it is brought up to it first, in a folder that can be written.

        Raises `invalid_name`, `not_found`, `permission_denied`, `invalid_scene`, `too_large`, `too_many_elements`,
        `corrupt_scene`, `scene_busy`, `io_error`.
        """
        with ours():
            return reading.read(self.shelf, name)

    def create(
        self,
        name: str,
        scene: Scene,
        *,
        actor: str,
        request_id: str | None = None,
        payload_sha256: str | None = None,
        mark: str | None = None,
    ) -> Evidence:
        """Write a new scene as revision 1 and return the evidence.

        Raises `already_exists`, with `sameRequest`, `revision` and `sha256` in the details when this very request made
        it; else as `save` does.
        """
        with ours():
            names.check(name)
            require_request(actor, request_id)
            data = saving.dumped(self.shelf, scene)
            with self._turn(name) as turn:
                vacancy.require_free(self.shelf, name, request_id)
                vacancy.make_way(self.shelf, name, {name: turn})
                record = recovery.made(self.shelf, name, None, scene, (sha256_hex(data), len(data)), 1)
                record = replace(record, updated_by=actor)
                request = recovery.remembered(request_id, payload_sha256, record)
                record = replace(record, created=request).remembering(request, mark)
                try:
                    record = recovery.put_in(self.shelf, turn, None, record, data, None)
                except CountermarkError as error:
                    if error.code != "output_exists":
                        raise
                    raise vacancy.taken(name, None, request_id) from error
                return of_record(record, None)

    def save(
        self,
        name: str,
        change: Callable[[Scene], Scene],
        *,
        expected_revision: int | None,
        actor: str,
        request_id: str | None = None,
        payload_sha256: str | None = None,
        force: bool = False,
        mark: str | None = None,
    ) -> Evidence:
        """Change a scene and return the evidence, or raise and leave everything as it was (seed 3 §3.3).

        `change` makes the new document of the one that stands there; it runs once, under the lock, and not at all for a
        request that was carried out before. `expected_revision` may be None only with `force`. `mark` is remembered
        beside the revision, and means nothing here. Raises
        `revision_conflict`, `scene_busy`, `io_error`, whatever `change` raises, and as `read` does.
        """
        with ours():
            names.check(name)
            require_request(actor, request_id)
            require_revision(expected_revision, force=force)
            with self._turn(name) as turn:
                state = recovery.settle(self.shelf, turn, name, adopting=False)
                done = state.record.request(request_id)
                if done is not None:
                    return of_request(rename.finish(self.shelf, state.record), done, payload_sha256)
                if not force:
                    require_current(state, expected_revision)
                scene = change(state.scene)
                return saving.commit(self.shelf, turn, state, scene, Asked(actor, request_id, payload_sha256, mark))

    def rename(
        self,
        name: str,
        to: str,
        *,
        expected_revision: int | None = None,
        actor: str,
        request_id: str | None = None,
        mark: str | None = None,
    ) -> Evidence:
        """Give a scene another name, its past and what stands beside it included, as a new revision.

        Raises `already_exists`, `revision_conflict` when a revision is expected and is not current, and as `read`.
        """
        with ours():
            names.check(name)
            names.check(to)
            require_request(actor, request_id)
            require_revision(expected_revision, force=expected_revision is None)
            first, second = sorted((name, to))
            if first == second:
                raise vacancy.taken(to, None, request_id)
            with self._turn(first) as one, self._turn(second) as other:
                turns = {first: one, second: other}
                done = vacancy.carried_out(self.shelf, to, request_id)
                if done is not None:
                    return done
                state = recovery.settle(self.shelf, turns[name], name, adopting=True)
                if expected_revision is not None:
                    require_current(state, expected_revision)
                vacancy.require_free(self.shelf, to, request_id)
                # A rename before this one has to come to its end: the record names only one earlier name.
                state = replace(state, record=rename.finish(self.shelf, state.record, turns))
                if state.record.moved_from is not None:
                    raise _busy(name, state.record.moved_from)
                vacancy.make_way(self.shelf, to, turns)
                record = rename.move(self.shelf, turns, state, to, Asked(actor, request_id, None, mark))
                return of_record(record, state.record.revision)

    def trash(
        self,
        name: str,
        *,
        expected_revision: int | None = None,
        actor: str,
        request_id: str | None = None,
        mark: str | None = None,
    ) -> Evidence:
        """Put a scene with everything beside it into the trash; a new scene of that name inherits nothing.

        A scene whose bytes are damaged can be put there too. Raises `revision_conflict`, `not_found`.
        """
        with ours():
            names.check(name)
            require_request(actor, request_id)
            require_revision(expected_revision, force=expected_revision is None)
            with self._turn(name) as turn:
                done = trash.done(self.shelf, name, request_id)
                if done is not None:
                    return done
                seen = recovery.glance(self.shelf, name)
                if expected_revision is not None:
                    state = saving.settled_or_damaged(self.shelf, turn, name, adopting=True)
                    require_current(state, expected_revision)
                    seen = state.seen
                record, _ = recovery.recorded(self.shelf, name, seen.sha256)
                if record is not None:
                    rename.finish(self.shelf, record)
                return trash.put(self.shelf, turn, name, seen, Asked(actor, request_id, None, mark))

    def history(self, name: str) -> Sequence[Version]:
        """Return every revision whose bytes are kept, the newest first; of a damaged scene the earlier ones."""
        try:
            read: Read | None = self.read(name)
        except SceneError as error:
            if error.code not in saving.NO_SCENE:
                raise
            read = None
        with ours():
            return history.versions(self.shelf, name, read)

    def version(self, name: str, revision: int) -> bytes:
        """Return the bytes of one revision; raise `not_found` when they are not kept any more."""
        require_revision(revision, force=False)
        try:
            read: Read | None = self.read(name)
        except SceneError as error:
            if error.code == "invalid_name":
                raise
            read = None
        if read is not None and read.revision == revision:
            return read.data
        with ours():
            return history.kept(self.shelf, name, revision)

    def restore(
        self,
        name: str,
        revision: int,
        *,
        expected_revision: int | None = None,
        actor: str = "restore",
        request_id: str | None = None,
        payload_sha256: str | None = None,
        mark: str | None = None,
    ) -> Evidence:
        """Bring an earlier revision back, byte for byte, as a new one; damaged bytes go to quarantine first.

        Raises `not_found` for a revision that is not kept, `invalid_scene` for one that cannot be read.
        """
        with ours():
            names.check(name)
            require_request(actor, request_id)
            require_revision(revision, force=False)
            require_revision(expected_revision, force=expected_revision is None)
            with self._turn(name) as turn:
                state = saving.settled_or_damaged(self.shelf, turn, name, adopting=False)
                done = state.record.request(request_id)
                if done is not None:
                    return of_request(state.record, done, payload_sha256)
                if expected_revision is not None:
                    require_current(state, expected_revision)
                if not state.damaged:
                    state = replace(state, record=rename.finish(self.shelf, state.record))
                scene = document.load(history.kept(self.shelf, name, revision), self.limits)
                asked = Asked(actor, request_id, payload_sha256, mark)
                return saving.commit(self.shelf, turn, state, scene, asked, restored_from=revision)

    def records(self, name: str | None = None) -> Iterator[Record]:
        """Yield the record of one scene, or of every scene that has one, without writing anything."""
        wanted = [row.name for row in self.list() if row.valid] if name is None else [names.check(name)]
        yield from reading.records(self.shelf, wanted)

    def library(self) -> kept_library.Kept:
        """Return the person's library; raise `corrupt_scene` for what is none."""
        with ours():
            return kept_library.read(self.shelf)

    def put_library(self, items: Any, expected: Any) -> kept_library.Saved:
        """Put items in the place of the library at a revision (`kept_library.write`)."""
        with ours():
            return kept_library.write(self.shelf, items, expected)

    def search(self, text: str, *, limit: int = search.MOST_HITS, seconds: float = search.SECONDS) -> search.Found:
        """Return where a text stands in all scenes, without writing anything (`search.Search.find`)."""
        with ours():
            return self._search.find(text, self._listing.rows(), limit=limit, seconds=seconds)

    def trashed(self) -> Sequence[dict[str, Any]]:
        """Return what the trash says of every scene in it."""
        with ours():
            return trash.entries(self.shelf)

    def untrash(
        self,
        entry: str,
        to: str | None = None,
        *,
        actor: str,
        request_id: str | None = None,
        mark: str | None = None,
    ) -> Evidence:
        """Bring a scene back out of the trash, with its past, as a new revision of its name or of another free one.

        `entry` is its id there. A scene whose bytes are damaged comes back as its newest earlier revision that is
        whole. Raises `not_found`, `already_exists`, `corrupt_scene` when nothing of it is whole.
        """
        with ours():
            name = names.check(untrash.name_of(entry) if to is None else to)
            require_request(actor, request_id)
            with self._turn(name) as turn:
                done = vacancy.carried_out(self.shelf, name, request_id)
                if done is not None:
                    return done
                found = untrash.find(self.shelf, entry)
                vacancy.require_free(self.shelf, name, request_id)
                vacancy.make_way(self.shelf, name, {name: turn})
                return untrash.bring_back(self.shelf, turn, found, name, Asked(actor, request_id, None, mark))

    @contextmanager
    def _turn(self, name: str) -> Iterator[Turn]:
        with self.shelf.turn(name) as turn:
            if not self._swept:
                self._swept = True
                self.shelf.root.sweep_temp()
            yield turn


def _busy(name: str, old: str) -> SceneError:
    return refuse(
        "scene_busy",
        f"An earlier rename of {name}, from {old}, has not come to its end: another program writes {old}.",
        next_action="Wait a moment, then repeat the call.",
        details={"reason": "rename"},
    )
