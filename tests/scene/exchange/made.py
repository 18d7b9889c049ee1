"""Files as other programs write them, made by the formats' own descriptions and not by what reads them."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

TYPE = "application/vnd.excalidraw+json"
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def text(name: str = "t", said: Any = "Hello", **more: Any) -> dict[str, Any]:
    return {
        "id": name, "type": "text", "x": 1, "y": 2, "width": 50, "height": 25, "text": said, "originalText": said,
        "fontSize": 20, "fontFamily": 5, "isDeleted": False, **more,
    }  # fmt: skip


def box(name: str = "box", **more: Any) -> dict[str, Any]:
    return {"id": name, "type": "rectangle", "x": 0, "y": 0, "width": 100, "height": 50, "isDeleted": False, **more}


def scene(*elements: Any, **more: Any) -> bytes:
    value = {"type": "excalidraw", "version": 2, "source": "elsewhere", "elements": list(elements), **more}
    return json.dumps(value, indent=2).encode()


def payload(document: bytes, *, compressed: bool = True) -> str:
    packed = zlib.compress(document) if compressed else document
    said = {"version": "1", "encoding": "bstring", "compressed": compressed, "encoded": packed.decode("latin-1")}
    return json.dumps(said, ensure_ascii=False)


def chunk(kind: bytes, content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + kind + content + zlib.crc32(kind + content).to_bytes(4, "big")


def png(*chunks: bytes) -> bytes:
    header = chunk(b"IHDR", bytes([0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0]))
    pixels = chunk(b"IDAT", zlib.compress(b"\0\0\0\0\0"))
    return SIGNATURE + header + pixels + b"".join(chunks) + chunk(b"IEND", b"")


def plain(document: bytes) -> bytes:
    return chunk(b"tEXt", TYPE.encode() + b"\0" + payload(document).encode("latin-1"))


def packed(document: bytes) -> bytes:
    return chunk(b"zTXt", TYPE.encode() + b"\0\0" + zlib.compress(payload(document).encode("latin-1")))


def international(document: bytes, *, compressed: bool) -> bytes:
    said = payload(document).encode()
    flag = b"\1\0" if compressed else b"\0\0"
    return chunk(b"iTXt", TYPE.encode() + b"\0" + flag + b"\0\0" + (zlib.compress(said) if compressed else said))


def svg(document: bytes, version: int = 2) -> bytes:
    said = payload(document).encode("latin-1" if version != 1 else "utf-8")
    return (
        b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script><metadata>'
        b"<!-- payload-type:%s --><!-- payload-version:%d -->"
        b"<!-- payload-start -->%s<!-- payload-end --></metadata></svg>"
    ) % (TYPE.encode(), version, base64.b64encode(said))


def note(drawing: str, *, fence: str = "compressed-json", before: str = "", sections: str = "") -> bytes:
    return (
        "---\n\nexcalidraw-plugin: parsed\ntags: [excalidraw]\n\n---\n"
        "==⚠  Switch to EXCALIDRAW VIEW in the MORE OPTIONS menu of this document. ⚠== You can decompress it\n"
        f"{before}\n\n# Excalidraw Data\n\n{sections}%%\n## Drawing\n```{fence}\n{drawing}\n```\n%%\n"
    ).encode()
