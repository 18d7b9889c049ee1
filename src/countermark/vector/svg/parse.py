"""SVG bytes to an element tree, with everything refused that acts or leads out of the file.

Refused are a DOCTYPE and so every entity, scripts and event handlers, references that are not to this same file, style
sheets from elsewhere, nesting past 128 elements and files past 64 MiB. Nothing is ever followed or fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from countermark.kernel.errors import CountermarkError, Ending, register
from countermark.vector.svg.css import Declaration

MAX_BYTES: Final = 64 * 1024 * 1024
MAX_DEPTH: Final = 128
MAX_ELEMENTS: Final = 500_000

SVG: Final = "http://www.w3.org/2000/svg"
XHTML: Final = "http://www.w3.org/1999/xhtml"
_XLINK: Final = "http://www.w3.org/1999/xlink"
_XML: Final = "http://www.w3.org/XML/1998/namespace"
_LABEL: Final = "http://www.inkscape.org/namespaces/inkscape label"
_DRAWN: Final = frozenset({SVG, XHTML, ""})
_TEXTUAL: Final = frozenset({"a", "style", "text", "textPath", "title", "tspan"})
_IMAGES: Final = frozenset({"image", "feImage", "img"})
_URL: Final = re.compile(r"url\(\s*(?:\"([^\"]*)\"|'([^']*)'|([^)]*))", re.IGNORECASE)
_DATA: Final = re.compile(r"data:", re.IGNORECASE)

register(Ending.USAGE, "svg_invalid")
register(Ending.REFUSED, "svg_unsafe", "svg_too_deep")


@dataclass(slots=True, eq=False)
class Element:
    """One element: its local name, or `{namespace}name` outside SVG, its attributes, children and text.

    `index` counts elements of the same name below one parent from 1; `label` is the name an editor shows; `specified`
    keeps what the style rules once found, since every question about a property asks it. `rules` are the declarations
    that style sheets lay on it, weakest first; `within` is the picture element that holds the root of a file in a file.
    """

    tag: str
    attributes: dict[str, str]
    parent: Element | None
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""
    label: str = ""
    index: int = 1
    specified: dict[str, str] | None = None
    rules: tuple[Declaration, ...] = ()
    within: Element | None = None

    @property
    def id(self) -> str:
        """The id, empty when there is none."""
        return self.attributes.get("id", "")

    @property
    def href(self) -> str | None:
        """The id that `href` (or the older `xlink:href`) points to; None when there is no reference."""
        value = self.attributes.get("href", self.attributes.get("xlink:href", "")).strip()
        return value[1:] if value.startswith("#") and len(value) > 1 else None

    @property
    def path(self) -> str:
        """The place in the file, such as `/svg/g[2]/path[1]`, counting elements of the same name from 1."""
        steps: list[str] = []
        here: Element | None = self
        while here is not None:
            name = here.tag.rpartition("}")[2]
            steps.append(f"{name}[{here.index}]" if here.parent is not None else name)
            here = here.parent if here.parent is not None else here.within
        return "/" + "/".join(reversed(steps))

    def walk(self) -> Iterator[Element]:
        """Yield this element and everything below it in document order."""
        waiting = [self]
        while waiting:
            here = waiting.pop()
            yield here
            waiting.extend(reversed(here.children))


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed file: its root and whether the root named the SVG namespace."""

    root: Element
    has_namespace: bool


def parse(data: bytes, *, what: str = "The file") -> Parsed:
    """Parse an SVG in UTF-8, UTF-16 or a declared 8-bit encoding; `what` names it in errors.

    Raise `svg_invalid` for what is not a well-formed SVG, `svg_unsafe` for active or external content,
    `svg_too_deep` and `input_too_large` past the limits.
    """
    if len(data) > MAX_BYTES:
        raise CountermarkError(
            "input_too_large",
            f"{what} has {len(data)} bytes; SVG files are read up to {MAX_BYTES} bytes.",
            next_action="Simplify the drawing, or leave embedded pictures out.",
        )
    if data.startswith(b"\x1f\x8b"):
        raise not_svg(f"{what} is compressed (SVGZ).", "Unpack it with gunzip and import the SVG inside.")
    builder = _Builder(what)
    try:
        builder.run(data)
    except expat.ExpatError as error:
        place = f"line {error.lineno} column {error.offset + 1}"
        reason = expat.ErrorString(error.code)
        raise not_svg(f"{what} is not an SVG: {reason} at {place}.", "Choose a well-formed SVG file.") from error
    except (LookupError, ValueError) as error:
        raise not_svg(f"{what} is not an SVG: its text encoding cannot be read.", "Save it as UTF-8.") from error
    root = builder.root
    if root is None:
        raise not_svg(f"{what} is not an SVG: it holds no element.", "Choose an SVG file.")
    return Parsed(root, has_namespace=builder.has_namespace)


def not_svg(sentence: str, next_action: str) -> CountermarkError:
    """Return the error for a file that is no usable SVG."""
    return CountermarkError("svg_invalid", sentence, next_action=next_action)


def references(value: str) -> Iterator[str]:
    """Yield the target of every `url(…)` in a value."""
    for match in _URL.finditer(value):
        yield next((group for group in match.groups() if group is not None), "").strip()


class _Builder:
    """Handlers for one expat run."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.root: Element | None = None
        self.has_namespace = True
        self._open: list[Element] = []
        self._counts: list[dict[str, int]] = [{}]
        self._total = 0
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.EntityDeclHandler = self._entity
        self._parser.ProcessingInstructionHandler = self._instruction
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text

    def run(self, data: bytes) -> None:
        self._parser.Parse(data, True)  # noqa: FBT003 - expat's own signature

    def _unsafe(self, thing: str) -> CountermarkError:
        return CountermarkError(
            "svg_unsafe",
            f"{self.what} has {thing} at line {self._parser.CurrentLineNumber}; nothing of it was followed.",
            next_action="Export it again as plain, self-contained SVG.",
        )

    def _doctype(self, *_: object) -> None:
        raise self._unsafe("a DOCTYPE")

    def _entity(self, *_: object) -> None:
        raise self._unsafe("an entity declaration")

    def _instruction(self, target: str, _: str) -> None:
        if target == "xml-stylesheet":
            raise self._unsafe("a style sheet from outside (xml-stylesheet)")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        namespace, _, local = name.rpartition(" ")
        if not self._open:
            self._check_root(namespace, local)
        if len(self._open) >= MAX_DEPTH:
            raise CountermarkError(
                "svg_too_deep",
                f"{self.what} nests elements deeper than {MAX_DEPTH} levels (line {self._parser.CurrentLineNumber}).",
                next_action="Ungroup the drawing before the import.",
            )
        self._total += 1
        if self._total > MAX_ELEMENTS:
            raise CountermarkError(
                "input_too_large",
                f"{self.what} has more than {MAX_ELEMENTS} elements.",
                next_action="Simplify the drawing.",
            )
        tag = local if namespace == SVG or (not namespace and not self.has_namespace) else f"{{{namespace}}}{local}"
        parent = self._open[-1] if self._open else None
        element = Element(tag, {}, parent, self._parser.CurrentLineNumber)
        self._attach(element, attributes, namespace, local)
        counts = self._counts[-1]
        counts[local] = element.index = counts.get(local, 0) + 1
        self._counts.append({})
        if parent is None:
            self.root = element
        else:
            parent.children.append(element)
        self._open.append(element)

    def _end(self, _: str) -> None:
        element = self._open.pop()
        self._counts.pop()
        if element.tag == "style":
            self._check_sheet(element.text)

    def _text(self, data: str) -> None:
        if self._open and self._open[-1].tag in _TEXTUAL:
            self._open[-1].text += data

    def _check_root(self, namespace: str, local: str) -> None:
        if local != "svg" or namespace not in {SVG, ""}:
            raise not_svg(f"{self.what} is not an SVG: its root element is {local!r}.", "Choose an SVG file.")
        self.has_namespace = namespace == SVG

    def _attach(self, element: Element, attributes: dict[str, str], namespace: str, local: str) -> None:
        if local.lower() == "script":
            raise self._unsafe("a script")
        for name, value in attributes.items():
            space, _, plain = name.rpartition(" ")
            if not space:
                element.attributes[plain] = value
            elif space == _XLINK:
                element.attributes[f"xlink:{plain}"] = value
            elif name == _LABEL:
                element.label = value
            if namespace in _DRAWN:
                self._check_attribute(local, space, plain, value)

    def _check_attribute(self, local: str, space: str, name: str, value: str) -> None:
        if not space and name[:2].lower() == "on" and len(name) > 2:  # noqa: PLR2004 - "on" and an event's name
            raise self._unsafe(f"an event handler ({name})")
        if space == _XML and name == "base":
            raise self._unsafe(f"a reference out of the file (xml:base of {local}: {_short(value)})")
        if (name == "href" and space in {"", _XLINK}) or (name in {"src", "data"} and not space):
            self._check_href(local, value.strip())
        elif "(" in value:
            for target in references(value):
                if target and not target.startswith("#"):
                    raise self._unsafe(f"a reference out of the file ({name} of {local}: {_short(target)})")

    def _check_href(self, local: str, value: str) -> None:
        if not value or value.startswith("#"):
            return
        if local == "a" and not re.match(r"\s*(javascript|data|vbscript)\s*:", value, re.IGNORECASE):
            return  # a link for the reader to click: nothing is drawn from it, and it is dropped with a note
        if local in _IMAGES and _DATA.match(value):
            return
        raise self._unsafe(f"a reference out of the file (href of {local}: {_short(value)})")

    def _check_sheet(self, text: str) -> None:
        if re.search(r"@import", text, re.IGNORECASE):
            raise self._unsafe("a style sheet that imports another (@import)")
        for target in references(text):
            if target and not target.startswith("#") and not target.lower().startswith("data:"):
                raise self._unsafe(f"a reference out of the file (style sheet: {_short(target)})")


def _short(value: str) -> str:
    return value if len(value) <= 60 else value[:57] + "..."  # noqa: PLR2004 - a sentence, not a dump
