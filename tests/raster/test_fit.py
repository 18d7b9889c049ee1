from __future__ import annotations

import hypothesis
from hypothesis import strategies as st

from countermark.raster.fit import contain

SIDES = st.floats(min_value=0.01, max_value=1e5, allow_nan=False)
PIXELS = st.integers(min_value=1, max_value=8192)


def test_a_drawing_fills_a_board_of_its_own_shape() -> None:
    fit = contain(24, 24, 512, 512)

    assert (fit.scale, fit.dx, fit.dy) == (512 / 24, 0, 0)
    assert fit.view_box() == (0, 0, 24, 24)


def test_a_wide_drawing_is_centred_on_a_whole_pixel() -> None:
    fit = contain(512, 133, 512, 512)

    assert (fit.scale, fit.dx, fit.dy) == (1, 0, 190)
    assert fit.view_box() == (0, -190, 512, 512)


def test_a_tall_drawing_is_made_as_large_as_fits() -> None:
    fit = contain(100, 200, 64, 32)

    assert (fit.scale, fit.dx, fit.dy) == (0.16, 24, 0)
    assert fit.view_box(10, 20) == (10 - 24 / 0.16, 20, 64 / 0.16, 32 / 0.16)


def test_a_drawing_on_a_tiny_board_is_centred_to_the_nearest_pixel() -> None:
    fit = contain(256, 225, 16, 16)

    assert (fit.dx, fit.dy) == (0, 1), "14.06 pixels high: one pixel above, 0.94 below"


@hypothesis.given(SIDES, SIDES, PIXELS, PIXELS)
def test_a_drawing_never_leaves_its_board(across: float, down: float, width: int, height: int) -> None:
    fit = contain(across, down, width, height)

    assert fit.dx >= 0
    assert fit.dy >= 0
    assert fit.dx + across * fit.scale <= width * (1 + 1e-9)
    assert fit.dy + down * fit.scale <= height * (1 + 1e-9)
