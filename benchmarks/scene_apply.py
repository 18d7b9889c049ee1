"""500 operations on a scene of 10,000 elements, saved durably, beside the plain way without a single sync.

Ours: `Store.save` of an existing scene: read, hash, parse, apply, write what changed, backup, intent, fsyncs, rename,
sidecar, read back, hash. The operations move boxes (their labels and arrows follow), restyle, delete, and add labelled
boxes; text is measured with the real fonts. The peer does only this: `json.loads`, `copy.deepcopy`, the same fields
written to the same elements with nothing following, `json.dumps(indent=2)`, written to a file without a sync.

Two rows: a file that the editor wrote, and the same with tabs, whose untouched bytes are kept slice by slice.
"""

from __future__ import annotations

import copy
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from _claim import Row, finish, interleave, ratio, scratch, spread

from countermark.scene.document import dump, load
from countermark.scene.limits import DEFAULT
from countermark.scene.operation import Env, apply, create
from countermark.scene.store import Store

ELEMENTS: Final = 10_000
OPERATIONS: Final = 500
ROUNDS: Final = 15
BOXES: Final = ELEMENTS // 4
Operation = dict[str, Any]


def drawing() -> bytes:
    """Return a scene of boxes with labels, arrows between them, and freehand strokes: a quarter of each."""
    elements: list[dict[str, Any]] = []
    for number in range(BOXES):
        x, y = number % 50 * 300, number // 50 * 200
        elements.append({"type": "rectangle", "id": f"box{number}", "x": x, "y": y, "width": 180, "height": 90})
        elements[-1]["label"] = f"Service {number}"
        other = (number + 1) % BOXES
        ends = {"startElementId": f"box{number}", "endElementId": f"box{other}"}
        elements.append({"type": "arrow", "id": f"arrow{number}", "x": x, "y": y, **ends})
        points = [[step * 4, step % 5 * 7] for step in range(12)]
        elements.append({"type": "freedraw", "id": f"stroke{number}", "x": x, "y": y + 120, "points": points})
    made = create(elements, Env(chance=random.Random(1), now=1))  # noqa: S311 - the same scene each time
    assert len(made.scene.elements) == ELEMENTS
    return dump(made.scene)


def operations() -> list[Operation]:
    """Return the work: 300 moves, 100 new styles, 50 deletions, 50 labelled boxes."""
    update = "update"
    moved: list[Operation] = [
        {"op": update, "id": f"box{n * 7}", "patch": {"x": n * 31, "y": n * 17 - 40}} for n in range(300)
    ]
    styled: list[Operation] = [
        {"op": update, "id": f"stroke{n * 5}", "patch": {"strokeColor": "#e03131", "opacity": 80}} for n in range(100)
    ]
    gone: list[Operation] = [{"op": "delete", "id": f"stroke{n * 5 + 1}"} for n in range(50)]
    added: list[Operation] = [
        {
            "op": "add",
            "element": {"type": "ellipse", "x": n * 40, "y": -900, "width": 120, "height": 80, "label": f"n{n}"},
        }
        for n in range(50)
    ]
    return [*moved, *styled, *gone, *added]


def plainly(source: Path, target: Path, work: list[Operation]) -> float:
    """Do it the plain way; return the seconds."""
    began = time.perf_counter()
    scene = copy.deepcopy(json.loads(source.read_bytes()))
    by_id = {element["id"]: element for element in scene["elements"]}
    for number, one in enumerate(work):
        if one["op"] == "add":
            scene["elements"].append({"id": f"new{number}", **one["element"]})
        elif one["op"] == "delete":
            by_id[one["id"]]["isDeleted"] = True
        else:
            by_id[one["id"]].update(one["patch"])
            by_id[one["id"]]["version"] += 1
    target.write_text(json.dumps(scene, indent=2, ensure_ascii=False), "utf-8")
    return time.perf_counter() - began


def saving(folder: Path, data: bytes, work: list[Operation]) -> Callable[[], float]:
    """Return what saves the work once and says in how many seconds; the scene is put back each time."""
    store = Store(folder)
    count = 0

    def once() -> float:
        nonlocal count
        count += 1
        name = f"scene{count}"
        (folder / f"{name}.excalidraw").write_bytes(data)
        revision = store.read(name).revision
        began = time.perf_counter()
        store.save(name, lambda scene: apply(scene, work, Env()).scene, expected_revision=revision, actor="agent")
        taken = time.perf_counter() - began
        assert store.read(name).revision == revision + 1
        (folder / f"{name}.excalidraw").unlink()
        return taken

    return once


def row(folder: Path, name: str, data: bytes, work: list[Operation], bar: float) -> Row:
    """Measure both sides of one spelling."""
    where = folder / name
    where.mkdir()
    source, target = folder / f"{name}.json", folder / f"{name}.out"
    source.write_bytes(data)
    ours, peer = interleave(ROUNDS, saving(where, data, work), lambda: plainly(source, target, work))
    middle, other = sorted(ours)[ROUNDS // 2] * 1e3, sorted(peer)[ROUNDS // 2] * 1e3
    return Row(
        claim=f"{OPERATIONS} operations on {ELEMENTS:,} elements, saved durably, {name} file",
        ours=f"{middle:.0f} ms",
        peer=f"parse, deepcopy, apply, dump with the standard library, no sync: {other:.0f} ms",
        ratio=ratio(ours, peer),
        bar=bar,
        bound="at most",
        note=f"{len(data) / 1e6:.1f} MB, {spread(ours, peer)}",
    )


def main() -> None:
    """Measure and print."""
    data, work = drawing(), operations()
    assert len(work) == OPERATIONS
    tabbed = json.dumps(json.loads(data), indent="\t", ensure_ascii=False).encode()
    for spelled in (data, tabbed):
        apply(load(spelled, DEFAULT), work, Env())  # fonts are loaded once
    with scratch() as folder:
        finish([row(folder, "editor's", data, work, 0.5), row(folder, "tabbed", tabbed, work, 1.5)])


if __name__ == "__main__":
    main()
