"""Pages of a PDF as pdfium shows them: labels, sizes, what they are made of, and the picture.

pdfium (the browser's own PDF engine) shares no code with Skia's PDF backend, which writes, nor with qpdf.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from countermark.kernel.errors import CountermarkError
from countermark.raster.fit import contain
from countermark.raster.picture import MAX_PIXELS, Picture

DISTRIBUTION: Final = "pypdfium2"
MAX_BYTES: Final = 512 << 20
FINER: Final = 4
"""pdfium sets the edges of upright rectangles on whole pixels; a page is drawn finer and averaged to undo that."""

_LEVELS: Final = 16  # of forms within forms that are counted


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its label, its sides in points, and how many of each kind of object it is made of."""

    label: str
    width: float
    height: float
    objects: dict[str, int]


@dataclass(frozen=True, slots=True)
class Outline:
    """What a PDF says of itself: its pages in order, and what its information dictionary names."""

    pages: tuple[Page, ...]
    title: str
    dates: tuple[str, ...]


def outline(data: bytes) -> Outline:
    """Return the outline of a PDF; raise `artifact_invalid` for a file that pdfium does not open."""
    with _opened(data) as (document, pdfium):
        names = {getattr(pdfium.raw, f"FPDF_PAGEOBJ_{kind}"): kind.lower() for kind in _KINDS}
        pages = []
        for index in range(len(document)):
            page = document[index]
            counts: dict[str, int] = {}
            for found in page.get_objects(max_depth=_LEVELS):
                kind = names.get(found.type, "other")
                counts[kind] = counts.get(kind, 0) + 1
            width, height = page.get_size()
            pages.append(Page(document.get_page_label(index), width, height, dict(sorted(counts.items()))))
        said = document.get_metadata_dict()
    dates = tuple(said[name] for name in ("CreationDate", "ModDate") if said.get(name))
    return Outline(tuple(pages), said.get("Title", ""), dates)


def render(data: bytes, index: int, width: int, height: int) -> Picture:
    """Render a page of a PDF into width x height pixels, fitted inside and centred on a transparent ground."""
    if width < 1 or height < 1 or width * height * FINER * FINER > MAX_PIXELS:
        raise CountermarkError(
            "input_invalid",
            f"A page cannot be rendered at {width} x {height} pixels.",
            next_action=f"Use sides of at least 1 and at most {MAX_PIXELS // FINER**2} pixels in all.",
        )
    import numpy as np  # noqa: PLC0415 - takes longer to import than the whole command line

    with _opened(data) as (document, pdfium):
        page, raw = document[index], pdfium.raw
        across, down = page.get_size()
        fit = contain(across, down, width, height)
        high, wide, scale = height * FINER, width * FINER, fit.scale * FINER
        drawn = np.zeros((high, wide, 4), dtype=np.uint8)
        bitmap = raw.FPDFBitmap_CreateEx(wide, high, raw.FPDFBitmap_BGRA, drawn.ctypes.data, wide * 4)
        if not bitmap:
            raise _invalid("pdfium gave no bitmap")
        try:
            matrix = raw.FS_MATRIX(scale, 0, 0, scale, fit.dx * FINER, fit.dy * FINER)
            raw.FPDF_RenderPageBitmapWithMatrix(bitmap, page.raw, matrix, raw.FS_RECTF(0, 0, wide, high), 0)
        finally:
            raw.FPDFBitmap_Destroy(bitmap)
    return Picture(width, height, "RGBA", has_alpha=True, rgba=_averaged(drawn)[..., [2, 1, 0, 3]])


def _averaged(drawn: Any) -> Any:
    """Return a picture of a quarter of the sides; each pixel is the mean of sixteen, weighted by their alpha."""
    import numpy as np  # noqa: PLC0415

    high, wide = drawn.shape[0] // FINER, drawn.shape[1] // FINER
    alpha = drawn[..., 3].astype(np.uint32)

    def summed(channel: Any) -> Any:
        return channel.reshape(high, FINER, wide, FINER).sum(axis=(1, 3), dtype=np.uint32)

    weight = summed(alpha)
    found = np.empty((high, wide, 4), dtype=np.uint8)
    for index in range(3):
        product = summed(drawn[..., index] * alpha)
        found[..., index] = (product + weight // 2) // np.maximum(weight, 1)
    found[..., 3] = (weight + FINER * FINER // 2) // (FINER * FINER)
    return found


_KINDS: Final = ("TEXT", "PATH", "IMAGE", "SHADING", "FORM")


@contextmanager
def _opened(data: bytes) -> Iterator[tuple[Any, Any]]:
    try:
        import pypdfium2  # noqa: PLC0415 - only a check needs it
    except ImportError as error:
        raise CountermarkError(
            "part_unavailable",
            "pdfium, which looks at PDF files, is not installed.",
            next_action="Install the extra: pip install 'countermark[vector]'.",
            details={"part": DISTRIBUTION},
        ) from error
    if len(data) > MAX_BYTES:
        raise CountermarkError(
            "input_too_large", f"The PDF has {len(data)} bytes; at most {MAX_BYTES} are read.", next_action="Split it."
        )
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise _invalid(str(error)) from error
    try:
        yield document, pypdfium2
    except pypdfium2.PdfiumError as error:
        raise _invalid(str(error)) from error
    finally:
        document.close()


def _invalid(reason: str) -> CountermarkError:
    return CountermarkError(
        "artifact_invalid",
        f"The PDF could not be opened: {reason}.",
        next_action="Export it again; if it fails again, keep the file and report it.",
    )
