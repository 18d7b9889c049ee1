"""A piece that is gone, or another file under its name, is said and never measured around."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.typeset.fonts import FAMILIES, FOLDER
from countermark.typeset.pieces import editor_fonts, lacking, load, require
from countermark.typeset.shape import Stack

LATIN = FAMILIES[5].pieces[0]


def test_a_missing_piece_is_a_reason() -> None:
    assert "cannot be read" in str(load(LATIN, Path("/nonexistent")))


def test_another_file_under_a_piece_s_name_is_not_measured_with(tmp_path: Path) -> None:
    place = tmp_path / LATIN.folder / LATIN.file
    place.parent.mkdir()
    data = bytearray((FOLDER / LATIN.folder / LATIN.file).read_bytes())
    data[-1] ^= 1
    place.write_bytes(data)
    assert "not the one that the manifest lists" in str(load(LATIN, tmp_path))


def test_a_text_whose_piece_is_gone_is_assumed_with_the_reason(tmp_path: Path) -> None:
    for piece in FAMILIES[5].pieces[1:]:
        (tmp_path / piece.folder).mkdir(exist_ok=True)
        shutil.copy(FOLDER / piece.folder / piece.file, tmp_path / piece.folder)
    faces = Stack(FAMILIES[5], None, tmp_path)
    assert not faces.line("\u043f").foreign
    found = faces.line("a\u043f")
    assert found.foreign == ("a",)
    assert LATIN.file in found.gone


@pytest.mark.parametrize("inside", ["fonts", "dist/fonts"])
def test_the_setting_names_the_folder_of_the_cjk_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    (tmp_path / inside).mkdir(parents=True)
    monkeypatch.setenv("COUNTERMARK_EDITOR", str(tmp_path))
    editor_fonts.cache_clear()
    try:
        assert editor_fonts() == tmp_path / inside
    finally:
        editor_fonts.cache_clear()


@pytest.mark.usefixtures("without_cjk")
def test_what_is_lacking_is_one_sentence_a_family() -> None:
    (said,) = lacking()
    assert "Xiaolai" in said


@pytest.mark.usefixtures("with_cjk")
def test_nothing_is_lacking_with_the_editor_s_pieces() -> None:
    assert lacking() == []


def test_without_the_shaper_the_next_step_is_named() -> None:
    with pytest.raises(CountermarkError) as refused:
        require("no_such_shaper")
    assert refused.value.code == "part_unavailable"
    assert "countermark[scene]" in refused.value.next_action
