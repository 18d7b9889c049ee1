"""One element at a time: what is wrong in it becomes what an editor would make of it, or it is dropped, with a note.

The values that take the place of wrong ones are the editor's defaults (research scene §1.2, §1.3, §1.9). What remains
wrong by the strict check after that is dropped with the check's own words. A member that is sound is not touched, and
none is added but sizes and places.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Final

from countermark.scene.address import is_active
from countermark.scene.codes import refuse
from countermark.scene.document import Element
from countermark.scene.element_check import faults, is_key
from countermark.scene.env import Env
from countermark.scene.exchange.report import Report, worded
from countermark.scene.label import measure
from countermark.scene.line import plain
from countermark.scene.number import is_number
from countermark.scene.vocabulary import (
    ARROWHEADS,
    FEWEST_POINTS,
    FILL_STYLES,
    IMAGE_STATUSES,
    LEGACY_TYPES,
    LINEAR,
    READABLE,
    ROUNDNESS_TYPES,
    STROKE_STYLES,
    TEXT_ALIGNS,
    VERTICAL_ALIGNS,
)

_PLACES: Final = {"x": 0, "y": 0}
_SIZES: Final = ("width", "height")
_NUMBERS: Final[Mapping[str, float]] = {
    "angle": 0,
    "strokeWidth": 2,
    "roughness": 1,
    "opacity": 100,
    "seed": 1,
    "version": 1,
    "versionNonce": 0,
    "updated": 1,
}
_WHOLE: Final = ("seed", "version", "versionNonce")
_WORDS: Final[Mapping[str, tuple[Collection[str], str]]] = {
    "fillStyle": (FILL_STYLES, "solid"),
    "strokeStyle": (STROKE_STYLES, "solid"),
    "textAlign": (TEXT_ALIGNS, "left"),
    "verticalAlign": (VERTICAL_ALIGNS, "top"),
    "status": (IMAGE_STATUSES, "saved"),
}
_COLOURS: Final = {"strokeColor": "#1e1e1e", "backgroundColor": "transparent"}
_FLAGS: Final = ("isDeleted", "locked", "elbowed", "autoResize", "simulatePressure", "polygon")
_FONT: Final[Mapping[str, float]] = {"fontSize": 20, "lineHeight": 1.25, "fontFamily": 5}
_OPAQUE: Final = 100


def mended(element: Any, place: int, env: Env, report: Report) -> Element | None:
    """Return an element without the faults it has by itself, the very object where it has none; None for a dropped one.

    Raises `too_large` for a text that is longer than the limits allow: a text is never cut.
    """
    about = f"/elements/{place}"
    if not isinstance(element, dict):
        report.dropped(about, f"{worded(element)} is no element")
        return None
    work = _Work(dict(element), about, report)
    if not work.known() or not work.shaped():
        return None
    work.numbers()
    work.words()
    work.lists()
    work.links()
    if work.made["type"] == "text" and not work.text(env):
        return None
    if not work.checked(env):
        return None
    return work.made if work.touched else element


class _Work:
    """One element being mended."""

    def __init__(self, made: Element, about: str, report: Report) -> None:
        self.made, self.report, self.touched = made, report, False
        name = made.get("id")
        self.about = name if isinstance(name, str) and name else about

    def put(self, member: str, value: Any, why: str) -> None:
        self.made[member], self.touched = value, True
        now = "" if isinstance(value, list | dict) and value else f": {worded(value)} now"
        self.report.repaired(self.about, f"{member} {why}{now}")

    def drop(self, why: str) -> None:
        self.report.dropped(self.about, why)

    def known(self) -> bool:
        kind = self.made.get("type")
        if not isinstance(kind, str) or (kind not in READABLE and kind not in LEGACY_TYPES):
            self.drop(f"the type {worded(kind)} is not known, and no editor shows it")
            return False
        name = self.made.get("id")
        if is_number(name):
            self.put("id", str(name), f"was the number {worded(name)}")
        return True

    def shaped(self) -> bool:
        """Mend the points of a line; say whether enough are left."""
        fewest = FEWEST_POINTS.get(self.made["type"])
        if fewest is None:
            return True
        points = self.made.get("points")
        given = points if isinstance(points, list) else []
        kept = [one[:2] for one in given if isinstance(one, list) and len(one) in (2, 3) and all(map(is_number, one))]
        if len(kept) < fewest and not self.made.get("isDeleted"):
            self.drop(f"of its {len(given)} points {len(kept)} are sound, and it needs {fewest}")
            return False
        if len(kept) != len(given) or not isinstance(points, list):
            self.put("points", kept, f"had {len(given) - len(kept)} that were none" if given else "was no array")
        self._begin(kept)
        self._pressures(len(kept))
        for member, axis in zip(_SIZES, (0, 1), strict=True):
            if kept and not is_number(self.made.get(member)):
                span = plain(max(one[axis] for one in kept) - min(one[axis] for one in kept))
                self.put(member, span, f"was {worded(self.made.get(member))}")
        return True

    def _begin(self, points: list[list[float]]) -> None:
        """Let a line begin at its own place."""
        if not points or self.made["type"] not in LINEAR or not any(points[0]):
            return
        dx, dy = points[0]
        if math.isfinite(dx) and math.isfinite(dy):
            moved = [[plain(x - dx), plain(y - dy)] for x, y in points]
            self.put("points", moved, f"began at {dx:g}, {dy:g}")
            for member, by in (("x", dx), ("y", dy)):
                at = self.made.get(member)
                self.made[member] = plain((at if is_number(at) else 0) + by)

    def _pressures(self, most: int) -> None:
        pressures = self.made.get("pressures")
        if pressures is None:
            return
        if not isinstance(pressures, list) or not all(map(is_number, pressures)):
            self.put("pressures", [], "were no numbers")
        elif len(pressures) > most:
            self.put("pressures", pressures[:most], f"were {len(pressures)} for {most} points")

    def numbers(self) -> None:
        for member in _PLACES:
            self._number(member, 0, missing=True)
        for member in _SIZES:
            # A text that has no size is measured; a shape that has none stays without, and is told below.
            self._number(member, 0, missing=self.made["type"] != "text")
        for member, default in _NUMBERS.items():
            self._number(member, default, missing=False)
        for member in _WHOLE:
            value = self.made.get(member)
            if isinstance(value, float) and not value.is_integer():
                self.put(member, int(value), f"was {value!r}, which is not whole")
        opacity = self.made.get("opacity")
        if is_number(opacity) and not 0 <= opacity <= _OPAQUE:
            self.put("opacity", min(max(opacity, 0), _OPAQUE), f"was {worded(opacity)}")
        if self.made["type"] not in FEWEST_POINTS:
            for at, side in zip(_PLACES, _SIZES, strict=True):
                size = self.made.get(side)
                if is_number(size) and size < 0:
                    self.made[at] = plain(self.made[at] + size)
                    self.put(side, -size, f"was {worded(size)}, to the other side")

    def _number(self, member: str, default: float, *, missing: bool) -> None:
        value = self.made.get(member)
        if is_number(value) or (value is None and not missing):
            return
        read = _read(value)
        self.put(
            member, default if read is None else read, f"was {worded(value)}" if member in self.made else "was missing"
        )

    def words(self) -> None:
        for member, (known, default) in _WORDS.items():
            self._unless(member, partial(_is_word, known), default)
        for member, colour in _COLOURS.items():
            self._unless(member, lambda value: isinstance(value, str), colour)
        for member in _FLAGS:
            value = self.made.get(member)
            if value is not None and not isinstance(value, bool):
                self.put(member, bool(value), f"was {worded(value)}")
        if self.made["type"] in LINEAR:
            for member in ("startArrowhead", "endArrowhead"):
                self._unless(member, partial(_is_word, ARROWHEADS), "arrow")

    def lists(self) -> None:
        groups = self.made.get("groupIds")
        if groups is not None and not (isinstance(groups, list) and all(isinstance(one, str) for one in groups)):
            texts = [one for one in groups if isinstance(one, str)] if isinstance(groups, list) else []
            self.put("groupIds", [groups] if isinstance(groups, str) else texts, f"was {worded(groups)}")
        entries = self.made.get("boundElements")
        if entries is not None:
            given = entries if isinstance(entries, list) else []
            kept = [one for one in given if isinstance(one, dict) and isinstance(one.get("id"), str)]
            if len(kept) != len(given) or not isinstance(entries, list):
                self.put("boundElements", kept, f"was {worded(entries)}")
        self._unless(
            "roundness", lambda value: isinstance(value, dict) and _among(value.get("type"), ROUNDNESS_TYPES), None
        )
        self._unless("index", lambda value: isinstance(value, str) and is_key(value), None)
        for member in ("startBinding", "endBinding"):
            self._unless(member, lambda value: isinstance(value, dict), None)

    def links(self) -> None:
        link = self.made.get("link")
        if link is not None and (not isinstance(link, str) or is_active(link)):
            self.made["link"], self.touched = None, True
            self.report.dropped(self.about, f"its link {worded(link)}: it runs a script, or is no address")
        custom = self.made.get("customData")
        if custom is not None and not isinstance(custom, dict):
            del self.made["customData"]
            self.touched = True
            self.report.dropped(self.about, f"its customData {worded(custom)}: it is no object")

    def text(self, env: Env) -> bool:
        """Mend a text; say whether there is any."""
        said = self.made.get("text")
        if is_number(said):
            self.put("text", str(said), f"was the number {worded(said)}")
        elif not isinstance(said, str) or not said:
            original = self.made.get("originalText")
            if isinstance(original, str) and original:
                self.put("text", original, f"was {worded(said)}")
            elif not self.made.get("isDeleted"):
                self.drop(f"it is a text without text ({worded(said)})")
                return False
            elif not isinstance(said, str | None):
                self.put("text", "", f"was {worded(said)}")
        self._unless("originalText", lambda value: isinstance(value, str), self.made.get("text"))
        for member, default in _FONT.items():
            value = self.made.get(member)
            if value is not None and not (is_number(value) and value > 0):
                read = _read(value)
                self.put(member, read if read is not None and read > 0 else default, f"was {worded(value)}")
        self._unless("containerId", lambda value: isinstance(value, str), None)
        if not all(is_number(self.made.get(side)) for side in _SIZES) and isinstance(self.made.get("text"), str):
            self.made.update({side: 0 for side in _SIZES if not is_number(self.made.get(side))})
            measure(self.made, env)
            self.touched = True
            self.report.repaired(
                self.about, f"had no size: measured, {self.made['width']:g} by {self.made['height']:g}"
            )
        return True

    def _unless(self, member: str, sound: Callable[[Any], bool], default: Any) -> None:
        value = self.made.get(member)
        if value is not None and not sound(value):
            self.put(member, default, f"was {worded(value)}")

    def checked(self, env: Env) -> bool:
        """Say whether nothing is wrong with the element by the strict check; else drop it and say what is."""
        for fault in faults(self.made, "", env.limits):
            if fault.code == "too_large":
                raise refuse(
                    fault.code,
                    f"{self.about}: {fault.message}",
                    next_action="Shorten the text where it was drawn: a text is never cut here.",
                    details={"element": self.about, "pointer": fault.pointer},
                )
            if fault.severity == "error" and fault.pointer != "/id":
                self.drop(f"{fault.pointer or '/'}: {fault.message}")
                return False
            if fault.severity == "warning":
                self.report.left(self.about, f"{fault.pointer.lstrip('/')} {fault.message}".strip())
        return True


def _read(value: Any) -> float | None:
    """Return the number that a text spells, as an editor's arithmetic would read it; None when it spells none."""
    if not isinstance(value, str):
        return None
    try:
        found = float(value)
    except ValueError:
        return None
    return plain(found) if math.isfinite(found) else None


def _is_word(known: Collection[str], value: Any) -> bool:
    return isinstance(value, str) and value in known


def _among(value: Any, numbers: Collection[int]) -> bool:
    return is_number(value) and value in numbers
