"""The demo of scenes as a whole, played once; what each of its moments would say if it did not hold; its end."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import compact
from countermark.kernel.reply import Answered
from countermark.record.scoreboard import Moment
from countermark.surfaces.cli.demo import diagram, place, scene
from countermark.surfaces.cli.demo.agent import asked, heard
from countermark.surfaces.cli.demo.transcript import WIDEST
from countermark.surfaces.cli.program import run
from countermark.testkit.witness import effects

from .conftest import PROGRAM, SOURCES, program

# The one run is for all tests of this file, and it ends with the page that a last test enters.
pytestmark = [pytest.mark.xdist_group("demo"), pytest.mark.timeout(400)]

ROOT: Final = Path(__file__).resolve().parents[3]
AT_THE_PAGE: Final = "until Ctrl-C."


class Played(NamedTuple):
    """One run of the demo that still serves its page: what it said before, and the address it named."""

    child: subprocess.Popen[str]
    folder: Path
    text: str
    start: str

    @property
    def home(self) -> Path:
        return self.folder / place.SCENES

    @property
    def file(self) -> Path:
        return self.home / diagram.FILE


def begun(folder: Path, *options: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", PROGRAM, "demo", "scene", "--into", str(folder), *options]
    env = {**os.environ, "PYTHONPATH": str(SOURCES), "PYTHONUTF8": "1", "COUNTERMARK_WORKSPACE": "/nowhere"}
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    folder = tmp_path_factory.mktemp("demo") / "into"
    child = begun(folder, "--serve")
    assert child.stdout
    lines: list[str] = []
    ended = False
    for line in child.stdout:
        lines.append(line)
        ended = ended or line.endswith(" held\n")
        if ended and line.startswith("open "):
            break
    text = "".join(lines)
    assert ended, text[-3000:]
    assert "4 of 4 held" in text, text[-3000:]
    yield Played(child, folder, text, lines[-1].split()[-1])
    child.kill()
    child.communicate()


@pytest.mark.promise("house.demo.four-moments")
def test_every_moment_holds_in_the_words_of_the_scoreboard(played: Played) -> None:
    board = played.text.partition("\nThe four moments\n")[2]
    for moment in Moment:
        when, outcome = moment.value.split(" → ")
        assert when in board
        assert f"→ {outcome}" in board
        assert f"{when} → {outcome}" in " ".join(played.text.split())


def test_the_agent_is_called_scripted_and_the_persons_side_too(played: Played) -> None:
    speakers = {line for line in played.text.splitlines() if re.match(r"[a-z].*scripted|scripted", line)}
    assert speakers == {"scripted MCP client", "person's page, scripted"}


def test_the_diagram_is_a_real_one_whose_arrows_hold_on_at_both_ends(played: Played) -> None:
    held = {one["id"]: one for one in scene.elements(played.file)}
    for wanted in diagram.ARROWS:
        arrow = held[wanted["element"]["id"]]
        for end, given in (("startBinding", "startElementId"), ("endBinding", "endElementId")):
            assert arrow[end]["elementId"] == wanted["element"][given]
            assert arrow["id"] in [one["id"] for one in held[arrow[end]["elementId"]]["boundElements"]]
    words = {one["text"]: one["containerId"] for one in held.values() if one["type"] == "text"}
    assert words == {
        "How a change gets in": None,
        "Idea": "idea",
        "Draft": "draft",
        "Review": "review",
        "ready": "to-review",
        scene.NOTE: None,
    }
    assert held["review"]["backgroundColor"] == scene.YELLOW
    assert "\n  elements  2 arrows, 1 diamond, 1 ellipse, 1 rectangle, 5 texts\n" in played.text


@pytest.mark.promise("house.demo.witness")
def test_the_witness_has_one_line_and_the_ledger_one_row_for_each_save(played: Played) -> None:
    assert effects(played.folder / place.WITNESS / "reply-lost.jsonl") == [diagram.FILE]
    tasks = program("task", "list", "--json", cwd=played.home).data["tasks"]
    assert [one["resources"] for one in tasks] == [[f"scene:{diagram.SCENE}"]] * 4
    requests = [one["idempotencyKey"].partition("/request/")[2] for one in reversed(tasks)]
    assert requests == ["draw-boxes", "draw-arrows", "person-yellow", scene.LOST]
    assert [one["authorizationRef"] for one in reversed(tasks)][2] == "page"
    assert [path.name for path in played.home.glob("*.excalidraw")] == [diagram.FILE]


@pytest.mark.promise("house.demo.real-output")
def test_what_stands_beneath_the_last_verification_is_what_that_command_prints(played: Played) -> None:
    shown = played.text.rpartition(f"$ countermark receipt verify {diagram.FILE}\n")[2].partition("\n\n")[0]
    said = program("receipt", "verify", diagram.FILE, cwd=played.home)
    assert (said.status, said.out.split()) == (0, shown.split())


def test_the_lines_fit_the_page_and_hold_no_colour_where_nobody_looks(played: Played) -> None:
    assert "\x1b" not in played.text
    too_long = [line for line in played.text.splitlines() if len(line) > WIDEST]
    widest = [max(line.split(), key=len) for line in too_long]
    assert all("/" in word for word in widest), "only a path or an address may be longer"


def test_it_ends_with_an_address_that_opens_the_page_and_with_ctrl_c_nothing_of_it_is_left(played: Played) -> None:
    where = urlsplit(played.start)
    line = http.client.HTTPConnection(str(where.hostname), where.port or 0, timeout=30)
    line.request("GET", f"{where.path}?{where.query}")
    came = line.getresponse()
    came.read()
    cookie = str(came.headers["set-cookie"]).partition(";")[0]
    line.request("GET", f"/dsh-excalidraw/api/scenes/{diagram.SCENE}", headers={"Cookie": cookie})
    wire = json.loads(line.getresponse().read())
    assert wire["scene"] == json.loads(played.file.read_bytes())
    line.close()
    played.child.send_signal(signal.SIGINT)
    out, err = played.child.communicate(timeout=60)
    assert (played.child.returncode, err) == (0, "")
    assert out.endswith("nothing of it runs any more.\n")
    with pytest.raises(ConnectionRefusedError):
        line.request("GET", "/")


@pytest.mark.parametrize("options", [("vector", "--serve"), ("scene", "--serve", "--json"), ("circuit",)])
def test_what_does_not_go_together_is_a_usage_error_before_anything_is_made(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    said = program("demo", "--into", "into", *options, cwd=tmp_path)
    assert said.status == 2
    assert list(tmp_path.iterdir()) == []


def test_without_a_terminal_it_ends_by_itself_and_names_the_command_that_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The way of the end alone: nothing is played, so no moment held, and the exit status says so.
    monkeypatch.setattr(diagram, "begin", lambda _: None)
    monkeypatch.setattr(scene, "play", lambda *_: iter(()))
    assert run(["demo", "scene", "--into", str(tmp_path / "into")]) == 1
    out, err = capsys.readouterr()
    assert "0 of 4 held" in out
    assert f"page   countermark serve {tmp_path / 'into' / place.SCENES}\n" in out
    assert out.rstrip().endswith("which works once.")
    assert "demo_failed" in err


def test_an_arrow_that_came_loose_is_told_and_no_diagram_is_shown(played: Played, tmp_path: Path) -> None:
    told = scene.bound(played.file)
    assert "to-draft holds on to idea and draft" in told
    whole = json.loads(played.file.read_bytes())
    for one in whole["elements"]:
        if one["id"] == "draft":
            one["boundElements"] = []
    loose = tmp_path / diagram.FILE
    loose.write_text(json.dumps(whole))
    with pytest.raises(CountermarkError, match="to-draft came loose"):
        scene.bound(loose)


def test_a_call_shows_each_element_on_a_line_and_an_answer_what_a_person_wants_to_know() -> None:
    lines = asked({"name": "plan", "elements": [{"id": "a"}, {"id": "b"}]})
    assert lines == ['{"name":"plan", "elements":[', '  {"id":"a"},', '  {"id":"b"}', "]}"]
    assert asked({"name": "plan"}) == ['{"name":"plan"}']
    assert json.loads("".join(lines)) == {"name": "plan", "elements": [{"id": "a"}, {"id": "b"}]}
    data: dict[str, Any] = {"ok": True, "revision": 4, "duplicate": True, "sha256": "ab" * 32, "summary": "Done."}
    assert heard(Answered(({"type": "text", "text": compact(data)},), data)) == "revision 4, duplicate true. Done."


def test_make_demo_scene_sets_up_the_page_and_plays_it() -> None:
    make = shutil.which("make")
    if make is None:
        text = (ROOT / "Makefile").read_text("utf-8")
    else:
        text = subprocess.run(
            [make, "-n", "demo-scene", "ARGS=--serve"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
    order = [text.index(part) for part in ("setup.sh editor", "editor/build.py --install", "countermark demo scene")]
    assert order == sorted(order)
