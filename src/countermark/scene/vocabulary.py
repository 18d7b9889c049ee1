"""The words of the format: element types, enumerations and bounds, as the union of its versions (research §1.2, 1.3).

Both who makes elements and who checks them read this; it holds facts of the format and no behaviour.
"""

from __future__ import annotations

import re
from typing import Final

CREATABLE: Final = ("rectangle", "ellipse", "diamond", "arrow", "line", "text", "freedraw", "image")
READABLE: Final = (*CREATABLE, "frame", "magicframe", "embeddable", "iframe")
LEGACY_TYPES: Final = frozenset({"draw", "selection"})
"""What old files hold: the editor turns a `draw` into a line and drops a `selection` on load."""
FRAMES: Final = frozenset({"frame", "magicframe"})
SHAPES: Final = frozenset({"rectangle", "ellipse", "diamond"})
LINEAR: Final = frozenset({"arrow", "line"})
CONTAINERS: Final = frozenset({"rectangle", "ellipse", "diamond", "arrow"})
BINDABLE: Final = frozenset(
    {"rectangle", "ellipse", "diamond", "text", "image", "iframe", "embeddable", "frame", "magicframe"}
)

FILL_STYLES: Final = frozenset({"hachure", "cross-hatch", "solid", "zigzag"})
STROKE_STYLES: Final = frozenset({"solid", "dashed", "dotted"})
TEXT_ALIGNS: Final = frozenset({"left", "center", "right"})
VERTICAL_ALIGNS: Final = frozenset({"top", "middle", "bottom"})
ROUNDNESS_TYPES: Final = frozenset({1, 2, 3})
IMAGE_STATUSES: Final = frozenset({"pending", "saved", "error"})
FONT_FAMILIES: Final = frozenset({1, 2, 3, 5, 6, 7, 8, 9})
"""Virgil, Helvetica, Cascadia, Excalifont, Nunito, Lilita One, Comic Shanns, Liberation Sans."""
KNOWN_FAMILIES: Final = FONT_FAMILIES | {4, 10}
"""With Obsidian's own font and the interface's, which files may name and tools may not."""
ARROWHEADS: Final = (
    "arrow",
    "bar",
    "dot",
    "triangle",
    "circle",
    "circle_outline",
    "triangle_outline",
    "diamond",
    "diamond_outline",
    "crowfoot_one",
    "crowfoot_many",
    "crowfoot_one_or_many",
    "cardinality_one",
    "cardinality_many",
    "cardinality_one_or_many",
    "cardinality_exactly_one",
    "cardinality_zero_or_one",
    "cardinality_zero_or_many",
)

FARTHEST: Final = 1_000_000
"""The largest coordinate and size of what a tool makes; the editor complains beyond it."""
LONGEST_LINE: Final = 75_000
"""Lines wider or higher than this are replaced by a deleted stub on load (research §1.2)."""
LONGEST_ID: Final = 64
DEEPEST: Final = 64
"""Levels of nesting that a document may have."""
MOST_OPERATIONS: Final = 500
FEWEST_POINTS: Final = {"arrow": 2, "line": 2, "draw": 2, "freedraw": 1}
POLLUTING: Final = frozenset({"__proto__", "constructor", "prototype"})
COLOUR: Final = re.compile(
    r"#[0-9a-fA-F]{3,8}|[a-zA-Z]{3,32}|(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch)\([0-9a-zA-Z%.,/ +-]{1,64}\)"
)
MIME_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"})
