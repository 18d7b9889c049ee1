"""Where the built page is: in the folder that a setting names, else in the editor's installed wheel."""

from __future__ import annotations

import os
from importlib import util
from pathlib import Path
from typing import Final

from countermark.typeset.fonts import FOLDER

EDITOR: Final = "countermark_editor"
SETTING: Final = "COUNTERMARK_EDITOR"
"""The environment variable that names a folder with `dist/` and `fonts/`, in the place of the installed wheel's."""

INDEX: Final = "index.html"
FONTS: Final = "fonts/"


def overlay() -> list[tuple[str, Path]]:
    """Return the folders to serve, the strongest first: the built page, its fonts, and this package's own fonts."""
    editor = editor_folder()
    built = [("", editor / "dist"), (FONTS, editor / "fonts")] if editor is not None else []
    return [*built, (FONTS, FOLDER)]


def editor_folder() -> Path | None:
    """Return the folder of the built page; None where there is none."""
    named = os.environ.get(SETTING)
    places = [named] if named else _packaged()
    return next((folder for folder in map(Path, places) if (folder / "dist" / INDEX).is_file()), None)


def _packaged() -> list[str]:
    try:
        found = util.find_spec(EDITOR)
    except (ImportError, ValueError):
        return []
    return list(found.submodule_search_locations or ()) if found is not None else []
