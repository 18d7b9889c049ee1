"""Repair of a whole scene, on an explicit call or an import only: every fix is reported, nothing dropped.

Ids that are given twice, references to what is gone, bindings that only one side knows, text away from its container,
order keys of invalid runs. What is not wrong stays the same object, and keeps its bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from countermark.scene import order
from countermark.scene.binding import END, START, can_hold, target_of
from countermark.scene.document import Element, Scene, kind_of
from countermark.scene.env import Env
from countermark.scene.relation import bound
from countermark.scene.spelling import shown
from countermark.scene.vocabulary import CONTAINERS, FRAMES

_ENDS: Final = (START, END)
_END: Final = {START: "a startBinding", END: "an endBinding"}


class Fix(NamedTuple):
    """One thing that was repaired: at which element, and what was done."""

    element: str
    what: str


@dataclass(frozen=True, slots=True)
class Repaired:
    """A scene without the faults that can be repaired, and what was done for it."""

    scene: Scene
    fixes: tuple[Fix, ...]


def repair(scene: Scene, env: Env) -> Repaired:
    """Return the scene with references, bindings, ids and order repaired; the same scene where nothing was wrong."""
    work = _Work(scene, env)
    work.identities()
    work.references()
    work.holders()
    work.texts()
    work.keys()
    if not work.fixes:
        return Repaired(scene, ())
    return Repaired(scene.replaced(elements=work.finished()), tuple(work.fixes))


class _Work:
    """The elements being repaired, copied on their first fix."""

    def __init__(self, scene: Scene, env: Env) -> None:
        self.before = list(scene.elements)
        self.now = list(scene.elements)
        self.copies: set[int] = set()
        self.env = env
        self.fixes: list[Fix] = []
        self.places: dict[str, int] = {}

    def fix(self, place: int, what: str, **members: Any) -> None:
        old = self.now[place]
        if id(old) not in self.copies:
            self.now[place] = dict(old)
            self.copies.add(id(self.now[place]))
            self.now[place]["version"] = _raised(old.get("version"))
            self.now[place]["versionNonce"] = self.env.nonce()
            self.now[place]["updated"] = self.env.now
        self.now[place].update(members)
        self.fixes.append(Fix(str(self.now[place].get("id")), what))

    def live(self, name: Any) -> Element | None:
        place = self.places.get(name) if isinstance(name, str) else None
        if place is None or self.now[place].get("isDeleted"):
            return None
        return self.now[place]

    def identities(self) -> None:
        for place, element in enumerate(self.before):
            name = element.get("id")
            if isinstance(name, str) and name and name not in self.places:
                self.places[name] = place
                continue
            fresh = self.env.identity()
            self.places[fresh] = place
            self.fix(place, f"had the id {shown(name)}, which is another's or none", id=fresh)

    def references(self) -> None:
        self._each("frameId", lambda holder: kind_of(holder) in FRAMES, "named a frame that is not there")
        self._each("containerId", lambda holder: kind_of(holder) in CONTAINERS, "named a container that is not there")
        for place, element in enumerate(list(self.now)):
            for end in _ENDS if not element.get("isDeleted") else ():
                if element.get(end) is None:
                    continue
                target = self.live(target_of(element[end]))
                if element.get("type") != "arrow":
                    self.fix(place, f"is no arrow and had {_END[end]}", **{end: None})
                elif target is None or not can_hold(target):
                    self.fix(place, f"had {_END[end]} to what cannot hold it", **{end: None})

    def _each(self, member: str, fits: Callable[[Element], bool], what: str) -> None:
        for place, element in enumerate(list(self.now)):
            if element.get(member) is None or element.get("isDeleted"):
                continue
            holder = self.live(element[member])
            if holder is None or not fits(holder):
                self.fix(place, what, **{member: None})

    def holders(self) -> None:
        """Let both sides know of each other."""
        wanted: dict[str, dict[str, str]] = {}
        for element in self.now:
            if element.get("isDeleted"):
                continue
            for end in _ENDS if element.get("type") == "arrow" else ():
                target = target_of(element.get(end))
                if target is not None:
                    wanted.setdefault(target, {})[element["id"]] = "arrow"
            if element.get("type") == "text" and element.get("containerId"):
                wanted.setdefault(element["containerId"], {})[element["id"]] = "text"
        for place, element in enumerate(list(self.now)):
            if not element.get("isDeleted"):
                self._list(place, element, wanted.get(element["id"], {}))

    def _list(self, place: int, element: Element, wanted: dict[str, str]) -> None:
        kept, seen = [], set()
        for entry in bound(element):
            name = str(entry.get("id"))
            member = self.live(name)
            if member is None or name in seen:
                continue
            if name not in wanted:
                text = member.get("type") == "text" and member.get("containerId") is None
                if not text or kind_of(element) not in CONTAINERS or "text" in wanted.values():
                    continue
                self.fix(
                    self.places[name], "was listed by its container and did not name it", containerId=element["id"]
                )
                wanted[name] = "text"
            seen.add(name)
            kept.append(entry)
        kept += [{"id": name, "type": kind} for name, kind in wanted.items() if name not in seen]
        if kept != bound(element):
            self.fix(place, "listed other bound elements than there are", boundElements=kept)
            self.now[place].pop("boundElementIds", None)

    def texts(self) -> None:
        """Put bound text right behind its container."""
        behind: dict[str, list[Element]] = {}
        for before, element in zip([None, *self.now], self.now, strict=False):
            holder = element.get("containerId")
            if element.get("type") != "text" or self.live(holder) is None or element.get("isDeleted"):
                continue
            if before is None or holder not in (before.get("id"), before.get("containerId")):
                behind.setdefault(str(holder), []).append(element)
        if not behind:
            return
        moved = {id(text) for texts in behind.values() for text in texts}
        out: list[Element] = []
        for element in self.now:
            if id(element) not in moved:
                out += [element, *behind.get(str(element.get("id")), ())]
        self.now = out
        self.fixes += [Fix(text["id"], "was away from its container") for texts in behind.values() for text in texts]

    def keys(self) -> None:
        keys = [element.get("index") for element in self.now]
        if all(key is None for key in keys):
            return
        for place, key in order.repaired(keys).items():
            self.fix(place, f"had the order key {shown(keys[place])}, out of order", index=key)

    def finished(self) -> list[Element]:
        return self.now


def _raised(version: Any) -> int:
    return version + 1 if isinstance(version, int) and not isinstance(version, bool) else 1
