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
from countermark.scene.jsontext import same

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
        place = next((at for at, old in enumerate(waiting) if same(old, element, doubles=True)), None)
        if place is not None:
            taken.append(waiting.pop(place))
        else:
            taken.append(_kept(next(iter(stored.get(_key(element), ())), None), element))
    return taken


def _kept(old: Any, sent: Any) -> Any:
    """Return what is sent, with every part that is the stored one as that part itself: a page rounds long numbers."""
    if same(old, sent, doubles=True):
        return old
    if isinstance(old, dict) and isinstance(sent, dict):
        return {name: _kept(old[name], member) if name in old else member for name, member in sent.items()}
    if isinstance(old, list) and isinstance(sent, list):
        return [_kept(*pair) for pair in zip(old, sent, strict=False)] + sent[len(old) :]
    return sent


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
        if name in sent and not (name in base.app_state and same(base.app_state[name], sent[name], doubles=True))
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
        if name not in kept or not same(kept[name], value, doubles=True):
            kept[name] = _kept(kept.get(name), value)
    if len(kept) == len(base.files) and all(kept.get(name) is value for name, value in base.files.items()):
        return None
    return kept


def _referred(elements: Any) -> set[Any]:
    found = (element.get("fileId") for element in elements if element.get("type") == _IMAGE)
    return {name for name in found if isinstance(name, str)}
