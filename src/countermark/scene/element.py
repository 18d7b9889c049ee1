"""Full elements from the strict input of the eight creatable types (seed 3 §2.1; research §1.2, §1.3).

Fields and their order are those of the editor 0.18.1, defaults too. What needs the rest of the scene (bindings, labels,
a frame, a container) is only read here, and returned as wishes for the caller to settle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from countermark.scene.document import Element
from countermark.scene.env import Env
from countermark.scene.field import MISSING, Fields
from countermark.scene.line import line_points, set_points
from countermark.scene.spelling import shown
from countermark.scene.vocabulary import (
    ARROWHEADS,
    CREATABLE,
    FARTHEST,
    FILL_STYLES,
    FONT_FAMILIES,
    READABLE,
    SHAPES,
    STROKE_STYLES,
    TEXT_ALIGNS,
    VERTICAL_ALIGNS,
)

STYLE: Final = ("strokeColor", "backgroundColor", "fillStyle", "strokeWidth", "strokeStyle", "roughness", "opacity")
COMMON: Final = ("x", "y", "angle", *STYLE, "groupIds", "frameId", "roundness", "link", "locked", "customData")
FONT: Final = ("fontSize", "fontFamily", "textAlign", "verticalAlign", "lineHeight")
ARROW: Final = ("startArrowhead", "endArrowhead", "startElementId", "endElementId", "label", "elbowed")
LABEL: Final = ("text", "id", "strokeColor", "opacity", *FONT)

INPUT: Final[Mapping[str, tuple[str, ...]]] = {
    "rectangle": ("width", "height", "label"),
    "ellipse": ("width", "height", "label"),
    "diamond": ("width", "height", "label"),
    "arrow": ("width", "height", "points", *ARROW),
    "line": ("width", "height", "points", "startArrowhead", "endArrowhead"),
    "text": ("text", "width", "autoResize", "containerId", *FONT),
    "freedraw": ("points", "pressures", "simulatePressure"),
    "image": ("width", "height", "fileId", "scale", "crop"),
}
SET_BY_STORE: Final = frozenset(
    {"version", "versionNonce", "updated", "isDeleted", "index", "boundElements", "startBinding", "endBinding"}
    | {"originalText", "lastCommittedPoint", "status", "fixedSegments", "startIsSpecial", "endIsSpecial"}
)
_SIDE: Final = 100
_ADAPTIVE: Final = 3
_PROPORTIONAL: Final = 2
_LARGEST_FONT: Final = 2_000
_WIDEST_STROKE: Final = 100


@dataclass(frozen=True, slots=True)
class Label:
    """Text to be bound to a shape or an arrow: its fields, and where in the call it stands."""

    text: str
    fields: Mapping[str, Any]
    pointer: str


@dataclass(frozen=True, slots=True)
class Made:
    """A new element, and what of it the rest of the scene has to settle."""

    element: Element
    start: str | None = None
    end: str | None = None
    label: Label | None = None


def make(given: Any, pointer: str, env: Env) -> Made:
    """Return the full element of an agent's input.

    Raises `invalid_operation`, `unsupported_element` or `too_large`, with the element's id and a JSON pointer.
    """
    fields = Fields(given, pointer)
    fields.element = fields.identity("id", None)
    kind = fields.take("type")
    if kind not in CREATABLE:
        code = "unsupported_element" if isinstance(kind, str) else "invalid_operation"
        what = "can be kept but not created" if kind in READABLE else "is no type that can be created"
        fields.wrong("type", f"({shown(kind)}) {what}", f"Use one of: {', '.join(CREATABLE)}.", code)
    fields.only({"id", "type", "seed", *COMMON, *INPUT[kind]}, SET_BY_STORE)
    if kind == "text":
        return Made(_text(fields, env))
    if kind == "freedraw":
        return Made(_freedraw(fields, env))
    if kind == "image":
        return Made(_image(fields, env))
    if kind in SHAPES:
        width, height = side(fields, "width", _SIDE), side(fields, "height", _SIDE)
        rounded = {"type": _ADAPTIVE if kind == "rectangle" else _PROPORTIONAL}
        return Made(_base(fields, env, width, height, rounded), label=label(fields, env))
    start, end = (fields.identity(name, None, none=True) for name in ("startElementId", "endElementId"))
    return Made(_linear(fields, env), start, end, label(fields, env))


def side(fields: Fields, name: str, default: Any) -> Any:
    """Return a width or height above 0: the editor drops what has none."""
    return fields.number(name, default, least=0, above=True)


def label(fields: Fields, env: Env) -> Label | None:
    """Return what `label` says: text, or an object with text, font fields and a colour; None when there is none."""
    if not fields.has("label") or fields.given["label"] is None:
        return None
    value = fields.given["label"]
    if isinstance(value, str):
        value = {"text": value}
    inner = Fields(value, f"{fields.pointer}/label", fields.element)
    inner.only(LABEL)
    said = {"id": inner.identity("id", None), "strokeColor": inner.colour("strokeColor", None), **font(inner)}
    said["opacity"] = inner.number("opacity", None, least=0, most=100)
    text = inner.text("text", longest=env.limits.max_text_length)
    return Label(normal(text), {name: field for name, field in said.items() if field is not None}, inner.pointer)


def label_element(said: Label, container: Mapping[str, Any], env: Env) -> Element:
    """Return the text element of a label, centred, not laid out yet."""
    fields = Fields({}, said.pointer)
    element = _base(fields, env, 0, 0, None, "text")
    groups, frame = container.get("groupIds"), container.get("frameId")
    element["strokeColor"] = container.get("strokeColor") or element["strokeColor"]
    element["groupIds"] = list(groups) if isinstance(groups, list) else []
    element["frameId"] = frame if isinstance(frame, str) else None
    element |= _letters(said.text, {"textAlign": "center", "verticalAlign": "middle", **said.fields})
    element |= {name: field for name, field in said.fields.items() if name in {"id", "strokeColor", "opacity"}}
    element["containerId"] = container["id"]
    return element


def font(fields: Fields) -> dict[str, Any]:
    """Return the font fields that are given."""
    found = {
        "fontSize": fields.number("fontSize", None, least=1, most=_LARGEST_FONT),
        "fontFamily": fields.word("fontFamily", FONT_FAMILIES, None),
        "textAlign": fields.word("textAlign", TEXT_ALIGNS, None),
        "verticalAlign": fields.word("verticalAlign", VERTICAL_ALIGNS, None),
        "lineHeight": fields.number("lineHeight", None, least=0.5, most=10),
    }
    return {name: value for name, value in found.items() if name in fields.given}


def style(fields: Fields) -> dict[str, Any]:
    """Return the style fields that are given."""
    found = {
        "strokeColor": fields.colour("strokeColor", None),
        "backgroundColor": fields.colour("backgroundColor", None),
        "fillStyle": fields.word("fillStyle", FILL_STYLES, None),
        "strokeWidth": fields.number("strokeWidth", None, least=0, most=_WIDEST_STROKE, above=True),
        "strokeStyle": fields.word("strokeStyle", STROKE_STYLES, None),
        "roughness": fields.number("roughness", None, least=0, most=10),
        "opacity": fields.number("opacity", None, least=0, most=100),
        "roundness": fields.roundness("roundness", None),
        "groupIds": fields.identities("groupIds", None),
        "frameId": fields.identity("frameId", None, none=True),
        "link": fields.link("link", None),
        "locked": fields.flag("locked", None),
        "angle": fields.number("angle", None, least=-1000, most=1000),
        "customData": fields.custom("customData", None),
    }
    return {name: value for name, value in found.items() if name in fields.given}


def normal(text: str) -> str:
    """Return text as the editor keeps it: line feeds, and eight spaces for a tab."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " " * 8)


def _base(
    fields: Fields, env: Env, width: float, height: float, rounded: Mapping[str, Any] | None, kind: str | None = None
) -> Element:
    said = style(fields)
    element: Element = {
        "id": fields.element or env.identity(),
        "type": kind or fields.given["type"],
        "x": fields.number("x") if kind is None else 0,
        "y": fields.number("y") if kind is None else 0,
        "width": width,
        "height": height,
        "angle": said.pop("angle", 0),
        "strokeColor": "#1e1e1e",
        "backgroundColor": "transparent",
        "fillStyle": "solid",
        "strokeWidth": 2,
        "strokeStyle": "solid",
        "roughness": 1,
        "opacity": 100,
        "groupIds": [],
        "frameId": None,
        "index": None,
        "roundness": None if rounded is None else dict(rounded),
        "seed": fields.integer("seed", None) or env.nonce(),
        "version": 1,
        "versionNonce": env.nonce(),
        "isDeleted": False,
        "boundElements": None,
        "updated": env.now,
        "link": None,
        "locked": False,
    }
    return element | said


def _linear(fields: Fields, env: Env) -> Element:
    arrow = fields.given["type"] == "arrow"
    elbowed = fields.flag("elbowed", default=False) is True
    points = line_points(fields) or [(0, 0), (_SIDE, 0)]
    bound = any(fields.given.get(name) is not None for name in ("startElementId", "endElementId"))
    if not bound and len(set(points)) == 1:
        fields.wrong("points" if fields.has("points") else "width", "is a line without length", "Give it a length.")
    element = _base(fields, env, 0, 0, None if elbowed else {"type": _PROPORTIONAL})
    x, y = element["x"], element["y"]
    set_points(element, [(x + px, y + py) for px, py in points])
    element |= {
        "lastCommittedPoint": None,
        "startBinding": None,
        "endBinding": None,
        "startArrowhead": fields.word("startArrowhead", ARROWHEADS, None, none=True),
        "endArrowhead": fields.word("endArrowhead", ARROWHEADS, "arrow" if arrow else None, none=True),
    }
    if arrow:
        element["elbowed"] = elbowed
    if elbowed:
        element |= {"fixedSegments": None, "startIsSpecial": False, "endIsSpecial": False}
    return element


def _text(fields: Fields, env: Env) -> Element:
    text = normal(fields.text("text", longest=env.limits.max_text_length))
    wraps = not fields.flag("autoResize", default=True)
    width = 0
    if wraps:
        width = side(fields, "width", MISSING)
    elif fields.has("width"):
        fields.wrong("width", "of text is measured", "Leave it out, or give autoResize: false to wrap at it.")
    element = _base(fields, env, width, 0, None)
    element |= _letters(text, font(fields))
    element["containerId"] = fields.identity("containerId", None, none=True)
    element["autoResize"] = not wraps
    return element


def _letters(text: str, said: Mapping[str, Any]) -> dict[str, Any]:
    from countermark.scene.label import line_height  # noqa: PLC0415 - that module needs this one

    family = said.get("fontFamily", 5)
    return {
        "text": text,
        "fontSize": said.get("fontSize", 20),
        "fontFamily": family,
        "textAlign": said.get("textAlign", "left"),
        "verticalAlign": said.get("verticalAlign", "top"),
        "containerId": None,
        "originalText": text,
        "autoResize": True,
        "lineHeight": said.get("lineHeight", line_height(family)),
    }


def _freedraw(fields: Fields, env: Env) -> Element:
    points = fields.points("points", fewest=1, widest=FARTHEST)
    pressures = fields.take("pressures", [])
    if not isinstance(pressures, list) or len(pressures) > len(points):
        fields.wrong("pressures", "is no list, or longer than points", "Give one pressure a point.")
    inner = Fields(
        {str(place): one for place, one in enumerate(pressures)}, f"{fields.pointer}/pressures", fields.element
    )
    for place in inner.given:
        inner.number(place, least=0, most=1)
    element = _base(fields, env, 0, 0, None)
    x, y = element["x"], element["y"]
    set_points(element, [(x + px, y + py) for px, py in points])
    element["pressures"] = list(pressures)
    element["simulatePressure"] = fields.flag("simulatePressure", default=not pressures)
    element["lastCommittedPoint"] = None
    return element


def _image(fields: Fields, env: Env) -> Element:
    element = _base(fields, env, side(fields, "width", MISSING), side(fields, "height", MISSING), None)
    scale = fields.take("scale", [1, 1])
    if not isinstance(scale, list) or len(scale) != 2 or any(one not in (1, -1) or one is True for one in scale):  # noqa: PLR2004
        fields.wrong("scale", "is no pair of 1 and -1", "Give [1, 1], or -1 to mirror.")
    return element | {
        "strokeColor": "transparent",
        "status": "saved",
        "fileId": fields.identity("fileId"),
        "scale": list(scale),
        "crop": _crop(fields),
    }


def _crop(fields: Fields) -> dict[str, Any] | None:
    if fields.take("crop", None) is None:
        return None
    inner = Fields(fields.given["crop"], f"{fields.pointer}/crop", fields.element)
    names = ("x", "y", "width", "height", "naturalWidth", "naturalHeight")
    inner.only(names)
    return {name: inner.number(name, least=0) for name in names}
