"""Unpacking what somebody else packed: never more than the cap, and only what is whole."""

from __future__ import annotations

import zlib
from typing import Final, NoReturn

from countermark.scene.codes import SceneError, refuse


def inflated(data: bytes | memoryview, cap: int) -> bytes:
    """Return the content of a zlib stream; raise `too_large` past `cap` bytes, `invalid_scene` for what is no stream.

    No more than the cap is ever held, however much a stream unpacks to; one that is cut short, or has something behind
    its end, is refused.
    """
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(data, cap + 1)
    except zlib.error as error:
        raise broken("packed data", "cannot be unpacked") from error
    if len(found) > cap:
        raise beyond(cap)
    if not stream.eof:
        _broken("packed data", "is cut short")
    if stream.unused_data:
        _broken("packed data", "has something behind its end")
    return found


def beyond(cap: int, what: str = "What the file carries") -> SceneError:
    """Return the refusal of what unpacks to more than is allowed."""
    return refuse(
        "too_large",
        f"{what} has more than {cap} bytes.",
        next_action="Make the drawing smaller, or divide it.",
        details={"allowed": cap, "unit": "bytes"},
    )


def broken(what: str, why: str, reason: str = "damaged") -> SceneError:
    """Return the refusal of a file whose parts do not fit together."""
    return refuse(
        "invalid_scene",
        f"The {what} {why}.",
        next_action="Export the drawing again, with the scene embedded.",
        details={"reason": reason},
    )


def _broken(what: str, why: str) -> NoReturn:
    raise broken(what, why)


MOST_PACKED: Final = 4
"""The text around a packed scene may have so many times the bytes that a scene may have: control characters are six."""
