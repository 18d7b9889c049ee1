"""A scene as a picture, without a browser: the SVG that the editor exports, and a PNG of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from countermark.scene import checks
from countermark.scene.codes import refuse
from countermark.scene.exporter import Look

if TYPE_CHECKING:
    from countermark.scene.desk import Desk, Found

Format = Literal["svg", "png"]

MEDIA_TYPES: Final[dict[Format, str]] = {"svg": "image/svg+xml", "png": "image/png"}
SCALES: Final = (0.1, 10.0)
"""The smallest and the largest factor of a picture's size."""

# What a reader of XML does not take: the entity of HTML, and characters that XML has no way to write.
_NO_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_SIZE: Final = re.compile(r'<svg [^>]*?\bwidth="([\d.e+-]+)" height="([\d.e+-]+)"')
# Faults that the editor settles by itself when it reads a file; of every other it makes an unreadable picture or none.
_SETTLED: Final = frozenset({"invalid_reference", "duplicate_id", "unsupported_element"})


@dataclass(frozen=True, slots=True)
class Rendered:
    """A picture of one revision, `width` by `height` px; `warnings` say what in it is not as the scene has it."""

    name: str
    revision: int
    sha256: str
    format: Format
    data: bytes
    width: float
    height: float
    warnings: tuple[str, ...]

    @property
    def media_type(self) -> str:
        """Return what the bytes are."""
        return MEDIA_TYPES[self.format]

    def facts(self) -> dict[str, Any]:
        """Return what is told of it in JSON, without the picture itself."""
        return {
            "name": self.name,
            "revision": self.revision,
            "sha256": self.sha256,
            "format": self.format,
            "width": self.width,
            "height": self.height,
            "byteLength": len(self.data),
            "warnings": list(self.warnings),
        }


def render(  # noqa: PLR0913 - one word for each thing that can be chosen
    desk: Desk,
    name: Any,
    *,
    revision: int | None = None,
    format: Format = "svg",  # noqa: A002 - the word that people say
    dark: bool = False,
    scale: float = 1.0,
    embed_scene: bool = False,
    fonts: bool = True,
    background: bool = True,
) -> Rendered:
    """Return a stored scene, or one of its revisions, as the editor 0.18.1 draws it.

    `fonts` puts the fonts' used characters into an SVG, `embed_scene` the scene itself; a PNG has neither. Raises
    what reading raises, `invalid_scene` for a document that the editor cannot draw, `invalid_operation` for a scale out
    of bounds, `too_large` for a picture of too many pixels, `part_unavailable` where a part is missing,
    `deadline_exceeded`, `child_failed`.
    """
    low, high = SCALES
    if not low <= scale <= high:
        raise refuse(
            "invalid_operation",
            f"A picture is scaled by {low} to {high:.0f}, not by {scale}.",
            next_action="Choose a scale between.",
            details={"scale": scale},
        )
    found = desk.read(name) if revision is None else desk.version(name, revision)
    look = Look(dark=dark, fonts=fonts, embed=embed_scene, background=background, scale=scale)
    return drawn(desk, found, format, look)


def drawn(desk: Desk, found: Found, format: Format, look: Look) -> Rendered:  # noqa: A002 - the word that people say
    """Return a document as the editor draws it, stored or not; raises as `render` does."""
    warnings = _drawable(found, desk)
    svg_only = format == "svg"
    scale = look.scale
    if not svg_only:
        look = look._replace(fonts=False, embed=False, scale=1.0)
    made = desk.exporter().export(found.data.decode("utf-8"), look)
    svg = _NO_XML.sub("", made.svg).replace("&nbsp;", "&#160;")
    size = _SIZE.match(svg)
    assert size is not None  # noqa: S101 - the export begins with it
    width, height = float(size[1]), float(size[2])
    warnings += made.complaints
    if svg_only:
        data = svg.encode("utf-8")
    else:
        from countermark.raster.picture import png_size  # noqa: PLC0415
        from countermark.scene import picture  # noqa: PLC0415 - brings in what draws fonts

        data, without = picture.draw(desk.workspace, svg, (width, height), scale)
        width, height = png_size(data)
        warnings += without
    return Rendered(found.name, found.revision, found.sha256, format, data, width, height, warnings)


def _drawable(found: Found, desk: Desk) -> tuple[str, ...]:
    """Return what is wrong with a scene and is drawn nevertheless; raise the first fault that the editor fails at."""
    live = [one for one in found.scene.elements if not one.get("isDeleted")]
    report = checks.diagnose({**found.scene.value(), "elements": live}, desk.limits)
    errors = [one for one in report.diagnostics if one["severity"] == "error"]
    for one in errors:
        if one["code"] not in _SETTLED and not one["pointer"].startswith("/files"):
            raise refuse(
                "invalid_scene",
                f"{found.name} cannot be drawn: {one['pointer']}: {one['message']}",
                next_action="Correct it; `countermark scene show` has the element.",
                details={key: one[key] for key in ("pointer", "element") if one.get(key) is not None},
            )
    return tuple(f"{one['pointer']}: {one['message']}" for one in errors)
