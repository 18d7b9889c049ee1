"""The adapter contract, run for the vector domain: a recolouring in every case, an import where the work is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from countermark.kernel.plan import Plan
from countermark.kernel.workspace import Workspace
from countermark.testkit.contract import FAULTS, AdapterContract
from countermark.vector import document as native
from countermark.vector.adapter import VectorAdapter
from countermark.vector.proposal import propose_bind, propose_import
from tests.vector import studio
from tests.vector.drawings import BLUE, drawing, fill, path, solid, square

PLAN = "plan.json"


class TestRecolouring(AdapterContract):
    """A colour is bound to a swatch, in this process."""

    def adapter(self, world: Path) -> VectorAdapter:
        return VectorAdapter()

    def setup_method(self) -> None:
        super().setup_method()
        (self.folder / "space" / studio.MARK_NAME).write_bytes(
            native.dump(drawing(path(2, square(0, 0, 60, 60), fill(solid(BLUE)))))
        )
        with Workspace(self.folder / "space", adapters=[VectorAdapter()]) as space:
            (self.folder / PLAN).write_bytes(propose_bind(space, "primary", "#0000ff").plan.text())

    def plan(self, workspace: Workspace) -> Plan:
        return Plan.read((self.folder / PLAN).read_text("utf-8"))

    def count(self, folder: Path, key: str) -> int:
        return int(b'"primary"' in (folder / "space" / studio.MARK_NAME).read_bytes())


class TestImport(AdapterContract):
    """An engine in a child makes the document; a fault costs seconds here, so it strikes where the work is done."""

    def pytest_generate_tests(self, metafunc: Any) -> None:
        if {"operation", "fault"} <= set(metafunc.fixturenames):
            metafunc.parametrize(("operation", "fault"), [("submit", fault) for fault in FAULTS])

    def adapter(self, world: Path) -> VectorAdapter:
        return VectorAdapter()

    def plan(self, workspace: Workspace) -> Plan:
        return propose_import(workspace, studio.MARK, "mark.svg").plan

    def count(self, folder: Path, key: str) -> int:
        return int((folder / "space" / studio.MARK_NAME).exists())
