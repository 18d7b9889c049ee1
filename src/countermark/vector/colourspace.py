"""Colours of every space that design tokens name, as sRGB; what does not fit into sRGB is narrowed, and says so."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from countermark.kernel.errors import CountermarkError

SPACES: Final = {
    "srgb": (1.0, 1.0, 1.0),
    "srgb-linear": (1.0, 1.0, 1.0),
    "hsl": (1.0, 100.0, 100.0),
    "hwb": (1.0, 100.0, 100.0),
    "display-p3": (1.0, 1.0, 1.0),
    "a98-rgb": (1.0, 1.0, 1.0),
    "prophoto-rgb": (1.0, 1.0, 1.0),
    "rec2020": (1.0, 1.0, 1.0),
    "xyz-d65": (1.0, 1.0, 1.0),
    "xyz-d50": (1.0, 1.0, 1.0),
    "lab": (1.0, 1.0, 1.0),
    "lch": (1.0, 1.0, 1.0),
    "oklab": (1.0, 1.0, 1.0),
    "oklch": (1.0, 1.0, 1.0),
}
"""The colour spaces of DTCG 2025.10 with what divides each component into the unit that the converter takes."""

_SLACK: Final = 0.0005
"""A component that lies so little outside of sRGB is rounding: an eighth of the step between two of 256 values."""


class Srgb(NamedTuple):
    """An sRGB colour, components 0 to 1, and how far it is from what was asked for: CIEDE2000, zero when it fits."""

    red: float
    green: float
    blue: float
    distance: float


def srgb(space: str, components: list[float | None]) -> Srgb:
    """Return a colour as sRGB, a missing component as zero; one outside is brought in along its own hue (OKLCH).

    Raise `part_unavailable` when the converter is not installed, for spaces other than sRGB.
    """
    values = [(value or 0.0) / divisor for value, divisor in zip(components, SPACES[space], strict=True)]
    if space == "srgb" and all(0 <= value <= 1 for value in values):
        return Srgb(values[0], values[1], values[2], 0.0)
    colour = _coloraide()(space, values)
    made = colour.convert("srgb")
    if made.in_gamut("srgb", tolerance=_SLACK):
        return Srgb(*_clamped(made), 0.0)
    fitted = made.clone().fit("srgb", method="oklch-chroma")
    return Srgb(*_clamped(fitted), float(colour.delta_e(fitted, method="2000")))


def _clamped(colour: Any) -> tuple[float, float, float]:
    red, green, blue = (min(max(float(value), 0.0), 1.0) for value in colour.coords())
    return red, green, blue


def _coloraide() -> Any:
    try:
        from coloraide import Color  # noqa: PLC0415 - takes as long to import as the whole command line
    except ImportError as error:
        raise CountermarkError(
            "part_unavailable",
            "What converts colour spaces is not installed.",
            next_action="Install the extra: pip install 'countermark[vector]'.",
            details={"part": "coloraide"},
        ) from error
    return Color
