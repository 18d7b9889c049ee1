"""Who holds on to whom: arrows and their targets, text and its container, children and their frame.

A binding has two sides, and both count: 0.18.1 moves an arrow only if its target lists it (research §2.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from countermark.scene.binding import END, START, target_of
from countermark.scene.codes import refuse
from countermark.scene.document import Element, kind_of
from countermark.scene.draft import Draft
from countermark.scene.number import is_measure
from countermark.scene.vocabulary import CONTAINERS, FEWEST_POINTS, FRAMES

Entry = dict[str, Any]


@dataclass(slots=True)
class Relations:
    """Live elements by what they hold on to."""

    arrows: dict[str, list[str]] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=dict)


def relations(draft: Draft) -> Relations:
    """Return who holds on to whom, in one pass; arrows and texts whose target does not list them included."""
    found = Relations()
    for name, element in draft.alive():
        kind = kind_of(element)
        if kind == "arrow":
            start, end = target_of(element.get(START)), target_of(element.get(END))
            if start is not None:
                found.arrows.setdefault(start, []).append(name)
            if end is not None and end != start:
                found.arrows.setdefault(end, []).append(name)
        elif kind == "text":
            container = element.get("containerId")
            if isinstance(container, str):
                found.texts.setdefault(container, []).append(name)
        frame = element.get("frameId")
        if frame is not None and isinstance(frame, str) and kind not in FRAMES:
            found.children.setdefault(frame, []).append(name)
    return found


def bound(element: Mapping[str, Any]) -> list[Entry]:
    """Return the entries of what an element holds; those of files from before 2022 stand under another name."""
    older = element.get("boundElementIds")
    if isinstance(older, list):  # where it is there, the editor reads this and nothing else
        return [{"id": name, "type": "arrow"} for name in older if isinstance(name, str)]
    entries = element.get("boundElements")
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def join(draft: Draft, holder: str, member: str, kind: str) -> None:
    """Let an element list a member that it does not list yet."""
    element = draft.live(holder)
    if element is None:
        return
    entries = bound(element)
    if not any(entry.get("id") == member for entry in entries):
        _write(draft, holder, [*entries, {"id": member, "type": kind}])


def part(draft: Draft, holder: str, member: str) -> None:
    """Let an element forget a member."""
    element = draft.live(holder)
    if element is None:
        return
    entries = bound(element)
    kept = [entry for entry in entries if entry.get("id") != member]
    if len(kept) != len(entries):
        _write(draft, holder, kept)


def _write(draft: Draft, holder: str, entries: list[Entry]) -> None:
    element = draft.edit(holder)
    element.pop("boundElementIds", None)
    element["boundElements"] = entries


def label_of(draft: Draft, container: str) -> str | None:
    """Return the live text bound to a container: the one it lists, else one that names it."""
    holder = draft.get(container)
    if holder is None or kind_of(holder) not in CONTAINERS:
        return None
    for entry in bound(holder):
        text = draft.live(entry.get("id")) if isinstance(entry.get("id"), str) else None
        if text is not None and text.get("type") == "text" and text.get("containerId") in (container, None):
            return str(text["id"])
    return next(draft.texts_in(container), None)


def container_of(text: Mapping[str, Any]) -> str | None:
    """Return the id of the container that a text names."""
    name = text.get("containerId")
    return name if isinstance(name, str) and name else None


def is_sound(element: Mapping[str, Any]) -> bool:
    """Say whether an element has the numbers that geometry needs."""
    get = element.get
    if not (is_measure(get("x")) and is_measure(get("y")) and is_measure(get("width")) and is_measure(get("height"))):
        return False
    if not is_measure(get("angle") or 0):
        return False
    fewest = FEWEST_POINTS.get(kind_of(element))
    if fewest is None:
        return True
    points = element.get("points")
    return isinstance(points, list) and len(points) >= fewest and all(map(_is_point, points))


def require_sound(element: Element, pointer: str) -> None:
    """Raise `invalid_scene` for an element that a stored file has without the numbers that a change needs."""
    if not is_sound(element):
        name = element.get("id")
        raise refuse(
            "invalid_scene",
            f"The element {name!r} has no usable place, size or points, so it cannot be changed.",
            next_action="Delete it, or repair the scene.",
            details={"pointer": pointer, "element": name},
        )


def _is_point(point: Any) -> bool:
    return isinstance(point, list) and len(point) == 2 and all(map(is_measure, point))  # noqa: PLR2004
