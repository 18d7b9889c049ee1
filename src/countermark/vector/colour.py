"""Native colours, and how two of them are compared: by the eight bits a channel that a person writes and sees."""

from __future__ import annotations

from typing import Any, Final

from countermark.kernel.errors import CountermarkError
from countermark.vector.container import Json
from countermark.vector.paint_server import hexadecimal, rgb
from countermark.vector.svg.colour import colour as css_colour
from countermark.vector.svg.number import NotFiniteError

_COMPARED: Final = frozenset({"rgb", "gray"})


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
    """Return `#rrggbb` of an RGB or grey colour as it is drawn; None for other models, which no RGB value equals."""
    found = rgb(colour) if isinstance(colour, dict) and colour.get("model") in _COMPARED else None
    return None if found is None else hexadecimal(found)
