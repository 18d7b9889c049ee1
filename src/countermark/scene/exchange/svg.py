"""An SVG that carries a scene in comments. It is searched as bytes and never parsed: nothing in it can act (§1.7)."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from countermark.scene.codes import refuse
from countermark.scene.exchange.inflate import MOST_PACKED, beyond, broken
from countermark.scene.exchange.payload import MEDIA_TYPE, unpacked

_TYPE: Final = f"<!-- payload-type:{MEDIA_TYPE} -->".encode()
_VERSION: Final = re.compile(rb"<!-- payload-version:([0-9]{1,3}) -->")
_BEGIN: Final = b"<!-- payload-start -->"
_END: Final = b"<!-- payload-end -->"
_AS_UTF8: Final = b"1"


def carried(data: bytes, cap: int) -> bytes:
    """Return the bytes of the scene that an SVG carries; of several, the first.

    Raises `invalid_scene` when it carries none, or one that is not whole, and `too_large` past `cap` bytes.
    """
    at = data.find(_TYPE)
    begin = data.find(_BEGIN, at) if at >= 0 else -1
    if begin < 0:
        raise refuse(
            "invalid_scene",
            "The SVG carries no scene: it is a picture only.",
            next_action="Export it again with the scene embedded, or import it as an image in the editor.",
            details={"reason": "no-scene"},
        )
    begin += len(_BEGIN)
    end = data.find(_END, begin)
    if end < 0:
        raise broken("SVG", "ends before the scene in it does")
    if end - begin > cap * MOST_PACKED * 4 // 3:
        raise beyond(cap * MOST_PACKED)
    try:
        text = base64.b64decode(b"".join(data[begin:end].split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise broken("SVG", "carries a scene that is no base64") from error
    version = _VERSION.search(data, at, begin)
    if version is not None and version[1] == _AS_UTF8:
        return unpacked(text, cap)
    return unpacked(text.decode("latin-1").encode(), cap)
