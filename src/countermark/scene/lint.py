"""What is wrong with how a scene looks, and the operations that would mend it.

Nothing is changed here: what is suggested goes through `operation.apply` like everybody's operations. A finding is
what a person would call a slip; what may well be meant (shapes in one group, see-through shapes over each other, boxes
around others) is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from countermark.scene import lint_arrow, lint_place
from countermark.scene.document import Scene
from countermark.scene.drawing import Drawing
from countermark.scene.env import Env
from countermark.scene.finding import Finding, update

RULES: Final[dict[str, Callable[[Drawing], Iterator[Finding]]]] = {
    "text-overflow": lint_place.overflow,
    "overlap": lint_place.overlap,
    "outside-frame": lint_place.outside_frame,
    "arrow-through": lint_arrow.through,
    "arrow-unattached": lint_arrow.unattached,
}
"""Every rule by its name."""

MOST: Final = 200
"""So many findings are told; more are counted."""


@dataclass(frozen=True, slots=True)
class Report:
    """The findings about one scene, by rule and in drawing order."""

    findings: tuple[Finding, ...]
    left: int

    def operations(self) -> list[dict[str, Any]]:
        """Return what is suggested, as `apply` takes it: one operation an element; of what differs, the first."""
        patches: dict[str, dict[str, Any]] = {}
        for finding in self.findings:
            for one in finding.operations:
                kept = patches.setdefault(one["id"], {})
                if not kept.keys() & one["patch"].keys():
                    kept |= one["patch"]
        return [update(name, **patch) for name, patch in patches.items()]

    def wire(self) -> dict[str, Any]:
        """Return the JSON form."""
        counts = Counter(finding.rule for finding in self.findings)
        return {
            "findings": [finding.wire() for finding in self.findings],
            "counts": {rule: counts[rule] for rule in RULES if counts[rule]},
            "left": self.left,
            "operations": self.operations(),
        }


def lint(scene: Scene, env: Env | None = None) -> Report:
    """Return what is wrong with how a scene looks."""
    drawing = Drawing(scene, env or Env())
    found = [finding for rule in RULES.values() for finding in rule(drawing)]
    return Report(tuple(found[:MOST]), max(0, len(found) - MOST))
