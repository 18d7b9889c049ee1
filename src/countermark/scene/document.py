"""One `.excalidraw` document: read strictly, changed by copying, written so that what was not touched keeps its bytes.

Elements are plain dictionaries and never changed in place: an element that is the same object as the one that was read
is untouched, and its old bytes are written again, number spelling included (seed 3 §2; research scene §1.1, §4.4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import is_
from typing import Any, Final

import orjson

from countermark.scene.codes import SceneError, refuse
from countermark.scene.jsontext import parsed, read, same, uncollected
from countermark.scene.layout import Layout, lay_out
from countermark.scene.limits import Limits
from countermark.scene.spelling import HOUSE, escaped, spell

Element = dict[str, Any]

SOURCE: Final = "countermark"
KIND: Final = "excalidraw"
APP_STATE: Final = ("viewBackgroundColor", "gridSize", "gridModeEnabled")
"""The keys of the application state that tools and the page may write (seed 3 §2.3); others a file has are kept."""

_EXACT: Final = 2**53
_PLAIN_FROM: Final = 1e-4
_OTHER_KINDS: Final = frozenset({"excalidraw-skeleton", "excalidrawlib", "excalidraw/clipboard"})


def kind_of(element: Mapping[str, Any]) -> str:
    """Return an element's type; nothing where a file has no text there."""
    kind = element.get("type")
    return kind if isinstance(kind, str) else ""


@dataclass(frozen=True)
class Scene:
    """A document. `elements` in drawing order, tombstones included; `files` by file id.

    `source` holds the bytes that were read; `dump` gives the bytes of the scene as it is now. `whole` is the document
    as it was read, in its own order.
    """

    elements: Sequence[Element]
    app_state: dict[str, Any]
    files: dict[str, Any]
    whole: Mapping[str, Any]
    source: bytes
    layout: Layout | None = None
    base: Scene | None = None

    def replaced(
        self,
        *,
        elements: Sequence[Element] | None = None,
        app_state: dict[str, Any] | None = None,
        files: dict[str, Any] | None = None,
    ) -> Scene:
        """Return the scene with some parts exchanged; what is the same object as before keeps its bytes.

        A part that says the same as before counts as untouched.
        """
        new = None if elements is None else tuple(elements)
        if new is not None and len(new) == len(self.elements) and all(map(is_, new, self.elements)):
            new = None
        return replace(
            self,
            elements=self.elements if new is None else new,
            app_state=self.app_state if app_state is None or same(app_state, self.app_state) else app_state,
            files=self.files if files is None or same(files, self.files) else files,
            base=self.base or self,
        )

    @cached_property
    def by_id(self) -> Mapping[str, Element]:
        """The elements by id; of elements that share one, the first."""
        found: dict[str, Element] = {}
        for element in self.elements:
            name = element.get("id")
            if isinstance(name, str):
                found.setdefault(name, element)
        return found

    @property
    def live(self) -> int:
        """How many elements are no tombstones."""
        return sum(1 for element in self.elements if not element.get("isDeleted"))

    def value(self) -> dict[str, Any]:
        """Return the whole document as one JSON value, for showing; it shares its parts with the scene."""
        return {**self.whole, "elements": list(self.elements), "appState": self.app_state, "files": self.files}


def load(data: bytes, limits: Limits) -> Scene:
    """Return the document in some bytes.

    Raises `too_large`, `too_many_elements`, `invalid_scene` with a reason and a JSON pointer. Elements are taken as
    they are: what each must be is said by the checks, not here.
    """
    if len(data) > limits.max_scene_bytes:
        raise _too_large("The scene", len(data), limits.max_scene_bytes, "bytes")
    with uncollected(len(data)):
        return _loaded(data, limits)


def _loaded(data: bytes, limits: Limits) -> Scene:
    value, canonical = read(data)
    kind = value.get("type") if isinstance(value, dict) else None
    if kind != KIND:
        raise _not_a_scene(value, kind)
    layout = None if canonical else lay_out(data.decode())
    scene = _scene(value if layout is None else layout.value(), data, layout)
    require_within(scene, limits)
    return scene


def empty() -> Scene:
    """Return a new scene with nothing on it."""
    value = {
        "type": KIND,
        "version": 2,
        "source": SOURCE,
        "elements": [],
        "appState": {"viewBackgroundColor": "#ffffff", "gridSize": None, "gridModeEnabled": False},
        "files": {},
    }
    return _scene(value, orjson.dumps(value, option=orjson.OPT_INDENT_2), None)


def dump(scene: Scene) -> bytes:
    """Return the bytes of a scene: what was not exchanged byte for byte as it was read.

    Raises `invalid_scene` with a JSON pointer when something that was put in is no JSON value.
    """
    base = scene.base
    if base is None:
        return scene.source
    with uncollected(len(base.source)):
        return _dumped(scene, base)


def _dumped(scene: Scene, base: Scene) -> bytes:
    parts: dict[str, Any] = {"elements": scene.elements, "appState": scene.app_state, "files": scene.files}
    before: dict[str, Any] = {"elements": base.elements, "appState": base.app_state, "files": base.files}
    changed = {name: part for name, part in parts.items() if part is not before[name]}
    if not changed:
        return base.source
    if base.layout is not None:
        return base.layout.with_parts(changed).encode()
    value = dict(base.whole)
    if "elements" in changed:
        known = {id(element) for element in base.elements}
        value["elements"] = [
            element if id(element) in known else _respelled(element, base, f"/elements/{place}")
            for place, element in enumerate(scene.elements)
        ]
    if "appState" in changed:
        value["appState"] = _fragment(scene.app_state, 1, "/appState")
    if "files" in changed:
        value["files"] = {
            name: entry if entry is base.files.get(name) else _fragment(entry, 2, f"/files/{escaped(name)}")
            for name, entry in scene.files.items()
        }
    return orjson.dumps(value, option=orjson.OPT_INDENT_2)


def count(data: bytes) -> int:
    """Return how many elements, tombstones included, the document in some bytes has; raise `invalid_scene`."""
    try:
        value = parsed(data)
        return len(value.get("elements") or ())
    except (orjson.JSONDecodeError, AttributeError, TypeError):
        raise _misshapen("", "is not a document") from None


def require_within(scene: Scene, limits: Limits, *, size: int = 0) -> None:
    """Raise `too_many_elements` or `too_large` when a scene has more elements, files, image text, bytes than allowed.

    `size` is the length of its bytes where that is not checked yet.
    """
    if size > limits.max_scene_bytes:
        raise _too_large("The scene", size, limits.max_scene_bytes, "bytes")
    if len(scene.elements) > limits.max_elements:
        raise refuse(
            "too_many_elements",
            f"The scene has {len(scene.elements)} elements, {limits.max_elements} are allowed.",
            next_action="Divide it into several scenes.",
            details={"elements": len(scene.elements), "max_elements": limits.max_elements},
        )
    if len(scene.files) > limits.max_files:
        raise _too_large("The scene", len(scene.files), limits.max_files, "image files")
    urls = (entry.get("dataURL") for entry in scene.files.values() if isinstance(entry, dict))
    characters = sum(len(url) for url in urls if isinstance(url, str))
    if characters > limits.max_file_chars:
        raise _too_large("The images of the scene", characters, limits.max_file_chars, "characters of data URLs")


def _scene(value: Mapping[str, Any], source: bytes, layout: Layout | None) -> Scene:
    elements = _part(value, "elements", list)
    for place, element in enumerate(elements):
        if not isinstance(element, dict):
            raise _misshapen(f"/elements/{place}", "is not an object")
    app_state, files = _part(value, "appState", dict), _part(value, "files", dict)
    return Scene(tuple(elements), app_state, files, value, source, layout)


def _part(value: Mapping[str, Any], name: str, kind: type) -> Any:
    part = value.get(name)
    if part is None:  # files from before 2021 have no `files`, and the editor takes an absent part as an empty one
        return kind()
    if not isinstance(part, kind):
        raise _misshapen(f"/{name}", "is not an array" if kind is list else "is not an object")
    return part


def _respelled(element: Element, base: Scene, pointer: str) -> Any:
    """Return an element for writing: what it says as before is spelled as before, the rest as JavaScript does."""
    old = base.by_id.get(str(element.get("id")))
    if old is None:
        return _fragment(element, 2, pointer)
    new = {name: None for name in element if name not in old}
    if new:
        spell(new, HOUSE, "", pointer=pointer)  # refuses names that are not allowed
    return {
        name: old[name] if name in old and same(member, old[name]) else _member(member, f"{pointer}/{escaped(name)}")
        for name, member in element.items()
    }


def _member(value: Any, pointer: str) -> Any:
    """Return a member for writing: as it is where the fast writer spells it as JavaScript does, else spelled here."""
    kind = type(value)
    if value is None or kind is bool or (kind is str and value.isascii()) or (kind is int and abs(value) <= _EXACT):
        return value
    if kind is float and _PLAIN_FROM <= abs(value) < _EXACT:
        return int(value) if value.is_integer() else value
    return _fragment(value, 3, pointer)


def _fragment(value: Any, level: int, pointer: str) -> orjson.Fragment:
    return orjson.Fragment(spell(value, HOUSE, HOUSE.unit * level, pointer=pointer, depth=level + 1).encode())


def _misshapen(pointer: str, what: str) -> SceneError:
    return refuse(
        "invalid_scene",
        f"{pointer or 'The document'} {what}.",
        next_action="Correct the document.",
        details={"reason": "not-a-scene", "pointer": pointer},
    )


def _not_a_scene(value: Any, kind: Any) -> SceneError:
    if not isinstance(value, dict):
        return _misshapen("", "is not an object")
    other = kind in _OTHER_KINDS
    return refuse(
        "invalid_scene",
        f"The document is of the type {kind!r}, not {KIND!r}." if kind else "The document has no type.",
        next_action="Import it as a scene." if other else f'Give the document "type": "{KIND}".',
        details={"reason": kind if other else "not-a-scene", "pointer": "/type"},
    )


def _too_large(what: str, found: int, allowed: int, unit: str) -> SceneError:
    return refuse(
        "too_large",
        f"{what} has {found} {unit}, {allowed} are allowed.",
        next_action="Make it smaller, or divide it into several scenes.",
        details={"found": found, "allowed": allowed, "unit": unit},
    )
