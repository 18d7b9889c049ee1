"""A victim's system calls, as `strace` records them: in order, whole, with the named points between them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import Final

from countermark.testkit.crash import Trial
from tests.conftest import ROOT, unavailable

CHANGES: Final = frozenset(
    [
        "creat",
        "write",
        "pwrite64",
        "writev",
        "pwritev",
        "pwritev2",
        "ftruncate",
        "truncate",
        "fallocate",
        "rename",
        "renameat",
        "renameat2",
        "link",
        "linkat",
        "symlink",
        "symlinkat",
        "unlink",
        "unlinkat",
        "mkdir",
        "mkdirat",
        "rmdir",
        "chmod",
        "fchmod",
        "fchmodat",
        "chown",
        "fchown",
        "lchown",
        "fchownat",
        "mknod",
        "mknodat",
        "copy_file_range",
        "sendfile",
        "splice",
        "setxattr",
        "fsetxattr",
        "lsetxattr",
        "utimensat",
    ]
)
SYNCS: Final = frozenset(("fsync", "fdatasync", "sync", "syncfs", "sync_file_range", "msync"))
SPAWNS: Final = frozenset(("fork", "vfork", "clone", "clone3", "execve", "execveat"))
OPENS: Final = frozenset(("open", "openat", "openat2"))
_TRACED: Final = ",".join(f"?{name}" for name in sorted(CHANGES | SYNCS | SPAWNS | OPENS))
_START: Final = re.compile(r"(\d+) +(?:(\w+)\((.*)|<\.\.\. (\w+) resumed>(.*)|.*)", re.DOTALL)
_PATH: Final = re.compile(r"<((?:\\x[0-9a-f]{2})+)>")
_TEXT: Final = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_UNFINISHED: Final = "<unfinished ...>"
_PROGRAM: Final = """
import os, sys
from pathlib import Path
from countermark.kernel import points
from countermark.testkit import crash

install, marks = points.install, os.open("/dev/null", os.O_RDWR)
points.install = lambda hook: install(lambda name: (hook(name), os.write(marks, ("@" + name).encode())))
crash.live(crash.Victim(*map(Path, sys.argv[1:4])))
"""


@dataclass(frozen=True, slots=True)
class Call:
    """One system call: its first descriptor's path, the texts among its arguments, and what it returned.

    `flags` is the whole argument text for what is not a path or a text. A point has the name `point` and its own name
    as `path`.
    """

    pid: int
    name: str
    path: str
    paths: tuple[str, ...]
    texts: tuple[bytes, ...]
    flags: str
    result: str

    @property
    def ok(self) -> bool:
        """Whether it had its effect."""
        return not self.result.startswith("-1")


def record(trial: Trial) -> list[Call]:
    """Have a process perform OPERATIONS under strace, and return what it and its children asked for, in order."""
    program = shutil.which("strace")
    if program is None:
        unavailable("strace", "the order of system calls cannot be seen without it")
    trace = trial.folder / "trace"
    argv = [program, "-f", "-qq", "-y", "-xx", "-s", "262144", "-e", f"trace={_TRACED}", "-e", "signal=none"]
    argv += ["-o", str(trace), sys.executable, "-B", "-c", _PROGRAM]
    argv += [str(trial.space), str(trial.folder / "world"), str(trial.socket)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(ROOT / "src")})
    if done.returncode != 0 and "ptrace" in done.stderr.lower():
        unavailable("strace", f"it may not trace here: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        key, _, rest = line.partition(" ")
        if " " in rest:
            trial.acknowledged[key] = rest
    return parse(trace.read_text("ascii"))


def parse(text: str) -> list[Call]:
    """Return the calls of a trace. One that was interrupted in the record stands where it ended."""
    calls: list[Call] = []
    begun: dict[tuple[int, str], str] = {}
    for line in text.splitlines():
        found = _START.fullmatch(line)
        assert found is not None, line
        pid = int(found[1])
        if found[2] is None and found[4] is None:
            continue  # an exit, or a signal
        name, rest = (found[2], found[3]) if found[2] else (found[4], begun.pop((pid, found[4]), "") + found[5])
        if rest.endswith(_UNFINISHED):
            begun[pid, name] = rest.removesuffix(_UNFINISHED)
            continue
        arguments, _, result = rest.rpartition(" = ")
        paths = tuple(_decoded(one).decode() for one in _PATH.findall(arguments))
        texts = tuple(_decoded(one) for one in _TEXT.findall(arguments))
        path = paths[0] if paths else ""
        if name == "write" and path == "/dev/null" and texts[0].startswith(b"@"):
            calls.append(Call(pid, "point", texts[0][1:].decode(), (), (), "", ""))
        else:
            calls.append(Call(pid, name, path, paths, texts, arguments, result))
    return calls


def _decoded(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))
