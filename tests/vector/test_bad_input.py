"""Bad input to the domain's calls: each ends with its code and one sentence, and nothing that a person sees changes."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from countermark.kernel import grant
from countermark.kernel.clock import SystemClock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.workspace import Workspace
from countermark.vector import tools
from countermark.vector.adapter import VectorAdapter
from countermark.vector.svg.parse import MAX_BYTES
from tests.conftest import unavailable
from tests.vector import studio
from tests.vector.studio import BLUE, MARK, MARK_NAME, OTHER_BLUE, copied, opened, refusal, shown_files

SOURCE = Path(__file__).resolve().parents[2] / "src"
HEAD = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">'
LAUGHS = b'<!DOCTYPE svg [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'


@pytest.fixture
def brand(imported: Path, tmp_path: Path) -> Path:
    return copied(imported, tmp_path / "brand")


# Drawings.

DRAWINGS = {
    "no SVG": (b"\x89PNG\r\n\x1a\n", "svg_invalid"),
    "billion laughs": (LAUGHS + HEAD + b"<text>&b;</text></svg>", "svg_unsafe"),
    "script": (HEAD + b"<script>alert(1)</script></svg>", "svg_unsafe"),
    "outside": (HEAD + b'<image href="file:///etc/passwd"/></svg>', "svg_unsafe"),
    "deep": (HEAD + b"<g>" * 50_000 + b"</g>" * 50_000 + b"</svg>", "svg_too_deep"),
    "NaN": (HEAD + b'<path d="M NaN 0h1v1z"/></svg>', "svg_invalid"),
    "no area": (MARK.replace(b"0 0 64 64", b"0 0 0 0"), "svg_invalid"),
}


@pytest.mark.promise("vector.import.refuses-active")
@pytest.mark.parametrize("kind", DRAWINGS)
def test_a_drawing_that_is_none_or_does_something_is_refused_and_nothing_is_made(brand: Path, kind: str) -> None:
    data, code = DRAWINGS[kind]
    before = shown_files(brand)
    with opened(brand) as workspace:
        error = refusal(lambda: tools.import_svg(workspace, data, "new.svg", grant="default"))
        assert (error.code, error.details["executed"]) == (code, "no")
        assert studio.open_tasks(workspace) == []
    assert shown_files(brand) == before


def test_a_drawing_of_200_megabytes_is_refused_before_any_of_it_is_kept(brand: Path) -> None:
    with opened(brand) as workspace:
        size = used(brand)
        error = refusal(lambda: tools.import_svg(workspace, bytes(200 << 20), "big.svg", grant="default"))
        assert (error.code, str(MAX_BYTES) in error.sentence) == ("input_too_large", True)
        assert used(brand) == size


def used(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", ["", "x" * 256])
def test_a_drawing_needs_a_name_of_a_fitting_length(brand: Path, name: str) -> None:
    with opened(brand) as workspace:
        error = refusal(lambda: tools.import_svg(workspace, MARK, name, grant="default"))
        assert error.code == "input_invalid"


def test_a_file_whose_name_is_no_text_is_imported_under_one_that_is(brand: Path) -> None:
    with opened(brand) as workspace:
        done, _ = tools.import_svg(workspace, MARK, "\udcff.svg", grant="default")
        assert done.state == "completed"
    assert (brand / "udcff.vectorcraft").exists()


HOSTILE = (
    MARK.replace(b"<title>Mark", "<title>&lt;script&gt;\u202e".encode())
    .replace(b'id="plate"', 'id="a\u202e&#10;b"'.encode())
    .replace(b"</svg>", '<text id="\u202e&lt;img&gt;">x</text><text id="'.encode() + b"y" * 5000 + b'">x</text></svg>')
)


def test_names_from_a_drawing_neither_steer_a_terminal_nor_run_in_a_page_nor_flood_a_list(brand: Path) -> None:
    with opened(brand) as workspace:
        _, facts = tools.import_svg(workspace, HOSTILE, "../../\u202e<b>\n.svg", grant="default")
        # What a person has to type is something they can see and type.
        assert [row["name"] for row in facts["losses"]] == ["text:1", "text:2"]
        assert max(len(str(row)) for row in facts["losses"]) < 1000
        made = shown_files(brand).keys() - {MARK_NAME, "countermark.toml"}
        assert made == {"b.vectorcraft"}
        done, _ = tools.export(workspace, document="b.vectorcraft", grant="default", accept_loss=["text"])
    page = (brand / f".countermark/stage/{done.task}/1/kit/index.html").read_text()
    assert "\u202e" not in page
    assert "&lt;script&gt;&lt;U+202E&gt;" in page
    assert "<script>" not in page


# Native documents.


def swapped(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def change(data: bytes) -> bytes:
        assert old in data
        return data.replace(old, new, 1)

    return change


DOCUMENTS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "cut": (lambda data: data[: len(data) // 2], "artifact_invalid"),
    "empty": (lambda _: b"", "artifact_invalid"),
    "packed and cut": (lambda data: gzip.compress(data)[:-9], "artifact_invalid"),
    "NaN": (swapped(b'"next_id": ', b'"next_id": NaN, "more": '), "artifact_invalid"),
    "infinite": (swapped(b'"x1": 64.0', b'"x1": 1e999'), "artifact_invalid"),
    "said twice": (swapped(b'"version": 5', b'"version": 5, "version": 5'), "artifact_invalid"),
    "deep": (lambda _: b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "artifact_invalid"),
    "newer": (swapped(b'"version": 5', b'"version": 6'), "document_newer"),
    "no artboard": (swapped(b'"artboards": [', b'"artboards": [], "more": ['), "artifact_invalid"),
    "no area": (swapped(b'"x1": 64.0', b'"x1": 0.0'), "artifact_invalid"),
    "no origin": (swapped(b'"countermark": {', b'"countermark": 5, "more": {'), "artifact_invalid"),
    "no source": (swapped(b'"source": {', b'"source": {}, "more": {'), "artifact_invalid"),
    "no digest": (swapped(b'"sha256": "', b'"sha256": "../'), "artifact_invalid"),
    "no losses": (swapped(b'"losses": [', b'"losses": [{}'), "artifact_invalid"),
}


@pytest.mark.promise("vector.native.checked-at-the-door")
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_damaged_document_is_refused_by_every_call_before_anything_is_begun(brand: Path, kind: str) -> None:
    change, code = DOCUMENTS[kind]
    place = brand / MARK_NAME
    place.write_bytes(change(place.read_bytes()))
    before = shown_files(brand)
    with opened(brand) as workspace:
        count = len(workspace.ledger.events())
        calls: list[Callable[[], Any]] = [
            lambda: tools.read(workspace),
            lambda: tools.bind(workspace, "primary", BLUE, grant="default"),
            lambda: tools.export(workspace, grant="default"),
            lambda: tools.import_svg(workspace, MARK, "new.svg", into=MARK_NAME, grant="default"),
        ]
        for call in calls:
            assert refusal(call).code == code
        assert len(workspace.ledger.events()) == count
    assert shown_files(brand) == before


@pytest.mark.parametrize(
    "name",
    ["../mark.vectorcraft", "/etc/passwd", ".countermark/x.vectorcraft", "countermark.toml", "a\n.vectorcraft", "."],
)
def test_a_document_is_named_and_never_a_path(brand: Path, name: str) -> None:
    with opened(brand) as workspace:
        error = refusal(lambda: tools.read(workspace, name))
        assert error.code == "input_invalid"
        assert error.sentence.isprintable()


# Swatches and grants.


SWATCHES: dict[str, tuple[Callable[[Workspace], Any], str]] = {
    "unknown": (lambda space: tools.set_colour(space, "nobody", "#000", grant="default"), "swatch_unknown"),
    "unused colour": (lambda space: tools.bind(space, "primary", "#fedcba", grant="default"), "colour_unused"),
    "no colour": (lambda space: tools.bind(space, "primary", "bluish", grant="default"), "input_invalid"),
    "no object": (lambda space: tools.bind(space, "primary", BLUE, only=[999], grant="default"), "not_found"),
    "hostile": (lambda space: tools.bind(space, "a\u202eb\n\x1b[31m", BLUE, grant="default"), "input_invalid"),
    "endless": (lambda space: tools.bind(space, "n" * 100_000, BLUE, grant="default"), "input_invalid"),
    "no text": (lambda space: tools.bind(space, "n\ud800", BLUE, grant="default"), "input_invalid"),
}


@pytest.mark.parametrize("kind", SWATCHES)
def test_a_swatch_or_colour_that_does_not_fit_changes_nothing(brand: Path, kind: str) -> None:
    call, code = SWATCHES[kind]
    before = shown_files(brand)
    with opened(brand) as workspace:
        error = refusal(lambda: call(workspace))
        assert (error.code, error.sentence.isprintable()) == (code, True)
        assert len(error.sentence) < 500
        assert studio.open_tasks(workspace) == []
    assert shown_files(brand) == before


TERMS: dict[str, tuple[dict[str, Any], str]] = {
    "another place": ({"resources": ("file:kit",)}, "permission_denied"),
    "another effect": ({"effects": ("scene.write",)}, "permission_denied"),
    "expired": ({"expires_at": 1}, "grant_expired"),
    "no attempt": ({"limits": {"attempts": 0}}, "budget_exhausted"),
    "few bytes": ({"limits": {"bytes": 10}}, "budget_exhausted"),
}


@pytest.mark.parametrize("kind", TERMS)
def test_what_a_grant_does_not_cover_is_refused_and_nothing_is_begun(brand: Path, kind: str) -> None:
    changed, code = TERMS[kind]
    terms = {"effects": ("vector.write",), "resources": ("file:",), **changed}
    before = shown_files(brand)
    with opened(brand) as workspace:
        made = grant.Grant("narrow", None, (), "local user", "agent", grant.Terms(**terms), 0)
        workspace.ledger.apply(lambda tx: grant.issue(tx, made))
        assert refusal(lambda: tools.bind(workspace, "primary", BLUE, grant="narrow")).code == code
        assert studio.open_tasks(workspace) == []
    assert shown_files(brand) == before


def test_a_revoked_grant_and_one_that_is_not_there_allow_nothing(brand: Path) -> None:
    with opened(brand) as workspace:
        assert refusal(lambda: tools.bind(workspace, "primary", BLUE, grant="nobody's")).code == "grant_unknown"
        workspace.ledger.apply(lambda tx: grant.revoke(tx, "default"))
        assert refusal(lambda: tools.bind(workspace, "primary", BLUE, grant="default")).code == "grant_revoked"


# Disks.

MOUNT = 16 << 20


@pytest.fixture
def disk(imported: Path, tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own with a workspace on it."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={MOUNT}", "tmpfs", place], check=False, capture_output=True, text=True
    )
    if done.returncode != 0:
        unavailable("mounting a tmpfs", done.stderr.strip() or "refused")
    copied(imported, place / "brand")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def filled(disk: Path) -> None:
    """Fill a disk to the last byte."""
    with (disk / "filler").open("wb", buffering=0) as filler:
        for block in (1 << 16, 512):
            try:
                while True:
                    filler.write(bytes(block))
            except OSError:
                continue


class Filling(VectorAdapter):
    """Finds the disk full at one of its steps."""

    def __init__(self, disk: Path, step: str) -> None:
        super().__init__()
        self._disk = disk
        self._step = step

    def _at(self, step: str) -> None:
        if step == self._step:
            self._step = ""
            filled(self._disk)

    def submit(self, *given: Any) -> Any:
        self._at("submit")
        found = super().submit(*given)
        self._at("submitted")
        return found

    def verify(self, *given: Any) -> Any:
        found = super().verify(*given)
        self._at("verified")
        return found


@pytest.mark.parametrize("step", ["submit", "submitted", "verified"])
def test_a_disk_that_fills_at_any_step_leaves_the_old_or_the_new_document_and_a_task_that_ended(
    disk: Path, step: str
) -> None:
    brand = disk / "brand"
    old = (brand / MARK_NAME).read_bytes()
    with opened(brand, adapters=[Filling(disk, step)], settings={"min_free_mib": 0}) as workspace:
        try:
            said = tools.bind(workspace, "primary", BLUE, grant="default")[0].state.value
        except CountermarkError as error:
            said = f"{error.code}, executed: {error.details['executed']}, {error.next_action.partition(' ')[0]}"
        assert said in ("completed", "disk_full, executed: no, Free")  # some space
        assert ((brand / MARK_NAME).read_bytes() == old) == (said != "completed")
        assert studio.open_tasks(workspace) == []
        (disk / "filler").unlink()
        done, _ = tools.bind(workspace, "primary", BLUE, grant="default")
        assert done.state == "completed"
    assert (brand / MARK_NAME).read_bytes() != old


@pytest.mark.parametrize("place", ["store", "stage", "."])
def test_a_place_that_is_read_only_is_named_and_nothing_changes(disk: Path, place: str) -> None:
    brand = disk / "brand"
    before = shown_files(brand)
    with opened(brand) as workspace:
        there = brand if place == "." else brand / ".countermark" / place
        subprocess.run(["mount", "--bind", there, there], check=True)
        try:
            subprocess.run(["mount", "-o", "remount,bind,ro", there], check=True)
            with opened(brand, settings={"min_free_mib": 0}) as other:
                error = refusal(lambda: tools.bind(other, "primary", BLUE, grant="default"))
        except CountermarkError as refused:
            error = refused  # it could not even be opened
        finally:
            subprocess.run(["umount", "--lazy", there], check=True)
        assert (error.code, "read-only" in error.sentence) == ("disk_read_only", True)
        assert "writing . " not in error.sentence  # the place is named
        assert studio.open_tasks(workspace) == []
    assert shown_files(brand) == before


# Others, clocks, surroundings.

WRITER = """
import sys
from countermark.kernel.errors import CountermarkError
from countermark.kernel.workspace import Workspace
from countermark.vector import tools
from countermark.vector.adapter import VectorAdapter

with Workspace(sys.argv[1], adapters=[VectorAdapter()]) as workspace:
    for shade in range(6):
        try:
            done, _ = tools.set_colour(workspace, "primary", f"#{sys.argv[2]}00{shade:02x}", grant="default")
            print(done.state)
        except CountermarkError as error:
            print(error.code)
"""


def test_processes_that_write_one_document_each_win_or_are_told_and_every_win_is_one_revision(brand: Path) -> None:
    with opened(brand) as workspace:
        tools.bind(workspace, "primary", BLUE, only=[2], grant="default")
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(brand), shade], stdout=subprocess.PIPE, text=True, env=environment
        )
        for shade in ("11", "22")
    ]
    said = Counter(line for writer in writers for line in writer.communicate()[0].split())
    assert [writer.returncode for writer in writers] == [0, 0]
    assert said.keys() <= {"completed", "resource_busy", "revision_conflict"}
    assert sum(said.values()) == 12
    with opened(brand) as workspace:
        ended = workspace.ledger.read(
            lambda tx: tx.all("SELECT body FROM events WHERE kind = 'completed' ORDER BY seq")
        )
        assert len(ended) == said["completed"] + 2  # the import and the binding before
        assert studio.open_tasks(workspace) == []
        assert len(tools.read(workspace).data["swatches"][0]["consumers"]) == 1


class Moved(SystemClock):
    """A clock that somebody set."""

    def __init__(self, by_ms: int) -> None:
        self._by = by_ms

    def now_ms(self) -> int:
        return super().now_ms() + self._by


YEAR_MS = 365 * 86_400_000


@pytest.mark.parametrize("by_ms", [-60 * YEAR_MS, -1000, 100 * YEAR_MS])
def test_a_clock_that_was_set_changes_what_is_written_down_and_not_what_is_done(brand: Path, by_ms: int) -> None:
    with opened(brand, clock=Moved(by_ms)) as workspace:
        tools.bind(workspace, "primary", BLUE, grant="default")
        done, _ = tools.set_colour(workspace, "primary", OTHER_BLUE, grant="default")
        assert done.state == "completed"
        assert done.receipt()
    with opened(brand) as workspace:
        again, _ = tools.set_colour(workspace, "primary", OTHER_BLUE, grant="default")
        assert (again.task, again.repeated) == (done.task, True)


def test_nothing_here_needs_a_search_path_or_a_home(brand: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PATH", "HOME", "LANG", "TMPDIR"):
        monkeypatch.setenv(name, "")
    with opened(brand) as workspace:
        done, _ = tools.import_svg(workspace, MARK, "new.svg", grant="default")
        assert done.state == "completed"


def test_a_limit_on_seconds_holds_for_the_time_an_engine_may_take(imported: Path, tmp_path: Path) -> None:
    with opened(copied(imported, tmp_path / "brand")) as workspace:
        terms = grant.Terms(effects=("vector",), resources=("file:",), limits={"seconds": 60})
        made = grant.Grant("minute", "default", (), "test", "test", terms, workspace.clock.now_ms())
        workspace.ledger.apply(lambda tx: grant.issue(tx, made))
        error = refusal(lambda: tools.export(workspace, grant="minute"))
        assert (error.code, error.details["counter"]) == ("budget_exhausted", "seconds")
        assert error.details["needed"] > 60
