"""The fifteen error codes of scenes, their HTTP status, and how the kernel's errors read in them (seed 3 §6).

Every surface of the scene domain speaks these codes and no others; what the kernel said stands in the details.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from countermark.kernel.errors import CountermarkError, Ending, register

STATUS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "invalid_name": 400,
        "not_found": 404,
        "already_exists": 409,
        "invalid_scene": 422,
        "invalid_operation": 422,
        "revision_conflict": 409,
        "scene_busy": 423,
        "too_large": 413,
        "too_many_elements": 422,
        "permission_denied": 403,
        "corrupt_scene": 500,
        "io_error": 500,
        "unsupported_element": 422,
        "duplicate_id": 409,
        "invalid_reference": 422,
    }
)
"""HTTP status by code, to the letter of seed 3 §6."""

register(Ending.USAGE, "invalid_name", "invalid_scene", "invalid_operation", "too_large", "too_many_elements")
register(Ending.USAGE, "unsupported_element", "invalid_reference")
register(Ending.CONFLICT, "already_exists", "scene_busy", "duplicate_id")
register(Ending.FAILED, "corrupt_scene", "io_error")

_LEDGER: Final = frozenset({"ledger_busy", "ledger_broken", "workspace_newer"})
_MEANS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "path_escape": "permission_denied",
        "not_a_regular_file": "permission_denied",
        "budget_exhausted": "permission_denied",
        "input_too_large": "too_large",
        "input_invalid": "invalid_operation",
        "resource_busy": "scene_busy",
        "output_exists": "already_exists",
    }
)
_ENDS_AS: Final[Mapping[Ending, str]] = MappingProxyType(
    {
        Ending.USAGE: "invalid_operation",
        Ending.NOT_FOUND: "not_found",
        Ending.REFUSED: "permission_denied",
        Ending.CONFLICT: "scene_busy",
    }
)


class SceneError(CountermarkError):
    """A refusal or failure with one of the fifteen codes; `status` is its HTTP status."""

    @property
    def status(self) -> int:
        """The HTTP status of the code."""
        return STATUS[self.code]


def refuse(code: str, sentence: str, *, next_action: str, details: Mapping[str, Any] | None = None) -> SceneError:
    """Return the error of one of the fifteen codes, for the caller to raise."""
    if code not in STATUS:
        message = f"{code!r} is no code of scenes"
        raise AssertionError(message)
    return SceneError(code, sentence, next_action=next_action, details=details)


def as_scene_error(error: CountermarkError) -> SceneError:
    """Return an error in one of the fifteen codes; a kernel code stays readable as `cause` in the details."""
    if isinstance(error, SceneError):
        return error
    details = dict(error.details)
    if error.code in STATUS:
        return SceneError(error.code, error.sentence, next_action=error.next_action, details=details)
    details["cause"] = error.code
    code = _MEANS.get(error.code) or _ENDS_AS.get(error.ending, "io_error")
    if error.code in _LEDGER:
        code, details["reason"] = "scene_busy", "ledger"
    return SceneError(code, error.sentence, next_action=error.next_action, details=details)


def as_seed(error: CountermarkError) -> dict[str, Any]:
    """Return the wire form `{code, message, details}`; what to do next stands as `next` in the details."""
    ours = as_scene_error(error)
    return {"code": ours.code, "message": ours.sentence, "details": {**ours.details, "next": ours.next_action}}
