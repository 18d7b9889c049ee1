"""A strict client for MCP 2025-06-18 over a child's standard streams, of the standard library alone.

Before a call is submitted, a fault of the child is an error and nothing has happened. From the first byte of a
submitted call on, the same fault makes the outcome unknown (VC-TX-005), the session answers no further call, and
whatever still arrives is recorded as a stray. Every wait has a deadline, in seconds of the clock's monotonic time.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from countermark.kernel.canon import canonical
from countermark.kernel.capability import Capabilities, Server, Tool, missing, read_page, read_server, snapshot
from countermark.kernel.clock import Clock
from countermark.kernel.errors import CountermarkError, Ending, register
from countermark.kernel.launch import Child, Expired
from countermark.kernel.reply import (
    Ambiguous,
    Answered,
    Nonsense,
    Notification,
    Reply,
    Request,
    Response,
    RpcError,
    ToolError,
    classify,
    read_message,
)

__all__ = [
    "PROTOCOL",
    "Ambiguous",
    "Answered",
    "Capabilities",
    "Reply",
    "RpcError",
    "Server",
    "Session",
    "Stray",
    "Tool",
    "ToolError",
]

PROTOCOL: Final = "2025-06-18"
LINE_LIMIT: Final = 8 * 1024 * 1024
_PAGES: Final = 100
_STRAYS: Final = 100
_METHOD_NOT_FOUND: Final = -32601

register(Ending.FAILED, "session_poisoned")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Stray:
    """Something nobody was waiting for: `late`, `second`, `unknown` (no such request) or `nonsense`.

    `request` is the id it answers; `reply` is what it would have meant. It changes no outcome: a late result becomes
    an orphan at the most.
    """

    kind: str
    request: int | None
    reply: Reply


@dataclass(frozen=True, slots=True)
class _Fault:
    reason: str
    submitted: bool = True


_OVERDUE: Final = _Fault("no answer came before the deadline")


class _Lines:
    """Cuts a child's output into lines."""

    def __init__(self, child: Child, clock: Clock, limit: int) -> None:
        self._child = child
        self._clock = clock
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0

    def buffered(self) -> bytes | None:
        """Return the next whole line that has arrived already."""
        end = self._buffer.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._buffer)
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        return line

    def next(self, deadline: float) -> bytes | _Fault:
        """Return the next line, or why there is none."""
        while (line := self.buffered()) is None:
            if self._clock.monotonic() >= deadline:
                return _OVERDUE
            fault = self.take_in(deadline)
            if fault is not None:
                return fault
        return line if len(line) <= self._limit else self._too_long()

    def take_in(self, deadline: float) -> _Fault | None:
        """Read some output, waiting for it until the deadline."""
        chunk = self._child.receive(deadline)
        if isinstance(chunk, Expired):
            return _OVERDUE
        if not chunk:
            return _Fault("its output ended" + (" in the middle of a line" if self._buffer else ""))
        self._buffer += chunk
        return self._too_long() if b"\n" not in chunk and len(self._buffer) > self._limit else None

    def _too_long(self) -> _Fault:
        return _Fault(f"a line is longer than {self._limit} bytes")


class Session:
    """One conversation with one child; used from one thread. The child itself belongs to the caller."""

    def __init__(self, child: Child, clock: Clock, *, line_limit: int = LINE_LIMIT) -> None:
        """Take a child that was let go; nothing is said to it yet."""
        self._child = child
        self._clock = clock
        self._lines = _Lines(child, clock, line_limit)
        self._last_id = 0
        self._waiting: int | None = None
        self._server: Server | None = None
        self._capabilities: Capabilities | None = None
        self._changed = False
        self._poison: str | None = None
        self._strays: list[Stray] = []

    @property
    def strays(self) -> tuple[Stray, ...]:
        """Return what arrived without being waited for, the first hundred of it."""
        return tuple(self._strays)

    @property
    def poisoned(self) -> str | None:
        """Return why this session answers no further call, or None while it does."""
        return self._poison

    def initialize(self, deadline: float) -> Server:
        """Shake hands once; raise `capability_missing` or `child_failed`."""
        if self._server is None:
            asked = {
                "protocolVersion": PROTOCOL,
                "capabilities": {},
                "clientInfo": {"name": "countermark", "version": "1"},
            }
            self._server = read_server(self._ask("initialize", asked, deadline), PROTOCOL)
            told = self._say({"jsonrpc": "2.0", "method": "notifications/initialized"}, deadline)
            if told is not None:
                raise self._failed(told)
        return self._server

    def tools(self, deadline: float) -> Capabilities:
        """List the tools, all pages, and keep the snapshot; raise `capability_missing` or `child_failed`."""
        server = self.initialize(deadline)
        self._changed = False
        found: list[Tool] = []
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(_PAGES):
            page, cursor = read_page(self._ask("tools/list", {} if cursor is None else {"cursor": cursor}, deadline))
            found += page
            if cursor is None:
                self._capabilities = snapshot(PROTOCOL, server, found)
                return self._capabilities
            if cursor in seen:
                break
            seen.add(cursor)
        raise missing("its list of tools has no end")

    def call(self, tool: str, arguments: Mapping[str, Any], deadline: float) -> Reply:
        """Submit one call and say what its reply means.

        Raises, with nothing submitted: `session_poisoned`, `capability_missing`, `capability_schema_mismatch` (the
        tools changed since they were listed), `input_invalid`, `deadline_exceeded`, `child_failed`.
        """
        self._refuse_poisoned()
        offered = self._capabilities or self.tools(deadline)
        if tool not in offered.tools:
            message = f"it has no tool {tool!r}"
            raise missing(message)
        request = self._request("tools/call", {"name": tool, "arguments": dict(arguments)})
        self._settle(deadline)
        if self._changed:
            raise CountermarkError(
                "capability_schema_mismatch",
                "The child changed its tools after they were listed.",
                next_action="List the tools again and plan anew.",
            )
        answer = self._answer(request, deadline)
        if isinstance(answer, _Fault) and not answer.submitted:
            raise CountermarkError(
                "deadline_exceeded",
                f"The deadline passed before {tool} was called; nothing was submitted.",
                next_action="Run it again with more time.",
            )
        reply = Ambiguous(answer.reason) if isinstance(answer, _Fault) else classify(answer)
        if isinstance(reply, Ambiguous):
            self._poison = reply.reason
        return reply

    def finish(self, deadline: float) -> tuple[Stray, ...]:
        """Close the child's input, read its output to the end, and return every stray of the session.

        The end of output may never come (a descendant can hold it open), so the deadline is the other end.
        """
        self._poison = self._poison or "the session was finished"
        self._child.end_input()
        while not isinstance(line := self._lines.next(deadline), _Fault):
            late = self._attend(line, deadline)
            if isinstance(late, Response):
                self._waiting = None
                self._record("late", late)
        return self.strays

    def _refuse_poisoned(self) -> None:
        if self._poison is not None:
            raise CountermarkError(
                "session_poisoned",
                f"This session answers no further call: {self._poison}.",
                next_action="Look at the artefact, then start a new session.",
            )

    def _ask(self, method: str, params: Mapping[str, Any], deadline: float) -> Any:
        """Ask something without an effect; every fault is an error."""
        self._refuse_poisoned()
        answer = self._answer(self._request(method, params), deadline)
        if isinstance(answer, _Fault):
            raise self._failed(answer)
        if answer.error is not None:
            message = f"it answers {method} with error {answer.error.code}"
            raise missing(message)
        return answer.result

    def _failed(self, fault: _Fault) -> CountermarkError:
        self._poison = fault.reason
        return CountermarkError(
            "child_failed",
            f"The child gave no usable answer: {fault.reason}.",
            next_action="Start it again; nothing was submitted.",
            details={"executed": "no"},
        )

    def _request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        request = {"jsonrpc": "2.0", "id": self._last_id + 1, "method": method, "params": params}
        canonical(request)  # raises before anything is numbered or sent
        self._last_id += 1
        return request

    def _say(self, message: Mapping[str, Any], deadline: float) -> _Fault | None:
        sent = self._child.send(canonical(message) + b"\n", deadline)
        if sent.fault == "broken":
            return _Fault("its input is closed")
        if sent.fault is not None:
            return _Fault("it did not take our words before the deadline", submitted=sent.accepted > 0)
        return None

    def _answer(self, request: Mapping[str, Any], deadline: float) -> Response | _Fault:
        """Send a request and wait for the one answer to it; whatever arrived along with it must be sound too."""
        if self._clock.monotonic() >= deadline:
            return _Fault("the deadline passed", submitted=False)
        self._waiting = request["id"]
        found: Response | _Fault | None = self._say(request, deadline)
        while found is None:
            line = self._lines.next(deadline)
            found = line if isinstance(line, _Fault) else self._attend(line, deadline)
        if isinstance(found, _Fault):
            return found
        self._waiting = None
        return self._attend_buffered(deadline) or found

    def _settle(self, deadline: float) -> None:
        """Take in what has arrived before a call, so that it is not mistaken for the call's answer."""
        fault = self._lines.take_in(self._clock.monotonic())
        fault = self._attend_buffered(deadline) or (None if fault is _OVERDUE else fault)
        if fault is not None:
            raise self._failed(fault)

    def _attend_buffered(self, deadline: float) -> _Fault | None:
        while (line := self._lines.buffered()) is not None:
            fault = self._attend(line, deadline)
            if isinstance(fault, _Fault):
                return fault
        return None

    def _attend(self, line: bytes, deadline: float) -> Response | _Fault | None:
        """Attend to one line: the answer waited for, a fault, or None for what only had to be served or noted."""
        message = read_message(line)
        if isinstance(message, Notification):
            self._changed = self._changed or message.method == "notifications/tools/list_changed"
            _log.debug("the child sent %.80s", message.method)
            return None
        if isinstance(message, Request):
            return self._serve(message, deadline)
        if isinstance(message, Nonsense):
            self._record("nonsense", message)
            return _Fault(message.reason)
        if self._waiting is not None and message.id == self._waiting:
            return message
        earlier = isinstance(message.id, int) and 0 < message.id <= self._last_id
        self._record("second" if earlier else "unknown", message)
        return _Fault("it answered twice" if earlier else "it answered something that was never asked")

    def _serve(self, request: Request, deadline: float) -> _Fault | None:
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": request.id}
        if request.method == "ping":
            answer["result"] = {}
        else:
            answer["error"] = {"code": _METHOD_NOT_FOUND, "message": "This client offers nothing to call."}
        return self._say(answer, deadline)

    def _record(self, kind: str, message: Response | Nonsense) -> None:
        if len(self._strays) >= _STRAYS:
            return
        if isinstance(message, Nonsense):
            self._strays.append(Stray(kind, None, Ambiguous(message.reason)))
            return
        request = message.id if isinstance(message.id, int) else None
        self._strays.append(Stray(kind, request, classify(message)))
