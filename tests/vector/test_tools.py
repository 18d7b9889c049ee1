"""The domain's public calls, end to end: what is repeated, accepted, refused, and said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from countermark.kernel import receipt, review
from countermark.kernel.adapter import Context, Intent, Outcome, Verification
from countermark.kernel.canon import sha256_hex
from countermark.kernel.state import State
from countermark.kernel.verification import verify
from countermark.kernel.workspace import Workspace
from countermark.vector import document as native
from countermark.vector import tools
from countermark.vector.adapter import VectorAdapter
from countermark.vector.affine import Box
from tests.vector import studio
from tests.vector.drawings import RED, drawing, fill, path, solid, square
from tests.vector.studio import BLUE, MARK_NAME, OTHER_BLUE, boards, copied, opened, refusal, shown_files

SOURCE = Path(__file__).resolve().parents[2] / "src"


@pytest.fixture
def brand(imported: Path, tmp_path: Path) -> Path:
    return copied(imported, tmp_path / "brand")


@pytest.fixture
def kitted(exported: Path, tmp_path: Path) -> Path:
    return copied(exported, tmp_path / "brand")


# A repeat.


def test_the_same_kit_asked_for_again_is_the_first_result_and_missing_files_come_back(kitted: Path) -> None:
    before = shown_files(kitted)
    (kitted / "kit/artboard-1-full-colour-16.png").unlink()
    (kitted / "kit/receipt.json").unlink()
    with opened(kitted) as workspace:
        done, facts = tools.export(workspace, grant="default")
        assert (done.repeated, done.restored) == (True, ("kit/artboard-1-full-colour-16.png",))
        assert {board["status"] for board in facts["boards"]} == {"new"}
    assert shown_files(kitted) == before


def test_a_kit_that_was_made_is_answered_also_when_its_original_is_no_longer_kept(kitted: Path) -> None:
    sha256 = sha256_hex(studio.MARK)
    (kitted / ".countermark/store" / sha256[:2] / sha256[2:]).unlink()
    with opened(kitted) as workspace:
        assert tools.export(workspace, grant="default")[0].repeated


class Removing(VectorAdapter):
    """Looks at a kit while somebody takes its document away."""

    def verify(self, intent: Intent, outcome: Outcome, context: Context) -> Verification:
        found = super().verify(intent, outcome, context)
        (context.workspace / MARK_NAME).unlink()
        return found


def test_a_kit_drawn_in_several_calls_is_told_whole_also_when_its_document_is_gone_by_then(
    brand: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("countermark.vector.adapter.MAX_BOARDS", 4)
    with opened(brand, adapters=[Removing()]) as workspace:
        done, facts = tools.export(workspace, grant="default")
        assert (done.state, len(facts["boards"]), facts["files"]) == (State.COMPLETED, 13, 33)


def test_an_edited_board_is_left_as_it_is(kitted: Path) -> None:
    edited = kitted / "kit/artboard-1-full-colour-512.png"
    edited.write_bytes(b"retouched")
    with opened(kitted) as workspace:
        assert refusal(lambda: tools.export(workspace, grant="default")).code == "revision_conflict"
        tools.bind(workspace, "primary", BLUE, grant="default")
        assert refusal(lambda: tools.export(workspace, grant="default")).code == "revision_conflict"
    assert edited.read_bytes() == b"retouched"


# What changes and what stays.


def test_boards_that_a_new_colour_does_not_reach_are_byte_equal_and_said_to_be(tmp_path: Path) -> None:
    folder = tmp_path / "brand"
    bound = fill({**solid(RED), "swatch": "primary"})
    document = drawing(
        path(2, square(0, 0, 60, 60), bound),
        path(3, square(210, 0, 240, 60), fill(solid(RED))),
        boards=(Box(0, 0, 100, 100), Box(200, 0, 300, 100)),
    )
    swatch = {"name": "primary", "paint": solid(RED), "global": True, "spot": False}
    with tools_workspace(folder, native.rewrite(document, {}, swatches=[swatch])) as workspace:
        tools.export(workspace, grant="default")
        before = boards(folder / "kit")
        _, said = tools.set_colour(workspace, "primary", OTHER_BLUE, grant="default")
        assert [use["object_id"] for use in said["report"]["lookalikes"]] == [3]
        done, facts = tools.export(workspace, grant="default")
        assert studio.verdicts(workspace, done)["unaffected_boards"] == {"passed"}
    after = boards(folder / "kit")
    said_equal = {name for board in facts["boards"] if board["status"] == "byte-equal" for name in board["files"]}
    said_equal |= {file["name"] for file in facts["others"] if file["status"] == "byte-equal"}
    assert said_equal == {name for name in before if before[name] == after[name]}
    # What holds the whole document follows it: its own file, its copies inside SVGs, its pages, its sprite.
    of_second = {name for name in before if name.startswith("artboard-2-")} - {"artboard-2-editable.svg"}
    one_ink = {name for name in before if name.startswith("artboard-1-one-colour-")}
    assert said_equal == {*of_second, *one_ink, "site.webmanifest"}
    assert facts["reused"] == sum(one["artboard"] == 2 for one in facts["boards"])  # taken by digest, not drawn


def tools_workspace(folder: Path, document: native.Document) -> Workspace:
    """Make a workspace around a document that an editor saved."""
    workspace = Workspace.create(folder, adapters=[VectorAdapter()])
    (folder / "poster.vectorcraft").write_bytes(native.dump(document))
    return workspace


ELSEWHERE = """
import os, sys
from countermark.kernel.workspace import Workspace
from countermark.vector import tools
from countermark.vector.adapter import VectorAdapter
from countermark.vector.affine import Box
from countermark.vector.adapter import VectorAdapter
from countermark.vector.affine import Box

class Later:
    def now_ms(self): return 4102444800000
    def monotonic(self):
        import time
        return time.monotonic()

os.umask(0o077)
with Workspace(sys.argv[1], adapters=[VectorAdapter()], clock=Later()) as workspace:
    tools.export(workspace, grant="default", folder="again")
"""


@pytest.mark.promise("vector.export.same-bytes")
def test_a_kit_made_at_another_time_and_place_has_the_same_boards(kitted: Path) -> None:
    there = {
        "TZ": "Pacific/Chatham",
        "LC_ALL": "tr_TR.UTF-8",
        "LANG": "tr_TR.UTF-8",
        "PYTHONHASHSEED": "7",
        "HOME": "/",
    }
    environment = {**os.environ, **there, "PYTHONPATH": str(SOURCE)}
    subprocess.run([sys.executable, "-c", ELSEWHERE, str(kitted)], env=environment, cwd="/", check=True)
    assert boards(kitted / "again") == boards(kitted / "kit")
    assert {oct(path.stat().st_mode & 0o777) for path in (kitted / "again").iterdir()} == {"0o644"}


@pytest.mark.promise("vector.kit.opens-again")
def test_an_svg_with_its_document_inside_opens_again_with_everything_in_it(kitted: Path) -> None:
    editable = (kitted / "kit/artboard-1-editable.svg").read_bytes()
    with opened(kitted) as workspace:
        tools.import_svg(workspace, editable, "again.svg", grant="default")
        assert (kitted / "again.vectorcraft").read_bytes() == (kitted / MARK_NAME).read_bytes()
        assert (kitted / f"kit/{MARK_NAME}").read_bytes() == (kitted / MARK_NAME).read_bytes()
        changed = editable.replace(b'fill="#1a6cff"', b'fill="#00ff00"', 1)
        _, facts = tools.import_svg(workspace, changed, "changed.svg", grant="default")
        assert [row["name"] for row in facts["losses"]] == ["embedded-document"]


# Losses.


@pytest.mark.promise("vector.kit.undrawn-named")
def test_a_kit_with_losses_fails_by_their_names_and_completes_once_a_person_answers_for_them(
    lossy: Path, tmp_path: Path
) -> None:
    folder = copied(lossy, tmp_path / "brand")
    with opened(folder) as workspace:
        error = refusal(lambda: tools.export(workspace, grant="default"))
        assert (error.code, "text:word" in error.sentence) == ("verification_failed", True)
        assert not (folder / "kit").exists()

        waiting, _ = tools.export(workspace, grant="default", accept_loss=["text:word"])
        assert waiting.state is State.REVIEW_READY
        assert not (folder / "kit").exists()
        seen = review.waiting(workspace, waiting.task)
        assert "text:word" in dict(seen.not_checked)
        again, _ = tools.export(workspace, grant="default", accept_loss=["text:word"])
        assert (again.task, again.repeated) == (waiting.task, True)

        done = review.accept(workspace, waiting.task, seen.evidence)
        facts = receipt.parse(done.receipt()).facts
        trusted = workspace.keys.trusted()
    assert facts.acceptance is not None
    assert facts.acceptance.how == "person"
    assert "text:word" in [gap.what for gap in facts.not_checked]
    assert verify(folder / "kit", trusted).signer is not None
    page = (folder / "kit/index.html").read_text()
    assert "text:word" in page
    assert "needs a person, who sees this evidence first" in page


def test_a_loss_that_the_document_does_not_have_cannot_be_accepted(lossy: Path, tmp_path: Path) -> None:
    folder = copied(lossy, tmp_path / "brand")
    with opened(folder) as workspace:
        count = len(workspace.ledger.events())
        error = refusal(lambda: tools.export(workspace, grant="default", accept_loss=["text:wrod"]))
        assert (error.code, error.details["losses"]) == ("loss_unknown", ["text:word"])
        assert len(workspace.ledger.events()) == count  # nothing was begun


def test_a_document_whose_original_is_elsewhere_says_so_before_anything_is_drawn(brand: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with Workspace.create(other, adapters=[VectorAdapter()]) as workspace:
        (other / MARK_NAME).write_bytes((brand / MARK_NAME).read_bytes())
        count = len(workspace.ledger.events())
        error = refusal(lambda: tools.export(workspace, grant="default"))
        assert (error.code, "picture" in error.next_action) == ("verification_unavailable", True)
        assert error.details["sha256"] == sha256_hex(studio.MARK)
        assert len(workspace.ledger.events()) == count
        refusal(lambda: tools.import_svg(workspace, studio.MARK, "mark.svg", grant="default"))
        assert workspace.store.has(sha256_hex(studio.MARK))  # the way out that the error names


# What stands in the way.


def test_what_is_there_and_not_ours_is_never_written_over(brand: Path) -> None:
    (brand / "kit").mkdir()
    (brand / "kit/mine.txt").write_text("mine")
    (brand / "logo.vectorcraft").write_text("mine")
    before = shown_files(brand)
    with opened(brand) as workspace:
        assert refusal(lambda: tools.export(workspace, document=MARK_NAME, grant="default")).code == "output_exists"
        error = refusal(lambda: tools.import_svg(workspace, studio.MARK, "logo.svg", grant="default"))
        assert error.code == "output_exists"
        for folder in (MARK_NAME, "../kit", "/etc/kit", ".countermark", "countermark.toml", "", "a/b", "kit\n"):
            error = refusal(
                lambda folder=folder: tools.export(workspace, document=MARK_NAME, folder=folder, grant="default")
            )
            assert error.code == "input_invalid", folder
    assert shown_files(brand) == before


def test_a_kit_that_was_not_seen_is_a_newer_revision_and_is_told(kitted: Path) -> None:
    before = shown_files(kitted)
    with opened(kitted) as workspace:
        error = refusal(lambda: tools.export(workspace, grant="default", revision="absent", key="mine"))
        assert (error.code, error.details["expected"]) == ("revision_conflict", "absent")
    assert shown_files(kitted) == before


def test_the_kit_of_one_document_is_not_written_over_the_kit_of_another(kitted: Path) -> None:
    (kitted / "other.vectorcraft").write_bytes(native.dump(drawing(path(2, square(0, 0, 60, 60), fill(solid(RED))))))
    before = shown_files(kitted)
    with opened(kitted) as workspace:
        error = refusal(lambda: tools.export(workspace, document="other.vectorcraft", grant="default"))
        assert (error.code, error.details["document"]) == ("output_exists", MARK_NAME)
        again, _ = tools.export(workspace, document=MARK_NAME, grant="default")
        assert again.repeated
    assert shown_files(kitted) == before


def test_a_link_in_the_way_is_neither_followed_nor_replaced(brand: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (brand / "kit").symlink_to(elsewhere)
    (brand / "linked.vectorcraft").symlink_to(brand / MARK_NAME)
    with opened(brand) as workspace:
        assert refusal(lambda: tools.export(workspace, document=MARK_NAME, grant="default")).code == "path_escape"
        assert refusal(lambda: tools.read(workspace, "linked.vectorcraft")).code == "path_escape"
    assert not list(elsewhere.iterdir())


# Keys.


def test_a_key_said_again_for_something_else_is_a_conflict(brand: Path) -> None:
    with opened(brand) as workspace:
        tools.bind(workspace, "primary", BLUE, grant="default", key="one")
        error = refusal(lambda: tools.set_colour(workspace, "primary", OTHER_BLUE, grant="default", key="one"))
        assert error.code == "key_conflict"
    assert OTHER_BLUE.encode() not in (brand / MARK_NAME).read_bytes()


def test_a_write_against_what_was_there_before_is_refused_and_the_newer_stands(brand: Path) -> None:
    with opened(brand) as workspace:
        old = tools.read(workspace).data["revision"]
        tools.bind(workspace, "primary", BLUE, grant="default")
        newer = (brand / MARK_NAME).read_bytes()
        error = refusal(lambda: tools.set_colour(workspace, "primary", OTHER_BLUE, grant="default", revision=old))
        assert error.code == "revision_conflict"
    assert (brand / MARK_NAME).read_bytes() == newer
