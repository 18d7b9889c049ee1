"""How large a scene may be; every bound can be lowered by configuration and none raised (seed 3 §2.2, §7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one scene.

    `max_scene_bytes` counts the file's bytes, `max_file_chars` the characters of all data URLs together,
    `max_text_length` the characters of one text element.
    """

    max_scene_bytes: int = 16 << 20
    max_elements: int = 20_000
    max_files: int = 64
    max_file_chars: int = 8 << 20
    max_text_length: int = 20_000

    def wire(self) -> dict[str, int]:
        """Return the bounds under their configuration names."""
        return {name: getattr(self, field) for name, field in _NAMES.items()}


DEFAULT: Final = Limits()

_NAMES: Final = {
    "maxSceneBytes": "max_scene_bytes",
    "maxElements": "max_elements",
    "maxFiles": "max_files",
    "maxFileChars": "max_file_chars",
    "maxTextLength": "max_text_length",
}


def clamped(settings: Mapping[str, Any]) -> Limits:
    """Return the limits of a configuration: unknown keys and what is no number are ignored, the rest is clamped.

    A bound lies between 1 and its default.
    """
    found: dict[str, int] = {}
    for name, field in _NAMES.items():
        value = settings.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value == value:  # noqa: PLR0124 - NaN
            found[field] = int(max(1, min(value, getattr(DEFAULT, field))))
    return Limits(**found)
