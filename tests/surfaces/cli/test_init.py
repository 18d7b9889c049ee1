"""Making a workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import program


@pytest.mark.promise("cli.init.default-grant")
def test_a_workspace_has_a_key_and_a_grant_for_reversible_writes_inside_it(tmp_path: Path) -> None:
    said = program("init", "mybrand", "--json", cwd=tmp_path)
    grant = said.data["grant"]
    assert (grant["id"], grant["effects"], grant["acceptance"]) == (
        "default",
        ["vector.write", "scene.write"],
        "checks",
    )
    assert grant["resources"] == ["file:", "scene:"]
    assert len(said.data["keyid"]) == 64
    assert said.data["folder"] == str(tmp_path / "mybrand")
    assert (tmp_path / "mybrand" / ".countermark" / "keys").stat().st_mode & 0o077 == 0
    shown = program("init", "other", cwd=tmp_path).out
    assert (
        "grant  default allows vector.write, scene.write on every file, every scene in it, accepted by checks" in shown
    )


def test_a_folder_with_files_in_it_becomes_a_workspace_and_keeps_them(tmp_path: Path) -> None:
    (tmp_path / "logo.svg").write_text("<svg/>")
    assert program("init", ".", "--name", "Marke", cwd=tmp_path).status == 0
    assert (tmp_path / "logo.svg").read_text() == "<svg/>"
    assert 'name = "Marke"' in (tmp_path / "countermark.toml").read_text()


def test_a_workspace_is_not_made_twice(tmp_path: Path) -> None:
    assert program("init", "w", cwd=tmp_path).status == 0
    before = (tmp_path / "w" / "countermark.toml").read_bytes()
    for more in ((), ("--dry-run",)):
        said = program("init", "w", *more, "--json", cwd=tmp_path)
        assert (said.status, said.error["code"]) == (5, "output_exists")
    assert (tmp_path / "w" / "countermark.toml").read_bytes() == before


def test_a_dry_run_makes_no_folder(tmp_path: Path) -> None:
    assert program("init", "w", "--dry-run", "--json", cwd=tmp_path).data == {
        "folder": str(tmp_path / "w"),
        "dry_run": True,
    }
    assert list(tmp_path.iterdir()) == []
