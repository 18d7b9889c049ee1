"""A scene being changed: elements are copied on their first change, the rest stay the very objects they were.

Who depends on whom (arrows on targets, text on containers, children on frames) is found in one pass, when asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from countermark.scene import order
from countermark.scene.document import Element, Scene
from countermark.scene.env import Env


class Draft:
    """The elements of a scene with changes on top."""

    def __init__(self, scene: Scene, env: Env) -> None:
        self.scene = scene
        self.env = env
        self.base = scene.by_id
        self.changed: dict[str, Element] = {}
        self.made: dict[str, Element] = {}
        self.moved: set[str] = set()
        self._behind: dict[str, list[str]] = {}
        self._before: dict[str, list[str]] = {}
        self._tail: list[str] = []
        self._named_by_new: dict[str, list[str]] = {}

    def get(self, name: str | None) -> Element | None:
        """Return an element as it is now, tombstones too, for reading."""
        if not isinstance(name, str):
            return None
        return self.changed.get(name) or self.made.get(name) or self.base.get(name)

    def live(self, name: str | None) -> Element | None:
        """Return an element that is no tombstone, for reading."""
        found = self.get(name)
        return None if found is None or found.get("isDeleted") else found

    def edit(self, name: str) -> Element:
        """Return an element for changing. Its members may be exchanged, not changed in place."""
        found = self.changed.get(name) or self.made.get(name)
        if found is None:
            found = self.changed[name] = dict(self.base[name])
        return found

    def set(self, name: str, **members: Any) -> None:
        """Exchange members of an element; one that says the same already stays untouched."""
        found = self.get(name)
        if found is not None and any(found.get(key, ...) != value for key, value in members.items()):
            self.edit(name).update(members)

    def add(self, element: Element) -> None:
        """Put a new element in: a label right behind its container, a child right before its frame, else on top."""
        name = element["id"]
        self.made[name] = element
        if element.get("type") == "text" and isinstance(element.get("containerId"), str):
            self._named_by_new.setdefault(element["containerId"], []).append(name)
        self._put(name, element)

    def settle(self, name: str) -> None:
        """Put an element that is there already where its new frame wants it."""
        element = self.get(name)
        if element is None:
            return
        if name in self.made:
            for places in (*self._behind.values(), *self._before.values(), self._tail):
                if name in places:
                    places.remove(name)
        else:
            self.edit(name)
            self.moved.add(name)
        self._put(name, element)

    def _put(self, name: str, element: Element) -> None:
        container, frame = element.get("containerId"), element.get("frameId")
        if container is not None and self.get(container) is not None:
            self._behind.setdefault(container, []).append(name)
        elif frame is not None and self.get(frame) is not None:
            self._before.setdefault(frame, []).append(name)
        else:
            self._tail.append(name)

    def alive(self) -> Iterator[tuple[str, Element]]:
        """Yield all elements as they are now by id, without tombstones; of those that share an id, the first."""
        changed = self.changed
        for name, old in self.base.items():
            found = changed.get(name, old)
            if not found.get("isDeleted"):
                yield name, found
        for name, found in self.made.items():
            if not found.get("isDeleted"):
                yield name, found

    def texts_in(self, container: str) -> Iterator[str]:
        """Yield the live texts that name a container, those of the scene first."""
        for name in (*self._named_by_old.get(container, ()), *self._named_by_new.get(container, ())):
            text = self.live(name)
            if text is not None and text.get("containerId") == container:
                yield name

    @cached_property
    def _named_by_old(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, element in self.base.items():
            container = element.get("containerId")
            if element.get("type") == "text" and isinstance(container, str):
                found.setdefault(container, []).append(name)
        return found

    def order(self) -> list[Element]:
        """Return all elements in drawing order, with order keys for those that are new or moved."""
        out: list[Element] = []
        new: list[bool] = []

        def put(element: Element, *, fresh: bool) -> None:
            name = element["id"]
            waiting = self._before.pop(name, ())
            for child in waiting:
                put(self._current(child), fresh=True)
            out.append(element)
            new.append(fresh)
            for label in self._behind.pop(name, ()):
                put(self._current(label), fresh=True)

        placed = bool(self._behind or self._before or self.moved)
        changed = self.changed
        base = self.base
        for element in self.scene.elements:
            name = element.get("id")
            first = isinstance(name, str) and base[name] is element
            if not first:
                out.append(element)
                new.append(False)
                continue
            if not placed:
                out.append(changed.get(name, element))  # type: ignore[arg-type]
                new.append(False)
            elif name not in self.moved:
                put(changed.get(name, element), fresh=False)  # type: ignore[arg-type]
        for name in self._tail:
            put(self._current(name), fresh=True)
        self._key(out, new)
        return out

    def _current(self, name: str) -> Element:
        found = self.get(name)
        if found is None:
            message = f"element {name!r} was placed and is not there"
            raise AssertionError(message)
        return found

    @staticmethod
    def _key(elements: Sequence[Element], new: Sequence[bool]) -> None:
        if not any(new):
            return
        keys = iter(order.assign([element.get("index") for element in elements], new))
        for element, fresh in zip(elements, new, strict=True):
            if fresh:
                element["index"] = next(keys)
