"""Which property is which: drawn here, a loss when it says something, or without effect on art without text."""

from __future__ import annotations

from typing import Final

BLENDS: Final = {
    "normal": "Normal",
    "multiply": "Multiply",
    "screen": "Screen",
    "overlay": "Overlay",
    "darken": "Darken",
    "lighten": "Lighten",
    "color-dodge": "ColorDodge",
    "color-burn": "ColorBurn",
    "hard-light": "HardLight",
    "soft-light": "SoftLight",
    "difference": "Difference",
    "exclusion": "Exclusion",
    "hue": "Hue",
    "saturation": "Saturation",
    "color": "Color",
    "luminosity": "Luminosity",
}

# Properties that are read, whether inherited or not.
READ: Final = frozenset(
    {
        "clip-path",
        "clip-rule",
        "color",
        "color-interpolation",
        "display",
        "fill",
        "fill-opacity",
        "fill-rule",
        "font-size",
        "image-rendering",
        "isolation",
        "marker",
        "marker-end",
        "marker-mid",
        "marker-start",
        "mask",
        "mask-type",
        "mix-blend-mode",
        "opacity",
        "overflow",
        "paint-order",
        "stop-color",
        "stop-opacity",
        "stroke",
        "stroke-dasharray",
        "stroke-dashoffset",
        "stroke-linecap",
        "stroke-linejoin",
        "stroke-miterlimit",
        "stroke-opacity",
        "stroke-width",
        "transform",
        "transform-origin",
        "vector-effect",
        "visibility",
    }
)

# Properties that would change the picture and are not carried over, with the values that change nothing.
LOST: Final[dict[str, frozenset[str]]] = {
    "backdrop-filter": frozenset({"none"}),
    "clip": frozenset({"auto"}),
    "filter": frozenset({"none"}),
    "mask-image": frozenset({"none"}),
    "offset-path": frozenset({"none"}),
    "rotate": frozenset({"none"}),
    "scale": frozenset({"none"}),
    "shape-rendering": frozenset({"auto", "geometricprecision"}),
    "stroke-alignment": frozenset({"center"}),
    "transform-box": frozenset({"view-box"}),
    "translate": frozenset({"none"}),
}

# Geometry that SVG 2 also lets a declaration set; only the attributes are read.
GEOMETRY: Final = frozenset({"cx", "cy", "d", "height", "r", "rx", "ry", "width", "x", "y"})

# Properties of text, of filters' own elements, of a reader's behaviour: nothing of the art depends on them.
IDLE: Final = frozenset(
    {
        "alignment-baseline",
        "baseline-shift",
        "color-interpolation-filters",
        "color-profile",
        "color-rendering",
        "cursor",
        "direction",
        "dominant-baseline",
        "enable-background",
        "flood-color",
        "flood-opacity",
        "glyph-orientation-horizontal",
        "glyph-orientation-vertical",
        "kerning",
        "letter-spacing",
        "lighting-color",
        "line-height",
        "pointer-events",
        "solid-color",
        "solid-opacity",
        "text-align",
        "text-anchor",
        "text-decoration",
        "text-indent",
        "text-orientation",
        "text-overflow",
        "text-rendering",
        "text-transform",
        "unicode-bidi",
        "white-space",
        "will-change",
        "word-spacing",
        "writing-mode",
    }
)
IDLE_PREFIXES: Final = ("-", "font", "text-decoration-", "inline-", "shape-")


def is_idle(name: str) -> bool:
    """Say whether a property can be passed over without a word."""
    return name in IDLE or (name not in LOST and name not in READ and name.startswith(IDLE_PREFIXES))
