"""One run of the engine child: started, checked against the plan's identity, asked, and ended.

A reply that is lost or ambiguous is not an error here: it becomes an unknown outcome, and the adapter looks at the
stage. Whatever the child prints beside the protocol stays in its standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import countermark
from countermark.kernel.adapter import Context, Intent
from countermark.kernel.canon import digest
from countermark.kernel.errors import CountermarkError, registered
from countermark.kernel.launch import Child
from countermark.kernel.plan import RuntimeIdentity
from countermark.kernel.proof import Engine
from countermark.kernel.stdio import Ambiguous, Answered, RpcError, Session, ToolError
from countermark.vector import identity, makers
from countermark.vector.engine import NAME, VERSION
from countermark.vector.tasks import SCHEMAS

GRACE_SECONDS: Final = 2.0
MODULE: Final = "countermark.vector.engine"


class Lost(Exception):
    """The reply to a submitted call was lost or could not be understood."""


class Late(Lost):
    """The time was up before the reply came, and nothing of the engine runs any more."""


def runtime() -> RuntimeIdentity:
    """Return who would do the work: the engine's version, the digest of all its makers, and of its declared tools."""
    return runtime_of(makers.all_makers())


class EngineRun:
    """The engine for the length of a block."""

    def __init__(self, context: Context, intent: Intent, seconds: int) -> None:
        """Take the attempt and its context; the run ends after `seconds`, or at the task's own deadline before that."""
        self._context = context
        self._expected = intent.runtime
        if intent.deadline is not None:
            seconds = min(seconds, max((intent.deadline - context.clock.now_ms()) // 1000, 1))
        self._deadline = context.clock.monotonic() + seconds
        self._seconds = seconds
        self._child: Child | None = None
        self._session: Session | None = None
        self.makers: dict[str, Engine] = {}

    def __enter__(self) -> Self:
        """Start the child and compare what it is with what was planned; raise before any effect."""
        package = Path(countermark.__path__[0]).parent
        argv = [sys.executable, "-P", "-m", MODULE, str(self._context.stage)]
        self._child = self._context.launch(argv, cwd=self._context.stage, env={"PYTHONPATH": str(package)})
        self._session = Session(self._child, self._context.clock)
        try:
            self._compare()
        except BaseException:
            self._end()
            raise
        return self

    def _compare(self) -> None:
        session = self._running()
        offered = session.tools(self._deadline)
        declared = {name: tool.declaration for name, tool in offered.tools.items()}
        wanted = {tool["name"]: tool for tool in SCHEMAS}
        self.makers = _makers(self.call("describe", {}))
        if declared != wanted or runtime_of(self.makers) != self._expected:
            raise CountermarkError(
                "capability_schema_mismatch",
                "The engine that answered is not the one this plan was admitted with; nothing was drawn.",
                next_action="Run it again, after a restart if this is a server: it plans on what is installed now.",
                details={"planned": self._expected.wire()},
            )

    def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Ask for one thing and return the structured answer; raise the engine's own error, or `Lost`."""
        reply = self._running().call(tool, arguments, self._deadline)
        match reply:
            case Answered(structured=structured) if structured is not None:
                return dict(structured)
            case ToolError(structured=structured, message=message):
                raise _error(structured, message)
            case RpcError(message=message):
                raise CountermarkError(
                    "child_failed", f"The engine refused {tool}: {message}", next_action="Report this defect."
                )
            case Ambiguous(reason=reason):
                raise Lost(reason)
        raise Lost("it answered without a result")

    def _running(self) -> Session:
        if self._session is None:
            message = "the engine was not started"
            raise AssertionError(message)
        return self._session

    def _end(self) -> bool:
        """Stop the child and let go of it; return whether it is certain that nothing of it runs any more."""
        if self._child is None:
            return True
        stopped = self._child.stop(GRACE_SECONDS)
        self._child.close()
        return stopped.confirmed

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the child; an answer nobody waited for makes what it did unknown, and one that is overdue is `Late`."""
        overdue = self._context.clock.monotonic() >= self._deadline
        gone = False
        try:
            if kind is None and self._running().finish(self._context.clock.monotonic() + GRACE_SECONDS):
                message = "it said more than it was asked"
                raise Lost(message)
        finally:
            gone = self._end()
        if isinstance(error, Lost) and overdue and gone:
            message = f"it took longer than {self._seconds} seconds"
            raise Late(message) from error


def _makers(said: Mapping[str, Any]) -> dict[str, Engine]:
    """Return the makers that a child names; what is no name and digest names nobody."""
    rows = {name: (wire.get("label"), wire.get("digest")) for name, wire in said.items() if isinstance(wire, Mapping)}
    return {name: Engine(str(label), str(digest_)) for name, (label, digest_) in rows.items()}


def runtime_of(found: Mapping[str, Engine]) -> RuntimeIdentity:
    """Return the runtime identity that these makers, as the child names them, amount to."""
    engines = {**found, "engine": identity.sources("engine", "vector/engine.py", "vector/tasks.py")}
    whole = digest({name: engine.digest for name, engine in engines.items()})
    return RuntimeIdentity(NAME, VERSION, whole, mode="stdio-mcp-child", capabilities=digest(SCHEMAS))


def _error(structured: Mapping[str, Any] | None, message: str) -> CountermarkError:
    """Return the error a tool answered with; a code nobody registered becomes `child_failed`."""
    wire = (structured or {}).get("error", {})
    code = wire.get("code") if isinstance(wire, Mapping) else None
    if code not in registered():
        return CountermarkError("child_failed", f"The engine failed: {message}", next_action="See its log.")
    details = wire.get("details")
    return CountermarkError(
        str(code),
        str(wire.get("message", message)),
        next_action=str(wire.get("next", "See its log.")),
        details=details if isinstance(details, Mapping) else {},
    )
