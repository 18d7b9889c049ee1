"""A PNG that carries a scene in a text chunk; its picture is never decoded (RFC 2083 §4, §5; research scene §1.7)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

from countermark.scene.codes import refuse
from countermark.scene.exchange.inflate import MOST_PACKED, beyond, broken, inflated
from countermark.scene.exchange.payload import MEDIA_TYPE, unpacked

MAGIC: Final = b"\x89PNG\r\n\x1a\n"
_HEAD: Final = 8
_AROUND: Final = 12
_LONGEST_KEYWORD: Final = 79
_KEYWORD: Final = MEDIA_TYPE.encode("ascii")


def carried(data: bytes, cap: int) -> bytes:
    """Return the bytes of the scene that a PNG carries; of several, the first.

    Raises `invalid_scene` when it carries none, or its chunks do not fit together, and `too_large` past `cap` bytes.
    """
    for kind, content in _chunks(data):
        keyword, parted, rest = _split(content) if kind in _TEXTS else (b"", b"", memoryview(b""))
        if keyword == _KEYWORD and parted:
            text = _TEXTS[kind](rest, cap * MOST_PACKED)
            if len(text) > cap * MOST_PACKED:
                raise beyond(cap * MOST_PACKED)
            # The editor writes bytes as Latin-1 characters; a bare scene of an older program may be UTF-8 as it is.
            spelled = text if kind == b"iTXt" or text.isascii() else text.decode("latin-1").encode()
            return unpacked(spelled, cap)
    raise refuse(
        "invalid_scene",
        "The PNG carries no scene: it is a picture only.",
        next_action="Export it again with the scene embedded.",
        details={"reason": "no-scene"},
    )


def _chunks(data: bytes) -> Iterator[tuple[bytes, memoryview]]:
    view, at = memoryview(data), len(MAGIC)
    while True:
        if at + _AROUND > len(data):
            raise broken("PNG", "ends before its last chunk")
        length = int.from_bytes(view[at : at + 4], "big")
        if length > len(data) - at - _AROUND:
            raise broken("PNG", "has a chunk that is longer than the file")
        kind, content = bytes(view[at + 4 : at + _HEAD]), view[at + _HEAD : at + _HEAD + length]
        if at == len(MAGIC) and kind != b"IHDR":
            raise broken("PNG", "does not begin with its header")
        if kind in _TEXTS and zlib.crc32(view[at + 4 : at + _HEAD + length]) != int.from_bytes(
            view[at + _HEAD + length : at + _AROUND + length], "big"
        ):
            raise broken("PNG", "has a text whose checksum is another")
        yield kind, content
        if kind == b"IEND":
            return
        at += _AROUND + length


def _split(content: memoryview) -> tuple[bytes, bytes, memoryview]:
    keyword, parted, _ = bytes(content[: _LONGEST_KEYWORD + 1]).partition(b"\0")
    return keyword, parted, content[len(keyword) + 1 :]


def _plain(rest: memoryview, _: int) -> bytes:
    return bytes(rest)


def _packed(rest: memoryview, cap: int) -> bytes:
    if bytes(rest[:1]) != b"\0":
        raise broken("PNG", "has a text that is packed in a way that is not known")
    return inflated(rest[1:], cap)


def _international(rest: memoryview, cap: int) -> bytes:
    # compression flag, compression method, language, NUL, translated keyword, NUL, text (UTF-8)
    flag, method = bytes(rest[:1]), bytes(rest[1:2])
    _, first, after = bytes(rest[2:]).partition(b"\0")
    _, second, text = after.partition(b"\0")
    if not first or not second or flag not in (b"\0", b"\1") or (flag == b"\1" and method != b"\0"):
        raise broken("PNG", "has a text whose head is not sound")
    return inflated(text, cap) if flag == b"\1" else text


_TEXTS: Final = {b"tEXt": _plain, b"zTXt": _packed, b"iTXt": _international}
