"""Numbers of a document: what a double holds, and what geometry can compute with."""

from __future__ import annotations

import sys
from typing import Any, Final, TypeGuard

_LARGEST: Final = sys.float_info.max
_EXACT: Final = 2**53


def is_number(value: Any) -> TypeGuard[float]:
    """Say whether a value is a number that a double holds: finite, and no boolean."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -_LARGEST <= value <= _LARGEST


def is_measure(value: Any) -> TypeGuard[float]:
    """Say whether a value is a number that a place, a size or an angle can be: beyond 2**53 no pixel is exact."""
    return type(value) in (int, float) and -_EXACT <= value <= _EXACT
