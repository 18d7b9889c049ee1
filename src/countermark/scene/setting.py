"""The `[scene]` table of `countermark.toml`: where the drawings are, and how large they may be (seed 3 §7)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from countermark.kernel import config
from countermark.scene.limits import Limits, clamped

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

TABLE: Final = "scene"
_CAP: Final = 1 << 20


def of(workspace: Workspace) -> tuple[Path, Limits]:
    """Return the folder of the drawings and their limits; unknown keys and wrong kinds are ignored, numbers clamped."""
    table = tomllib.loads(workspace.files.read(config.PROJECT_FILE, cap=_CAP).decode("utf-8")).get(TABLE)
    given: Mapping[str, Any] = table if isinstance(table, dict) else {}
    named = given.get("drawingsDir")
    folder = workspace.path / named if isinstance(named, str) and named else workspace.path
    return folder, clamped(given)
