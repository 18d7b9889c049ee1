"""Evidence as files: complete in every ending, rendered from the ledger, and again to the same bytes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from countermark.kernel import projection, review, task, verification
from countermark.kernel.canon import revision_of
from countermark.kernel.errors import CountermarkError
from countermark.kernel.projection import FILES
from countermark.kernel.workspace import Workspace

from .conftest import Bench


@pytest.fixture
def ended(bench: Bench) -> list[str]:
    """Have a task end in each way, and return the tasks."""
    tasks = [bench.perform(key="completed", resource="file:kit", payload={"text": "x", "folder": True}).task]
    tasks.append(bench.perform("test.direct", "world:a", key="direct").task)
    bench.adapter.script["failed"] = ["fail"]
    for key, payload in (("failed", {"text": "x"}), ("unavailable", {"text": "x", "verdict": "unavailable"})):
        with pytest.raises(CountermarkError):
            bench.perform(key=key, payload=payload)
        tasks.append(bench.space.ledger.read(lambda tx: task.load_recent(tx, 1))[0].id)
    bench.grant("careful", acceptance="person")
    rejected = bench.perform(key="rejected", grant="careful").task
    review.reject(bench.space, rejected, "not so")
    return [*tasks, rejected]


def runs(bench: Bench) -> Path:
    return bench.folder / "space/.countermark/runs"


def kept(bench: Bench) -> dict[str, bytes]:
    return {str(path.relative_to(runs(bench))): path.read_bytes() for path in runs(bench).rglob("*") if path.is_file()}


def reopen(bench: Bench) -> None:
    bench.space.close()
    bench.space = Workspace(bench.folder / "space", adapters=[bench.adapter])


@pytest.mark.promise("kernel.proof.evidence-in-every-ending")
def test_every_ending_has_all_its_files(bench: Bench, ended: list[str]) -> None:
    while projection.sweep(bench.space):
        pass
    assert set(kept(bench)) == {f"{one}/{name}" for one in ended for name in FILES}


@pytest.mark.promise("kernel.proof.evidence-in-every-ending")
def test_what_is_rendered_again_is_byte_equal(bench: Bench, ended: list[str]) -> None:
    reopen(bench)
    first = kept(bench)
    shutil.rmtree(runs(bench))
    for one in ended:
        projection.write(bench.space, one)
    assert kept(bench) == first


def test_a_damaged_file_is_rendered_anew_and_sound_ones_are_left_alone(bench: Bench, ended: list[str]) -> None:
    reopen(bench)
    first = kept(bench)
    (runs(bench) / ended[0] / "summary.json").write_text("{}")
    untouched = (runs(bench) / ended[0] / "trace.jsonl").stat().st_ino
    projection.write(bench.space, ended[0])
    assert kept(bench) == first
    assert (runs(bench) / ended[0] / "trace.jsonl").stat().st_ino == untouched


def test_the_manifest_names_the_other_files_with_their_digests(bench: Bench, ended: list[str]) -> None:
    reopen(bench)
    for one in ended:
        folder = runs(bench) / one
        manifest = json.loads((folder / "manifest.json").read_bytes())
        assert manifest["files"] == {
            name: revision_of((folder / name).read_bytes()) for name in FILES if name != "manifest.json"
        }


def test_every_receipt_is_signed_by_this_workspace(bench: Bench, ended: list[str]) -> None:
    reopen(bench)
    for one in ended:
        seen = verification.verify(runs(bench) / one / "receipt.json", bench.space.keys.trusted())
        assert seen.signer is not None
        assert seen.receipt.facts.task_id == one


def test_a_published_folder_has_the_same_receipt_beside_its_files(bench: Bench, ended: list[str]) -> None:
    kit = bench.folder / "space/kit"
    assert (kit / "receipt.json").read_bytes() == bench.space.receipts.render(ended[0])
    (kit / "receipt.json").unlink()
    bench.space.ledger.apply(lambda tx: tx.run("UPDATE tasks SET swept = 0"))
    projection.sweep(bench.space)
    assert verification.verify(kit, bench.space.keys.trusted()).files == ("a.txt", "sub/b.txt")


def test_the_trace_follows_what_happens_after_the_end_and_the_receipt_does_not(bench: Bench, ended: list[str]) -> None:
    reopen(bench)
    first = kept(bench)
    (bench.folder / "space/kit/a.txt").unlink()
    bench.perform(key="completed", resource="file:kit", payload={"text": "x", "folder": True})
    reopen(bench)
    changed = {name for name, data in kept(bench).items() if data != first[name]}
    assert changed == {f"{ended[0]}/trace.jsonl", f"{ended[0]}/manifest.json"}


def test_a_task_with_a_long_history_is_told_to_its_end(bench: Bench) -> None:
    """Looking again and again at an unknown outcome leaves an event each time."""
    bench.grant("careful", acceptance="person")
    waits = bench.perform(grant="careful").task
    bench.space.ledger.apply(lambda tx: [tx.event(waits, "looked", {}) for _ in range(1200)])
    review.reject(bench.space, waits, "not so")
    lines = projection.render(bench.space, waits)["trace.jsonl"].splitlines()
    assert len(lines) > 1200
    assert json.loads(lines[-1])["kind"] == "failed"


def test_what_has_not_ended_is_not_rendered(bench: Bench) -> None:
    bench.grant("careful", acceptance="person")
    waits = bench.perform(grant="careful").task
    assert projection.sweep(bench.space) == 0
    with pytest.raises(CountermarkError, match="illegal_state"):
        projection.write(bench.space, waits)


def test_one_task_that_cannot_be_rendered_keeps_no_other_from_it(bench: Bench, ended: list[str]) -> None:
    (runs(bench) / ended[0]).write_text("a file where the folder goes")
    assert projection.sweep(bench.space) == len(ended) - 1
    with pytest.raises(CountermarkError):
        projection.sweep(bench.space)
    (runs(bench) / ended[0]).unlink()
    assert projection.sweep(bench.space) == 1


class TestRotation:
    @pytest.mark.promise("kernel.key.rotate")
    def test_a_rotated_key_stays_until_its_receipts_are_rendered(self, bench: Bench) -> None:
        done = bench.perform(key="before")
        old = bench.space.keys.current_id()
        bench.space.keys.rotate()
        envelope = done.receipt()
        assert {key.keyid: key.state for key in bench.space.keys.own()}[old] == "retired"
        projection.sweep(bench.space)
        assert {key.keyid: key.state for key in bench.space.keys.own()}[old] == "public half only"
        assert bench.space.receipts.render(done.task) == envelope, "from what is kept, now that the key is gone"

    def test_a_task_under_way_keeps_the_old_key_from_being_dropped(self, bench: Bench) -> None:
        bench.grant("careful", acceptance="person")
        bench.perform(grant="careful")
        old = bench.space.keys.current_id()
        bench.space.keys.rotate()
        projection.sweep(bench.space)
        assert {key.keyid: key.state for key in bench.space.keys.own()}[old] == "retired"

    def test_receipts_of_either_key_are_verified(self, bench: Bench) -> None:
        first = bench.perform(key="before").task
        bench.space.keys.rotate()
        second = bench.perform("test.direct", "world:a", key="after").task
        reopen(bench)
        signers = {
            verification.verify(runs(bench) / one / "receipt.json", bench.space.keys.trusted()).signer
            for one in (first, second)
        }
        assert None not in signers
