"""What the browser reports of the editor's life, kept for `/health` (seed 3 §8).

It is the page's own word on itself: shown and asserted on in tests, trusted for nothing.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

from countermark.scene.codes import refuse

EVENTS: Final = ("mounted", "canvas-ready", "saved", "unmounted", "error")
_MOST_EVENTS: Final = 100
_MOST_TEXT: Final = 500
_TEXTS: Final = ("build", "theme", "name", "sha256", "message")
_NUMBERS: Final = ("width", "height", "elementCount", "revision")


class Evidence:
    """The accumulated reports of one server's pages; safe for many threads."""

    def __init__(self, now: Callable[[], str]) -> None:
        """Begin with nothing reported; `now` gives the time as text."""
        self._now = now
        self._lock = threading.Lock()
        self._events: deque[dict[str, Any]] = deque(maxlen=_MOST_EVENTS)
        self._state: dict[str, Any] = {
            "mounted": False,
            "elementCount": None,
            "width": None,
            "height": None,
            "build": None,
            "theme": None,
            "error": None,
            "saved": None,
        }

    def report(self, said: Mapping[str, Any]) -> None:
        """Take one report; raise `invalid_operation` for one that is none."""
        event = said.get("event")
        if event not in EVENTS:
            raise refuse(
                "invalid_operation",
                f"An editor status is one of {', '.join(EVENTS)}.",
                next_action="Report one of these as `event`.",
                details={"pointer": "/event"},
            )
        facts = {name: _text(said[name]) for name in _TEXTS if isinstance(said.get(name), str)}
        facts |= {name: said[name] for name in _NUMBERS if _is_number(said.get(name))}
        with self._lock:
            self._events.append({"event": event, "at": self._now(), **facts})
            self._fold(str(event), facts)

    def _fold(self, event: str, facts: Mapping[str, Any]) -> None:
        state = self._state
        if event == "mounted":
            state |= {"mounted": True, "error": None}
        elif event == "unmounted":
            state["mounted"] = False
        elif event == "error":
            state["error"] = facts.get("message", "the page gave no reason")
        elif event == "saved":
            state["saved"] = {name: facts.get(name) for name in ("name", "revision", "sha256", "elementCount")}
        state |= {name: facts[name] for name in ("build", "theme", "width", "height", "elementCount") if name in facts}

    def wire(self) -> dict[str, Any]:
        """Return the accumulated state with its events, oldest first."""
        with self._lock:
            return {**self._state, "events": [dict(event) for event in self._events]}


def _text(value: str) -> str:
    return value[:_MOST_TEXT]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
