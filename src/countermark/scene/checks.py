"""What is wrong with a document: structure, ids, types, values, references, images, order (seed 3 §4.5).

Strict for validation: everything is said. Against a base scene, for saving what a page sends: what that scene already
had passes, everything new counts. Nothing here is shared with what makes or changes elements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from countermark.scene import attachment
from countermark.scene.codes import refuse
from countermark.scene.document import Scene, kind_of
from countermark.scene.element_check import Fault, faults, flaws, is_key
from countermark.scene.limits import Limits
from countermark.scene.number import is_number
from countermark.scene.spelling import escaped, shown
from countermark.scene.vocabulary import BINDABLE, CONTAINERS, FRAMES, LEGACY_TYPES, READABLE

Json = dict[str, Any]

MOST_DIAGNOSTICS: Final = 500
"""So many are listed; the rest is counted in the stats."""
_ENDS: Final = ("startBinding", "endBinding")


@dataclass(frozen=True, slots=True)
class Report:
    """What was found. `valid` says that no diagnostic is an error."""

    valid: bool
    diagnostics: tuple[Json, ...]
    stats: Json


@dataclass(slots=True)
class _Findings:
    faults: list[Fault] = field(default_factory=list)

    def add(
        self, code: str, pointer: str, message: str, element: str | None = None, *, severity: str = "error"
    ) -> None:
        self.faults.append(Fault(code, severity, pointer, message, element))


def diagnose(value: Any, limits: Limits) -> Report:
    """Return all that is wrong with a document, and what it holds; never raises for what the document says."""
    found = _Findings()
    if not isinstance(value, Mapping):
        found.add("invalid_scene", "", "The document is not an object.")
        return _report(found.faults, {})
    for fault in flaws(value, ""):
        found.faults.append(fault)
    _envelope(value, limits, found)
    elements = value.get("elements")
    elements = elements if isinstance(elements, list | tuple) else ()
    files = value.get("files")
    files = files if isinstance(files, Mapping) else {}
    _elements(elements, range(len(elements)), limits, found)
    _relations(elements, files, found)
    _files(files, list(files), limits, found)
    _order(elements, found)
    return _report(found.faults, _stats(value, elements, files))


def require_no_new_fault(after: Scene, base: Scene, limits: Limits) -> None:
    """Raise the first error that a scene has and the scene it replaces had not, with element id and JSON pointer.

    Only elements and files that are not the base's own objects are looked at one by one.
    """
    known = {id(element) for element in base.elements}
    fresh = [place for place, element in enumerate(after.elements) if id(element) not in known]
    found, before = _Findings(), _Findings()
    _elements(after.elements, fresh, limits, found)
    _relations(after.elements, after.files, found)
    _files(
        after.files, [name for name, entry in after.files.items() if base.files.get(name) is not entry], limits, found
    )
    errors = [fault for fault in found.faults if fault.severity == "error"]
    if not errors:
        return
    _elements(base.elements, range(len(base.elements)), limits, before)
    _relations(base.elements, base.files, before)
    _files(base.files, list(base.files), limits, before)
    had = Counter(fault.kind for fault in before.faults)
    for fault in errors:
        if had[fault.kind]:
            had[fault.kind] -= 1
            continue
        details: Json = {"pointer": fault.pointer}
        if fault.element is not None:
            details["element"] = fault.element
        raise refuse(
            fault.code,
            f"{fault.pointer}: {fault.message}",
            next_action="Correct or remove that, then save again; the stored scene is unchanged.",
            details=details,
        )


def _report(faults: Sequence[Fault], stats: Json) -> Report:
    errors = sum(1 for fault in faults if fault.severity == "error")
    stats |= {"errors": errors, "warnings": len(faults) - errors}
    first = sorted(faults, key=lambda fault: fault.severity != "error")[:MOST_DIAGNOSTICS]
    return Report(not errors, tuple(fault.wire() for fault in first), stats)


def _envelope(value: Mapping[str, Any], limits: Limits, found: _Findings) -> None:
    kind = value.get("type")
    if kind != "excalidraw":
        found.add("invalid_scene", "/type", f"The type is {shown(kind)}, not 'excalidraw'.")
    if value.get("version") != 2:  # noqa: PLR2004 - the format's version
        found.add("invalid_scene", "/version", "The version is not 2.", severity="warning")
    for name, shape, said in (
        ("elements", list, "an array"),
        ("appState", dict, "an object"),
        ("files", dict, "an object"),
    ):
        part = value.get(name)
        if part is not None and not isinstance(part, shape):
            found.add("invalid_scene", f"/{name}", f"This is not {said}.")
    elements = value.get("elements")
    if isinstance(elements, list) and len(elements) > limits.max_elements:
        what = f"There are {len(elements)} elements, {limits.max_elements} are allowed."
        found.add("too_many_elements", "/elements", what)
    size = _size(value)
    if size is not None and size > limits.max_scene_bytes:
        found.add("too_large", "", f"The document has {size} bytes, {limits.max_scene_bytes} are allowed.")
    state = value.get("appState")
    if isinstance(state, Mapping):
        _app_state(state, found)


def _app_state(state: Mapping[str, Any], found: _Findings) -> None:
    colour, grid, shown = (state.get(name) for name in ("viewBackgroundColor", "gridSize", "gridModeEnabled"))
    if colour is not None and not isinstance(colour, str):
        found.add("invalid_scene", "/appState/viewBackgroundColor", "This is no colour.")
    if grid is not None and not is_number(grid):
        found.add("invalid_scene", "/appState/gridSize", "This is neither a number nor null.")
    if shown is not None and not isinstance(shown, bool):
        found.add("invalid_scene", "/appState/gridModeEnabled", "This is neither true nor false.")


def _elements(elements: Sequence[Any], places: Collection[int], limits: Limits, found: _Findings) -> None:
    firsts: dict[str, int] = {}
    chosen = set(places) if len(places) != len(elements) else None
    for place, element in enumerate(elements):
        pointer = f"/elements/{place}"
        if not isinstance(element, Mapping):
            found.add("invalid_scene", pointer, "This element is not an object; the editor refuses the whole file.")
            continue
        name = element.get("id")
        if isinstance(name, str) and firsts.setdefault(name, place) != place:
            what = f"The element at {firsts[name]} has the id {name!r} too."
            found.add("duplicate_id", f"{pointer}/id", what, name)
        if chosen is None or place in chosen:
            found.faults += faults(element, pointer, limits)


def _relations(elements: Sequence[Any], files: Mapping[str, Any], found: _Findings) -> None:
    known: dict[str, Mapping[str, Any]] = {}
    for element in elements:
        if isinstance(element, Mapping) and isinstance(element.get("id"), str):
            known.setdefault(element["id"], element)
    for place, element in enumerate(elements):
        if isinstance(element, Mapping) and not element.get("isDeleted"):
            for fault in _references(element, f"/elements/{place}", known, files):
                found.faults.append(fault)


def _references(
    element: Mapping[str, Any], pointer: str, known: Mapping[str, Mapping[str, Any]], files: Mapping[str, Any]
) -> Iterator[Fault]:
    name, kind = element.get("id"), element.get("type")
    about = name if isinstance(name, str) else None

    def fault(member: str, message: str, severity: str = "error") -> Fault:
        return Fault("invalid_reference", severity, pointer + member, message, about)

    for member, target, kinds, what in _named(element):
        other = known.get(target) if isinstance(target, str) else None
        if other is None:
            yield fault(member, f"{shown(target)} is not in the scene.")
        elif other.get("isDeleted"):
            yield fault(member, f"{shown(target)} is deleted.", "warning")
        elif kind_of(other) not in kinds:
            yield fault(member, f"{shown(target)} is {shown(other.get('type'))}, which is no {what}.")
        if member.endswith("/elementId") and about is not None and not _lists(other, about):
            yield fault(member, f"{shown(target)} does not list this arrow: it will not follow.", "warning")
    picture = element.get("fileId")
    if kind == "image" and not (isinstance(picture, str) and picture in files):
        yield fault("/fileId", "The image names no file of the scene.")


def _named(element: Mapping[str, Any]) -> Iterator[tuple[str, Any, Collection[str], str]]:
    """Yield each reference of an element: where it stands, whom it names, what that must be, and in words."""
    if element.get("frameId") is not None:
        yield "/frameId", element["frameId"], FRAMES, "frame"
    if element.get("type") == "text" and element.get("containerId") is not None:
        yield "/containerId", element["containerId"], CONTAINERS, "container of text"
    for end in _ENDS if element.get("type") == "arrow" else ():
        binding = element.get(end)
        if isinstance(binding, Mapping):
            yield f"/{end}/elementId", binding.get("elementId"), BINDABLE, "element that holds arrows"
    entries = element.get("boundElements")
    for count, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, Mapping):
            yield f"/boundElements/{count}/id", entry.get("id"), ("arrow", "text"), "arrow or text"


def _lists(holder: Mapping[str, Any] | None, member: str) -> bool:
    if holder is None or holder.get("isDeleted"):
        return True
    older, entries = holder.get("boundElementIds"), holder.get("boundElements")
    if isinstance(older, list):
        return member in older
    return isinstance(entries, list) and any(isinstance(one, Mapping) and one.get("id") == member for one in entries)


def _files(files: Mapping[str, Any], names: Collection[str], limits: Limits, found: _Findings) -> None:
    for name in names:
        what = attachment.fault(name, files[name])
        if what is not None:
            found.add("invalid_scene", f"/files/{escaped(str(name))}{what[0]}", f"This {what[1]}.", str(name))
    if len(files) > limits.max_files:
        found.add("too_large", "/files", f"There are {len(files)} files, {limits.max_files} are allowed.")
    characters = _characters(files)
    if characters > limits.max_file_chars:
        said = f"The images have {characters} characters, {limits.max_file_chars} are allowed."
        found.add("too_large", "/files", said)


def _order(elements: Sequence[Any], found: _Findings) -> None:
    last = None
    keyed = any(isinstance(element, Mapping) and element.get("index") is not None for element in elements)
    for place, element in enumerate(elements):
        key = element.get("index") if isinstance(element, Mapping) else None
        if not keyed or not isinstance(key, str) or not is_key(key):
            continue
        if last is not None and key <= last:
            what = f"The order key {key!r} does not come after {last!r}; the editor makes a new one."
            found.add("invalid_scene", f"/elements/{place}/index", what, element.get("id"), severity="warning")
            continue
        last = key


def _stats(value: Mapping[str, Any], elements: Sequence[Any], files: Mapping[str, Any]) -> Json:
    objects = [element for element in elements if isinstance(element, Mapping)]
    live = [element for element in objects if not element.get("isDeleted")]
    kinds = Counter(_named_kind(element) for element in live)
    stats: Json = {
        "elements": len(elements),
        "live": len(live),
        "deleted": len(objects) - len(live),
        "types": dict(sorted(kinds.items())),
        "readable": all(kind in READABLE or kind in LEGACY_TYPES for kind in kinds),
        "files": len(files),
        "fileCharacters": _characters(files),
        "byteLength": _size(value),
        "bounds": _bounds(live),
    }
    return stats


def _named_kind(element: Mapping[str, Any]) -> str:
    kind = element.get("type")
    return kind if isinstance(kind, str) else shown(kind)


def _bounds(elements: Sequence[Mapping[str, Any]]) -> list[float] | None:
    boxes = []
    for element in elements:
        sides = [element.get(name) for name in ("x", "y", "width", "height")]
        if all(map(is_number, sides)):
            x, y, width, height = (float(side) for side in sides if side is not None)
            boxes.append((x, y, x + width, y + height))
    if not boxes:
        return None
    edges: tuple[Callable[..., float], ...] = (min, min, max, max)
    return [edge(box[place] for box in boxes) for place, edge in enumerate(edges)]


def _characters(files: Mapping[str, Any]) -> int:
    urls = (entry.get("dataURL") for entry in files.values() if isinstance(entry, Mapping))
    return sum(len(url) for url in urls if isinstance(url, str))


def _size(value: Mapping[str, Any]) -> int | None:
    try:
        return len(orjson.dumps(value, option=orjson.OPT_INDENT_2))
    except TypeError:  # what is no JSON is said elsewhere
        return None
