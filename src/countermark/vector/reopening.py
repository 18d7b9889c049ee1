"""Opening a native document again with a reader that shares nothing with its writer: the standard library's JSON.

`native_reopens` looks at the bytes as another program would: one JSON value, the members the format demands, object ids
that are unique and below `next_id`, artboards with unique ids and a positive size (research 3.1, 3.2).
"""

from __future__ import annotations

import json
from typing import Any, Final

from countermark.kernel.canon import sha256_hex
from countermark.kernel.proof import Engine, Status, Verdict
from countermark.vector import identity

FORMATS: Final = ("vectorcraft", "drawcraft")
NEWEST: Final = 5
_SOURCE: Final = "research 3: the .vectorcraft format, version 5"


def native_reopens(data: bytes, maker: Engine) -> Verdict:
    """Read a native document with Python's own JSON reader and look at its structure."""
    reasons: list[str] = []
    measured: dict[str, Any] = {"bytes": len(data)}
    try:
        file = json.loads(data, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        reasons.append(f"it is not one JSON value: {error}")
    else:
        reasons += _faults(file, measured)
    measured["faults"] = len(reasons)
    return Verdict(
        check="native_reopens",
        status=Status.FAILED if reasons else Status.PASSED,
        required=True,
        maker=maker,
        observer=identity.interpreter(),
        subjects=(sha256_hex(data),),
        measured=measured,
        threshold={"faults": 0},
        reason="; ".join(reasons[:3]),
        source=_SOURCE,
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        message = "a member appears twice in one object"
        raise ValueError(message)
    return found


def _faults(file: Any, measured: dict[str, Any]) -> list[str]:
    if not isinstance(file, dict) or not isinstance(file.get("document"), dict):
        return ["it is not a document file"]
    tree = file["document"]
    ids = list(_ids(tree.get("layers")))
    boards = tree.get("artboards")
    measured |= {"objects": len(ids), "artboards": len(boards) if isinstance(boards, list) else 0}
    faults = []
    if file.get("format") not in FORMATS or not isinstance(file.get("version"), int) or file["version"] > NEWEST:
        faults.append("its format or version is not one of ours")
    if len(set(ids)) != len(ids):
        faults.append("an object id is used twice")
    if ids and not (isinstance(tree.get("next_id"), int) and tree["next_id"] > max(ids)):
        faults.append("next_id is not above every object id")
    if not isinstance(boards, list) or not boards:
        return [*faults, "it has no artboard"]
    if not all(isinstance(board, dict) and isinstance(board.get("rect"), dict) for board in boards):
        return [*faults, "an artboard has no rectangle"]
    if len({board.get("id") for board in boards}) != len(boards):
        faults.append("an artboard id is used twice")
    for board in boards:
        rect = board["rect"]
        if not (rect.get("x1", 0) > rect.get("x0", 0) and rect.get("y1", 0) > rect.get("y0", 0)):
            faults.append(f"artboard {board.get('id')} has no size")
    return faults


def _ids(nodes: Any) -> Any:
    waiting = list(nodes) if isinstance(nodes, list) else []
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if isinstance(node.get("id"), int):
                yield node["id"]
            kind = node.get("kind")
            children = kind.get("children") if isinstance(kind, dict) else None
            waiting.extend(children if isinstance(children, list) else [])
