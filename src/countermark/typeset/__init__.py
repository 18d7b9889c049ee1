"""Text as the Excalidraw editor 0.18.1 sets it, measured with the real fonts."""

from countermark.typeset.fonts import FAMILIES, LINE_HEIGHT, default_line_height
from countermark.typeset.measure import Measured, measure

__all__ = ["FAMILIES", "LINE_HEIGHT", "Measured", "default_line_height", "measure"]
