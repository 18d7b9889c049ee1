from __future__ import annotations

from countermark.raster.fit import contain


def test_a_drawing_fills_a_board_of_its_own_shape() -> None:
    fit = contain(24, 24, 512, 512)

    assert (fit.scale, fit.dx, fit.dy) == (512 / 24, 0, 0)
    assert fit.view_box() == (0, 0, 24, 24)


def test_a_wide_drawing_is_centred_on_a_whole_pixel() -> None:
    fit = contain(512, 133, 512, 512)

    assert (fit.scale, fit.dx, fit.dy) == (1, 0, 189)
    assert fit.view_box() == (0, -189, 512, 512)


def test_a_tall_drawing_is_made_as_large_as_fits() -> None:
    fit = contain(100, 200, 64, 32)

    assert (fit.scale, fit.dx, fit.dy) == (0.16, 24, 0)
    assert fit.view_box(10, 20) == (10 - 24 / 0.16, 20, 64 / 0.16, 32 / 0.16)
