"""SIGKILL at every named point of a scene's ways: what was acknowledged stands, a retry is done once, nothing is left.

Which points there are is found out by a first process that is not killed. Then two processes race for one revision.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from countermark.kernel import backup
from countermark.kernel.canon import sha256_hex
from countermark.kernel.workspace import Workspace
from countermark.scene.adapter import SceneAdapter
from countermark.scene.governed import Governed
from countermark.scene.store import Store
from countermark.testkit.crash import Victims
from tests.scene import mortal
from tests.scene.shop import drawn, ids

MORTAL: Final = "tests.scene.mortal"
ROUNDS: Final = 200
AFTER: Final = {
    "create": ("new", ["a"], {1}),
    "save": ("plan", ["a", "b", "c"], {3}),
    # A number that may have been told to somebody before the process died is not given again.
    "adopt": ("edited", ["a", "b", "c"], {1, 2, 3}),
    "recover": ("bad", ["a"], {3, 4}),
    "restore": ("plan", ["a"], {3}),
    "rename": ("moved", ["a", "b"], {3}),
}


@pytest.fixture(name="begun", scope="module")
def make_begun(fast_folder: Path) -> Path:
    mortal.begin(str(fast_folder / "begun"))
    return fast_folder / "begun"


@pytest.fixture(name="other", scope="module")
def make_other() -> Iterator[Victims]:
    with Victims() as started:
        yield started


def copied(fast_folder: Path, begun: Path) -> Path:
    folder = Path(tempfile.mkdtemp(dir=fast_folder)) / "space"
    shutil.copytree(begun, folder)
    return folder


@pytest.mark.promise("scene.store.crash")
@pytest.mark.parametrize("what", [*AFTER, "trash"])
def test_a_kill_at_any_point_loses_nothing_and_does_nothing_twice(
    what: str, fast_folder: Path, begun: Path, victims: Victims
) -> None:
    whole = copied(fast_folder, begun)
    record = whole.with_name("points")
    ended = victims.call(f"{MORTAL}:act", str(whole), what, 0, str(record))
    assert ended.code == 0, ended.trouble
    told = ended.said[0]
    assert not told.startswith("!")
    passed = record.read_text().split()
    assert {"files.open.before", "files.fsync.after"} <= set(passed)
    for number in places(what, passed):
        folder = copied(fast_folder, begun)
        ended = victims.call(f"{MORTAL}:act", str(folder), what, number, "")
        place = f"killed at {number} of {len(passed)}, {passed[number - 1]}"
        assert ended.signal == signal.SIGKILL, place
        with Workspace(folder, adapters=[SceneAdapter()]) as space:
            again = mortal.do(space, what)
            check(space, what, again, told, place)
        shutil.rmtree(folder.parent)


def places(what: str, passed: list[str]) -> list[int]:
    """Return the numbers of the points that are tried: every one of a save, of the rest first and last of each name."""
    if what == "save" or os.environ.get("COUNTERMARK_CRASH_EVERY"):
        return list(range(1, len(passed) + 1))
    firsts = {name: number for number, name in reversed(list(enumerate(passed, start=1)))}
    lasts = {name: number for number, name in enumerate(passed, start=1)}
    return sorted({*firsts.values(), *lasts.values()})


def check(space: Workspace, what: str, again: str, told: str, place: str) -> None:
    store = Governed(space, actor="agent").store
    if what == "create":
        assert again in (told, "!already_exists True"), place
    elif what != "recover":
        assert again == told, place
    if what == "trash":
        assert not (space.path / "bin.excalidraw").exists(), place
        assert [entry["name"] for entry in store.trashed()] == ["bin"], place
    else:
        name, elements, revisions = AFTER[what]
        read = store.read(name)
        assert ids(read.data) == elements, place
        assert read.revision in revisions, place
        assert read.sha256 == sha256_hex((space.path / f"{name}.excalidraw").read_bytes()), place
    if what == "rename":
        assert not (space.path / "old.excalidraw").exists(), place
        assert [one.revision for one in store.history("moved")] == [3, 2, 1], place
    if what != "recover":  # where reading was enough, the next writer takes these away
        assert [str(path) for path in space.path.glob(".dsh-excalidraw/locks/*.lock")] == [], place
        left = [path for path in space.path.rglob(".cm-*") if ".countermark" not in path.parts]
        assert left == [], place
    Governed(space, actor="agent").settle()
    keys = [row[0] for row in space.ledger.read(lambda tx: tx.all("SELECT key FROM tasks"))]
    assert len(keys) == len(set(keys)), place
    assert sum(key.endswith("/request/r") or "/trash/" in key for key in keys) == (what != "recover"), place
    assert backup.check(space) == [], place


@pytest.mark.promise("scene.store.one-winner")
def test_two_processes_on_one_revision_have_one_winner_each_round(
    fast_folder: Path, victims: Victims, other: Victims
) -> None:
    folder = Path(tempfile.mkdtemp(dir=fast_folder))
    with Store(folder) as store:
        store.create("plan", drawn(), actor="agent")
    said: dict[str, list[int]] = {}

    def run(who: str, through: Victims) -> None:
        ended = through.call(f"{MORTAL}:race", str(folder), who, ROUNDS)
        assert ended.code == 0, ended.trouble
        said[who] = [int(number) for number in ended.said[0].split()]

    hands = [threading.Thread(target=run, args=("x", victims)), threading.Thread(target=run, args=("y", other))]
    for hand in hands:
        hand.start()
    for hand in hands:
        hand.join()
    assert sorted(said["x"] + said["y"]) == list(range(1, ROUNDS + 1))
    value = json.loads((folder / "plan.excalidraw").read_text())
    winners = {number: who for who, numbers in said.items() for number in numbers}
    assert [element["id"] for element in value["elements"]] == [f"{winners[n]}{n}" for n in range(1, ROUNDS + 1)]
    with Store(folder) as store:
        assert store.read("plan").revision == ROUNDS + 1
