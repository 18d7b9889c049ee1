"""Refuse to pack a wheel without the page that it is for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Written last by editor/build.py, so a page that was half built does not have it.
FINISHED = "countermark_editor/dist/build.json"


class NeedsPage(BuildHookInterface):  # type: ignore[type-arg] # hatchling's own base leaves its parameter open
    """Look for the finished page before anything is packed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Raise FileNotFoundError where the page was not built."""
        del version, build_data
        if not (Path(self.root) / FINISHED).is_file():
            message = f"{FINISHED} is not there: the page was not built. Run `make editor`, or python editor/build.py."
            raise FileNotFoundError(message)
