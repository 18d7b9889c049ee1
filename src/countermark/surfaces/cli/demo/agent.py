"""A scripted MCP client: no model, a fixed list of calls to `countermark mcp`, said as an agent would say them."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

from countermark.kernel.child import Exited, Expired, Identity, ProcessChild, Sent, Stopped
from countermark.kernel.errors import CountermarkError
from countermark.kernel.reply import Ambiguous, Answered, Reply, RpcError, ToolError
from countermark.kernel.stdio import Session
from countermark.surfaces.cli.demo.shell import PROGRAM, Shell

_DIGEST: Final = re.compile(r"\b(sha256:[0-9a-f]{12})[0-9a-f]{52}\b")
# Of a scene's answer, what a person wants to see: all of it is JSON and names many digests.
_TOLD: Final = ("revision", "duplicate")
_GRACE_SECONDS: Final = 5.0
_STEP_SECONDS: Final = 0.1


class Agent:
    """One session with `countermark mcp`, for the length of a block."""

    def __init__(self, shell: Shell, grant: str, toolset: str) -> None:
        """Act under this grant, whatever a call names, with the tools of one domain."""
        self._shell = shell
        self._arguments = ("mcp", "--tools", toolset, "--grant", grant)
        self._child: _Wire | None = None
        self._session: Session | None = None

    @property
    def pid(self) -> int:
        """Return the server's process."""
        return self._wire().identity.pid

    def have(self, tool: str, **arguments: Any) -> Mapping[str, Any]:
        """Call a tool that has to answer; return what it found or did."""
        reply = self.call(tool, **arguments)
        if isinstance(reply, Answered) and reply.structured is not None:
            return reply.structured
        raise CountermarkError("demo_failed", f"{tool} did not answer over MCP.", next_action="See above.")

    def call(self, tool: str, **arguments: Any) -> Reply:
        """Call a tool and show both sides."""
        transcript, session = self._shell.transcript, self._session
        assert session is not None  # noqa: S101 - opened on entry
        first, *more = asked(arguments)
        transcript.client(f"→ {tool} {first}")
        for line in more:
            transcript.client(line)
        reply = session.call(tool, arguments, self._shell.deadline())
        transcript.client(f"← {heard(reply)}")
        return reply

    def call_unheard(self, tool: str, until: Callable[[], bool], **arguments: Any) -> bool:
        """Call a tool, kill the server with SIGKILL once `until` says so, and never read what it answered.

        Return whether that signal is what ended it; the session is over.
        """
        wire = self._wire()
        wire.go_deaf(until)
        reply = self.call(tool, **arguments)
        ended = wire.wait(self._shell.clock.monotonic() + _GRACE_SECONDS)
        return isinstance(reply, Ambiguous) and ended == Exited(None, signal.SIGKILL)

    def __enter__(self) -> Self:
        """Start the server and greet it."""
        self._shell.transcript.command((PROGRAM, *self._arguments))
        self._child = _Wire(self._shell.start(*self._arguments), self._shell.transcript.tick)
        try:
            self._session = Session(self._child, self._shell.clock)
            self._session.tools(self._shell.deadline())
        except BaseException:
            self._child.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the server: its input closes, and it leaves by itself if it still can."""
        child = self._wire()
        child.end_input()
        child.wait(self._shell.clock.monotonic() + _GRACE_SECONDS)
        child.close()

    def _wire(self) -> _Wire:
        assert self._child is not None  # noqa: S101 - started on entry
        return self._child


class _Wire:
    """The server as its client sees it: a line that can be cut after a call went out and before its answer is read."""

    def __init__(self, child: ProcessChild, tick: Callable[[], None]) -> None:
        self._child = child
        self._tick = tick
        self._until: Callable[[], bool] | None = None
        self._deaf = False

    @property
    def identity(self) -> Identity:
        return self._child.identity

    @property
    def output(self) -> bytes:
        return self._child.output

    @property
    def stderr(self) -> bytes:
        return self._child.stderr

    def go_deaf(self, until: Callable[[], bool]) -> None:
        """Hear nothing after the next words, and kill the server as soon as `until` says so."""
        self._until = until

    def go(self) -> None:
        self._child.go()

    def send(self, data: bytes, deadline: float) -> Sent:
        self._deaf = self._until is not None
        return self._child.send(data, deadline)

    def receive(self, deadline: float) -> bytes | Expired:
        if self._deaf:
            return self._cut(deadline)
        while isinstance(heard := self._child.receive(min(deadline, time.monotonic() + _STEP_SECONDS)), Expired):
            if time.monotonic() >= deadline:
                break
            self._tick()
        return heard

    def _cut(self, deadline: float) -> bytes | Expired:
        assert self._until is not None  # noqa: S101 - that is what made it deaf
        while not self._until():
            if time.monotonic() >= deadline:
                return Expired(deadline)
            self._tick()
        with suppress(ProcessLookupError):
            os.kill(self.identity.pid, signal.SIGKILL)
        return b""

    def end_input(self) -> None:
        self._child.end_input()

    def wait(self, deadline: float) -> Exited | Expired:
        return self._child.wait(deadline)

    def stop(self, grace_seconds: float) -> Stopped:
        return self._child.stop(grace_seconds)

    def close(self) -> None:
        self._child.close()


def short(text: str) -> str:
    """Return text with its digests cut to twelve digits."""
    return _DIGEST.sub(r"\1…", text)


def asked(arguments: Mapping[str, Any]) -> list[str]:
    """Return the arguments of a call as JSON; the objects of a list stand on a line each."""
    lists = {name: value for name, value in arguments.items() if isinstance(value, list)}
    line = short(_json({name: value for name, value in arguments.items() if name not in lists}))
    lines = []
    for name, value in lists.items():
        lines += [f'{line.removesuffix("}")}, "{name}":[', *(f"  {_json(one)}," for one in value)]
        lines[-1] = lines[-1].removesuffix(",")
        line = "]}"
    return [*lines, line]


def heard(reply: Reply) -> str:
    """Return what a reply says, in one line."""
    match reply:
        case Answered() if reply.structured is not None and "ok" in reply.structured:
            data = reply.structured
            told = ", ".join(f"{name} {_json(data[name])}" for name in _TOLD if name in data)
            return f"{told}. {data.get('summary', '')}".strip()
        case Answered():
            return short(reply.text.partition("\n")[0])
        case ToolError():
            error = (reply.structured or {}).get("error", {})
            event = error.get("details", {}).get("event")
            said = f"{error.get('code', 'error')}: {error.get('message', reply.message)}"
            return short(said + (f" (event {event})" if event is not None else ""))
        case RpcError():
            return f"error {reply.code}: {reply.message}"
        case Ambiguous():
            return f"nothing: {reply.reason}"


def refusal(reply: Reply) -> tuple[str, int | None]:
    """Return the code and the event number of a reply that says no; an empty code for any other reply."""
    if isinstance(reply, ToolError) and reply.structured is not None:
        error = reply.structured.get("error", {})
        return str(error.get("code", "")), error.get("details", {}).get("event")
    return "", None


def _json(value: Any) -> str:
    # Between JSON's usual spelling and its shortest: an element fits a line, and a line can be broken.
    return json.dumps(value, ensure_ascii=False, separators=(", ", ":"))
