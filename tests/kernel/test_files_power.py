"""The power goes after every single call; what comes back is old or new, and all that was acknowledged stands."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from countermark.kernel.calls import Calls
from countermark.kernel.canon import sha256_hex
from countermark.kernel.files import TEMP_PREFIX, OsCalls, Root
from countermark.kernel.store import Store
from countermark.testkit.disk import DeafCalls, Loss, LossyCalls, PowerCut

OLD, PAGE, NEW = b"old content" * 20, b"old page" * 30, b"new, and longer, content" * 20
BLOB = f"{sha256_hex(NEW)[:2]}/{sha256_hex(NEW)[2:]}"
QUICK = DeafCalls(OsCalls())  # the model knows what was synced; syncing this machine's disk as well shows nothing more
SEEDS = {loss: range(4 if loss is Loss.MIXED else 1) for loss in Loss}


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file that a new start sees: temporary ones are swept."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(TEMP_PREFIX)
    }


class Act(NamedTuple):
    """One change: what it does, and the files before and after, None where there is none."""

    do: Callable[[Root], object]
    changes: dict[str, tuple[bytes | None, bytes | None]]


def publish(root: Root) -> None:
    """Fill a folder as a child does, unsynced, then publish it in place of another."""
    with root.inside("stage") as stage:
        fd = root.calls.open(stage.fd, "page", os.O_RDWR | os.O_CREAT, 0o644)
        root.calls.write(fd, memoryview(NEW))
        os.close(fd)
    root.sync_tree("stage")
    root.exchange("stage", "site")


def create_deep(root: Root) -> None:
    root.make_dir("a/b")
    root.create("a/b/c", NEW)


def remove_last(root: Root) -> None:
    root.remove_tree("site")


ACTS = {
    "create": Act(lambda root: root.create("fresh", NEW), {"fresh": (None, NEW)}),
    "create-deep": Act(create_deep, {"a/b/c": (None, NEW)}),
    "replace": Act(lambda root: root.replace("there", NEW), {"there": (OLD, NEW)}),
    "replace-absent": Act(lambda root: root.replace("fresh", NEW), {"fresh": (None, NEW)}),
    "move_new": Act(lambda root: root.move_new("there", "site/to"), {"there": (OLD, None), "site/to": (None, OLD)}),
    "exchange": Act(lambda root: root.exchange("there", "site/page"), {"there": (OLD, PAGE), "site/page": (PAGE, OLD)}),
    "publish": Act(publish, {"site/page": (PAGE, NEW)}),
    "remove": Act(lambda root: root.remove("there"), {"there": (OLD, None)}),
    "remove_tree": Act(remove_last, {"site/page": (PAGE, None)}),
    "put": Act(lambda root: Store(root).put(NEW), {BLOB: (None, NEW)}),
}
# The acts whose content or name no sync would miss if it were dropped: the mutants below must be found in them.
CONTENT = ("create", "create-deep", "replace", "replace-absent", "publish", "put")


def prepare(folder: Path) -> None:
    (folder / "site").mkdir(parents=True)
    (folder / "stage").mkdir()
    (folder / "there").write_bytes(OLD)
    (folder / "site" / "page").write_bytes(PAGE)


def run(folder: Path, act: Act, loss: Loss, seed: int, *, cut_after: int | None, mutant: Mutant) -> tuple[bool, int]:
    """Run an act on a disk whose power goes; return whether it was acknowledged, and how many calls were made."""
    prepare(folder)
    disk = LossyCalls(folder, cut_after=cut_after, under=QUICK)
    acknowledged = False
    try:
        with Root(folder, calls=mutant(disk)) as root:
            act.do(root)
        acknowledged = True
    except PowerCut:
        pass
    disk.power_cut(loss, seed=seed)
    return acknowledged, len(disk.made)


Mutant = Callable[[LossyCalls], Calls]


def honest(disk: LossyCalls) -> Calls:
    return disk


def survives(top: Path, act: Act, mutant: Mutant = honest) -> int:
    """Cut the power after each call and after the last word, in every way; assert the promise, count the cuts."""
    _, calls = run(top / "whole", act, Loss.KEPT, 0, cut_after=None, mutant=mutant)
    cuts = 0
    for cut_after in [*range(1, calls + 1), None]:
        for loss in Loss:
            for seed in SEEDS[loss]:
                folder = top / f"{cut_after}-{loss.name}-{seed}"
                acknowledged, _ = run(folder, act, loss, seed, cut_after=cut_after, mutant=mutant)
                found = contents(folder)
                for name, (old, new) in act.changes.items():
                    assert found.pop(name, None) in ([new] if acknowledged else [old, new]), f"{folder.name}: {name}"
                found.pop("stage/page", None)  # ours, not a person's: the next start finds and removes it
                untouched = {"there": OLD, "site/page": PAGE}
                assert found == {name: data for name, data in untouched.items() if name not in act.changes}
                cuts += 1
    return cuts


@pytest.mark.promise("kernel.files.power-loss")
@pytest.mark.parametrize("act", ACTS)
def test_a_power_loss_at_any_call_leaves_old_or_new_and_keeps_what_was_acknowledged(tmp_path: Path, act: str) -> None:
    assert survives(tmp_path, ACTS[act]) >= 24  # two calls at least, and the last word, each in eight ways


@pytest.mark.parametrize("deaf", ["files", "folders"])
@pytest.mark.parametrize("act", CONTENT)
def test_a_missing_sync_is_found(tmp_path: Path, act: str, deaf: str) -> None:
    def mutant(disk: LossyCalls) -> Calls:
        return DeafCalls(disk, files=deaf == "files", folders=deaf == "folders")

    with pytest.raises(AssertionError, match=r"\w+-\w+-\d"):
        survives(tmp_path, ACTS[act], mutant)


def test_a_second_put_of_the_same_bytes_acknowledges_only_what_is_durable(tmp_path: Path) -> None:
    # The first writer was told nothing: it died after the name was there and before the folder was synced.
    _, calls = run(tmp_path / "whole", ACTS["put"], Loss.KEPT, 0, cut_after=None, mutant=honest)
    for died_after in range(1, calls + 1):
        folder = tmp_path / str(died_after)
        prepare(folder)
        disk = LossyCalls(folder, under=QUICK)
        dying = LossyCalls(folder, cut_after=died_after, under=disk)
        with Root(folder, calls=dying) as root, pytest.raises(PowerCut):
            Store(root).put(NEW)
        with Root(folder, calls=disk) as root:
            assert Store(root).put(NEW) == sha256_hex(NEW)
        disk.power_cut(Loss.LOST)
        with Root(folder) as root:
            assert Store(root).get(sha256_hex(NEW), len(NEW)) == NEW


def test_what_was_appended_and_acknowledged_stands_before_whatever_comes_after(tmp_path: Path) -> None:
    lines = [b"first\n", b"second, longer\n", b"third\n"]
    for loss in Loss:
        for cut_after in range(1, 12):
            folder = tmp_path / f"{loss.name}-{cut_after}"
            folder.mkdir()
            disk = LossyCalls(folder, cut_after=cut_after, under=QUICK)
            acknowledged = 0
            try:
                with Root(folder, calls=disk) as root:
                    for line in lines:
                        root.append("log", line)
                        acknowledged += 1
            except PowerCut:
                pass
            disk.power_cut(loss)
            found = (folder / "log").read_bytes() if (folder / "log").exists() else b""
            assert found.startswith(b"".join(lines[:acknowledged]))
            assert b"".join(lines).startswith(found)


def test_a_new_start_sweeps_what_the_power_loss_left(tmp_path: Path) -> None:
    _, calls = run(tmp_path / "whole", ACTS["replace"], Loss.KEPT, 0, cut_after=None, mutant=honest)
    left = 0
    for cut_after in range(1, calls + 1):
        folder = tmp_path / str(cut_after)
        run(folder, ACTS["replace"], Loss.KEPT, 0, cut_after=cut_after, mutant=honest)
        with Root(folder) as root:
            left += len(root.sweep_temp(orphan=lambda name: name.startswith(TEMP_PREFIX)))
            assert root.sweep_temp(orphan=lambda name: name.startswith(TEMP_PREFIX)) == []
        assert {path.name for path in folder.rglob("*")} == {"there", "site", "page", "stage"}
    assert left > 0
