"""Addresses that an element links to: which of them would run something (research §6, row 56)."""

from __future__ import annotations

import html
import re
from typing import Final
from urllib.parse import unquote

_SCHEME: Final = re.compile(r"(?:javascript|data|vbscript):", re.IGNORECASE)
_BLANK: Final = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028\u2029\ufeff]")


def is_active(address: str) -> bool:
    """Say whether an address would run a script, however it is disguised."""
    seen = address
    for _ in range(3):
        seen = _BLANK.sub("", unquote(html.unescape(seen)))
    return _SCHEME.match(seen) is not None
