"""An opaque PNG: the same picture without an alpha channel, for places that show transparency as black."""

from __future__ import annotations

from countermark.vector.display import Display
from countermark.vector.draw import draw_display


def draw_opaque(shown: Display, width: int, height: int) -> bytes:
    """Draw a display list that has a ground as PNG bytes of colour type RGB."""
    import skia  # noqa: PLC0415 - 50 MB that only drawing needs

    image = skia.Image.MakeFromEncoded(skia.Data.MakeWithCopy(draw_display(shown, width, height)))
    info = skia.ImageInfo.Make(
        width, height, skia.kRGBA_8888_ColorType, skia.kOpaque_AlphaType, skia.ColorSpace.MakeSRGB()
    )
    surface = skia.Surface.MakeRaster(info)
    surface.getCanvas().drawImage(image, 0, 0)
    return bytes(surface.makeImageSnapshot().encodeToData(skia.kPNG, 100))
