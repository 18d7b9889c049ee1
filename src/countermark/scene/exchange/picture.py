"""The image files of a scene from elsewhere: what is safe and whole stays, what is not is dropped, with a note."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from countermark.scene import attachment
from countermark.scene.document import Element, kind_of
from countermark.scene.exchange.report import Report, worded
from countermark.scene.vocabulary import MIME_TYPES

_IMAGE: Final = "image/"
_TIMES: Final = frozenset({"/created", "/lastRetrieved", "/version"})
_TRIES: Final = 6


def mended(files: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Return the files that can stay; the very entries where nothing is wrong with them."""
    kept = {name: _mended(name, entry, report) for name, entry in files.items()}
    return {name: entry for name, entry in kept.items() if entry is not None}


def tell_missing(elements: Sequence[Element], files: Mapping[str, Any], report: Report) -> None:
    """Note every image whose picture is not there: the editor shows an empty frame."""
    for element in elements:
        if kind_of(element) == "image" and not element.get("isDeleted"):
            file = element.get("fileId")
            if not isinstance(file, str) or file not in files:
                report.left(str(element.get("id")), f"its picture {worded(file)} is not in the file: an empty frame")


def _mended(name: str, entry: Any, report: Report) -> Any:
    about = f"file {name[:60]}"
    for _ in range(_TRIES):
        wrong = attachment.fault(name, entry)
        if wrong is None:
            return entry
        where, what = wrong
        url = entry.get("dataURL") if isinstance(entry, dict) else None
        if where == "/id" and isinstance(entry, dict):
            report.repaired(about, f"its entry {what}")
            entry = {**entry, "id": name}
        elif where in _TIMES:
            report.repaired(about, f"{where[1:]} {what}: left out")
            entry = {member: value for member, value in entry.items() if member != where[1:]}
        elif where in ("/mimeType", "/dataURL") and (said := _media_type(url)) not in (None, entry.get("mimeType")):
            report.repaired(about, f"mimeType was {worded(entry.get('mimeType'))}: {worded(said)} now, as its data say")
            entry = {**entry, "mimeType": said}
        elif where == "/mimeType" and str(_media_type(url)).startswith(_IMAGE):
            report.left(about, f"its type {worded(entry.get('mimeType'))} is one that only some editors show")
            return entry
        else:
            report.dropped(about, f"it {what}")
            return None
    report.dropped(about, "it is no image file")
    return None


def _media_type(url: Any) -> str | None:
    """Return the media type that a data URL gives for itself, where that is an image's."""
    head, parted, _ = url[:100].partition(";base64,") if isinstance(url, str) else ("", "", "")
    said = head.removeprefix("data:").lower()
    known = said in MIME_TYPES or (said.startswith(_IMAGE) and "svg" not in said and "xml" not in said)
    return said if parted and head.startswith("data:") and known else None
