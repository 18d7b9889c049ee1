"""The one error base, and the table of codes that every domain registers into.

A caller meets exactly one exception type. Its `code` is stable and machine-readable, its sentence says what
happened and where, its `next_action` says one thing to do. Surfaces map the code's `Ending` to an exit status or
an HTTP status; nothing below a surface knows about either.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final


class Ending(Enum):
    """What an error means for the caller; the value is the command line's exit status (design §4)."""

    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    REFUSED = 4
    CONFLICT = 5
    UNKNOWN = 6
    UNAVAILABLE = 7


_ENDINGS: Final[dict[str, Ending]] = {}


def register(ending: Ending, *codes: str) -> None:
    """Declare the codes that end a call this way; declaring one code twice with different endings is a bug."""
    for code in codes:
        if _ENDINGS.setdefault(code, ending) is not ending:
            message = f"error code {code!r} is already registered as {_ENDINGS[code].name}"
            raise AssertionError(message)


def ending_of(code: str) -> Ending:
    """Return how a registered code ends a call."""
    return _ENDINGS[code]


def registered() -> Mapping[str, Ending]:
    """Return every registered code, for the reference page and the tests."""
    return dict(sorted(_ENDINGS.items()))


class CountermarkError(Exception):
    """Every refusal, conflict and failure of this package.

    `code` must be registered. `details` holds JSON values only: they travel to the agent and into events, so no
    secret and no private file content belongs in them.
    """

    def __init__(
        self,
        code: str,
        sentence: str,
        *,
        next_action: str,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.next_action = next_action
        self.details: dict[str, Any] = dict(details or {})
        self.ending = _ENDINGS[code]

    def as_json(self) -> dict[str, Any]:
        """Return the wire form that the command line, MCP and HTTP all show."""
        return {
            "code": self.code,
            "message": self.sentence,
            "next": self.next_action,
            "details": self.details,
        }

    def __str__(self) -> str:
        return f"{self.code}: {self.sentence} {self.next_action}"


# Seed 1 §11, to the letter.
register(Ending.UNAVAILABLE, "runtime_missing", "capability_missing")
register(Ending.CONFLICT, "revision_conflict")
register(Ending.UNKNOWN, "outcome_unknown")
register(Ending.FAILED, "artifact_invalid")
register(Ending.REFUSED, "budget_exhausted")

# Ours: input, files, workspace.
register(
    Ending.USAGE,
    "input_invalid",
    "input_too_large",
    "path_escape",
    "not_a_regular_file",
    "config_invalid",
)
register(Ending.NOT_FOUND, "not_found", "workspace_missing")
register(
    Ending.FAILED,
    "disk_full",
    "disk_read_only",
    "io_failed",
    "workspace_newer",
    "ledger_broken",
    "verification_failed",
    "verification_unavailable",
    "child_failed",
)
register(Ending.UNAVAILABLE, "part_unavailable", "secret_missing")
register(Ending.CONFLICT, "output_exists", "resource_busy", "ledger_busy", "key_conflict", "stale_evidence")
register(Ending.REFUSED, "permission_denied", "grant_expired", "grant_revoked", "grant_unknown", "stale_epoch")
register(
    Ending.FAILED,
    "capability_schema_mismatch",
    "task_failed",
    "deadline_exceeded",
    "cancelled",
    "illegal_state",
    "superseded",
)
