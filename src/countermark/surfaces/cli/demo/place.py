"""Where the demo plays: a folder of its own, made fresh each time, with nothing else in it touched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import countermark
from countermark.kernel import beneath
from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root

LOGO: Final = "logo.svg"
STRIKE: Final = "strike.svg"
DRAWINGS: Final = (LOGO, STRIKE)
SCENES: Final = "drawings"
DOCUMENT: Final = "logo.vectorcraft"
WORKSPACE: Final = "mybrand"
WITNESS: Final = "witness"
LIVENESS: Final = "liveness"
ASIDE: Final = "changed-by-hand"
MADE: Final = (WORKSPACE, SCENES, WITNESS, LIVENESS, ASIDE, *DRAWINGS)

_MARKER: Final = ".countermark-demo"
_SAYS: Final = b"`countermark demo` made this folder, and makes what is in it anew each time.\n"
_LOGO_CAP: Final = 1 << 20


def default(demo: str = "demo") -> Path:
    """Return `build/demo` of the project that this program runs from, or `countermark-demo` in the current folder."""
    project = _project()
    return project / "build" / demo if project is not None else Path(f"countermark-{demo}")


def prepare(folder: Path, drawings: Sequence[str] = DRAWINGS) -> Path:
    """Make the folder ready, with these drawings in it, and return its absolute path.

    Raise `output_exists` for one that holds other things.
    """
    path = folder.absolute()
    for above in reversed((path, *path.parents)):
        if not above.exists():
            with Root(above.parent) as parent:
                parent.make_dir(above.name)
    if not path.is_dir():
        raise _taken(folder, "is no folder")
    with Root(path) as root:
        held = {entry.name for entry in root.listing()}
        if _MARKER not in held:
            if held:
                raise _taken(folder, "holds other things")
            root.create(_MARKER, _SAYS)
        for name in MADE:
            root.remove_tree(name)
        for name in drawings:
            root.create(name, drawing(name))
        for name in (WITNESS, LIVENESS, ASIDE):
            root.make_dir(name)
    return path


def drawing(name: str) -> bytes:
    """Return one of Countermark's own drawings: from the installed package, or from the project it runs from.

    The file stands once, in `assets/`; the wheel carries it beside this module.
    """
    project = _project()
    found = [Path(__file__).with_name(name), *([project / "assets" / name] if project is not None else [])]
    for path in found:
        if path.is_file():
            return beneath.open_argument(str(path), _LOGO_CAP)
    raise CountermarkError(
        "part_unavailable",
        f"This installation has lost {name}, which the demo works on.",
        next_action="Install the package again.",
        details={"part": name},
    )


def _project() -> Path | None:
    """Return the project whose `src` this package stands in, None where it is installed."""
    project = Path(countermark.__path__[0]).parents[1]
    return project if (project / "src" / "countermark").is_dir() and (project / "assets" / LOGO).is_file() else None


def _taken(folder: Path, why: str) -> CountermarkError:
    return CountermarkError(
        "output_exists",
        f"{folder} {why}; the demo works in a folder of its own, and touches nothing else.",
        next_action="Name a folder that is empty or not there yet: `countermark demo --into DIR`.",
        details={"path": str(folder)},
    )
