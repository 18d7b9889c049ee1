"""A whole scene that a page sends becomes the new scene, and everything in it that did not change keeps its bytes.

A browser reads `1.0` and writes `1`, and its editor rewrites what it loads. The page therefore sends what it did not
change as it got it, and here every part that is equal to the stored one, numbers compared as JavaScript does, is put
back as the stored object itself: `document.dump` then writes its old bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from countermark.scene.codes import refuse
from countermark.scene.document import APP_STATE, Element, Scene

_IMAGE: Final = "image"
_STATE_KINDS: Final = {"viewBackgroundColor": (str,), "gridSize": (int, float), "gridModeEnabled": (bool,)}


def replacing(base: Scene, sent: Mapping[str, Any]) -> Scene:
    """Return what a stored scene becomes when a page saves `sent` over it; raise `invalid_scene` for what is none.

    An element left out is removed. Of the application state the three keys of the seed are taken. A file left out is
    kept while an element refers to it, or when none did before. All other top-level members stay as stored.
    """
    elements = _list_of_objects(sent.get("elements"))
    taken = _taken(base, elements)
    return base.replaced(
        elements=base.elements if _are(base.elements, taken) else taken,
        app_state=_app_state(base, sent.get("appState")),
        files=_files(base, sent.get("files"), taken),
    )


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are one to a JavaScript reader: numbers by their double, members in any order."""
    kind, kind_of_other = type(one), type(other)
    if kind is dict and kind_of_other is dict:
        return len(one) == len(other) and all(name in other and same(value, other[name]) for name, value in one.items())
    if kind is list and kind_of_other is list:
        return len(one) == len(other) and all(map(same, one, other))
    if kind in (int, float) and kind_of_other in (int, float):
        return _double(one) == _double(other)
    return kind is kind_of_other and bool(one == other)


def _double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:  # a whole number that JavaScript reads as infinity
        return float("inf") if number > 0 else float("-inf")


def _list_of_objects(value: Any) -> list[Element]:
    if not isinstance(value, list):
        raise _not_a_scene("/elements", "is not an array")
    for place, element in enumerate(value):
        if not isinstance(element, dict):
            raise _not_a_scene(f"/elements/{place}", "is not an object")
    return value


def _not_a_scene(pointer: str, what: str) -> Exception:
    return refuse(
        "invalid_scene",
        f"{pointer} {what}.",
        next_action="Send the whole document, as it was read.",
        details={"pointer": pointer},
    )


def _taken(base: Scene, sent: list[Element]) -> list[Element]:
    """Return the sent elements, each equal one as the stored object; of several with one id each is used once."""
    stored: dict[Any, list[Element]] = {}
    for element in base.elements:
        stored.setdefault(_key(element), []).append(element)
    taken: list[Element] = []
    for element in sent:
        waiting = stored.get(_key(element), [])
        place = next((at for at, old in enumerate(waiting) if same(old, element)), None)
        taken.append(element if place is None else waiting.pop(place))
    return taken


def _key(element: Element) -> str | None:
    name = element.get("id")
    return name if isinstance(name, str) else None


def _are(stored: Any, taken: list[Element]) -> bool:
    return len(stored) == len(taken) and all(one is other for one, other in zip(stored, taken, strict=True))


def _app_state(base: Scene, sent: Any) -> dict[str, Any] | None:
    if sent is None:
        return None
    if not isinstance(sent, dict):
        raise _not_a_scene("/appState", "is not an object")
    fresh = {
        name: sent[name]
        for name in APP_STATE
        if name in sent and not (name in base.app_state and same(base.app_state[name], sent[name]))
    }
    for name, value in fresh.items():
        if value is not None and type(value) not in _STATE_KINDS[name]:
            raise _not_a_scene(f"/appState/{name}", "is not what belongs there")
    return {**base.app_state, **fresh} if fresh else None


def _files(base: Scene, sent: Any, elements: list[Element]) -> dict[str, Any] | None:
    if sent is None:
        sent = {}
    if not isinstance(sent, dict):
        raise _not_a_scene("/files", "is not an object")
    before, after = _referred(base.elements), _referred(elements)
    kept = {name: value for name, value in base.files.items() if name in sent or name in after or name not in before}
    for name, value in sent.items():
        if name not in kept or not same(kept[name], value):
            kept[name] = value
    if len(kept) == len(base.files) and all(kept.get(name) is value for name, value in base.files.items()):
        return None
    return kept


def _referred(elements: Any) -> set[Any]:
    found = (element.get("fileId") for element in elements if element.get("type") == _IMAGE)
    return {name for name in found if isinstance(name, str)}
