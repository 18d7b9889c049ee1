"""What the store's tests work with: a folder, a clock that stands still, and small changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from countermark.scene import document
from countermark.scene.codes import SceneError
from countermark.scene.document import Scene
from countermark.scene.evidence import Evidence
from countermark.scene.store import Store

KEPT = ".dsh-excalidraw"


class StoppedClock:
    """A clock that a test sets."""

    def __init__(self, now: int = 1_900_000_000_000) -> None:
        self.now = now
        self.waited = 0.0

    def now_ms(self) -> int:
        return self.now

    def monotonic(self) -> float:
        return self.waited

    def pause(self, seconds: float) -> None:
        self.waited += seconds


def box(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "type": "rectangle", "x": 1, "y": 2, "isDeleted": False, **more}


def drawn(*names: str) -> Scene:
    return document.empty().replaced(elements=[box(name) for name in names])


def adding(*names: str) -> Callable[[Scene], Scene]:
    return lambda scene: scene.replaced(elements=[*scene.elements, *(box(name) for name in names)])


def make(store: Store, name: str = "plan", *names: str, **more: Any) -> Evidence:
    return store.create(name, drawn(*names), actor="agent", **more)


def add(store: Store, expected: int | None, *names: str, name: str = "plan", **more: Any) -> Evidence:
    return store.save(name, adding(*names), expected_revision=expected, **{"actor": "agent", **more})


def ids(data: bytes) -> list[str]:
    return [element["id"] for element in json.loads(data)["elements"]]


def refused(act: Callable[[], object]) -> SceneError:
    with pytest.raises(SceneError) as caught:
        act()
    return caught.value


def sidecar(folder: Path, name: str = "plan") -> dict[str, Any]:
    value: dict[str, Any] = json.loads((folder / KEPT / f"{name}.meta.json").read_text())
    return value


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file but the locks, by its place."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.parent.name != "locks"
    }
