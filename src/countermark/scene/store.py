"""A folder of scenes: named, revisioned, verified, never overwritten by somebody who did not see what was there.

The file, the sidecar beside it and the intent are the truth (seed 3 §3). The store knows no grant; who may write is
decided above it. Every error is one of the fifteen codes. Reading never writes a scene's file, except that damaged
bytes give way to the newest valid backup.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Final, Self

from countermark.kernel.canon import sha256_hex
from countermark.kernel.clock import Clock, SystemClock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.kept import KeptRoot
from countermark.scene import backup, document, history, listing, recovery, rename, trash
from countermark.scene import name as names
from countermark.scene.backup import Retention
from countermark.scene.codes import SceneError, refuse
from countermark.scene.document import Scene
from countermark.scene.evidence import Evidence, Read, Summary, Version, of_record, of_request
from countermark.scene.limits import DEFAULT, Limits
from countermark.scene.question import ours, require_current, require_request, require_revision
from countermark.scene.recovery import Seen, State
from countermark.scene.shelf import LOCK_SECONDS, Shelf, fingerprint, open_folder
from countermark.scene.sidecar import Asked, Record, instant
from countermark.scene.token import Turn

_NO_SCENE: Final = frozenset({"corrupt_scene", "invalid_scene", "too_large", "too_many_elements"})
"""What the bytes under a name can be instead of a scene; a person may still put them away."""


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
            names.check(name)
            seen = self._look(name)
            match, beside = recovery.recorded(self.shelf, name, seen.sha256)
            done = match is not None and beside and match.uid and match.moved_from is None
            if match is not None and done and not recovery.entangled(self.shelf, name, match.revision):
                return _read(State(seen, document.load(seen.data, self.limits), match, known=True))
            try:
                with self.shelf.turn(name) as turn:
                    state = recovery.settle(self.shelf, turn, name, adopting=True)
                    return _read(replace(state, record=self._finished(state.record)))
            except CountermarkError as error:
                if error.code != "disk_read_only":
                    raise
                return self._read_only(name, seen, match)

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
            data = self._dumped(scene)
            with self._turn(name) as turn:
                self._require_free(name, request_id)
                self._make_way(name, {name: turn})
                record = recovery.made(self.shelf, name, None, scene, (sha256_hex(data), len(data)), 1)
                record = replace(record, updated_by=actor)
                request = recovery.remembered(request_id, payload_sha256, record)
                record = replace(record, created=request).remembering(request, mark)
                try:
                    record = recovery.put_in(self.shelf, turn, None, record, data, None)
                except CountermarkError as error:
                    if error.code != "output_exists":
                        raise
                    raise self._exists(name, None, request_id) from error
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
                    return of_request(self._finished(state.record), done, payload_sha256)
                if not force:
                    require_current(state, expected_revision)
                scene = change(state.scene)
                return self._commit(turn, state, scene, Asked(actor, request_id, payload_sha256, mark))

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
                raise self._exists(to, None, request_id)
            with self._turn(first) as one, self._turn(second) as other:
                turns = {first: one, second: other}
                done = self._moved_before(to, request_id)
                if done is not None:
                    return done
                state = recovery.settle(self.shelf, turns[name], name, adopting=True)
                if expected_revision is not None:
                    require_current(state, expected_revision)
                self._require_free(to, request_id)
                # A rename before this one has to come to its end: the record names only one earlier name.
                state = replace(state, record=rename.finish(self.shelf, state.record, turns))
                if state.record.moved_from is not None:
                    raise _busy(name, state.record.moved_from)
                self._make_way(to, turns)
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
                seen = self._look(name)
                if expected_revision is not None:
                    state = self._settled_or_damaged(turn, name, adopting=True)
                    require_current(state, expected_revision)
                    seen = state.seen
                record, _ = recovery.recorded(self.shelf, name, seen.sha256)
                if record is not None:
                    self._finished(record)
                return trash.put(self.shelf, turn, name, seen, Asked(actor, request_id, None, mark))

    def history(self, name: str) -> Sequence[Version]:
        """Return every revision whose bytes are kept, the newest first; of a damaged scene the earlier ones."""
        try:
            read: Read | None = self.read(name)
        except SceneError as error:
            if error.code not in _NO_SCENE:
                raise
            read = None
        with ours():
            return history.versions(self.shelf, name, read)

    def version(self, name: str, revision: int) -> bytes:
        """Return the bytes of one revision; raise `not_found` when they are not kept any more."""
        require_revision(revision, force=False)
        read = self._read_or_none(name)
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
                state = self._settled_or_damaged(turn, name, adopting=False)
                done = state.record.request(request_id)
                if done is not None:
                    return of_request(state.record, done, payload_sha256)
                if expected_revision is not None:
                    require_current(state, expected_revision)
                if not state.damaged:
                    state = replace(state, record=self._finished(state.record))
                scene = document.load(history.kept(self.shelf, name, revision), self.limits)
                asked = Asked(actor, request_id, payload_sha256, mark)
                return self._commit(turn, state, scene, asked, restored_from=revision)

    def records(self, name: str | None = None) -> Iterator[Record]:
        """Yield the record of one scene, or of every scene that has one, without writing anything."""
        wanted = [row.name for row in self.list() if row.valid] if name is None else [names.check(name)]
        for scene in wanted:
            with suppress(CountermarkError):
                beside = self.shelf.sidecar(scene)
                print_ = fingerprint(self.shelf.root.stat(names.scene_file(scene)))
                if beside is None or beside.fingerprint != print_:
                    beside = recovery.recorded(self.shelf, scene, self._look(scene).sha256)[0] or beside
                if beside is not None:
                    yield beside

    def trashed(self) -> Sequence[dict[str, Any]]:
        """Return what the trash says of every scene in it."""
        with ours():
            return trash.entries(self.shelf)

    def _commit(
        self,
        turn: Turn,
        state: State,
        scene: Scene,
        asked: Asked,
        *,
        restored_from: int | None = None,
    ) -> Evidence:
        shelf, before = self.shelf, state.record
        data = self._dumped(scene)
        record = recovery.made(shelf, before.name, before, scene, (sha256_hex(data), len(data)), before.revision + 1)
        record = replace(record, updated_by=asked.actor, restored_from=restored_from)
        record = replace(record, previous_revision=before.revision, previous_sha256=state.seen.sha256)
        record = record.remembering(recovery.remembered(asked.request_id, asked.payload, record), asked.mark)
        if state.damaged:
            kept = recovery.quarantine(shelf, before.name, state.seen)
        else:
            kept = names.backup_file(before.name, before.revision)
            backup.keep(shelf.root, before.name, before.revision, state.seen.sha256)
        record = recovery.put_in(shelf, turn, state.seen, record, data, kept)
        if record.revision % shelf.retention.every == 0 and not state.damaged:
            with suppress(CountermarkError):
                backup.prune(shelf.root, before.name, shelf.retention)
        return of_record(record, before.revision)

    def _look(self, name: str) -> Seen:
        return recovery.look(self.shelf, name)

    def _settled_or_damaged(self, turn: Turn, name: str, *, adopting: bool) -> State:
        try:
            return recovery.settle(self.shelf, turn, name, adopting=adopting)
        except SceneError as error:
            if error.code not in _NO_SCENE:
                raise
            return recovery.damaged(self.shelf, name)

    def _dumped(self, scene: Scene) -> bytes:
        data = document.dump(scene)
        document.require_within(scene, self.limits, size=len(data))
        return data

    @contextmanager
    def _turn(self, name: str) -> Iterator[Turn]:
        with self.shelf.turn(name) as turn:
            if not self._swept:
                self._swept = True
                self.shelf.root.sweep_temp()
            yield turn

    def _make_way(self, name: str, turns: Mapping[str, Turn]) -> None:
        if trash.beside(self.shelf, name):
            rename.finish_from(self.shelf, name, turns)
            trash.set_aside(self.shelf, name)

    def _require_free(self, name: str, request_id: str | None) -> None:
        if not self.shelf.root.exists(names.scene_file(name)):
            return
        record = self.shelf.sidecar(name)
        with suppress(CountermarkError):
            record = recovery.recorded(self.shelf, name, self._look(name).sha256)[0] or record
        raise self._exists(name, record, request_id)

    def _exists(self, name: str, record: Record | None, request_id: str | None) -> SceneError:
        details: dict[str, Any] = {"name": name}
        made = None if record is None else record.created
        if record is not None and made is not None and request_id is not None and made.id == request_id:
            details |= {"sameRequest": True, "revision": made.revision, "sha256": made.sha256}
            details |= {"currentRevision": record.revision, "currentSha256": record.sha256}
            return refuse(
                "already_exists",
                f"{name} exists: this very request made it, as revision {made.revision}.",
                next_action="Read the scene and go on from it.",
                details=details,
            )
        return refuse(
            "already_exists",
            f"A scene named {name} exists.",
            next_action="Choose another name, or change that scene.",
            details=details,
        )

    def _moved_before(self, to: str, request_id: str | None) -> Evidence | None:
        if request_id is None or not self.shelf.root.exists(names.scene_file(to)):
            return None
        record, _ = recovery.recorded(self.shelf, to, self._look(to).sha256)
        done = None if record is None else record.request(request_id)
        if record is None or done is None:
            return None
        return of_request(self._finished(record), done, None)

    def _finished(self, record: Record) -> Record:
        return record if record.moved_from is None else rename.finish(self.shelf, record)

    def _read_or_none(self, name: str) -> Read | None:
        try:
            return self.read(name)
        except SceneError as error:
            if error.code == "invalid_name":
                raise
            return None

    def _read_only(self, name: str, seen: Seen, match: Record | None) -> Read:
        # Nothing can be written here: what stands in the file is shown, and no revision is promised for it.
        scene = document.load(seen.data, self.limits)
        at = instant(seen.print[2] // 1_000_000)
        if match is not None:
            return _read(State(seen, scene, match, known=True))
        return Read(name, 0, seen.sha256, at, "recovery", len(seen.data), scene, seen.data)


def _busy(name: str, old: str) -> SceneError:
    return refuse(
        "scene_busy",
        f"An earlier rename of {name}, from {old}, has not come to its end: another program writes {old}.",
        next_action="Wait a moment, then repeat the call.",
        details={"reason": "rename"},
    )


def _read(state: State) -> Read:
    record = state.record
    return Read(
        record.name,
        record.revision,
        record.sha256,
        record.updated_at,
        record.updated_by,
        record.byte_length,
        state.scene,
        state.seen.data,
        record.uid,
        record.restored_from,
    )
