"""The witness counts what really happened, and nothing that it judges can reach it."""

from __future__ import annotations

import ast
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from countermark.testkit.witness import Witness, WitnessClient, count, effects
from tests.conftest import ROOT

PACKAGE: Final = ROOT / "src" / "countermark"
# The test kit is itself; the surfaces show the count of a demonstration.
OUTSIDE: Final = ("testkit", "surfaces")


def test_every_word_is_on_the_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    with Witness(tmp_path) as witness:
        for name in ("a", "b", "a", 'odd "name"\n'):
            witness.saw(name)
            assert witness.effects()[-1] == name
        assert (witness.count(), witness.count("a"), witness.count("c")) == (4, 2, 0)
    assert count(tmp_path / "effects.jsonl") == 4, "the file outlives the witness"


def test_an_effect_that_nobody_wrote_down_is_an_error_for_its_teller(tmp_path: Path) -> None:
    with Witness(tmp_path) as witness:
        witness.saw("a")
    with pytest.raises(OSError, match=r"refused|No such file"):
        WitnessClient(witness.socket).saw("b")
    assert witness.effects() == ["a"]


def test_a_teller_killed_in_the_middle_of_a_word_leaves_no_count(tmp_path: Path) -> None:
    with Witness(tmp_path) as witness:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as torn:
            torn.connect(str(witness.socket))
            torn.sendall(b'"half')
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as nonsense:
            nonsense.connect(str(witness.socket))
            nonsense.sendall(b"not JSON\n")
            assert nonsense.recv(8) == b"", "hung up on, without an acknowledgement"
        witness.saw("whole")
        assert witness.effects() == ["whole"]


def test_many_tellers_lose_nothing(tmp_path: Path) -> None:
    tell = "import sys; from countermark.testkit.witness import WitnessClient as W; w = W(sys.argv[1])\n"
    tell += "for n in range(50): w.saw(sys.argv[2])"
    with Witness(tmp_path) as witness:
        argv = [sys.executable, "-c", tell, str(witness.socket)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        tellers = [subprocess.Popen([*argv, name], env=environment) for name in ("a", "b", "c")]
        assert [teller.wait() for teller in tellers] == [0, 0, 0]
        assert [witness.count(name) for name in ("a", "b", "c")] == [50, 50, 50]


def test_a_line_that_was_cut_short_does_not_count(tmp_path: Path) -> None:
    file = tmp_path / "effects.jsonl"
    assert effects(file) == []
    file.write_bytes(b'"a"\n"b"\n"c')
    assert effects(file) == ["a", "b"]


def test_a_witness_ends_with_whoever_started_it(tmp_path: Path) -> None:
    owner = "import sys; from pathlib import Path; from countermark.testkit.witness import Witness\n"
    owner += "Witness(Path(sys.argv[1])).__enter__(); import os; os._exit(0)"
    argv = [sys.executable, "-c", owner, str(tmp_path)]
    # The witness holds the owner's standard error open, so this returns when both have ended.
    subprocess.run(argv, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, check=True)
    with pytest.raises(OSError, match="refused"):
        WitnessClient(tmp_path / "witness.sock").saw("a")


def imported(path: Path) -> Iterator[str]:
    """Yield what a module imports, and every text in it that could be a name to import."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module or ''}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.promise("kernel.witness.out-of-reach")
def test_nothing_that_is_judged_can_name_the_witness() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in OUTSIDE]
    assert modules
    reaching = {
        str(path.relative_to(PACKAGE)): name
        for path in modules
        for name in imported(path)
        if "countermark.testkit" in name or name.startswith(("testkit", ".testkit"))
    }
    assert reaching == {}


def test_a_module_that_names_the_witness_would_be_found(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    for text in (
        "from countermark.testkit.witness import count",
        "from countermark.testkit import witness",
        "import countermark.testkit.witness as w",
        "import importlib\nimportlib.import_module('countermark.testkit.witness')",
    ):
        module.write_text(text)
        assert any("countermark.testkit" in name for name in imported(module))
