"""After a merge has chosen an element for every id: what holds them together is made whole again.

Each chosen element comes from one side, where it stood beside that side's neighbours. Where the other side changed a
neighbour, references to what is gone are let go, lists of bound elements are merged, children go with their frame,
labels with their container, arrow ends with their targets. What needs none of this stays the object it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from countermark.scene.binding import END, START, attach, can_hold, target_of
from countermark.scene.document import Element, kind_of
from countermark.scene.env import Env
from countermark.scene.jsontext import same
from countermark.scene.label import fit, place
from countermark.scene.line import plain
from countermark.scene.relation import bound, is_sound
from countermark.scene.touch import Elements, Key, is_live, place_of, shift
from countermark.scene.vocabulary import CONTAINERS, FRAMES

_ENDS: Final = (START, END)
_PARTS: Final = {START: "start", END: "end"}


class Reconciled:
    """Chosen elements being brought together.

    `now` holds them by key; `home` says for each in which versions it stood as it is, `away` which is the other one.
    `changed` are those that became new objects here; `notes` says what had to be let go.
    """

    def __init__(
        self,
        now: dict[Key, Element],
        home: Mapping[Key, Sequence[Elements]],
        away: Mapping[Key, Elements],
        base: Elements,
        env: Env,
    ) -> None:
        """Take over the choice; `now` is changed."""
        self.now = now
        self.changed: set[Key] = set()
        self.notes: list[tuple[Key, str, Key]] = []
        self._home = home
        self._away = away
        self._base = base
        self._env = env

    def bring_together(self) -> None:
        """Do all of it, once, in the order in which one thing follows from another."""
        self._frames()
        self._references()
        self._lists()
        self._labels()
        self._arrows()

    def edit(self, key: Key) -> Element:
        """Return an element for changing."""
        if key not in self.changed:
            self.now[key] = dict(self.now[key])
            self.changed.add(key)
        return self.now[key]

    def _live(self) -> Iterator[tuple[Key, Element]]:
        for key in list(self.now):
            if is_live(self.now[key]):
                yield key, self.now[key]

    def _there(self, name: Any) -> Element | None:
        found = self.now.get((name, 0)) if isinstance(name, str) else None
        return found if is_live(found) else None

    def _beside(self, key: Key, name: Any) -> Element | None:
        """Return the live element of an id beside which a chosen element stood; None unless it did in every home."""
        found = [home.get((name, 0)) for home in self._home[key]] if isinstance(name, str) else []
        return found[0] if found and all(map(is_live, found)) else None

    def _displaced(self, key: Key, name: Any) -> tuple[Element, Element] | None:
        """Return how the element of an id was beside a chosen one and is now, where it lies otherwise than it did."""
        before, after = self._beside(key, name), self._there(name)
        if before is None or after is None:
            return None
        places = [place_of(home[name, 0]) for home in self._home[key]]
        return None if any(same(one, place_of(after)) for one in places) else (before, after)

    def _frames(self) -> None:
        for key, element in self._live():
            found = self._displaced(key, element.get("frameId"))
            if found is None or kind_of(found[1]) not in FRAMES or element.get("containerId"):
                continue
            way = shift(*found)
            if way is None or way == (0, 0) or not is_sound(element):
                continue
            new = key not in self._base
            other = self._away[key].get(key)
            went = other is not None and not same(place_of(other), place_of(self._base.get(key) or {}))
            if new or went:
                moved = self.edit(key)
                moved["x"], moved["y"] = plain(element["x"] + way[0]), plain(element["y"] + way[1])

    def _references(self) -> None:
        for key, element in self._live():
            for member, what in (("containerId", "its container"), ("frameId", "its frame")):
                if self._lost(key, element.get(member)):
                    self.edit(key)[member] = None
                    self.notes.append((key, what, (element[member], 0)))
            for end in _ENDS if kind_of(element) == "arrow" else ():
                target = target_of(element.get(end))
                if self._lost(key, target):
                    self.edit(key)[end] = None
                    self.notes.append((key, f"what its {_PARTS[end]} was attached to", (target, 0)))

    def _lost(self, key: Key, name: Any) -> bool:
        return self._beside(key, name) is not None and self._there(name) is None

    def _lists(self) -> None:
        """Merge what each element lists as bound to it."""
        for key, element in self._live():
            if key[1]:
                continue
            home = bound(element)
            before = [entry.get("id") for entry in bound(self._base.get(key) or {})]
            other = bound(self._away[key].get(key) or {})
            kept = [entry for entry in home if not self._left(key, entry.get("id"))]
            known = [entry.get("id") for entry in kept]
            kept += [
                entry
                for entry in other
                if entry.get("id") not in known
                and self._holds_on(self._there(entry.get("id")), key[0])
                and (entry.get("id") not in before or not self._held(key, entry.get("id")))
            ]
            if kept != home:
                holder = self.edit(key)
                holder.pop("boundElementIds", None)
                holder["boundElements"] = kept

    def _left(self, key: Key, name: Any) -> bool:
        """Say whether a listed member held on where the holder comes from, and does not any more."""
        return self._held(key, name) and not self._holds_on(self._there(name), key[0])

    def _held(self, key: Key, name: Any) -> bool:
        members = [home.get((name, 0)) for home in self._home[key]] if isinstance(name, str) else [None]
        return all(is_live(one) and self._holds_on(one, key[0]) for one in members)

    @staticmethod
    def _holds_on(member: Element | None, holder: str | None) -> bool:
        if member is None or holder is None:
            return False
        return holder in (member.get("containerId"), *(target_of(member.get(end)) for end in _ENDS))

    def _labels(self) -> None:
        for key, text in self._live():
            name = text.get("containerId")
            found = self._displaced(key, name)
            if found is None or kind_of(found[1]) not in CONTAINERS - {"arrow"}:
                continue
            before, after = found
            if not (is_sound(text) and is_sound(after)):
                continue
            if any(not same(before.get(side), after.get(side)) for side in ("width", "height")):
                self._fitted(key, (str(name), 0))
            elif not same(before.get("angle") or 0, after.get("angle") or 0):
                place(self.edit(key), after)
            elif (way := shift(before, after)) is not None:
                moved = self.edit(key)
                moved["x"], moved["y"] = plain(text["x"] + way[0]), plain(text["y"] + way[1])

    def _fitted(self, key: Key, holder: Key) -> None:
        container = self.now[holder]
        text = self.edit(key)
        width, height = fit(text, container, self._env)
        if (width, height) != (container["width"], container["height"]):
            wider = width != container["width"]
            container = self.edit(holder)
            container["width"], container["height"] = plain(width), plain(height)
            if wider:
                fit(text, container, self._env)
        place(text, container)

    def _arrows(self) -> None:
        for key, arrow in self._live():
            if kind_of(arrow) != "arrow" or not is_sound(arrow):
                continue
            names = [target_of(arrow.get(end)) for end in _ENDS]
            if all(self._displaced(key, name) is None for name in names):
                continue
            found = [self._there(name) for name in names]
            holding = [one if one is not None and can_hold(one) and is_sound(one) else None for one in found]
            if any(one is not None for one in holding):
                attach(self.edit(key), *holding)
        for key, text in self._live():
            moved = self._displaced(key, text.get("containerId"))
            if moved is not None and kind_of(moved[1]) == "arrow" and is_sound(text) and is_sound(moved[1]):
                place(self.edit(key), moved[1])
