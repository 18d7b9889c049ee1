"""Who an engine really is: the digest of the files that do its work (design §4, Receipt).

A label is what people read; only the digest counts. A wheel gives the same digest wherever it is installed, because
only names and contents of what came with it enter, never paths, times or what the interpreter compiled beside it.
"""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Iterable
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Final
from xml.parsers import expat

import countermark
from countermark.kernel.canon import digest
from countermark.kernel.errors import CountermarkError
from countermark.kernel.proof import Engine

_BLOCK: Final = 1024 * 1024
_MADE_HERE: Final = (".pyc", ".dist-info/RECORD", ".dist-info/INSTALLER", ".dist-info/REQUESTED")
_ROOT: Final = Path(countermark.__path__[0])


def distribution(name: str) -> Engine:
    """Return the identity of an installed distribution: label `name version`, digest over all its files.

    Raise `part_unavailable` when it is not installed, lists no files, or a listed file is gone.
    """
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError as error:
        message = f"{name} is not installed."
        raise _unavailable(name, message) from error
    listed = _listed(name, str(found.locate_file("")), found.read_text("RECORD"))
    if not listed:
        message = f"The installation of {name} does not say which files belong to it."
        raise _unavailable(name, message)
    return Engine(f"{name} {found.version}", _digest(name, listed))


@lru_cache(maxsize=32)
def _listed(name: str, root: str, record: str | None) -> tuple[tuple[str, Path], ...]:
    """Return the files that came with a distribution; where it stands and its own record are the cache's key.

    A kit asks dozens of times, and taking a record apart cost a quarter of its time.
    """
    del root, record
    found = metadata.distribution(name).files or ()
    own = (file for file in found if not str(file).endswith((*_MADE_HERE, "direct_url.json")))
    return tuple((file.as_posix(), Path(str(file.locate()))) for file in own)


def sources(label: str, *names: str) -> Engine:
    """Return the identity of a part of this package: the digest over source files named relative to the package."""
    return Engine(label, _digest(label, ((name, _ROOT / name) for name in names)))


def modules(folder: str) -> list[str]:
    """Return the source files of a folder of this package, named relative to the package."""
    return sorted(path.relative_to(_ROOT).as_posix() for path in (_ROOT / folder).glob("*.py"))


def together(label: str, *engines: Engine) -> Engine:
    """Return the identity of a maker that is several engines at once."""
    return Engine(label, digest(sorted(engine.digest for engine in engines)))


def interpreter() -> Engine:
    """Return the identity of the standard library's XML reader and hashes: Python's and expat's versions and builds."""
    said = [sys.version, sys.implementation.cache_tag or "", expat.EXPAT_VERSION, platform.machine()]
    return Engine(f"Python {platform.python_version()} ({expat.EXPAT_VERSION})", digest(said))


def _digest(name: str, files: Iterable[tuple[str, Path]]) -> str:
    rows = []
    for entry, path in sorted(files):
        try:
            seen = path.stat()
            rows.append([entry, _content(str(path), seen.st_size, seen.st_mtime_ns)])
        except OSError as error:
            message = f"The file {entry} of {name} cannot be read."
            raise _unavailable(name, message) from error
    return digest(rows)


@lru_cache(maxsize=4096)
def _content(path: str, size: int, mtime_ns: int) -> str:
    """Return a file's SHA-256; size and time are only the cache's key: a changed file is read again."""
    del size, mtime_ns
    found = hashlib.sha256()
    with Path(path).open("rb") as stream:
        while block := stream.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


def _unavailable(part: str, sentence: str) -> CountermarkError:
    return CountermarkError(
        "part_unavailable",
        sentence,
        next_action="Install the extra again: pip install --force-reinstall 'countermark[vector]'.",
        details={"part": part},
    )
