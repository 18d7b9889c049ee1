"""Text bound to a shape or an arrow: where it stands, how it wraps, how its container grows (research §2.3).

All numbers are the editor's own. A container that only moves takes its text along unmeasured: stored widths of files
that somebody else wrote are not corrected.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, TypeGuard

from countermark.scene.curve import middle
from countermark.scene.document import Element
from countermark.scene.env import Env, Size
from countermark.scene.line import plain
from countermark.scene.number import is_measure
from countermark.scene.outline import Box, box
from countermark.scene.vocabulary import FARTHEST

PADDING: Final = 5
_INSCRIBED: Final = math.sqrt(2)
_ARROW_SHARE: Final = 0.7
_ARROW_LEAST: Final = 11
_TALLEST_LINE: Final = 10
_SMALLEST: Final = 1 / 64
"""Below it a font has no size to draw with."""


def line_height(family: int) -> float:
    """Return a family's line height, in font sizes."""
    from countermark.typeset.fonts import default_line_height  # noqa: PLC0415 - loads the list of fonts

    return default_line_height(family)


def room(container: Mapping[str, Any], size: float) -> tuple[float, float]:
    """Return the width and height that a container leaves for its text."""
    width, height = container["width"], container["height"]
    if container["type"] == "arrow":
        return max(_ARROW_SHARE * width, _ARROW_LEAST * size), math.inf
    return _within(container["type"], width), _within(container["type"], height)


def grown(kind: str, text: float) -> float:
    """Return the side that a container of a type needs for text of some width or height."""
    needed = math.ceil(text) + 2 * PADDING
    if kind == "ellipse":
        return _rounded(needed / _INSCRIBED * 2)
    return 2 * needed if kind == "diamond" else needed


def fit(text: Element, container: Mapping[str, Any], env: Env) -> tuple[float, float]:
    """Wrap and measure a text for its container; return the width and height that the container then needs.

    Changes `text`. An arrow keeps its size, whatever its label.
    """
    family, size, spacing = metrics(text)
    words = _words(text)
    width, height = room(container, size)
    text["text"] = env.wrap(words, family, size, width)
    measured = _sized(text, env, family, size, spacing)
    text["width"], text["height"] = plain(measured.width), plain(measured.height)
    needed = container["width"], container["height"]
    if container["type"] == "arrow":
        return needed
    return (
        grown(container["type"], measured.width) if measured.width > width else needed[0],
        grown(container["type"], measured.height) if measured.height > height else needed[1],
    )


def place(text: Element, container: Mapping[str, Any]) -> None:
    """Put a measured text where its container has it; changes `text`."""
    if container["type"] == "arrow":
        x, y = middle(container)
        text["x"], text["y"] = plain(x - text["width"] / 2), plain(y - text["height"] / 2)
        text["angle"] = 0
        return
    frame = box(container)
    width, height = room(container, 0)
    left, top = -_reach(container["type"], frame.hx), -_reach(container["type"], frame.hy)
    free, below = width - text["width"], height - text["height"]
    x = left + {"left": 0.0, "right": free}.get(str(text.get("textAlign") or "left"), free / 2)
    y = top + {"top": 0.0, "bottom": below}.get(str(text.get("verticalAlign") or "top"), below / 2)
    _centre(text, frame, (x + text["width"] / 2, y + text["height"] / 2))
    text["angle"] = container.get("angle") or 0


def measure(text: Element, env: Env) -> None:
    """Wrap and measure a text of its own, keeping the side it is aligned to and its top where they were."""
    family, size, spacing = metrics(text)
    words = _words(text)
    wraps = text.get("autoResize") is False
    text["text"] = env.wrap(words, family, size, text["width"]) if wraps else words
    measured = _sized(text, env, family, size, spacing)
    width = text["width"] if wraps else measured.width
    frame = box(text)
    # The side that stays is the aligned one, seen in the text's own turned frame.
    share = {"left": 1, "right": -1}.get(str(text.get("textAlign") or "left"), 0)
    shift = (width - text["width"]) / 2 * share, (measured.height - text["height"]) / 2
    text["width"], text["height"] = plain(width), plain(measured.height)
    _centre(text, frame, shift)


def metrics(text: Mapping[str, Any]) -> tuple[int, float, float]:
    """Return a text's family, font size and line height, with the editor's defaults where an old file has none."""
    family = text.get("fontFamily")
    family = family if type(family) is int and abs(family) < FARTHEST else 5
    size = text.get("fontSize")
    size = size if _is_size(size) else 20
    spacing = text.get("lineHeight")
    if _is_size(spacing):
        return family, size, spacing
    height, lines = text.get("height"), str(text.get("text") or "").count("\n") + 1
    if is_measure(height) and 0 < height / lines / size < _TALLEST_LINE:
        return family, size, height / lines / size
    return family, size, line_height(family)


def _sized(text: Element, env: Env, family: int, size: float, spacing: float) -> Size:
    measured = env.measure(text["text"], family, size, spacing)
    env.guessed.pop(text["id"], None)
    if measured.approximate:
        env.guessed[text["id"]] = measured.reason
    return measured


def _words(text: Mapping[str, Any]) -> str:
    return next((one for one in (text.get("originalText"), text.get("text")) if isinstance(one, str)), "")


def _is_size(value: Any) -> TypeGuard[float]:
    return is_measure(value) and _SMALLEST <= value <= FARTHEST


def _centre(text: Element, frame: Box, point: tuple[float, float]) -> None:
    """Put a text's centre at a point of a frame."""
    if frame.angle:
        x, y = frame.outside(point)
    else:
        x, y = frame.cx + point[0], frame.cy + point[1]
    text["x"], text["y"] = plain(x - text["width"] / 2), plain(y - text["height"] / 2)


def _within(kind: str, side: float) -> float:
    if kind == "ellipse":
        return _rounded(side / 2 * _INSCRIBED) - 2 * PADDING
    if kind == "diamond":
        return _rounded(side / 2) - 2 * PADDING
    return side - 2 * PADDING


def _reach(kind: str, half: float) -> float:
    """Return how far from the centre the text's room begins."""
    if kind == "ellipse":
        return half / _INSCRIBED - PADDING
    return half / 2 - PADDING if kind == "diamond" else half - PADDING


def _rounded(value: float) -> int:
    return math.floor(value + 0.5)
