"""The input schemas of the five tools (seed 3 §4): argument names to the letter, closed objects, one flat element.

The element schema names every member that a creatable element may have, of whatever type, with its enums and no
alternatives: a client's model reads it once. What belongs to which type, and what is missing, is said by the domain
with the element's id and a JSON pointer.
"""

from __future__ import annotations

from typing import Any, Final

from countermark.kernel.tool import read_schema
from countermark.scene.vocabulary import ARROWHEADS, CREATABLE, MOST_OPERATIONS

Json = dict[str, Any]

_NUMBER: Final = {"type": "number"}
_TEXT: Final = {"type": "string"}
_MAYBE_TEXT: Final = {"type": ["string", "null"]}
_OBJECT: Final = {"type": "object"}
_YES_NO: Final = {"type": "boolean"}
_HEAD: Final = {"type": ["string", "null"], "enum": [*ARROWHEADS, None]}

_MEMBERS: Final[Json] = {
    "x": _NUMBER,
    "y": _NUMBER,
    "width": _NUMBER,
    "height": _NUMBER,
    "angle": {**_NUMBER, "description": "Radians"},
    "strokeColor": _TEXT,
    "backgroundColor": _TEXT,
    "fillStyle": {"enum": ["hachure", "cross-hatch", "solid", "zigzag"]},
    "strokeWidth": _NUMBER,
    "strokeStyle": {"enum": ["solid", "dashed", "dotted"]},
    "roughness": {"enum": [0, 1, 2]},
    "opacity": {**_NUMBER, "minimum": 0, "maximum": 100},
    "roundness": {"type": ["object", "null"], "description": "{type: 2|3}"},
    "label": {
        "type": ["string", "object", "null"],
        "description": "Text bound to a shape or arrow: a string or {text, fontSize?, fontFamily?, strokeColor?}",
    },
    "text": _TEXT,
    "fontSize": _NUMBER,
    "fontFamily": {
        "enum": [1, 2, 3, 5, 6, 7, 8, 9],
        "description": "1 Virgil 2 Helvetica 3 Cascadia 5 Excalifont 6 Nunito 7 Lilita One 8 Comic Shanns 9 Liberation",
    },
    "textAlign": {"enum": ["left", "center", "right"]},
    "verticalAlign": {"enum": ["top", "middle", "bottom"]},
    "lineHeight": _NUMBER,
    "points": {
        "type": "array",
        "items": {"type": "array", "items": _NUMBER},
        "description": "[[0,0],[dx,dy],…] relative to x,y: arrow, line, freedraw",
    },
    "startElementId": {**_MAYBE_TEXT, "description": "Arrow: bind its start to this element; null unbinds"},
    "endElementId": _MAYBE_TEXT,
    "startArrowhead": _HEAD,
    "endArrowhead": _HEAD,
    "groupIds": {"type": "array", "items": _TEXT},
    "frameId": _MAYBE_TEXT,
    "link": _MAYBE_TEXT,
    "locked": _YES_NO,
    "customData": _OBJECT,
}

ELEMENT: Final[Json] = {
    "type": "object",
    "properties": {
        "type": {"enum": list(CREATABLE)},
        "id": {**_TEXT, "description": "Yours, unique; left out: made"},
        **_MEMBERS,
        "autoResize": {**_YES_NO, "description": "Text: false wraps at width"},
        "containerId": {**_MAYBE_TEXT, "description": "Text: bind it to this shape or arrow"},
        "elbowed": {**_YES_NO, "description": "Arrow with right angles"},
        "pressures": {"type": "array", "items": _NUMBER},
        "simulatePressure": _YES_NO,
        "fileId": {**_TEXT, "description": "Image: an id in files"},
        "scale": {"type": "array", "items": _NUMBER},
        "crop": {"type": ["object", "null"]},
    },
    "required": ["type", "x", "y"],
    "additionalProperties": False,
}

_NAME: Final = {**_TEXT, "description": "Scene name: small letters, digits, . _ -"}
_APP_STATE: Final = {**_OBJECT, "description": "viewBackgroundColor, gridSize, gridModeEnabled"}
_REQUEST: Final = {**_TEXT, "description": "Yours: the same id again answers the first result and runs nothing"}

LIST: Final[Json] = read_schema({})
READ: Final[Json] = read_schema(
    {
        "name": _NAME,
        "include": {"enum": ["full", "summary"], "description": "Default full"},
        "element_type": {**_TEXT, "description": "Filter of a summary"},
        "include_files": {**_YES_NO, "description": "Default true; false leaves the pictures' data out"},
    },
    "name",
)
CREATE: Final[Json] = read_schema(
    {
        "name": _NAME,
        "elements": {"type": "array", "items": ELEMENT},
        "app_state": _APP_STATE,
        "files": {**_OBJECT, "description": "{fileId: {id, mimeType, dataURL}}"},
        "request_id": _REQUEST,
    },
    "name",
)
APPLY: Final[Json] = read_schema(
    {
        "name": _NAME,
        "expected_revision": {**_NUMBER, "description": "From a recent read"},
        "operations": {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_OPERATIONS,
            "items": {
                "type": "object",
                "properties": {
                    "op": {"enum": ["add", "update", "delete"]},
                    "element": {**_OBJECT, "description": "add: as in excalidraw_scene_create"},
                    "id": {**_TEXT, "description": "update, delete"},
                    "patch": {
                        **_OBJECT,
                        "description": f"update, any of: {', '.join(_MEMBERS)}, name",
                    },
                },
                "required": ["op"],
                "additionalProperties": False,
            },
        },
        "app_state": _APP_STATE,
        "request_id": _REQUEST,
    },
    "name",
    "expected_revision",
    "operations",
)
VALIDATE: Final[Json] = read_schema({"scene": {**_OBJECT, "description": "A whole .excalidraw document"}}, "scene")
