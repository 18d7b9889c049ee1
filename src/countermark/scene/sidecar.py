"""The revision record beside a scene: which revision its bytes are, and which requests led there (seed 3 §3.2).

The record is `dsh-excalidraw/revision@1` with fields added; a reader takes any other schema, and anything broken, for
no record at all, and the file is the truth.
"""

from __future__ import annotations

import builtins
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from countermark.kernel.errors import CountermarkError
from countermark.kernel.kept import KeptRoot

SCHEMA: Final = "dsh-excalidraw/revision@1"
ACTORS: Final = frozenset({"agent", "ui", "cli", "import", "restore", "recovery"})
REMEMBERED: Final = 32
"""How many successful requests a scene remembers (seed 3 §3.4)."""
LINEAGE: Final = 32
CAP: Final = 1 << 20

_SHA256: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Request:
    """One request that was carried out: its id, what it made, when, and the digest of what was asked."""

    id: str
    revision: int
    sha256: str
    at: str
    payload: str | None = None
    byte_length: int = 0
    element_count: int = 0

    def wire(self) -> dict[str, Any]:
        """Return its JSON form."""
        value: dict[str, Any] = {
            "id": self.id,
            "revision": self.revision,
            "sha256": self.sha256,
            "at": self.at,
            "byteLength": self.byte_length,
            "elementCount": self.element_count,
        }
        return value if self.payload is None else {**value, "payloadSha256": self.payload}


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks for a new revision, under which request id, with the digest of what is asked, and under which mark."""

    actor: str
    request_id: str | None = None
    payload: str | None = None
    mark: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One revision of the recent past: its number, who made it and when, its digest, and the mark of who allowed it."""

    revision: int
    by: str
    at: str
    sha256: str
    mark: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of a scene's newest revision. Counts are of all elements; `deleted_count` of the tombstones.

    `fingerprint` is (inode, size, mtime in ns) of the file whose bytes have the digest. `moved_from` names the scene
    this one was called before, as long as something of it still has to be moved.
    """

    name: str
    uid: str
    revision: int
    sha256: str
    byte_length: int
    element_count: int
    deleted_count: int
    updated_at: str
    updated_by: str
    previous_revision: int | None = None
    previous_sha256: str | None = None
    recent: tuple[Request, ...] = ()
    created: Request | None = None
    lineage: tuple[Step, ...] = ()
    restored_from: int | None = None
    fingerprint: tuple[int, int, int] | None = None
    moved_from: str | None = None

    def request(self, request_id: str | None) -> Request | None:
        """Return the remembered request of that id."""
        return next((one for one in reversed(self.recent) if one.id == request_id), None) if request_id else None

    def remembering(self, request: Request | None, mark: str | None = None) -> Record:
        """Return the record with one more request and itself, under a mark, in the lineage."""
        recent = self.recent if request is None else (*self.recent, request)[-REMEMBERED:]
        step = Step(self.revision, self.updated_by, self.updated_at, self.sha256, mark)
        return replace(self, recent=recent, lineage=(*self.lineage, step)[-LINEAGE:])

    def before(self) -> Record:
        """Return what this record says of the past before its own revision, which perhaps never came to be."""
        return replace(
            self,
            revision=self.previous_revision or 0,
            sha256=self.previous_sha256 or self.sha256,
            recent=tuple(one for one in self.recent if one.revision < self.revision),
            lineage=tuple(one for one in self.lineage if one.revision < self.revision),
            created=self.created if self.created is not None and self.created.revision < self.revision else None,
            restored_from=None,
        )

    def wire(self) -> dict[str, Any]:
        """Return the JSON form, the seed's fields first."""
        value: dict[str, Any] = {
            "schema": SCHEMA,
            "name": self.name,
            "revision": self.revision,
            "sha256": self.sha256,
            "byteLength": self.byte_length,
            "elementCount": self.element_count,
            "updatedAt": self.updated_at,
            "updatedBy": self.updated_by,
            "previousRevision": self.previous_revision,
            "previousSha256": self.previous_sha256,
            "recentRequests": [request.wire() for request in self.recent],
            "uid": self.uid,
            "deletedCount": self.deleted_count,
            "lineage": [[one.revision, one.by, one.at, one.sha256, one.mark] for one in self.lineage],
        }
        if self.created is not None:
            value["createdBy"] = self.created.wire()
        if self.restored_from is not None:
            value["restoredFrom"] = self.restored_from
        if self.moved_from is not None:
            value["movedFrom"] = self.moved_from
        if self.fingerprint is not None:
            value["file"] = list(self.fingerprint)
        return value

    def bytes(self) -> bytes:
        """Return the text of the record."""
        return orjson.dumps(self.wire(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

    def noted(self, text: builtins.bytes, look: tuple[int, int, int]) -> tuple[Record, builtins.bytes]:
        """Return the record, and its text made of the one without, with the look of the file whose bytes it is of."""
        added = b',\n  "file": [\n    %d,\n    %d,\n    %d\n  ]\n}\n' % look
        return replace(self, fingerprint=look), text.removesuffix(b"\n}\n") + added


def parse(data: bytes, name: str) -> Record | None:
    """Return the record of a scene in some bytes; None when they hold none, or one of another scene or schema."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return of_value(value, name)


def of_value(value: Any, name: str) -> Record | None:
    """Return the record in a JSON value; None when it is none."""
    if not isinstance(value, dict) or value.get("schema") != SCHEMA or value.get("name") != name:
        return None
    try:
        return Record(
            name=name,
            uid=_text(value.get("uid", "")),
            revision=_count(value["revision"]),
            sha256=_digest(value["sha256"]),
            byte_length=_count(value["byteLength"]),
            element_count=_count(value["elementCount"]),
            deleted_count=_count(value.get("deletedCount", 0)),
            updated_at=_text(value["updatedAt"]),
            updated_by=_text(value["updatedBy"]),
            previous_revision=None if value.get("previousRevision") is None else _count(value["previousRevision"]),
            previous_sha256=None if value.get("previousSha256") is None else _digest(value["previousSha256"]),
            recent=tuple(_request(one) for one in value.get("recentRequests") or [])[-REMEMBERED:],
            created=_request(value["createdBy"]) if value.get("createdBy") else None,
            lineage=tuple(_step(*one) for one in value.get("lineage") or [])[-LINEAGE:],
            restored_from=None if value.get("restoredFrom") is None else _count(value["restoredFrom"]),
            fingerprint=_fingerprint(value.get("file")),
            moved_from=None if value.get("movedFrom") is None else _text(value["movedFrom"]),
        )
    except (KeyError, TypeError, ValueError):
        return None


def read_beside(root: KeptRoot, file: str, cap: int) -> builtins.bytes | None:
    """Return the bytes of a file beside a scene; None where none stands, or a link, a folder or too large a one."""
    try:
        return root.read(file, cap=cap)
    except CountermarkError as error:
        if error.code in {"not_found", "input_too_large"}:
            return None
        if error.code in {"path_escape", "not_a_regular_file"} and not stat.S_ISREG(root.stat(file).st_mode):
            return None  # the name itself; where a folder above it is a link, the look raises too
        raise


def instant(milliseconds: int) -> str:
    """Return a time as the seed spells it, for example 2026-10-28T03:20:11.000Z."""
    at = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"


def _step(revision: Any, by: Any, at: Any, sha256: Any, mark: Any) -> Step:
    return Step(_count(revision), _text(by), _text(at), _digest(sha256), None if mark is None else _text(mark))


def _request(value: Mapping[str, Any]) -> Request:
    payload = value.get("payloadSha256")
    return Request(
        _text(value["id"]),
        _count(value["revision"]),
        _digest(value["sha256"]),
        _text(value["at"]),
        None if payload is None else _text(payload),
        _count(value.get("byteLength", 0)),
        _count(value.get("elementCount", 0)),
    )


def _fingerprint(value: Any) -> tuple[int, int, int] | None:
    if value is None:
        return None
    inode, size, changed = value
    return _count(inode), _count(size), int(changed)


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _digest(value: Any) -> str:
    if not isinstance(value, str) or _SHA256.fullmatch(value) is None:
        raise ValueError
    return value
