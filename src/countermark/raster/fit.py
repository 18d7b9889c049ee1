"""Where a drawing stands on a board: as large as fits, centred, its corner on a whole pixel.

Whole-pixel corners keep edges that are sharp in the drawing sharp on the board, in every engine alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fit:
    """A placement on a board of width x height pixels: drawing unit x `scale`, then moved by (`dx`, `dy`) pixels."""

    scale: float
    dx: int
    dy: int
    width: int
    height: int

    def view_box(self, x0: float = 0.0, y0: float = 0.0) -> tuple[float, float, float, float]:
        """Return the board's frame (x, y, width, height) in units of a drawing whose own corner is (x0, y0)."""
        return (
            x0 - self.dx / self.scale,
            y0 - self.dy / self.scale,
            self.width / self.scale,
            self.height / self.scale,
        )


def contain(drawing_width: float, drawing_height: float, width: int, height: int) -> Fit:
    """Return the placement of a drawing (sides in its own units, > 0) on a board of width x height pixels."""
    scale = min(width / drawing_width, height / drawing_height)
    # The nearest whole pixel never pushes the far edge off the board: it moves up only where there is a pixel to spare.
    dx = math.floor((width - drawing_width * scale) / 2 + 0.5)
    dy = math.floor((height - drawing_height * scale) / 2 + 0.5)
    return Fit(scale=scale, dx=dx, dy=dy, width=width, height=height)
