"""An engine that does not keep its word: the real one, with one lie, run as `python liar.py LIE STAGE` in its place.

silent:N   does call N and ends without an answer     dies:N    is killed before the Nth file of the stage is written
digest     announces another digest for the first file     bytes     writes another picture and its right digest
blank      writes no picture at all under a board's name   extra     makes and announces one file more
omit       announces one file less                         escape    announces a file outside of its stage
nonsense   says nothing of what it cannot draw, and answers its last call with something else
other      says it is made of other files
garbage    says nothing usable of what it is made of       shrug     fails with a code nobody knows
drop       leaves the drawing out of the document it makes
"""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image

from countermark.kernel.canon import sha256_hex
from countermark.kernel.files import Root
from countermark.vector import document as native
from countermark.vector.engine import Server, lines, serve
from countermark.vector.tasks import Tasks

Json = dict[str, Any]
Lie = Callable[[Path, Json], None]


def rewritten(stage: Path, row: Json, data: bytes) -> None:
    (stage / row["name"]).unlink(missing_ok=True)
    (stage / row["name"]).write_bytes(data)
    row |= {"sha256": sha256_hex(data), "size": len(data)}


def digest(_: Path, said: Json) -> None:
    said["outputs"][0]["sha256"] = "0" * 64


def other_bytes(stage: Path, said: Json) -> None:
    row = next(row for row in said["outputs"] if row["format"] == "png")
    with Image.open(stage / row["name"]) as seen:
        size = seen.size
    made = io.BytesIO()
    Image.new("RGBA", size, (255, 0, 0, 255)).save(made, "PNG")
    rewritten(stage, row, made.getvalue())


def blank(stage: Path, said: Json) -> None:
    rewritten(stage, next(row for row in said["outputs"] if row["format"] == "png"), b"no picture")


def extra(stage: Path, said: Json) -> None:
    row = {**said["outputs"][0], "name": said["outputs"][0]["name"].rpartition("/")[0] + "/more.svg"}
    rewritten(stage, row, b"<svg/>")
    said["outputs"].append(row)


def escape(_: Path, said: Json) -> None:
    said["outputs"][0]["name"] = "../../../../countermark.toml"


def drop(stage: Path, said: Json) -> None:
    made = native.load((stage / said["document"]["name"]).read_bytes())
    layer = made.tree["layers"][0]
    emptied = {**layer, "kind": {**layer["kind"], "children": []}}
    rewritten(stage, said["document"], native.dump(native.rewrite(made, {layer["id"]: emptied})))


def nonsense(_: Path, said: Json) -> None:
    said.pop("undrawn", None)
    if all("kind" in row for row in said["outputs"]):
        said.clear()
        said["hello"] = 1


LIES: dict[str, tuple[str, Lie]] = {
    "digest": ("outputs", digest),
    "bytes": ("outputs", other_bytes),
    "blank": ("outputs", blank),
    "extra": ("outputs", extra),
    "escape": ("outputs", escape),
    "nonsense": ("outputs", nonsense),
    "other": ("png", lambda _, said: said["png"].update(digest="0" * 64)),
    "garbage": ("png", lambda _, said: said.update(png=3)),
    "drop": ("document", drop),
}


class Dying(Root):
    """A stage whose writer is killed on the way."""

    left = 0

    def create(self, name: str, data: bytes, *, mode: int = 0o644) -> str:
        """Write a file, or be gone."""
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().create(name, data, mode=mode)


class Liar(Server):
    """The engine with one lie."""

    def __init__(self, lie: str, stage: Root, folder: Path, send: Callable[[bytes], None]) -> None:
        """Tell this lie about this stage."""
        super().__init__(Tasks(stage))
        self._send = send
        self._lie, _, number = lie.partition(":")
        self._number = int(number or 0)
        self._folder = folder
        self._calls = 0

    def answer(self, line: bytes) -> Json | None:
        """Answer, or not."""
        found = super().answer(line)
        said = (found or {}).get("result", {}).get("structuredContent")
        if found is None or said is None:
            return found
        self._calls += 1
        if self._lie == "silent" and self._calls == self._number:
            os._exit(0)
        if self._lie == "hang" and self._calls > 1:
            (self._folder / "hanging").touch()
            self._send(b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}\n')
            signal.pause()
        drawn = any("format" in row for row in said.get("outputs", ()))
        if self._lie == "shrug" and drawn:
            found["result"] |= {"isError": True, "structuredContent": {"error": {"code": "mood"}}}
        member, lie = LIES.get(self._lie, ("", lambda *_: None))
        if member in said and (member != "outputs" or drawn or self._lie == "nonsense"):
            lie(self._folder, said)
            found["result"]["content"] = [{"type": "text", "text": ""}]
        return found


def main(lie: str, folder: str) -> None:
    """Serve one session."""
    replies = os.dup(1)
    os.dup2(2, 1)
    with Dying(folder) as stage:
        stage.left = int(lie.partition(":")[2]) if lie.startswith("dies") else 0

        def send(data: bytes) -> None:
            os.write(replies, data)

        serve(Liar(lie, stage, Path(folder), send), lines(0), send)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
