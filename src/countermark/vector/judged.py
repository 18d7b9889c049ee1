"""Pictures that the judges drew, kept while one kit is looked at: several checks ask for the same one."""

from __future__ import annotations

from functools import lru_cache

from countermark.raster import judge, page
from countermark.raster.picture import Picture, decode_png

_KEPT = 8  # of at most 4 MiB each: the boards of one artboard


@lru_cache(maxsize=_KEPT)
def svg_picture(svg: bytes, width: int, height: int) -> judge.Judged:
    """Return an SVG of ours as resvg shows it; see `judge.render`."""
    return judge.render(svg, width, height)


@lru_cache(maxsize=_KEPT)
def page_picture(pdf: bytes, index: int, width: int, height: int) -> Picture:
    """Return a page as pdfium shows it; see `page.render`."""
    return page.render(pdf, index, width, height)


@lru_cache(maxsize=_KEPT)
def png_picture(png: bytes) -> Picture:
    """Return a PNG as Pillow decodes it; see `decode_png`."""
    return decode_png(png)
