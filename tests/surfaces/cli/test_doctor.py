"""The doctor on the command line: five areas, and a next action for whatever is not well."""

from __future__ import annotations

from pathlib import Path

import pytest

from countermark.kernel.doctor import Area
from countermark.surfaces.cli.doctor import PARTS

from .conftest import Desk, program


@pytest.mark.promise("cli.doctor.next-action")
def test_every_line_that_is_not_ok_has_its_next_action(desk: Desk) -> None:
    desk.abandon()
    lines = desk.json("doctor").data["lines"]
    assert {one["area"] for one in lines} == {area.value for area in Area}
    assert all(bool(one["next"]) == (one["status"] != "ok") for one in lines)
    assert {part.name for part in PARTS} <= {one["name"] for one in lines}
    [tasks] = [one for one in lines if one["name"] == "tasks"]
    assert "its process is gone" in tasks["sentence"]
    assert tasks["next"] in desk("doctor").out


def test_what_stops_all_work_is_status_7_with_the_lines_in_its_details(desk: Desk) -> None:
    (desk.space_path / "countermark.toml").write_text("= broken")
    said = desk("doctor", "--json")
    assert (said.status, said.error["code"]) == (7, "part_unavailable")
    assert [one["name"] for one in said.error["details"]["lines"] if one["status"] == "missing"] == [
        "workspace",
        "workspace",
    ]
    assert "missing" in desk("doctor").out


def test_outside_a_workspace_the_installation_is_checked_alone(tmp_path: Path) -> None:
    said = program("doctor", "--json", cwd=tmp_path)
    [line] = [one for one in said.data["lines"] if one["name"] == "workspace"]
    assert (line["status"], line["next"]) == ("warn", "Make one: `countermark init DIR`.")
