"""The ledger's own care: a copy that is sound, and a ledger that is put back and reconciled with what is there."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from countermark.kernel import backup, schema, task
from countermark.kernel.backup import ASSETS, LEDGER
from countermark.kernel.errors import CountermarkError
from countermark.kernel.state import State
from countermark.kernel.workspace import Workspace
from countermark.testkit.adapter import ScriptedAdapter, World
from countermark.testkit.crash import Step, Trial
from tests.crash.conftest import make_fast_folder, make_template, make_trial, make_victims, make_witness  # noqa: F401

from .conftest import Bench


def home(bench: Bench) -> Path:
    return bench.space.path / ".countermark"


def reopen(bench: Bench) -> None:
    bench.space = Workspace(bench.folder / "space", adapters=[bench.adapter])


def restored(bench: Bench, source: Path) -> Path:
    bench.space.close()
    kept = backup.restore(bench.folder / "space", source)
    reopen(bench)
    return kept


@pytest.fixture
def copy(bench: Bench) -> Path:
    """One effect, and a backup after it."""
    bench.perform("test.direct", "world:a", key="before")
    return backup.backup(bench.space, bench.folder / "backup")


def test_a_backup_is_a_sound_ledger_and_the_list_of_the_bytes_it_relies_on(bench: Bench) -> None:
    bench.perform(key="k")
    made = backup.backup(bench.space, bench.folder / "backup")
    assert backup.examine(made / LEDGER) == []
    assets = (made / ASSETS).read_text()
    assert all(digest in assets for digest in bench.space.store.digests())


def test_a_backup_is_taken_beside_writers(bench: Bench, copy: Path) -> None:
    assert bench.perform("test.direct", "world:a", key="after").state is State.COMPLETED
    with sqlite3.connect(copy / LEDGER) as connection:
        assert connection.execute("SELECT COUNT(*) FROM tasks").fetchone() == (1,)


def test_a_folder_that_is_there_is_not_overwritten(bench: Bench) -> None:
    (bench.folder / "backup").mkdir()
    (bench.folder / "backup/mine").write_text("x")
    with pytest.raises(CountermarkError, match="output_exists"):
        backup.backup(bench.space, bench.folder / "backup")
    assert [path.name for path in (bench.folder / "backup").iterdir()] == ["mine"]


@pytest.mark.promise("kernel.ledger.restore-reconciles")
def test_the_replaced_ledger_is_kept_with_everything_it_knew(bench: Bench, copy: Path) -> None:
    bench.perform("test.direct", "world:a", key="after")
    kept = restored(bench, copy)
    assert backup.examine(kept) == []
    with sqlite3.connect(kept) as connection:
        assert connection.execute("SELECT COUNT(*) FROM tasks").fetchone() == (2,)
    assert len(bench.space.ledger.read(lambda tx: task.load_recent(tx, 9))) == 1


def test_what_a_restored_ledger_does_not_know_is_found_by_looking(bench: Bench, copy: Path) -> None:
    """The world is at the later revision: a plan made on what the ledger remembers is refused."""
    old = bench.world.revision("world:a")
    bench.perform("test.direct", "world:a", key="after")
    restored(bench, copy)
    with pytest.raises(CountermarkError, match="revision_conflict"):
        bench.perform("test.direct", "world:a", key="new", revision=old)


@pytest.mark.promise("kernel.ledger.restore-reconciles")
def test_unfinished_tasks_of_a_restored_ledger_are_reconciled_with_what_is_there(trial: Trial) -> None:
    """The copy remembers the attempt as under way; meanwhile it was done. It is not done again."""
    step = Step("perform", "k", "test.direct", "world:a")
    trial.run(steps=(step,), script={"k": ["lose"]}, breaks={"reconcile": "refuse"})
    adapter = ScriptedAdapter(World(trial.folder / "world"))
    with Workspace(trial.space, adapters=[adapter]) as space:
        source = backup.backup(space, trial.folder / "backup")
        assert space.settle_all() == []
    backup.restore(trial.space, source)
    with Workspace(trial.space, adapters=[adapter]) as space:
        [unfinished] = space.ledger.read(task.load_open)
        assert unfinished.state is State.RECONCILING
        assert space.settle_all() == []
        assert space.ledger.read(lambda tx: task.load(tx, unfinished.id)).state is State.COMPLETED
    assert adapter.world.lines("world:a") == ["k"]


def test_an_open_workspace_is_not_restored(bench: Bench, copy: Path) -> None:
    with pytest.raises(CountermarkError, match="resource_busy"):
        backup.restore(bench.folder / "space", copy)
    assert bench.perform("test.direct", "world:a", key="after").state is State.COMPLETED


def test_a_newer_backup_is_refused_before_anything_moves(bench: Bench, copy: Path) -> None:
    with sqlite3.connect(copy / LEDGER) as connection:
        connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    bench.space.close()
    before = (home(bench) / LEDGER).read_bytes()
    with pytest.raises(CountermarkError, match="workspace_newer"):
        backup.restore(bench.folder / "space", copy)
    assert (home(bench) / LEDGER).read_bytes() == before
    reopen(bench)


@pytest.mark.parametrize("damage", ["event", "sum", "page", "empty", "gone"])
def test_a_damaged_backup_is_refused_before_anything_moves(bench: Bench, copy: Path, damage: str) -> None:
    place = copy / LEDGER
    if damage == "gone":
        place.unlink()
    elif damage == "empty":
        place.write_bytes(b"")
    elif damage == "page":
        content = bytearray(place.read_bytes())
        content[5000:9000] = bytes(4000)
        place.write_bytes(content)
    else:
        with sqlite3.connect(place) as connection:
            if damage == "event":
                connection.execute("DROP TRIGGER events_are_final")
                connection.execute("UPDATE events SET body = '{}' WHERE seq = 2")
            else:
                connection.execute("UPDATE grants SET spent = '{}'")
    bench.space.close()
    before = (home(bench) / LEDGER).read_bytes()
    with pytest.raises(CountermarkError) as caught:
        backup.restore(bench.folder / "space", copy)
    assert caught.value.code in ("ledger_broken", "not_found")
    assert (home(bench) / LEDGER).read_bytes() == before
    reopen(bench)


def test_the_log_of_a_killed_process_goes_with_the_ledger_it_belongs_to(bench: Bench, copy: Path) -> None:
    """A last commit that stands only in the write-ahead log is in the kept ledger, and not in the restored one."""
    bench.perform("test.direct", "world:a", key="after")
    killed = bench.folder / "killed"
    shutil.copytree(bench.folder / "space", killed)  # as the disk is while the process has it open
    shutil.rmtree(killed / ".countermark/locks")
    (killed / ".countermark/locks").mkdir()
    assert (killed / f".countermark/{LEDGER}-wal").stat().st_size > 0
    kept = backup.restore(killed, copy)
    with sqlite3.connect(kept) as connection:
        assert connection.execute("SELECT COUNT(*) FROM tasks").fetchone() == (2,)
    with sqlite3.connect(killed / ".countermark" / LEDGER) as connection:
        assert connection.execute("SELECT COUNT(*) FROM tasks").fetchone() == (1,)


def test_a_ledger_is_replaced_even_when_it_is_damaged_itself(bench: Bench, copy: Path) -> None:
    bench.space.close()
    (home(bench) / LEDGER).write_bytes(b"no ledger at all, but something to look at")
    kept = backup.restore(bench.folder / "space", copy)
    reopen(bench)
    assert kept.read_bytes() == b"no ledger at all, but something to look at"
    assert bench.perform("test.direct", "world:a", key="before").repeated


def test_check_names_an_artefact_that_is_gone(bench: Bench) -> None:
    bench.perform(key="k")
    [digest] = [d for d in bench.space.store.digests() if bench.space.store.get(d, cap=1 << 20) == b"hello"]
    (home(bench) / "store" / digest[:2] / digest[2:]).unlink()
    assert [fault.place for fault in backup.check(bench.space)] == [f"store/{digest[:12]}"]
