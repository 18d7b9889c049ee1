"""The files of a kit that are made of the document and of its boards, one function for each kind.

The engine calls these over the boards it has just written: an icon file holds the very bytes of the boards it names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from countermark.vector import icon, token_writer
from countermark.vector.artboard import artboards
from countermark.vector.derivable import refusals
from countermark.vector.document import Document
from countermark.vector.embedding import embed
from countermark.vector.kit import BOARDS, MANIFEST_BOARDS, MEDIA_TYPES
from countermark.vector.pdf_writer import write_pages
from countermark.vector.resolve import resolve


@dataclass(frozen=True, slots=True)
class Material:
    """What a file is made of: the document, its bytes, and the boards it has as parts, by name in their order."""

    document: Document
    data: bytes
    parts: Mapping[str, bytes]


def compiled(kind: str, material: Material) -> bytes:
    """Return the bytes of a file of one kind."""
    return KINDS[kind](material)


def _pdf(material: Material) -> bytes:
    document = material.document
    pages = [resolve(document, board) for board in artboards(document)]
    return write_pages(pages, _title(document))


def _ico(material: Material) -> bytes:
    return icon.ico(list(material.parts.values()))


def _editable(material: Material) -> bytes:
    (svg,) = material.parts.values()
    return embed(svg, material.data)


def _sprite(material: Material) -> bytes:
    return icon.sprite([(f"artboard-{name.split('-')[1]}", svg) for name, svg in material.parts.items()])


def _manifest(material: Material) -> bytes:
    sides = {board.id: board.width for board in BOARDS}
    rows = [
        (name, sides[row], MEDIA_TYPES["png"], purpose)
        for name, (row, purpose) in zip(material.parts, MANIFEST_BOARDS, strict=True)
    ]
    return icon.manifest(_title(material.document), rows)


def _native(material: Material) -> bytes:
    return material.data


def _title(document: Document) -> str:
    return str(document.tree.get("title", ""))


def _tokens(material: Material) -> bytes:
    return token_writer.dtcg(token_writer.colours(material.document), token_writer.aliases(material.document))


def _css(material: Material) -> bytes:
    return token_writer.css(token_writer.colours(material.document))


def _variants(material: Material) -> bytes:
    """Return which variants in other inks the artboards do not have, and why."""
    found = [
        {"artboard": board.id, "variant": name, "reason": reason}
        for board in artboards(material.document)
        for name, reason in refusals(resolve(material.document, board)).items()
    ]
    return json.dumps({"missing": found}, ensure_ascii=False, indent=1).encode("utf-8")


KINDS: Final[Mapping[str, Callable[[Material], bytes]]] = {
    "css": _css,
    "editable": _editable,
    "ico": _ico,
    "manifest": _manifest,
    "native": _native,
    "pdf": _pdf,
    "sprite": _sprite,
    "tokens": _tokens,
    "variants": _variants,
}
