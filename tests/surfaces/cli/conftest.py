"""The program, run as its users run it: in a workspace of its own, with a scripted domain where effects are needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from countermark.kernel import grant, publish
from countermark.kernel.adapter import Adapter
from countermark.kernel.ledger import Tx
from countermark.kernel.perform import Performed
from countermark.kernel.plan import Plan
from countermark.kernel.workspace import Workspace
from countermark.surfaces.cli.program import run
from countermark.testkit.adapter import ScriptedAdapter, World

SCRIPTED: Final = Path(__file__).with_name("scripted.py")
SOURCES: Final = Path(__file__).resolve().parents[3] / "src"
PROGRAM: Final = "from countermark.surfaces.cli import main; main()"


class Said(NamedTuple):
    """What a command left: its exit status and both streams."""

    status: int
    out: str
    err: str

    @property
    def wire(self) -> dict[str, Any]:
        """The envelope, which has to agree with the exit status."""
        wire: dict[str, Any] = json.loads(self.out)
        assert wire["exit"] == self.status
        assert wire["ok"] == (self.status == 0)
        assert set(wire) == {"ok", "command", "data" if wire["ok"] else "error", "exit"}
        return wire

    @property
    def data(self) -> dict[str, Any]:
        """What the envelope brings."""
        data: dict[str, Any] = self.wire["data"]
        return data

    @property
    def error(self) -> dict[str, Any]:
        """The envelope's error, whose four members are always there."""
        error: dict[str, Any] = self.wire["error"]
        assert set(error) == {"code", "message", "next", "details"}
        assert error["message"]
        assert error["next"]
        return error


class Here:
    """The program in this process, in a folder; `adapters` stands for what is installed."""

    def __init__(
        self,
        folder: Path,
        capsys: pytest.CaptureFixture[str],
        adapters: Callable[[], Sequence[Adapter]] | None = None,
    ) -> None:
        self.folder = folder
        self._capsys = capsys
        self._adapters = adapters

    def __call__(self, *arguments: str, env: Mapping[str, str] | None = None) -> Said:
        """Run a command in the folder."""
        before, there = dict(os.environ), Path.cwd()
        os.environ.update(env or {})
        os.chdir(self.folder)
        self._capsys.readouterr()
        try:
            status = run(arguments, adapters=self._adapters)
        finally:
            os.chdir(there)
            os.environ.clear()
            os.environ.update(before)
        out, err = self._capsys.readouterr()
        assert "Traceback" not in out + err
        return Said(status, out, err)

    def json(self, *arguments: str) -> Said:
        """Run a command with --json."""
        said = self(*arguments, "--json")
        assert said.wire["command"]
        return said


class Desk(Here):
    """A workspace with a scripted domain, and the program in front of it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__(folder / "space", capsys, lambda: [self.adapter])
        self.outside = folder
        self.space_path = folder / "space"
        (folder / "world").mkdir()
        self.world = World(folder / "world")
        self.adapter = ScriptedAdapter(self.world)
        with self.open(create=True) as space:
            self._grant(space)

    def open(self, *, create: bool = False) -> Workspace:
        """Open the workspace as another program would."""
        if create:
            return Workspace.create(self.space_path, adapters=[self.adapter])
        return Workspace(self.space_path, adapters=[self.adapter])

    def _grant(self, space: Workspace) -> None:
        for name, acceptance in (("test", "checks"), ("reviewed", "person")):

            def issue(tx: Tx, name: str = name, acceptance: Any = acceptance) -> None:
                terms = grant.Terms(("test",), ("",), acceptance=acceptance)
                grant.issue(tx, grant.Grant(name, None, (), "test", "test", terms, tx.now))

            space.ledger.apply(issue)

    def perform(self, resource: str = "file:doc.txt", *, word: str = "test.staged", **more: Any) -> Performed:
        """Have one scripted effect, against what is there."""
        payload = more.pop("payload", {"text": "hello"})
        grant_id = more.pop("grant", "test")
        with self.open() as space:
            token = self.adapter.observe(resource)
            revision = token if token is not None else publish.observe(space, resource)
            plan = Plan("scripted", word, word, (resource,), payload)
            return space.perform(plan, grant=grant_id, revision=revision, **more)

    def start(self, script: Mapping[str, Sequence[str]], *arguments: str) -> subprocess.Popen[str]:
        """Start the scripted program as a process of its own, in the workspace."""
        return subprocess.Popen(
            [sys.executable, str(SCRIPTED), str(self.outside), json.dumps(script), *arguments],
            cwd=self.space_path,
            env={**os.environ, "PYTHONPATH": str(SOURCES)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def abandon(self, key: str = "k", *, word: str = "test.staged", fault: str = "die") -> str:
        """Have a process die in the middle of an effect; return the task it leaves."""
        started = self.start(
            {key: [fault]}, "perform", word, "file:doc.txt" if word == "test.staged" else "world:a", key
        )
        started.communicate(timeout=110)
        assert started.returncode < 0
        with self.open() as space:
            row = space.ledger.read(lambda tx: tx.one("SELECT id FROM tasks WHERE key = ?", (key,)))
        assert row is not None
        return str(row[0])


def program(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None, **more: Any) -> Said:
    """Run the installed program as a process of its own."""
    whole = {**os.environ, "PYTHONPATH": str(SOURCES), **(env or {})}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=cwd,
        env=whole,
        capture_output=True,
        check=False,
        timeout=110,
        **more,
    )
    said = Said(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in said.out + said.err
    return said


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    for name in ("COUNTERMARK_WORKSPACE", "COUNTERMARK_LOG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Desk(tmp_path, capsys)
