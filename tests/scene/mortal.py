"""What a process does that is killed on the way, or races with another: called by name in a process of its own."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from countermark.kernel import points
from countermark.kernel.errors import CountermarkError
from countermark.kernel.workspace import Workspace
from countermark.scene import document
from countermark.scene.adapter import SceneAdapter
from countermark.scene.governed import Governed
from countermark.scene.store import Store

from .shop import adding, drawn


def begin(folder: str) -> None:
    """Make a workspace with a scene of two revisions, an edit by hand, damaged bytes and a scene to be moved."""
    with Workspace.create(folder, adapters=[SceneAdapter()]) as space:
        way = Governed(space, actor="agent")
        for name in ("plan", "bad", "old"):
            way.create(name, drawn("a"), request_id="made")
            way.save(name, adding("b"), expected_revision=1, request_id="before")
        way.create("bin", drawn("a"))
        (Path(folder) / "edited.excalidraw").write_bytes(document.dump(drawn("a", "b")))
        bad = Path(folder) / "bad.excalidraw"
        bad.write_text("{broken")
        os.utime(bad, (0, 0))  # nobody is writing it any more


def act(folder: str, what: str, kill: int, record: str) -> None:
    """Do one thing and be killed at the n-th point; write the points to a file when one is given."""
    passed: list[str] = []

    def hook(name: str) -> None:
        passed.append(name)
        if len(passed) == kill:
            os.kill(os.getpid(), signal.SIGKILL)

    with Workspace(folder, adapters=[SceneAdapter()]) as space:
        points.install(hook)
        sys.stdout.write(do(space, what) + "\n")
        points.install(None)
    if record:
        Path(record).write_text("\n".join(passed))


def do(space: Workspace, what: str) -> str:
    """Do one thing, as often as it is asked with the same request; return what was answered."""
    way = Governed(space, actor="agent")
    acts = {
        "create": lambda: way.create("new", drawn("a"), request_id="r").sha256,
        "save": lambda: way.save("plan", adding("c"), expected_revision=2, request_id="r").sha256,
        "adopt": lambda: way.save("edited", adding("c"), expected_revision=0, request_id="r").sha256,
        "recover": lambda: str(way.store.read("bad").revision),
        "restore": lambda: way.restore("plan", 1, request_id="r").sha256,
        "rename": lambda: way.rename("old", "moved", request_id="r").sha256,
        "trash": lambda: way.trash("bin", request_id="r").sha256,
    }
    return answer(acts[what])


def answer(act: Callable[[], str]) -> str:
    """Return what an act answers, or its code."""
    try:
        return act()
    except CountermarkError as error:
        return f"!{error.code} {error.details.get('sameRequest', '')}".strip()


def race(folder: str, who: str, rounds: int) -> None:
    """Win as many rounds as can be won: each revision has one winner, who adds an element of its own."""
    with Store(folder, lock_seconds=30.0) as store:
        expected = 1
        won: list[int] = []
        while expected <= rounds:
            try:
                done = store.save("plan", adding(f"{who}{expected}"), expected_revision=expected, actor="agent")
                won.append(expected)
                expected = done.revision
            except CountermarkError as error:
                if error.code != "revision_conflict":
                    raise
                expected = int(error.details["currentRevision"])
    sys.stdout.write(" ".join(map(str, won)) + "\n")
