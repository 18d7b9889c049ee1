"""What an element says that is not carried over: looked for in every element that is drawn, and once in the file."""

from __future__ import annotations

import re
from typing import Final

from countermark.vector.svg import property as prop
from countermark.vector.svg.css import cascaded, parsed
from countermark.vector.svg.parse import Element
from countermark.vector.svg.report import Report
from countermark.vector.svg.shape import SHAPES
from countermark.vector.svg.style import reference, specified

ANIMATIONS: Final = frozenset({"animate", "animateColor", "animateMotion", "animateTransform", "discard", "set"})

# Elements that hold what others use, or say something about the file: they paint nothing where they stand.
UNPAINTED: Final = frozenset(
    {
        "clipPath",
        "color-profile",
        "cursor",
        "defs",
        "desc",
        "filter",
        "font",
        "font-face",
        "linearGradient",
        "marker",
        "mask",
        "metadata",
        "mpath",
        "pattern",
        "radialGradient",
        "solidColor",
        "solidcolor",
        "stop",
        "style",
        "symbol",
        "title",
        "view",
    }
)
CONTAINERS: Final = frozenset({"a", "g", "image", "svg", "switch", "use"})

_REASONS: Final = {
    "audio": "Sound is not carried over.",
    "canvas": "A canvas is not carried over.",
    "foreignObject": "Content of another language is not carried over.",
    "iframe": "A frame is not carried over.",
    "text": "Text is not carried over; convert it to outlines first to keep its shape.",
    "video": "Video is not carried over.",
}
_CODES: Final = {"foreignObject": "foreign-object"}
_EXCERPT: Final = 40
_SHARE: Final = re.compile(r"\((?:[^,()]*,){3}[^,()]*%\s*\)")


def of_file(root: Element, report: Report) -> None:
    """Report what holds wherever it stands: animations."""
    for element in root.walk():
        if element.tag in ANIMATIONS:
            report.loss("animation", element, "The drawing is carried over as it stands without its animation.")


def of_element(element: Element, report: Report, *, hidden: bool) -> None:
    """Report an element of a kind that is not drawn here."""
    tag = element.tag
    if tag.startswith("{") or tag in UNPAINTED or tag in ANIMATIONS:
        return
    reason = _REASONS.get(tag, f"The element {tag} is not known, and what it may paint is not carried over.")
    if tag == "text":
        words = " ".join("".join(part.text for part in element.walk()).split())
        hidden = hidden or not words
        reason = f"{reason} It says {words[:_EXCERPT]!r}."
    report.loss(_CODES.get(tag, tag if tag in _REASONS else "unknown-element"), element, reason, hidden=hidden)


def of_properties(element: Element, ids: dict[str, Element], report: Report, *, hidden: bool) -> None:
    """Report the properties of a drawn element that would change the picture and are not carried over."""
    said = specified(element)
    for name, value in said.items():
        neutral = prop.LOST.get(name)
        if neutral is None or value.lower() in neutral or value.lower() in {"inherit", "initial", "unset", ""}:
            continue
        target = reference(value)
        if name == "mask" and target not in ids:
            report.note("missing-reference", element, f"The mask #{target} does not exist and masks nothing.")
            continue
        what = f"{name} #{target}" if target else f"{name}: {value[:60]}"
        missing = " does not exist, and readers differ on what that shows" if target and target not in ids else ""
        report.loss(name, element, f"{what}{missing or ' is not applied'}.", hidden=hidden)
    if said.get("stroke-linejoin", "").lower() in {"arcs", "miter-clip"}:
        report.loss("stroke-linejoin", element, "Such a join is drawn as a plain miter.", hidden=hidden)
    if said.get("mix-blend-mode", "normal").lower() not in {*prop.BLENDS, "inherit", "initial", "unset"}:
        report.loss("mix-blend-mode", element, f"{said['mix-blend-mode'][:60]} is not applied.", hidden=hidden)
    clip = said.get("clip-path", "none").lower()
    if clip not in {"none", "inherit", "initial", "unset", ""} and not clip.startswith("url("):
        report.loss("clip-path", element, f"{clip[:60]} is not applied; only clips by reference are.", hidden=hidden)
    if any(
        name in prop.GEOMETRY and value.strip().lower().endswith("rem") for name, value in element.attributes.items()
    ):
        reason = "Lengths in rem are read as CSS says; readers differ on what they show."
        report.loss("unit", element, reason, hidden=hidden)
    for name in ("fill", "stroke", "color"):
        if _SHARE.search(said.get(name, "")):
            reason = f"The opacity of {said[name][:60]} is read as CSS says; some readers take the colour for a fault."
            report.loss("colour", element, reason, hidden=hidden)
    _inline(element, report, hidden=hidden)


def _inline(element: Element, report: Report, *, hidden: bool) -> None:
    for name, value in cascaded([*element.rules, *parsed(element.attributes.get("style", ""))]).items():
        if name in prop.GEOMETRY and element.tag in {*SHAPES, "use", "svg"}:
            reason = f"{name}: {value[:60]} stands in a style; geometry is read from attributes only."
            report.loss("geometry-property", element, reason, hidden=hidden)
        elif name not in prop.READ and name not in prop.LOST and not prop.is_idle(name):
            report.note("property", element, f"{name}: {value[:60]} is no property that is known.")
