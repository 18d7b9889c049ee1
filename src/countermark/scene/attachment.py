"""Image files of a scene: what they must be, so that nothing active and nothing broken gets in (research §1.5, §1.10).

An entry's media type is one of five and that of its data URL, its base64 decodes, its first bytes are that type's, and
an SVG is parsed and holds no script, no event attribute, no foreign object, no entity and no reference outside itself.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, Final
from xml.parsers import expat

from countermark.scene.codes import refuse
from countermark.scene.number import is_number
from countermark.scene.spelling import escaped, shown
from countermark.scene.vocabulary import MIME_TYPES

_DATA_URL: Final = re.compile(r"data:([a-z]+/[a-z0-9.+-]+);base64,", re.IGNORECASE)
_MAGIC: Final[Mapping[str, tuple[bytes, ...]]] = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}
_MEMBERS: Final = frozenset({"id", "mimeType", "dataURL", "created", "lastRetrieved", "version"})
_ACTIVE: Final = frozenset(
    {"script", "foreignobject", "handler", "listener", "iframe", "object", "embed", "audio", "video"}
)
_REFERENCES: Final = frozenset({"href", "src", "data", "action", "formaction", "ping", "srcset"})
_ANIMATIONS: Final = frozenset({"animate", "set", "animatemotion", "animatetransform"})
_INLINE: Final = re.compile(r"(?:#[^\s\"')]*|data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*)\Z")
_URL: Final = re.compile(r"url\(\s*['\"]?([^'\")]*)", re.IGNORECASE)
_ESCAPE: Final = re.compile(r"\\[0-9a-fA-F]{1,6}\s?|\\.", re.DOTALL)
_SVG: Final = "http://www.w3.org/2000/svg"


def require(name: Any, entry: Any, root: str, now: int) -> dict[str, Any]:
    """Return a caller's file entry with id and time filled in; raise `invalid_operation` with a JSON pointer."""
    pointer = f"{root}/{escaped(str(name))}"
    what = fault(name, entry)
    if what is None and not set(entry) <= _MEMBERS:
        what = f"/{escaped(min(set(entry) - _MEMBERS))}", "is no member of a file entry"
    if what is not None:
        raise refuse(
            "invalid_operation",
            f"{pointer}{what[0]} {what[1]}.",
            next_action="Give {mimeType, dataURL} of a PNG, JPEG, GIF, WebP or safe SVG image.",
            details={"pointer": f"{pointer}{what[0]}", "file": str(name)},
        )
    full = {"mimeType": entry["mimeType"], "id": name, "dataURL": entry["dataURL"], "created": now}
    return full | {key: value for key, value in entry.items() if key in _MEMBERS}


def fault(name: Any, entry: Any) -> tuple[str, str] | None:
    """Return the pointer inside the entry and what is wrong there; None when the file is sound."""
    if not isinstance(name, str) or not name or len(name) > 128:  # noqa: PLR2004 - editors use 40
        return "", "has no usable id"
    if not isinstance(entry, Mapping):
        return "", "is not an object"
    if entry.get("id", name) != name:
        return "/id", "is another id than the file's name"
    for member in ("created", "lastRetrieved", "version"):
        value = entry.get(member)
        if value is not None and not is_number(value):
            return f"/{member}", "is not a number"
    mime = entry.get("mimeType")
    if not isinstance(mime, str) or mime not in MIME_TYPES:
        return "/mimeType", f"is {shown(mime)}, which is none of: {', '.join(sorted(MIME_TYPES))}"
    what = _data(mime, entry.get("dataURL"))
    return None if what is None else ("/dataURL", what)


def _data(mime: str, url: Any) -> str | None:
    head = _DATA_URL.match(url) if isinstance(url, str) else None
    if head is None:
        return "is no base64 data URL"
    if head[1].lower() != mime:
        return f"says {head[1]!r} where mimeType says {mime!r}"
    try:
        content = base64.b64decode(url[head.end() :], validate=True)
    except (binascii.Error, ValueError):
        return "does not decode as base64"
    return _content(mime, content)


def _content(mime: str, content: bytes) -> str | None:
    if mime == "image/svg+xml":
        return unsafe_svg(content)
    if not content.startswith(_MAGIC[mime]) or (mime == "image/webp" and content[8:12] != b"WEBP"):
        return f"does not hold what its type {mime!r} says"
    return None


def unsafe_svg(content: bytes) -> str | None:
    """Return what makes an SVG unusable as an image that runs nothing and fetches nothing; None when it is safe."""
    reading = _Reading()
    parser = expat.ParserCreate(namespace_separator="\n")
    parser.StartElementHandler, parser.EndElementHandler = reading.begin, reading.end
    parser.CharacterDataHandler = reading.text
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = reading.declared
    parser.ProcessingInstructionHandler = reading.instruction
    try:
        parser.Parse(content, True)  # noqa: FBT003 - expat's own signature
    except expat.ExpatError as error:
        reading.found.append(f"is no well-formed SVG: {expat.errors.messages.get(error.code, 'error')}")
    except (ValueError, LookupError):  # an encoding that the parser does not read
        reading.found.append("is no well-formed SVG: unknown encoding")
    return next(iter(reading.found), None) or next(iter(_style("".join(reading.styles))), None)


class _Reading:
    """What an SVG turns out to hold, as the parser meets it."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.styles: list[str] = []
        self.open: list[str] = []

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        space, _, local = name.rpartition("\n")
        lower = local.lower()
        if not self.open and (space != _SVG or local != "svg"):
            self.found.append("is no SVG document")
        if lower in _ACTIVE:
            self.found.append(f"holds the active element {local!r}")
        self.open.append(lower)
        for full, value in attributes.items():
            self.found += _attribute(lower, full.rpartition("\n")[2].lower(), value)

    def end(self, _: str) -> None:
        self.open.pop()

    def text(self, data: str) -> None:
        if "style" in self.open:
            self.styles.append(data)

    def declared(self, *_: Any) -> None:
        self.found.append("declares a document type or an entity")

    def instruction(self, target: str, _: str) -> None:
        self.found.append(f"holds the processing instruction {target!r}")


def _attribute(element: str, name: str, value: str) -> list[str]:
    if name.startswith("on"):
        return [f"has the event attribute {name!r}"]
    if name == "style" or "url(" in value.lower():
        return _style(value)
    if name in _REFERENCES and not _INLINE.match(value.strip()):
        if element == "a" and value.strip().lower().startswith(("http:", "https:", "mailto:")):
            return []  # a link is not followed inside an image
        return [f"refers outside itself in {name!r}"]
    if element in _ANIMATIONS and name == "attributename" and value.strip().lower().rpartition(":")[2] in _REFERENCES:
        return ["animates a reference"]
    return []


def _style(text: str) -> list[str]:
    plain = _ESCAPE.sub("\\\\", text)
    if "\\" in plain or "@import" in plain.lower() or "expression(" in plain.lower():
        return ["holds a style sheet that fetches or hides something"]
    if any(not _INLINE.match(url.strip()) for url in _URL.findall(plain)):
        return ["refers outside itself in a style"]
    return []
