"""Who makes what: the identities of the importer, the drawer and the writer, for verdicts and receipts."""

from __future__ import annotations

from typing import Final

from countermark.kernel.proof import Engine
from countermark.vector import identity

SKIA: Final = "skia-python"
READING: Final = (
    "raster/fit.py",
    "vector/affine.py",
    "vector/artboard.py",
    "vector/container.py",
    "vector/display.py",
    "vector/document.py",
    "vector/member.py",
    "vector/paint_server.py",
    "vector/path.py",
    "vector/resolve.py",
    "vector/shape.py",
)


def drawer() -> Engine:
    """Return the maker of PNGs: Skia together with the sources that drive it."""
    skia = identity.distribution(SKIA)
    return identity.together(f"countermark drawer on {skia.label}", skia, _ours("vector/draw.py", *READING))


def writer() -> Engine:
    """Return the maker of SVGs: our own sources."""
    return _ours("vector/svg_writer.py", *READING, label="countermark SVG writer")


def importer() -> Engine:
    """Return the maker of native documents from SVGs: our own sources."""
    return _ours(*identity.modules("vector/svg"), *READING, label="countermark SVG importer")


def all_makers() -> dict[str, Engine]:
    """Return every maker by what it makes."""
    return {"png": drawer(), "svg": writer(), "native": importer()}


def _ours(*names: str, label: str = "countermark") -> Engine:
    return identity.sources(label, *names)
