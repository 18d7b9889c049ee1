"""One thing that looks wrong in a scene."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found: a sentence, the elements it is about, and operations that would mend it, perhaps none."""

    rule: str
    message: str
    elements: tuple[str, ...]
    operations: tuple[dict[str, Any], ...] = ()

    def wire(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "rule": self.rule,
            "message": self.message,
            "elements": list(self.elements),
            "operations": list(self.operations),
        }


def update(name: str, **patch: Any) -> dict[str, Any]:
    """Return an operation that changes an element."""
    return {"op": "update", "id": name, "patch": patch}
