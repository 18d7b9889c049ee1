"""Font pieces in memory: found, compared with the manifest's digest, decoded, ready to shape with."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from countermark.kernel.errors import CountermarkError
from countermark.typeset.fonts import BY_NAME, FOLDER, Piece

SETTING: Final = "COUNTERMARK_EDITOR"
"""The environment variable that names a folder with `dist/fonts/Xiaolai`, or `fonts/Xiaolai`, in it."""

PACKAGE: Final = "countermark_editor"
"""The package that carries the CJK family otherwise."""

FINER: Final = 64
"""Positions are asked for in parts of a font unit: half a space is not rounded to a whole one."""


@dataclass(frozen=True, slots=True, eq=False)
class Face:
    """A decoded piece; what it measures is in ems.

    `advance` holds the characters that a browser takes from it, those of its range that it has a glyph for, with the
    advance of that glyph. `glyphs` are the advances of all its glyphs by their number, `scale` of them to the em.
    `plain` means that it has no kerning and no substitutions: a run is as wide as the sum.
    """

    font: Any
    scale: int
    advance: Mapping[str, float]
    glyphs: Sequence[int]
    plain: bool


@cache
def editor_fonts() -> Path | None:
    """Return the folder that holds the CJK family's folder: what the setting names, else the editor's package.

    Looked for once in a process: a look into the environment takes as long as measuring a word.
    """
    named = os.environ.get(SETTING)
    if named:
        places = [named]
    else:
        spec = find_spec(PACKAGE)
        places = [] if spec is None else list(spec.submodule_search_locations or ())
    if not places:
        return None
    built, beside = Path(places[0]) / "dist" / "fonts", Path(places[0]) / "fonts"
    return built if built.is_dir() else beside


def lacking() -> list[str]:
    """Return a sentence for each family whose pieces are not here or not the manifest's; texts in it are assumed."""
    found = []
    for family in BY_NAME.values():
        folder = FOLDER if family.bundled else editor_fonts()
        if family.pieces and folder is None:
            found.append(not_installed(family.name))
        elif folder is not None:
            found += [said for piece in family.pieces if isinstance(said := _read(piece, folder), str)][:1]
    return found


def not_installed(family: str) -> str:
    """Return the sentence for the family that only the editor's package has."""
    return f"the pieces of {family} come with the package {PACKAGE}, which is not installed"


@cache
def load(piece: Piece, folder: Path = FOLDER) -> Face | str:
    """Return the decoded piece of a folder of families, or a sentence that says why there is none.

    Raises `part_unavailable` where the libraries that decode and shape are not installed.
    """
    data = _read(piece, folder)
    return data if isinstance(data, str) else _decode(data, piece)


def _read(piece: Piece, folder: Path) -> bytes | str:
    path = folder / piece.folder / piece.file
    try:
        with path.open("rb") as stream:
            data = stream.read(piece.size + 1)
    except OSError as error:
        return f"the font piece {piece.folder}/{piece.file} cannot be read: {error.strerror}"
    if hashlib.sha256(data).hexdigest() != piece.sha256:
        return f"the font piece {piece.folder}/{piece.file} is not the one that the manifest lists"
    return data


def _decode(data: bytes, piece: Piece) -> Face:
    shaper = require("uharfbuzz")
    decoded = io.BytesIO()
    require("fontTools.ttLib.woff2").decompress(io.BytesIO(data), decoded)
    face = shaper.Face(decoded.getvalue())
    font = shaper.Font(face)
    scale = face.upem * FINER
    font.scale = (scale, scale)
    owned = set(face.unicodes)
    glyphs = [font.get_glyph_h_advance(number) for number in range(face.glyph_count)]
    advance = {
        chr(code): glyphs[font.get_nominal_glyph(code)] / scale
        for codes in piece.ranges()
        for code in owned.intersection(codes)
    }
    return Face(font, scale, advance, glyphs, plain=not {"GPOS", "GSUB", "kern"} & set(face.table_tags))


@cache
def require(module: str) -> Any:
    """Return a library's module when it is first needed: only those who measure pay for it.

    Raises `part_unavailable` where it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise CountermarkError(
            "part_unavailable",
            f"Text cannot be measured: {error.name or module} is not installed.",
            next_action="Install countermark[scene].",
            details={"part": error.name or module},
        ) from error
