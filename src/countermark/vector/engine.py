"""The engine child: imports and draws in a process of its own, behind MCP 2025-06-18 on standard input and output.

`python -m countermark.vector.engine [STAGE]` serves one session and ends with its input. Files travel by stage name
and digest, never inside a message; every name is resolved beneath the stage folder. Standard output is moved to a
private descriptor before anything heavy is imported, so that no library's chatter can break a line: whatever it prints
goes to standard error.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from countermark.kernel.canon import parse_strict
from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root
from countermark.vector.tasks import SCHEMAS, Refused, Tasks

PROTOCOL: Final = "2025-06-18"
NAME: Final = "countermark-vector-engine"
VERSION: Final = "1"
"""Raised when a tool changes its meaning; what does the work is named by digests (`describe`)."""

LINE_LIMIT: Final = 8 * 1024 * 1024

_BLOCK: Final = 64 * 1024
_PARSE_ERROR, _INVALID_REQUEST, _NO_METHOD, _INVALID_PARAMS = -32700, -32600, -32601, -32602

Json = dict[str, Any]


class Server:
    """Answers one session's messages; pure but for what its tasks do in the stage."""

    def __init__(self, tasks: Tasks) -> None:
        """Serve these tasks; nobody has greeted yet."""
        self._tasks = tasks
        self._greeted = False

    def answer(self, line: bytes) -> Json | None:
        """Return the answer to one line, None where none is due."""
        try:
            message = parse_strict(line, what="A message")
        except CountermarkError as error:
            return _error(None, _PARSE_ERROR, error.sentence)
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return _error(None, _INVALID_REQUEST, "A message has to be one JSON-RPC 2.0 object.")
        if "id" not in message:
            return None  # a notification, or nothing of ours: never answered
        number = message["id"]
        if type(number) not in {int, str} or not isinstance(message.get("method"), str):
            return _error(None, _INVALID_REQUEST, "A request needs a text or whole number as id, and a method.")
        try:
            return {"jsonrpc": "2.0", "id": number, "result": self._result(message["method"], message.get("params"))}
        except Refused as refused:
            return _error(number, refused.code, refused.sentence)

    def _result(self, method: str, params: Any) -> Json:
        match method:
            case "initialize":
                if self._greeted:
                    raise Refused(_INVALID_REQUEST, "This process serves one session.")
                self._greeted = True
                info = {"name": NAME, "version": VERSION}
                return {"protocolVersion": PROTOCOL, "capabilities": {"tools": {}}, "serverInfo": info}
            case "ping":
                return {}
            case "tools/list":
                return {"tools": SCHEMAS}
            case "tools/call":
                return self._call(params)
            case _:
                raise Refused(_NO_METHOD, f"There is no method {method!r}.")

    def _call(self, params: Any) -> Json:
        if not isinstance(params, dict) or not isinstance(params.get("name"), str):
            raise Refused(_INVALID_PARAMS, "A call needs the name of a tool.")
        task = self._tasks.named(params["name"])
        if task is None:
            raise Refused(_INVALID_PARAMS, f"There is no tool {params['name']!r}.")
        try:
            done = task(params.get("arguments", {}))
        except Refused:
            raise
        except CountermarkError as error:
            return _failed(error)
        except Exception as error:  # noqa: BLE001 - a fault of ours must answer too, or the call's outcome is unknown
            traceback.print_exc(file=sys.stderr)
            return _failed(_fault(error))
        return {"content": [{"type": "text", "text": json.dumps(done)}], "structuredContent": done, "isError": False}


def lines(descriptor: int, limit: int = LINE_LIMIT) -> Iterator[bytes]:
    """Yield the lines of a descriptor until its end; a longer line than `limit` ends the session."""
    held = bytearray()
    while block := os.read(descriptor, _BLOCK):
        held += block
        while (end := held.find(b"\n")) >= 0:
            line = bytes(held[:end])
            del held[: end + 1]
            if line.strip():
                yield line
        if len(held) > limit:
            return


def serve(server: Server, incoming: Iterator[bytes], send: Callable[[bytes], None]) -> None:
    """Answer every line until there are no more."""
    for line in incoming:
        answer = server.answer(line)
        if answer is not None:
            send(json.dumps(answer, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n")


def main(arguments: list[str] | None = None) -> int:
    """Serve one session over standard input and output, with the stage folder as argument (default: the current)."""
    replies = os.dup(1)
    os.dup2(2, 1)
    given = sys.argv[1:] if arguments is None else arguments
    try:
        with Root(given[0] if given else ".") as stage:
            serve(Server(Tasks(stage)), lines(0), lambda data: _send(replies, data))
    except CountermarkError as error:
        print(error, file=sys.stderr)  # noqa: T201 - the one reader is whoever started this child
        return error.ending.value
    return 0


def _send(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _error(number: int | str | None, code: int, message: str) -> Json:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}


def _failed(error: CountermarkError) -> Json:
    said: Mapping[str, Any] = error.as_json()
    return {
        "content": [{"type": "text", "text": str(error)}],
        "structuredContent": {"error": dict(said)},
        "isError": True,
    }


def _fault(error: Exception) -> CountermarkError:
    place = traceback.extract_tb(error.__traceback__)[-1]
    mark = hashlib.sha256(f"{type(error).__name__}{place.name}{place.lineno}".encode()).hexdigest()[:8]
    return CountermarkError(
        "child_failed",
        f"The engine has a fault: {type(error).__name__} in {place.name} ({mark}).",
        next_action="Keep the document, report this code, and look at the engine's log.",
        details={"type": type(error).__name__, "where": place.name, "mark": mark},
    )


if __name__ == "__main__":
    sys.exit(main())
