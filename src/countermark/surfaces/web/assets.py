"""The files of the page: the editor's wheel where it is installed, over the fonts that come with this package.

Only whitelisted kinds are served, each under its own type and content policy; a name can lead nowhere outside its
folder, and links are not followed (seed 3 §5).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from importlib import util
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from countermark.kernel.beneath import Beneath
from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.scene.codes import refuse
from countermark.surfaces.web import policy

EDITOR: Final = "countermark_editor"
SETTING: Final = "COUNTERMARK_EDITOR"
"""The environment variable that names a folder with `dist/` and `fonts/`, in the place of the installed wheel's."""
INDEX: Final = "index.html"
KINDS: Final = {
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
    ".wasm": "application/wasm",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".ico": "image/x-icon",
    ".txt": "text/plain; charset=utf-8",
}
_WORKER: Final = "worker"
_FONTS: Final = "fonts/"
_CAP: Final = 64 << 20
_HASHED: Final = re.compile(r"[-.][A-Za-z0-9_-]{8,}\.[a-z0-9]+$")


class Asset(NamedTuple):
    """One file as it is sent: bytes, media type, entity tag, content policy, and whether its name fixes its content."""

    data: bytes
    kind: str
    etag: str
    policy: str
    immutable: bool


class Assets:
    """Folders laid over each other: the first that has a file gives it."""

    def __init__(self, folders: Sequence[tuple[str, Path]]) -> None:
        """Serve these folders, each under a prefix such as `fonts/` or none."""
        self._folders = [(prefix, Beneath(path)) for prefix, path in folders if path.is_dir()]
        self._tags: dict[str, tuple[tuple[int, ...], str]] = {}

    def close(self) -> None:
        """Let go of the folders."""
        for _, folder in self._folders:
            folder.close()

    def index(self) -> bytes | None:
        """Return the editor's page as it was built, or None where it was not."""
        for prefix, folder in self._folders:
            if not prefix:
                with suppress(CountermarkError):
                    return folder.read(INDEX, cap=_CAP)
        return None

    def get(self, name: str) -> Asset:
        """Return a file by its address below the asset path; raise `not_found`, also for what is not served."""
        kind = KINDS.get(PurePosixPath(name).suffix)
        if kind is not None:
            for prefix, folder in self._folders:
                if name.startswith(prefix):
                    with suppress(CountermarkError):
                        return self._asset(folder, name.removeprefix(prefix), name, kind)
        raise refuse("not_found", "There is no such file.", next_action="Build the page again: `make editor`.")

    def _asset(self, folder: Beneath, inner: str, name: str, kind: str) -> Asset:
        data = folder.read(inner, cap=_CAP)
        return Asset(
            data,
            kind,
            f'"{self._tag(folder, inner, data)}"',
            policy.WORKER if name.partition("/")[0] == _WORKER and kind.startswith("text/javascript") else policy.DATA,
            _HASHED.search(name) is not None and not name.startswith(_FONTS),
        )

    def _tag(self, folder: Beneath, inner: str, data: bytes) -> str:
        seen = folder.stat(inner)
        mark = (seen.st_ino, seen.st_size, seen.st_mtime_ns)
        key = os.path.join(folder.path, inner)  # noqa: PTH118 - a key, not a path that is opened
        known = self._tags.get(key)
        if known is None or known[0] != mark:
            known = self._tags[key] = (mark, sha256_hex(data))
        return known[1]


def overlay() -> list[tuple[str, Path]]:
    """Return the folders to serve, the strongest first: the built page, its fonts, and this package's own fonts."""
    from countermark.typeset.fonts import FOLDER  # noqa: PLC0415 - reads the manifest of the fonts

    editor = editor_folder()
    built = [("", editor / "dist"), (_FONTS, editor / "fonts")] if editor is not None else []
    return [*built, (_FONTS, FOLDER)]


def editor_folder() -> Path | None:
    """Return the folder of the built page: the one the setting names, else the installed wheel's; None without one."""
    named = os.environ.get(SETTING)
    if named:
        return Path(named)
    try:
        found = util.find_spec(EDITOR)
    except (ImportError, ValueError):
        return None
    places = list(found.submodule_search_locations or ()) if found is not None else []
    return Path(places[0]) if places else None
