"""The CSS an SVG carries inline: declarations of a `style` attribute, and the rules of a sheet, to name them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_QUOTED: Final = r"\"[^\"]*\"|'[^']*'"
_DECLARATION: Final = re.compile(rf"\s*([-\w]+)\s*:\s*((?:{_QUOTED}|\([^)]*\)|[^;\"'(])*)\s*(?:;|\Z)")
_IMPORTANT: Final = re.compile(r"!\s*important\s*\Z", re.IGNORECASE)
_NAME_LENGTH: Final = 80


def declarations(text: str) -> dict[str, str]:
    """Return the declarations of a `style` attribute by lower-case name; the last one of a name that counts wins."""
    found: dict[str, str] = {}
    important: set[str] = set()
    for match in _DECLARATION.finditer(_COMMENT.sub(" ", text)):
        name, value = match[1].lower(), match[2].strip()
        urgent = bool(_IMPORTANT.search(value))
        if name in important and not urgent:
            continue
        if urgent:
            important.add(name)
            value = _IMPORTANT.sub("", value).strip()
        found[name] = value
    return found


def selectors(sheet: str) -> Iterator[str]:
    """Yield the selector or at-rule in front of each block of a style sheet, shortened to a name."""
    depth = 0
    start = 0
    text = _COMMENT.sub(" ", sheet)
    for match in re.finditer(rf"{_QUOTED}|[{{}};]", text):
        mark = match[0]
        if mark == "{":
            if depth == 0:
                yield " ".join(text[start : match.start()].split())[:_NAME_LENGTH] or "{}"
            depth += 1
        elif mark == "}":
            depth = max(0, depth - 1)
            if depth == 0:
                start = match.end()
        elif mark == ";" and depth == 0:
            rule = " ".join(text[start : match.start()].split())[:_NAME_LENGTH]
            if rule:
                yield rule
            start = match.end()
