"""Finding a workspace, and opening it with the domains that are installed."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Final

from countermark.kernel import config
from countermark.kernel.adapter import Adapter
from countermark.kernel.errors import CountermarkError
from countermark.kernel.workspace import HOME, Workspace
from countermark.surfaces.cli.journal import journal

DOMAINS: Final = {
    "vector": "countermark.vector.adapter:VectorAdapter",
    "scene": "countermark.scene.adapter:SceneAdapter",
}


def find(named: str | None) -> Path:
    """Return the folder named, else the nearest workspace from the current folder upward.

    Raises `workspace_missing` for a folder that is no workspace, and where there is none on the way up.
    """
    if named is not None:
        folder = Path(named)
        if not folder.is_dir():
            raise _missing(f"{named} is not a folder.")
        if not _is_workspace(folder):
            raise _missing(f"{named} is not a Countermark workspace.")
        return folder.resolve()
    here = Path.cwd()
    for folder in (here, *here.parents):
        if _is_workspace(folder):
            return folder
    raise _missing(f"There is no workspace in {here} or above it.")


def _is_workspace(folder: Path) -> bool:
    return (folder / config.PROJECT_FILE).is_file() and (folder / HOME).is_dir()


def _missing(sentence: str) -> CountermarkError:
    return CountermarkError(
        "workspace_missing",
        sentence,
        next_action="Make one with `countermark init DIR`, or name one with --workspace DIR.",
    )


def installed() -> list[Adapter]:
    """Return an adapter of every domain that is installed here."""
    found: list[Adapter] = []
    for place in DOMAINS.values():
        name, _, attribute = place.partition(":")
        try:
            made = getattr(importlib.import_module(name), attribute)()
        except ModuleNotFoundError as error:
            if _ours(error):
                raise
            continue  # the kernel names the domain when a task of it is asked for
        found.append(made)
    return found


def module(name: str) -> ModuleType:
    """Import the module of a command; raise `part_unavailable` naming what it needs and is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if _ours(error):
            raise
        wanted = error.name or str(error)
        raise CountermarkError(
            "part_unavailable",
            f"This command needs {wanted}, which is not installed.",
            next_action="Run `countermark doctor`: it names the package to install.",
            details={"module": wanted},
        ) from error


def _ours(error: ImportError) -> bool:
    """Whether an import failed within this package: that is a defect, not a part to install."""
    return (error.name or "").partition(".")[0] == "countermark"


@contextmanager
def logged(folder: Path, adapters: Sequence[Adapter]) -> Iterator[Workspace]:
    """Open a workspace, and write what happened in it meanwhile to the log."""
    with Workspace(folder, adapters=adapters) as workspace, journal(workspace):
        yield workspace
