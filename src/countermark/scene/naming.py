"""What an element is called in front of a person: its kind, with its label, its text, its name or its place."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from countermark.scene.binding import END, START, target_of
from countermark.scene.document import Element, kind_of
from countermark.scene.number import is_measure
from countermark.scene.relation import bound
from countermark.scene.touch import Elements, Key, is_live
from countermark.scene.vocabulary import CONTAINERS, FRAMES, SHAPES

KINDS: Final[Mapping[str, str]] = {
    "rectangle": "box",
    "ellipse": "ellipse",
    "diamond": "diamond",
    "arrow": "arrow",
    "line": "line",
    "draw": "line",
    "text": "text",
    "freedraw": "stroke",
    "image": "picture",
    "frame": "frame",
    "magicframe": "frame",
    "embeddable": "embed",
    "iframe": "embed",
}
_LONGEST: Final = 32
_MOST_PAIRS: Final = 1_000_000
_UNNAMED: Final = "element"

Rectangle = tuple[float, float, float, float]


def quoted(text: Any) -> str:
    """Return text between quotation marks, on one line and cut where it is long."""
    words = " ".join(str(text).split())
    return f"“{words if len(words) <= _LONGEST else words[: _LONGEST - 1].rstrip() + '…'}”"


def kind_in_words(element: Mapping[str, Any]) -> str:
    """Return what kind of thing an element is, in a person's word."""
    kind = kind_of(element)
    return KINDS.get(kind, kind if kind.isidentifier() else _UNNAMED)


class Names:
    """The names of one version's elements."""

    def __init__(self, elements: Elements) -> None:
        """Name the elements of a version."""
        self._elements = elements

    def of(self, key: Key) -> str:
        """Return what an element is called."""
        element = self._elements.get(key)
        if element is None:
            return _UNNAMED
        kind, called = kind_in_words(element), self.called(key)
        if kind == "arrow":
            ends = self._ends(element)
            if called:
                return f"{kind} {called}" + (f" ({ends})" if ends else "")
            if ends:
                return f"{kind} {ends}"
        holder = element.get("containerId")
        if kind == "text" and isinstance(holder, str) and self._labels.get(holder) == key:
            return f"the label of {self.of((holder, 0))}"
        if called:
            return f"{kind} {called}"
        x, y = element.get("x"), element.get("y")
        return f"{kind} at {x:.0f}, {y:.0f}" if is_measure(x) and is_measure(y) else kind

    def called(self, key: Key) -> str:
        """Return an element's label, text or name between quotation marks; nothing where it has none."""
        element = self._elements.get(key, {})
        kind = kind_of(element)
        if kind == "text":
            return _title(words_of(element))
        if kind in FRAMES:
            name = element.get("name")
            return quoted(name) if isinstance(name, str) and name.strip() else ""
        label = self.label(key) if kind in CONTAINERS else None
        if label is None and kind in SHAPES:
            label = self._written_inside.get(key)
        text = words_of(self._elements[label]) if label is not None else ""
        return _title(text)

    def has(self, key: Key) -> bool:
        """Say whether an element has a label, a text or a name by which people know it."""
        return bool(self.called(key))

    def label(self, key: Key) -> Key | None:
        """Return the live text that is bound to a container."""
        found = self._labels.get(key[0]) if not key[1] else None
        if found is not None:
            return found
        for entry in bound(self._elements.get(key, {})):
            name = entry.get("id")
            text = self._elements.get((name, 0)) if isinstance(name, str) else None
            if text is not None and is_live(text) and kind_of(text) == "text":
                return name, 0
        return None

    def _ends(self, arrow: Element) -> str:
        start, end = (self._target(arrow.get(end)) for end in (START, END))
        if start and end:
            return f"{start} → {end}"
        return f"from {start}" if start else f"to {end}" if end else ""

    def _target(self, binding: Any) -> str:
        name = target_of(binding)
        element = self._elements.get((name, 0)) if name is not None else None
        if element is None or name is None:
            return ""
        return self.called((name, 0)) or kind_in_words(element)

    @cached_property
    def _labels(self) -> dict[Any, Key]:
        return {
            element["containerId"]: key
            for key, element in self._elements.items()
            if kind_of(element) == "text" and is_live(element) and isinstance(element.get("containerId"), str)
        }

    @cached_property
    def _written_inside(self) -> dict[Key, Key]:
        """Return the free text that each shape seems to be labelled by: the topmost of those it is closest around."""
        shapes, texts = [], []
        for key, element in self._elements.items():
            frame = _rectangle(element) if is_live(element) else None
            if frame is not None and kind_of(element) in SHAPES:
                shapes.append((key, frame))
            elif frame is not None and kind_of(element) == "text" and not element.get("containerId"):
                texts.append((key, frame))
        if len(shapes) * len(texts) > _MOST_PAIRS:  # there, a place names a shape as well
            return {}
        found: dict[Key, tuple[float, Key]] = {}
        for text, (left, top, right, bottom) in texts:
            around = [
                ((box[2] - box[0]) * (box[3] - box[1]), key)
                for key, box in shapes
                if box[0] <= left and box[1] <= top and right <= box[2] and bottom <= box[3]
            ]
            if around:
                _, shape = min(around, key=lambda pair: pair[0])
                found[shape] = min(found.get(shape, (top, text)), (top, text), key=lambda pair: pair[0])
        return {shape: text for shape, (_, text) in found.items()}


def _title(text: str) -> str:
    """Return the first line of a text between quotation marks; nothing where it has no words."""
    first, _, more = text.strip().partition("\n")
    return quoted(f"{first.strip()}…" if more.strip() else first) if first else ""


def words_of(text: Mapping[str, Any]) -> str:
    """Return a text's words without the line breaks that wrapping put in."""
    found = (text.get("originalText"), text.get("text"))
    return next((one for one in found if isinstance(one, str) and one), "")


def _rectangle(element: Mapping[str, Any]) -> Rectangle | None:
    x, y, width, height = (element.get(field) for field in ("x", "y", "width", "height"))
    if not (is_measure(x) and is_measure(y) and is_measure(width) and is_measure(height)):
        return None
    return x, y, x + width, y + height
