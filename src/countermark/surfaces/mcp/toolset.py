"""Which tools a server offers: a domain's own, and the ones about tasks that all domains share."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from countermark.kernel import cancel, grant, task
from countermark.kernel.adapter import Adapter
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Tx
from countermark.kernel.tool import GRANT, Link, Result, Tool, read_schema
from countermark.kernel.workspace import Workspace

MOST_TOOLS: Final = 12
MOST_BYTES: Final = 16 * 1024
"""Limits of one set (design §5): long lists of tools eat the client's context (research kernel §5.4)."""

_DOMAINS: Final = {
    "vector": ("countermark.vector.tools", "countermark.vector.adapter:VectorAdapter"),
    "scene": ("countermark.scene.tools", "countermark.scene.adapter:SceneAdapter"),
    "scene-view": ("countermark.scene.view", "countermark.scene.adapter:SceneAdapter"),
}
SCENES: Final = frozenset({"scene", "scene-view"})
"""The sets over scenes."""

_WITHOUT_TASKS: Final = SCENES
"""Domains whose calls are over when they answer: their store, not a task, says what became of a lost reply."""
_TASK: Final = {"type": "string", "minLength": 1, "maxLength": 64, "description": "The task a write answered with."}


def load(names: Sequence[str]) -> tuple[list[Tool], list[Adapter]]:
    """Return the tools and adapters of domains by name; raise `not_found` or `part_unavailable`."""
    tools: list[Tool] = [TASK_STATUS, TASK_CANCEL] if with_tasks(names) else []
    adapters: dict[str, Adapter] = {}
    for name in dict.fromkeys(names):
        if name not in _DOMAINS:
            raise CountermarkError(
                "not_found", f"There is no toolset {name!r}.", next_action=f"Choose one of: {', '.join(_DOMAINS)}."
            )
        where, adapter = _DOMAINS[name]
        try:
            tools.extend(importlib.import_module(where).TOOLS)
            module, _, attribute = adapter.partition(":")
            made: Callable[[], Adapter] = getattr(importlib.import_module(module), attribute)
        except ImportError as error:
            raise CountermarkError(
                "part_unavailable",
                f"The {name} domain cannot be loaded here: {error}.",
                next_action=f"Install it: pip install 'countermark[{_extra(name)}]', then see `countermark doctor`.",
            ) from error
        adapters.setdefault(adapter, made())
    return tools, list(adapters.values())


def _extra(name: str) -> str:
    return "scene" if name in SCENES else name


def with_tasks(names: Sequence[str]) -> bool:
    """Whether any of these domains leaves tasks to be looked at."""
    return not _WITHOUT_TASKS.issuperset(names)


def _status(workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    found = workspace.ledger.read(lambda tx: task.load(tx, arguments["task"]))
    if not found.ended:
        workspace.settle(found.id)
        found = workspace.ledger.read(lambda tx: task.load(tx, found.id))
    events = workspace.ledger.events(task=found.id)
    last = events[-1].body if events else {}
    data = {
        "task": found.id,
        "state": found.state.value,
        "code": found.code,
        "executed": found.executed.value,
        "operation": found.plan.operation,
        "resources": list(found.plan.resources),
        "events": [event.kind for event in events],
        "message": last.get("message", ""),
    }
    uri, kind = f"countermark://task/{found.id}/receipt", "application/vnd.dsse.envelope.v1+json"
    links = (Link("receipt.json", uri, kind),) if found.ended else ()
    return Result(f"Task {found.id} is {found.state}; executed: {found.executed}.", data, links)


def _cancel(workspace: Workspace, arguments: Mapping[str, Any]) -> Result:
    acting = str(arguments.get("grant") or workspace.settings.grant)
    workspace.ledger.read(lambda tx: _may_stop(tx, arguments["task"], acting))
    found = cancel.cancel(workspace, arguments["task"], arguments.get("reason", "asked by the client"))
    data = {"task": found.id, "state": found.state.value, "executed": found.executed.value}
    return Result(f"Task {found.id} is {found.state}; executed: {found.executed}.", data)


def _may_stop(tx: Tx, task_id: str, acting: str) -> None:
    """Raise `permission_denied` unless a task runs under the acting grant or one below it."""
    owner = grant.load(tx, task.load(tx, task_id).grant)
    if acting not in (owner.id, *owner.lineage):
        raise CountermarkError(
            "permission_denied",
            f"Task {task_id} does not run under grant {acting} or one made from it.",
            next_action="Stop it under its own grant, or ask the person: `countermark task cancel`.",
            details={"task": task_id, "grant": acting},
        )


TASK_STATUS: Final = Tool(
    "task_status",
    "Look at a task",
    "Show where a task stands, what ended it and whether its effect happened. Use it after a lost reply, never repeat "
    "blindly: the same idempotency key answers the first result.",
    read_schema({"task": _TASK}, "task"),
    _status,
    read_only=True,
)
TASK_CANCEL: Final = Tool(
    "task_cancel",
    "Stop a task",
    "Ask an unfinished task to stop. `cancelled` says that the stop is confirmed and whether the effect happened.",
    read_schema({"task": _TASK, "reason": {"type": "string", "maxLength": 200}, "grant": GRANT}, "task"),
    _cancel,
)
