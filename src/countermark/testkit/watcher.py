"""A witness that nobody tells anything: it watches names in a folder and counts what appears there.

    python -m countermark.testkit.watcher --folder mybrand --file seen.jsonl kit logo.vectorcraft

One line for each new thing at a name, in the format of `witness`: a folder is new when another one stands there, a
file also when its time or size changed. It looks a thousand times a second; two publications within one look would
count as one, and a publication syncs its disk several times. It ends when its standard input ends, after a last look.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from countermark.kernel.pipe import await_ready
from countermark.testkit.witness import count

_LOOK_SECONDS: Final = 0.001
_ASK: Final = b"?"
_LOOKED: Final = "looked"
_WATCHING: Final = "watching"
_CHUNK: Final = 4096

Standing = tuple[int, ...] | None


class Watcher:
    """A watcher process for the length of a block; its file stays."""

    def __init__(self, file: Path, folder: Path, names: Sequence[str]) -> None:
        """Take the file it writes, the folder it looks into, and the names there that it looks at."""
        self.file = file
        self._argv = [sys.executable, "-m", __spec__.name, "--folder", str(folder), "--file", str(file), *names]
        self._process: subprocess.Popen[bytes] | None = None
        self._heard = b""

    @property
    def pid(self) -> int:
        """Return the process that watches."""
        return self._running().pid

    def wait(self, seconds: float) -> str | None:
        """Return the name at which something new was seen, or None when the seconds passed first."""
        line = self._line(seconds)
        return None if line is None else str(json.loads(line))

    def count(self, name: str, *, seconds: float = 10) -> int:
        """Return how many new things are on file for a name, after one more look at this moment."""
        process = self._running()
        assert process.stdin is not None  # noqa: S101 - asked for
        process.stdin.write(_ASK)
        process.stdin.flush()
        while (line := self._line(seconds)) != _LOOKED:
            if line is None:
                message = "the watcher did not answer"
                raise OSError(message)
        return count(self.file, name)

    def __enter__(self) -> Self:
        """Start watching; what stands there already does not count."""
        path = os.pathsep.join(
            [str(Path(__file__).resolve().parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        self._process = subprocess.Popen(
            self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
        )
        if self._line(30) != _WATCHING:
            self.__exit__(None, None, None)
            message = "the watcher did not start"
            raise OSError(message)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it, after its last look."""
        with self._running() as process:
            assert process.stdin is not None  # noqa: S101 - asked for
            process.stdin.close()

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None  # noqa: S101 - started on entry
        return self._process

    def _line(self, seconds: float) -> str | None:
        stream = self._running().stdout
        assert stream is not None  # noqa: S101 - asked for
        deadline = time.monotonic() + seconds
        while b"\n" not in self._heard:
            ready = await_ready({stream.fileno(): select.POLLIN}, deadline - time.monotonic())
            chunk = os.read(stream.fileno(), _CHUNK) if ready else b""
            if not chunk:
                return None
            self._heard += chunk
        line, self._heard = self._heard.split(b"\n", 1)
        return line.decode()


def watch(folder: Path, file: Path, names: Sequence[str]) -> None:
    """Watch until standard input ends."""
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    book = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    known = {name: _standing(place, name) for name in names}
    _say(_WATCHING)
    asked: bytes | None = None
    while asked != b"":
        ready = await_ready({sys.stdin.fileno(): select.POLLIN}, _LOOK_SECONDS)
        asked = os.read(sys.stdin.fileno(), _CHUNK) if ready else None
        for name, before in known.items():
            now = _standing(place, name)
            if now != before:
                known[name] = now
                if now is not None:
                    # The word comes first: whoever waits for it may want to act while it is fresh.
                    _say(json.dumps(name))
                    os.write(book, json.dumps(name).encode() + b"\n")
                    os.fsync(book)
        if asked:
            _say(_LOOKED)


def _standing(place: int, name: str) -> Standing:
    """Return what tells this thing from another at its name, None when there is nothing."""
    try:
        found = os.stat(name, dir_fd=place, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        return found.st_dev, found.st_ino
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _say(line: str) -> None:
    with suppress(BrokenPipeError):  # nobody waits for the word any more; the file gets its line all the same
        os.write(1, f"{line}\n".encode())


def main() -> None:
    """Run a watcher from the command line."""
    parser = argparse.ArgumentParser(description="Count what appears at names in a folder.")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("names", nargs="+")
    given = parser.parse_args()
    try:
        watch(given.folder, given.file, given.names)
    except OSError as error:
        sys.exit(f"watcher: {error}")


if __name__ == "__main__":
    main()
