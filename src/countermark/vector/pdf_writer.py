"""The PDF writer: a page for each artboard, by Skia's PDF backend; qpdf, through pikepdf, adds what Skia cannot say.

A page has its artboard's size (1 point = 1 document point) and its id as page label. Shapes, gradients and blending
stay what they are: a raster appears only where PDF has no word for an effect, and then at 300 dots an inch. The same
display lists give the same bytes: no date is written, because the document has none, and the file's identifier is
made of its content.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from countermark.kernel.errors import CountermarkError
from countermark.vector.display import Display
from countermark.vector.draw import paint_on

LONGEST: Final = 14_400.0
"""Points that a page's side may have in viewers (ISO 32000-1, Annex C); a longer one is scaled, with its unit said."""

RASTER_DPI: Final = 300
PRODUCER: Final = "countermark"


def write_pages(pages: Sequence[Display], title: str) -> bytes:
    """Return one PDF whose pages show these display lists in order; raise `part_unavailable` without its engines."""
    skia, pikepdf = _engines()
    stream = skia.DynamicMemoryWStream()
    about = skia.PDF.Metadata()
    about.fTitle = title
    about.fProducer = PRODUCER
    about.fRasterDPI = RASTER_DPI
    made = skia.PDF.MakeDocument(stream, about)
    units: list[float] = []
    sides: list[tuple[float, float]] = []
    for shown in pages:
        box = shown.artboard.box
        unit = max(1.0, box.width / LONGEST, box.height / LONGEST)
        units.append(unit)
        sides.append((box.width / unit, box.height / unit))
        canvas = made.beginPage(*sides[-1])
        canvas.scale(1 / unit, 1 / unit)
        canvas.translate(-box.x0, -box.y0)
        paint_on(canvas, shown)
        made.endPage()
    made.close()
    with pikepdf.open(io.BytesIO(bytes(stream.detachAsData()))) as pdf:
        labels: list[Any] = []
        for index, shown in enumerate(pages):
            labels += [index, pikepdf.Dictionary(P=pikepdf.String(label(shown)))]
            page = pdf.pages[index]
            # Skia makes pages a whole number of raster dots high and wide; the artboard hangs from the upper left.
            top = Decimal(page.MediaBox[3])
            width, height = (Decimal(f"{side:.6f}") for side in sides[index])
            page.MediaBox = pikepdf.Array([0, top - height, width, top])
            if units[index] > 1:
                page.obj["/UserUnit"] = Decimal(f"{units[index]:.6f}")
        pdf.Root["/PageLabels"] = pikepdf.Dictionary(Nums=pikepdf.Array(labels))
        out = io.BytesIO()
        # UserUnit came with PDF 1.6.
        pdf.save(out, deterministic_id=True, min_version="1.6" if max(units, default=1) > 1 else "1.4")
    return out.getvalue()


def label(shown: Display) -> str:
    """Return a page's label: the artboard's id, as in file names."""
    return f"artboard-{shown.artboard.id}"


def _engines() -> tuple[Any, Any]:
    try:
        import pikepdf  # noqa: PLC0415 - only a PDF needs it
        import skia  # noqa: PLC0415 - 50 MB that only drawing needs
    except ImportError as error:
        raise CountermarkError(
            "part_unavailable",
            f"What writes PDF files cannot be loaded: {error}.",
            next_action="Install the extra: pip install 'countermark[vector]'.",
            details={"part": "pikepdf"},
        ) from error
    return skia, pikepdf
