"""Countermark: perform(plan, grant=…, revision=…, key=…) → receipt.

`Workspace`, `Plan`, `InputRef` and `CountermarkError` are the public face; each is imported when it is first asked for,
so that a program that only shows its help stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from countermark.kernel.errors import CountermarkError
    from countermark.kernel.plan import InputRef, Plan
    from countermark.kernel.workspace import Workspace

__all__ = ["CountermarkError", "InputRef", "Plan", "Workspace"]

_HOMES = {
    "CountermarkError": "countermark.kernel.errors",
    "InputRef": "countermark.kernel.plan",
    "Plan": "countermark.kernel.plan",
    "Workspace": "countermark.kernel.workspace",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(_HOMES[name]), name)
