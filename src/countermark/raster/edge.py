"""Edges of a picture: where two colours meet, and whether they still meet in another picture of the same drawing."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

from countermark.raster.picture import Picture

APART: Final = 96
"""Channels of two colours that make an edge differ by more than this within two pixels; no gradient does."""

TOLD: Final = 48
"""Channels that differ by more than this are told apart: the bar of `difference`."""

KEPT_PER_CENT: Final = 95
BESIDE_PER_CENT: Final = 1

_REACH: Final = 2


class Survival(NamedTuple):
    """Edge pixels of a source, those that are edges in a picture too, and pixels of its ink in all and beside it."""

    edges: int
    kept: int
    ink: int
    beside: int

    @property
    def whole(self) -> bool:
        """Whether the picture shows the drawing: nearly all its edges, and next to nothing beside it."""
        kept = self.kept * 100 >= self.edges * KEPT_PER_CENT
        return kept and self.ink > 0 and self.beside * 100 <= self.ink * BESIDE_PER_CENT


def survival(picture: Picture, source: Picture, share: float, gap: float) -> Survival:
    """Look for the inner edges of an opaque drawing in a picture of it in other inks, `share` of the board large.

    A cut of `gap` pixels may have moved an edge. A drawing that leaves room around it stands on the colour of the
    board's corner; one that fills the board stands on nothing, and may reach into the corner.
    """
    import numpy as np  # noqa: PLC0415 - takes longer to import than the whole command line

    placed = _placed(source, picture.width, picture.height, share)
    solid = _least(placed[..., 3], _REACH) == 255  # noqa: PLR2004 - opaque
    edges = solid & (_range(placed[..., :3].astype(np.int16), _REACH) > APART)
    shown = _on_white(picture)
    near = _range(shown, math.ceil(gap) + _REACH + 1)
    apart = np.abs(shown - shown[0, 0]).max(axis=2)
    ink = (picture.rgba[..., 3] if share == 1 else apart) > TOLD
    around = _most(placed[..., 3], _REACH + 1) > 0
    return Survival(
        edges=int(edges.sum()),
        kept=int((edges & (near > TOLD)).sum()),
        ink=int(ink.sum()),
        beside=int((ink & ~around).sum()),
    )


def told_apart(small: Picture, source: Picture) -> Survival:
    """Look for all edges of a drawing, on white, in a smaller picture of it: a pixel or its neighbours differ."""
    import numpy as np  # noqa: PLC0415

    edges = _range(_on_white(source), _REACH) > APART
    near = _range(_on_white(small), 1) > TOLD
    rows, columns = np.nonzero(edges)
    kept = near[rows * small.height // source.height, columns * small.width // source.width]
    return Survival(int(edges.sum()), int(kept.sum()), 0, 0)


def _placed(source: Picture, width: int, height: int, share: float) -> Any:
    """Return the source's pixels as large as it stands on the board, centred on nothing."""
    import numpy as np  # noqa: PLC0415
    from PIL import Image  # noqa: PLC0415

    if share == 1 and (width, height) == (source.width, source.height):
        return source.rgba
    sides = round(width * share), round(height * share)
    board = Image.new("RGBA", (width, height))
    drawn = Image.fromarray(source.rgba).resize(sides, Image.Resampling.LANCZOS)
    board.paste(drawn, ((width - sides[0]) // 2, (height - sides[1]) // 2))
    return np.asarray(board)


def _on_white(picture: Picture) -> Any:
    import numpy as np  # noqa: PLC0415

    alpha = picture.rgba[..., 3:].astype(np.int16)
    return (picture.rgba[..., :3].astype(np.int32) * alpha // 255 + 255 - alpha).astype(np.int16)


def _range(pixels: Any, reach: int) -> Any:
    """Return how far the channels of a pixel's neighbours, `reach` away at most, differ."""
    return (_most(pixels, reach) - _least(pixels, reach)).max(axis=2)


def _most(values: Any, reach: int) -> Any:
    import numpy as np  # noqa: PLC0415

    return _filtered(values, reach, np.maximum)


def _least(values: Any, reach: int) -> Any:
    import numpy as np  # noqa: PLC0415

    return _filtered(values, reach, np.minimum)


def _filtered(values: Any, reach: int, chosen: Any) -> Any:
    """Return the largest or smallest value within a square; doubling the window takes log2 of its side in steps."""
    import numpy as np  # noqa: PLC0415

    found = values
    for axis in (0, 1):
        padding = [(reach, reach) if one == axis else (0, 0) for one in range(found.ndim)]
        wide = np.pad(found, padding, mode="edge")
        size, length = 1, 2 * reach + 1
        while size < length:
            step = min(size, length - size)
            count = wide.shape[axis] - step
            wide = chosen(wide.take(range(count), axis=axis), wide.take(range(step, count + step), axis=axis))
            size += step
        found = wide
    return found
