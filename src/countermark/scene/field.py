"""Strict reading of what a tool call says about an element: each value is right, or refused with its JSON pointer.

Numbers are finite and within bounds, a boolean is no number, words are the format's own (research §1.10).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, NoReturn

from countermark.scene.address import is_active
from countermark.scene.codes import refuse
from countermark.scene.number import is_number
from countermark.scene.outline import Point
from countermark.scene.spelling import escaped, shown
from countermark.scene.vocabulary import COLOUR, DEEPEST, FARTHEST, LONGEST_ID, POLLUTING, ROUNDNESS_TYPES

MISSING: Final = object()
_LONGEST_LINK: Final = 2_048
_FEWEST_POINTS: Final = 2


class Fields:
    """The members of one object of a call, with where it stands and which element it speaks of."""

    def __init__(self, given: Any, pointer: str, element: str | None = None) -> None:
        self.pointer = pointer
        self.element = element
        if not isinstance(given, Mapping):
            self.wrong("", "is not an object", "Give an object.")
        self.given: Mapping[str, Any] = given

    def wrong(self, name: str, what: str, next_action: str, code: str = "invalid_operation") -> NoReturn:
        """Raise the refusal of one member; `name` is a step, or steps, of a JSON pointer."""
        place = f"{self.pointer}/{name}" if name else self.pointer
        about = f" (element {self.element!r})" if self.element else ""
        details: dict[str, Any] = {"pointer": place}
        if self.element:
            details["element"] = self.element
        raise refuse(code, f"{place or 'The call'} {what}{about}.", next_action=next_action, details=details)

    def only(self, allowed: Collection[str], set_by_store: Collection[str] = ()) -> None:
        """Refuse members that are not allowed here."""
        for name in self.given:
            step = escaped(str(name))
            if name in POLLUTING:
                self.wrong(step, "is a name that is not allowed", "Remove that member.")
            if name in set_by_store:
                self.wrong(step, "is set by the store and cannot be given", "Leave it out.")
            if name not in allowed:
                self.wrong(step, "is no field that can be given here", f"Known are: {', '.join(sorted(allowed))}.")

    def has(self, name: str) -> bool:
        """Say whether a member is given."""
        return name in self.given

    def take(self, name: str, default: Any = MISSING) -> Any:
        """Return a member as it is, or the default; refuse when it is needed and missing."""
        value = self.given.get(name, default)
        if value is MISSING:
            self.wrong(name, "is missing", f"Give {name!r}.")
        return value

    def number(
        self,
        name: str,
        default: Any = MISSING,
        *,
        least: float = -FARTHEST,
        most: float = FARTHEST,
        above: bool = False,
    ) -> Any:
        """Return a finite number within bounds; `above` leaves the lower bound itself out."""
        value = self.take(name, default)
        if value is default and name not in self.given:
            return value
        if not is_number(value):
            self.wrong(name, "is not a finite number", "Give a number.")
        if value > most or value < least or (above and value == least):
            lowest = "above" if above else "at least"
            self.wrong(name, f"is {value}, out of bounds", f"Give a number {lowest} {least:g} and at most {most:g}.")
        return value

    def integer(self, name: str, default: Any = MISSING, *, least: int = 0, most: int = 2**31 - 1) -> Any:
        """Return a whole number within bounds."""
        value = self.number(name, default, least=least, most=most)
        if name in self.given and not isinstance(value, int):
            self.wrong(name, "is not a whole number", "Give a whole number.")
        return value

    def flag(self, name: str, default: Any = MISSING) -> Any:
        """Return true or false."""
        value = self.take(name, default)
        if name in self.given and not isinstance(value, bool):
            self.wrong(name, "is neither true nor false", "Give true or false.")
        return value

    def word(self, name: str, words: Collection[Any], default: Any = MISSING, *, none: bool = False) -> Any:
        """Return one of some words or whole numbers, or null where that says something."""
        value = self.take(name, default)
        if name not in self.given or (none and value is None):
            return value
        if isinstance(value, bool) or not isinstance(value, str | int) or value not in words:
            known = ", ".join(str(word) for word in sorted(words, key=str))
            self.wrong(name, f"is {shown(value)}, which the format does not know", f"Give one of: {known}.")
        return value

    def text(self, name: str, default: Any = MISSING, *, longest: int, empty: bool = False) -> Any:
        """Return text of bounded length, whole characters only."""
        value = self.take(name, default)
        if name not in self.given:
            return value
        if not isinstance(value, str):
            self.wrong(name, "is not text", "Give a string.")
        if len(value) > longest:
            self.wrong(name, f"has {len(value)} characters", f"Give at most {longest}.", "too_large")
        if not empty and not value.strip():
            self.wrong(name, "is empty: the editor would delete it on load", "Give text, or leave the element out.")
        if not is_text(value):
            self.wrong(name, "holds half of a character", "Give whole characters.")
        return value

    def colour(self, name: str, default: Any = MISSING) -> Any:
        """Return a CSS colour."""
        value = self.take(name, default)
        if name in self.given and not (isinstance(value, str) and COLOUR.fullmatch(value)):
            self.wrong(name, "is no colour", "Give a colour such as #1e1e1e or transparent.")
        return value

    def identity(self, name: str, default: Any = MISSING, *, none: bool = False) -> Any:
        """Return an id of 1 to 64 characters, or null where that says something."""
        value = self.take(name, default)
        if name not in self.given or (none and value is None):
            return value
        if not is_identity(value):
            self.wrong(name, "is no id", f"Give text of 1 to {LONGEST_ID} characters.")
        return value

    def identities(self, name: str, default: Any = MISSING) -> Any:
        """Return a list of distinct ids."""
        value = self.take(name, default)
        if name not in self.given:
            return value
        if not isinstance(value, list) or not all(map(is_identity, value)) or len(set(value)) != len(value):
            self.wrong(name, "is no list of distinct ids", "Give an array of strings.")
        return list(value)

    def roundness(self, name: str, default: Any = MISSING) -> Any:
        """Return null, or how corners are rounded: `{type: 1|2|3, value?}`."""
        value = self.take(name, default)
        if name not in self.given or value is None:
            return value
        inner = Fields(value, f"{self.pointer}/{name}", self.element)
        inner.only(("type", "value"))
        inner.word("type", ROUNDNESS_TYPES)
        inner.number("value", None, least=0)
        return dict(value)

    def link(self, name: str, default: Any = MISSING) -> Any:
        """Return null or an address that is no script (research §6, row 56)."""
        value = self.take(name, default)
        if name not in self.given or value is None:
            return value
        if not isinstance(value, str) or len(value) > _LONGEST_LINK or not is_text(value):
            self.wrong(name, "is no address", f"Give at most {_LONGEST_LINK} characters of text, or null.")
        if is_active(value):
            self.wrong(name, "is an address that runs a script", "Give a web address or a link inside the scene.")
        return value.strip() or None

    def custom(self, name: str, default: Any = MISSING) -> Any:
        """Return an object of a host's own data: JSON, not too deep, without names that pollute a prototype."""
        value = self.take(name, default)
        if name not in self.given:
            return value
        if not isinstance(value, Mapping):
            self.wrong(name, "is not an object", "Give an object.")
        place = flaw(value)
        if place is not None:
            self.wrong(f"{name}{place[0]}", place[1], "Correct or remove that member.")
        return dict(value)

    def points(self, name: str, *, fewest: int = _FEWEST_POINTS, widest: float = FARTHEST) -> list[Point]:
        """Return points of exactly two finite numbers each."""
        value = self.take(name)
        if not isinstance(value, list) or len(value) < fewest:
            self.wrong(name, f"is no list of at least {fewest} points", "Give points as [[0, 0], [x, y]].")
        found: list[Point] = []
        for place, point in enumerate(value):
            if not isinstance(point, list | tuple) or len(point) != 2 or not all(map(is_number, point)):  # noqa: PLR2004
                self.wrong(f"{name}/{place}", "is no point", "Give two finite numbers.")
            if max(abs(point[0]), abs(point[1])) > widest:
                self.wrong(name, f"reaches beyond {widest:g} px", "Give a shorter line.")
            found.append((point[0], point[1]))
        return found


def is_identity(value: Any) -> bool:
    """Say whether a value is text of 1 to 64 whole characters and no name that pollutes a prototype."""
    return isinstance(value, str) and 0 < len(value) <= LONGEST_ID and value not in POLLUTING and is_text(value)


def is_text(value: str) -> bool:
    """Say whether text holds whole characters only."""
    if value.isascii():
        return True
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def flaw(value: Any) -> tuple[str, str] | None:
    """Return the pointer and the fault of the first thing in a value that is no clean JSON; None when all is well."""
    waiting: list[tuple[Any, str, int]] = [(value, "", 0)]
    while waiting:
        one, place, depth = waiting.pop()
        if depth > DEEPEST:
            return place, f"is nested deeper than {DEEPEST} levels"
        if isinstance(one, Mapping):
            for name, member in one.items():
                if not isinstance(name, str) or name in POLLUTING or not is_text(name):
                    return f"{place}/{escaped(str(name))}", "has a name that is not allowed"
                waiting.append((member, f"{place}/{escaped(name)}", depth + 1))
        elif isinstance(one, list | tuple):
            waiting += [(item, f"{place}/{count}", depth + 1) for count, item in enumerate(one)]
        elif isinstance(one, str):
            if not is_text(one):
                return place, "holds half of a character"
        elif one is not None and not isinstance(one, bool) and not is_number(one):
            return place, "is no JSON value"
    return None
