"""Differences by box, and cuttings."""

from __future__ import annotations

import numpy as np

from countermark.raster.picture import Picture, decode_png
from countermark.raster.region import cutting, regions


def picture(*spots: tuple[int, int, int, int, int], side: int = 40) -> Picture:
    rgba = np.zeros((side, side, 4), dtype=np.uint8)
    for x0, y0, x1, y1, red in spots:
        rgba[y0:y1, x0:x1] = (red, 0, 0, 255)
    return Picture(side, side, "RGBA", has_alpha=True, rgba=rgba)


def test_each_box_is_told_what_it_paints_and_what_is_off_in_it() -> None:
    left = picture((0, 0, 10, 10, 255), (20, 20, 30, 30, 255))
    right = picture((0, 0, 10, 10, 255), (20, 20, 30, 25, 0))
    found = regions(left, right, [(0, 0, 10, 10), (19.5, 20, 30, 30), (35, 35, 90, 90), (-9, -9, -2, -2)])
    assert [(one.painted, one.off) for one in found] == [(100, 0), (100, 100), (0, 0), (0, 0)]
    assert found[1].box == (19, 20, 11, 10)
    assert found[2].box == (35, 35, 5, 5)


def test_a_cutting_lies_about_the_middle_of_its_box_and_inside_the_picture() -> None:
    drawn = picture((20, 20, 21, 21, 255))
    cut = decode_png(cutting(drawn, (18, 18, 4, 4), 8, 2))
    assert (cut.width, cut.height) == (16, 16)
    assert cut.rgba[8, 8].tolist() == [255, 0, 0, 255]
    assert decode_png(cutting(drawn, (39, 39, 1, 1), 64, 1)).width == 40
