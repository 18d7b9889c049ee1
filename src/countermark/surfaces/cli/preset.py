"""Named terms for grants, so that a usual one need not be spelled out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from countermark.kernel.proof import AcceptanceRule


@dataclass(frozen=True, slots=True)
class Preset:
    """What a preset allows; `lasts` is in the words of `--expires`."""

    says: str
    effects: tuple[str, ...]
    resources: tuple[str, ...] = ("file:",)
    limits: Mapping[str, int] = field(default_factory=dict)
    acceptance: AcceptanceRule = "checks"
    lasts: str | None = None


_WEEK: Final = "7d"

PRESETS: Final[Mapping[str, Preset]] = {
    "brand": Preset("vector edits and exports, accepted by checks, for a week", ("vector.write",), lasts=_WEEK),
    "brand-reviewed": Preset(
        "the same, but a person accepts each result", ("vector.write",), acceptance="person", lasts=_WEEK
    ),
    "brand-once": Preset("one vector effect, within an hour", ("vector.write",), limits={"attempts": 1}, lasts="1h"),
}
