"""What somebody did to each element between two versions of a scene, and what merely followed from it.

A label goes where its container goes, an arrow's ends stay with its targets, a frame takes its children along, and
versions, order keys and lists of bound elements are kept by the editor itself. Only what is left is somebody's doing;
diff speaks of that, and merge weighs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, Final

from countermark.scene.binding import END, START, target_of
from countermark.scene.document import Element, kind_of
from countermark.scene.jsontext import same
from countermark.scene.label import grown
from countermark.scene.number import is_number
from countermark.scene.relation import bound
from countermark.scene.vocabulary import FRAMES, SHAPES

Key = tuple[str | None, int]
"""An element's id, and which it is of those that have that id (or none)."""
Elements = Mapping[Key, Element]

KEPT_BY_THE_EDITOR: Final = frozenset(
    {
        "version",
        "versionNonce",
        "updated",
        "index",
        "boundElements",
        "boundElementIds",
        "status",
        "baseline",
        "lastCommittedPoint",
        "rawText",
    }
)
"""Fields that say nothing a person would see."""
PLACE: Final = frozenset(
    {"x", "y", "width", "height", "angle", "points", "fixedSegments", "startIsSpecial", "endIsSpecial"}
)
"""Where an element lies, and how large it is."""

_DEFAULTS: Final[Mapping[str, Any]] = {
    "angle": 0,
    "opacity": 100,
    "groupIds": [],
    "isDeleted": False,
    "locked": False,
    "autoResize": True,
    "elbowed": False,
    "polygon": False,
    "strokeStyle": "solid",
    "scale": [1, 1],
    "startIsSpecial": False,
    "endIsSpecial": False,
}
_ENDS: Final = (START, END)
_WRITTEN: Final = ("originalText", "text", "fontSize", "fontFamily", "lineHeight")
_SLACK: Final = 0.01
"""In px: two movements that differ by less are one."""


class Rank(IntEnum):
    """How much somebody did to an element."""

    SAME = 0
    QUIET = 1
    FOLLOWED = 2
    DONE = 3


def keyed(elements: Iterable[Element]) -> dict[Key, Element]:
    """Return elements by key, in their order."""
    found: dict[Key, Element] = {}
    seen: dict[str | None, int] = {}
    for element in elements:
        name = element.get("id")
        name = name if isinstance(name, str) else None
        place = seen[name] = seen.get(name, -1) + 1
        found[name, place] = element
    return found


def is_live(element: Element | None) -> bool:
    """Say whether an element is there and no tombstone."""
    return element is not None and not element.get("isDeleted")


def unchanged(one: Element | None, other: Element | None) -> bool:
    """Say whether two versions of an element say the same, numbers compared as JavaScript does."""
    return one is other or (one is not None and other is not None and (one == other or same(one, other, doubles=True)))


def value_of(element: Mapping[str, Any], field: str) -> Any:
    """Return a field's value, or what the editor takes in its place where there is none."""
    value = element.get(field)
    return _DEFAULTS.get(field) if value is None else value


def place_of(element: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return where an element lies, for comparing."""
    return tuple(value_of(element, field) for field in ("x", "y", "width", "height", "angle", "points"))


class Side:
    """One way from a version of a scene to another."""

    def __init__(self, before: Elements, after: Elements) -> None:
        """Compare two versions."""
        self.before = before
        self.after = after

    def rank(self, key: Key) -> Rank:
        """Return how much was done to an element that is live in both versions."""
        before, after = self.before[key], self.after[key]
        if unchanged(before, after):
            return Rank.SAME
        if self.done(key):
            return Rank.DONE
        return Rank.FOLLOWED if self.fields(key) else Rank.QUIET

    def fields(self, key: Key) -> set[str]:
        """Return the fields in which an element differs, without those that the editor keeps for itself."""
        before, after = self.before[key], self.after[key]
        names = (before.keys() | after.keys()) - KEPT_BY_THE_EDITOR
        return {
            name for name in names if not same(value_of(before, name), value_of(after, name), doubles=True)
        } | self._labelled(before, after)

    def done(self, key: Key) -> set[str]:
        """Return the fields that differ and do not merely follow from another element's change."""
        return self.fields(key) - self.followed(key)

    def followed(self, key: Key) -> set[str]:
        """Return the fields of an element that follow from what was done to others."""
        before, after = self.before[key], self.after[key]
        found = self._in_a_frame(before, after)
        kind = kind_of(after)
        if kind == "text":
            found |= self._as_a_label(before, after)
        elif kind == "arrow":
            found |= self._as_an_arrow(before, after)
        elif kind in SHAPES:
            found |= self._as_grown(before, after)
        return found

    def moved(self, name: Any) -> bool:
        """Say whether the element of an id lies elsewhere than before, or is of another size or shape."""
        before, after = self._both(name)
        return is_live(before) and is_live(after) and not same(place_of(before or {}), place_of(after or {}))

    def gone(self, name: Any) -> bool:
        """Say whether the element of an id was there before and is not any more."""
        before, after = self._both(name)
        return is_live(before) and not is_live(after)

    def _both(self, name: Any) -> tuple[Element | None, Element | None]:
        key = (name, 0) if isinstance(name, str) else (None, -1)
        return self.before.get(key), self.after.get(key)

    def _labelled(self, before: Element, after: Element) -> set[str]:
        """Return the mark of a container that was given a label: that is done to the container too."""
        had = [entry.get("id") for entry in bound(before) if entry.get("type") == "text"]
        fresh = [entry.get("id") for entry in bound(after) if entry.get("type") == "text"]
        return {"label"} if any(name not in had and is_live(self._both(name)[1]) for name in fresh) else set()

    def _as_a_label(self, before: Element, after: Element) -> set[str]:
        container = after.get("containerId")
        if container is None or container != before.get("containerId") or not self.moved(container):
            return set()
        old, new = self._both(container)
        found = {"x", "y", "angle"}
        sizes = ("width", "height")
        resized = any(not same((old or {}).get(side), (new or {}).get(side)) for side in sizes)
        if resized and before.get("originalText") == after.get("originalText"):
            found |= {"text", *sizes}
        return found

    def _as_an_arrow(self, before: Element, after: Element) -> set[str]:
        found: set[str] = set()
        for end in _ENDS:
            old, new = target_of(before.get(end)), target_of(after.get(end))
            if old is not None and new is None and self.gone(old):
                found |= {end}
            elif old is not None and old == new:
                found |= {end}  # focus, gap and mode are how the editor keeps an end at its target
                if self.moved(old):
                    found |= PLACE
        return found

    def _as_grown(self, before: Element, after: Element) -> set[str]:
        """Return the sides that a shape has because its label, which was written anew, needs them."""
        found: set[str] = set()
        for entry in bound(after):
            old, new = self._both(entry.get("id"))
            if old is None or new is None or all(old.get(field) == new.get(field) for field in _WRITTEN):
                continue
            for side in ("width", "height"):
                needed, had, has = new.get(side), before.get(side), after.get(side)
                if not (is_number(needed) and is_number(had) and is_number(has)):
                    continue
                if has > had and abs(grown(kind_of(after), needed) - has) < 1:
                    found |= {side}
        return found

    def _in_a_frame(self, before: Element, after: Element) -> set[str]:
        frame = before.get("frameId")
        if frame is None:
            return set()
        if after.get("frameId") is None:
            return {"frameId"} if self.gone(frame) else set()
        old, new = self._both(frame)
        if after.get("frameId") != frame or old is None or new is None or kind_of(new) not in FRAMES:
            return set()
        way, own = shift(old, new), shift(before, after)
        along = way is not None and own is not None and all(abs(a - b) < _SLACK for a, b in zip(way, own, strict=True))
        return {"x", "y"} if along and way != (0, 0) else set()


def shift(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return how far an element went, right and down; None where a place is no number."""
    x, y, to_x, to_y = before.get("x"), before.get("y"), after.get("x"), after.get("y")
    if is_number(x) and is_number(y) and is_number(to_x) and is_number(to_y):
        return to_x - x, to_y - y
    return None
