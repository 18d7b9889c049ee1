"""`countermark serve` as a person starts and ends it: a process of its own, asked over its own address."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root
from countermark.kernel.lock import Lock
from countermark.kernel.workspace import Workspace
from countermark.surfaces.cli.serve import helped

from .conftest import PROGRAM, SOURCES, program

API = "/dsh-excalidraw/api"
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start servers; whatever still runs in the end is killed."""
    running: list[subprocess.Popen[str]] = []

    def one(*arguments: str) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "serve", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(SOURCES), "COUNTERMARK_EDITOR": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(child)
        return child

    yield one
    for child in running:
        child.kill()
        child.communicate()


def said(child: subprocess.Popen[str]) -> dict[str, Any]:
    assert child.stdout
    wire = json.loads(child.stdout.readline())
    assert (wire["ok"], wire["command"], wire["exit"]) == (True, "serve", 0)
    data: dict[str, Any] = wire["data"]
    return data


def entered(data: dict[str, Any]) -> tuple[http.client.HTTPConnection, dict[str, str]]:
    """Return a connection and the headers of a browser that used the start address."""
    where, start = urlsplit(data["address"]), urlsplit(data["start"])
    connection = http.client.HTTPConnection(str(where.hostname), where.port or 0, timeout=30)
    connection.request("GET", f"{start.path}?{start.query}")
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 303
    headers = {"Cookie": str(answer.headers["set-cookie"]).partition(";")[0], "Origin": data["address"]}
    return connection, {**headers, "Content-Type": "application/json"}


def ended(child: subprocess.Popen[str], by: signal.Signals = signal.SIGINT) -> tuple[int, str, str]:
    child.send_signal(by)
    out, err = child.communicate(timeout=60)
    return child.returncode, out, err


@pytest.mark.promise("scene.serve.nothing-left")
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_served_folder_becomes_a_workspace_and_after_the_end_nothing_is_left_of_the_server(
    start: Start, tmp_path: Path, by: signal.Signals
) -> None:
    child = start("drawings", "--json")
    data = said(child)
    assert (data["made"], data["editor"], data["folder"]) == (True, False, str(tmp_path / "drawings"))
    connection, headers = entered(data)
    connection.request("POST", f"{API}/scenes", json.dumps({"name": "plan"}), headers)
    made = json.loads(connection.getresponse().read())
    assert made["revision"] == 1
    assert "unledgered" not in made
    stream, _ = http.client.HTTPConnection("127.0.0.1", connection.port, timeout=30), headers
    stream.request("GET", f"{API}/events", headers=headers)
    events = stream.getresponse()
    assert events.readline() == b"event: hello\n"

    status, out, err = ended(child, by)
    assert (status, out, err) == (0, "", "")
    assert events.read().endswith(b"event: bye\ndata: {}\n\n")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", connection.port), timeout=5)
    connection.close()
    stream.close()
    space = tmp_path / "drawings"
    assert list((space / ".countermark/locks").glob("r-*")) == []
    assert list((space / ".dsh-excalidraw/locks").glob("*.lock")) == []
    with Root(space / ".dsh-excalidraw/locks") as locks:
        lock = Lock(locks, "plan.flock")
        with lock.hold(0.0):
            pass
        lock.close()
    assert children_of(child.pid) == []
    with Workspace(space) as workspace:
        kinds = [event.kind for event in workspace.ledger.events()]
        assert "journalled" in kinds


def children_of(pid: int) -> list[str]:
    """Return the processes whose parent a process was, where the system tells."""
    found = subprocess.run(["ps", "-eo", "ppid=,pid="], capture_output=True, text=True, check=True).stdout
    return [line for line in found.splitlines() if line.split()[0] == str(pid)]


def test_a_person_reads_where_it_is_what_was_made_and_that_it_ended(start: Start, tmp_path: Path) -> None:
    child = start("drawings")
    assert child.stdout
    lines = [child.stdout.readline() for _ in range(5)]
    assert lines[0].startswith(f"Made .countermark in {tmp_path / 'drawings'}")
    assert "http://127.0.0.1:" in lines[2]
    assert "/start?token=" in lines[2]
    assert "countermark mcp --tools scene" in lines[3]
    assert "make editor" in lines[4]
    status, out, err = ended(child)
    assert (status, err) == (0, "")
    assert out.startswith("Stopped")


def test_a_folder_that_is_a_workspace_is_served_as_it_is(start: Start, tmp_path: Path) -> None:
    Workspace.create(tmp_path / "space").close()
    before = (tmp_path / "space/countermark.toml").read_bytes()
    child = start("space", "--json")
    assert said(child)["made"] is False
    assert ended(child)[0] == 0
    assert (tmp_path / "space/countermark.toml").read_bytes() == before


def test_a_port_that_is_taken_is_told_in_three_lines_and_nothing_goes_on(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = str(taken.getsockname()[1])
        told = program("serve", "drawings", "--port", port, cwd=tmp_path)
    assert told.status == 5
    assert "resource_busy" in told.err
    assert len(told.err.splitlines()) == 3
    assert list((tmp_path / "drawings/.countermark/locks").glob("r-*")) == []


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    told = program("serve", "file", "--json", cwd=tmp_path)
    assert told.status != 0
    assert told.error["next"]


def test_a_drawings_folder_and_limits_of_the_workspaces_own_are_used(start: Start, tmp_path: Path) -> None:
    Workspace.create(tmp_path / "space").close()
    (tmp_path / "space/inner").mkdir()
    with (tmp_path / "space/countermark.toml").open("a", encoding="utf-8") as file:
        file.write('\n[scene]\ndrawingsDir = "inner"\nmaxElements = 2\nmaxFiles = 9999\nunknown = 1\n')
    child = start("space", "--json")
    connection, headers = entered(said(child))
    connection.request("GET", f"{API}/health", headers=headers)
    health = json.loads(connection.getresponse().read())
    assert health["drawingsDir"] == str(tmp_path / "space/inner")
    assert (health["limits"]["maxElements"], health["limits"]["maxFiles"]) == (2, 64)
    boxes = [{"type": "rectangle", "x": 0, "y": 0, "width": 1, "height": 1}] * 3
    connection.request("POST", f"{API}/scenes", json.dumps({"name": "plan", "elements": boxes}), headers)
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["error"]["code"]) == (422, "too_many_elements")
    connection.request("POST", f"{API}/scenes", json.dumps({"name": "plan"}), headers)
    assert connection.getresponse().read()
    assert (tmp_path / "space/inner/plan.excalidraw").exists()
    connection.close()
    assert ended(child)[0] == 0


def test_a_folder_whose_ledger_is_broken_is_refused_with_a_way_to_go_on_drawing(start: Start, tmp_path: Path) -> None:
    Workspace.create(tmp_path / "space").close()
    ledger = tmp_path / "space" / ".countermark" / "ledger.sqlite"
    ledger.write_bytes(b"no database" * 1000)
    child = start("space", "--json")
    wire = json.loads(child.communicate(timeout=60)[0])
    assert (child.returncode, wire["error"]["code"]) == (1, "ledger_broken")
    assert "keep their revisions" in wire["error"]["next"]
    for name in (".countermark", "countermark.toml"):
        (tmp_path / "space" / name).rename(tmp_path / name)
    data = said(start("space", "--json"))
    assert data["made"] is True


def test_a_folder_that_cannot_be_written_is_refused_with_a_way_to_go_on_drawing() -> None:
    refusal = CountermarkError("disk_read_only", "No permission.", next_action="Make it writable.", details={"a": 1})
    told = helped(refusal)
    assert (told.code, told.sentence, told.details) == (refusal.code, refusal.sentence, refusal.details)
    assert told.next_action == "Make it writable. Or copy the scenes into a folder of yours, and serve that."
    other = CountermarkError("not_found", "No.", next_action="Look.")
    assert helped(other) is other
