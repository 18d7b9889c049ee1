"""A witness that counts effects from outside: a process of its own, with a file of its own.

    python -m countermark.testkit.witness --file effects.jsonl --socket w.sock

Whoever has an effect tells the witness through the socket and waits for its word; the witness appends one line and
syncs it before it answers. Nothing in the kernel or in a domain imports this module or knows the file, so no mistake
there can correct the count. The witness ends when its standard input ends, that is, with whoever started it.
"""

from __future__ import annotations

import argparse
import json
import os
import selectors
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_ACKNOWLEDGED: Final = b"ok\n"
_CHUNK: Final = 65536


class WitnessClient:
    """Tells a witness what happened."""

    def __init__(self, path: Path | str) -> None:
        """Take the witness's socket; it is opened for each word, so a fork or a kill leaves nothing half said."""
        self._path = str(path)

    def saw(self, name: str) -> None:
        """Report one effect and return when it is on the disk; raise OSError when nobody acknowledges it."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as talk:
            talk.connect(self._path)
            talk.sendall(json.dumps(name).encode() + b"\n")
            if talk.recv(len(_ACKNOWLEDGED), socket.MSG_WAITALL) != _ACKNOWLEDGED:
                message = f"the witness did not acknowledge {name!r}"
                raise OSError(message)


def effects(file: Path) -> list[str]:
    """Return the names of all effects on file, in order; a line that was cut short does not count."""
    if not file.exists():
        return []
    *whole, _ = file.read_bytes().split(b"\n")
    return [json.loads(line) for line in whole]


def count(file: Path, name: str | None = None) -> int:
    """Return how many effects are on file, of one name or altogether."""
    seen = effects(file)
    return len(seen) if name is None else seen.count(name)


class Witness:
    """A witness process for the length of a block; `folder` should be short, since a socket's path is bounded."""

    def __init__(self, folder: Path) -> None:
        """Take the folder for the file and the socket."""
        self.file = folder / "effects.jsonl"
        self.socket = folder / "witness.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def saw(self, name: str) -> None:
        """Report one effect."""
        WitnessClient(self.socket).saw(name)

    def effects(self) -> list[str]:
        """Return the names of all effects, in order."""
        return effects(self.file)

    def count(self, name: str | None = None) -> int:
        """Return how many effects there were."""
        return count(self.file, name)

    def __enter__(self) -> Self:
        """Start the witness and return when it listens."""
        argv = [sys.executable, "-m", __spec__.name, "--file", str(self.file), "--socket", str(self.socket)]
        source = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
        )
        assert self._process.stdout is not None  # noqa: S101 - asked for
        if self._process.stdout.readline() != b"listening\n":
            message = "the witness did not start"
            raise OSError(message)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the witness; its file stays."""
        assert self._process is not None  # noqa: S101 - started on entry
        with self._process as process:
            process.kill()


def serve(file: Path, path: Path) -> None:
    """Witness until standard input ends."""
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener, selectors.PollSelector() as ready:
        listener.bind(str(path))
        listener.listen()
        ready.register(sys.stdin.buffer, selectors.EVENT_READ)
        ready.register(listener, selectors.EVENT_READ)
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        heard: dict[socket.socket, bytes] = {}
        while True:
            for key, _ in ready.select():
                if key.fileobj is sys.stdin.buffer:
                    if not os.read(sys.stdin.fileno(), _CHUNK):
                        return
                elif key.fileobj is listener:
                    talk, _ = listener.accept()
                    heard[talk] = b""
                    ready.register(talk, selectors.EVENT_READ)
                elif isinstance(key.fileobj, socket.socket) and not _listen(key.fileobj, heard, descriptor):
                    ready.unregister(key.fileobj)
                    key.fileobj.close()
                    del heard[key.fileobj]


def _listen(talk: socket.socket, heard: dict[socket.socket, bytes], descriptor: int) -> bool:
    """Write down every whole line; a teller that died in the middle of a word, or before its answer, is no error."""
    try:
        chunk = talk.recv(_CHUNK)
        heard[talk] += chunk
        while b"\n" in heard[talk]:
            line, heard[talk] = heard[talk].split(b"\n", 1)
            json.loads(line)
            os.write(descriptor, line + b"\n")
            os.fsync(descriptor)
            talk.sendall(_ACKNOWLEDGED)
    except (OSError, ValueError):
        return False
    return bool(chunk)


def main() -> None:
    """Run a witness from the command line."""
    parser = argparse.ArgumentParser(description="Count effects from outside.")
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--socket", type=Path, required=True)
    given = parser.parse_args()
    serve(given.file, given.socket)


if __name__ == "__main__":
    main()
