"""The real server as a child process, and an agent that is another process: as a person and their agent have them."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Final

from tests.conftest import ROOT

PROGRAM: Final = (sys.executable, "-c", "from countermark.surfaces.cli import main; main()")
PATIENCE: Final = 60


def environment() -> dict[str, str]:
    """Return the environment of the children: the page's package is found where it was built, installed or not."""
    found = importlib.util.find_spec("countermark_editor")
    extra = [] if found else [str(ROOT / "editor")]
    paths = [str(ROOT / "src"), *extra, os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}


class Served:
    """A folder of scenes behind `countermark serve`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self.address = ""
        self.begin = ""
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, on the port that it had before."""
        self.process = subprocess.Popen(
            [*PROGRAM, "serve", str(self.folder), "--port", str(self.port), "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(),
        )
        assert self.process.stdout is not None
        hurry = threading.Timer(PATIENCE, self.process.kill)
        hurry.start()
        line = self.process.stdout.readline()
        hurry.cancel()
        said = json.loads(line)["data"]
        assert said["editor"] is True
        self.address, self.begin = said["address"], said["start"]
        self.port = int(self.address.rsplit(":", 1)[1])

    def kill(self) -> None:
        """Kill it without a word."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ask it to stop, as Ctrl-C does."""
        self._end(signal.SIGINT)

    def _end(self, how: signal.Signals) -> None:
        if self.process is None:
            return
        self.process.send_signal(how)
        self.process.communicate(timeout=PATIENCE)
        self.process = None

    def put(self, name: str, document: dict[str, Any] | bytes) -> None:
        """Lay a file into the folder, as a person or git does."""
        data = document if isinstance(document, bytes) else json.dumps(document, indent=2).encode()
        (self.folder / f"{name}.excalidraw").write_bytes(data)

    def data(self, name: str) -> bytes:
        return (self.folder / f"{name}.excalidraw").read_bytes()

    def scene(self, name: str) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(self.data(name))
        return made

    def live(self, name: str) -> list[str]:
        return [one["id"] for one in self.scene(name)["elements"] if not one.get("isDeleted")]

    def agent(self, name: str, *operations: dict[str, Any]) -> dict[str, Any]:
        """Apply operations as an agent's program does, in a process of its own."""
        done = subprocess.run(
            [*PROGRAM, "scene", "--workspace", str(self.folder), "--json", "apply", name, "-"],
            input=json.dumps(list(operations)),
            capture_output=True,
            text=True,
            env=environment(),
            timeout=PATIENCE,
            check=False,
        )
        said: dict[str, Any] = json.loads(done.stdout)
        assert said["ok"], said
        return said
