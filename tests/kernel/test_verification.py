from __future__ import annotations

import contextlib
import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countermark.kernel.errors import CountermarkError, Ending
from countermark.kernel.key import TrustedKey, pem_of, trusted_key
from countermark.kernel.receipt import FILE_NAME, MAX_BYTES, Subject, receipt_bytes
from countermark.kernel.verification import verify
from tests.conftest import unavailable
from tests.kernel.receipt_sample import KEY, STRANGER, digest, facts, folder_with

OURS = trusted_key(KEY.public_key, "Ada")
FILES: Mapping[str, bytes] = {"a.svg": b"<svg/>", "boards/b.png": b"\x89PNG\r\n", "empty": b""}
SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "reference" / "verify_receipt.py"
SAME: dict[str, list[str]] = {"changed": [], "missing": [], "extra": [], "irregular": []}


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    return folder_with(tmp_path / "kit", FILES)


@pytest.fixture
def public_key(tmp_path: Path) -> Path:
    place = tmp_path / "ada.pem"
    place.write_text(KEY.public_key)
    return place


def refusal(call: Callable[[], object], code: str) -> CountermarkError:
    with pytest.raises(CountermarkError) as caught:
        call()
    assert caught.value.code == code, caught.value
    return caught.value


def differences(kit: Path) -> dict[str, Any]:
    return refusal(lambda: verify(kit, [OURS]), "receipt_mismatch").details


def script_says(kit: Path, public_key: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the stand-alone script's file as it is, in this process, and return what it ends with."""
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), str(kit), str(public_key)])
    with pytest.raises(SystemExit) as caught:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    return str(caught.value.code)


@pytest.mark.promise("kernel.receipt.offline")
def test_a_folder_as_it_was_made_is_signed_by_a_trusted_name(kit: Path) -> None:
    found = verify(kit, [trusted_key(STRANGER.public_key, "Bob"), OURS])
    assert found.sentence == "signed by Ada"
    assert found.files == ("a.svg", "boards/b.png", "empty")
    assert found.not_checked == ()
    assert found.receipt.facts == facts()
    found.require_signer()


@pytest.mark.promise("kernel.receipt.stranger")
def test_a_receipt_by_an_unknown_key_is_consistent_and_never_signed_by_a_name(tmp_path: Path) -> None:
    forged = folder_with(tmp_path / "kit", FILES, key=STRANGER)
    found = verify(forged, [OURS])
    assert found.sentence == "consistent, signer unknown"
    assert [gap.what for gap in found.not_checked] == ["who signed"]
    error = refusal(found.require_signer, "signer_unknown")
    assert error.ending is Ending.UNKNOWN
    assert STRANGER.keyid[:12] in error.sentence


def test_a_stranger_cannot_borrow_a_trusted_key_id(tmp_path: Path) -> None:
    forged = folder_with(tmp_path / "kit", FILES, key=STRANGER)
    text = (forged / FILE_NAME).read_text().replace(STRANGER.keyid, KEY.keyid)
    (forged / FILE_NAME).write_text(text)
    refusal(lambda: verify(forged, [OURS]), "receipt_invalid")


@pytest.mark.promise("kernel.receipt.byte")
def test_one_changed_byte_of_any_subject_is_named_by_us_and_by_the_stand_alone_script(
    kit: Path, public_key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert script_says(kit, public_key, monkeypatch) == "0"
    for name, content in FILES.items():
        for place in range(len(content)):
            (kit / name).write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            assert differences(kit) == {**SAME, "changed": [name]}
            assert script_says(kit, public_key, monkeypatch) == f"changed, missing or extra: {name}"
        (kit / name).write_bytes(content)
    assert script_says(kit, public_key, monkeypatch) == "0"


@settings(max_examples=60)
@given(st.data())
def test_any_other_content_of_a_subject_is_named(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    kit = folder_with(tmp_path_factory.mktemp("kit"), FILES)
    name = data.draw(st.sampled_from(sorted(FILES)))
    content = data.draw(st.binary(max_size=8).filter(lambda other: other != FILES[name]))
    (kit / name).write_bytes(content)
    assert differences(kit) == {**SAME, "changed": [name]}


@pytest.mark.promise("kernel.receipt.byte")
def test_one_changed_byte_anywhere_in_the_receipt_is_refused(tmp_path: Path) -> None:
    kit = folder_with(tmp_path / "kit", {"a": b"a"})
    receipt = kit / FILE_NAME
    content = receipt.read_bytes()
    verify(receipt)
    with receipt.open("r+b", buffering=0) as file:
        for place, byte in enumerate(content):
            os.pwrite(file.fileno(), bytes([byte ^ (1, 4, 32)[place % 3]]), place)
            refusal(lambda: verify(receipt), "receipt_invalid")
            os.pwrite(file.fileno(), bytes([byte]), place)
    verify(receipt)
    for length in range(0, len(content), 97):
        receipt.write_bytes(content[:length])
        refusal(lambda: verify(receipt), "receipt_invalid")


def test_a_signature_over_other_facts_is_refused(kit: Path) -> None:
    other = receipt_bytes(facts(attempt=2), [Subject(name, digest(content)) for name, content in FILES.items()], KEY)
    ours = (kit / FILE_NAME).read_text()
    signature = ours[ours.index('"signatures"') :]
    mixed = other.decode()
    (kit / FILE_NAME).write_text(mixed[: mixed.index('"signatures"')] + signature)
    error = refusal(lambda: verify(kit, [OURS]), "receipt_invalid")
    assert "changed after it was signed" in error.sentence


@pytest.mark.promise("kernel.receipt.byte")
def test_changed_missing_and_extra_files_are_all_named(
    kit: Path, public_key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kit / "a.svg").write_bytes(b"<svg />")
    (kit / "empty").unlink()
    (kit / "boards" / "more").mkdir()
    (kit / "boards" / "more" / "new.png").write_bytes(b"")
    (kit / "boards" / FILE_NAME).write_bytes(b"")
    extra = ["boards/more/new.png", "boards/receipt.json"]
    assert differences(kit) == {"changed": ["a.svg"], "missing": ["empty"], "extra": extra, "irregular": []}
    assert script_says(kit, public_key, monkeypatch) == (
        "changed, missing or extra: a.svg, boards/more/new.png, boards/receipt.json, empty"
    )
    error = refusal(lambda: verify(kit), "receipt_mismatch")
    assert "changed: a.svg; missing: empty; extra: boards/more/new.png, boards/receipt.json" in error.sentence


def test_a_sentence_stays_short_while_the_details_name_every_file(kit: Path) -> None:
    for number in range(9):
        (kit / f"new{number}").touch()
    error = refusal(lambda: verify(kit), "receipt_mismatch")
    assert "extra: new0, new1, new2 and 6 more." in error.sentence
    assert len(error.details["extra"]) == 9


def test_links_and_special_files_are_named_and_not_followed(kit: Path) -> None:
    (kit / "a.svg").rename(kit.parent / "a.svg")
    (kit / "a.svg").symlink_to(kit.parent / "a.svg")
    (kit / "dangling").symlink_to("nowhere")
    (kit / "up").symlink_to(kit.parent, target_is_directory=True)
    os.mkfifo(kit / "pipe")
    assert differences(kit) == {**SAME, "irregular": ["a.svg", "dangling", "pipe", "up"]}


def test_a_folder_of_subjects_behind_a_link_is_not_followed(kit: Path) -> None:
    (kit / "boards").rename(kit.parent / "boards")
    (kit / "boards").symlink_to(kit.parent / "boards", target_is_directory=True)
    assert differences(kit) == {**SAME, "missing": ["boards/b.png"], "irregular": ["boards"]}


def test_a_folder_in_the_place_of_a_subject_does_not_stand_for_it(kit: Path) -> None:
    (kit / "empty").unlink()
    (kit / "empty").mkdir()
    assert differences(kit) == {**SAME, "missing": ["empty"]}


@pytest.mark.parametrize("name", [b"\xff.png", b"a\nb", b"\x1b[31m"])
def test_a_name_that_is_no_printable_text_is_named_in_escapes(kit: Path, name: bytes) -> None:
    try:
        (kit / os.fsdecode(name)).touch()
    except OSError:
        unavailable("a disk that takes any bytes for a name", "this one stores text only")
    error = refusal(lambda: verify(kit), "receipt_mismatch")
    assert len(error.details["extra"]) == 1
    assert error.sentence.isprintable()
    error.sentence.encode()


def test_a_receipt_by_itself_says_that_no_file_was_looked_at(kit: Path) -> None:
    found = verify(kit / FILE_NAME, [OURS])
    assert found.sentence == "signed by Ada"
    assert found.files is None
    assert [gap.what for gap in found.not_checked] == ["the files"]


def test_a_receipt_without_artefacts_stands_alone(tmp_path: Path) -> None:
    kit = folder_with(tmp_path / "kit", {})
    assert verify(kit, [OURS]).files == ()
    assert verify(kit / FILE_NAME, [OURS]).not_checked == ()


@pytest.mark.parametrize(
    ("make", "code"),
    [
        pytest.param(lambda place: place, "not_found", id="nothing"),
        pytest.param(lambda place: place.mkdir(), "not_a_regular_file", id="folder"),
        pytest.param(os.mkfifo, "not_a_regular_file", id="pipe"),
        pytest.param(lambda place: place.symlink_to("elsewhere"), "path_escape", id="link"),
        pytest.param(lambda place: place.touch(), "receipt_invalid", id="empty"),
        pytest.param(lambda place: place.write_bytes(bytes(MAX_BYTES + 1)), "input_too_large", id="large"),
    ],
)
def test_a_folder_without_a_readable_receipt_says_so(kit: Path, make: Callable[[Path], object], code: str) -> None:
    (kit / FILE_NAME).unlink()
    make(kit / FILE_NAME)
    refusal(lambda: verify(kit), code)


def test_a_place_that_is_not_there_says_so(tmp_path: Path) -> None:
    refusal(lambda: verify(tmp_path / "nowhere"), "not_found")


def test_a_key_of_small_order_is_never_trusted_by_accident(kit: Path) -> None:
    assert verify(kit, [TrustedKey("nobody", digest("x"), pem_of(bytes(32)))]).signer is None


def test_verifying_changes_nothing(kit: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in [kit, *kit.rglob("*")]}
    with contextlib.suppress(CountermarkError):
        verify(kit)
    assert {path: path.stat().st_mtime_ns for path in [kit, *kit.rglob("*")]} == before


def test_the_stand_alone_script_is_twenty_lines_and_runs_by_itself(kit: Path, public_key: Path) -> None:
    assert len(SCRIPT.read_text().splitlines()) <= 20
    assert "countermark" not in SCRIPT.read_text().replace("receipt", "")

    def status() -> tuple[int, str]:
        run = subprocess.run(
            [sys.executable, "-I", SCRIPT, kit, public_key], check=False, capture_output=True, text=True
        )
        return run.returncode, run.stderr

    assert status() == (0, "")
    (kit / "a.svg").write_bytes(b"")
    assert status() == (1, "changed, missing or extra: a.svg\n")
    public_key.write_text(STRANGER.public_key)
    code, said = status()
    assert code == 1
    assert "VerificationError" in said
