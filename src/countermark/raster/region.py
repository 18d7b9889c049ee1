"""Differences by region: how much of each box of a picture is off, and cuttings of it for a person's eyes."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from countermark.raster.difference import OFF_BY, deltas, painting
from countermark.raster.picture import Picture

Pixels = tuple[int, int, int, int]
"""x, y, width and height in pixels."""


class Region(NamedTuple):
    """What is painted and what is off within one box of two pictures."""

    box: Pixels
    painted: int
    off: int


def regions(left: Picture, right: Picture, boxes: Sequence[tuple[float, float, float, float]]) -> list[Region]:
    """Measure two pictures of one size within boxes (x0, y0, x1, y1 in pixels), each widened to whole pixels."""
    off = _summed(deltas(left, right) > OFF_BY)
    painted = _summed(painting(left) | painting(right))
    found = []
    for x0, y0, x1, y1 in boxes:
        west, north = _within(math.floor(x0), left.width), _within(math.floor(y0), left.height)
        east, south = _within(math.ceil(x1), left.width), _within(math.ceil(y1), left.height)
        counts = [
            int(table[south, east] - table[north, east] - table[south, west] + table[north, west])
            for table in (painted, off)
        ]
        found.append(Region((west, north, max(east - west, 0), max(south - north, 0)), *counts))
    return found


def cutting(picture: Picture, box: Pixels, side: int, zoom: int) -> bytes:
    """Return a square of `side` pixels about the middle of a box as a PNG, enlarged `zoom` times, pixel by pixel."""
    from PIL import Image  # noqa: PLC0415 - takes longer to import than the whole command line

    x = _within(box[0] + box[2] // 2 - side // 2, max(picture.width - side, 0))
    y = _within(box[1] + box[3] // 2 - side // 2, max(picture.height - side, 0))
    cut = Image.fromarray(picture.rgba[y : y + side, x : x + side])
    out = io.BytesIO()
    cut.resize((cut.width * zoom, cut.height * zoom), Image.Resampling.NEAREST).save(out, format="PNG")
    return out.getvalue()


def _summed(mask: Any) -> Any:
    """Return a table of sums over all boxes that begin in the corner, with a row and a column of zeros before."""
    import numpy as np  # noqa: PLC0415

    table = np.zeros((mask.shape[0] + 1, mask.shape[1] + 1), dtype=np.int64)
    table[1:, 1:] = mask.cumsum(axis=0, dtype=np.int64).cumsum(axis=1)
    return table


def _within(value: int, most: int) -> int:
    return min(max(value, 0), most)
