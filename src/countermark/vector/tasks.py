"""What the engine does when asked: import an SVG, draw the boards of a kit, make files of them, say what it is made of.

Arguments are read strictly: an unknown or missing member is refused before anything is read or written. Inputs are
digested and compared before use; outputs are new files, written whole, with their digests in the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root

Json = dict[str, Any]

FORMATS: Final = ("svg", "png")
VARIANTS: Final = (
    "full-colour",
    "maskable",
    "apple-touch",
    "social-card",
    "one-colour-black",
    "one-colour-white",
    "reversed",
)
KINDS: Final = ("css", "editable", "ico", "manifest", "native", "pdf", "sprite", "tokens", "variants")
MAX_BOARDS: Final = 256
MAX_PARTS: Final = 4096
INPUT_MAX: Final = 512 * 1024 * 1024

_LISTED: Final = 1000  # a longer list would not fit into one message; its total is told

_SHA256: Final = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_STAGE_NAME: Final = {"type": "string", "minLength": 1, "maxLength": 255}
_SIDE: Final = {"type": "integer", "minimum": 1, "maximum": 8192}
_INVALID_PARAMS: Final = -32602


def _object(properties: Json, *optional: str) -> Json:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_BOARD: Final = _object(
    {
        "id": _STAGE_NAME,
        "artboard": {"type": "integer", "minimum": 0},
        "variant": {"enum": list(VARIANTS)},
        "width": _SIDE,
        "height": _SIDE,
        "formats": {"type": "array", "items": {"enum": list(FORMATS)}, "minItems": 1, "maxItems": len(FORMATS)},
        "output": _STAGE_NAME,
    }
)
_FILE: Final = _object(
    {
        "kind": {"enum": list(KINDS)},
        "folder": _STAGE_NAME,
        "name": _STAGE_NAME,
        "parts": {"type": "array", "items": _STAGE_NAME, "minItems": 0, "maxItems": MAX_PARTS},
    }
)

SCHEMAS: Final[list[Json]] = [
    {
        "name": "describe",
        "description": "Name the engines at work: labels and digests of their installed files.",
        "inputSchema": _object({}),
        "annotations": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False},
    },
    {
        "name": "import_svg",
        "description": "Read an SVG of the stage into a native document, or into one more artboard of `into`.",
        "inputSchema": _object(
            {
                "input": _STAGE_NAME,
                "sha256": _SHA256,
                "output": _STAGE_NAME,
                "name": _STAGE_NAME,
                "into": _STAGE_NAME,
                "into_sha256": _SHA256,
            },
            "name",
            "into",
            "into_sha256",
        ),
        "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
    },
    {
        "name": "render_kit",
        "description": "Draw artboards of a native document of the stage as SVG and PNG; `output` lacks the suffix.",
        "inputSchema": _object(
            {
                "document": _STAGE_NAME,
                "sha256": _SHA256,
                "boards": {"type": "array", "items": _BOARD, "minItems": 1, "maxItems": MAX_BOARDS},
            }
        ),
        "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
    },
    {
        "name": "compile_kit",
        "description": "Make files of a native document and of boards that stand in the same folder of the stage.",
        "inputSchema": _object(
            {
                "document": _STAGE_NAME,
                "sha256": _SHA256,
                "files": {"type": "array", "items": _FILE, "minItems": 1, "maxItems": MAX_BOARDS},
            }
        ),
        "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
    },
]


class Refused(Exception):
    """A request that the protocol refuses: JSON-RPC code and sentence; nothing was done."""

    def __init__(self, code: int, sentence: str) -> None:
        """Keep the code and the sentence."""
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence


class Tasks:
    """The tools over one stage folder."""

    def __init__(self, stage: Root) -> None:
        """Work beneath this folder only."""
        self._stage = stage

    def named(self, name: str) -> Callable[[Any], Json] | None:
        """Return the tool of a name; it takes the call's arguments."""
        offered: Mapping[str, Callable[[Json], Json]] = {
            "describe": self._describe,
            "import_svg": self._import_svg,
            "render_kit": self._render_kit,
            "compile_kit": self._compile_kit,
        }
        if name not in offered:
            return None
        schema = next(tool["inputSchema"] for tool in SCHEMAS if tool["name"] == name)

        def checked(arguments: Any) -> Json:
            conform(arguments, schema, "arguments")
            return offered[name](arguments)

        return checked

    def _describe(self, _: Json) -> Json:
        from countermark.vector import makers  # noqa: PLC0415 - hashes 50 MB

        return {name: engine.wire() for name, engine in makers.all_makers().items()}

    def _import_svg(self, arguments: Json) -> Json:
        from countermark.vector import document as native  # noqa: PLC0415
        from countermark.vector.embedding import extract, outdated  # noqa: PLC0415
        from countermark.vector.svg.import_ import import_svg  # noqa: PLC0415

        source = self._read(arguments["input"], arguments["sha256"])
        into = None
        if "into" in arguments:
            into = native.load(self._read(arguments["into"], arguments.get("into_sha256", "")))
        embedded = extract(source)
        if embedded is not None and embedded.current and into is None:
            native.load(embedded.document, what="The document inside the SVG")
            written = self._write(arguments["output"], embedded.document)
            return {"document": written, "losses": [], "losses_total": 0, "notes_total": 0}
        found = import_svg(source, name=str(arguments.get("name") or arguments["input"]), into=into)
        made = found.document if embedded is None or into is not None else outdated(found.document)
        return {
            "document": self._write(arguments["output"], native.dump(made)),
            "losses": found.losses[:_LISTED],
            "losses_total": len(found.losses),
            "notes_total": len(found.notes),
        }

    def _render_kit(self, arguments: Json) -> Json:
        from countermark.vector import document as native  # noqa: PLC0415
        from countermark.vector.artboard import artboard  # noqa: PLC0415
        from countermark.vector.display import Display  # noqa: PLC0415
        from countermark.vector.draw import draw_display  # noqa: PLC0415
        from countermark.vector.opaque import draw_opaque  # noqa: PLC0415
        from countermark.vector.resolve import resolve  # noqa: PLC0415
        from countermark.vector.svg_writer import write_display  # noqa: PLC0415
        from countermark.vector.variant import TREATMENTS, treated  # noqa: PLC0415

        document = native.load(self._read(arguments["document"], arguments["sha256"]))
        boards = arguments["boards"]
        # Everything is resolved before the first file is written (research 1.5): one unknown id refuses the whole kit.
        shown: dict[int, Display] = {}
        names: set[str] = set()
        for board in boards:
            shown.setdefault(board["artboard"], resolve(document, artboard(document, board["artboard"])))
            for kind in board["formats"]:
                name = f"{board['output']}.{kind}"
                if name in names:
                    raise CountermarkError(
                        "input_invalid",
                        f"Two boards of this call would be written to {name}.",
                        next_action="Give every board and format an output of its own.",
                    )
                names.add(name)
        outputs = []
        for board in boards:
            items = treated(shown[board["artboard"]], board["variant"], board["width"], board["height"])
            draw = draw_opaque if TREATMENTS[board["variant"]].ground else draw_display
            for kind in FORMATS:
                if kind in board["formats"]:
                    make = draw if kind == "png" else write_display
                    made = self._write(f"{board['output']}.{kind}", make(items, board["width"], board["height"]))
                    outputs.append({"board": board["id"], "format": kind, **made})
        undrawn = [
            {"artboard": number, **entry.as_json()} for number, items in shown.items() for entry in items.undrawn
        ]
        return {"outputs": outputs, "undrawn": undrawn[:_LISTED], "undrawn_total": len(undrawn)}

    def _compile_kit(self, arguments: Json) -> Json:
        from countermark.vector import document as native  # noqa: PLC0415
        from countermark.vector.compile import Material, compiled  # noqa: PLC0415

        data = self._read(arguments["document"], arguments["sha256"])
        document = native.load(data)
        outputs = []
        for file in arguments["files"]:
            parts = {name: self._stage.read(f"{file['folder']}/{name}", cap=INPUT_MAX) for name in file["parts"]}
            made = compiled(file["kind"], Material(document, data, parts))
            outputs.append({"kind": file["kind"], **self._write(f"{file['folder']}/{file['name']}", made)})
        return {"outputs": outputs}

    def _read(self, name: str, sha256: str) -> bytes:
        data = self._stage.read(name, cap=INPUT_MAX)
        if sha256_hex(data) != sha256:
            raise CountermarkError(
                "artifact_invalid",
                f"{name} in the stage is not the file that was announced.",
                next_action="Stage the file again.",
                details={"name": name, "expected": sha256, "found": sha256_hex(data)},
            )
        return data

    def _write(self, name: str, data: bytes) -> Json:
        return {"name": name, "sha256": self._stage.create(name, data), "size": len(data)}


def conform(value: Any, schema: Json, place: str) -> None:
    """Refuse a value that does not conform to the small part of JSON Schema that `SCHEMAS` uses."""
    if "enum" in schema:
        _require(value in schema["enum"], place, f"has to be one of {', '.join(schema['enum'])}")
        return
    match schema["type"]:
        case "object":
            _require(isinstance(value, dict), place, "has to be an object")
            unknown = value.keys() - schema["properties"].keys()
            _require(not unknown, place, f"has no member {', '.join(sorted(unknown))}")
            missing = [name for name in schema["required"] if name not in value]
            _require(not missing, place, f"lacks {', '.join(missing)}")
            for name, held in value.items():
                conform(held, schema["properties"][name], f"{place}.{name}")
        case "array":
            fits = isinstance(value, list) and schema["minItems"] <= len(value) <= schema["maxItems"]
            _require(fits, place, f"has to be a list of {schema['minItems']} to {schema['maxItems']}")
            for index, held in enumerate(value):
                conform(held, schema["items"], f"{place}[{index}]")
        case "integer":
            low, high = schema["minimum"], schema.get("maximum", 2**53)
            _require(type(value) is int and low <= value <= high, place, f"has to be a whole number from {low}")
        case _:
            long = isinstance(value, str) and schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 10**6)
            _require(long, place, "has to be text of a fitting length")
            if "pattern" in schema:
                _require(re.search(schema["pattern"], value) is not None, place, "is not a SHA-256 in hexadecimal")


def _require(fits: bool, place: str, sentence: str) -> None:  # noqa: FBT001 - an assertion with words
    if not fits:
        raise Refused(_INVALID_PARAMS, f"{place} {sentence}.")
