"""Embedded pictures: what the bytes of one really are, whatever they are called, and whether they can be read whole.

The type is told by the first bytes, never by a label. The header is read before anything is decoded, so that a small
file that claims a huge picture is refused without allocating it.
"""

from __future__ import annotations

import io
import struct
import warnings
from typing import Final, NamedTuple

from countermark.kernel.errors import CountermarkError, Ending, register
from countermark.raster.picture import MAX_PIXELS

register(Ending.USAGE, "picture_invalid")

_FORMATS: Final = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WEBP"}


class Encoded(NamedTuple):
    """A picture's real type and its size in pixels."""

    mime: str
    width: int
    height: int


def kind_of(data: bytes) -> str:
    """Return the media type that the first bytes show: PNG, JPEG, GIF, WebP or SVG; empty when they show none."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    head = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    return "image/svg+xml" if head.startswith(b"<") and b"<svg" in data[:65536] else ""


def read_header(data: bytes) -> Encoded:
    """Return what a raster picture is, from its header alone.

    Raise `picture_invalid` for bytes that are no picture of a known type and `input_too_large` past `MAX_PIXELS`.
    """
    mime = kind_of(data)
    if mime not in _FORMATS:
        raise _invalid("it is no PNG, JPEG, GIF or WebP")
    from PIL import Image  # noqa: PLC0415 - only a drawing with pictures needs it

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=[_FORMATS[mime]]) as opened:
                width, height = opened.size
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_large() from error
    except (OSError, SyntaxError, ValueError, EOFError, struct.error) as error:
        raise _invalid(f"its {_FORMATS[mime]} header cannot be read") from error
    if width * height > MAX_PIXELS:
        raise _too_large()
    return Encoded(mime, width, height)


def read_whole(data: bytes) -> Encoded:
    """Return what a raster picture is after decoding its first frame to the end; raise as `read_header` does.

    A file that is cut short or damaged raises `picture_invalid`.
    """
    found = read_header(data)
    from PIL import Image  # noqa: PLC0415

    try:
        with Image.open(io.BytesIO(data), formats=[_FORMATS[found.mime]]) as opened:
            opened.load()
    except (OSError, SyntaxError, ValueError, EOFError, struct.error) as error:
        raise _invalid("it is cut short or damaged") from error
    return found


def _too_large() -> CountermarkError:
    return CountermarkError(
        "input_too_large",
        f"The picture claims more than {MAX_PIXELS} pixels.",
        next_action="Embed a smaller picture.",
        details={"limit": MAX_PIXELS},
    )


def _invalid(reason: str) -> CountermarkError:
    return CountermarkError(
        "picture_invalid", f"The picture cannot be read: {reason}.", next_action="Embed a whole picture."
    )
