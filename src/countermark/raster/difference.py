"""How far two pictures of the same thing differ, in whole numbers that can stand in a receipt.

Each picture is laid on white and on black; a pixel's difference is the largest channel difference over both grounds,
so that a wrong alpha counts even where the colour equals one of the grounds. A pixel is *painted* when either picture
has any alpha there: blank margins never dilute the share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from countermark.kernel.errors import CountermarkError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from countermark.raster.picture import Picture

OFF_BY: Final = 48
"""A pixel is off when a channel differs by more than 48 of 255 (the figure the resvg suite was scored with, §7.5)."""

CELL: Final = 32
"""Side in pixels of the cells among which the worst one is named."""

Rgb = tuple[int, int, int]

_FULL: Final = 255


@dataclass(frozen=True, slots=True)
class Difference:
    """A measured difference: pixel counts, the worst cell, the largest channel difference (0..255).

    `share` is off / painted as a decimal fraction with six places, rounded up, "0.000000" when nothing is painted.
    `worst_box` is (x, y, width, height) in pixels of the cell with most pixels off, None when none is off.
    """

    painted: int
    off: int
    share: str
    worst_box: tuple[int, int, int, int] | None
    max_delta: int

    def within(self, per_mille: int) -> bool:
        """Tell whether at most this many thousandths of the painted pixels are off."""
        return self.off * 1000 <= self.painted * per_mille

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form that stands in verdicts."""
        box = None if self.worst_box is None else list(self.worst_box)
        return {
            "painted": self.painted,
            "off": self.off,
            "share": self.share,
            "worst_box": box,
            "max_delta": self.max_delta,
        }


def measure(left: Picture, right: Picture, *, ground: Rgb | None = None) -> Difference:
    """Measure two pictures of one size; raise `artifact_invalid` when their sizes differ.

    On opaque pictures with a `ground` a pixel is painted when either has another colour there.
    """
    delta = deltas(left, right)
    import numpy as np  # noqa: PLC0415 - see picture.py

    painted = int(np.count_nonzero(painting(left, ground) | painting(right, ground)))
    off_mask = delta > OFF_BY
    off = int(np.count_nonzero(off_mask))
    return Difference(
        painted=painted,
        off=off,
        share=_share(off, painted),
        worst_box=_worst(off_mask) if off else None,
        max_delta=int(delta.max(initial=0)),
    )


def deltas(left: Picture, right: Picture) -> npt.NDArray[np.int16]:
    """Return each pixel's difference, 0 to 255; raise `artifact_invalid` when the sizes differ."""
    if (left.width, left.height) != (right.width, right.height):
        raise CountermarkError(
            "artifact_invalid",
            f"The pictures differ in size: {left.width} x {left.height} and {right.width} x {right.height}.",
            next_action="Render both at the board's size.",
        )
    import numpy as np  # noqa: PLC0415

    # Channel by channel: numpy takes five times as long over an axis of four.
    alpha = left.rgba[..., 3].astype(np.int16) - right.rgba[..., 3].astype(np.int16)
    found: npt.NDArray[np.int16] = np.zeros(alpha.shape, np.int16)
    for channel in range(3):
        on_black = _premultiplied(left, channel) - _premultiplied(right, channel)
        # On white each channel is its premultiplied value plus 255 less alpha, so the difference moves by alpha's.
        for apart in (on_black, on_black - alpha):
            np.maximum(found, np.abs(apart), out=found)
    return found


def painting(picture: Picture, ground: Rgb | None = None) -> npt.NDArray[np.bool_]:
    """Return which pixels a picture paints: those with any alpha, or of another colour than its ground."""
    painted: npt.NDArray[np.bool_] = picture.rgba[..., 3] > 0
    if ground is not None:
        red, green, blue = (picture.rgba[..., channel] != value for channel, value in enumerate(ground))
        painted = red | green | blue
    return painted


def _premultiplied(picture: Picture, channel: int) -> npt.NDArray[np.int16]:
    import numpy as np  # noqa: PLC0415

    product = picture.rgba[..., channel].astype(np.uint16) * picture.rgba[..., 3]
    return ((product + _FULL // 2) // _FULL).astype(np.int16)


def _worst(off_mask: Any) -> tuple[int, int, int, int]:
    import numpy as np  # noqa: PLC0415

    height, width = off_mask.shape
    rows = np.add.reduceat(off_mask.astype(np.int32), np.arange(0, height, CELL), axis=0)
    cells = np.add.reduceat(rows, np.arange(0, width, CELL), axis=1)
    row, column = divmod(int(cells.argmax()), cells.shape[1])
    x, y = column * CELL, row * CELL
    return x, y, min(CELL, width - x), min(CELL, height - y)


def _share(off: int, painted: int) -> str:
    if not painted:
        return "0.000000"
    millionths = -(-off * 1_000_000 // painted)
    return f"{millionths // 1_000_000}.{millionths % 1_000_000:06d}"
