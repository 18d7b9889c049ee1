"""The pictures that a native file holds: base64 in its JSON, or raw after it once they are large."""

from __future__ import annotations

import base64
import binascii
from typing import Final

from countermark.kernel.canon import sha256_hex
from countermark.vector.container import Json
from countermark.vector.document import Document

LARGE: Final = 8192
"""Bytes from which the format keeps a picture after the JSON (version 4 on)."""


def data_of(document: Document, key: str) -> bytes | None:
    """Return a picture's encoded bytes; None when the file holds none under this key or they cannot be read."""
    entry = document.file.get("images", {}).get(key)
    if not isinstance(entry, dict):
        return None
    if entry.get("blob") is not None:
        offset, length = entry["blob"]
        return document.blobs[offset : offset + length]
    try:
        return base64.b64decode(str(entry.get("data", "")), validate=True)
    except (binascii.Error, ValueError):
        return None


def held(pictures: dict[str, tuple[str, bytes]], blobs: bytes = b"") -> tuple[Json, bytes]:
    """Return the container's entries for pictures (type and bytes by key) and the bytes after the JSON with them."""
    entries: Json = {}
    for key, (mime, data) in pictures.items():
        if len(data) >= LARGE:
            entries[key] = {"mime": mime, "blob": [len(blobs), len(data)]}
            blobs += data
        else:
            entries[key] = {"mime": mime, "data": base64.b64encode(data).decode("ascii")}
    return entries, blobs


def key_for(data: bytes) -> str:
    """Return a picture's key: the beginning of its digest, so that the same picture is held once."""
    return sha256_hex(data)[:24]
