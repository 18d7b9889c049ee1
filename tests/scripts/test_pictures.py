from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pictures

ROOT = Path(__file__).resolve().parents[2]


def test_the_picture_of_the_architecture_shows_the_packages_that_exist() -> None:
    kept = (ROOT / "docs" / "images" / "architecture.svg").read_text(encoding="utf-8")
    assert kept == pictures.architecture(), "run: python scripts/pictures.py"


def test_the_picture_of_the_architecture_names_the_file_of_each_law() -> None:
    drawn = ET.fromstring(pictures.architecture())
    words = [element.text for element in drawn.iter() if element.text]
    for law in ("grant", "fence", "once", "proof"):
        assert f"kernel/{law}.py" in words
        assert (ROOT / "src" / "countermark" / "kernel" / f"{law}.py").is_file()


def test_the_picture_of_the_readme_is_small_enough_to_load_at_once() -> None:
    picture = (ROOT / "docs" / "images" / "record.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) <= pictures.MOST_BYTES
