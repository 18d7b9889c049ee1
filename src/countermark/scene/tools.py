"""The five public calls of scenes, names, arguments, results and failures to the letter of seed 3 §4.

A result is `{ok: true, …}`, a failure `{ok: false, error: {code, message, details}}`; both go to the caller as data.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from countermark.kernel.errors import CountermarkError
from countermark.kernel.tool import Result, Tool
from countermark.scene import contract
from countermark.scene.codes import as_seed, refuse
from countermark.scene.desk import Desk, Wanted
from countermark.scene.document import Element
from countermark.scene.spelling import escaped

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

FULL_CAP: Final = 3 << 20
"""Bytes of a scene that still fit a full answer: it travels twice, as text and as data, in a line of 8 MiB."""

Call = Callable[["Workspace", Mapping[str, Any]], Result]

_LARGEST: Final = sys.float_info.max
_SUMMARY: Final = ("id", "type", "x", "y", "width", "height")


def failure(error: CountermarkError) -> dict[str, Any]:
    """Return what a call answers when it was refused or failed."""
    return {"ok": False, "error": as_seed(error)}


def _desk(workspace: Workspace, arguments: Mapping[str, Any]) -> Desk:
    return Desk(workspace, actor="agent", grant=arguments.get("grant"))


def _list(workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    rows = _desk(workspace, arguments).listing()
    return Result("", {"ok": True, "scenes": rows})


def _read(workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    with_files = arguments.get("include_files", True)
    found = _desk(workspace, arguments).read(arguments["name"])
    scene = found.scene
    if arguments.get("include", "full") == "summary":
        wanted = arguments.get("element_type")
        elements = [_summary(one) for one in scene.elements if wanted in (None, one.get("type"))]
        return Result("", {"ok": True, **found.facts(), "elements": elements, "files": list(scene.files)})
    whole = scene.value()
    if not with_files:
        whole["files"] = {}
    size = len(found.data) if with_files else len(json.dumps(whole))
    if size > FULL_CAP:
        raise refuse(
            "too_large",
            f"The scene has {size} bytes, more than the {FULL_CAP} that a full answer carries.",
            next_action="Ask with include_files false or include summary, or read the link.",
            details={"byteLength": size, "limit": FULL_CAP, "link": f"countermark://scene/{found.name}"},
        )
    return Result("", {"ok": True, **found.facts(), "scene": whole})


def _summary(element: Element) -> dict[str, Any]:
    shown = {name: element.get(name) for name in _SUMMARY}
    if element.get("type") == "text":
        shown["text"] = element.get("text")
    return {**shown, "isDeleted": bool(element.get("isDeleted", False))}


def _create(workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    parts = {name: arguments[name] for name in ("elements", "app_state", "files") if name in arguments}
    return Result("", {"ok": True, **_desk(workspace, arguments).create(arguments["name"], parts, _request(arguments))})


def _apply(workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    payload = {name: arguments[name] for name in ("operations", "app_state") if name in arguments}
    wanted = Wanted(
        revision=strict_revision(arguments["expected_revision"]), request_id=_request(arguments), payload=payload
    )
    desk = _desk(workspace, arguments)
    made = desk.apply(arguments["name"], arguments["operations"], arguments.get("app_state"), wanted)
    return Result("", {"ok": True, **made})


def _validate(workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    return Result("", {"ok": True, **_desk(workspace, arguments).validate(arguments["scene"])})


def _request(arguments: Mapping[str, Any]) -> str | None:
    value = arguments.get("request_id")
    return None if value is None else str(value)


def strict_revision(value: Any) -> int:
    """Return a revision; raise `invalid_operation` for `true`, `"3"`, `3.5`, a negative and a huge one."""
    if type(value) is not int or not 0 <= value < 2**53:
        raise refuse(
            "invalid_operation",
            "/expected_revision must be a whole number, zero or more.",
            next_action="Send the revision that a read answered with.",
            details={"pointer": "/expected_revision"},
        )
    return value


def require_doubles(value: Any, pointer: str = "") -> None:
    """Raise `invalid_operation` for a number that no JavaScript reader holds: NaN, an infinity, 400 digits."""
    if isinstance(value, dict):
        for name, member in value.items():
            require_doubles(member, f"{pointer}/{escaped(str(name))}")
    elif isinstance(value, list):
        for place, item in enumerate(value):
            require_doubles(item, f"{pointer}/{place}")
    elif isinstance(value, int | float) and not -_LARGEST <= value <= _LARGEST:
        raise refuse(
            "invalid_operation",
            f"{pointer} is not a finite number of double precision.",
            next_action="Correct the number; nothing was done.",
            details={"pointer": pointer},
        )


def _finite(call: Call) -> Call:
    """Return a call that is made only with numbers that every part below can compute with."""

    def checked(workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
        require_doubles(dict(arguments))
        return call(workspace, arguments)

    return checked


TOOLS: Final = (
    Tool(
        "excalidraw_scene_list",
        "List scenes",
        "List the scenes: revision, size, who changed each last.",
        contract.LIST,
        _finite(_list),
        read_only=True,
        failure=failure,
    ),
    Tool(
        "excalidraw_scene_read",
        "Read a scene",
        "Read a scene with its revision, whole or as a summary.",
        contract.READ,
        _finite(_read),
        read_only=True,
        failure=failure,
    ),
    Tool(
        "excalidraw_scene_create",
        "Create a scene",
        "Create a scene. Arrows bind by startElementId/endElementId; a label is sized to its text.",
        contract.CREATE,
        _finite(_create),
        idempotent=False,
        failure=failure,
    ),
    Tool(
        "excalidraw_scene_apply",
        "Change a scene",
        "Apply operations to the revision you read; one bad operation rejects all. On revision_conflict read again: a "
        "person may have drawn meanwhile.",
        contract.APPLY,
        _finite(_apply),
        destructive=True,
        failure=failure,
    ),
    Tool(
        "excalidraw_scene_validate",
        "Check a document",
        "Check a whole .excalidraw document strictly, without storing it.",
        contract.VALIDATE,
        _finite(_validate),
        read_only=True,
        failure=failure,
    ),
)
