"""Which workspace a command works on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.surfaces.cli import opening
from countermark.surfaces.cli.program import run

from .conftest import Desk


def test_the_nearest_workspace_upward_is_meant(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = desk.space_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert opening.find(None) == desk.space_path


def test_a_named_folder_comes_before_the_environment_and_that_before_the_current_one(
    desk: Desk, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    assert run(["init", str(other)]) == 0
    named = desk("grant", "list", "--json", "--workspace", str(other), env={"COUNTERMARK_WORKSPACE": "/nowhere"})
    assert [one["id"] for one in named.data["grants"]] == ["default"]
    by_environment = desk("grant", "list", "--json", env={"COUNTERMARK_WORKSPACE": str(other)})
    assert len(by_environment.data["grants"]) == 1
    assert len(desk("grant", "list", "--json").data["grants"]) == 3


@pytest.mark.parametrize("verb", [("task", "list"), ("ledger", "check")], ids=" ".join)
@pytest.mark.parametrize("place", ["nowhere", "file", "world"])
def test_a_named_folder_that_is_no_workspace_is_not_searched_upward(
    desk: Desk, place: str, verb: tuple[str, str]
) -> None:
    (desk.space_path / "file").write_text("")
    shutil.copytree(desk.outside / "world", desk.space_path / "world")
    said = desk(*verb, "--json", "--workspace", place)
    assert (said.status, said.error["code"]) == (3, "workspace_missing")


def test_outside_any_workspace_the_next_step_is_to_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COUNTERMARK_WORKSPACE", raising=False)
    monkeypatch.chdir(tmp_path)
    assert run(["task", "list"]) == 3
    assert "countermark init DIR" in capsys.readouterr().err


def test_a_flag_counts_before_and_after_the_command(desk: Desk) -> None:
    assert (
        desk("--json", "task", "list").data
        == desk("task", "--json", "list").data
        == desk("task", "list", "--json").data
    )


def test_a_part_that_is_not_installed_is_named_and_a_fault_of_our_own_is_not_taken_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "needs_other.py").write_text("import no_such_package")
    (tmp_path / "needs_ours.py").write_text("from countermark.kernel.errors import no_such_name")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(CountermarkError, match="needs no_such_package, which is not installed"):
        opening.module("needs_other")
    with pytest.raises(ImportError, match="no_such_name"):
        opening.module("needs_ours")
    monkeypatch.setattr(opening, "DOMAINS", {"other": "needs_other:Adapter"})
    assert opening.installed() == []
    monkeypatch.setattr(opening, "DOMAINS", {"ours": "countermark.no_such_module:Adapter"})
    with pytest.raises(ImportError):
        opening.installed()
