"""One row of the table: a claim, our side and the peer's side of it in the same run, their ratio, and the bar.

A benchmark's file measures and ends with `finish(rows)`, which prints its rows and says by the exit code whether all
bars are reached. With `--rows FILE` it writes them there for `run.py` as well.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

ROOT: Final = Path(__file__).resolve().parent.parent
SCRATCH: Final = ROOT / "build" / "bench"
"""On the disk that the project is on: a folder for temporary files may be memory, where a sync costs nothing."""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of a claim.

    `ours` and `peer` say both sides in words, figure and unit. `ratio` is compared with `bar`; a row with neither is
    only printed. `note` says how the figure came about.
    """

    claim: str
    ours: str
    peer: str
    ratio: float | None = None
    bar: float | None = None
    bound: Literal["at least", "at most"] = "at least"
    note: str = ""

    @property
    def reached(self) -> bool:
        """Whether the bar is reached; a row without one cannot fail."""
        if self.ratio is None or self.bar is None:
            return True
        return self.ratio >= self.bar if self.bound == "at least" else self.ratio <= self.bar

    def verdict(self) -> str:
        """Return what the table says: reached, or by how much it is missed."""
        if self.ratio is None or self.bar is None:
            return "shown"
        return "reached" if self.reached else f"missed by {abs(self.ratio - self.bar):.2f}"

    def sentence(self) -> str:
        """Return the row as a line of text."""
        ratio = "" if self.ratio is None else f" = {self.ratio:.2f}"
        bar = "" if self.bar is None else f" ({self.bound} {self.bar:.2f}: {self.verdict()})"
        peer = f" ÷ {self.peer}" if self.peer else ""
        return f"{self.claim}: {self.ours}{peer}{ratio}{bar}{f' · {self.note}' if self.note else ''}"


def finish(rows: Sequence[Row]) -> None:
    """Print the rows, write them where `--rows FILE` says, and exit with 1 if one misses its bar."""
    for row in rows:
        print(row.sentence(), flush=True)
    if sys.argv[1:2] == ["--rows"]:
        Path(sys.argv[2]).write_text(json.dumps([asdict(row) for row in rows], indent=1), "utf-8")
    sys.exit(0 if all(row.reached for row in rows) else 1)


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a folder of its own on the project's disk, and remove it."""
    SCRATCH.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=SCRATCH))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def interleave(rounds: int, *sides: Callable[[], float]) -> list[list[float]]:
    """Measure all sides once in each round, in an order that turns; return the figures of each side by round.

    Other work on the machine comes and goes in seconds. Sides that are measured within a round of a second or less see
    the same machine, so their ratio stands where neither figure would.
    """
    figures: list[list[float]] = [[0.0] * rounds for _ in sides]
    for number in range(rounds):
        for step in range(len(sides)):
            which = (number + step) % len(sides)
            figures[which][number] = sides[which]()
    return figures


def ratio(ours: Sequence[float], peer: Sequence[float]) -> float:
    """Return the median of the rounds' own ratios."""
    return statistics.median(one / other for one, other in zip(ours, peer, strict=True))


def spread(ours: Sequence[float], peer: Sequence[float]) -> str:
    """Return how the rounds' ratios lie: number of rounds and the middle half."""
    low, _, high = statistics.quantiles((one / other for one, other in zip(ours, peer, strict=True)), n=4)
    return f"median of {len(ours)} rounds, middle half {low:.2f} to {high:.2f}"


def rate(work: Callable[[], object], seconds: float) -> float:
    """Return how often a second `work` is done, doing it for about that long."""
    done, began = 0, time.perf_counter()
    while (now := time.perf_counter()) - began < seconds:
        work()
        done += 1
    return done / (now - began)


def per_second(rates: Sequence[float], what: str) -> str:
    """Return the median of rates in words."""
    return f"{statistics.median(rates):,.0f} {what}/s"
