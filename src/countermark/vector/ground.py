"""The ground that an opaque board puts behind a drawing: white, or dark where the drawing would vanish on white."""

from __future__ import annotations

from typing import Final

from countermark.vector.display import Display, Fill, Tiling, shapes
from countermark.vector.paint_server import Gradient, PaintServer, Rgb, Solid

WHITE: Final[Rgb] = (255, 255, 255)
BLACK: Final[Rgb] = (0, 0, 0)
DARK: Final[Rgb] = (17, 17, 17)
LEAST_CONTRAST: Final = 1.25
"""Below this a shape does not stand out from its ground: pure yellow on white has 1.07, a golden one 1.4."""


def luminance(colour: Rgb) -> float:
    """Return the relative luminance of an sRGB colour (WCAG 2.2)."""
    red, green, blue = (_linear(channel / 255) for channel in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Rgb, other: Rgb) -> float:
    """Return the contrast ratio of two colours, 1 to 21 (WCAG 2.2)."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def ground_for(shown: Display) -> Rgb:
    """Return white, or the dark ground when more of what lies at the bottom would vanish on white than on dark.

    Only what stands on the ground itself counts: a shape that another one lies behind has its own neighbour.
    """
    lost = {WHITE: 0.0, DARK: 0.0}
    beneath: list[tuple[float, float, float, float]] = []
    for shape in shapes(shown.items):
        box = shape.box
        inside = any(x0 <= box.x0 and y0 <= box.y0 and x1 >= box.x1 and y1 >= box.y1 for x0, y0, x1, y1 in beneath)
        if not inside:
            area = box.width * box.height
            for mark in shape.marks:
                for ground in lost:
                    lost[ground] += area * mark.opacity * _vanishing(mark.ink, ground)
            if any(isinstance(mark, Fill) for mark in shape.marks):
                beneath.append(box)
    return DARK if lost[WHITE] > lost[DARK] else WHITE


def _vanishing(ink: PaintServer | Tiling, ground: Rgb) -> float:
    """Return which share of an ink's colours does not stand out from a ground."""
    colours = [ink.rgb] if isinstance(ink, Solid) else []
    colours += [stop.rgb for stop in ink.stops] if isinstance(ink, Gradient) else []
    return sum(contrast(colour, ground) < LEAST_CONTRAST for colour in colours) / max(len(colours), 1)


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4  # noqa: PLR2004 - sRGB's own
