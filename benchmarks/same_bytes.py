"""A kit exported again is byte-equal: in another folder, in another process, under another date, zone and locale.

A check, not a time: the first export of Countermark's own mark is compared with two others. One goes into a second
folder of the same workspace. One is made from the original in a new workspace, by a process whose clock is ten years
ahead, whose time zone has another date, and whose locale, umask and hash seed differ. Receipts and record pages tell
when and by which task they were made, so they are not compared; the SVG and PNG files and the native document are.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from _claim import ROOT, Row, finish, scratch

LOGO: Final = ROOT / "assets" / "logo.svg"
TEN_YEARS: Final = 10 * 365 * 86_400
ALWAYS_ANOTHER_DATE: Final = ("Pacific/Kiritimati", "Etc/GMT+12")  # 26 hours apart
COMPARED: Final = (".svg", ".png", ".vectorcraft")

# The engine draws in a child that sees the machine's clock; TZ, which it is given, changes its date as well.
PROGRAM: Final = """
import os, sys, time
ahead = int(sys.argv.pop(1))
now, now_ns = time.time, time.time_ns
time.time = lambda: now() + ahead
time.time_ns = lambda: now_ns() + ahead * 1_000_000_000
os.umask(int(sys.argv.pop(1), 8))
from countermark.surfaces.cli import main
sys.exit(main())
"""


class Elsewhere:
    """A way to run the command line: so many seconds ahead, with a umask, in an environment."""

    def __init__(self, ahead: int, umask: str, environment: Mapping[str, str]) -> None:
        """Take what makes this place another one."""
        self._argv = [sys.executable, "-c", PROGRAM, str(ahead), umask]
        self._environment = {**os.environ, **environment}

    def run(self, folder: Path, *words: str) -> None:
        """Run one command in a folder."""
        done = subprocess.run(
            [*self._argv, *words], check=False, cwd=folder, env=self._environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}"


def made(folder: Path, native: Path) -> dict[str, bytes]:
    """Return what is compared, by name."""
    files = [path for path in folder.rglob("*") if path.suffix in COMPARED]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files} | {native.name: native.read_bytes()}


def compare(claim: str, first: Mapping[str, bytes], second: Mapping[str, bytes]) -> Row:
    """Return how many files are byte-equal."""
    names = first.keys() | second.keys()
    equal = [name for name in names if first.get(name) == second.get(name)]
    differ = sorted(names - set(equal))
    note = f"differ: {', '.join(differ)}" if differ else "SVG, PNG and native document, without receipt and record page"
    return Row(claim, f"{len(equal)} files equal", f"{len(names)} files", len(equal) / len(names), 1.0, note=note)


if __name__ == "__main__":
    here = Elsewhere(0, "022", {"TZ": ALWAYS_ANOTHER_DATE[0], "PYTHONHASHSEED": "1"})
    there = Elsewhere(
        TEN_YEARS, "077", {"TZ": ALWAYS_ANOTHER_DATE[1], "PYTHONHASHSEED": "2", "LC_ALL": "C", "LANG": "C"}
    )
    with scratch() as top:
        kits = {}
        for name, place in (("first", here), ("other", there)):
            place.run(top, "init", name)
            place.run(top / name, "vector", "import", str(LOGO))
            place.run(top / name, "vector", "kit")
            kits[name] = made(top / name / "kit", top / name / "logo.vectorcraft")
        here.run(top / "first", "vector", "kit", "--folder", "again")
        kits["again"] = made(top / "first" / "again", top / "first" / "logo.vectorcraft")
        assert len(kits["first"]) > 1
    finish(
        [
            compare("a kit exported a second time", kits["first"], kits["again"]),
            compare("a kit under another date, zone, locale, umask and hash seed", kits["first"], kits["other"]),
        ]
    )
