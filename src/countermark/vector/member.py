"""What each member of the native format may hold, as a table: read once at the door, trusted inside.

A check returns where a value is wrong, such as `.items[0].width`, or None when it is right. Members that are not in
the table may hold anything and are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

Check = Callable[[Any], str | None]

_NUMBERS: Final = frozenset({int, float})
_COORDINATES: Final = 2
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


def number(value: Any) -> str | None:
    """Accept a number; JSON's true is none."""
    return None if type(value) in _NUMBERS else ""


def whole(value: Any) -> str | None:
    """Accept a whole number."""
    return None if type(value) is int else ""


def text(value: Any) -> str | None:
    """Accept a string."""
    return None if isinstance(value, str) else ""


def sha256(value: Any) -> str | None:
    """Accept a SHA-256 in hexadecimal."""
    return None if isinstance(value, str) and _SHA256.fullmatch(value) else ""


def flag(value: Any) -> str | None:
    """Accept true or false."""
    return None if isinstance(value, bool) else ""


def point(value: Any) -> str | None:
    """Accept a point: `[x, y]`, or `{x, y}` as geometry other than anchors writes it."""
    parts = [value.get("x"), value.get("y")] if isinstance(value, dict) else value
    good = isinstance(parts, list) and len(parts) == _COORDINATES
    return None if good and all(type(part) in _NUMBERS for part in parts) else ""


def word(*known: str) -> Check:
    """Accept one of some words."""
    return lambda value: None if isinstance(value, str) and value in known else ""


def maybe(check: Check) -> Check:
    """Accept null, or what another check accepts."""
    return lambda value: None if value is None else check(value)


def listed(check: Check, count: int | None = None) -> Check:
    """Accept a list whose entries all pass, of a given length if there is one."""

    def fault(value: Any) -> str | None:
        if not isinstance(value, list) or (count is not None and len(value) != count):
            return ""
        for index, entry in enumerate(value):
            where = check(entry)
            if where is not None:
                return f"[{index}]{where}"
        return None

    return fault


def some(check: Check) -> Check:
    """Accept a list of one entry or more whose entries all pass."""
    return lambda value: "" if value == [] else listed(check)(value)


def struct(needed: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """Accept an object with certain members, and others that are checked where they are there."""
    every = {**needed, **(optional or {})}

    def fault(value: Any) -> str | None:
        if not isinstance(value, dict):
            return ""
        for name, check in every.items():
            if name in value:
                where = check(value[name])
                if where is not None:
                    return f".{name}{where}"
            elif name in needed:
                return f".{name}"
        return None

    return fault


def tagged(tag: str, variants: Mapping[str, Check]) -> Check:
    """Accept an object by the word in its tag; a word that is not known says nothing about the rest."""

    def fault(value: Any) -> str | None:
        if not isinstance(value, dict):
            return ""
        if not isinstance(value.get(tag), str):
            return f".{tag}"
        check = variants.get(value[tag])
        return None if check is None else check(value)

    return fault


COLOUR: Final = tagged(
    "model",
    {
        "rgb": struct({"r": number, "g": number, "b": number}),
        "cmyk": struct({"c": number, "m": number, "y": number, "k": number}),
        "gray": struct({"k": number}),
    },
)
_LINK: Final = {"swatch": maybe(text), "tint": number}
_STOP: Final = struct({"offset": number, "color": COLOUR}, {"opacity": number, "midpoint": number, **_LINK})
_GEOM: Final = struct({"start": point, "end": point}, {"aspect": number, "focal": maybe(point)})
PAINT: Final = tagged(
    "type",
    {
        "solid": struct({"color": COLOUR}, _LINK),
        "gradient": struct(
            {"gradient": struct({"kind": text, "stops": listed(_STOP)})},
            {
                "geom": maybe(_GEOM),
                "angle": number,
                "swatch": maybe(text),
                "countermark": struct({}, {"spread": text, "focal_radius": number}),
            },
        ),
        "pattern": struct({"pattern": text}, {"xf": listed(number, 6)}),
    },
)
_LAYER: Final = {"opacity": number, "blend": text, "visible": flag, "effects": listed(struct({}))}
_DASH: Final = struct({"pattern": listed(number)}, {"offset": number, "align_corners": flag})
ITEM: Final = tagged(
    "kind",
    {
        "fill": struct({"paint": PAINT}, _LAYER),
        "stroke": struct(
            {"paint": PAINT, "width": number},
            {
                "cap": word("Butt", "Round", "Square"),
                "join": word("Miter", "Round", "Bevel"),
                "miter_limit": number,
                "align": word("Center", "Inside", "Outside"),
                "dash": maybe(_DASH),
                "countermark": struct({}, {"pen": listed(number, 4)}),
                **_LAYER,
            },
        ),
    },
)
APPEARANCE: Final = struct({}, {"items": listed(ITEM), "effects": listed(struct({}))})
_RUN: Final = struct({}, {"style": struct({}, {"fill": PAINT, "stroke": PAINT})})
_RULE: Final = {"rule": word("NonZero", "EvenOdd")}
_CHILDREN: Final = {"children": listed(struct({}))}
KIND: Final = tagged(
    "type",
    {
        "layer": struct(_CHILDREN, {"template": flag, "printable": flag}),
        "group": struct(_CHILDREN, {"clip": flag}),
        "compound": struct(_CHILDREN, {**_RULE, "countermark": struct({}, {"union": flag})}),
        "path": struct({"path": struct({})}, {**_RULE, "clipping": flag, "guide": flag}),
        "text": struct({}, {"runs": listed(_RUN)}),
        "image": struct(
            {"key": text, "width": number, "height": number},
            {"xf": listed(number, 6), "countermark": struct({}, {"sampling": text})},
        ),
        "symbolinstance": struct({"symbol": text}, {"xf": listed(number, 6)}),
    },
)
_MASK: Final = struct(
    {},
    {
        "clip": flag,
        "invert": flag,
        "disabled": flag,
        "luminance": flag,
        "countermark": struct({}, {"linear": flag}),
    },
)
NODE: Final = struct(
    {"id": whole, "kind": KIND},
    {
        "name": maybe(text),
        "visible": flag,
        "locked": flag,
        "opacity": number,
        "blend": text,
        "isolate": flag,
        "appearance": APPEARANCE,
        "mask": maybe(_MASK),
    },
)
_SIDES: Final = struct({"x0": number, "y0": number, "x1": number, "y1": number})
ARTBOARD: Final = struct({"id": whole, "rect": _SIDES}, {"name": text, "background": maybe(COLOUR)})
_SWATCH: Final = struct(
    {"name": text, "paint": PAINT}, {"global": flag, "spot": flag, "countermark": struct({}, {"imported": text})}
)
# What an import remembers: the SVG behind each artboard, and what of it was not carried over.
_SOURCE: Final = {"name": text, "sha256": sha256}
_ROW: Final = struct({"code": text, "name": text, "element": text, "path": text, "reason": text}, {"artboard": whole})
_ORIGIN: Final = struct(
    {},
    {
        "source": struct(_SOURCE),
        "sources": listed(struct({**_SOURCE, "artboard": whole})),
        "losses": listed(_ROW),
        "notes": listed(_ROW),
    },
)
TREE: Final = struct(
    {"artboards": some(ARTBOARD), "layers": listed(struct({}))},
    {
        "countermark": _ORIGIN,
        "title": text,
        "swatches": listed(_SWATCH),
        "swatch_groups": listed(struct({}, {"swatches": listed(_SWATCH)})),
        "graphic_styles": listed(struct({}, {"appearance": APPEARANCE})),
        "symbols": listed(struct({}, {"art": struct({})})),
        "patterns": listed(struct({}, {"name": text, "tile": _SIDES})),
        "unknown": struct({}),
    },
)
