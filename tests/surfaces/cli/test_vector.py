"""The vector commands, with the real engine, on the project's own mark."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import PROGRAM, SOURCES, Here, Said, program

LOGO = Path(__file__).resolve().parents[3] / "assets" / "logo.svg"
SMALL = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8">'
    '<rect id="a" width="4" height="4" fill="#1a6cff"/><circle id="b" cx="6" cy="6" r="2" fill="#1a6cff"/>'
    '<path id="c" d="M0 5h2v2z" fill="#ff0000"/>{more}</svg>'
)


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a small document, made once; tests take copies of it."""
    folder = tmp_path_factory.mktemp("vector")
    (folder / "small.svg").write_text(SMALL.format(more=""))
    assert program("init", "space", cwd=folder).status == 0
    assert program("vector", "import", "../small.svg", cwd=folder / "space").status == 0
    return folder / "space"


@pytest.fixture
def brand(imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Here:
    shutil.copytree(imported, tmp_path / "brand")
    return Here(tmp_path / "brand", capsys)


def bound(brand: Here) -> dict[str, Any]:
    return brand("vector", "swatch", "bind", "primary", "#1a6cff", "--leave", "b", "--json").data


@pytest.mark.promise("cli.vector.main-job")
def test_the_readmes_commands_carry_a_logo_from_svg_to_a_verified_kit(tmp_path: Path) -> None:
    assert program("init", "mybrand", cwd=tmp_path).status == 0
    shutil.copy(LOGO, tmp_path / "logo.svg")
    steps: list[Said] = [
        program(*words.split(), "--json", cwd=tmp_path / "mybrand")
        for words in (
            "vector import ../logo.svg",
            "vector swatch bind primary #1a6cff",
            "vector kit",
            "vector swatch set primary #0057ff",
            "vector kit",
            "receipt verify kit/",
        )
    ]
    assert [one.status for one in steps] == [0] * 6
    first, second = steps[2].data, steps[4].data
    assert {board["status"] for board in first["boards"]} == {"new"}
    statuses = {board["id"]: board["status"] for board in second["boards"] if "one-colour" not in board["id"]}
    assert set(statuses.values()) == {"changed"}
    assert steps[5].data["signer"] == "this workspace"
    again = program("vector", "kit", cwd=tmp_path / "mybrand")
    assert again.out.startswith("Done before; this is its first result, and nothing was done again.")
    assert again.status == 0


def test_an_import_names_what_it_could_not_carry_over(brand: Here) -> None:
    (brand.folder / "text.svg").write_text(SMALL.format(more='<text id="t" x="1" y="2">x</text>'))
    said = brand("vector", "import", "text.svg")
    assert said.status == 0
    assert "not carried over (1)" in said.out
    assert "<text>" in said.out
    lost = brand("vector", "read", "--document", "text.vectorcraft", "--json").data["losses"]
    assert [one["element"] for one in lost] == ["text"]
    command = f"countermark vector kit --document text.vectorcraft --accept-loss {lost[0]['name']}"
    assert f"To export without them: `{command}`." in said.out
    refused = brand("vector", "kit", "--document", "text", "--json")
    assert (refused.status, refused.error["code"]) == (1, "verification_failed")
    assert f"nobody answers for it: {lost[0]['name']}. Nothing was published." in refused.error["message"]
    assert f"answer for it: `{command}`." in refused.error["next"]
    accepted = brand("vector", "kit", "--document", "text.vectorcraft", "--accept-loss", lost[0]["name"], "--json")
    assert accepted.data["state"] == "review_ready"
    assert not (brand.folder / "kit").exists()
    assert f"countermark task accept {accepted.data['task']}" in accepted.data["next"]


def test_what_waits_for_a_person_is_not_said_to_be_done_and_can_be_looked_at(brand: Here) -> None:
    reviewed = brand("grant", "narrow", "default", "--acceptance", "person", "--json").data["id"]
    said = brand("vector", "kit", "--grant", reviewed)
    assert said.out.startswith("Not published yet: kit stays as it is until a person accepts this.\n")
    (look,) = [line.split(None, 1)[1] for line in said.out.splitlines() if line.startswith("look ")]
    assert Path(look).name == "index.html"
    assert b"Checked by whom" in Path(look).read_bytes()
    task = next(line.split()[1].rstrip(",") for line in said.out.splitlines() if line.startswith("task "))
    assert f"look      {Path(look).parent}\n" in brand("task", "show", task).out
    assert not (brand.folder / "kit").exists()


def test_only_what_is_bound_follows_the_swatch_and_look_alikes_are_listed(brand: Here) -> None:
    report = bound(brand)["report"]
    assert [use["name"] for use in report["changed"]] == ["a"]
    assert [use["name"] for use in report["lookalikes"]] == ["b"]
    said = brand("vector", "swatch", "set", "primary", "#0057ff")
    assert "primary is #0057ff: 1 colour changed." in said.out
    assert "look alike, not bound, untouched" in said.out
    listed = brand("vector", "swatch", "list", "--json").data
    assert [(one["name"], one["colour"]) for one in listed["swatches"]] == [("primary", "#0057ff")]
    assert {one["colour"] for one in listed["colours"]} == {"#1a6cff", "#ff0000"}


def test_binding_what_is_bound_says_that_nothing_is_new(brand: Here) -> None:
    bound(brand)
    brand("vector", "swatch", "bind", "other", "#ff0000")
    said = brand("vector", "swatch", "bind", "primary", "#1a6cff", "--leave", "b")
    assert "primary is #1a6cff: nothing new bound." in said.out


def test_boards_that_nothing_concerned_are_byte_equal_and_it_says_so(brand: Here) -> None:
    assert brand("vector", "kit").status == 0
    # What holds the document itself follows the document; the page and the receipt tell of another task.
    follows = ("artboard-1-editable.svg", "exchange-loss.json", "index.html", "receipt.json")
    kit = [path for path in (brand.folder / "kit").iterdir() if path.suffix != ".vectorcraft"]
    before = {path.name: path.read_bytes() for path in kit if path.name not in follows}
    bound(brand)
    said = brand("vector", "kit", "--json")
    assert {board["status"] for board in said.data["boards"]} == {"byte-equal"}
    equal = {file["name"] for file in said.data["others"] if file["status"] == "byte-equal"}
    assert equal == {"artboard-1-favicon.ico", "icons.svg", "pages.pdf", "site.webmanifest"}
    assert {name: (brand.folder / "kit" / name).read_bytes() for name in before} == before


def test_a_key_said_again_answers_the_first_result(brand: Here) -> None:
    arguments = ("vector", "swatch", "bind", "primary", "#1a6cff", "--key", "mine", "--json")
    first = brand(*arguments).data
    again = brand(*arguments).data
    assert (again["task"], again["repeated"], first["repeated"]) == (first["task"], True, False)
    other = brand("vector", "swatch", "bind", "other", "#ff0000", "--key", "mine", "--json")
    assert (other.status, other.error["code"]) == (5, "key_conflict")


def test_a_missing_output_comes_back_and_it_says_so(brand: Here) -> None:
    assert brand("vector", "kit").status == 0
    gone = next((brand.folder / "kit").glob("*-16.png"))
    data = gone.read_bytes()
    gone.unlink()
    said = brand("vector", "kit")
    assert f"Missing files came back from the store: kit/{gone.name}." in said.out
    assert gone.read_bytes() == data


@pytest.mark.parametrize("more", [(), ("--dry-run",)], ids=["kit", "dry run"])
def test_a_kit_names_the_files_that_a_person_changed_and_leaves_them(brand: Here, more: tuple[str, ...]) -> None:
    assert brand("vector", "kit").status == 0
    bound(brand)
    kit = brand.folder / "kit"
    (kit / "artboard-1-full-colour-16.svg").write_text("<svg/>")
    (kit / "artboard-1-full-colour-16.png").unlink()
    (kit / "mine.txt").write_text("mine")
    said = brand("vector", "kit", *more, "--json")
    assert (said.status, said.error["code"]) == (5, "revision_conflict")
    assert said.error["message"] == (
        "kit/ is not as its last kit left it: changed artboard-1-full-colour-16.svg; "
        "missing artboard-1-full-colour-16.png; added mine.txt. What is there stands; nothing was written."
    )
    assert "Move kit/ away and export again" in said.error["next"]
    assert (kit / "mine.txt").read_text() == "mine"


def test_a_document_that_is_there_already_can_be_joined(brand: Here) -> None:
    (brand.folder / "small.svg").write_text(SMALL.format(more='<path id="d" d="M0 0h1v1z"/>'))
    said = brand("vector", "import", "small.svg", "--json")
    assert (said.status, said.error["code"]) == (5, "output_exists")
    assert "`--into small.vectorcraft`" in said.error["next"]
    assert brand("vector", "import", "small.svg", "--into", "small").status == 0
    assert len(brand("vector", "read", "--document", "small", "--json").data["artboards"]) == 2


def test_a_persons_change_stands(brand: Here) -> None:
    revision = brand("vector", "read", "--json").data["revision"]
    path = brand.folder / "small.vectorcraft"
    path.write_bytes(path.read_bytes() + b"\n")
    said = brand("vector", "swatch", "bind", "primary", "#1a6cff", "--revision", revision, "--json")
    assert (said.status, said.error["code"]) == (5, "revision_conflict")
    assert path.read_bytes().endswith(b"\n")


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (("vector", "swatch", "set", "nothing", "#0057ff"), 3, "swatch_unknown"),
        (("vector", "swatch", "bind", "primary", "#123456"), 3, "colour_unused"),
        (("vector", "swatch", "bind", "primary", "blue-ish"), 2, "input_invalid"),
        (("vector", "kit", "--folder", "../out"), 2, "input_invalid"),
        (("vector", "kit", "--document", "none.vectorcraft"), 3, "not_found"),
        (("vector", "kit", "--grant", "nobody"), 4, "grant_unknown"),
        (("vector", "import", "../nowhere.svg"), 3, "not_found"),
        (("vector", "import", "/dev/zero"), 2, "not_a_regular_file"),
        (("vector", "import", "."), 2, "not_a_regular_file"),
        (("vector", "import", "small.vectorcraft", "--document", "x.vectorcraft"), 2, None),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_done_changes_nothing(
    brand: Here, arguments: tuple[str, ...], status: int, code: str | None
) -> None:
    before = sorted(path.name for path in brand.folder.iterdir())
    said = brand(*arguments, "--json")
    assert (said.status, said.error["code"]) == (status, code or said.error["code"])
    assert sorted(path.name for path in brand.folder.iterdir()) == before


@pytest.mark.parametrize("kind", ["fifo", "link", "dangling link"])
def test_an_svg_that_is_no_regular_file_is_refused_at_once(brand: Here, kind: str) -> None:
    path = brand.folder / "odd.svg"
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("countermark.toml" if kind == "link" else "nowhere")
    said = brand("vector", "import", "odd.svg", "--json")
    assert (said.status, said.error["code"]) == (2, "not_a_regular_file")


def test_an_input_beyond_the_bound_is_not_read_to_its_end(brand: Here) -> None:
    settings = brand.folder / "countermark.toml"
    settings.write_text(settings.read_text() + "max_input_mib = 1\n")
    (brand.folder / "large.svg").write_bytes(b" " * ((1 << 20) + 1))
    said = brand("vector", "import", "large.svg", "--json")
    assert (said.status, said.error["code"]) == (2, "input_too_large")


def test_a_narrower_grant_is_held_to_by_a_dry_run_too(brand: Here) -> None:
    grant = brand("grant", "narrow", "default", "--resource", "file:small.vectorcraft", "--json").data["id"]
    for more in ((), ("--dry-run",)):
        said = brand("vector", "kit", "--grant", grant, *more, "--json")
        assert (said.status, said.error["code"]) == (4, "permission_denied")
    assert not (brand.folder / "kit").exists()
    brand("grant", "revoke", grant)
    said = brand("vector", "swatch", "bind", "primary", "#1a6cff", "--grant", grant, "--json")
    assert (said.status, said.error["code"]) == (4, "grant_revoked")


@pytest.mark.parametrize(
    "arguments",
    [
        ("vector", "import", "../small.svg", "--document", "again.vectorcraft"),
        ("vector", "swatch", "bind", "primary", "#1a6cff"),
        ("vector", "kit"),
    ],
    ids=lambda arguments: arguments[1],
)
def test_a_dry_run_says_what_would_be_done_and_does_nothing(brand: Here, arguments: tuple[str, ...]) -> None:
    (brand.folder.parent / "small.svg").write_text(SMALL.format(more=""))
    before = sorted(path.name for path in brand.folder.iterdir())
    events = brand("ledger", "events", "--json").data
    said = brand(*arguments, "--dry-run", "--json")
    assert said.data["dry_run"] is True
    assert sorted(path.name for path in brand.folder.iterdir()) == before
    assert brand("ledger", "events", "--json").data == events


def test_an_output_that_is_not_ours_is_left_alone(brand: Here) -> None:
    (brand.folder / "kit").mkdir()
    (brand.folder / "kit" / "mine.txt").write_text("mine")
    said = brand("vector", "kit", "--json")
    assert (said.status, said.error["code"]) == (5, "output_exists")
    assert [path.name for path in (brand.folder / "kit").iterdir()] == ["mine.txt"]


def test_an_interrupted_kit_leaves_a_settled_task_and_no_kit(brand: Here) -> None:
    started = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "vector", "kit", "--json"],
        cwd=brand.folder,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    stage = brand.folder / ".countermark" / "stage"
    while started.poll() is None and not any(stage.iterdir()):
        pass
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=100)
    assert "Traceback" not in err
    listed = brand("task", "list", "--open", "--json").data["tasks"]
    assert listed == []
    if started.returncode == 130:
        assert not (brand.folder / "kit").exists()
        assert brand("vector", "kit").status == 0
    else:
        assert (started.returncode, bool(out)) == (0, True)
