"""What is wrong with one element by itself: values of every readable type and version (research §1.2, §1.3, §1.9)."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from countermark.scene.address import is_active
from countermark.scene.limits import Limits
from countermark.scene.number import is_number
from countermark.scene.spelling import escaped, shown
from countermark.scene.vocabulary import (
    ARROWHEADS,
    DEEPEST,
    FARTHEST,
    FEWEST_POINTS,
    FILL_STYLES,
    IMAGE_STATUSES,
    KNOWN_FAMILIES,
    LEGACY_TYPES,
    LONGEST_ID,
    LONGEST_LINE,
    POLLUTING,
    READABLE,
    ROUNDNESS_TYPES,
    STROKE_STYLES,
    TEXT_ALIGNS,
    VERTICAL_ALIGNS,
)

_KEY: Final = re.compile(r"[A-Za-z][0-9A-Za-z]*")
_WORDS: Final[Mapping[str, Collection[str]]] = {
    "fillStyle": FILL_STYLES,
    "strokeStyle": STROKE_STYLES,
    "textAlign": TEXT_ALIGNS,
    "verticalAlign": VERTICAL_ALIGNS,
    "status": IMAGE_STATUSES,
}
_NUMBERS: Final = ("angle", "strokeWidth", "roughness", "opacity", "version", "versionNonce", "seed", "updated")
_TEXT_NUMBERS: Final = ("fontSize", "lineHeight")
_WHOLE: Final = ("version", "versionNonce", "seed")
_COLOURS: Final = ("strokeColor", "backgroundColor")
_FLAGS: Final = ("isDeleted", "locked", "elbowed", "autoResize", "simulatePressure", "polygon")


class Fault(NamedTuple):
    """One thing that is wrong: a code, how bad it is, where, what, and of which element."""

    code: str
    severity: str
    pointer: str
    message: str
    element: str | None

    @property
    def kind(self) -> tuple[str, str | None, str, str]:
        """What makes two faults the same when elements have moved in the array."""
        tail = self.pointer
        if tail.startswith("/elements/"):
            tail = tail[len("/elements/") :].partition("/")[2]
        return self.code, self.element, re.sub(r"/\d+", "/#", tail), self.message

    def wire(self) -> dict[str, Any]:
        """Return the fault as callers see it."""
        said = {"code": self.code, "severity": self.severity, "pointer": self.pointer, "message": self.message}
        return said if self.element is None else {**said, "element": self.element}


def faults(element: Mapping[str, Any], pointer: str, limits: Limits) -> Iterator[Fault]:
    """Yield what is wrong with an element; its references are looked at elsewhere."""
    name, kind = element.get("id"), element.get("type")
    about = name if isinstance(name, str) else None

    def fault(member: str, message: str, severity: str = "error", code: str = "invalid_scene") -> Fault:
        return Fault(code, severity, f"{pointer}/{member}" if member else pointer, message, about)

    if not isinstance(name, str) or not name:
        yield fault("id", f"The id {shown(name)} is no text.")
    elif len(name) > LONGEST_ID:
        yield fault("id", f"The id has {len(name)} characters, {LONGEST_ID} are usual.", "warning")
    if isinstance(kind, str) and kind in LEGACY_TYPES:
        yield fault("type", f"{kind!r} is of an old version; the editor exchanges or drops it.", "warning")
    elif kind not in READABLE:
        message = f"The type {shown(kind)} is not known; the editor drops the element."
        yield fault("type", message, code="unsupported_element")
        return
    for member, what, severity in (*_values(element), *_of_type(element, str(kind), limits)):
        yield fault(member, what, severity, "too_large" if what.startswith("The text has") else "invalid_scene")


def flaws(value: Any, pointer: str) -> Iterator[Fault]:
    """Yield what no clean JSON holds, at any depth: polluting names, numbers that are not finite, deep nesting."""
    waiting: list[tuple[Any, str, int]] = [(value, pointer, 0)]
    while waiting:
        one, place, depth = waiting.pop()
        if isinstance(one, dict | list | tuple) and depth > DEEPEST:
            yield Fault("invalid_scene", "error", place, f"This is nested deeper than {DEEPEST} levels.", None)
        elif isinstance(one, Mapping):
            for name, member in one.items():
                if name in POLLUTING:
                    step = f"{place}/{escaped(str(name))}"
                    yield Fault("invalid_scene", "error", step, f"The name {name!r} is not allowed.", None)
                elif isinstance(member, (dict, list, tuple, float)) and not _is_finite(member):
                    waiting.append((member, f"{place}/{escaped(str(name))}", depth + 1))
        elif isinstance(one, list | tuple):
            items = ((at, item) for at, item in enumerate(one) if not isinstance(item, (str, int)))
            waiting += [(item, f"{place}/{at}", depth + 1) for at, item in items if not _is_finite(item)]
        elif isinstance(one, float) and not math.isfinite(one):
            yield Fault("invalid_scene", "error", place, "This number is not finite.", None)


def _is_finite(value: Any) -> bool:
    """Say whether a value is a sound number, as most are: nobody asks for its place."""
    return isinstance(value, float) and math.isfinite(value)


def is_key(key: str) -> bool:
    """Say whether text is a well-formed order key: head, digits enough, no trailing lowest digit."""
    if not _KEY.fullmatch(key):
        return False
    head = key[0]
    whole = ord(head) - 95 if head >= "a" else 92 - ord(head)  # `a` and `Z` head two characters
    return len(key) >= whole and (len(key) == whole or key[-1] != "0") and key != "A" + "0" * 26


def _values(element: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for member in ("x", "y", "width", "height"):
        value = element.get(member)
        if not is_number(value):
            severity = "warning" if value is None else "error"
            yield member, f"{shown(value)} is no finite number.", severity
        elif abs(value) > FARTHEST:
            yield member, f"{shown(value)} lies beyond {FARTHEST}.", "warning"
    for member in _NUMBERS:
        value = element.get(member)
        if value is not None and not is_number(value):
            yield member, f"{shown(value)} is no finite number.", "error"
        elif member in _WHOLE and isinstance(value, float) and not value.is_integer():
            yield member, f"{shown(value)} is not whole.", "error"
    opacity = element.get("opacity")
    if is_number(opacity) and not 0 <= opacity <= 100:  # noqa: PLR2004 - per cent
        yield "opacity", f"{shown(opacity)} is not between 0 and 100.", "error"
    yield from _words(element)
    yield from _shapes(element)


def _words(element: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for member, words in _WORDS.items():
        value = element.get(member)
        if value is not None and (not isinstance(value, str) or value not in words):
            yield member, f"{shown(value)} is not known to the format.", "error"
    for member in _COLOURS:
        value = element.get(member)
        if value is not None and not isinstance(value, str):
            yield member, f"{shown(value)} is no colour.", "error"
    for member in _FLAGS:
        value = element.get(member)
        if value is not None and not isinstance(value, bool):
            yield member, f"{shown(value)} is neither true nor false.", "error"


def _shapes(element: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    groups = element.get("groupIds")
    if groups is not None and not (isinstance(groups, list) and all(isinstance(one, str) for one in groups)):
        yield "groupIds", "This is no array of strings.", "error"
    entries = element.get("boundElements")
    if entries is not None and not isinstance(entries, list):
        yield "boundElements", "This is no array; the editor refuses the whole file.", "error"
    for place, entry in enumerate(entries if isinstance(entries, list) else ()):
        if not isinstance(entry, Mapping) or not isinstance(entry.get("id"), str):
            yield f"boundElements/{place}", "This names no element.", "error"
    rounded = element.get("roundness")
    if rounded is not None and not (isinstance(rounded, Mapping) and _is_one_of(rounded.get("type"), ROUNDNESS_TYPES)):
        yield "roundness", "This is no roundness.", "error"
    key = element.get("index")
    if key is not None and not (isinstance(key, str) and is_key(key)):
        yield "index", f"{shown(key)} is no order key; the editor may refuse the whole file.", "error"
    link = element.get("link")
    if link is not None and not isinstance(link, str):
        yield "link", "This is no address.", "error"
    elif link is not None and is_active(link):
        yield "link", f"{shown(link)} is an address that runs a script.", "error"
    custom = element.get("customData")
    if custom is not None and not isinstance(custom, Mapping):
        yield "customData", "This is not an object.", "error"


def _of_type(element: Mapping[str, Any], kind: str, limits: Limits) -> Iterator[tuple[str, str, str]]:
    if kind in FEWEST_POINTS:
        yield from _points(element, kind)
    if kind in {"arrow", "line"}:
        for head in ("startArrowhead", "endArrowhead"):
            value = element.get(head)
            if value is not None and (not isinstance(value, str) or value not in ARROWHEADS):
                yield head, f"{shown(value)} is not known to the format.", "error"
        for end in ("startBinding", "endBinding"):
            value = element.get(end)
            if value is not None and not isinstance(value, Mapping):
                yield end, "This is no binding.", "error"
    if kind == "text":
        yield from _text(element, limits)
    elif kind not in FEWEST_POINTS and not any(element.get(name) for name in ("isDeleted", "width", "height")):
        yield "", "The element has no size; the editor drops it.", "warning"


def _text(element: Mapping[str, Any], limits: Limits) -> Iterator[tuple[str, str, str]]:
    text = element.get("text")
    if not isinstance(text, str) or not text:
        if not element.get("isDeleted"):
            yield "text", "There is no text; the editor deletes the element.", "error" if text is None else "warning"
    elif len(text) > limits.max_text_length:
        yield "text", f"The text has {len(text)} characters, {limits.max_text_length} are allowed.", "error"
    for member in _TEXT_NUMBERS:
        value = element.get(member)
        if value is not None and not (is_number(value) and value > 0):
            yield member, f"{shown(value)} is no number above 0.", "error"
    family = element.get("fontFamily")
    if family is not None and not _is_one_of(family, KNOWN_FAMILIES):
        yield "fontFamily", f"{shown(family)} is no known font; another is shown.", "warning"


def _is_one_of(value: Any, numbers: Collection[int]) -> bool:
    return is_number(value) and value in numbers


def _points(element: Mapping[str, Any], kind: str) -> Iterator[tuple[str, str, str]]:
    points = element.get("points")
    if not isinstance(points, list):
        yield "points", "There are no points; the editor refuses the whole file.", "error"
        return
    for place, point in enumerate(points):
        if not isinstance(point, list) or len(point) not in (2, 3) or not all(map(is_number, point)):
            yield f"points/{place}", "This is no point.", "error"
            return
    if len(points) < FEWEST_POINTS[kind] and not element.get("isDeleted"):
        yield "points", "There are too few points; the editor drops the element.", "error"
    far = max((abs(number) for point in points for number in point[:2]), default=0)
    if kind != "freedraw" and far > LONGEST_LINE:
        yield "points", f"The line reaches {far:g} px; newer editors replace it by a stub.", "warning"
    pressures = element.get("pressures")
    if isinstance(pressures, list) and len(pressures) > len(points):
        yield "pressures", "There are more pressures than points.", "error"
