"""An update's declared fields, read strictly and written to one element (seed 3 §4.4)."""

from __future__ import annotations

from typing import Any, Final

from countermark.scene.binding import END, START
from countermark.scene.change import Change, Wish
from countermark.scene.document import Element, kind_of
from countermark.scene.element import (
    COMMON,
    FONT,
    SET_BY_STORE,
    Label,
    font,
    label,
    normal,
    side,
    style,
)
from countermark.scene.field import Fields
from countermark.scene.label import measure
from countermark.scene.line import line_points, set_points
from countermark.scene.relation import container_of, label_of, part, require_sound
from countermark.scene.spelling import shown
from countermark.scene.vocabulary import ARROWHEADS, FARTHEST, FRAMES, LINEAR, READABLE, SHAPES

_LINE: Final = ("width", "height", "points", "startArrowhead", "endArrowhead")
_OF_TYPE: Final = {
    **dict.fromkeys(SHAPES, ("width", "height", "label")),
    **dict.fromkeys(FRAMES, ("width", "height", "name")),
    **dict.fromkeys(("image", "embeddable", "iframe"), ("width", "height")),
    "arrow": (*_LINE, "startElementId", "endElementId", "label"),
    "line": _LINE,
    "draw": _LINE,
    "freedraw": ("width", "height", "points"),
    "text": ("text", "width", *FONT),
}
_PLACED: Final = ("x", "y", "width", "angle", "frameId")
_LONGEST_NAME: Final = 256


def patch(change: Change, name: str, given: Any, pointer: str) -> None:
    """Write an update's fields to a live element; raises `invalid_operation` and others with a JSON pointer."""
    element = change.draft.edit(name)
    fields = Fields(given, pointer, name)
    kind = element.get("type")
    _require_allowed(fields, element)
    require_sound(element, pointer)
    change.shift(name)
    element.update(style(fields))
    if fields.has("frameId"):
        change.framed[name] = Wish(name, element["frameId"] or "", f"{pointer}/frameId")
    for head in ("startArrowhead", "endArrowhead"):
        if fields.has(head):
            element[head] = fields.word(head, ARROWHEADS, none=True)
    if fields.has("name"):
        element["name"] = fields.text("name", longest=_LONGEST_NAME) if fields.given["name"] is not None else None
    _geometry(fields, element)
    if kind == "text":
        _text(change, fields, element)
    _ends(change, fields, element)
    if fields.has("label"):
        _label(change, fields, element)


def _require_allowed(fields: Fields, element: Element) -> None:
    kind = kind_of(element)
    if kind not in _OF_TYPE:
        what = f"is of the type {shown(element.get('type'))}, of which nothing is known"
        fields.wrong("", what, f"Known are: {', '.join(READABLE)}.", "unsupported_element")
    fields.only({*COMMON, *_OF_TYPE[kind]}, SET_BY_STORE | {"id", "type"})
    if not fields.given:
        fields.wrong("", "changes nothing", "Give at least one field.")
    if container_of(element) and kind == "text":
        for placed in _PLACED:
            if fields.has(placed):
                fields.wrong(placed, "of bound text follows its container", "Change the container instead.")


def _geometry(fields: Fields, element: Element) -> None:
    """Move and resize; the points of a line scale with it."""
    for name in ("x", "y"):
        if fields.has(name):
            element[name] = fields.number(name)
    if element["type"] in LINEAR | {"draw"}:
        _line(fields, element)
    elif element["type"] == "freedraw":
        _stroke(fields, element)
    else:
        for name in ("width", "height"):
            if fields.has(name):
                element[name] = side(fields, name, None)


def _line(fields: Fields, element: Element) -> None:
    points = line_points(fields)
    if points is None:
        return
    if not fields.has("points"):
        _scale(fields, element, *(fields.number(name, None) for name in ("width", "height")))
        return
    if len(set(points)) == 1 and not (element.get(START) or element.get(END)):
        fields.wrong("points", "is a line without length", "Give it a length.")
    set_points(element, [(element["x"] + x, element["y"] + y) for x, y in points])


def _stroke(fields: Fields, element: Element) -> None:
    if fields.has("points"):
        for name in ("width", "height"):
            if fields.has(name):
                fields.wrong(name, "is given beside points", "Give points, or width and height.")
        pressures = element.get("pressures")
        points = fields.points("points", fewest=1, widest=FARTHEST)
        set_points(element, [(element["x"] + x, element["y"] + y) for x, y in points])
        element["pressures"] = (pressures if isinstance(pressures, list) else [])[: len(points)]
    elif fields.has("width") or fields.has("height"):
        _scale(fields, element, *(fields.number(name, None, least=0) for name in ("width", "height")))


def _scale(fields: Fields, element: Element, width: float | None, height: float | None) -> None:
    wide, high = element["width"], element["height"]
    for name, wanted, now in (("width", width, wide), ("height", height, high)):
        if wanted and not now:
            fields.wrong(name, "cannot be stretched from nothing", "Give points.")
    across = 1 if width is None or not wide else width / wide
    down = 1 if height is None or not high else height / high
    points = [(x * across, y * down) for x, y in element["points"]]
    set_points(element, [(element["x"] + x, element["y"] + y) for x, y in points])


def _text(change: Change, fields: Fields, element: Element) -> None:
    said = font(fields)
    if fields.has("text"):
        text = normal(fields.text("text", longest=change.env.limits.max_text_length))
        element["text"] = element["originalText"] = text
    if "fontFamily" in said and "lineHeight" not in said and said["fontFamily"] != element.get("fontFamily"):
        from countermark.scene.label import line_height  # noqa: PLC0415 - loads the list of fonts

        said["lineHeight"] = line_height(said["fontFamily"])
    elif said and "lineHeight" not in said and "lineHeight" not in element:
        from countermark.scene.label import metrics  # noqa: PLC0415 - as above

        said["lineHeight"] = metrics(element)[2]
    element.update(said)
    container = container_of(element)
    if container is not None:
        change.relabelled[container] = None
        return
    if fields.has("width"):
        element["autoResize"] = False
        element.setdefault("originalText", element.get("text") or "")
    if fields.has("width") or fields.has("text") or said.keys() & {"fontSize", "fontFamily", "lineHeight"}:
        measure(element, change.env)


def _ends(change: Change, fields: Fields, element: Element) -> None:
    if element["type"] != "arrow":
        return
    name = element["id"]
    for member, end in (("startElementId", START), ("endElementId", END)):
        if fields.has(member):
            target = fields.identity(member, none=True)
            change.bindings[name, end] = Wish(name, target or "", f"{fields.pointer}/{member}", end)
    if any(fields.has(member) for member in ("x", "y", "width", "height", "points", "angle")):
        change.rebound[name] = None


def _label(change: Change, fields: Fields, element: Element) -> None:
    name = element["id"]
    said: Label | None = label(fields, change.env)
    known = label_of(change.draft, name)
    if said is None:
        if known is not None:
            change.bury(known)
            part(change.draft, name, known)
        return
    if known is None:
        change.add_label(element, said)
        return
    if "id" in said.fields and said.fields["id"] != known:
        fields.wrong("label/id", "names another text than the label has", f"Leave it out, or give {known!r}.")
    text = change.draft.edit(known)
    text["text"] = text["originalText"] = said.text
    text.update({key: value for key, value in said.fields.items() if key != "id"})
    if "fontFamily" in said.fields and "lineHeight" not in said.fields:
        from countermark.scene.label import line_height  # noqa: PLC0415 - loads the list of fonts

        text["lineHeight"] = line_height(said.fields["fontFamily"])
    change.labels[name] = known
    change.relabelled[name] = None
