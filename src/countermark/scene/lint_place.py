"""Where things lie: text out of its shape, things over each other, children out of their frame."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from countermark.scene.document import Element, kind_of
from countermark.scene.drawing import Bounds, Drawing, area, holds, overlapping, shared
from countermark.scene.finding import Finding, update
from countermark.scene.line import plain
from countermark.scene.naming import words_of
from countermark.scene.phrase import length, movement
from countermark.scene.relation import container_of
from countermark.scene.touch import value_of
from countermark.scene.vocabulary import FRAMES, SHAPES

_SLACK: Final = 2.0
"""In px: what nobody sees, and what programs' guesses of a text's width are off by."""

_GAP: Final = 20.0
"""In px: how far apart things are put that lay over each other."""

_COVERED: Final = 0.05
"""Of the smaller of two shapes; less is a touch."""

_OVER: Final = 0.2
"""Of the smaller of two texts."""

_LEAST: Final = 8.0
_OPAQUE: Final = 100


def overflow(drawing: Drawing) -> Iterator[Finding]:
    """Yield the texts that are larger than the shape they are bound to."""
    for name, shape in drawing.of(SHAPES):
        text = drawing.label(name)
        if text is None or not words_of(text).strip():
            continue
        width, height = drawing.written(text)
        over = _over(shape, width, height)
        if max(over) <= _SLACK:
            continue
        sides = [f"{length(by)} px too {what}" for by, what in zip(over, ("wide", "high"), strict=True) if by > _SLACK]
        message = f"{_sentence(drawing.called(name))}: its label is {' and '.join(sides)} for it."
        # Saying the text again breaks its lines anew, and lets the shape grow where that is not enough.
        yield Finding("text-overflow", message, (name, text["id"]), (update(text["id"], text=words_of(text)),))


def _over(shape: Element, width: float, height: float) -> tuple[float, float]:
    """Return by how much text is wider and higher than what there is of a shape where it stands, in its middle."""
    half_wide, half_high = abs(shape["width"]) / 2, abs(shape["height"]) / 2
    kind = kind_of(shape)
    if kind == "rectangle":
        return width - 2 * half_wide, height - 2 * half_high
    # What a row of text at half its height from the middle has of a round or pointed shape.
    share = min(1.0, height / 2 / half_high) if half_high else 1.0
    wide = half_wide * (math.sqrt(1 - share * share) if kind == "ellipse" else 1 - share)
    return (width - 2 * wide, 0.0) if share < 1 else (0.0, height - 2 * half_high)


def overlap(drawing: Drawing) -> Iterator[Finding]:
    """Yield texts that lie over each other, and shapes that hide a part of one another."""
    places = list(drawing.elements)
    order = {name: place for place, name in enumerate(places)}
    texts = [(name, drawing.bounds[name]) for name, one in drawing.of(("text",)) if words_of(one).strip()]
    for pair in overlapping(texts):
        one, other = sorted(pair, key=order.__getitem__)
        if drawing.together(one, other):
            continue
        wide, high = shared(drawing.bounds[one], drawing.bounds[other])
        smaller = min(area(drawing.bounds[one]), area(drawing.bounds[other]))
        if min(wide, high) < _SLACK or wide * high < _OVER * smaller:
            continue
        yield _apart(drawing, one, other, "lie over each other")
    shapes = [(name, drawing.bounds[name]) for name, _ in drawing.of((*SHAPES, "image"))]
    for pair in overlapping(shapes):
        below, above = sorted(pair, key=order.__getitem__)
        if drawing.together(below, above) or not _collide(drawing.elements[below], drawing.elements[above]):
            continue
        lower, upper = drawing.bounds[below], drawing.bounds[above]
        if holds(lower, upper, _SLACK) or holds(upper, lower, _SLACK):
            continue
        wide, high = shared(lower, upper)
        if min(wide, high) < _LEAST or wide * high < _COVERED * min(area(lower), area(upper)):
            continue
        yield _apart(drawing, below, above, f"overlap by {length(wide)} by {length(high)} px")


def outside_frame(drawing: Drawing) -> Iterator[Finding]:
    """Yield the children of frames of which more than half is cut off."""
    for name, element in drawing.elements.items():
        frame = element.get("frameId")
        holder = drawing.elements.get(frame) if isinstance(frame, str) else None
        if holder is None or not isinstance(frame, str) or kind_of(holder) not in FRAMES or container_of(element):
            continue
        own, around = drawing.bounds[name], drawing.bounds[frame]
        wide, high = shared(own, around)
        if wide > 0 and high > 0 and wide * high >= area(own) / 2:
            continue
        if area(own) == 0 and wide >= 0 and high >= 0:  # a line along an axis
            continue
        hidden = "is outside" if wide <= 0 or high <= 0 else "is mostly outside"
        said = f"{_sentence(drawing.called(name))} {hidden} {drawing.called(frame)}, which cuts it off."
        yield Finding("outside-frame", said, (name, frame), (update(name, frameId=None),))


def _collide(below: Element, above: Element) -> bool:
    """Say whether one thing over another is a slip: it hides it, or corners cross; round shapes may well intersect."""
    kinds = kind_of(below), kind_of(above)
    if "image" in kinds or "ellipse" not in kinds:
        return True
    filled = above.get("backgroundColor") not in (None, "", "transparent")
    solid = above.get("fillStyle") in (None, "solid")
    return filled and solid and value_of(above, "opacity") == _OPAQUE


def _apart(drawing: Drawing, one: str, other: str, what: str) -> Finding:
    """Return the finding of two things over each other; the one that was drawn later goes out of the way."""
    fixed, free = drawing.bounds[one], drawing.bounds[other]
    ways = (
        (fixed[2] + _GAP - free[0], 0.0),
        (fixed[0] - _GAP - free[2], 0.0),
        (0.0, fixed[3] + _GAP - free[1]),
        (0.0, fixed[1] - _GAP - free[3]),
    )
    element = drawing.elements[other]
    message = f"{_sentence(drawing.called(one))} and {drawing.called(other)} {what}."
    if container_of(element) or drawing.background(other):
        return Finding("overlap", message, (one, other))
    free_ways = [way for way in ways if _clear(drawing, other, _moved(free, way))]
    if not free_ways:
        return Finding("overlap", message, (one, other))
    dx, dy = min(free_ways, key=lambda way: abs(way[0]) + abs(way[1]))
    patch = {"x": plain(element["x"] + dx)} if dx else {"y": plain(element["y"] + dy)}
    suggested = f"{message} It could move {movement(dx, dy)}."
    return Finding("overlap", suggested, (one, other), (update(other, **patch),))


def _clear(drawing: Drawing, name: str, bounds: Bounds) -> bool:
    """Say whether nothing lies where an element would go, but what it lies in."""
    before = drawing.bounds[name]
    for other, there in drawing.bounds.items():
        element = drawing.elements[other]
        if other == name or container_of(element) == name or kind_of(element) in ("arrow", "line", "freedraw"):
            continue
        wide, high = shared(bounds, there)
        if wide > 0 and high > 0 and not (holds(there, before) and holds(there, bounds)):
            return False
    return True


def _moved(bounds: Bounds, way: tuple[float, float]) -> Bounds:
    return bounds[0] + way[0], bounds[1] + way[1], bounds[2] + way[0], bounds[3] + way[1]


def _sentence(name: str) -> str:
    return name[:1].upper() + name[1:]
