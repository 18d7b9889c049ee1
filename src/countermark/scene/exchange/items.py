"""Libraries from elsewhere: their items become the folder's own, or stand side by side in a scene (research §1.7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from countermark.scene import library
from countermark.scene.codes import refuse
from countermark.scene.document import Element, kind_of
from countermark.scene.env import Env
from countermark.scene.exchange import mend
from countermark.scene.exchange.report import Report, worded
from countermark.scene.library import Item
from countermark.scene.number import is_number

_GAP: Final = 40
_WIDE: Final = 1200
_REFERENCES: Final = ("containerId", "frameId")
_ENDS: Final = ("startBinding", "endBinding")


def items(value: dict[str, Any], env: Env, report: Report) -> list[Item]:
    """Return the sound items of a library, of version 1 or 2; notes what is repaired and dropped.

    Raises `invalid_scene` when there is no list of items.
    """
    given = value.get("libraryItems", value.get("library"))
    if not isinstance(given, list):
        raise refuse(
            "invalid_scene",
            "The library has no list of items.",
            next_action="Export the library again.",
            details={"reason": "not-a-library", "pointer": "/libraryItems"},
        )
    if len(given) > library.MOST_ITEMS:
        raise refuse(
            "too_large",
            f"The library has {len(given)} items, {library.MOST_ITEMS} are allowed.",
            next_action="Divide it.",
            details={"found": len(given), "allowed": library.MOST_ITEMS, "unit": "items"},
        )
    if given and all(isinstance(one, list) for one in given):
        report.repaired("library", "was of version 1: each list of elements is an item now")
    found: list[Item] = []
    seen: set[str] = set()
    for place, one in enumerate(given):
        item = _item(one, place, env, report)
        if item is None:
            continue
        if item["id"] in seen:
            report.repaired(item["id"], "is the id of two items: the second has a new one")
            item = {**item, "id": env.identity()}
        seen.add(item["id"])
        found.append(item)
    return found


def _item(given: Any, place: int, env: Env, report: Report) -> Item | None:
    about = f"/libraryItems/{place}"
    if isinstance(given, list):
        given = {"id": env.identity(), "status": "unpublished", "elements": given, "created": env.now}
    if not isinstance(given, dict) or not isinstance(given.get("elements"), list):
        report.dropped(about, f"{worded(given)} is no item")
        return None
    item = dict(given)
    if not isinstance(item.get("id"), str) or not item["id"]:
        item["id"] = env.identity()
        report.repaired(about, "had no id")
    name = item.get("name")
    about = name if isinstance(name, str) and name else str(item["id"])
    if not isinstance(item.get("status"), str) or item["status"] not in library.STATUSES:
        report.repaired(about, f"status was {worded(item.get('status'))}: 'unpublished' now")
        item["status"] = "unpublished"
    if not is_number(item.get("created")):
        report.repaired(about, f"created was {worded(item.get('created'))}: now")
        item["created"] = env.now
    if name is not None and not (isinstance(name, str) and len(name) <= library.LONGEST_NAME):
        report.dropped(about, f"its name {worded(name)}: it is no text of at most {library.LONGEST_NAME} characters")
        del item["name"]
    item["elements"] = list(_elements(item["elements"], about, env, report))
    if not item["elements"]:
        report.dropped(about, "the item: nothing in it can be kept")
        return None
    return item


def _elements(given: Sequence[Any], about: str, env: Env, report: Report) -> Iterator[Element]:
    for place, one in enumerate(given):
        element = mend.mended(one, place, env, report)
        if element is None:
            continue
        if kind_of(element) in library.HOLDS_NO:
            report.dropped(str(element.get("id")), f"the {kind_of(element)} in {about}: a library holds none")
            continue
        if not isinstance(element.get("id"), str) or not element["id"]:
            report.repaired(about, f"its element {place} had no id")
            element = {**element, "id": env.identity()}
        yield element


def side_by_side(found: Sequence[Item], env: Env) -> list[Element]:
    """Return the elements of all items, each item beside the one before, in rows, under ids that no other item has."""
    out: list[Element] = []
    seen: set[str] = set()
    x, y, tallest = 0.0, 0.0, 0.0
    for item in found:
        elements = _own_ids(item["elements"], seen, env)
        seen |= {element["id"] for element in elements}
        left, top, right, bottom = _bounds(elements)
        if x and x + right - left > _WIDE:
            x, y, tallest = 0.0, y + tallest + _GAP, 0.0
        for element in elements:
            at_x, at_y = element["x"] + x - left, element["y"] + y - top
            out.append({**element, "x": _plain(at_x), "y": _plain(at_y)})
        x += right - left + _GAP
        tallest = max(tallest, bottom - top)
    return out


def _own_ids(elements: Sequence[Element], seen: set[str], env: Env) -> list[Element]:
    fresh = {element["id"]: env.identity() for element in elements if element["id"] in seen}
    if not fresh:
        return list(elements)

    def renamed(element: Element) -> Element:
        made = {**element, "id": fresh.get(element["id"], element["id"])}
        for member in _REFERENCES:
            if isinstance(made.get(member), str):
                made[member] = fresh.get(made[member], made[member])
        for end in _ENDS:
            binding = made.get(end)
            if isinstance(binding, dict) and isinstance(binding.get("elementId"), str):
                made[end] = {**binding, "elementId": fresh.get(binding["elementId"], binding["elementId"])}
        if isinstance(made.get("boundElements"), list):
            made["boundElements"] = [{**one, "id": fresh.get(one["id"], one["id"])} for one in made["boundElements"]]
        return made

    return [renamed(element) for element in elements]


def _bounds(elements: Sequence[Element]) -> tuple[float, float, float, float]:
    xs = [(element["x"], element["x"] + (element.get("width") or 0)) for element in elements]
    ys = [(element["y"], element["y"] + (element.get("height") or 0)) for element in elements]
    return min(map(min, xs)), min(map(min, ys)), max(map(max, xs)), max(map(max, ys))


def _plain(value: float) -> float:
    return int(value) if value.is_integer() else value
