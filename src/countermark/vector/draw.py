"""The drawer: one artboard of a native document as PNG bytes, by Skia.

The same display list, size and Skia build give the same bytes: no fonts, no dither, no date, fixed encoder settings.
Colours are sRGB and mix as SVG mixes them, in sRGB; the surface is premultiplied and Skia's encoder divides again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from countermark.kernel.errors import CountermarkError
from countermark.raster.fit import contain
from countermark.vector.artboard import Artboard
from countermark.vector.brush import Brush
from countermark.vector.display import Area, Display, Undrawn
from countermark.vector.document import Document
from countermark.vector.resolve import resolve
from countermark.vector.shader import path_of

MAX_SIDE: Final = 8192
"""Eight times the side of the largest board of the kit: 256 MiB of pixels at the most."""

_FINEST: Final = 4
_FINE_SIDE: Final = 4096  # 64 MiB of pixels while drawing
_QUALITY: Final = 100


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawn board: PNG bytes (RGBA, eight bits, sRGB) and what could not be drawn on it."""

    png: bytes
    width: int
    height: int
    undrawn: tuple[Undrawn, ...]


def draw(document: Document, board: Artboard, width: int, height: int) -> Drawing:
    """Draw an artboard at width x height pixels, fitted inside and centred, on a transparent ground.

    Raise `input_invalid` for a side below 1 or above `MAX_SIDE` and `part_unavailable` when Skia is missing.
    """
    shown = resolve(document, board)
    return Drawing(draw_display(shown, width, height), width, height, shown.undrawn)


def draw_display(shown: Display, width: int, height: int) -> bytes:
    """Draw a display list as PNG bytes."""
    if not (1 <= width <= MAX_SIDE and 1 <= height <= MAX_SIDE):
        raise CountermarkError(
            "input_invalid",
            f"A board of {width} x {height} pixels cannot be drawn.",
            next_action=f"Use sides between 1 and {MAX_SIDE} pixels.",
        )
    skia = _skia()
    box = shown.artboard.box
    fit = contain(box.width, box.height, width, height)
    finer = _finer(width, height)
    surface = _surface(skia, width * finer, height * finer)
    canvas = surface.getCanvas()
    canvas.scale(finer, finer)
    canvas.translate(fit.dx, fit.dy)
    canvas.scale(fit.scale, fit.scale)
    canvas.translate(-box.x0, -box.y0)
    paint_on(canvas, shown)
    while finer > 1:
        finer //= 2
        surface = _halved(skia, surface, width * finer, height * finer)
    return bytes(surface.makeImageSnapshot().encodeToData(skia.kPNG, _QUALITY))


def paint_on(canvas: Any, shown: Display) -> None:
    """Paint a display list on any canvas of Skia's, in document points, cut at the artboard's edge."""
    skia = _skia()
    box = shown.artboard.box
    frame = skia.Rect.MakeLTRB(box.x0, box.y0, box.x1, box.y1)
    canvas.clipRect(frame, True)  # noqa: FBT003 - Skia's signature: anti-aliased
    brush = Brush(skia, canvas)
    if shown.background is not None:
        canvas.drawRect(frame, brush.paint(shown.background, 1.0, "Normal"))
    for item in shown.items:
        brush.item(item)


def _finer(width: int, height: int) -> int:
    """Return how many times finer to draw before averaging, a power of two.

    Skia's edges of cubics are off by up to a quarter of a pixel. On thin rings that is a visible difference: drawn four
    times finer, 2.6 % of the pixels that were off from another engine's became 0.2 % (benchmarks/vector_fidelity.py).
    """
    finer = _FINEST
    while finer > 1 and max(width, height) * finer > _FINE_SIDE:
        finer //= 2
    return finer


def _surface(skia: Any, width: int, height: int) -> Any:
    info = skia.ImageInfo.Make(
        width, height, skia.kRGBA_8888_ColorType, skia.kPremul_AlphaType, skia.ColorSpace.MakeSRGB()
    )
    surface = skia.Surface.MakeRaster(info)
    if surface is None:
        raise CountermarkError(
            "artifact_invalid",
            f"Skia gave no surface of {width} x {height} pixels.",
            next_action="Free memory or draw the board smaller.",
        )
    surface.getCanvas().clear(skia.ColorTRANSPARENT)
    return surface


def _halved(skia: Any, surface: Any, width: int, height: int) -> Any:
    """Return a surface of half the sides whose every pixel is the mean of four, premultiplied."""
    smaller = _surface(skia, width, height)
    paint = skia.Paint()
    paint.setBlendMode(skia.BlendMode.kSrc)
    paint.setDither(False)
    # Linear sampling at exactly one half reads the corner where four pixels meet.
    sampling = skia.SamplingOptions(skia.FilterMode.kLinear)
    smaller.getCanvas().drawImageRect(surface.makeImageSnapshot(), skia.Rect.MakeWH(width, height), sampling, paint)
    return smaller


@cache
def _skia() -> Any:
    try:
        import skia  # noqa: PLC0415 - 50 MB that only drawing needs
    except ImportError as error:
        raise CountermarkError(
            "part_unavailable",
            f"Skia, which draws the boards, cannot be loaded: {error}.",
            next_action="Install the extra, pip install 'countermark[vector]', and the packages libgl1 and libegl1.",
            details={"part": "skia-python"},
        ) from error
    return skia


def skia_path(area: Area) -> Any:
    """Return an area as a path of Skia's."""
    return path_of(_skia(), area)
