"""Native colours, and how two of them are compared: by the eight bits a channel that a person writes and sees."""

from __future__ import annotations

from typing import Any

from countermark.kernel.errors import CountermarkError
from countermark.vector.container import Json
from countermark.vector.svg.colour import colour as css_colour
from countermark.vector.svg.number import NotFiniteError


def from_css(text: str) -> Json:
    """Return the native form of an opaque colour in any CSS syntax; raise `input_invalid` for anything else."""
    try:
        read = css_colour(text)
    except NotFiniteError:
        read = None
    if read is None or read.alpha < 1:
        problem = "is not opaque" if read is not None else "is no colour"
        raise CountermarkError(
            "input_invalid",
            f"{text[:60]!r} {problem}.",
            next_action="Write a colour such as #1a6cff, rgb(26, 108, 255) or navy.",
        )
    return {"model": "rgb", "r": read.r, "g": read.g, "b": read.b}


def hex_of(colour: Any) -> str | None:
    """Return `#rrggbb` of an RGB or grey colour; None for other models, which no RGB value equals."""
    if not isinstance(colour, dict):
        return None
    if colour.get("model") == "gray":
        parts = [1 - colour["k"]] * 3
    elif colour.get("model") == "rgb":
        parts = [colour["r"], colour["g"], colour["b"]]
    else:
        return None
    return "#" + "".join(f"{_byte(part):02x}" for part in parts)


def _byte(part: float) -> int:
    return int(min(1.0, max(0.0, part)) * 255 + 0.5)
