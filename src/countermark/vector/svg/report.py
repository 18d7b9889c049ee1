"""The import report: what was not carried over, by name, place and reason. Nothing disappears silently."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from countermark.kernel.errors import CountermarkError, Ending, register
from countermark.vector.container import Json
from countermark.vector.svg.parse import Element

register(Ending.NOT_FOUND, "loss_unknown")

_NAME_MAX: Final = 80
_TEXT_MAX: Final = 300
_NAMED: Final = 100


@dataclass(slots=True)
class Report:
    """Losses change the picture or what can be edited of it; notes do not (hidden art, faults every reader skips)."""

    losses: list[Json] = field(default_factory=list)
    notes: list[Json] = field(default_factory=list)
    _seen: set[tuple[str, str, str]] = field(default_factory=set)
    _names: set[str] = field(default_factory=set)
    _counts: dict[str, int] = field(default_factory=dict)

    def loss(self, code: str, element: Element, reason: str, *, hidden: bool = False, name: str = "") -> None:
        """Record something that is not carried over; within hidden art it is a note, since no picture shows it."""
        self._add(self.notes if hidden else self.losses, code, element, reason, name)

    def note(self, code: str, element: Element, reason: str) -> None:
        """Record something left out that paints nothing anywhere."""
        self._add(self.notes, code, element, reason, "")

    def _add(self, rows: list[Json], code: str, element: Element, reason: str, name: str) -> None:
        # An element drawn through several `use` is one fault in the file.
        key = (code, element.path, reason)
        if key in self._seen:
            return
        self._seen.add(key)
        self._counts[code] = number = self._counts.get(code, 0) + 1
        word = name or element.id
        # A person types this name to answer for the loss: what cannot be seen or is endless is numbered instead.
        plain = word.isprintable() and 0 < len(word) <= _NAME_MAX
        name = f"{code}:{word if plain else number}"
        if name in self._names:
            name = f"{name}~{number}"
        self._names.add(name)
        tag, path = element.tag.rpartition("}")[2], element.path
        texts = {"element": tag, "path": path, "reason": reason}
        rows.append({"code": code, "name": name, **{key: _short(text) for key, text in texts.items()}})


def _short(text: str) -> str:
    return text if len(text) <= _TEXT_MAX else f"{text[: _TEXT_MAX - 1]}…"


def accepted(losses: Iterable[Json], names: Iterable[str]) -> tuple[list[Json], list[Json]]:
    """Split losses into those that `names` cover and the rest; a name covers itself, a code all of its kind.

    A name that covers nothing raises `loss_unknown`: a misspelt acceptance would otherwise pass unseen.
    """
    rows = list(losses)
    wanted = list(names)
    known = {row["name"] for row in rows} | {row["code"] for row in rows}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise CountermarkError(
            "loss_unknown",
            f"No loss is called {', '.join(map(repr, unknown))}.",
            next_action="Name losses as the import report lists them.",
            details={"unknown": unknown, "losses": [row["name"] for row in rows[:_NAMED]]},
        )
    answered = set(wanted)
    covered = [row for row in rows if answered & {row["name"], row["code"]}]
    return covered, [row for row in rows if not answered & {row["name"], row["code"]}]
