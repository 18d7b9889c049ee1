"""What a scene is now: the file is the truth, and what stands beside it is brought up to it (seed 3 §3.5).

| found | answer |
|---|---|
| the file's digest is the sidecar's, or an intent's | that revision; of several the newest |
| a valid file that nobody recorded | it wins: a new revision by `recovery` |
| damaged bytes, a valid backup | the bytes go to quarantine, the newest valid backup comes back as a new revision |
| damaged bytes, no valid backup | `corrupt_scene`, nothing touched |
| an unfinished merge (conflict markers) | `corrupt_scene`, a person decides |
| damaged bytes that are young, or changing | `scene_busy`: their writer has not finished |
| damaged bytes dated ahead of the clock | `corrupt_scene`, a person decides: how old they are cannot be told |
| JSON that is no scene, or beyond the limits | its own code, nothing touched: somebody meant it so |
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.scene import backup, document, intent
from countermark.scene import name as names
from countermark.scene.codes import SceneError, refuse
from countermark.scene.document import Scene
from countermark.scene.jsontext import conflict_marked
from countermark.scene.shelf import Shelf, fingerprint
from countermark.scene.sidecar import Record, Request
from countermark.scene.token import Turn

CHANGING_MS: Final = 2000
"""How young damaged bytes have to be to count as still being written."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A scene's file as it was read once."""

    data: bytes
    sha256: str
    print: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class State:
    """A scene as it is: its bytes, the document in them, and their record.

    `known` is false for a scene that nothing stood beside; its revision is 0. `restored_from` names the backup that
    has just taken the place of damaged bytes. `damaged` says that the bytes are no scene; `scene` is then an empty one.
    """

    seen: Seen
    scene: Scene
    record: Record
    known: bool
    restored_from: int | None = None
    damaged: bool = False


def look(shelf: Shelf, name: str) -> Seen:
    """Return a scene's file; raise `not_found`, `permission_denied` for a link, `too_large`."""
    file = names.scene_file(name)
    require_exact(shelf, name)
    print_ = fingerprint(shelf.root.stat(file))
    data = shelf.root.read(file, cap=shelf.limits.max_scene_bytes)
    return Seen(data, sha256_hex(data), print_)


def glance(shelf: Shelf, name: str) -> Seen:
    """Return a scene's file as `look` does; of one beyond the limits the digest and the look alone, no bytes."""
    try:
        return look(shelf, name)
    except CountermarkError as error:
        if error.code != "input_too_large":
            raise
        file = names.scene_file(name)
        print_ = fingerprint(shelf.root.stat(file))
        return Seen(b"", shelf.root.digest(file), print_)


def require_exact(shelf: Shelf, name: str) -> None:
    """Raise `not_found` when the disk would take another spelling, `Plan` for `plan`, as the scene's file."""
    if not shelf.root.exists(names.KEPT.upper()):
        return  # this disk tells large letters from small ones, or holds nothing of ours yet
    if shelf.root.exists(names.scene_file(name)) and all(
        entry.name != names.scene_file(name) for entry in shelf.root.listing()
    ):
        raise refuse(
            "not_found",
            f"{name} stands in this folder only in another spelling.",
            next_action="Rename the file to small letters.",
            details={"reason": "case-collision"},
        )


def recorded(shelf: Shelf, name: str, sha256: str) -> tuple[Record | None, bool]:
    """Return the newest record of a digest, and whether it is the sidecar's."""
    beside = shelf.sidecar(name)
    match = beside if beside is not None and beside.sha256 == sha256 else None
    newer = intent.newer(shelf.root, name, sha256, -1 if match is None else match.revision)
    match = newer or match
    return match, match is not None and match is beside


def settle(shelf: Shelf, turn: Turn, name: str, *, adopting: bool) -> State:
    """Return what a scene is now, and bring up to it what stands beside it; the caller holds the turn.

    `adopting` writes a record also for a scene that nothing stands beside. Raises as the table above says.
    """
    seen = look(shelf, name)
    match, beside = recorded(shelf, name, seen.sha256)
    if match is not None:
        scene = shelf.load(seen.data, seen.sha256)
        if not beside or not match.uid:
            match = shelf.put_sidecar(replace(match, uid=match.uid or shelf.ids.new("s")))
        disentangle(shelf, name, match.revision)
        return State(seen, scene, match, known=True)
    try:
        scene = shelf.load(seen.data, seen.sha256)
    except SceneError as error:
        if not error.details.get("damaged"):
            details = {**error.details, "currentRevision": last_revision(shelf, name)}
            raise refuse(error.code, error.sentence, next_action=error.next_action, details=details) from error
        return _restored(shelf, turn, name, seen)
    base, floor = past(shelf, name)
    known = shelf.sidecar(name) is not None
    record = _next(shelf, name, base, seen.sha256, scene, 0 if floor is None else floor + 1)
    if floor is None and adopting:
        record = replace(record, revision=1)
    if record.revision:
        shelf.root.sync(names.scene_file(name))  # whoever wrote it may not have
        record = record.remembering(None)
        record = shelf.put_sidecar(record, intent.write(shelf.root, record))
    return State(seen, scene, record, known)


def made(shelf: Shelf, name: str, base: Record | None, scene: Scene, seen: tuple[str, int], revision: int) -> Record:
    """Return the record of a revision that is about to be made; `seen` is its digest and length."""
    sha256, length = seen
    return Record(
        name=name,
        uid=base.uid if base and base.uid else shelf.ids.new("s"),
        revision=revision,
        sha256=sha256,
        byte_length=length,
        element_count=len(scene.elements),
        deleted_count=len(scene.elements) - scene.live,
        updated_at=shelf.now(),
        updated_by="recovery",
        previous_revision=base.revision if base else None,
        previous_sha256=base.sha256 if base else None,
        recent=base.recent if base else (),
        created=base.created if base else None,
        lineage=base.lineage if base else (),
        moved_from=base.moved_from if base else None,
    )


def refuse_damaged(shelf: Shelf, name: str, seen: Seen) -> None:
    """Raise when damaged bytes are for a person, or their writer, to finish, and not for us to replace."""
    if conflict_marked(seen.data):
        raise _corrupt(
            shelf,
            name,
            "conflict-markers",
            "holds an unfinished merge",
            "Finish the merge, or restore an earlier revision.",
        )
    age = shelf.clock.now_ms() - seen.print[2] // 1_000_000
    # Most programs write in place: what is half there now is whole in a moment, and an old revision would hide it.
    if abs(age) < CHANGING_MS or fingerprint(shelf.root.stat(names.scene_file(name))) != seen.print:
        raise refuse(
            "scene_busy",
            f"{name} is being written by another program.",
            next_action="Wait a moment, then repeat the call.",
            details={"reason": "still-changing"},
        )
    if age < 0:
        raise _corrupt(
            shelf,
            name,
            "dated-ahead",
            "cannot be read, and its time lies ahead of this machine's clock",
            "Set the clock or the file's time, or restore an earlier revision.",
        )


def quarantine(shelf: Shelf, name: str, seen: Seen) -> str:
    """Keep damaged bytes where nothing is ever taken away by itself; return the file."""
    file = names.quarantine_file(name, seen.sha256)
    if not shelf.root.exists(file):
        shelf.root.keep(names.scene_file(name), file)
    return file


def put_in(shelf: Shelf, turn: Turn, seen: Seen | None, record: Record, data: bytes, kept: str | None) -> Record:
    """Make one revision: intent, exchange, read-back, sidecar; return its record (seed 3 §3.3, 4 to 7).

    `seen` is what the bytes replace, and `kept` the file that holds them. Whatever fails leaves the bytes as they were.
    """
    root, file = shelf.root, names.scene_file(record.name)

    def guard() -> None:
        turn.verify()
        if seen is not None:
            require_unchanged(shelf, record.name, seen, record)

    try:
        text = intent.write(root, record)
        if kept is None:
            turn.verify()
            root.create(file, data)
        else:
            root.replace(file, data, guard=guard)
    except BaseException:
        with suppress(CountermarkError):
            intent.withdraw(root, record)
        _part(shelf, record.name, kept)
        raise
    try:
        _read_back(shelf, record, data)
        return shelf.put_sidecar(record, text)
    except BaseException as error:
        if kept is None:
            root.remove(file)
        else:
            root.put_back(kept, file)
        with suppress(CountermarkError):
            intent.withdraw(root, record)
        _part(shelf, record.name, kept)
        if isinstance(error, CountermarkError):
            raise refuse(
                "io_error",
                f"{record.name} could not be saved whole, and its earlier bytes were put back: {error.sentence}",
                next_action=error.next_action,
                details={**error.details, "cause": error.code},
            ) from error
        raise


def entangled(shelf: Shelf, name: str, revision: int) -> bool:
    """Say whether a scene's file is also kept as its own revision, as a save that was cut short leaves it."""
    return _same(shelf, name, names.backup_file(name, revision))


def disentangle(shelf: Shelf, name: str, revision: int) -> None:
    """Take that second name away: a program that writes in place would change what is kept; the caller has the turn."""
    _part(shelf, name, names.backup_file(name, revision))


def _same(shelf: Shelf, name: str, kept: str) -> bool:
    here = shelf.root.stat(names.scene_file(name))
    if here.st_nlink == 1:
        return False
    with suppress(CountermarkError):
        return shelf.root.stat(kept).st_ino == here.st_ino
    return False


def _part(shelf: Shelf, name: str, kept: str | None) -> None:
    with suppress(CountermarkError):
        if kept is not None and _same(shelf, name, kept):
            shelf.root.release(kept)


def damaged(shelf: Shelf, name: str) -> State:
    """Return the state of a scene whose bytes are none: what may only be put away before something takes its place."""
    seen = glance(shelf, name)
    base, floor = past(shelf, name)
    record = _next(shelf, name, base, seen.sha256, document.empty(), floor or 0)
    return State(seen, document.empty(), record, base is not None, damaged=True)


def require_unchanged(shelf: Shelf, name: str, seen: Seen, record: Record | None) -> None:
    """Raise `revision_conflict` when a scene's file is not what was read any more."""
    file = names.scene_file(name)
    if fingerprint(shelf.root.stat(file)) != seen.print:
        raise changed(name, record, shelf.root.digest(file), shelf.now())


def changed(name: str, record: Record | None, sha256: str, now: str) -> SceneError:
    """Return the refusal of a write that another program's change came before."""
    return refuse(
        "revision_conflict",
        f"{name} was changed by another program meanwhile; nothing was written.",
        next_action="Read the scene again, then apply the change to what it is now.",
        details={
            "reason": "changed-meanwhile",
            "expectedRevision": record.previous_revision if record else None,
            "currentRevision": record.revision if record else 0,
            "currentSha256": sha256,
            "updatedAt": now,
        },
    )


def remembered(request_id: str | None, payload: str | None, record: Record) -> Request | None:
    """Return the request that a revision answers, as it will be remembered."""
    if request_id is None:
        return None
    return Request(
        request_id,
        record.revision,
        record.sha256,
        record.updated_at,
        payload,
        record.byte_length,
        record.element_count,
    )


def _read_back(shelf: Shelf, record: Record, data: bytes) -> None:
    found = shelf.root.read(names.scene_file(record.name), cap=shelf.limits.max_scene_bytes)
    if found != data:
        raise refuse(
            "io_error",
            f"{record.name} did not read back as it was written.",
            next_action="Check the disk, then repeat the call.",
            details={"written": record.sha256, "read": sha256_hex(found)},
        )
    count = len(shelf.load(found, record.sha256).elements)
    if count != record.element_count:
        raise refuse(
            "io_error",
            f"{record.name} read back with {count} elements, not {record.element_count}.",
            next_action="Check the disk, then repeat the call.",
            details={"written": record.element_count, "read": count},
        )


def _restored(shelf: Shelf, turn: Turn, name: str, seen: Seen) -> State:
    refuse_damaged(shelf, name, seen)
    found = backup.newest_valid(shelf.root, name, shelf.limits)
    if found is None:
        raise _corrupt(
            shelf,
            name,
            "no-valid-backup",
            "cannot be read, and no earlier revision of it can either",
            f"Put a valid file in its place; the damaged bytes stand in {names.scene_file(name)}.",
        )
    revision, scene = found
    base, floor = past(shelf, name)
    kept = quarantine(shelf, name, seen)
    data = scene.source
    record = _next(shelf, name, base, sha256_hex(data), scene, (floor or 0) + 1)
    record = replace(record, restored_from=revision).remembering(None)
    record = put_in(shelf, turn, seen, record, data, kept)
    return State(
        replace(seen, data=data, sha256=record.sha256, print=record.fingerprint or seen.print),
        scene,
        record,
        known=True,
        restored_from=revision,
    )


def last_revision(shelf: Shelf, name: str) -> int:
    """Return what counts as current where a scene's bytes are none: the highest revision anybody can have seen."""
    return past(shelf, name)[1] or 0


def past(shelf: Shelf, name: str) -> tuple[Record | None, int | None]:
    """Return the newest record that is certain, of whatever bytes, and the highest revision anybody can have seen."""
    beside, intents = shelf.sidecar(name), intent.read(shelf.root, name)
    last = -1 if beside is None else beside.revision
    certain = [record if record.revision <= last else record.before() for record in intents]
    if beside is not None:
        certain.append(beside)
    base = max(reversed(certain), key=lambda record: record.revision, default=None)
    numbers = [record.revision for record in (*intents, *certain)] + backup.revisions(shelf.root, name)
    return base, max(numbers, default=None)


def _next(shelf: Shelf, name: str, base: Record | None, sha256: str, scene: Scene, revision: int) -> Record:
    return made(shelf, name, base, scene, (sha256, len(scene.source)), revision)


def _corrupt(shelf: Shelf, name: str, reason: str, what: str, next_action: str) -> SceneError:
    details = {"reason": reason, "currentRevision": last_revision(shelf, name)}
    return refuse("corrupt_scene", f"{name} {what}.", next_action=next_action, details=details)
