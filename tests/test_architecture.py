"""The map holds: who may touch the disk, who may start a process, who may import whom.

A crash test can stop the world only at named points, so every effect on the machine has to pass one. That is shown by
reading the syntax trees of the whole package: the calls below stand nowhere but in the two modules that hold the
points, each in a function that passes one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = ROOT / "src" / "countermark"
FILES: Final = "kernel/files.py"
CHILD: Final = "kernel/child.py"

OS_WRITES: Final = """
    chflags chmod chown copy_file_range fchmod fchown fdatasync fsync ftruncate lchown link makedirs mkdir mkfifo mknod
    posix_fallocate pwrite pwritev remove removedirs removexattr rename renames replace rmdir sendfile setxattr splice
    symlink sync truncate unlink utime write writev
"""
OS_SPAWNS: Final = """
    execl execle execlp execlpe execv execve execvp execvpe fork forkpty popen posix_spawn posix_spawnp spawnl spawnle
    spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe system
"""
SHUTIL: Final = """
    chown copy copy2 copyfile copyfileobj copymode copystat copytree make_archive move rmtree unpack_archive
"""
OTHERS: Final = """
    logging.FileHandler numpy.memmap numpy.save numpy.savetxt numpy.savez numpy.savez_compressed skia.FILEWStream
    sqlite3.connect
"""
WRITES: Final = frozenset(
    [f"os.{name}" for name in OS_WRITES.split()] + [f"shutil.{name}" for name in SHUTIL.split()] + OTHERS.split()
)
SPAWNS: Final = frozenset(
    [f"os.{name}" for name in OS_SPAWNS.split()]
    + ["asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell", "concurrent.futures.ProcessPoolExecutor"]
)
SUBPROCESS: Final = frozenset(f"subprocess.{name}" for name in ("Popen", "call", "check_call", "check_output", "run"))
# Whole modules whose business is an effect; what they offer is not looked at one by one.
MODULES: Final = {
    "subprocess": (CHILD,),
    "multiprocessing": (),
    "pty": (),
    "webbrowser": (),
    "tempfile": (),
    "dbm": (),
    "shelve": (),
    # A system call without a Python name can be any effect: renameat2 in files; openat2 for reading in beneath; the
    # boot's and a process's identity on macOS in identity.
    "ctypes": (FILES, "kernel/beneath.py", "kernel/identity.py"),
}
# With none of these flags a descriptor can only be read.
FLAGS: Final = frozenset(
    f"os.{name}" for name in ("O_APPEND", "O_CREAT", "O_EXCL", "O_RDWR", "O_TMPFILE", "O_TRUNC", "O_WRONLY")
)
# Methods of paths, files and pictures. `replace` and `rename` are told from those of text and tables by their shape.
METHODS: Final = frozenset(
    ("hardlink_to", "symlink_to", "touch", "write_text", "write_bytes", "mkdir", "rmdir", "unlink", "chmod", "tofile")
)
OPENING: Final = frozenset({"buffering", "closefd", "encoding", "errors", "file", "mode", "newline", "opener"})
# Where else one of these names may stand, and why.
ALLOWED: Final = {
    ("kernel/backup.py", "sqlite3.connect"): "reads another ledger by a URI with mode=ro",
    ("vector/engine.py", "os.write"): "answers through the standard output it was started with",
    ("scene/desk.py", ".save"): "a scene's save, which goes through the store",
    ("scene/governed.py", ".save"): "likewise; not a picture's",
    ("typeset/merge.py", ".save"): "a font, into memory",
    ("vector/pdf_writer.py", ".open"): "qpdf reads the bytes that Skia made, from memory",
    ("vector/pdf_writer.py", ".save"): "and writes them into memory",
    ("kernel/ledger.py", "sqlite3.connect"): "the ledger's writes are SQLite's; both sides of a commit are points",
}
# Functions of the two modules that name an effect and have none, and why.
HARMLESS: Final = {"_ask": "reads the process table with ps where there is no /proc"}


class Effect(NamedTuple):
    """One place where an effect is named."""

    line: int
    name: str


@pytest.mark.promise("house.effects.one-door")
def test_only_two_modules_write_files_and_start_programs() -> None:
    found = {
        (module, effect.name): effect.line
        for path in sorted(PACKAGE.rglob("*.py"))
        if (module := str(path.relative_to(PACKAGE))) and not module.startswith("testkit/")
        for effect in effects(path.read_text(encoding="utf-8"), module)
    }
    assert {place: line for place, line in found.items() if place not in ALLOWED} == {}
    assert set(ALLOWED) - set(found) == set(), "an exception that nothing needs any more"


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.rename('a', 'b')",
        "from os import rename",
        "import os as system\nsystem.fsync(1)",
        "import os\nos.write(1, b'')",
        "import os\nos.open('a', os.O_RDONLY | os.O_CREAT)",
        "from os import O_CREAT",
        "import shutil\nshutil.rmtree('a')",
        "import subprocess",
        "from subprocess import run",
        "def late():\n    import multiprocessing.pool",
        "import tempfile",
        "import ctypes",
        "import importlib\nimportlib.import_module('subprocess')",
        "__import__('subprocess')",
        "import os\ngetattr(os, 'rename')",
        "open('a', 'w')",
        "open('a', mode='ab')",
        "open('a', MODE)",
        "path.open('r+')",
        "import io\nio.open('a', 'x')",
        "import os\nos.fdopen(3, 'wb')",
        "path.write_text('a')",
        "path.mkdir()",
        "path.replace(other)",
        "path.rename(other)",
        "from pathlib import Path as P\nP('a').open(mode='w', encoding='utf-8')",
        "picture.save('a.png')",
        "picture.save(path)",
        "import sqlite3\nsqlite3.connect('a')",
        "import skia\nskia.FILEWStream('a')",
        "import asyncio\nasyncio.create_subprocess_exec('a')",
        "act = os.unlink",
    ],
)
def test_an_effect_elsewhere_is_found(text: str) -> None:
    assert list(effects(text, "vector/sample.py")) != []


@pytest.mark.parametrize(
    "text",
    [
        "open('a')",
        "open('a', 'rb')",
        "path.open(encoding='utf-8')",
        "'a'.replace('b', 'c')",
        "import dataclasses\ndataclasses.replace(plan, key='a')",
        "image.open(io.BytesIO(data), formats=['PNG'])",
        "canvas.save()",
        "picture.save(buffer, format='PNG')",
        "import os\nos.open('a', os.O_RDONLY | os.O_NOFOLLOW)",
        "import os\nos.stat('a')",
        "import sys\nsys.stdout.write('a')",
    ],
)
def test_reading_is_no_effect(text: str) -> None:
    assert list(effects(text, "vector/sample.py")) == []


@pytest.mark.parametrize("module", [FILES, CHILD])
def test_every_effect_passes_a_point(module: str) -> None:
    text = (PACKAGE / module).read_text(encoding="utf-8")
    tree = ast.parse(text)
    spans = [
        (function.lineno, function.end_lineno or function.lineno)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and (_passes_a_point(function) or function.name in HARMLESS)
    ]
    # Naming a flag does nothing yet, a pipe to a child is no file, and of subprocess it is the calls that count.
    harmless = {*MODULES, *FLAGS, *(["os.write"] if module == CHILD else [])}
    inside = [line for line, name in effects(text, "as if elsewhere") if name not in harmless]
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    inside += [call.lineno for call in calls if ast.unparse(call.func) in SUBPROCESS]
    assert inside != []
    assert [line for line in inside if not any(first <= line <= last for first, last in spans)] == []


def test_the_imports_keep_their_contracts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    status = lint_imports(no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def effects(text: str, module: str) -> Iterator[Effect]:
    """Yield what a module's text names that only files.py and child.py may name."""
    tree = ast.parse(text)
    names = _imported(tree)
    for node in ast.walk(tree):
        for full in _named(node, names):
            root = full.partition(".")[0]
            if root in MODULES:
                name, homes = root, MODULES[root]
            elif full in SPAWNS:
                name, homes = full, (CHILD,)
            else:
                # A child is told to go, and fed, through pipes.
                name, homes = full, (FILES, CHILD) if full == "os.write" else (FILES,)
            if module not in homes:
                yield Effect(getattr(node, "lineno", 0), name)


def _imported(tree: ast.AST) -> dict[str, str]:
    """Return what each imported name stands for, wherever in the module it is imported."""
    names = {"os": "os"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _named(node: ast.AST, names: dict[str, str]) -> Iterator[str]:
    """Yield the effects that one node names: an import, a use, a call."""
    match node:
        case ast.Import():
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] in MODULES)
        case ast.ImportFrom(module=str(origin), level=0):
            yield from (
                f"{origin}.{alias.name}"
                for alias in node.names
                if origin.partition(".")[0] in MODULES or _refused(f"{origin}.{alias.name}")
            )
        case ast.Attribute() if _refused(full := _full(node, names)):
            yield full
        case ast.Call(args=[_, ast.Constant(value=str(name)), *_]) if ast.unparse(node.func) == "getattr" and _refused(
            f"os.{name}"
        ):
            yield f"os.{name}"
        case ast.Call(args=[ast.Constant(value=str(name)), *_]) if (
            ast.unparse(node.func).endswith(("__import__", "import_module")) and name.partition(".")[0] in MODULES
        ):
            yield name
        case ast.Call():
            yield from _called(node, names)


def _refused(name: str) -> bool:
    return name in WRITES or name in SPAWNS or name in FLAGS


def _full(node: ast.expr, names: dict[str, str]) -> str:
    """Return a dotted name with what its first part stands for."""
    root, dot, rest = ast.unparse(node).partition(".")
    return names.get(root, root) + dot + rest


def _called(call: ast.Call, names: dict[str, str]) -> Iterator[str]:
    full = _full(call.func, names)
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if full in {"open", "io.open", "os.fdopen"}:
        if _may_write(call, place=1):
            yield full
    elif method == "open" and full != "os.open":
        if _may_write(call, place=0) and {keyword.arg for keyword in call.keywords} <= OPENING:
            yield ".open"
    elif method in METHODS or (method in {"replace", "rename"} and len(call.args) == 1 and not call.keywords):
        yield f".{method}"
    elif method == "save" and call.args and not any(keyword.arg == "format" for keyword in call.keywords):
        # Pillow needs the format named when it writes into memory; to a file it goes by the name's ending.
        yield ".save"


def _may_write(call: ast.Call, place: int) -> bool:
    """Say whether an open call's mode is anything but a literal one for reading."""
    mode = call.args[place] if len(call.args) > place else None
    for keyword in call.keywords:
        if keyword.arg == "mode":
            mode = keyword.value
    if mode is None:
        return False
    return not (isinstance(mode, ast.Constant) and isinstance(mode.value, str) and set(mode.value) <= set("rbt"))


def _passes_a_point(function: ast.FunctionDef) -> bool:
    decorated = any(ast.unparse(decorator) == "_passing" for decorator in function.decorator_list)
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
    return decorated or any(ast.unparse(call.func) == "reach" for call in calls)
