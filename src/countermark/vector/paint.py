"""Paints of a node: the fills and strokes of its appearance, the runs of its text, and the colours inside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from countermark.vector.container import Json


class Ink(NamedTuple):
    """One colour that a node carries and that can name a swatch: a solid paint or a gradient's stop.

    `holder` is the dict with the members `color` and, when bound, `swatch`; `place` says where it stands in the node.
    """

    place: str
    holder: Json


def inks(node: Json) -> Iterator[Ink]:
    """Yield every colour of a node itself, not of its children, in paint order."""
    for place, paint in _paints(node):
        yield from paint_inks(place, paint)


def paint_inks(place: str, paint: Any) -> Iterator[Ink]:
    """Yield the colours of one paint; a pattern or no paint yields none."""
    if not isinstance(paint, dict):
        return
    if paint.get("type") == "solid":
        yield Ink(place, paint)
    elif paint.get("type") == "gradient":
        for index, stop in enumerate(paint.get("gradient", {}).get("stops", ())):
            yield Ink(f"{place}.stop[{index}]", stop)


def with_inks(node: Json, change: Callable[[Ink], Json]) -> Json:
    """Return the node with every colour holder passed through `change`; nothing changed, the node itself."""
    found = node
    appearance = node.get("appearance")
    items = appearance.get("items") if isinstance(appearance, dict) else None
    if isinstance(items, list):
        changed = [_with_item(index, item, change) for index, item in enumerate(items)]
        if any(after is not before for after, before in zip(changed, items, strict=True)):
            found = {**found, "appearance": {**node["appearance"], "items": changed}}
    runs = node["kind"].get("runs")
    if isinstance(runs, list):
        written = [_with_run(index, run, change) for index, run in enumerate(runs)]
        if any(after is not before for after, before in zip(written, runs, strict=True)):
            found = {**found, "kind": {**node["kind"], "runs": written}}
    return found


def with_paint_inks(place: str, paint: Any, change: Callable[[Ink], Json]) -> Any:
    """Return one paint with its colour holders passed through `change`."""
    if not isinstance(paint, dict):
        return paint
    if paint.get("type") == "solid":
        return change(Ink(place, paint))
    if paint.get("type") != "gradient":
        return paint
    stops = paint["gradient"]["stops"]
    changed = [change(Ink(f"{place}.stop[{index}]", stop)) for index, stop in enumerate(stops)]
    if all(after is before for after, before in zip(changed, stops, strict=True)):
        return paint
    return {**paint, "gradient": {**paint["gradient"], "stops": changed}}


def _paints(node: Json) -> Iterator[tuple[str, Any]]:
    appearance = node.get("appearance")
    for index, item in enumerate(appearance.get("items", ()) if isinstance(appearance, dict) else ()):
        yield f"{item.get('kind')}[{index}]", item.get("paint")
    runs = node["kind"].get("runs")
    for index, run in enumerate(runs if isinstance(runs, list) else ()):
        for name in ("fill", "stroke"):
            yield f"run[{index}].{name}", run.get("style", {}).get(name)


def _with_item(index: int, item: Json, change: Callable[[Ink], Json]) -> Json:
    paint = item.get("paint")
    changed = with_paint_inks(f"{item.get('kind')}[{index}]", paint, change)
    return item if changed is paint else {**item, "paint": changed}


def _with_run(index: int, run: Json, change: Callable[[Ink], Json]) -> Json:
    style = run.get("style", {})
    found = style
    for name in ("fill", "stroke"):
        changed = with_paint_inks(f"run[{index}].{name}", style.get(name), change)
        if changed is not style.get(name):
            found = {**found, name: changed}
    return run if found is style else {**run, "style": found}
