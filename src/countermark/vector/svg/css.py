"""CSS declarations, as a `style` attribute and the blocks of a sheet carry them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_QUOTED: Final = r"\"[^\"]*\"|'[^']*'"
_DECLARATION: Final = re.compile(rf"\s*([-\w]+)\s*:\s*((?:{_QUOTED}|\([^)]*\)|[^;\"'(])*)\s*(?:;|\Z)")
_IMPORTANT: Final = re.compile(r"!\s*important\s*\Z", re.IGNORECASE)


class Declaration(NamedTuple):
    """A property by lower-case name, its value, and whether it is marked important."""

    name: str
    value: str
    important: bool


def parsed(text: str) -> Iterator[Declaration]:
    """Yield the declarations of a block in their order."""
    for match in _DECLARATION.finditer(_COMMENT.sub(" ", text)):
        value = match[2].strip()
        urgent = bool(_IMPORTANT.search(value))
        yield Declaration(match[1].lower(), _IMPORTANT.sub("", value).strip() if urgent else value, urgent)


def declarations(text: str) -> dict[str, str]:
    """Return the declarations of a `style` attribute by lower-case name; the last one of a name that counts wins."""
    return cascaded(parsed(text))


def cascaded(given: Iterator[Declaration] | list[Declaration]) -> dict[str, str]:
    """Return the value that counts of each property: the last important one, else the last one."""
    found: dict[str, str] = {}
    important: set[str] = set()
    for name, value, urgent in given:
        if urgent or name not in important:
            found[name] = value
            if urgent:
                important.add(name)
    return found
