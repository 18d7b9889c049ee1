"""Set-up survives interrupts, notices what changed, and lets one run at a time work."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest

# One worker builds the environment that most of these tests look at.
pytestmark = pytest.mark.xdist_group("set-up")

SCRIPTS: Final = Path(__file__).resolve().parents[2] / "scripts"

# A build backend of a few lines, so that a real set-up needs no network.
BACKEND: Final = """
import zipfile
FILES = {
    "tiny.pth": "",
    "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n",
    "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
}
def get_requires_for_build_editable(config_settings=None): return []
def build_editable(folder, config_settings=None, metadata_directory=None):
    name = "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        for path, text in FILES.items(): wheel.writestr(path, text)
        wheel.writestr("tiny-1.0.dist-info/RECORD", "".join(f"{path},,{len(text)}\\n" for path, text in FILES.items()))
    return name
"""
PYPROJECT: Final = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "tiny"
version = "1.0"
"""


def make_project(folder: Path) -> Path:
    """Make a project whose locks are empty, so that a real set-up takes seconds and no network."""
    (folder / "requirements").mkdir(parents=True)
    for layer in ("run", "editor", "test", "lint", "bench"):
        (folder / "requirements" / f"{layer}.txt").write_text("# nothing\n", encoding="utf-8")
    (folder / "backend.py").write_text(BACKEND, encoding="utf-8")
    (folder / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    shutil.copytree(SCRIPTS, folder / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a project that is set up already, by a user whose pip would install elsewhere; leave it as it was."""
    folder = make_project(tmp_path_factory.mktemp("built") / "project")
    moved = {"PIP_TARGET": str(folder / "elsewhere"), "PIP_USER": "1", "PYTHONHOME": ""}
    printed(set_up(folder, PIP_LOG=str(folder / "pip.log"), **moved))
    return folder


def set_up(project: Path, layer: str = "lint", **environment: str) -> subprocess.Popen[str]:
    """Start the real script; the layer `lint` is the one that asks nothing of the machine."""
    return subprocess.Popen(
        ["/bin/sh", "scripts/setup.sh", layer],
        cwd=project,
        env={**os.environ, "PYTHON": sys.executable, "COUNTERMARK_NO_APT": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def printed(process: subprocess.Popen[str], status: int = 0) -> str:
    text, _ = process.communicate()
    assert process.returncode == status, text
    return text


def stamps(project: Path) -> set[str]:
    return {path.name for path in (project / ".venv" / "countermark-stamps").iterdir()}


def fault(project: Path) -> str | None:
    """Ask the project's own script, in this process, whether its environment can be built upon."""
    spec = importlib.util.spec_from_file_location("set_up_of_a_test", project / "scripts" / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: str | None = module.fault()
    return found


@pytest.mark.promise("house.setup.interrupt")
def test_a_killed_set_up_is_repaired_by_the_next_one(project: Path) -> None:
    (project / ".venv" / "bin").mkdir(parents=True)
    first = set_up(project)
    assert first.stdout is not None
    assert first.stdout.readline() == "set-up: .venv is built again: it was never finished\n"
    assert first.stdout.readline().startswith("set-up: virtual environment")
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    assert not {"lint", "project"} <= stamps(project)
    printed(set_up(project))
    assert stamps(project) == {"venv", "lint", "project"}
    assert fault(project) is None


def test_what_is_done_is_not_done_again(built: Path) -> None:
    assert printed(set_up(built)) == ""


def test_a_layer_that_a_finished_one_holds_is_not_installed_again(built: Path) -> None:
    # What `run` still lacks on Linux is Skia, which this project does not install.
    text = printed(set_up(built, "run"), status=7 if sys.platform == "linux" else 0)
    assert "requirements/run.txt" not in text


@pytest.mark.promise("house.setup.interrupt")
@pytest.mark.parametrize(
    ("place", "text", "why"),
    [
        (".venv/countermark-stamps/unfinished", "lint", "the step 'lint' was interrupted"),
        (".venv/countermark-stamps/venv", None, "it was never finished"),
        ("requirements/lint.txt", "# nothing new\n", "lint was made from another lock, Python or platform"),
        (".venv/bin/python", None, "its Python does not start: No such file or directory"),
        (".venv/lib/*/site-packages/tiny-1.0.dist-info/WHEEL", None, "tiny-1.0.dist-info/WHEEL is missing"),
        (".venv/lib/*/site-packages/tiny.pth", "\n", "tiny.pth has another size"),
        (".venv/lib/*/site-packages/tiny-1.0.dist-info/RECORD", None, "tiny has no record of its files"),
    ],
)
def test_an_environment_that_cannot_be_trusted_is_known(built: Path, place: str, text: str | None, why: str) -> None:
    found = sorted(built.glob(place))
    path = found[0] if found else built / place
    aside = built / "aside"
    try:
        if found:
            path.rename(aside)
        if text is not None:
            path.write_text(text, encoding="utf-8")
        seen = fault(built)
    finally:
        path.unlink(missing_ok=True)
        if found:
            aside.rename(path)
    assert seen is not None
    assert seen.endswith(why)
    assert fault(built) is None


def test_two_set_ups_at_once_do_the_work_once(project: Path) -> None:
    both = [set_up(project), set_up(project)]
    texts = sorted((printed(process) for process in both), key=len)
    assert texts[0] == "set-up: another set-up of this folder is running; waiting for it.\n"
    assert texts[1].count("virtual environment") == 1


def test_the_users_pip_settings_are_honoured_but_cannot_move_the_install(built: Path) -> None:
    assert (built / "pip.log").exists()
    assert not (built / "elsewhere").exists()


@pytest.mark.promise("house.setup.locked")
def test_a_requirement_without_a_digest_is_refused(built: Path) -> None:
    with zipfile.ZipFile(built / "other-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("other-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
        wheel.writestr("other-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("other-1.0.dist-info/RECORD", "")
    (built / "requirements" / "bench.txt").write_text("other==1.0\n", encoding="utf-8")
    text = printed(set_up(built, "bench", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(built)), status=1)
    (built / ".venv" / "countermark-stamps" / "unfinished").unlink()
    assert "Hashes are required in --require-hashes mode" in text
    assert "the lines above are the end of build/setup.log" in text
    assert "Traceback" not in text


def test_a_python_that_is_too_old_is_named(project: Path) -> None:
    old = project / "python"
    old.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    old.chmod(0o755)
    assert "no Python 3.11 or newer found" in printed(set_up(project, PYTHON=str(old)), status=7)
