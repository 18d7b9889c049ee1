"""The files of the page: the editor's wheel where it is installed, over the fonts that come with this package.

Only whitelisted kinds are served, each under its own type and content policy; a name can lead nowhere outside its
folder, and links are not followed (seed 3 §5).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from countermark.kernel.beneath import Beneath
from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.scene.codes import refuse
from countermark.surfaces.web import policy
from countermark.surfaces.web.place import FONTS, INDEX

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
            _HASHED.search(name) is not None and not name.startswith(FONTS),
        )

    def _tag(self, folder: Beneath, inner: str, data: bytes) -> str:
        seen = folder.stat(inner)
        mark = (seen.st_ino, seen.st_size, seen.st_mtime_ns)
        key = os.path.join(folder.path, inner)  # noqa: PTH118 - a key, not a path that is opened
        known = self._tags.get(key)
        if known is None or known[0] != mark:
            known = self._tags[key] = (mark, sha256_hex(data))
        return known[1]
