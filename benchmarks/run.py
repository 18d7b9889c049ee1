"""Run the benchmarks, print the table, and write RESULTS.md.

    python benchmarks/run.py              all of them; writes benchmarks/RESULTS.md
    python benchmarks/run.py NAME …       only these files of benchmarks/, without `.py`; writes nothing

Each file measures one claim beside its peer in the same run and says by its exit code whether its bars are reached. A
file whose name begins with an underscore is a part of others. The exit code is 1 if a bar is missed.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from _claim import Row, scratch

HERE: Final = Path(__file__).resolve().parent
RESULTS: Final = HERE / "RESULTS.md"
WITH_ROWS: Final = (
    "operation",
    "dbos_steps",
    "clients",
    "writers",
    "startup",
    "same_bytes",
    "dbos_kill",
    "text_width",
    "scene_apply",
    "scene_render",
    "page_ready",
    "vector_export",
)
"""Those that hand over rows, in the table's order; the others are quoted as they printed."""
SYNCS: Final = 200


@dataclass(frozen=True, slots=True)
class Ran:
    """One file's run."""

    name: str
    seconds: float
    reached: bool
    rows: tuple[Row, ...]
    printed: str


def run(name: str) -> Ran:
    """Run one file and show what it prints as it comes."""
    print(f"== {name}", flush=True)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        handed = Path(folder) / "rows.json"
        argv = [sys.executable, str(HERE / f"{name}.py")]
        argv += ["--rows", str(handed)] if name in WITH_ROWS else []
        lines = []
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
            for line in child.stdout or ():
                print(line, end="", flush=True)
                lines.append(line)
        rows = tuple(Row(**row) for row in json.loads(handed.read_text("utf-8"))) if handed.exists() else ()
    seconds = time.perf_counter() - began
    reached = child.returncode == 0
    print(f"   {name}: {'reached' if reached else 'MISSED OR BROKEN'}, {seconds:.0f} s", flush=True)
    return Ran(name, seconds, reached, rows, "".join(lines))


def machine() -> str:
    """Return what was measured on: no names and no places."""
    system = platform.uname()
    return (
        f"{os.cpu_count()} cores ({system.machine}), {system.system} {system.release.split('-')[0]}, "
        f"{platform.python_implementation()} {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    )


def sync_time() -> float:
    """Return the median milliseconds of writing 4 KiB over existing bytes and syncing them."""
    with scratch() as folder:
        descriptor = os.open(folder / "sync", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            os.pwrite(descriptor, bytes(4096), 0)
            os.fsync(descriptor)
            taken = []
            for _ in range(SYNCS):
                began = time.perf_counter()
                os.pwrite(descriptor, os.urandom(4096), 0)
                os.fsync(descriptor)
                taken.append(time.perf_counter() - began)
        finally:
            os.close(descriptor)
    return statistics.median(taken) * 1000


def conditions(load: float, sync: float) -> str:
    """Return how busy the machine was, which a reader needs to weigh the figures."""
    return f"load average {load:.1f} on {os.cpu_count()} cores, {sync:.2f} ms for 4 KiB written and synced"


def table(rows: list[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| claim | ours | peer | ratio | bar | |", "|---|---|---|---|---|---|"]
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        bar = "" if row.bar is None else f"{'≥' if row.bound == 'at least' else '≤'} {row.bar:.2f}"
        lines.append(f"| {row.claim} | {row.ours} | {row.peer} | {ratio} | {bar} | {row.verdict()} |")
    return "\n".join(lines)


def page(ran: list[Ran], before: str, after: str) -> str:
    """Return RESULTS.md."""
    rows = [row for one in ran for row in one.rows]
    notes = "\n".join(f"- {row.claim}: {row.note}" for row in rows if row.note)
    quoted = "\n\n".join(f"`{one.name}`:\n\n```\n{one.printed.rstrip()}\n```" for one in ran if not one.rows)
    broken = [one.name for one in ran if not one.reached and all(row.reached for row in one.rows)]
    return (
        f"""# Results

Written by `make bench`. Both sides of a claim were measured in the same run, in rounds that take turns; a ratio is the
median of the rounds' own ratios, so it need not be the quotient of the two medians beside it. No bar is absolute.

{dt.datetime.now(tz=dt.UTC).date().isoformat()} · {machine()}
Before the run: {before}. After it: {after}.

{table(rows)}
{f"{chr(10)}Did not end well: {', '.join(broken)}.{chr(10)}" if broken else ""}
## How the figures came about

{notes}

{f"## As printed{chr(10)}{chr(10)}{quoted}" if quoted else ""}
""".rstrip()
        + "\n"
    )


def main(names: list[str]) -> int:
    """Run the files named, or all; return the exit code."""
    others = sorted(path.stem for path in HERE.glob("[a-z]*.py") if path.stem != "run" and path.stem not in WITH_ROWS)
    before = conditions(os.getloadavg()[0], sync_time())
    print(f"{machine()}\n{before}", flush=True)
    ran = [run(name) for name in names or (*WITH_ROWS, *others)]
    after = conditions(os.getloadavg()[0], sync_time())
    print(f"== all: {sum(one.seconds for one in ran):.0f} s; {after}")
    for row in (row for one in ran for row in one.rows):
        print(row.sentence())
    if not names:
        RESULTS.write_text(page(ran, before, after), "utf-8")
        print(f"written: benchmarks/{RESULTS.name}")
    missed = [one.name for one in ran if not one.reached]
    if missed:
        print(f"missed: {', '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
