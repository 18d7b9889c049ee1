"""The launch gate: what is started, in which environment, and the bare interpreter that waits for the go.

The gate was chosen against a shell (quoting, a second program to trust) and against a fork of our own (threads). A
bare interpreter without site costs about 10 ms.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from countermark.kernel.errors import CountermarkError

# What programs need to find themselves, their home and their language; everything else is passed by name.
ENVIRONMENT: Final = ("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
GO: Final = b"G"

# It gives back the two signals that the interpreter ignores and the one variable that it sets, so that the program
# starts as if by exec alone.
_PROGRAM: Final = """
import _signal, posix, sys
gate, status, locale = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
if posix.read(gate, 1) != b"G":
    posix._exit(125)
posix.close(gate)
posix.set_inheritable(status, False)
for name in ("SIGPIPE", "SIGXFSZ"):
    _signal.signal(getattr(_signal, name), _signal.SIG_DFL)
posix.environ.pop(b"LC_CTYPE", None)
if locale:
    posix.environ[b"LC_CTYPE"] = locale[1:].encode(errors="surrogateescape")
try:
    posix.execve(sys.argv[4], sys.argv[4:], posix.environ)
except OSError as error:
    posix.write(status, str(error.errno).encode())
posix._exit(126)
"""


def gated(command: Sequence[str], environment: Mapping[str, str], gate: int, status: int) -> list[str]:
    """Return the command that waits for GO on descriptor `gate` and then becomes `command`.

    An error number is written to `status` when the system refuses the program; end of file there means it runs.
    """
    locale = f"={environment['LC_CTYPE']}" if "LC_CTYPE" in environment else ""
    return [sys.executable, "-I", "-S", "-c", _PROGRAM, str(gate), str(status), locale, *command]


def resolved(argv: Sequence[str]) -> list[str]:
    """Return the command with an absolute program; raise `input_invalid` or `runtime_missing`."""
    if not argv or any("\0" in word for word in argv):
        raise CountermarkError(
            "input_invalid",
            "A command needs a program, and no word of it may hold a null character.",
            next_action="Pass the command as a list of words.",
        )
    return [locate(argv[0]), *argv[1:]]


def locate(program: str, *, path: str | None = None) -> str:
    """Return the absolute path of a program; links are kept, because some programs look at their own name.

    `path` replaces the PATH of this process. A relative path, and a relative or empty entry of PATH, is never
    followed: what runs must not depend on the current folder. Raises `runtime_missing`, `input_invalid`.
    """
    if program.startswith("/"):
        if _runs(program):
            return program
        raise CountermarkError(
            "runtime_missing",
            f"{program} is not a program that can be run here.",
            next_action="Install it, or correct its path.",
        )
    if "/" in program or not program:
        raise CountermarkError(
            "input_invalid",
            f"A program is named by an absolute path or a bare name, not by {program!r}.",
            next_action="Give its absolute path.",
        )
    folders = os.environ.get("PATH", "") if path is None else path
    for folder in folders.split(os.pathsep):
        candidate = os.path.join(folder, program)  # noqa: PTH118 - kept as text, exactly as PATH spells it
        if folder.startswith("/") and _runs(candidate):
            return candidate
    where = "PATH is empty" if not folders else "it is in no folder of PATH"
    raise CountermarkError(
        "runtime_missing",
        f"{program} was not found: {where}.",
        next_action=f"Install {program}, or set PATH to the folder that holds it.",
    )


def environment(added: Mapping[str, str]) -> dict[str, str]:
    """Return the child's whole environment: the few names of ENVIRONMENT that are set, and what is added by name."""
    for name, value in added.items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise CountermarkError(
                "input_invalid",
                f"{name!r} cannot be an environment variable.",
                next_action="Use a name without '=' and a value without a null character.",
            )
    return {name: os.environ[name] for name in ENVIRONMENT if name in os.environ} | dict(added)


def _runs(path: str) -> bool:
    try:
        return stat.S_ISREG(Path(path).stat().st_mode) and os.access(path, os.X_OK)
    except (OSError, ValueError):
        return False
