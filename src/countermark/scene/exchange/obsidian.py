"""A drawing in Obsidian's Markdown: the drawing, and what the text around it says that the drawing does not."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from countermark.scene.codes import refuse
from countermark.scene.exchange import lzstring
from countermark.scene.exchange.inflate import broken
from countermark.scene.exchange.report import Report

_PLUGIN: Final = re.compile(r"^excalidraw-plugin:", re.MULTILINE)
_DATA: Final = re.compile(r"^(?:%%\n)?#{1,2} (?:Excalidraw Data|Text Elements|Drawing)[ \t]*$", re.MULTILINE)
_HEADING: Final = re.compile(r"^#{1,2} (.+?)[ \t]*$", re.MULTILINE)
_FENCE: Final = re.compile(r"^```(compressed-json|json)[ \t]*\n", re.MULTILINE)
_MARKER: Final = re.compile(r"[ \t]\^([A-Za-z0-9_-]{1,64})[ \t]*$", re.MULTILINE)
_ENTRY: Final = re.compile(r"^([A-Za-z0-9_-]{1,64}):[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_SWITCH: Final = re.compile(r"^==⚠.*?(?:==|$).*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Note:
    """What an Obsidian file holds: the JSON of the drawing, and by element or file id what stands beside it."""

    drawing: bytes
    texts: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)


def is_one(text: str) -> bool:
    """Say whether text is a note that holds, or claims to hold, a drawing."""
    return _PLUGIN.search(text) is not None or (_DATA.search(text) is not None and _FENCE.search(text) is not None)


def read(text: str, cap: int, report: Report) -> Note:
    """Return what a note holds; raise `invalid_scene` when there is no drawing in it, `too_large` past the cap."""
    text = text.replace("\r\n", "\n")
    fence = _drawing(text)
    begin = fence.end()
    end = text.find("\n```", begin)
    if end < 0:
        raise broken("drawing in the note", "is cut short: its fence is not closed")
    body = text[begin:end]
    if fence[1] == "compressed-json":
        body = lzstring.unpacked(body, cap)
        if "\ufffd" in body:
            report.repaired("text", "halves of characters in the packed drawing became U+FFFD")
    parts = _sections(text[: fence.start()])
    _around(text, report)
    return Note(
        body.encode("utf-8", "replace"),
        _texts(parts.get("Text Elements", "")),
        dict(_ENTRY.findall(parts.get("Element Links", ""))),
        dict(_ENTRY.findall(parts.get("Embedded Files", "") + "\n" + parts.get("Embedded files", ""))),
    )


def _drawing(text: str) -> re.Match[str]:
    heading = [one for one in _HEADING.finditer(text) if one[1] == "Drawing"]
    fence = _FENCE.search(text, heading[-1].end() if heading else 0)
    if fence is None:
        raise refuse(
            "invalid_scene",
            "The note holds no drawing.",
            next_action="Import the .excalidraw.md file itself.",
            details={"reason": "no-scene"},
        )
    return fence


def _sections(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    headings = list(_HEADING.finditer(text))
    for place, heading in enumerate(headings):
        end = headings[place + 1].start() if place + 1 < len(headings) else len(text)
        found[heading[1]] = text[heading.end() : end]
    return found


def _texts(section: str) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    for marker in _MARKER.finditer(section):
        found[marker[1]] = section[at : marker.start()].strip("\n")
        at = marker.end()
    return found


def _around(text: str, report: Report) -> None:
    """Note what the person wrote beside the drawing: a scene has no place for it."""
    data = _DATA.search(text)
    before = text[: data.start()] if data else ""
    if before.startswith("---\n"):
        close = before.find("\n---", 4)
        before = before[close + 4 :] if close >= 0 else before
    prose = [line for line in _SWITCH.sub("", before).splitlines() if line.strip() and line.strip() != "%%"]
    if prose:
        lines = "1 line" if len(prose) == 1 else f"{len(prose)} lines"
        report.dropped("note", f"{lines} of the note outside the drawing: a scene has no place for them")
