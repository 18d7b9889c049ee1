from __future__ import annotations

import io
import struct
import zlib

import pytest
from PIL import Image

from countermark.kernel.errors import CountermarkError
from countermark.raster.picture import MAX_PIXELS, decode_png


def png(mode: str = "RGBA", size: tuple[int, int] = (5, 3), colour: object = (10, 20, 30, 40)) -> bytes:
    held = io.BytesIO()
    Image.new(mode, size, colour).save(held, "PNG")  # type: ignore[arg-type]
    return held.getvalue()


def code_of(data: bytes) -> str:
    with pytest.raises(CountermarkError) as caught:
        decode_png(data)
    return caught.value.code


def test_a_picture_has_its_size_mode_alpha_and_straight_colours() -> None:
    picture = decode_png(png())

    assert (picture.width, picture.height, picture.mode, picture.has_alpha) == (5, 3, "RGBA", True)
    assert picture.rgba.shape == (3, 5, 4)
    assert picture.rgba[0, 0].tolist() == [10, 20, 30, 40]


def test_an_opaque_file_is_said_to_have_no_alpha() -> None:
    picture = decode_png(png("RGB", colour=(1, 2, 3)))

    assert not picture.has_alpha
    assert picture.rgba[0, 0].tolist() == [1, 2, 3, 255]


def test_a_header_that_claims_too_much_is_refused_before_anything_is_decoded() -> None:
    side = 1 << 15
    assert side * side > MAX_PIXELS
    header = b"IHDR" + struct.pack(">IIBBBBB", side, side, 8, 6, 0, 0, 0)
    huge = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))

    assert code_of(huge) == "input_too_large"


@pytest.mark.parametrize("keep", [0, 7, 20, 40, -1, -12])
def test_a_file_that_is_cut_short_is_refused(keep: int) -> None:
    assert code_of(png()[:keep]) == "artifact_invalid"


def test_a_changed_byte_inside_a_chunk_is_refused() -> None:
    data = bytearray(png(size=(64, 64)))
    data[data.index(b"IDAT") + 6] ^= 0x40

    assert code_of(bytes(data)) == "artifact_invalid"


def test_another_format_is_refused_although_the_decoder_could_read_it() -> None:
    held = io.BytesIO()
    Image.new("RGB", (4, 4)).save(held, "JPEG")

    assert code_of(held.getvalue()) == "artifact_invalid"
