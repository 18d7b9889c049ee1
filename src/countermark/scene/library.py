"""A library of the editor: items, each a few elements that are put into a scene together (research scene §1.7).

`{type: "excalidrawlib", version: 2, source, libraryItems: [{id, status, elements, created, name?}]}`. It holds no
files, so no images, and nothing that is embedded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from countermark.scene.codes import refuse
from countermark.scene.document import SOURCE
from countermark.scene.element_check import faults
from countermark.scene.limits import Limits
from countermark.scene.number import is_number
from countermark.scene.spelling import HOUSE, shown, spell

Item = dict[str, Any]

KIND: Final = "excalidrawlib"
SUFFIX: Final = ".excalidrawlib"
STATUSES: Final = frozenset({"published", "unpublished"})
HOLDS_NO: Final = frozenset({"image", "iframe", "embeddable"})
MOST_ITEMS: Final = 2000
LONGEST_NAME: Final = 200


def require(items: Any, limits: Limits, root: str = "/libraryItems") -> list[Item]:
    """Return library items that are sound, unknown members kept.

    Raises `invalid_scene`, `unsupported_element`, `duplicate_id`, `too_many_elements` or `too_large`, with a JSON
    pointer.
    """
    if not isinstance(items, list):
        _wrong(root, "is not an array")
    if len(items) > MOST_ITEMS:
        _wrong(root, f"has {len(items)} items, {MOST_ITEMS} are allowed", "too_large")
    seen: set[str] = set()
    count = 0
    for place, item in enumerate(items):
        pointer = f"{root}/{place}"
        _require_item(item, pointer)
        if item["id"] in seen:
            _wrong(f"{pointer}/id", f"({shown(item['id'])}) is another item's too", "duplicate_id")
        seen.add(item["id"])
        count += len(item["elements"])
        if count > limits.max_elements:
            _wrong(root, f"has more than {limits.max_elements} elements", "too_many_elements")
        _require_elements(item["elements"], f"{pointer}/elements", limits)
    return items


def text(items: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the bytes of a library of some items, spelled as the editor does."""
    value = {"type": KIND, "version": 2, "source": SOURCE, "libraryItems": list(items)}
    return spell(value, HOUSE, "").encode()


def _require_item(item: Any, pointer: str) -> None:
    if not isinstance(item, dict):
        _wrong(pointer, "is not an object")
    if not isinstance(item.get("id"), str) or not item["id"]:
        _wrong(f"{pointer}/id", "is no text")
    if not isinstance(item.get("status"), str) or item["status"] not in STATUSES:
        _wrong(f"{pointer}/status", "is neither 'published' nor 'unpublished'")
    if not is_number(item.get("created")):
        _wrong(f"{pointer}/created", "is no time")
    name = item.get("name")
    if name is not None and not (isinstance(name, str) and len(name) <= LONGEST_NAME):
        _wrong(f"{pointer}/name", f"is no text of at most {LONGEST_NAME} characters")
    if not isinstance(item.get("elements"), list) or not item["elements"]:
        _wrong(f"{pointer}/elements", "is no array of elements")


def _require_elements(elements: Sequence[Any], root: str, limits: Limits) -> None:
    for place, element in enumerate(elements):
        pointer = f"{root}/{place}"
        if not isinstance(element, dict):
            _wrong(pointer, "is not an object")
        kind = element.get("type")
        if isinstance(kind, str) and kind in HOLDS_NO:
            _wrong(f"{pointer}/type", f"({shown(kind)}) is nothing that a library holds", "unsupported_element")
        for fault in faults(element, pointer, limits):
            if fault.severity == "error":
                _wrong(fault.pointer, f"is wrong: {fault.message.rstrip('.')}", fault.code)


def _wrong(pointer: str, what: str, code: str = "invalid_scene") -> NoReturn:
    raise refuse(
        code,
        f"{pointer} {what}.",
        next_action="Correct or remove that; the stored library is unchanged.",
        details={"pointer": pointer},
    )
