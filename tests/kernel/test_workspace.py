"""A workspace as a whole: made whole or not at all, opened by many, small on the disk, and honest on a full one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from countermark.kernel import backup, grant, receipt, task
from countermark.kernel.adapter import Context, Intent, Outcome
from countermark.kernel.errors import CountermarkError
from countermark.kernel.plan import Plan
from countermark.kernel.state import State
from countermark.kernel.workspace import RESERVE, Workspace
from countermark.testkit.adapter import ScriptedAdapter, World
from tests.conftest import unavailable

from .conftest import Bench


def locks(bench: Bench) -> set[str]:
    return {path.name for path in (bench.space.path / ".countermark/locks").iterdir()}


class TestMaking:
    def test_a_second_init_is_refused_and_changes_nothing(self, bench: Bench) -> None:
        with pytest.raises(CountermarkError, match="output_exists"):
            Workspace.create(bench.space.path)
        assert bench.perform().state is State.COMPLETED

    def test_a_folder_with_other_files_becomes_a_workspace_and_keeps_them(self, tmp_path: Path) -> None:
        (tmp_path / "logo.svg").write_text("<svg/>")
        with Workspace.create(tmp_path) as made:
            assert made.ledger.read(lambda tx: grant.load(tx, "default")).terms.acceptance == "checks"
        assert (tmp_path / "logo.svg").read_text() == "<svg/>"

    def test_a_folder_whose_name_is_no_text_becomes_a_workspace_like_any_other(self, tmp_path: Path) -> None:
        try:
            (tmp_path / "\udcff").mkdir()
        except OSError as error:
            unavailable("a disk whose names are bytes", str(error))
        with Workspace.create(tmp_path / "\udcff") as made:
            assert made.id
        with Workspace(tmp_path / "\udcff") as again:
            assert again.id == made.id

    def test_a_folder_that_is_no_workspace_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(CountermarkError, match="workspace_missing"):
            Workspace(tmp_path)

    def test_a_workspace_without_its_ledger_is_refused_not_begun_anew(self, bench: Bench) -> None:
        """An empty ledger would know no key, and everything could happen twice."""
        copy = backup.backup(bench.space, bench.folder / "backup")
        bench.space.close()
        (bench.space.path / ".countermark/ledger.sqlite").unlink()
        with pytest.raises(CountermarkError, match="ledger_broken"):
            Workspace(bench.space.path)
        backup.restore(bench.space.path, copy)
        bench.space = Workspace(bench.space.path, adapters=[bench.adapter])
        assert bench.perform().state is State.COMPLETED

    @pytest.mark.parametrize("part", ["ledger.sqlite", "keys", "store", "locks"])
    def test_a_part_that_is_gone_is_named(self, bench: Bench, part: str) -> None:
        bench.space.close()
        (bench.space.path / ".countermark" / part).rename(bench.folder / "aside")
        with pytest.raises(CountermarkError, match=rf"\.countermark/{part} is missing") as caught:
            Workspace(bench.space.path)
        assert caught.value.code == "ledger_broken"
        (bench.folder / "aside").rename(bench.space.path / ".countermark" / part)
        bench.space = Workspace(bench.space.path, adapters=[bench.adapter])

    def test_what_cannot_be_opened_leaves_nothing_open(self, bench: Bench) -> None:
        bench.space.close()
        (bench.space.path / ".countermark/ledger.sqlite").rename(bench.folder / "aside")
        with pytest.raises(CountermarkError):
            Workspace(bench.space.path)
        (bench.folder / "aside").rename(bench.space.path / ".countermark/ledger.sqlite")
        bench.space = Workspace(bench.space.path, adapters=[bench.adapter])
        assert len({name for name in locks(bench) if name.startswith("r-") and name.endswith(".live")}) == 1

    def test_what_is_closed_leaves_no_descriptor(self, bench: Bench) -> None:
        bench.perform()
        Workspace(bench.space.path, adapters=[bench.adapter]).close()  # SQLite keeps one until all its users are closed
        before = len(os.listdir("/dev/fd"))  # noqa: PTH208 - /dev/fd is no folder of files
        for _ in range(3):
            Workspace(bench.space.path, adapters=[bench.adapter]).close()
        assert len(os.listdir("/dev/fd")) == before  # noqa: PTH208


class TestRunners:
    def test_a_runner_that_has_closed_leaves_no_file(self, bench: Bench) -> None:
        for _ in range(3):
            Workspace(bench.space.path, adapters=[bench.adapter]).close()
        assert len({name for name in locks(bench) if name.startswith("r-")}) == 2, "one lock and its queue: this one's"

    def test_a_runner_that_an_unfinished_task_names_keeps_its_file(self, bench: Bench) -> None:
        bench.adapter.script["k"] = ["nothing"]
        bench.adapter.breaks["reconcile"] = "refuse"
        with pytest.raises(CountermarkError, match="outcome_unknown"):
            bench.perform("test.direct", "world:a", key="k")
        [left] = bench.space.ledger.read(task.load_open)
        bench.space.close()
        bench.space = Workspace(bench.space.path, adapters=[bench.adapter])
        assert f"{left.runner.split('|')[0]}.live" in locks(bench)

    def test_a_living_runner_keeps_its_file_when_another_closes(self, bench: Bench) -> None:
        Workspace(bench.space.path, adapters=[bench.adapter]).close()
        assert f"{bench.space.runner_text.split('|')[0]}.live" in locks(bench)


class TestFullDisk:
    """A real disk of sixteen MiB."""

    @pytest.fixture
    def small(self, tmp_path: Path) -> Iterator[Path]:
        disk = tmp_path / "small"
        disk.mkdir()
        argv = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(disk)]
        mounted = subprocess.run(argv, check=False, capture_output=True, text=True)
        if mounted.returncode != 0:
            unavailable("mounting a tmpfs", mounted.stderr.strip() or "refused")
        yield disk
        subprocess.run(["umount", "--lazy", disk], check=True)

    def opened(self, disk: Path, world: Path) -> tuple[Workspace, ScriptedAdapter]:
        adapter = ScriptedAdapter(World(world))
        space = Workspace.create(disk / "space", adapters=[adapter], settings={"min_free_mib": 0})
        terms = grant.Terms(("test",), ("",))
        space.ledger.apply(lambda tx: grant.issue(tx, grant.Grant("test", None, (), "t", "t", terms, tx.now)))
        return space, adapter

    @pytest.mark.promise("kernel.disk.full-is-recorded")
    def test_an_effect_that_fills_the_disk_ends_with_a_receipt(self, small: Path, tmp_path: Path) -> None:
        space, adapter = self.opened(small, tmp_path)
        junk = small / "space/junk"

        def fill(intent: Intent, context: Context) -> Outcome:
            with junk.open("ab", buffering=0) as file:
                while file.write(bytes(1 << 16)):
                    pass
            return Outcome()

        adapter.submit = fill  # type: ignore[method-assign]
        plan = Plan("scripted", "test.staged", "write", ("file:doc.txt",), {"text": "new"})
        with space:
            with pytest.raises(CountermarkError) as caught:
                space.perform(plan, grant="test", revision="absent", key="k")
            assert caught.value.code in ("task_failed", "disk_full")
            [ended] = space.ledger.read(lambda tx: task.load_recent(tx, 1))
            assert ended.state is State.FAILED
        runs = small / "space/.countermark/runs" / ended.id
        assert receipt.parse((runs / "receipt.json").read_bytes()).facts.state is State.FAILED
        assert backup.examine(small / "space/.countermark/ledger.sqlite") == []
        assert not (small / "space" / RESERVE).exists()
        junk.unlink()
        again = Workspace(small / "space", adapters=[ScriptedAdapter(World(tmp_path))], settings={"min_free_mib": 0})
        with again:
            assert again.perform(plan, grant="test", revision="absent", key="k2").state is State.COMPLETED
            assert (small / "space" / RESERVE).exists(), "there is a reserve again"

    def test_an_effect_that_has_no_room_does_not_start(self, small: Path, tmp_path: Path) -> None:
        space, _ = self.opened(small, tmp_path)
        with space, pytest.raises(CountermarkError, match="disk_full"):
            space.check_space(32 << 20)
