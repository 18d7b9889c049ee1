"""What a check of this domain measured, and what it held that against, in a person's words.

The receipt keeps the figures under their names; this is how the record page says them. A check that is not known here
is told by its names and figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from countermark.kernel.proof import Verdict
from countermark.raster.difference import OFF_BY

Figures = Mapping[str, Any]


def measured(found: Verdict) -> str:
    """Return what was measured; the reason stands first where a check did not pass."""
    if found.reason or not found.measured:
        return found.reason
    return _told(found.check, 0, found.measured)


def threshold(found: Verdict) -> str:
    """Return what the measured was held against."""
    return _told(found.check, 1, found.threshold) if found.threshold else ""


def _told(check: str, side: int, figures: Figures) -> str:
    tell = _WORDS.get(check, (_plain, _plain))[side]
    try:
        return tell(figures)
    except KeyError:  # figures of another version of the check
        return _plain(figures)


def _plain(figures: Figures) -> str:
    return ", ".join(f"{name} {value}" for name, value in figures.items())


def _sides(figures: Figures) -> str:
    return f"{figures['width']} x {figures['height']}"


def _png(figures: Figures) -> str:
    alpha = "with alpha" if figures["alpha"] else "without alpha"
    return f"{_sides(figures)}, {figures['mode']}, {alpha}, {_thousands(figures['painted'])} pixels painted"


def _png_wanted(figures: Figures) -> str:
    return f"{_sides(figures)}, {figures['mode']}, {'with' if figures['alpha'] else 'without'} alpha"


def _svg(figures: Figures) -> str:
    box = "a view box" if figures["view_box"] else "no view box"
    return f"{_sides(figures)}, {box}, {figures['elements']} elements, {figures['outside'] or 'nothing'} from outside"


def _svg_wanted(figures: Figures) -> str:
    return f"{_sides(figures)}, a view box, nothing from outside"


def _picture(figures: Figures) -> str:
    worst = f"; the largest difference is {figures['max_delta']} of 255" if figures["max_delta"] else ""
    unseen = f"; not seen: {figures['unobserved']}" if "unobserved" in figures else ""
    larger = f"; the same drawing large: {figures['larger']}" if "larger" in figures else ""
    return f"{_thousands(figures['off'])} of {_thousands(figures['painted'])} painted pixels off{worst}{larger}{unseen}"


def _picture_wanted(figures: Figures) -> str:
    if "larger" in figures:
        return "both paint something or neither does, and the same drawing passed large"
    return f"at most {float(figures['share']) * 100:g} % of the painted pixels off by more than {OFF_BY} of 255"


def _counted(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def _thousands(number: int) -> str:
    return f"{number:,}"


_WORDS: Final[Mapping[str, tuple[Callable[[Figures], str], Callable[[Figures], str]]]] = {
    "digests": (
        lambda f: f"{f['files'] - f['wrong']} of {f['files']} files are what their maker announced",
        lambda f: f"all {f['files']}",
    ),
    "png_decodes": (_png, _png_wanted),
    "svg_structure": (_svg, _svg_wanted),
    "svg_renders": (_picture, _picture_wanted),
    "original": (_picture, _picture_wanted),
    "pdf_pages": (
        lambda f: f"{_counted(f['pages'], 'page')}, {_counted(f['rasters'], 'raster')}, {_counted(f['dates'], 'date')}",
        lambda f: f"{_counted(f['pages'], 'page')} by the artboards' ids and sizes, no raster, no date",
    ),
    "pdf_renders": (_picture, _picture_wanted),
    "ico_entries": (
        lambda f: f"{f['entries']} pictures, {f['wrong']} of them another than the board's",
        lambda f: f"{f['entries']} pictures, each its board pixel by pixel",
    ),
    "manifest_icons": (
        lambda f: f"{_counted(f['icons'], 'icon')}, {f['wrong']} of them wrong",
        lambda f: f"{_counted(f['icons'], 'icon')} that stand beside it in the size it names",
    ),
    "token_files": (
        lambda f: f"{_counted(f['tokens'], 'token')}, {f['properties']} custom properties",
        lambda f: f"the colours of {_counted(f['tokens'], 'swatch')} in both".replace("swatchs", "swatches"),
    ),
    "sprite_symbol": (_picture, _picture_wanted),
    "safe_zone": (
        lambda f: f"the drawing ends {f['reach']} of the side from the middle",
        lambda f: f"at most {f['reach']}, and opaque",
    ),
    "edges_survive": (
        lambda f: (
            f"{_thousands(f['kept'])} of {_thousands(f['edges'])} inner edge pixels are edges here too; "
            f"{f['beside']} pixels of ink beside the drawing"
        ),
        lambda f: f"at least {float(f['kept']) * 100:g} % of the edges, at most 1 % beside",
    ),
    "legible": (
        lambda f: f"{f['kept'] * 100 // (f['edges'] or 1)} % of its edges told apart at {f['side']} pixels",
        lambda f: f"at least {float(f['kept']) * 100:g} %",
    ),
    "embedded_document": (
        lambda f: f"a document of {_thousands(f['bytes'])} bytes, and the drawing, equal those beside it",
        lambda _: "both the same",
    ),
    "exchange_loss": (
        lambda f: (
            f"{f['outputs']} files: {f['lost']} losses, {f['unknown']} unknown, {f['observed']} observed; "
            f"{_counted(f['objectsLost'], 'object')} shown otherwise by another engine"
        ),
        lambda f: f"every one of {f['outputs']} files reported",
    ),
    "losses": (lambda f: f"{f['lost']} lost, {f['unaccepted']} of them not accepted", lambda _: "none not accepted"),
    "unaffected_boards": (lambda f: f"{f['byteEqual']} of {f['files']} files byte-equal", lambda _: "all of them"),
}
