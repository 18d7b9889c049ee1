"""What is asked before a scene is written: whether the call is sound, and whether its revision is current."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from countermark.kernel.errors import CountermarkError
from countermark.scene.codes import SceneError, as_scene_error, refuse
from countermark.scene.recovery import State
from countermark.scene.sidecar import ACTORS

_REQUEST_ID: Final = 200


@contextmanager
def ours() -> Iterator[None]:
    """Turn every error inside into one of the fifteen codes."""
    try:
        yield
    except SceneError:
        raise
    except CountermarkError as error:
        raise as_scene_error(error) from error


def require_current(state: State, expected: int | None) -> None:
    """Raise `revision_conflict` unless a revision is the current one; 0 is, where nothing stood beside the scene."""
    record = state.record
    if expected == record.revision or (expected == 0 and not state.known):
        return
    raise refuse(
        "revision_conflict",
        f"{record.name} is at revision {record.revision}, not {expected}.",
        next_action="Read the scene again, then apply the change to what it is now.",
        details={
            "currentRevision": record.revision,
            "currentSha256": state.seen.sha256,
            "expectedRevision": expected,
            "updatedAt": record.updated_at,
            "updatedBy": record.updated_by,
        },
    )


def require_request(actor: str, request_id: Any) -> None:
    """Raise `invalid_operation` unless a request id is none, or 1 to 200 printable characters."""
    if actor not in ACTORS:
        message = f"{actor!r} is nobody who writes scenes"
        raise AssertionError(message)
    if request_id is not None and (
        not isinstance(request_id, str) or not 0 < len(request_id) <= _REQUEST_ID or not request_id.isprintable()
    ):
        raise refuse(
            "invalid_operation",
            f"A request id is 1 to {_REQUEST_ID} printable characters.",
            next_action="Send another request id, or none.",
            details={"pointer": "/request_id"},
        )


def require_revision(value: Any, *, force: bool) -> None:
    """Raise `invalid_operation` unless a value is a revision; with `force` it may be None."""
    # true, "3" and 3.5 are no revisions, though Python or JavaScript would compare them.
    if (value is None and force) or (type(value) is int and value >= 0):
        return
    raise refuse(
        "invalid_operation",
        f"{value!r:.40} is not a revision: a revision is a whole number, 0 or more.",
        next_action="Read the scene, and send the revision it answers.",
        details={"pointer": "/expected_revision"},
    )
