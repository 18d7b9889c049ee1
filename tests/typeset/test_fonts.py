"""The bundled font files: whole, listed and licensed; the npm package's own, but for the one that is under the GPL."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path

import pytest

from countermark.typeset import FAMILIES, LINE_HEIGHT, default_line_height
from countermark.typeset.fonts import BY_NAME, FOLDER, MANIFEST, Family
from countermark.typeset.pieces import Face, load, require
from tests.conftest import unavailable

BUNDLED = [family for family in BY_NAME.values() if family.bundled]
COMPLETE = {
    "OFL-1.1": ("SIL OPEN FONT LICENSE Version 1.1 - 26 February 2007", "PREAMBLE", "DEFINITIONS", "TERMINATION"),
    "MIT": ("MIT License", "Permission is hereby granted", 'THE SOFTWARE IS PROVIDED "AS IS"'),
}
REPLACED = "Liberation/LiberationSans-Regular.woff2"
"""The package has version 1.05 of it, under the GPL; here it is a later release, under the OFL."""
PACKED = 1 << 11
"""The bit of a font's head by which WOFF2 marks that the font was packed."""
RELEASED = [
    "head",
    "hhea",
    "maxp",
    "OS/2",
    "hmtx",
    "cmap",
    "fpgm",
    "prep",
    "cvt",
    "loca",
    "glyf",
    "kern",
    "name",
    "post",
    "gasp",
    "GDEF",
    "GSUB",
    "GPOS",
    "FFTM",
]
"""The order in which the released file has its tables; WOFF2 keeps none."""


@pytest.mark.parametrize("family", BUNDLED, ids=lambda family: family.name)
def test_a_bundled_piece_has_the_digest_of_the_manifest(family: Family) -> None:
    for piece in family.pieces:
        data = (FOLDER / piece.folder / piece.file).read_bytes()
        assert (hashlib.sha256(data).hexdigest(), len(data)) == (piece.sha256, piece.size)


def test_no_font_file_is_unlisted() -> None:
    listed = {f"{piece.folder}/{piece.file}" for family in BUNDLED for piece in family.pieces}
    assert {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.woff2")} == listed


def test_the_latin_pieces_stay_below_550_kilobytes() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*.woff2")) < 550_000


def test_every_piece_but_the_replaced_one_is_the_installed_npm_package_s(npm_fonts: Path) -> None:
    theirs = {
        f"{path.parent.name}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()
        for path in npm_fonts.glob("*/*.woff2")
    }
    listed = {f"{piece.folder}/{piece.file}": piece.sha256 for family in BY_NAME.values() for piece in family.pieces}
    assert listed.keys() == theirs.keys()
    assert {place for place, digest in theirs.items() if listed[place] != digest} == {REPLACED}


@pytest.mark.promise("typeset.fonts.licensed")
def test_no_font_is_under_the_gpl_by_its_own_name_table_or_its_licence_text() -> None:
    for family in BUNDLED:
        assert family.licence in COMPLETE
        assert family.folder is not None
        said = [path.read_text("utf-8") for path in (FOLDER / family.folder).glob("*.txt")]
        for piece in family.pieces:
            names = require("fontTools.ttLib").TTFont(FOLDER / piece.folder / piece.file)["name"]
            said += [names.getDebugName(number) or "" for number in (0, 7, 10, 13, 14)]
        assert not [text for text in said if "GNU" in text or "GPL" in text or "liberation.html" in text], family.name


def test_the_replaced_piece_unpacks_to_the_released_file_that_the_manifest_names() -> None:
    entries = {entry["name"]: entry for entry in json.loads(MANIFEST.read_bytes())["families"]}
    (piece,) = entries["Liberation Sans"]["pieces"]
    font = require("fontTools.ttLib").TTFont(FOLDER / REPLACED, recalcBBoxes=False, recalcTimestamp=False)
    font["head"].flags &= ~PACKED
    unpacked = io.BytesIO()
    writer = require("fontTools.ttLib.sfnt").SFNTWriter(unpacked, len(RELEASED), font.sfntVersion)
    for tag in RELEASED:
        writer[tag.ljust(4)] = font.getTableData(tag.ljust(4))
    writer.close()
    data = unpacked.getvalue()
    assert (hashlib.sha256(data).hexdigest(), len(data)) == (piece["source"]["sha256"], piece["source"]["bytes"])
    assert font["name"].getDebugName(5) == "Version 2.1.5"
    assert "SIL Open Font License" in font["name"].getDebugName(13)


def test_a_piece_that_is_not_the_npm_package_s_says_where_it_is_from() -> None:
    families = json.loads(MANIFEST.read_bytes())["families"]
    told = {f"{one['folder']}/{piece['file']}" for one in families for piece in one["pieces"] if "source" in piece}
    assert told == {REPLACED}


def test_the_manifest_names_the_version_of_the_installed_package(npm_fonts: Path) -> None:
    package = json.loads((npm_fonts.parents[2] / "package.json").read_bytes())
    manifest = json.loads(MANIFEST.read_bytes())
    assert (manifest["package"], manifest["version"]) == (package["name"], package["version"])


@pytest.mark.promise("typeset.fonts.licensed")
@pytest.mark.parametrize("family", [family for family in BY_NAME.values() if family.licence], ids=lambda one: one.name)
def test_a_family_has_its_whole_licence_and_the_font_s_own_copyright(family: Family) -> None:
    assert family.folder is not None
    assert family.licence is not None
    (licence,) = (FOLDER / family.folder).glob("*.txt")
    text = licence.read_text("utf-8")
    for part in COMPLETE[family.licence]:
        assert part in text
    if not family.bundled:
        assert "LXGW" in text
        return
    named = require("fontTools.ttLib").TTFont(FOLDER / family.folder / family.pieces[0].file)["name"].getDebugName(0)
    for line in named.splitlines():
        assert _plain(line) in _plain(text)


def _plain(text: str) -> str:
    return "".join(character for character in text if character.isalnum())


@pytest.mark.parametrize("family", BUNDLED, ids=lambda family: family.name)
def test_a_family_s_metrics_are_its_files(family: Family) -> None:
    for piece in family.pieces:
        font = require("fontTools.ttLib").TTFont(FOLDER / piece.folder / piece.file)
        found = (font["head"].unitsPerEm, font["hhea"].ascent, font["hhea"].descent)
        assert found == (family.units_per_em, family.ascender, family.descender)


def test_a_piece_gives_only_characters_of_its_range() -> None:
    for piece in FAMILIES[5].pieces:
        face = load(piece)
        assert isinstance(face, Face)
        assert face.advance
        assert all(any(ord(character) in codes for codes in piece.ranges()) for character in face.advance)


def test_line_heights_are_the_editor_s_and_an_unknown_family_gets_the_default_s() -> None:
    assert dict(LINE_HEIGHT) == {1: 1.25, 2: 1.15, 3: 1.2, 5: 1.25, 6: 1.35, 7: 1.15, 8: 1.25, 9: 1.15}
    assert default_line_height(6) == 1.35
    assert default_line_height(99) == 1.25


def test_the_ranges_of_the_installed_package_are_the_manifest_s(npm_fonts: Path) -> None:
    scripts = [path.read_text("utf-8") for path in (npm_fonts.parents[1] / "dev").glob("chunk-*.js")]
    text = next((one for one in scripts if "var wrapText =" in one), None)
    if text is None:
        unavailable("npm package @excalidraw/excalidraw", "its unminified part is not there")
    together = text.replace(" ", "")
    for family in BY_NAME.values():
        for piece in family.pieces:
            assert piece.unicode_range.replace(" ", "") in together, piece.file
