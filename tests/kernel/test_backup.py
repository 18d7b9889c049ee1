"""Copies of the ledger go where nothing is, and come back only when they are sound."""

from __future__ import annotations

from pathlib import Path

import pytest

from countermark.kernel import backup
from countermark.kernel.errors import CountermarkError

from .conftest import Bench


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_a_backup_never_goes_into_what_is_there(bench: Bench, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "b"
    if kind == "folder":
        target.mkdir()
    elif kind == "file":
        target.touch()
    else:
        target.symlink_to("nowhere")
    with pytest.raises(CountermarkError) as caught:
        backup.backup(bench.space, target)
    assert caught.value.code == "output_exists"
    assert not (target / backup.LEDGER).exists()


def test_a_backup_is_a_whole_ledger_of_its_own(bench: Bench, tmp_path: Path) -> None:
    bench.perform()
    made = backup.backup(bench.space, tmp_path / "b")
    assert backup.examine(made / backup.LEDGER) == []
    assert sorted(path.name for path in made.iterdir()) == [backup.ASSETS, backup.LEDGER]
