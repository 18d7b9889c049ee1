"""CSS colours as SVG files write them, as red, green, blue and alpha from 0 to 1 (CSS Color 4, the sRGB part)."""

from __future__ import annotations

import colorsys
import re
from typing import Final, NamedTuple

from countermark.vector.svg.number import NUMBER, degrees, finite

# The 148 names of CSS Color 4, as 24-bit values.
_TABLE: Final = """
aliceblue:f0f8ff antiquewhite:faebd7 aqua:00ffff aquamarine:7fffd4 azure:f0ffff beige:f5f5dc
bisque:ffe4c4 black:000000 blanchedalmond:ffebcd blue:0000ff blueviolet:8a2be2 brown:a52a2a
burlywood:deb887 cadetblue:5f9ea0 chartreuse:7fff00 chocolate:d2691e coral:ff7f50
cornflowerblue:6495ed cornsilk:fff8dc crimson:dc143c cyan:00ffff darkblue:00008b darkcyan:008b8b
darkgoldenrod:b8860b darkgray:a9a9a9 darkgreen:006400 darkgrey:a9a9a9 darkkhaki:bdb76b
darkmagenta:8b008b darkolivegreen:556b2f darkorange:ff8c00 darkorchid:9932cc darkred:8b0000
darksalmon:e9967a darkseagreen:8fbc8f darkslateblue:483d8b darkslategray:2f4f4f
darkslategrey:2f4f4f darkturquoise:00ced1 darkviolet:9400d3 deeppink:ff1493 deepskyblue:00bfff
dimgray:696969 dimgrey:696969 dodgerblue:1e90ff firebrick:b22222 floralwhite:fffaf0
forestgreen:228b22 fuchsia:ff00ff gainsboro:dcdcdc ghostwhite:f8f8ff gold:ffd700 goldenrod:daa520
gray:808080 green:008000 greenyellow:adff2f grey:808080 honeydew:f0fff0 hotpink:ff69b4
indianred:cd5c5c indigo:4b0082 ivory:fffff0 khaki:f0e68c lavender:e6e6fa lavenderblush:fff0f5
lawngreen:7cfc00 lemonchiffon:fffacd lightblue:add8e6 lightcoral:f08080 lightcyan:e0ffff
lightgoldenrodyellow:fafad2 lightgray:d3d3d3 lightgreen:90ee90 lightgrey:d3d3d3 lightpink:ffb6c1
lightsalmon:ffa07a lightseagreen:20b2aa lightskyblue:87cefa lightslategray:778899
lightslategrey:778899 lightsteelblue:b0c4de lightyellow:ffffe0 lime:00ff00 limegreen:32cd32
linen:faf0e6 magenta:ff00ff maroon:800000 mediumaquamarine:66cdaa mediumblue:0000cd
mediumorchid:ba55d3 mediumpurple:9370db mediumseagreen:3cb371 mediumslateblue:7b68ee
mediumspringgreen:00fa9a mediumturquoise:48d1cc mediumvioletred:c71585 midnightblue:191970
mintcream:f5fffa mistyrose:ffe4e1 moccasin:ffe4b5 navajowhite:ffdead navy:000080 oldlace:fdf5e6
olive:808000 olivedrab:6b8e23 orange:ffa500 orangered:ff4500 orchid:da70d6 palegoldenrod:eee8aa
palegreen:98fb98 paleturquoise:afeeee palevioletred:db7093 papayawhip:ffefd5 peachpuff:ffdab9
peru:cd853f pink:ffc0cb plum:dda0dd powderblue:b0e0e6 purple:800080 rebeccapurple:663399
red:ff0000 rosybrown:bc8f8f royalblue:4169e1 saddlebrown:8b4513 salmon:fa8072 sandybrown:f4a460
seagreen:2e8b57 seashell:fff5ee sienna:a0522d silver:c0c0c0 skyblue:87ceeb slateblue:6a5acd
slategray:708090 slategrey:708090 snow:fffafa springgreen:00ff7f steelblue:4682b4 tan:d2b48c
teal:008080 thistle:d8bfd8 tomato:ff6347 turquoise:40e0d0 violet:ee82ee wheat:f5deb3 white:ffffff
whitesmoke:f5f5f5 yellow:ffff00 yellowgreen:9acd32
"""
_NAMES: Final = {name: int(value, 16) for name, _, value in (pair.partition(":") for pair in _TABLE.split())}
_HEX: Final = re.compile(r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})\Z")
_FUNCTION: Final = re.compile(r"(rgba?|hsla?|hwb)\(([^()]*)\)\Z")
_OTHER: Final = re.compile(r"(color|color-mix|lab|lch|oklab|oklch|light-dark|device-cmyk|var)\(")
_PART: Final = re.compile(r"([^\s,/]+)")
_CHANNELS: Final = 3


class Colour(NamedTuple):
    """A colour in sRGB; parts and alpha are 0 to 1."""

    r: float
    g: float
    b: float
    alpha: float = 1.0


BLACK: Final = Colour(0.0, 0.0, 0.0)


def names() -> list[str]:
    """Return the colour names that are known."""
    return list(_NAMES)


def is_other_space(text: str) -> bool:
    """Say whether a value is a valid colour of a kind that is not read here, such as `oklch(…)`."""
    return bool(_OTHER.match(text.strip().lower()))


def colour(text: str) -> Colour | None:
    """Read a name, `transparent`, #rgb, #rgba, #rrggbb, #rrggbbaa, rgb(), hsl() or hwb(); None when it is none."""
    text = text.strip().lower()
    if text in _NAMES:
        return _from_int(_NAMES[text])
    if text == "transparent":
        return Colour(0.0, 0.0, 0.0, 0.0)
    if _HEX.match(text):
        return _from_hex(text[1:])
    function = _FUNCTION.match(text)
    return _from_function(function[1], function[2]) if function else None


def _from_int(value: int) -> Colour:
    return Colour((value >> 16) / 255, (value >> 8 & 255) / 255, (value & 255) / 255)


def _from_hex(digits: str) -> Colour:
    if len(digits) <= 4:  # noqa: PLR2004 - #rgb and #rgba
        digits = "".join(digit * 2 for digit in digits)
    parts = [int(digits[at : at + 2], 16) / 255 for at in range(0, len(digits), 2)]
    return Colour(*parts)


def _from_function(name: str, inside: str) -> Colour | None:
    tokens = _PART.findall(inside)
    commas, slashes = inside.count(","), inside.count("/")
    if commas:
        well_formed = slashes == 0 and commas == len(tokens) - 1
    else:
        well_formed = slashes == (1 if len(tokens) == _CHANNELS + 1 else 0)
    if not well_formed or len(tokens) not in {_CHANNELS, _CHANNELS + 1}:
        return None
    alpha = _ratio(tokens[3]) if len(tokens) > _CHANNELS else 1.0
    if alpha is None:
        return None
    alpha = min(1.0, max(0.0, alpha))
    if name.startswith("rgb"):
        return _from_rgb(tokens[:_CHANNELS], alpha)
    return _from_hue(name, tokens[:_CHANNELS], alpha)


def _from_rgb(tokens: list[str], alpha: float) -> Colour | None:
    parts = []
    for part in tokens:
        value = _number(part.removesuffix("%"))
        if value is None:
            return None
        parts.append(min(1.0, max(0.0, value / (100 if part.endswith("%") else 255))))
    return Colour(parts[0], parts[1], parts[2], alpha)


def _from_hue(name: str, tokens: list[str], alpha: float) -> Colour | None:
    hue = degrees(tokens[0])
    parts = [_number(token.removesuffix("%")) for token in tokens[1:]]
    if hue is None or parts[0] is None or parts[1] is None:
        return None
    turn = hue / 360 % 1.0
    one, two = (min(1.0, max(0.0, part / 100)) for part in (parts[0], parts[1]))
    if name == "hwb":
        if one + two >= 1:
            grey = one / (one + two)
            return Colour(grey, grey, grey, alpha)
        r, g, b = (part * (1 - one - two) + one for part in colorsys.hls_to_rgb(turn, 0.5, 1.0))
        return Colour(r, g, b, alpha)
    return Colour(*colorsys.hls_to_rgb(turn, two, one), alpha)


def _ratio(token: str) -> float | None:
    value = _number(token.removesuffix("%"))
    return value / 100 if value is not None and token.endswith("%") else value


def _number(token: str) -> float | None:
    match = NUMBER.fullmatch(token)
    return finite(match[0]) if match else None
