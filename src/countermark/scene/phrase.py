"""What was done to one element, in a person's words: directions, what a colour is for, no names of fields."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from countermark.scene.binding import END, START, target_of
from countermark.scene.curve import path
from countermark.scene.document import Element, kind_of
from countermark.scene.naming import Names, kind_in_words, quoted, words_of
from countermark.scene.number import is_measure, is_number
from countermark.scene.relation import is_sound
from countermark.scene.touch import PLACE, shift, value_of
from countermark.scene.vocabulary import FRAMES

FAMILIES: Final[Mapping[Any, str]] = {
    1: "Virgil",
    2: "Helvetica",
    3: "Cascadia",
    4: "its own font",
    5: "Excalifont",
    6: "Nunito",
    7: "Lilita One",
    8: "Comic Shanns",
    9: "Liberation Sans",
    10: "Assistant",
}
_ROUGHNESS: Final[Mapping[Any, str]] = {0: "architect", 1: "artist", 2: "cartoonist"}
_LINES: Final = frozenset({"line", "arrow", "draw"})
_SMALLEST: Final = 0.05
_FULL_TURN: Final = 360


def phrases(before: Element, after: Element, done: Collection[str], names: tuple[Names, Names]) -> list[str]:
    """Return what was done to an element, one phrase each, the most telling first; `done` are the fields to speak of.

    `names` are those of both versions.
    """
    left = set(done)
    said = [*_type(before, after, left), *_words(before, after, left), *_ends(before, after, left, names)]
    said += _place(before, after, left)
    said += _belonging(before, after, left, names)
    for field in sorted(left, key=lambda name: (list(_SPOKEN).index(name) if name in _SPOKEN else 99, name)):
        speak = _SPOKEN.get(field, _otherwise)
        said.append(speak(field, value_of(before, field), value_of(after, field)))
    return [one for one in said if one]


def movement(dx: float, dy: float) -> str:
    """Return a way in words: “40 px right and 12 px up”."""
    parts = []
    for way, positive, negative in ((dx, "right", "left"), (dy, "down", "up")):
        if abs(way) >= _SMALLEST:
            parts.append(f"{length(abs(way))} px {positive if way > 0 else negative}")
    return " and ".join(parts)


def length(value: float) -> str:
    """Return a length as a person reads it: whole where it is longer than a few pixels."""
    shown = f"{value:.0f}" if value >= 10 or value == round(value) else f"{value:.1f}"  # noqa: PLR2004 - px
    return shown.removesuffix(".0")


def size(element: Mapping[str, Any]) -> str:
    """Return an element's size, width first."""
    sides = (element.get("width"), element.get("height"))
    return " × ".join(  # noqa: RUF001 - the sign between two sides
        length(abs(side)) if is_number(side) else "?" for side in sides
    )


def _type(before: Element, after: Element, left: set[str]) -> Iterator[str]:
    if "type" in left:
        left -= {"type"}
        yield f"is now {_article(kind_in_words(after))} (was {_article(kind_in_words(before))})"


def _words(before: Element, after: Element, left: set[str]) -> Iterator[str]:
    if kind_of(after) == "text" and left & {"fontFamily", "fontSize", "lineHeight"}:
        left -= {"width", "height"}
        if "fontFamily" in left:  # each family brings its own
            left -= {"lineHeight"}
    if not left & {"text", "originalText"} or kind_of(after) != "text":
        return
    old, new = words_of(before), words_of(after)
    # The box of a text follows from its words and its font.
    left -= {"text", "originalText", "width", "height", "autoResize"}
    if value_of(after, "textAlign") != "left" or after.get("containerId"):
        left -= {"x", "y"}
    if old != new:
        yield f"now says {quoted(new)} (was {quoted(old)})"
    elif before.get("text") != after.get("text"):
        yield "wraps differently"


def _ends(before: Element, after: Element, left: set[str], names: tuple[Names, Names]) -> Iterator[str]:
    for field, verb, noun in ((START, "starts", "start"), (END, "ends", "end")):
        if field not in left:
            continue
        left -= {field}
        old, new = target_of(before.get(field)), target_of(after.get(field))
        was, now = (_known(names, name, place) if name else "" for place, name in enumerate((old, new)))
        if old == new:
            continue
        left -= PLACE
        if new is None:
            yield f"its {noun} is no longer attached to {was}"
        elif old is None:
            yield f"its {noun} is now attached to {now}"
        else:
            yield f"now {verb} at {now} (was {was})"


def _place(before: Element, after: Element, left: set[str]) -> Iterator[str]:
    spoken = left & PLACE
    if not spoken:
        return
    if kind_of(after) in _LINES and "points" in spoken and is_sound(before) and is_sound(after):
        left -= PLACE
        yield from _reshaped(before, after)
        return
    if spoken & {"x", "y"}:
        left -= {"x", "y"}
        way = shift(before, after)
        moved = movement(*way) if way is not None else ""
        if moved:
            yield f"moved {moved}"
    if "points" in spoken:
        left -= {"points", "width", "height", "fixedSegments", "startIsSpecial", "endIsSpecial"}
        yield "was redrawn"
    elif spoken & {"width", "height"}:
        left -= {"width", "height"}
        if size(before) != size(after):
            yield f"was resized from {size(before)} to {size(after)} px"
    if "angle" in spoken:
        left -= {"angle"}
        yield _turned(value_of(before, "angle"), value_of(after, "angle"))
    left -= {"fixedSegments", "startIsSpecial", "endIsSpecial"}


def _reshaped(before: Element, after: Element) -> Iterator[str]:
    """Say how a line lies now: its ends, then what is between them."""
    old, new = path(before), path(after)
    start, end = movement(*_way(old[0], new[0])), movement(*_way(old[-1], new[-1]))
    if start == end and start:
        yield f"moved {start}"
    elif start or end:
        yield " and ".join(f"its {what} moved {way}" for what, way in (("start", start), ("end", end)) if way)
    bends = len(old) - 2, len(new) - 2
    if bends[0] != bends[1]:
        yield f"has {bends[1] or 'no'} bend{'' if bends[1] == 1 else 's'} (had {bends[0] or 'none'})"
    elif start == end and [_way(old[0], one) for one in old] != [_way(new[0], one) for one in new]:
        yield "was bent otherwise"


def _way(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return round(other[0] - one[0], 2), round(other[1] - one[1], 2)


def _turned(before: Any, after: Any) -> str:
    if not (is_measure(before) and is_measure(after)):
        return "was turned"
    degrees = math.degrees(after - before) % _FULL_TURN
    clockwise = degrees <= _FULL_TURN / 2
    way = "clockwise" if clockwise else "counter-clockwise"
    return f"was turned {length(degrees if clockwise else _FULL_TURN - degrees)}° {way}"


def _belonging(before: Element, after: Element, left: set[str], names: tuple[Names, Names]) -> Iterator[str]:
    if "frameId" in left:
        left -= {"frameId"}
        yield _joined(before.get("frameId"), after.get("frameId"), names, "left", "is now in")
    if "containerId" in left:
        left -= {"containerId"}
        old, new = before.get("containerId"), after.get("containerId")
        yield _joined(old, new, names, "is no longer the label of", "is now the label of")
    if "groupIds" in left:
        left -= {"groupIds"}
        had, has = (set(map(str, one.get("groupIds") or ())) for one in (before, after))
        yield "was grouped" if had < has else "was ungrouped" if has < had else "is in another group"
    if "name" in left and kind_of(after) in FRAMES:
        left -= {"name"}
        yield f"was renamed {_or_none(after.get('name'))} (was {_or_none(before.get('name'))})"
    left -= {"label"}


def _joined(old: Any, new: Any, names: tuple[Names, Names], parted: str, joined: str) -> str:
    if isinstance(new, str):
        return f"{joined} {_known(names, new, 1)}"
    return f"{parted} {_known(names, old, 0)}" if isinstance(old, str) else ""


def _known(names: tuple[Names, Names], name: str, place: int) -> str:
    """Return what an element is called in one version, or in the other where only that has words for it."""
    key = (name, 0)
    return names[place if names[place].has(key) or not names[1 - place].has(key) else 1 - place].of(key)


def _article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _or_none(value: Any) -> str:
    return quoted(value) if isinstance(value, str) and value else "no name"


def _now(noun: str, show: Callable[[Any], str] = str) -> Callable[[str, Any, Any], str]:
    return lambda _, old, new: f"{noun} is now {show(new)} (was {show(old)})"


def _plain(value: Any) -> str:
    return "none" if value is None or value == "transparent" else str(value)


def _number(value: Any) -> str:
    return length(value) if is_number(value) and value >= 0 else str(value)


def _percent(value: Any) -> str:
    return f"{_number(value)} %"


def _corners(_: str, old: Any, new: Any) -> str:
    if bool(old) == bool(new):
        return "its corners are rounded otherwise"
    return "has round corners" if new else "has sharp corners"


def _link(_: str, old: Any, new: Any) -> str:
    if not new:
        return "its link was removed"
    return f"links to {quoted(new)}" + (f" (was {quoted(old)})" if old else "")


def _scaled(_: str, old: Any, new: Any) -> str:
    try:
        across, down = ((one > 0) != (two > 0) for one, two in zip(old, new, strict=True))
    except (TypeError, ValueError):
        return "its scale changed"
    return f"was flipped {'both ways' if across and down else 'sideways' if across else 'upside down'}"


def _otherwise(field: str, old: Any, new: Any) -> str:
    return f"{field} was {'added' if old is None else 'removed' if new is None else 'changed'}"


_SPOKEN: Final[Mapping[str, Callable[[str, Any, Any], str]]] = {
    "strokeColor": _now("its stroke", _plain),
    "backgroundColor": _now("its background", _plain),
    "fillStyle": _now("its fill", str),
    "strokeWidth": _now("its stroke width", _number),
    "strokeStyle": _now("its stroke style", str),
    "roughness": _now("its sloppiness", lambda value: _ROUGHNESS.get(value, str(value)) if is_number(value) else "?"),
    "opacity": _now("its opacity", _percent),
    "roundness": _corners,
    "fontFamily": _now("its font", lambda value: FAMILIES.get(value, "another") if is_number(value) else "another"),
    "fontSize": _now("its font size", _number),
    "textAlign": _now("its text alignment", str),
    "verticalAlign": _now("its vertical alignment", str),
    "lineHeight": _now("its line height", str),
    "startArrowhead": _now("its start arrowhead", _plain),
    "endArrowhead": _now("its end arrowhead", _plain),
    "elbowed": lambda _, __, new: "has right angles" if new else "has no right angles any more",
    "polygon": lambda _, __, new: "was closed" if new else "was opened",
    "fileId": lambda *_: "shows another picture",
    "crop": lambda _, __, new: "was cropped" if new else "shows the whole picture again",
    "scale": _scaled,
    "locked": lambda _, __, new: "was locked" if new else "was unlocked",
    "link": _link,
    "seed": lambda *_: "its strokes are drawn anew",
    "customData": lambda *_: "the data that a program keeps with it changed",
    "order": lambda *_: "was moved in the stack",
}
