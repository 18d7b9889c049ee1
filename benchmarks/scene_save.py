"""A verified save of a scene, by itself and through the ledger, beside the least that is durable; and the listing.

The peer of a save writes as many bytes and does no more than durability asks: write a temporary file, sync it, rename
it over the scene, sync the folder. Ours reads the scene, moves one element, keeps a backup, syncs its intent, writes,
syncs, renames, syncs the folder, writes the sidecar, and reads back; through the ledger also one durable row.

The peer of the listing of 1,000 scenes parses them all.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from _claim import Row, finish, interleave, per_second, rate, ratio, scratch, spread

from countermark.kernel.workspace import Workspace
from countermark.scene.adapter import SceneAdapter
from countermark.scene.document import Scene, dump
from countermark.scene.env import Env
from countermark.scene.governed import Governed
from countermark.scene.operation import create
from countermark.scene.store import Store

BOXES: Final = 34
SCENES: Final = 1000
ROUNDS: Final = 20
SLICE: Final = 0.4
SYNCS: Final = "4 syncs a save (backups, intent, scene, folder), 1 more through the ledger"


def drawing() -> Scene:
    """Return a scene of 100 elements: boxes with labels, and arrows between them."""
    elements: list[dict[str, Any]] = []
    for number in range(BOXES):
        box = {"type": "rectangle", "id": f"box{number}", "x": number % 6 * 300, "y": number // 6 * 200}
        elements.append({**box, "width": 180, "height": 90, "label": f"Service {number}"})
        if number < BOXES - 2:
            ends = {"startElementId": f"box{number}", "endElementId": f"box{number + 1}"}
            elements.append({"type": "arrow", "id": f"arrow{number}", "x": 0, "y": 0, **ends})
    made = create(elements, Env(chance=random.Random(1), now=1))  # noqa: S311 - the same scene each time
    assert len(made.scene.elements) == 100  # noqa: PLR2004 - the claim's number
    return made.scene


def moving() -> Callable[[Scene], Scene]:
    """Return a change that moves one element to where it was not."""
    steps = itertools.count(1)

    def change(scene: Scene) -> Scene:
        first, *others = scene.elements
        return scene.replaced(elements=[{**first, "x": next(steps), "version": first["version"] + 1}, *others])

    return change


def saver(store: Store | Governed, **more: Any) -> Callable[[], object]:
    """Return one save of the scene `plan` after another."""
    revision, change = itertools.count(1), moving()

    def save() -> object:
        done = store.save("plan", change, expected_revision=next(revision), **more)
        assert done.verified
        return done

    return save


def bare(folder: Path, data: bytes) -> Callable[[], object]:
    """Return the peer: as many bytes, replaced durably."""
    target, passing = folder / "plan.excalidraw", folder / ".plan"

    def save() -> None:
        with passing.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        passing.rename(target)
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    folder.mkdir()
    return save


def saves(folder: Path, scene: Scene) -> list[Row]:
    """Measure the saves."""
    data = dump(scene)
    (folder / "store").mkdir()
    with (
        Store(folder / "store") as store,
        Workspace.create(folder / "space", adapters=[SceneAdapter()]) as workspace,
    ):
        store.create("plan", scene, actor="agent")
        governed = Governed(workspace, actor="agent")
        governed.create("plan", scene)
        alone, through = saver(store, actor="agent"), saver(governed)
        peer = bare(folder / "bare", data)
        for _ in range(30):
            alone(), through(), peer()
        least, ours, ledger = interleave(
            ROUNDS, lambda: rate(peer, SLICE), lambda: rate(alone, SLICE), lambda: rate(through, SLICE)
        )
    least_said = per_second(least, f"bare durable replacements of {len(data) / 1000:.0f} kB")
    return [
        Row(
            "verified save of 100 elements, the store with its intent",
            per_second(ours, "saves"),
            least_said,
            ratio(ours, least),
            0.30,
            note=f"{spread(ours, least)}; {SYNCS}",
        ),
        Row(
            "the same through the kernel",
            per_second(ledger, "saves"),
            least_said,
            ratio(ledger, least),
            0.20,
            note=spread(ledger, least),
        ),
    ]


def listing(folder: Path, scene: Scene) -> Row:
    """Measure the listing of a folder of scenes that were each read once."""
    (folder / "many").mkdir()
    with Store(folder / "many") as store:
        for number in range(SCENES):
            store.create(f"scene-{number}", scene, actor="agent")
        files = sorted((folder / "many").glob("*.excalidraw"))

        def parse() -> float:
            began = time.perf_counter()
            assert all(len(json.loads(file.read_bytes())["elements"]) == 100 for file in files)  # noqa: PLR2004
            return time.perf_counter() - began

        def ours() -> float:
            with Store(folder / "many") as opened:  # a new one: nothing is remembered in the process
                began = time.perf_counter()
                assert len(opened.list()) == SCENES
                return time.perf_counter() - began

        listed, parsed = interleave(7, ours, parse)
    return Row(
        f"listing of {SCENES:,} scenes",
        f"{sorted(listed)[3] * 1000:.0f} ms",
        f"{sorted(parsed)[3] * 1000:.0f} ms to parse them",
        ratio(listed, parsed),
        1 / 15,
        "at most",
        note=spread(listed, parsed),
    )


if __name__ == "__main__":
    with scratch() as place:
        drawn = drawing()
        rows = [*saves(place, drawn), listing(place, drawn)]
        shutil.rmtree(place / "many")
    finish(rows)
