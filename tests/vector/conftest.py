"""Workspaces of this domain, each made once for all tests; a test copies the one it needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from countermark.kernel.workspace import Workspace
from countermark.vector import tools
from countermark.vector.adapter import VectorAdapter
from tests.vector import studio


@pytest.fixture(scope="session")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with one imported document."""
    folder = tmp_path_factory.mktemp("imported") / "brand"
    with Workspace.create(folder, adapters=[VectorAdapter()]) as workspace:
        tools.import_svg(workspace, studio.MARK, "mark.svg", grant="default")
    return folder


@pytest.fixture(scope="session")
def exported(imported: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, after its kit was made."""
    folder = studio.copied(imported, tmp_path_factory.mktemp("exported") / "brand")
    with studio.opened(folder) as workspace:
        tools.export(workspace, grant="default")
    return folder


@pytest.fixture(scope="session")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a document that lost its text on import."""
    folder = tmp_path_factory.mktemp("lossy") / "brand"
    with Workspace.create(folder, adapters=[VectorAdapter()]) as workspace:
        tools.import_svg(workspace, studio.LOSSY, "mark.svg", grant="default")
    return folder
