"""The power goes after any call on our own files: a published result and its receipt stand, or it is as before.

The disk underneath forgets what was not synced (`testkit.disk.LossyCalls`). The ledger's own files are SQLite's, whose
syncs `test_system_calls` looks at; here they keep what they hold when the power goes.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from countermark.kernel import backup, publish, verification
from countermark.kernel.adapter import Context, Intent, Outcome, StagedFile
from countermark.kernel.files import TEMP_PREFIX, Root
from countermark.kernel.identity import boot_id
from countermark.kernel.perform import Performed
from countermark.kernel.state import State
from countermark.kernel.workspace import HOME, Workspace
from countermark.testkit.adapter import ScriptedAdapter, World
from countermark.testkit.crash import GRANT, Step, plan
from countermark.testkit.disk import DeafCalls, Loss, LossyCalls, PowerCut

LEDGER_FILES = ("ledger.sqlite", "ledger.sqlite-wal")
STEPS = {
    "file": Step("perform", "new", "test.staged", "file:doc.txt", {"text": "new"}),
    "folder": Step("perform", "new", "test.staged", "file:kit", {"text": "new", "folder": True}),
    "made": Step("perform", "new", "test.staged", "file:deep/er/made.txt", {"text": "new"}, revision="absent"),
}


class OnDisk(ScriptedAdapter):
    """Writes its stage through the disk that may lose power, and syncs nothing: that is the kernel's to do."""

    def __init__(self, world: World, disk: LossyCalls) -> None:
        super().__init__(world)
        self._disk = disk

    def submit(self, intent: Intent, context: Context) -> Outcome:
        """Write every file of the stage."""
        names = ("a.txt", "sub/b.txt") if intent.plan.payload.get("folder") else ("",)
        text, made = str(intent.plan.payload["text"]).encode(), []
        for resource in intent.plan.resources:
            for name in names:
                self._write(
                    context.stage / publish.place(resource) / name if name else context.stage / publish.place(resource),
                    text,
                )
                made.append(StagedFile(resource, name, sha256(text).hexdigest(), len(text), "text/plain"))
        return Outcome(files=tuple(made))

    def _write(self, path: Path, data: bytes) -> None:
        for parent in reversed(path.parents):
            if not parent.exists():
                folder = os.open(parent.parent, os.O_RDONLY)
                self._disk.mkdir(folder, parent.name, 0o755)
                os.close(folder)
        folder = os.open(path.parent, os.O_RDONLY)
        file = self._disk.open(folder, path.name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        self._disk.write(file, memoryview(data))
        os.close(file)
        os.close(folder)


@dataclass
class Cut:
    """One workspace whose power is cut in the middle of a step."""

    space: Path
    world: Path
    step: Step

    def run(self, disk: LossyCalls, under: Root, loss: Loss, seed: int = 0) -> tuple[str, bool]:
        """Perform and close until the power goes; return the receipt that was acknowledged, and whether it went."""
        acknowledged, dark = "", False
        opened = None
        try:
            opened = Workspace(self.space, adapters=[OnDisk(World(self.world), disk)], files=under)
            acknowledged = sha256(self._perform(opened).receipt()).hexdigest()
            opened.close()
        except PowerCut:
            dark = True
        home = self.space / ".countermark"
        ledger = {name: (home / name).read_bytes() for name in LEDGER_FILES if (home / name).exists()}
        if opened is not None and dark:
            with suppress(PowerCut):
                opened._opened.close()  # noqa: SLF001 - only the descriptors: the process is gone
        disk.power_cut(loss, seed=seed)
        for name in (*LEDGER_FILES, "ledger.sqlite-shm"):
            (home / name).unlink(missing_ok=True)
        for name, data in ledger.items():
            (home / name).write_bytes(data)
        with closing(sqlite3.connect(home / LEDGER_FILES[0])) as connection, connection:
            connection.execute("UPDATE tasks SET runner = replace(runner, ?, 'the boot before')", (boot_id(),))
        return acknowledged, dark

    def _perform(self, space: Workspace) -> Performed:
        seen = self.step.revision or publish.observe(space, self.step.resource)
        return space.perform(plan(self.step), grant=GRANT, revision=seen, key=self.step.key)

    def target(self) -> Path:
        """Return where the step publishes."""
        return self.space / publish.place(self.step.resource)

    def texts(self) -> set[str]:
        """Return what stands there."""
        target = self.target()
        if target.is_dir():
            return {path.read_text() for path in target.rglob("*") if path.is_file() and path.name != "receipt.json"}
        return {target.read_text()} if target.exists() else set()

    def recover(self, acknowledged: str) -> None:
        """Open what the disk holds, as the next process does, and check that all that must hold holds."""
        found = self.texts()
        assert found in (set(), {"old"}, {"new"}), f"neither the old nor the new, but {found}"
        left = [path.name for path in self.space.rglob(f"{TEMP_PREFIX}*") if HOME not in path.parts]
        assert not left, f"something of ours lies among the user's files: {left}"
        assert found == {"new"} or not acknowledged, "acknowledged, and not there after the power cut"
        with Workspace(self.space, adapters=[ScriptedAdapter(World(self.world))]) as space:
            assert space.settle_all() == []
            done = self._perform(space)
            assert done.state is State.COMPLETED
            assert not acknowledged or sha256(done.receipt()).hexdigest() == acknowledged
            assert backup.check(space) == []
            trusted = space.keys.trusted()
        assert self.texts() == {"new"}
        runs = self.space / ".countermark/runs" / done.task
        assert verification.verify(runs / "receipt.json", trusted).signer is not None
        if self.target().is_dir():
            assert verification.verify(self.target(), trusted).files == ("a.txt", "sub/b.txt")


@pytest.fixture(name="standing", scope="module")
def make_standing(template: Path, fast_folder: Path) -> Path:
    """Return a workspace with an old document and an old kit."""
    place = fast_folder / "standing"
    shutil.copytree(template, place)
    with Workspace(place / "space", adapters=[ScriptedAdapter(World(place / "world"))]) as space:
        for number, name in enumerate(("file", "folder")):
            step = STEPS[name]
            old = Step("perform", f"old-{number}", step.word, step.resource, {**step.payload, "text": "old"})
            space.perform(plan(old), grant=GRANT, revision="absent", key=old.key)
    return place


def cuts(standing: Path, place: Path, step: Step) -> Iterator[Cut]:
    """Yield fresh copies of the standing workspace."""
    number = 0
    while True:
        number += 1
        copy = place / str(number)
        shutil.copytree(standing, copy)
        yield Cut(copy / "space", copy / "world", step)
        shutil.rmtree(copy)


def calls_made(cut: Cut) -> int:
    disk = LossyCalls(cut.space)
    _, dark = cut.run(disk, Root(cut.space, calls=disk), Loss.KEPT)
    assert not dark
    return len(disk.made)


SHARES = 2
# Of the calls of each step one in so many is the last: the folder's are the most, and pass everything the others do.
EVERY = {"file": 2, "folder": 1, "made": 2}


@pytest.mark.promise("kernel.files.power-loss")
@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("name", STEPS)
def test_the_power_may_go_after_any_call(standing: Path, tmp_path: Path, name: str, share: int) -> None:
    """With all that was not synced lost, and after every third call one of the other losses in turn."""
    fresh = cuts(standing, tmp_path, STEPS[name])
    failures = []
    others = [Loss.HOLLOW, Loss.TORN, Loss.KEPT, Loss.MIXED]
    for number in range(1, calls_made(next(fresh)) + 1, EVERY[name])[share::SHARES]:
        for loss in (Loss.LOST, others[number // 3 % len(others)])[: 1 + (number % 3 == 0)]:
            cut = next(fresh)
            disk = LossyCalls(cut.space, cut_after=number)
            try:
                cut.recover(cut.run(disk, Root(cut.space, calls=disk), loss, seed=number)[0])
            except AssertionError as error:
                failures.append(f"{loss.name} after call {number} ({disk.made[-1]}): {error}")
    assert failures == []


def test_a_disk_that_only_says_that_it_synced_is_found_out(standing: Path, tmp_path: Path) -> None:
    """The proof that the test above can fail."""
    fresh = cuts(standing, tmp_path, STEPS["file"])
    cut = next(fresh)
    disk = LossyCalls(cut.space)
    acknowledged, _ = cut.run(disk, Root(cut.space, calls=DeafCalls(disk)), Loss.LOST)
    with pytest.raises(AssertionError, match="acknowledged, and not there"):
        cut.recover(acknowledged)
