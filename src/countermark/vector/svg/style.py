"""The cascade: presentation attributes, the rules of sheets, the `style` attribute, inheritance (SVG 2 §6)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from countermark.vector.svg import property as prop
from countermark.vector.svg.colour import BLACK, Colour, colour, is_other_space
from countermark.vector.svg.css import cascaded, parsed
from countermark.vector.svg.number import Frame, length, number, number_or_percent
from countermark.vector.svg.parse import Element, references
from countermark.vector.svg.report import Report

_URL: Final = re.compile(r"url\(\s*(?:\"[^\"]*\"|'[^']*'|[^)]*)\s*\)\s*(.*)\Z", re.IGNORECASE | re.DOTALL)
_SIZES: Final = {
    "xx-small": 9.0,
    "x-small": 10.0,
    "small": 13.0,
    "medium": 16.0,
    "large": 18.0,
    "x-large": 24.0,
    "xx-large": 32.0,
}
_LIST: Final = re.compile(r"[\s,]+")
_ORDER: Final = ("fill", "stroke", "markers")
_KEEP: Final = frozenset({"inherit", "unset", "revert", "revert-layer"})


class Ink(NamedTuple):
    """What fill or stroke says: a server by id first, else a colour, the current one, the context's, or none."""

    kind: str = "none"
    colour: Colour = BLACK
    server: str = ""
    stroke: bool = False


NONE: Final = Ink()
_BLACK: Final = Ink("colour")


@dataclass(frozen=True, slots=True)
class Style:
    """The inherited properties of an element, lengths in user units."""

    color: Colour = BLACK
    fill: Ink = _BLACK
    fill_opacity: float = 1.0
    even_odd: bool = False
    clip_even_odd: bool = False
    stroke: Ink = NONE
    stroke_opacity: float = 1.0
    stroke_width: float = 1.0
    cap: str = "Butt"
    join: str = "Miter"
    miter_limit: float = 4.0
    dash: tuple[float, ...] = ()
    dash_offset: float = 0.0
    visible: bool = True
    font_size: float = 16.0
    order: tuple[str, ...] = _ORDER
    marker_start: str = ""
    marker_mid: str = ""
    marker_end: str = ""
    linear: bool = False


INITIAL: Final = Style()

_Reader = Callable[[str, Style, Frame], Any]


def specified(element: Element) -> dict[str, str]:
    """Return what an element itself says of each property: attributes, over them rules, and over them its `style`."""
    if element.specified is not None:
        return element.specified
    found = {
        name: value.strip()
        for name, value in element.attributes.items()
        if name in prop.READ or name in prop.LOST or name in prop.IDLE
    }
    inline = element.attributes.get("style")
    if inline or element.rules:
        found.update(cascaded([*element.rules, *parsed(inline or "")]))
    element.specified = found
    return found


def own(element: Element, name: str) -> str | None:
    """Return an element's value of a property that is not inherited, following an explicit `inherit` upwards."""
    here: Element | None = element
    while here is not None:
        value = specified(here).get(name)
        if value is None or value.lower() != "inherit":
            return None if value is None or value.lower() in {"initial", *_KEEP} else value
        here = here.parent
    return None


def computed(element: Element, parent: Style, frame: Frame, report: Report) -> Style:
    """Return the inherited properties of an element; a value with a fault counts for nothing and is noted."""
    said = specified(element)
    if not said:
        return parent
    if "marker" in said:
        said = {**dict.fromkeys(("marker-start", "marker-mid", "marker-end"), said["marker"]), **said}
    found: dict[str, Any] = {}
    base = parent
    for name in ("font-size", "color", *(name for name in said if name in _INHERITED)):
        value = said.get(name)
        if value is None or value.lower() in _KEEP:
            continue
        field, read = _INHERITED[name]
        if value.lower() == "initial":
            found[field] = getattr(INITIAL, field)
        else:
            result = read(value, parent, frame._replace(font_size=base.font_size))
            if result is None:
                _fault(element, name, value, report)
                continue
            found[field] = result
        if name == "font-size":
            base = replace(parent, font_size=found[field])
    return replace(parent, **found) if found else parent


def standing(element: Element, frame: Frame, report: Report) -> Style:
    """Return the inherited properties at an element by where it stands in the file, not by what uses it."""
    above: list[Element] = []
    here: Element | None = element
    while here is not None:
        above.append(here)
        here = here.parent
    style = INITIAL
    for link in reversed(above):
        style = computed(link, style, frame, report)
    return style


def is_shown(element: Element) -> bool:
    """Say whether an element's own `display` lets it paint."""
    return (own(element, "display") or "").lower() != "none"


def ink(value: str) -> Ink | None:
    """Read a paint: none, a colour, currentColor, or `url(#id)` with what stands in for it; None when it is none."""
    reference = _URL.match(value.strip())
    if reference:
        target = next(references(value), "")
        rest = reference[1].strip()
        instead = ink(rest) if rest else Ink()
        return instead._replace(server=target[1:]) if instead is not None and target.startswith("#") else instead
    word = value.strip()
    if word.lower() == "none":
        return Ink()
    if word.lower() == "currentcolor":
        return Ink("current")
    if word.lower() in {"context-fill", "context-stroke"}:
        return Ink("context", stroke=word.lower() == "context-stroke")
    read = colour(word)
    return None if read is None else Ink("colour", read)


def reference(value: str | None) -> str:
    """Return the id in a `url(#id)` value, empty when there is none."""
    target = next(references(value), "") if value else ""
    return target[1:] if target.startswith("#") else ""


def _fault(element: Element, name: str, value: str, report: Report) -> None:
    if is_other_space(value):
        report.loss("colour", element, f"{name} has a colour in a space that is not read: {value[:60]}.")
    else:
        report.note("value", element, f"{name} says {value[:60]!r}, which is no value of it and counts for nothing.")


def _colour(value: str, parent: Style, _: Frame) -> Colour | None:
    return parent.color if value.lower() == "currentcolor" else colour(value)


def _ink(value: str, _: Style, __: Frame) -> Ink | None:
    return ink(value)


def _opacity(value: str, _: Style, __: Frame) -> float | None:
    read = number_or_percent(value)
    return None if read is None else min(1.0, max(0.0, read))


def _width(value: str, _: Style, frame: Frame) -> float | None:
    read = length(value, frame, frame.diagonal)
    return None if read is None or read < 0 else read


def _offset(value: str, _: Style, frame: Frame) -> float | None:
    return length(value, frame, frame.diagonal)


def _dash(value: str, _: Style, frame: Frame) -> tuple[float, ...] | None:
    if value.lower() == "none":
        return ()
    found: list[float] = []
    for word in _LIST.split(value.strip(" \t\r\n,")):
        part = length(word, frame, frame.diagonal)
        if part is None:
            return None
        found.append(part)
    # A negative part makes the list invalid, all zeros a solid line (SVG 2 §13.5.6).
    if any(part < 0 for part in found) or not any(found):
        return ()
    return tuple(found * 2 if len(found) % 2 else found)


def _limit(value: str, _: Style, __: Frame) -> float | None:
    read = number(value)
    return None if read is None or read < 1 else read


def _size(value: str, parent: Style, frame: Frame) -> float | None:
    keyword = value.lower()
    if keyword in _SIZES:
        return _SIZES[keyword]
    if keyword in {"larger", "smaller"}:
        return parent.font_size * (1.2 if keyword == "larger" else 1 / 1.2)
    read = length(value, frame._replace(font_size=parent.font_size), parent.font_size)
    return None if read is None or read < 0 else read


def _order(value: str, _: Style, __: Frame) -> tuple[str, ...] | None:
    words = value.lower().split()
    if words == ["normal"]:
        return _ORDER
    if not words or set(words) - set(_ORDER) or len(set(words)) != len(words):
        return None
    return (*words, *(word for word in _ORDER if word not in words))


def _marker(value: str, _: Style, __: Frame) -> str | None:
    return "" if value.lower() == "none" else reference(value) or None


def _word(words: dict[str, Any]) -> _Reader:
    return lambda value, _, __: words.get(value.lower())


_INHERITED: Final[dict[str, tuple[str, _Reader]]] = {
    "font-size": ("font_size", _size),
    "color": ("color", _colour),
    "fill": ("fill", _ink),
    "fill-opacity": ("fill_opacity", _opacity),
    "fill-rule": ("even_odd", _word({"nonzero": False, "evenodd": True})),
    "clip-rule": ("clip_even_odd", _word({"nonzero": False, "evenodd": True})),
    "stroke": ("stroke", _ink),
    "stroke-opacity": ("stroke_opacity", _opacity),
    "stroke-width": ("stroke_width", _width),
    "stroke-linecap": ("cap", _word({"butt": "Butt", "round": "Round", "square": "Square"})),
    "stroke-linejoin": (
        "join",
        _word({"miter": "Miter", "round": "Round", "bevel": "Bevel", "miter-clip": "Miter", "arcs": "Miter"}),
    ),
    "stroke-miterlimit": ("miter_limit", _limit),
    "stroke-dasharray": ("dash", _dash),
    "stroke-dashoffset": ("dash_offset", _offset),
    "visibility": ("visible", _word({"visible": True, "hidden": False, "collapse": False})),
    "paint-order": ("order", _order),
    "marker-start": ("marker_start", _marker),
    "marker-mid": ("marker_mid", _marker),
    "marker-end": ("marker_end", _marker),
    "color-interpolation": ("linear", _word({"auto": False, "srgb": False, "linearrgb": True})),
}
