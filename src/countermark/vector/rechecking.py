"""A kit that stands in a workspace, measured again: nothing that it says of itself is believed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from countermark.kernel.errors import CountermarkError
from countermark.kernel.tool import Result
from countermark.vector import document as native
from countermark.vector import exchange, operation
from countermark.vector.holding import DOCUMENT_CAP, plain_name
from countermark.vector.kit import boards_for, files_for
from countermark.vector.proposal import KIT
from countermark.vector.variant import DERIVED

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

_SHOWN: Final = 100


def recheck(workspace: Workspace, folder: str = KIT) -> Result:
    """Measure again what each file of a kit lost, from the files alone, and hold the kit's own report against it.

    Raise `loss_report_mismatch` with what differs, and `not_found` for a folder that is no kit.
    """
    plain_name(folder, "")
    if not workspace.files.exists(folder):
        raise CountermarkError("not_found", f"There is no folder {folder}.", next_action="Export the kit first.")
    held = [one.name for one in workspace.files.listing(folder) if one.kind == "file"]
    files = {name: workspace.files.read(f"{folder}/{name}", cap=DOCUMENT_CAP) for name in held}
    names = [name for name in files if name.endswith(operation.SUFFIX)]
    if len(names) != 1:
        raise CountermarkError(
            "not_found",
            f"{folder} holds {len(names) or 'no'} native documents; a kit holds one.",
            next_action="Export the kit first.",
        )
    (name,) = names
    document = native.load(files[name], what=name)
    planned = [one for board in boards_for(document) if board.variant not in DERIVED for one in board.files]
    planned += [file.name for file in files_for(document, name)]
    missing = sorted(set(planned) - files.keys())
    if missing:
        raise CountermarkError(
            "not_found",
            f"{folder} lacks {', '.join(missing[:3])}.",
            next_action="Export the kit again: missing files come back.",
            details={"missing": missing},
        )
    found = exchange.compared(document, name, files)
    counts = {status: found.count(status) for status in ("lost", "unknown", "observed")}
    rows = [
        {"file": row["location"], "lost": [one["code"] for one in row["changes"] if one["status"] == "lost"]}
        for row in found.report["outputs"]
    ]
    worst = [
        {
            "artboard": one.artboard,
            "object": one.object_id,
            "name": one.name,
            "format": one.format,
            "off": one.region.off,
            "painted": one.region.painted,
        }
        for one in found.worst[:_SHOWN]
    ]
    said = ", ".join(f"{number} {status}" for status, number in counts.items())
    summary = f"{exchange.REPORT} of {folder} is what its {len(rows)} files show: {said}."
    return Result(summary, {"folder": folder, **counts, "outputs": rows, "worst": worst})
