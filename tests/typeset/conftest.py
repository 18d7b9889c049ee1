"""The editor's npm package, for the tests that compare with it or need its CJK pieces."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from countermark.typeset.pieces import SETTING, editor_fonts
from tests.conftest import ROOT, unavailable


@pytest.fixture(scope="session")
def npm_fonts() -> Path:
    """Return the fonts of the installed npm package: COUNTERMARK_EXCALIDRAW, or where the page's build puts it."""
    named = os.environ.get("COUNTERMARK_EXCALIDRAW")
    package = Path(named) if named else ROOT / "editor" / "node_modules" / "@excalidraw" / "excalidraw"
    fonts = package / "dist" / "prod" / "fonts"
    if not fonts.is_dir():
        unavailable("npm package @excalidraw/excalidraw", f"{fonts} is not there; make editor installs it")
    return fonts


@pytest.fixture
def with_cjk(npm_fonts: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the measurer find the CJK pieces."""
    monkeypatch.setenv(SETTING, str(npm_fonts.parent))
    editor_fonts.cache_clear()
    yield
    editor_fonts.cache_clear()


@pytest.fixture
def without_cjk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the measurer look for them where there are none."""
    monkeypatch.setenv(SETTING, str(tmp_path))
    editor_fonts.cache_clear()
    yield
    editor_fonts.cache_clear()
