"""What the store answers: the evidence of a save, a scene as it was read, a row of the listing, an earlier revision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from countermark.scene.document import Scene
from countermark.scene.sidecar import Record, Request


@dataclass(frozen=True, slots=True)
class Evidence:
    """A save that holds (seed 3 §3.3). Counts are of all elements, tombstones included.

    `duplicate` says that the request was carried out before and was not run again; `payload_matches` is then false when
    this call asked for something else, and None when that cannot be told. `restored_from` is the earlier revision whose
    bytes these are. `unledgered` says that the ledger has yet to hear of it.
    """

    name: str
    revision: int
    previous_revision: int | None
    sha256: str
    byte_length: int
    element_count: int
    saved_at: str
    verified: bool = True
    duplicate: bool = False
    payload_matches: bool | None = None
    restored_from: int | None = None
    unledgered: bool = False
    uid: str = ""
    deleted_count: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def wire(self) -> dict[str, Any]:
        """Return the JSON form under the seed's names; what does not apply is absent."""
        value: dict[str, Any] = {
            "name": self.name,
            "revision": self.revision,
            "previousRevision": self.previous_revision,
            "sha256": self.sha256,
            "byteLength": self.byte_length,
            "elementCount": self.element_count,
            "savedAt": self.saved_at,
            "verified": self.verified,
            "duplicate": self.duplicate,
        }
        if self.deleted_count is not None:
            value["deletedCount"] = self.deleted_count
        if self.payload_matches is not None:
            value["payloadMatches"] = self.payload_matches
        if self.payload_matches is False:
            value["message"] = (
                f"Request {self.more.get('requestId')!r} was carried out before with other content, as revision "
                f"{self.revision}; this call changed nothing. Use a new request id for a new change."
            )
        if self.restored_from is not None:
            value["restoredFrom"] = self.restored_from
        if self.unledgered:
            value["unledgered"] = True
        return value


def of_record(record: Record, previous: int | None, *, more: Mapping[str, Any] | None = None) -> Evidence:
    """Return the evidence of the revision that a record speaks of."""
    return Evidence(
        record.name,
        record.revision,
        previous,
        record.sha256,
        record.byte_length,
        record.element_count,
        record.updated_at,
        restored_from=record.restored_from,
        uid=record.uid,
        deleted_count=record.deleted_count,
        more=more or {},
    )


def of_request(record: Record, request: Request, payload: str | None) -> Evidence:
    """Return the evidence of a request that was carried out before."""
    told = payload is not None and request.payload is not None
    return Evidence(
        record.name,
        request.revision,
        max(0, request.revision - 1),
        request.sha256,
        request.byte_length,
        request.element_count,
        request.at,
        duplicate=True,
        payload_matches=payload == request.payload if told else None,
        uid=record.uid,
        more={"requestId": request.id},
    )


@dataclass(frozen=True, slots=True)
class Read:
    """A scene as it was read: `data` are the bytes with the digest, `scene` the document in them."""

    name: str
    revision: int
    sha256: str
    updated_at: str
    updated_by: str
    byte_length: int
    scene: Scene
    data: bytes
    uid: str = ""
    restored_from: int | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """One row of the listing; `reason` says why a file is not valid, `warning` what a person should know."""

    name: str
    valid: bool
    revision: int = 0
    element_count: int = 0
    byte_length: int = 0
    updated_at: str = ""
    updated_by: str = ""
    sha256: str = ""
    reason: str = ""
    warning: str = ""

    def wire(self) -> dict[str, Any]:
        """Return the JSON form under the seed's names."""
        value: dict[str, Any] = {
            "name": self.name,
            "revision": self.revision,
            "elementCount": self.element_count,
            "byteLength": self.byte_length,
            "updatedAt": self.updated_at,
            "updatedBy": self.updated_by,
            "sha256": self.sha256,
            "valid": self.valid,
        }
        return value | {key: text for key, text in (("reason", self.reason), ("warning", self.warning)) if text}


class Version(NamedTuple):
    """One revision of a scene: when and by whom where that is still known, and whether it is the newest."""

    revision: int
    sha256: str
    byte_length: int
    updated_at: str
    updated_by: str
    current: bool

    def wire(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "revision": self.revision,
            "sha256": self.sha256,
            "byteLength": self.byte_length,
            "updatedAt": self.updated_at,
            "updatedBy": self.updated_by,
            "current": self.current,
        }
