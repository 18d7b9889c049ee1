"""Eight processes that write one workspace against one: none starves, and together they lose little.

    python benchmarks/writers.py               measure
    python benchmarks/writers.py SPACE NAME    be one of the writers: a line `SECONDS` in, a line `OPERATIONS` out

Every writer opens the workspace itself and is alive all the time; a round has one of them work alone, then all eight.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Final, cast

from _claim import Row, finish, ratio, scratch, spread
from _operation import Client, Register, create

from countermark.kernel.workspace import Workspace

WRITERS: Final = 8
ROUNDS: Final = 5
ALONE: Final = 1.5
TOGETHER: Final = 4.0


class Writer:
    """One process."""

    def __init__(self, space: Path, name: str) -> None:
        """Start it and wait until it has opened the workspace."""
        argv = [sys.executable, __file__, str(space), name]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.done()

    def work(self, seconds: float) -> None:
        """Have it work from now on."""
        pipe = cast("IO[str]", self._process.stdin)
        pipe.write(f"{seconds}\n")
        pipe.flush()

    def done(self) -> int:
        """Wait, and return how many operations it did."""
        line = cast("IO[str]", self._process.stdout).readline()
        assert line, "a writer died"
        return int(line)

    def close(self) -> None:
        """End it."""
        cast("IO[str]", self._process.stdin).close()
        self._process.wait()


def be_writer(space: Path, name: str) -> None:
    """Work when told to."""
    client = Client(Workspace(space, adapters=[Register()]), name)
    client.operation()
    print(0, flush=True)
    for line in sys.stdin:
        done, ends = 0, time.perf_counter() + float(line)
        while time.perf_counter() < ends:
            client.operation()
            done += 1
        print(done, flush=True)


def measure() -> tuple[list[float], list[float], list[tuple[int, int]]]:
    """Return by round: one writer's rate, the rate of all, and the fewest and most operations of a writer."""
    one, every, ends = [], [], []
    with scratch() as folder:
        create(folder / "space")
        writers = [Writer(folder / "space", f"w{number}") for number in range(WRITERS)]
        for number in range(ROUNDS):
            alone = 0
            writers[number % WRITERS].work(ALONE / 2)
            alone += writers[number % WRITERS].done()
            for writer in writers:
                writer.work(TOGETHER)
            counts = [writer.done() for writer in writers]
            writers[number % WRITERS].work(ALONE / 2)
            alone += writers[number % WRITERS].done()
            one.append(alone / ALONE)
            every.append(sum(counts) / TOGETHER)
            ends.append((min(counts), max(counts)))
        for writer in writers:
            writer.close()
    return one, every, ends


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] != "--rows":
        be_writer(Path(sys.argv[1]), sys.argv[2])
        sys.exit(0)
    alone, all_of_them, slowest_fastest = measure()
    shares = [fewest / most for fewest, most in slowest_fastest]
    middle = sorted(slowest_fastest, key=lambda pair: pair[0] / pair[1])[ROUNDS // 2]
    finish(
        [
            Row(
                f"slowest of {WRITERS} writer processes",
                f"{middle[0]} operations",
                f"{middle[1]} of the fastest",
                statistics.median(shares),
                1 / 6,
                note=f"median of {ROUNDS} rounds of {TOGETHER:.0f} s, worst {min(shares):.2f}",
            ),
            Row(
                f"{WRITERS} writer processes together",
                f"{statistics.median(all_of_them):,.0f} operations/s",
                f"{statistics.median(alone):,.0f} operations/s of one writer",
                ratio(all_of_them, alone),
                0.8,
                note=spread(all_of_them, alone),
            ),
        ]
    )
