"""Set up `.venv` for one make target: `python -I scripts/setup.py run|editor|test|lint|bench`, standard library only.

Each layer is one lock, `requirements/<layer>.txt`, installed by pip with hashes and wheels only. A stamp says what a
finished layer was made from (lock, Python, platform) and is written last; a mark says that pip is at work and is
removed last. A `.venv` whose mark remains, whose stamps differ or whose files are gone is built again from nothing, so
an interrupt at any moment costs time and never correctness. The user's PIP_* settings stay in force.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parent))  # -I leaves the script's own folder out

import parts

ROOT: Final = Path(__file__).resolve().parent.parent
VENV: Final = ROOT / ".venv"
STAMPS: Final = VENV / "countermark-stamps"
MARK: Final = STAMPS / "unfinished"
PYTHON: Final = VENV / "bin" / "python"
BUILD: Final = ROOT / "build"
LOG: Final = BUILD / "setup.log"
LOG_LIMIT: Final = 4_000_000
LAYERS: Final = ("run", "editor", "test", "lint", "bench")
# Locks that hold a smaller one whole, in the same versions (tests/test_locks.py).
LARGER: Final = {
    "run": ("editor", "test", "lint", "bench"),
    "editor": ("test", "lint", "bench"),
    "test": ("lint",),
    "lint": (),
    "bench": (),
}
# Measured on Linux x86-64 (wheels unpacked and compiled, plus pip's copies of the wheels), rounded up.
NEEDED_MB: Final = {"run": 480, "editor": 700, "test": 900, "lint": 1050, "bench": 850}
# These would make pip install somewhere else than into .venv.
MISLEADING: Final = ("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIREMENT", "PIP_PYTHON")
UNAVAILABLE: Final = 7

# Runs inside .venv: every distribution's recorded files are there with their recorded size; prints what is not.
INSPECT: Final = """
import csv
import importlib.metadata as metadata
for found in metadata.distributions():
    record = found.read_text("RECORD")
    if record is None:
        print(found.metadata["Name"] or found._path, "has no record of its files")
        continue
    # Not found.files: since Python 3.12 it leaves out what is missing.
    for name, _, size in csv.reader(record.splitlines()):
        if name.endswith(".pyc"):
            continue
        try:
            there = found.locate_file(name).stat().st_size
        except OSError:
            print(name, "is missing")
            continue
        if size and int(size) != there:
            print(name, "has another size")
"""


def stop(message: str, status: int = UNAVAILABLE) -> NoReturn:
    """Say what is wrong and end the set-up."""
    print(f"set-up: {message}", file=sys.stderr, flush=True)
    raise SystemExit(status)


def say(message: str) -> None:
    """Tell the terminal and the log."""
    print(f"set-up: {message}", flush=True)
    with LOG.open("a", encoding="utf-8") as log:
        log.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {message}\n")


def environment() -> dict[str, str]:
    """Return the caller's environment without what would lead pip or Python away from .venv."""
    return {
        name: value for name, value in os.environ.items() if name not in MISLEADING and not name.startswith("PYTHON")
    }


def run(argv: list[str], what: str) -> None:
    """Run a command with its output in the log; on failure show the log's end and stop."""
    with LOG.open("a", encoding="utf-8") as log:
        log.write(f"$ {' '.join(argv)}\n")
        log.flush()
        status = subprocess.run(
            argv, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False
        ).returncode
    if status != 0:
        tail = "\n".join(LOG.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
        print(tail, file=sys.stderr)
        stop(f"{what} failed with status {status}; the lines above are the end of {LOG.relative_to(ROOT)}.", 1)


def size_mb(folder: Path) -> float:
    """Return what a folder's files hold, in MB."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118 - ten thousand files, each time
    return total / 1e6


@contextlib.contextmanager
def step(what: str) -> Iterator[None]:
    """Print what a step took and what it added to .venv."""
    before, began = size_mb(VENV), time.monotonic()
    yield
    say(f"{what:<34} {time.monotonic() - began:6.1f} s  {size_mb(VENV) - before:+7.1f} MB")


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Hold the set-up lock; a second set-up waits for the first one and then finds its work done."""
    BUILD.mkdir(exist_ok=True)
    with (BUILD / "setup.lock").open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("set-up: another set-up of this folder is running; waiting for it.", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def made_from(*sources: Path) -> str:
    """Return the stamp's text: digests of the sources, and the Python and platform they are installed for."""
    return json.dumps(
        {
            "sources": {str(s.relative_to(ROOT)): hashlib.sha256(s.read_bytes()).hexdigest() for s in sources},
            "python": sys.version,
            "interpreter": os.path.realpath(sys._base_executable),  # type: ignore[attr-defined]  # noqa: SLF001, PTH - venv asks it too
            "platform": f"{sysconfig.get_platform()} {platform.libc_ver()}",
            "folder": str(VENV),
        },
        indent=1,
        sort_keys=True,
    )


def expected_stamps() -> dict[str, str]:
    """Return what each finished step's stamp says now."""
    locks = {layer: made_from(ROOT / "requirements" / f"{layer}.txt") for layer in LAYERS}
    return {"venv": made_from(), "project": made_from(ROOT / "pyproject.toml"), **locks}


def fault() -> str | None:
    """Return why the present .venv cannot be built upon, or None; an absent one is no fault."""
    if not VENV.exists():
        return None
    if MARK.exists():
        return f"the step {MARK.read_text(encoding='utf-8')!r} was interrupted"
    expected = expected_stamps()
    for stamp in STAMPS.iterdir() if STAMPS.is_dir() else ():
        if stamp.name != "project" and stamp.read_text(encoding="utf-8") != expected.get(stamp.name):
            return f"{stamp.name} was made from another lock, Python or platform"
    if not (STAMPS / "venv").exists():
        return "it was never finished"
    try:
        seen = subprocess.run([PYTHON, "-I", "-c", INSPECT], capture_output=True, text=True, check=False)
    except OSError as error:
        return f"its Python does not start: {error.strerror}"
    lines = (seen.stdout + seen.stderr).splitlines()
    return lines[0] if lines else None


def finish(name: str) -> None:
    """Write a step's stamp, then take its mark away."""
    (STAMPS / name).write_text(expected_stamps()[name], encoding="utf-8")
    MARK.unlink()


def begin(name: str) -> None:
    """Mark a step as at work."""
    STAMPS.mkdir(parents=True, exist_ok=True)
    MARK.write_text(name, encoding="utf-8")


def check_disk(layer: str) -> None:
    """Stop before the first byte where the disk cannot hold the layer."""
    free = shutil.disk_usage(ROOT).free / 1e6
    needed = max(NEEDED_MB[layer] - size_mb(VENV), 50)
    if free < needed:
        stop(f"{ROOT} has {free:.0f} MB free; {layer} needs about {needed:.0f} MB. Free some space and run it again.")


def make_venv() -> None:
    """Create .venv with pip in it."""
    with step("virtual environment"):
        run([sys.executable, "-I", "-m", "venv", "--clear", str(VENV)], "creating .venv")
        begin("venv")
        finish("venv")


def install(layer: str) -> None:
    """Install one lock, by hash, from wheels only."""
    lock = ROOT / "requirements" / f"{layer}.txt"
    with step(f"libraries ({lock.relative_to(ROOT)})"):
        begin(layer)
        # pip would compile on one processor, for a third of its time.
        pip("--no-compile", "--require-hashes", "--only-binary", ":all:", "--requirement", str(lock))
        compile_all(VENV / "lib")
        finish(layer)


def install_project() -> None:
    """Install the project itself, editable, with the locked build backend and no look at any registry."""
    with step("countermark itself"):
        begin("project")
        pip("--no-deps", "--no-build-isolation", "--no-index", "--editable", str(ROOT))
        compile_all(ROOT / "src")
        finish("project")


def compile_all(folder: Path) -> None:
    """Compile what is imported on all processors, so that no start does: many shells forbid Python to write it then."""
    argv = [str(PYTHON), "-I", "-m", "compileall", "-q", "-j", "0", str(folder)]
    # Templates and old syntax that nobody imports do not compile; nothing depends on what is only faster.
    subprocess.run(argv, env=environment(), capture_output=True, check=False)


def pip(*arguments: str) -> None:
    """Run .venv's pip install."""
    run([str(PYTHON), "-I", "-m", "pip", "install", "--no-input", "--progress-bar", "off", *arguments], "pip")


def stamped(name: str) -> bool:
    """Tell whether a step is finished and made from what is here now."""
    stamp = STAMPS / name
    return stamp.exists() and stamp.read_text(encoding="utf-8") == expected_stamps()[name]


def main(layer: str) -> None:
    """Bring .venv and this machine to what the layer needs; do nothing that is already done."""
    began, machine = time.monotonic(), parts.this_machine()
    with alone():
        if LOG.exists() and LOG.stat().st_size > LOG_LIMIT:
            LOG.unlink()
        with LOG.open("a", encoding="utf-8") as log:
            log.write(f"--- {time.strftime('%Y-%m-%dT%H:%M:%S')} {layer} in {ROOT} by Python {sys.version}\n")
        if why := fault():
            say(f".venv is built again: {why}")
            shutil.rmtree(VENV)
        todo = [name for name in ("venv", layer, "project") if not any(map(stamped, (name, *LARGER.get(name, ()))))]
        if todo:
            check_disk(layer)
        if "venv" in todo:
            parts.provide_venv(machine, say, stop)
            make_venv()
        if layer in todo:
            install(layer)
        if "project" in todo:
            install_project()
        parts.provide(layer, PYTHON, machine, say, stop)
        if todo:
            say(f"done in {time.monotonic() - began:.1f} s; .venv holds {size_mb(VENV):.0f} MB; log: build/setup.log")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in LAYERS:  # noqa: PLR2004 - the script and one layer
        stop(f"name one of {', '.join(LAYERS)}", 2)
    try:
        main(sys.argv[1])
    except KeyboardInterrupt:
        stop("interrupted; run the same command again to go on.", 130)
