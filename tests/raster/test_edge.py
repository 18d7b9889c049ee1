"""Edges that survive in other inks, edges that do not, and what a small picture still tells apart."""

from __future__ import annotations

import numpy as np
import pytest

from countermark.raster.edge import survival, told_apart
from countermark.raster.picture import Picture

RED, BLUE, BLACK, WHITE = (255, 0, 0), (0, 0, 255), (0, 0, 0), (255, 255, 255)
Spot = tuple[int, int, int, int, tuple[int, int, int]]


def picture(*spots: Spot, side: int = 64, ground: tuple[int, ...] = (0, 0, 0, 0)) -> Picture:
    rgba = np.zeros((side, side, 4), dtype=np.uint8)
    rgba[:, :] = ground
    for x0, y0, x1, y1, colour in spots:
        rgba[y0:y1, x0:x1] = (*colour, 255)
    return Picture(side, side, "RGBA", has_alpha=True, rgba=rgba)


TWO = picture((4, 4, 32, 60, RED), (32, 4, 60, 60, BLUE))


def test_an_edge_that_is_cut_survives_and_one_that_melts_is_lost() -> None:
    cut = survival(picture((4, 4, 31, 60, BLACK), (33, 4, 60, 60, BLACK)), TWO, 1, 2)
    assert (cut.kept, cut.beside, cut.whole) == (cut.edges, 0, True)
    blob = survival(picture((4, 4, 60, 60, BLACK)), TWO, 1, 2)
    assert blob.edges == cut.edges > 0
    assert not blob.whole
    assert blob.kept * 5 < blob.edges  # all but the two ends, where the outline is near


def test_ink_beside_the_drawing_and_no_ink_at_all_are_seen() -> None:
    halves: tuple[Spot, ...] = ((4, 4, 31, 60, BLACK), (33, 4, 60, 60, BLACK))
    assert not survival(picture(*halves, (0, 62, 60, 64, BLACK)), TWO, 1, 2).whole
    assert not survival(picture(), picture((4, 4, 9, 9, RED)), 1, 2).whole


def test_a_drawing_that_fills_its_board_to_the_corner_is_ink_there() -> None:
    full = picture((0, 0, 32, 64, RED), (32, 0, 64, 64, BLUE))
    assert survival(picture((0, 0, 31, 64, BLACK), (33, 0, 64, 64, BLACK)), full, 1, 2).whole


def test_a_smaller_drawing_on_a_ground_is_found_where_it_stands() -> None:
    ground = (17, 17, 17, 255)
    placed = picture((9, 9, 31, 54, WHITE), (33, 9, 54, 54, WHITE), ground=ground)
    assert survival(placed, TWO, 0.8, 2).whole
    assert not survival(placed, TWO, 0.5, 2).whole


def test_a_gradient_has_no_edges() -> None:
    ramp = picture((0, 0, 64, 64, RED))
    ramp.rgba[..., 1] = np.arange(0, 256, 4, dtype=np.uint8)
    assert survival(picture((0, 0, 64, 64, BLACK)), ramp, 1, 2).edges == 0


@pytest.mark.parametrize(("width", "share"), [(16, 1.0), (1, 0.0)])
def test_lines_closer_than_a_pixel_are_not_told_apart(width: int, share: float) -> None:
    large = picture(*((x, 0, x + width, 256, BLACK) for x in range(0, 256, 2 * width)), side=256)
    rgba = large.rgba.reshape(16, 16, 16, 16, 4).mean(axis=(1, 3)).astype(np.uint8)
    found = told_apart(Picture(16, 16, "RGBA", has_alpha=True, rgba=rgba), large)
    assert found.kept == pytest.approx(found.edges * share)
