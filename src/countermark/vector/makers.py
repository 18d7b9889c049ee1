"""Who makes what: the identities of the importer, the drawer and the writer, for verdicts and receipts."""

from __future__ import annotations

from typing import Final

from countermark.kernel.proof import Engine
from countermark.vector import identity

SKIA: Final = "skia-python"
READING: Final = (
    "raster/encoded.py",
    "raster/fit.py",
    "raster/picture.py",
    "vector/affine.py",
    "vector/artboard.py",
    "vector/brush.py",
    "vector/container.py",
    "vector/display.py",
    "vector/document.py",
    "vector/draw.py",
    "vector/embedded.py",
    "vector/ground.py",
    "vector/knockout.py",
    "vector/marking.py",
    "vector/member.py",
    "vector/paint_server.py",
    "vector/path.py",
    "vector/resolve.py",
    "vector/reversal.py",
    "vector/shader.py",
    "vector/shape.py",
    "vector/variant.py",
)
SHARED: Final = (
    "vector/colour.py",
    "vector/container.py",
    "vector/document.py",
    "vector/paint.py",
    "vector/paint_server.py",
    "vector/shape.py",
    "vector/svg/colour.py",
    "vector/svg/number.py",
)
"""What the swatch editor and the guard over it both read a document and its colours with."""
_COLOURING: Final = ("vector/swatch.py", *SHARED)


def drawer() -> Engine:
    """Return the maker of PNGs: Skia together with the sources that drive it."""
    skia = identity.distribution(SKIA)
    ours = _ours("vector/opaque.py", *READING)
    return identity.together(f"countermark drawer on {skia.label}", skia, ours)


def writer() -> Engine:
    """Return the maker of SVGs: our own sources."""
    return _ours("vector/svg_spelling.py", "vector/svg_writer.py", *READING, label="countermark SVG writer")


def pdf_writer() -> Engine:
    """Return the maker of PDFs: Skia and qpdf, through pikepdf, with the sources that drive them."""
    skia, qpdf = identity.distribution(SKIA), identity.distribution("pikepdf")
    ours = _ours("vector/pdf_writer.py", *READING)
    return identity.together(f"countermark PDF writer on {skia.label} and {qpdf.label}", skia, qpdf, ours)


def compiler() -> Engine:
    """Return the maker of the files that are made of boards: our own sources."""
    names = ("compile", "derivable", "embedding", "icon", "kit", "token_writer")
    own = tuple(f"vector/{name}.py" for name in names)
    return _ours(*own, *READING, label="countermark kit compiler")


def importer() -> Engine:
    """Return the maker of native documents from SVGs: our own sources."""
    return _ours(*identity.modules("vector/svg"), *READING, label="countermark SVG importer")


def editor() -> Engine:
    """Return the maker of recoloured documents: our own sources."""
    return _ours(
        "vector/palette.py",
        "vector/recolour.py",
        "vector/token.py",
        *_COLOURING,
        *READING,
        label="countermark swatch editor",
    )


def guard() -> Engine:
    """Return the observer of recoloured documents: our own sources, of which `SHARED` are the editor's too."""
    return _ours("vector/brand.py", *SHARED, label="countermark brand guard")


def all_makers() -> dict[str, Engine]:
    """Return every maker by what it makes."""
    return {"png": drawer(), "svg": writer(), "native": importer(), "pdf": pdf_writer(), "kit": compiler()}


def _ours(*names: str, label: str = "countermark") -> Engine:
    return identity.sources(label, *sorted(set(names)))
