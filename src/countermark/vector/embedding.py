"""The native document inside an SVG, so that the file shows in every program and opens here with everything in it.

The document travels as gzip in base64 in a `metadata` element, which every reader passes over; an element of another
namespace would make some of them warn. Two digests stand beside it: the document's own, and that of the SVG without the
element. When another program changed the drawing, the second one no longer fits, and the document is not taken for the
drawing any more.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import re
import zlib
from dataclasses import dataclass
from typing import Final

from countermark.kernel.canon import sha256_hex
from countermark.vector.container import UNPACKED_MAX, invalid
from countermark.vector.document import Document, rewrite

_OPENING: Final = b'<metadata data-countermark="document"'
_ELEMENT: Final = re.compile(
    rb'  <metadata data-countermark="document" data-sha256="([0-9a-f]{64})" data-drawing="([0-9a-f]{64})">'
    rb"([A-Za-z0-9+/=\n]*)</metadata>\n"
)
_LINE: Final = 120


@dataclass(frozen=True, slots=True)
class Embedded:
    """A native document found in an SVG; `current` says whether the drawing around it is the one it was put into."""

    document: bytes
    current: bool


def embed(svg: bytes, document: bytes) -> bytes:
    """Return an SVG of our writer with a native document inside."""
    packed = base64.b64encode(gzip.compress(document, mtime=0)).decode("ascii")
    lines = "\n".join(packed[at : at + _LINE] for at in range(0, len(packed), _LINE))
    digests = f'data-sha256="{sha256_hex(document)}" data-drawing="{sha256_hex(svg)}"'
    element = f'  <metadata data-countermark="document" {digests}>{lines}</metadata>\n'
    end = svg.index(b"\n", svg.index(b"<svg")) + 1
    return svg[:end] + element.encode("ascii") + svg[end:]


def extract(svg: bytes) -> Embedded | None:
    """Return the native document inside an SVG, None when there is none.

    One that is cut, or that is not the document its digest names, raises `artifact_invalid`.
    """
    if _OPENING not in svg:
        return None
    found = _ELEMENT.search(svg)
    if found is None:
        # Another program wrote the element in its own way: then the drawing is its own too.
        return Embedded(b"", current=False)
    document = _unpacked(found[3])
    if sha256_hex(document).encode("ascii") != found[1]:
        message = "The native document inside the SVG is not the one that its digest names."
        raise invalid(message)
    around = svg[: found.start()] + svg[found.end() :]
    return Embedded(document, sha256_hex(around).encode("ascii") == found[2])


def outdated(document: Document) -> Document:
    """Return a document, imported from a drawing that was changed since, that says so among its losses."""
    said = document.tree.get("countermark", {})
    row = {
        "code": "embedded-document",
        "name": "embedded-document",
        "element": "metadata",
        "path": "/svg/metadata",
        "reason": "the drawing was changed since the native document was put into it; the drawing was imported alone",
    }
    return rewrite(document, {}, countermark={**said, "losses": [*said.get("losses", []), row]})


def _unpacked(text: bytes) -> bytes:
    try:
        engine = zlib.decompressobj(wbits=31)
        document = engine.decompress(base64.b64decode(text), UNPACKED_MAX + 1)
    except (binascii.Error, zlib.error, ValueError) as error:
        message = f"The native document inside the SVG is damaged: {error}."
        raise invalid(message) from error
    if not engine.eof or len(document) > UNPACKED_MAX:
        message = "The native document inside the SVG is cut, or larger than 512 MiB."
        raise invalid(message)
    return document
