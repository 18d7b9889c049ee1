from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from countermark.kernel.errors import CountermarkError
from countermark.raster.difference import OFF_BY, measure
from countermark.raster.picture import Picture


def picture(rgba: npt.NDArray[np.uint8]) -> Picture:
    height, width, _ = rgba.shape
    return Picture(width, height, "RGBA", has_alpha=True, rgba=rgba)


def plain(colour: tuple[int, int, int, int], width: int = 100, height: int = 80) -> npt.NDArray[np.uint8]:
    return np.full((height, width, 4), colour, dtype=np.uint8)


def test_equal_pictures_do_not_differ() -> None:
    one = plain((200, 10, 10, 255))

    found = measure(picture(one), picture(one.copy()))

    assert found.as_json() == {"painted": 8000, "off": 0, "share": "0.000000", "worst_box": None, "max_delta": 0}


def test_a_pixel_is_off_only_past_the_threshold() -> None:
    one, other = plain((100, 0, 0, 255)), plain((100, 0, 0, 255))
    other[0, 0, 0] = 100 + OFF_BY
    assert measure(picture(one), picture(other)).off == 0

    other[0, 0, 0] += 1
    found = measure(picture(one), picture(other))

    assert (found.off, found.max_delta) == (1, OFF_BY + 1)


@pytest.mark.parametrize("ground", [0, 255])
def test_a_missing_object_counts_although_it_has_the_colour_of_the_ground(ground: int) -> None:
    there, missing = plain((ground, ground, ground, 255)), plain((0, 0, 0, 0))

    found = measure(picture(there), picture(missing))

    assert (found.painted, found.off, found.share) == (8000, 8000, "1.000000")


def test_the_colour_under_full_transparency_does_not_count() -> None:
    assert measure(picture(plain((255, 0, 0, 0))), picture(plain((0, 0, 255, 0)))).max_delta == 0


def test_blank_margins_do_not_dilute_the_share() -> None:
    one, other = plain((0, 0, 0, 0)), plain((0, 0, 0, 0))
    one[:10, :10] = (255, 0, 0, 255)
    other[:10, :10] = (255, 0, 0, 255)
    other[0, :3] = (0, 0, 0, 0)

    found = measure(picture(one), picture(other))

    assert (found.painted, found.off, found.share) == (100, 3, "0.030000")
    assert not found.within(10)
    assert found.within(30)


def test_the_worst_cell_is_named_and_ends_at_the_edge() -> None:
    one = plain((0, 0, 0, 255))
    other = one.copy()
    other[70:75, 97:100] = (255, 255, 255, 255)
    other[0, 0] = (255, 255, 255, 255)

    assert measure(picture(one), picture(other)).worst_box == (96, 64, 4, 16)


def test_a_share_is_rounded_up_so_that_nothing_off_reads_as_zero() -> None:
    one, other = plain((0, 0, 0, 255), 2000, 1000), plain((0, 0, 0, 255), 2000, 1000)
    other[5, 5] = (255, 255, 255, 255)

    assert measure(picture(one), picture(other)).share == "0.000001"


def test_two_blank_pictures_agree() -> None:
    found = measure(picture(plain((0, 0, 0, 0))), picture(plain((0, 0, 0, 0))))

    assert (found.painted, found.off, found.share) == (0, 0, "0.000000")


def test_pictures_of_two_sizes_are_not_compared() -> None:
    with pytest.raises(CountermarkError, match="differ in size"):
        measure(picture(plain((0, 0, 0, 0), 10)), picture(plain((0, 0, 0, 0), 11)))
