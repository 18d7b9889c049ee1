"""A decoded picture: straight (not premultiplied) RGBA, eight bits a channel, with bounds checked before decoding.

Pillow decodes, because it made none of our pictures. The header is read first, so that a small file that claims a
huge picture is refused without allocating it.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from countermark.kernel.errors import CountermarkError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MAX_PIXELS: Final = 64 * 1024 * 1024
"""As many as the largest picture that is drawn here, 8,192 x 8,192: 256 MiB decoded."""

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_HEADER: Final = struct.Struct(">II")
_END: Final = b"\x00\x00\x00\x00IEND\xaeB`\x82"
_HEADER_END: Final = 33


@dataclass(frozen=True, slots=True)
class Picture:
    """One decoded picture: `rgba` has shape (height, width, 4), dtype uint8, straight alpha, sRGB.

    `mode` and `has_alpha` describe the file, not the array: an opaque RGB file has `has_alpha` False.
    """

    width: int
    height: int
    mode: str
    has_alpha: bool
    rgba: npt.NDArray[np.uint8]


def png_size(data: bytes) -> tuple[int, int]:
    """Return width and height from a PNG header; raise `artifact_invalid` when the bytes do not begin like a PNG."""
    if not data.startswith(_SIGNATURE) or len(data) < _HEADER_END or data[12:16] != b"IHDR":
        raise _invalid("the bytes do not begin with a PNG header")
    width, height = _HEADER.unpack_from(data, 16)
    return int(width), int(height)


def decode_png(data: bytes) -> Picture:
    """Decode a PNG with Pillow.

    Raise `artifact_invalid` for a file that is not a PNG, is cut short, has a wrong check sum or an empty side, and
    `input_too_large` for more than `MAX_PIXELS` pixels.
    """
    width, height = png_size(data)
    if width * height > MAX_PIXELS:
        raise CountermarkError(
            "input_too_large",
            f"The picture claims {width} x {height} pixels; at most {MAX_PIXELS} are decoded.",
            next_action="Export the board at a smaller size.",
            details={"width": width, "height": height, "limit": MAX_PIXELS},
        )
    # Pillow accepts a file whose end is missing as long as all rows are there; a cut file is not the file we made.
    if not data.endswith(_END):
        raise _invalid("the file ends before the PNG's last chunk")
    image, numpy = _pillow_and_numpy()
    try:
        with image.open(io.BytesIO(data), formats=["PNG"]) as probe:
            probe.verify()
        with image.open(io.BytesIO(data), formats=["PNG"]) as opened:
            opened.load()
            mode = str(opened.mode)
            has_alpha = mode in {"RGBA", "LA", "PA"} or "transparency" in opened.info
            rgba = numpy.asarray(opened.convert("RGBA"), dtype=numpy.uint8)
    except (OSError, SyntaxError, ValueError, EOFError, struct.error) as error:
        raise _invalid(str(error)) from error
    return Picture(width=width, height=height, mode=mode, has_alpha=has_alpha, rgba=rgba)


def _pillow_and_numpy() -> tuple[Any, Any]:
    try:
        import numpy as np  # noqa: PLC0415 - both take longer to import than the whole command line
        from PIL import Image  # noqa: PLC0415
    except ImportError as error:
        raise CountermarkError(
            "part_unavailable",
            "Pillow and numpy, which decode pictures for the checks, are not installed.",
            next_action="Install the extra: pip install 'countermark[vector]'.",
            details={"part": "pillow"},
        ) from error
    return Image, np


def _invalid(reason: str) -> CountermarkError:
    return CountermarkError(
        "artifact_invalid",
        f"The PNG could not be decoded: {reason}.",
        next_action="Export it again; if it fails again, keep the file and report it.",
    )
