"""`countermark --help` against the smallest thing its command line needs: a Python that imports click."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from _claim import Row, finish, interleave, ratio, spread

ROUNDS: Final = 25
IMPORT: Final = [sys.executable, "-c", "import click"]


def ours() -> list[str]:
    """Return the command: the installed program beside this Python, or its entry point where it is not installed."""
    program = Path(sys.executable).with_name("countermark")
    if program.exists():
        return [str(program), "--help"]
    return [sys.executable, "-c", "import sys; from countermark.surfaces.cli import main; sys.exit(main())", "--help"]


def seconds(argv: list[str]) -> float:
    """Return how long a command takes."""
    began = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


if __name__ == "__main__":
    command = ours()
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "Usage:" in text, "the program did not print its help"
    seconds(IMPORT)
    helped, imported = interleave(ROUNDS, lambda: seconds(command), lambda: seconds(IMPORT))
    finish(
        [
            Row(
                "countermark --help",
                f"{statistics.median(helped) * 1000:.0f} ms",
                f'{statistics.median(imported) * 1000:.0f} ms of python -c "import click"',
                ratio(helped, imported),
                3.0,
                "at most",
                note=spread(helped, imported),
            )
        ]
    )
