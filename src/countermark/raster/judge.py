"""The judge: resvg renders SVG bytes, ours and the originals alike, for pictures that we did not draw.

resvg (Rust, tiny-skia) shares no code with Skia, the drawer. The binding is `resvg_py` (MIT): of the two on the
index it raises on bad input where the other writes a panic to standard error, carries the newer engine and one wheel
serves every Python. Measured: both give the same pixels. No font of the machine is loaded, so that a picture never
depends on it: without fonts that are given along, text is not observed, and `unobserved` says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from xml.parsers import expat

from countermark.kernel.errors import CountermarkError
from countermark.raster.fit import contain
from countermark.raster.picture import MAX_PIXELS, Picture, decode_png

MAX_SVG_BYTES: Final = 64 * 1024 * 1024
"""As much as the importer takes: every original can be judged."""

DISTRIBUTION: Final = "resvg_py"

MAX_DEPTH: Final = 1000
"""resvg itself stops at 1,024 nested nodes; past this the file is refused with a sentence instead."""

_DPI: Final = 96.0  # CSS's; the binding's own default is 0, which makes every millimetre nothing
# Sizes are read here anew, not by the importer's code: a judge that shared it would share its faults.
_UNITS: Final = {
    "": 1.0,
    "px": 1.0,
    "pt": 96 / 72,
    "pc": 16.0,
    "mm": 96 / 25.4,
    "cm": 96 / 2.54,
    "in": 96.0,
    "q": 96 / 101.6,
    "em": 16.0,
    "ex": 8.0,
}
_LENGTH: Final = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([a-zA-Z]*)\s*\Z")
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_SVG: Final = "http://www.w3.org/2000/svg"
_XLINK: Final = "http://www.w3.org/1999/xlink"
_XML: Final = "http://www.w3.org/XML/1998/namespace"
_ATTRIBUTE: Final = re.compile(r"\s+([^\s=]+)\s*=\s*(?:\"[^\"]*\"|'[^']*')")
_TAG: Final = re.compile(rf"(<[^\s/>]+)((?:{_ATTRIBUTE.pattern})*)")
_PLACE: Final = frozenset({"x", "y", "width", "height"})
_EXTERNAL_URL: Final = re.compile(r"url\(\s*[\"']?\s*(?![#\"'\s])", re.IGNORECASE)
_IMPORT: Final = re.compile(r"@import", re.IGNORECASE)
_REFERENCES: Final = ("href", f"{_XLINK} href", "src")


@dataclass(frozen=True, slots=True)
class Outline:
    """What a parse of an SVG's structure shows, without drawing it: size in CSS pixels, counts, what to refuse.

    `refused` names, with the element, every script, handler and reference that leaves the file. `body` is the root
    element as text, at the corner and in the size that it has when nothing is around it.
    """

    width: float
    height: float
    view_box: tuple[float, float, float, float] | None
    elements: dict[str, int]
    refused: tuple[str, ...]
    body: str


@dataclass(frozen=True, slots=True)
class Judged:
    """The judge's picture, with what it could not see."""

    picture: Picture
    unobserved: tuple[str, ...]


def outline(svg: bytes, *, unstated: tuple[float, float] | None = None) -> Outline:
    """Parse an SVG with expat and return its outline; `unstated` is its size in pixels when the file states none.

    Raise `artifact_invalid` for bytes that are not well-formed UTF-8 or UTF-16 XML, a root other than `svg`, a DOCTYPE
    (never expanded), nesting past `MAX_DEPTH` or a size that is not positive; `input_too_large` past `MAX_SVG_BYTES`.
    """
    if len(svg) > MAX_SVG_BYTES:
        raise CountermarkError(
            "input_too_large",
            f"The SVG has {len(svg)} bytes; the judge reads at most {MAX_SVG_BYTES}.",
            next_action="Use a smaller file.",
            details={"bytes": len(svg), "limit": MAX_SVG_BYTES},
        )
    text = _decode(svg)
    return _Reader(text, unstated).read()


def render(svg: bytes, width: int, height: int, *, unstated: tuple[float, float] | None = None) -> Judged:
    """Render an SVG into width x height pixels and decode the picture (see `draw`)."""
    data, unobserved = draw(svg, width, height, unstated=unstated)
    return Judged(picture=decode_png(data), unobserved=unobserved)


def draw(
    svg: bytes,
    width: int,
    height: int,
    *,
    unstated: tuple[float, float] | None = None,
    scale: float | None = None,
    fonts: Sequence[str] = (),
) -> tuple[bytes, tuple[str, ...]]:
    """Return an SVG as a PNG of width x height pixels, and what was not observed.

    The drawing's own frame is fitted inside and centred on a transparent ground, or, with a `scale`, drawn so many
    times its size from the upper left corner; `unstated` is its size in pixels for a file that states none. `fonts` are
    files of text's fonts. resvg takes as long as the file makes it and lets no other thread run meanwhile: what comes
    from elsewhere is drawn by `apart`.

    Raise what `outline` raises, `artifact_invalid` for an SVG with scripts or outside references or one resvg
    refuses, and `part_unavailable` when resvg is not installed.
    """
    if width < 1 or height < 1 or width * height > MAX_PIXELS:
        raise CountermarkError(
            "input_invalid",
            f"The judge cannot render at {width} x {height} pixels.",
            next_action=f"Use sides of at least 1 and at most {MAX_PIXELS} pixels in all.",
        )
    shape = outline(svg, unstated=unstated)
    if shape.refused:
        raise _invalid(f"it holds what the judge does not follow: {shape.refused[0]}")
    engine = _engine()
    # An outer svg element fits the frame, not the binding's zoom, which rounds the size to whole pixels first.
    fitted = contain(shape.width, shape.height, width, height).view_box() if scale is None else None
    frame = fitted or (0.0, 0.0, width / (scale or 1.0), height / (scale or 1.0))
    view_box = " ".join(repr(number) for number in frame)
    framed = f'<svg xmlns="{_SVG}" width="{width}" height="{height}" viewBox="{view_box}">{shape.body}</svg>'
    try:
        data = engine.svg_to_bytes(
            svg_string=framed,
            skip_system_fonts=True,
            languages=["en"],
            dpi=_DPI,
            width=width,
            height=height,
            font_files=list(fonts) or None,
        )
    except ValueError as error:
        raise _invalid(str(error)) from error
    texts = shape.elements.get("text", 0)
    unobserved = (f"text: {texts} element(s), the judge loads no fonts",) if texts and not fonts else ()
    return bytes(data), unobserved


def engine_version() -> str:
    """Return the version of the resvg engine inside the binding; raise `part_unavailable` when it is missing."""
    return str(_engine().__resvg_version__)


def _engine() -> Any:
    try:
        import resvg_py  # noqa: PLC0415 - only a check needs it
    except ImportError as error:
        raise CountermarkError(
            "part_unavailable",
            "resvg, which judges every picture, is not installed.",
            next_action="Install the extra: pip install 'countermark[vector]'.",
            details={"part": DISTRIBUTION},
        ) from error
    return resvg_py


def _decode(svg: bytes) -> str:
    encoding = "utf-16" if svg[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    try:
        return svg.decode(encoding)
    except UnicodeDecodeError as error:
        raise _invalid(f"it is not {encoding.removesuffix('-sig')} text (byte {error.start})") from error


class _Reader:
    """One pass of expat over the text; collects what `Outline` holds."""

    def __init__(self, text: str, unstated: tuple[float, float] | None) -> None:
        self._unstated = unstated
        self._bytes = text.encode("utf-8")
        self._root: dict[str, str] | None = None
        self._root_at = 0
        self._depth = 0
        self._elements: dict[str, int] = {}
        self._refused: list[str] = []
        self._sheet: list[str] = []
        self._sheet_depth = 0
        self._drawn = frozenset({_SVG})

    def read(self) -> Outline:
        parser = expat.ParserCreate("utf-8", namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = lambda name, attributes: self._start(parser, name, attributes)
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._doctype
        parser.ProcessingInstructionHandler = self._instruction
        try:
            parser.Parse(self._bytes, True)  # noqa: FBT003 - expat's own signature
        except expat.ExpatError as error:
            raise _invalid(f"it is not well-formed XML: {error}") from error
        root = self._root
        assert root is not None  # noqa: S101 - expat refuses a document without an element
        view_box = _view_box(root.get("viewBox"))
        width, height = _size(root, view_box, self._unstated)
        return Outline(
            width=width,
            height=height,
            view_box=view_box,
            elements=dict(sorted(self._elements.items())),
            refused=tuple(self._refused),
            # A root that names no namespace is read as SVG by every importer; inside the frame it would inherit it.
            body=_placed(self._bytes[self._root_at :].decode("utf-8"), width, height),
        )

    def _start(self, parser: expat.XMLParserType, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _invalid(f"its elements are nested deeper than {MAX_DEPTH}")
        namespace, _, local = name.rpartition(" ")
        if self._root is None:
            if local != "svg" or namespace not in {_SVG, ""}:
                raise _invalid(f"its root is <{local}>, not an svg element of the SVG namespace")
            self._drawn |= {namespace}
            self._root = attributes
            self._root_at = parser.CurrentByteIndex
        if namespace not in self._drawn:
            return
        self._elements[local] = self._elements.get(local, 0) + 1
        if local == "style" and not self._sheet_depth:
            self._sheet_depth = self._depth
        if local == "script":
            self._refused.append("<script>")
        self._refused.extend(_leaving(local, attributes))

    def _end(self, _name: str) -> None:
        if self._depth == self._sheet_depth:
            sheet = "".join(self._sheet)
            if _IMPORT.search(sheet) or _EXTERNAL_URL.search(sheet):
                self._refused.append("<style> with an outside reference")
            self._sheet, self._sheet_depth = [], 0
        self._depth -= 1

    def _characters(self, text: str) -> None:
        if self._sheet_depth:
            self._sheet.append(text)  # expat hands a long text over in pieces

    def _doctype(self, *_: object) -> None:
        raise _invalid("it has a DOCTYPE")

    def _instruction(self, target: str, _data: str) -> None:
        if target == "xml-stylesheet":
            self._refused.append("<?xml-stylesheet?>")


def _placed(text: str, width: float, height: float) -> str:
    """Return the root element with its size written out: a share or nothing would be taken of what is around it."""
    tag = _TAG.match(text)
    assert tag is not None  # noqa: S101 - expat has read this tag
    kept = "".join(match[0] for match in _ATTRIBUTE.finditer(tag[2]) if match[1] not in _PLACE)
    return f'{tag[1]} width="{width!r}" height="{height!r}"{kept}{text[tag.end(2) :]}'


def _leaving(local: str, attributes: dict[str, str]) -> list[str]:
    """Name the attributes of an element that run something or fetch something from outside the file."""
    found = []
    for key, value in attributes.items():
        plain = key.rpartition(" ")[2]
        # A link is followed by a reader's click, never by a renderer.
        reference = key in _REFERENCES and local != "a" and not value.strip().startswith(("#", "data:"))
        handler = key[:2].lower() == "on" and len(key) > 2  # noqa: PLR2004 - "on" and an event's name
        if handler or reference or key == f"{_XML} base" or _EXTERNAL_URL.search(value):
            found.append(f"<{local} {plain}> {value[:80]!r}")
    return found


def _view_box(value: str | None) -> tuple[float, float, float, float] | None:
    if value is None:
        return None
    numbers = [float(token) for token in _NUMBER.findall(value)]
    if len(numbers) != 4 or numbers[2] <= 0 or numbers[3] <= 0:  # noqa: PLR2004 - x, y, width, height
        raise _invalid(f"its viewBox is {value[:60]!r}")
    return numbers[0], numbers[1], numbers[2], numbers[3]


def _size(
    root: dict[str, str], view_box: tuple[float, float, float, float] | None, unstated: tuple[float, float] | None
) -> tuple[float, float]:
    """Return the drawing's size in pixels; a side that is not stated follows from the view box's shape."""
    width, height = _side(root, "width"), _side(root, "height")
    shape = None if view_box is None else (view_box[2], view_box[3])
    if width is None and height is None and shape is not None:
        return shape
    if shape is not None:
        width = width if width is not None else (height or 0.0) * shape[0] / shape[1]
        height = height if height is not None else width * shape[1] / shape[0]
    elif unstated is not None:
        width, height = width or unstated[0], height or unstated[1]
    if width is None or height is None:
        raise _invalid("it states no size, with neither width and height nor a viewBox")
    return width, height


def _side(root: dict[str, str], name: str) -> float | None:
    value = root.get(name, "").strip()
    if value in {"", "auto"} or value.endswith("%"):
        return None
    side = _length(value)
    if side is None or not 0 < side < 1e9:  # noqa: PLR2004 - past this float32 engines have no pixels left
        raise _invalid(f"its {name} is {value!r}")
    return side


def _length(value: str) -> float | None:
    match = _LENGTH.match(value)
    unit = _UNITS.get(match[2].lower()) if match else None
    return float(match[1]) * unit if match and unit is not None else None


def _invalid(reason: str) -> CountermarkError:
    return CountermarkError(
        "artifact_invalid",
        f"The SVG cannot be judged: {reason}.",
        next_action="Correct the SVG and try again.",
    )
