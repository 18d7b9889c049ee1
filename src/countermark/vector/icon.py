"""Icons that are made of boards: the Windows icon file, the sprite of symbols, and the manifest that names icons."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Sequence
from typing import Final
from xml.sax.saxutils import quoteattr

from countermark.kernel.errors import CountermarkError

_ENTRY: Final = struct.Struct("<BBBBHHII")
_HEADER: Final = struct.Struct("<HHH")
_ICON: Final = 1
_LARGEST: Final = 256
_TAG: Final = re.compile(r"<[^>]*>")
_ID: Final = re.compile(r'(\bid="|url\(#|href="#)')


def ico(pngs: Sequence[bytes]) -> bytes:
    """Return an icon file whose entries are these PNGs, RGBA, of at most 256 pixels a side, in this order."""
    entries, bodies = [], []
    offset = _HEADER.size + _ENTRY.size * len(pngs)
    for png in pngs:
        width, height = struct.unpack_from(">II", png, 16)
        if not (png.startswith(b"\x89PNG\r\n\x1a\n") and 1 <= width <= _LARGEST and 1 <= height <= _LARGEST):
            raise CountermarkError(
                "input_invalid",
                "An icon's entry has to be a PNG of 1 to 256 pixels a side.",
                next_action="Draw the board smaller.",
            )
        # 256 is written as 0; 1 plane and 32 bits a pixel say that the entry has alpha.
        entries.append(_ENTRY.pack(width % _LARGEST, height % _LARGEST, 0, 0, 1, 32, len(png), offset))
        bodies.append(png)
        offset += len(png)
    return b"".join([_HEADER.pack(0, _ICON, len(pngs)), *entries, *bodies])


def sprite(symbols: Sequence[tuple[str, bytes]]) -> bytes:
    """Return an SVG of symbols from the SVGs that our writer made, by id; nothing shows until a `use` names one.

    Every id inside gets its symbol's id in front, so that two drawings never share a gradient.
    """
    lines = ['<svg xmlns="http://www.w3.org/2000/svg" width="0" height="0">']
    for name, svg in symbols:
        opening, _, rest = svg.decode("utf-8").partition("\n")
        view_box = re.search(r'viewBox="([^"]*)"', opening)
        body = rest.rpartition("</svg>")[0]
        body = _TAG.sub(lambda tag, name=name: _ID.sub(rf"\g<1>{name}-", tag[0]), body)  # type: ignore[misc]
        lines += [f'<symbol id="{name}" viewBox={quoteattr(view_box[1] if view_box else "")}>', body + "</symbol>"]
    return "\n".join([*lines, "</svg>", ""]).encode("utf-8")


def manifest(title: str, icons: Sequence[tuple[str, int, str, str]]) -> bytes:
    """Return a web application manifest that names icons by file, side in pixels, media type and purpose."""
    rows = [
        {"src": src, "sizes": f"{side}x{side}", "type": kind, "purpose": purpose} for src, side, kind, purpose in icons
    ]
    return (json.dumps({"name": title, "icons": rows}, ensure_ascii=False, indent=2) + "\n").encode("utf-8")
