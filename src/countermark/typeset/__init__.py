"""Text as the Excalidraw editor 0.18.1 sets it: measured with the real fonts, broken into its lines."""

from countermark.typeset.fonts import FAMILIES, LINE_HEIGHT, default_line_height
from countermark.typeset.measure import Measured, measure, normalized
from countermark.typeset.wrap import wrap

__all__ = ["FAMILIES", "LINE_HEIGHT", "Measured", "default_line_height", "measure", "normalized", "wrap"]
