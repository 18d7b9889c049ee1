"""A diff as a drawing: the newer version with marks around what was added and changed, and with what was removed.

The marks are elements of the drawing itself, so that whatever draws scenes draws them in their places. What was removed
stands where it stood, faint; a shape that was moved or resized leaves its old outline.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from countermark.scene import document
from countermark.scene.diff import ADDED, CHANGED, REMOVED, Diff
from countermark.scene.document import Element, Scene, kind_of
from countermark.scene.drawing import Bounds, bounds_of
from countermark.scene.exporter import Look
from countermark.scene.line import plain
from countermark.scene.relation import container_of, is_sound
from countermark.scene.render import Format, Rendered, drawn
from countermark.scene.touch import PLACE, Key
from countermark.scene.vocabulary import LINEAR

if TYPE_CHECKING:
    from countermark.scene.compare import Compared
    from countermark.scene.desk import Desk

COLOURS: Final = {ADDED: "#2f9e44", REMOVED: "#e03131", CHANGED: "#f08c00"}
"""The stroke of each mark: green, red, orange."""

_AROUND: Final = 8.0
_FAINT: Final = 35


def picture(desk: Desk, found: Compared, format: Format, scale: float = 1.0) -> Rendered:  # noqa: A002 - the word
    """Return a picture of what differs, of the newer revision; raises as `render` does."""
    value = document_of(found.older.scene, found.newer.scene, found.diff)
    data = json.dumps(value, ensure_ascii=False).encode()
    newer = found.newer._replace(data=data, scene=document.load(data, desk.limits))
    return drawn(desk, newer, format, Look(scale=scale))


def document_of(before: Scene, after: Scene, found: Diff) -> dict[str, Any]:
    """Return the document that shows what differs."""
    gone = [_ghost(found.before[entry.key]) for entry in found.of(REMOVED)]
    elements = [*gone, *(one for one in after.elements if not one.get("isDeleted")), *_marks(found)]
    return {**after.value(), "elements": elements, "files": {**before.files, **after.files}}


def _ghost(element: Element) -> Element:
    return {**element, "opacity": _FAINT, "frameId": None, "link": None, "index": None}


def _marks(found: Diff) -> Iterator[Element]:
    """Yield a mark around everything that somebody did something to; a label is marked with what it stands in."""
    around: dict[tuple[str, Key], bool] = {}
    for kind in (REMOVED, CHANGED, ADDED):
        version = found.before if kind == REMOVED else found.after
        for entry in found.of(kind):
            holder = (container_of(version[entry.key]), 0)
            if holder not in version:
                around[kind, entry.key] = kind == CHANGED and bool(entry.fields & PLACE)
            elif kind == CHANGED:
                around.setdefault((kind, holder), False)
    for number, ((kind, key), moved) in enumerate(around.items()):
        element = (found.before if kind == REMOVED else found.after)[key]
        if not is_sound(element):
            continue
        if moved and is_sound(found.before[key]) and kind_of(element) not in LINEAR:
            yield _mark(f"{number}-before", bounds_of(found.before[key]), COLOURS[kind], faint=True)
        yield _mark(str(number), bounds_of(element), COLOURS[kind])


def _mark(name: str, bounds: Bounds, colour: str, *, faint: bool = False) -> Element:
    left, top, right, bottom = bounds
    away = 0.0 if faint else _AROUND
    return {
        "id": f"countermark-mark-{name}",
        "type": "rectangle",
        "x": plain(left - away),
        "y": plain(top - away),
        "width": plain(right - left + 2 * away),
        "height": plain(bottom - top + 2 * away),
        "angle": 0,
        "strokeColor": colour,
        "backgroundColor": "transparent",
        "fillStyle": "solid",
        "strokeWidth": 1 if faint else 2,
        "strokeStyle": "dashed",
        "roughness": 0,
        "opacity": 60 if faint else 100,
        "groupIds": [],
        "frameId": None,
        "index": None,
        "roundness": None if faint else {"type": 3},
        "seed": 1,
        "version": 1,
        "versionNonce": 1,
        "isDeleted": False,
        "boundElements": None,
        "updated": 1,
        "link": None,
        "locked": False,
    }
