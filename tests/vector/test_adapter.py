"""The adapter with real engine children: replies that are lost, engines that lie, and what stands afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from countermark.kernel import grant, task
from countermark.kernel.adapter import Context, Intent, Outcome
from countermark.kernel.clock import SystemClock
from countermark.kernel.plan import Plan
from countermark.kernel.workspace import Workspace
from countermark.vector import document as native
from countermark.vector import operation, tools
from countermark.vector.adapter import VectorAdapter
from countermark.vector.holding import Open
from tests.vector import studio
from tests.vector.drawings import RED, drawing, fill, path, solid, square
from tests.vector.studio import MARK_NAME, Understudy, copied, opened, refusal, shown_files

TEXT = {"id": 5, "appearance": {"items": []}, "kind": {"type": "text", "runs": []}}


def attempts(workspace: Workspace, task_id: str) -> int:
    return workspace.ledger.read(lambda tx: task.attempts(tx, task_id))


def only_task(workspace: Workspace) -> str:
    row = workspace.ledger.read(lambda tx: tx.one("SELECT id FROM tasks ORDER BY rowid DESC LIMIT 1"))
    assert row is not None
    return str(row[0])


@pytest.fixture
def brand(imported: Path, tmp_path: Path) -> Path:
    return copied(imported, tmp_path / "brand")


# A reply that is lost.


@pytest.mark.promise("vector.engine.lost-reply")
def test_an_import_whose_reply_is_lost_is_found_in_its_stage_and_not_made_again(brand: Path) -> None:
    understudy = Understudy("silent:3")  # describe, import, then the pictures for the check
    with opened(brand, runner=understudy) as workspace:
        done, facts = tools.import_svg(workspace, studio.LOSSY, "word.svg", grant="default")
        assert (done.state, understudy.started, attempts(workspace, done.task)) == ("completed", 1, 1)
        assert [row["name"] for row in facts["losses"]] == ["text:word"]
        assert studio.verdicts(workspace, done)["original"] == {"passed"}


def test_an_engine_killed_between_two_files_leaves_nothing_and_the_work_is_done_once_more(brand: Path) -> None:
    understudy = Understudy("dies:2", times=1)  # the document stands, the pictures for its check do not
    with opened(brand, runner=understudy) as workspace:
        done, _ = tools.import_svg(workspace, studio.LOSSY, "word.svg", grant="default")
        assert (done.state, understudy.started, attempts(workspace, done.task)) == ("completed", 2, 2)
        spent = workspace.ledger.read(lambda tx: grant.load_chain(tx, "default")[0].spent)
        assert spent["attempts"] == 3  # this one's two and the one before
    assert not list((brand / ".countermark/stage").iterdir())


def test_an_engine_that_is_killed_every_time_ends_the_task_and_frees_the_document(brand: Path) -> None:
    before = shown_files(brand)
    with opened(brand, runner=Understudy("dies:1")) as workspace:
        error = refusal(lambda: tools.import_svg(workspace, studio.LOSSY, "word.svg", grant="default"))
        assert (error.code, error.details["executed"]) == ("task_failed", "no")
        assert "tried 3 times" in error.sentence
        assert studio.open_tasks(workspace) == []
    assert shown_files(brand) == before


class Jumping(SystemClock):
    """A clock on which the time is up as soon as an engine hangs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def monotonic(self) -> float:
        hangs = any(self._folder.glob(".countermark/stage/*/*/hanging"))
        return super().monotonic() + 1_000_000 * hangs


def test_an_engine_that_hangs_is_stopped_when_its_time_is_up_and_not_started_again(brand: Path) -> None:
    understudy = Understudy("hang")
    before = shown_files(brand)
    with opened(brand, runner=understudy, clock=Jumping(brand)) as workspace:
        error = refusal(lambda: tools.import_svg(workspace, studio.LOSSY, "word.svg", grant="default"))
        assert (error.code, error.details["executed"], understudy.started) == ("deadline_exceeded", "no", 1)
        assert studio.open_tasks(workspace) == []
        assert not workspace.children_alive(error.details["task"])
    assert shown_files(brand) == before


class Lossy(VectorAdapter):
    """Does the work and loses its own answer, as a process that dies between the two does."""

    def submit(self, intent: Intent, context: Context) -> Outcome:
        super().submit(intent, context)
        return Outcome.unknown("The reply was lost.")


def test_a_recolouring_whose_answer_is_lost_still_says_what_it_changed(brand: Path) -> None:
    with opened(brand, adapters=[Lossy()]) as workspace:
        done, facts = tools.bind(workspace, "primary", studio.BLUE, grant="default")
        assert (done.state, attempts(workspace, done.task)) == ("completed", 1)
        assert [use["name"] for use in facts["report"]["changed"]] == ["plate", "bead"]


class Forging(Lossy):
    """Leaves another document in the stage than the plan makes."""

    forged = False

    def submit(self, intent: Intent, context: Context) -> Outcome:
        found = super().submit(intent, context)
        if not self.forged:
            self.forged = True
            staged = context.stage / MARK_NAME
            staged.write_bytes(staged.read_bytes().replace(b'"plate"', b'"other"'))
        return found


def test_a_stage_that_holds_another_document_is_not_taken_for_the_work(brand: Path) -> None:
    with opened(brand, adapters=[Forging()]) as workspace:
        done, _ = tools.bind(workspace, "primary", studio.BLUE, grant="default")
        assert attempts(workspace, done.task) == 2
    assert b'"other"' not in (brand / MARK_NAME).read_bytes()


class Rotting(Lossy):
    """Loses its answer, and the store rots meanwhile."""

    def submit(self, intent: Intent, context: Context) -> Outcome:
        found = super().submit(intent, context)
        ref = operation.input_of(intent.plan, operation.DOCUMENT)
        blob = context.workspace / ".countermark/store" / ref.digest[:2] / ref.digest[2:]
        if blob.exists():
            blob.chmod(0o644)
            blob.write_bytes(b"rotten")
        return found


def test_a_store_that_rots_meanwhile_ends_the_task_and_frees_the_document(brand: Path) -> None:
    before = shown_files(brand)
    with opened(brand, adapters=[Rotting()]) as workspace:
        error = refusal(lambda: tools.bind(workspace, "primary", studio.BLUE, grant="default"))
        assert (error.code, error.details["executed"]) == ("not_found", "no")
        assert studio.open_tasks(workspace) == []
    assert shown_files(brand) == before


# What no board shows.


@pytest.fixture
def undrawn(tmp_path: Path) -> Path:
    """A workspace whose document, made in an editor, holds text, which nobody here draws."""
    folder = tmp_path / "brand"
    document = drawing(path(2, square(0, 0, 60, 60), fill(solid(RED))), TEXT)
    with Workspace.create(folder):
        (folder / "poster.vectorcraft").write_bytes(native.dump(document))
    return folder


@pytest.mark.promise("vector.kit.undrawn-named")
def test_what_a_kit_cannot_show_fails_it_by_name_also_when_the_engine_is_silent_about_it(undrawn: Path) -> None:
    with opened(undrawn, runner=Understudy("nonsense")) as workspace:
        error = refusal(lambda: tools.export(workspace, grant="default"))
        assert error.code == "verification_failed"
        assert "undrawn:5" in error.sentence
        assert studio.verdicts(workspace, only_task(workspace))["losses"] == {"failed"}
    assert not (undrawn / "kit").exists()


# An engine that lies.


def test_a_file_that_is_not_what_the_engine_announced_fails_the_kit(brand: Path) -> None:
    before = shown_files(brand)
    with opened(brand, runner=Understudy("digest")) as workspace:
        error = refusal(lambda: tools.export(workspace, grant="default"))
        assert error.code == "artifact_invalid"
        assert studio.verdicts(workspace, error.details["task"])["digests"] == {"failed"}
    assert shown_files(brand) == before


@pytest.mark.promise("vector.kit.other-engine-looks")
def test_a_sound_picture_of_something_else_fails_the_kit(brand: Path) -> None:
    with opened(brand, runner=Understudy("bytes")) as workspace:
        error = refusal(lambda: tools.export(workspace, grant="default"))
        assert (error.code, "svg_renders" in error.sentence) == ("verification_failed", True)
        assert studio.verdicts(workspace, error.details["task"])["digests"] == {"passed"}
    assert not (brand / "kit").exists()


def test_a_file_that_is_no_picture_fails_its_check_and_the_verdicts_are_kept(brand: Path) -> None:
    with opened(brand, runner=Understudy("blank")) as workspace:
        error = refusal(lambda: tools.export(workspace, grant="default"))
        assert (error.code, "png_decodes" in error.sentence) == ("verification_failed", True)
        assert studio.verdicts(workspace, error.details["task"])["png_decodes"] == {"passed", "failed"}


@pytest.mark.parametrize(
    ("lie", "code"),
    [
        ("extra", "artifact_invalid"),
        ("escape", "artifact_invalid"),
        ("other", "capability_schema_mismatch"),
        ("garbage", "capability_schema_mismatch"),
        ("shrug", "child_failed"),
    ],
)
def test_an_engine_that_does_not_do_as_planned_publishes_nothing(brand: Path, lie: str, code: str) -> None:
    before = shown_files(brand)
    with opened(brand, runner=Understudy(lie)) as workspace:
        error = refusal(lambda: tools.export(workspace, grant="default"))
        assert (error.code, error.details["executed"]) == (code, "no")
        assert studio.open_tasks(workspace) == []
    assert shown_files(brand) == before


@pytest.mark.promise("vector.import.nothing-silent")
def test_an_importer_that_drops_the_drawing_and_says_nothing_is_found_out_by_the_original(tmp_path: Path) -> None:
    with Workspace.create(tmp_path / "brand", adapters=[VectorAdapter()], runner=Understudy("drop")) as workspace:
        _, facts = tools.import_svg(workspace, studio.MARK, "mark.svg", grant="default")
        assert facts["lossesTotal"] == 0
    with opened(tmp_path / "brand") as workspace:
        error = refusal(lambda: tools.export(workspace, grant="default"))
        assert (error.code, "original" in error.sentence) == ("verification_failed", True)


# Plans that nobody here proposed.


@pytest.mark.parametrize(
    ("word", "payload", "named"),
    [
        ("melt", {}, "melt"),
        ("swatch.set", {"swatch": "", "colour": "#000"}, "swatch"),
        ("swatch.bind", {"swatch": "a", "colour": "#000", "leave": [True]}, "leave"),
        ("kit", {"acceptLoss": "text"}, "acceptLoss"),
        ("kit", {"document": "a", "bytes": "many"}, "bytes"),
        ("kit", {"document": "a", "bytes": -1}, "bytes"),
        ("kit", {}, "document"),
        ("kit", {"document": "a"}, "inputRefs"),
    ],
)
def test_a_plan_that_is_none_is_refused_with_the_member_that_is_wrong(
    brand: Path, word: str, payload: dict[str, Any], named: str
) -> None:
    with opened(brand) as workspace:
        opened_ = Open(workspace, MARK_NAME)
        refs = () if named == "inputRefs" else (opened_.ref(workspace),)
        plan = Plan("vector", operation.EFFECT, word, ("file:kit",), payload, refs)
        error = refusal(lambda: workspace.perform(plan, grant="default", revision="absent"))
        assert named in error.sentence
        assert studio.open_tasks(workspace) == []
