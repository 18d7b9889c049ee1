"""A thousand kills: effects twice by the witness, stale epochs that published, acknowledged receipts that were lost.

    python benchmarks/crash_kills.py [--rows FILE]

Nine in ten trials kill a real process with SIGKILL at a point chosen by a seed, let a new one recover, and look. In the
tenth the process is only stopped there, another one takes its task over as if it were gone and publishes, and then the
first wakes up: what stands afterwards must be the other's. The peer of the first figure is in `dbos_kill`; the bar of
all three is nought.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from _claim import Row, finish

from countermark.testkit.crash import KEYS, At, Step, Trial, Victims
from countermark.testkit.witness import Witness, effects

KILLS: Final = int(os.environ.get("COUNTERMARK_KILLS", "1000"))
SEED: Final = int(os.environ.get("COUNTERMARK_CRASH_SEED", "20"))
STALE_EVERY: Final = 10
FIRST: Final = Step("perform", "first", "test.staged", "file:doc.txt", {"text": "first"})
SECOND: Final = Step("perform", "second", "test.staged", "file:doc.txt", {"text": "second"})


@dataclass
class Found:
    """What the trials have shown so far."""

    trials: int = 0
    twice: int = 0
    stale: int = 0
    lost: int = 0
    woken: Counter[str] = field(default_factory=Counter)
    trouble: list[str] = field(default_factory=list)


def main() -> None:
    """Run every trial, and print the three figures."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it; a kill does not ask what is synced
    place = Path(tempfile.mkdtemp(prefix="cm-", dir=memory if memory.is_dir() else None))
    found = Found()
    try:
        with Victims() as victims, Victims() as others, Witness(place) as witness:
            template = Trial(place / "template", witness.socket, witness.file, victims)
            template.prepare()
            passed = template.rehearse()
            coin = random.Random(SEED)  # noqa: S311 - a replayable choice, no secret
            for number in range(1, KILLS + 1):
                folder = place / str(number)
                folder.mkdir()
                with Witness(folder) as own:
                    trial = Trial(folder / "trial", own.socket, own.file, victims)
                    trial.prepare(template.folder)
                    if number % STALE_EVERY:
                        kill(trial, coin.randrange(1, len(passed) + 1), passed, found)
                    else:
                        overtake(trial, others, coin, found)
                shutil.rmtree(folder)
                if sys.stderr.isatty():
                    print(f"\r{number} of {KILLS}", end="", file=sys.stderr)
    finally:
        shutil.rmtree(place)
    for line in found.trouble:
        print(line)
    stopped = sum(found.woken.values())
    kinds = ", ".join(f"{count} {said}" for said, count in sorted(found.woken.items()))
    finish(
        [
            Row(
                "double effects by the witness",
                str(found.twice),
                "",
                float(found.twice),
                0.0,
                "at most",
                _note(found, passed),
            ),
            Row(
                "stale epochs that published",
                str(found.stale),
                "",
                float(found.stale),
                0.0,
                "at most",
                f"{stopped} woken: {kinds}",
            ),
            Row("acknowledged receipts lost", str(found.lost), "", float(found.lost), 0.0, "at most"),
            Row("trials that failed otherwise", str(len(found.trouble)), "", float(len(found.trouble)), 0.0, "at most"),
        ]
    )


def _note(found: Found, passed: list[str]) -> str:
    return f"{found.trials} kills at {len(passed)} places of {len(set(passed))} kinds, seed {SEED}"


def kill(trial: Trial, number: int, passed: list[str], found: Found) -> None:
    """Kill a process at a point, have another recover, and count what went wrong."""
    found.trials += 1
    try:
        ended = trial.run(kill=At(number))
        assert ended.signal == signal.SIGKILL
        trial.run()
        trial.check()
    except AssertionError as error:
        said = str(error)
        found.lost += "receipt" in said
        found.trouble.append(f"killed at {number}, {passed[number - 1]}: {said}")
    found.twice += len(trial.twice())


def overtake(trial: Trial, others: Victims, coin: random.Random, found: Found) -> None:
    """Stop a writer at a point, have another take its task over and publish past it, and wake the first up."""
    found.trials += 1
    other = Trial(trial.folder, trial.socket, trial.witness_file, others)
    passed = trial.rehearse(steps=(FIRST,))
    # Not inside a commit: a process that is stopped there holds the ledger, and nobody can take anything over.
    places = [n for n, name in enumerate(passed, start=1) if name.startswith("files.")]
    begun = passed.index("ledger.commit.after")
    paused = trial.run(steps=(FIRST,), stop=At(coin.choice([n for n in places if n > begun])))
    try:
        assert paused.stopped
        taken = other.run(steps=(Step("takeover"), Step("settle"), SECOND))
        before = (trial.space / "doc.txt").read_text("utf-8") if (trial.space / "doc.txt").exists() else ""
        woken = trial.note(trial.victims.resume(paused.pid))
        after = (trial.space / "doc.txt").read_text("utf-8")
        if taken.said[-1].startswith("second t-"):
            found.stale += after != before
            found.woken[woken.said[-1].split()[1] if "!" in woken.said[-1] else "had ended before"] += 1
        else:  # the first held the resource's lock: nobody could publish past it
            other.run(steps=(Step("settle"), SECOND))
            found.stale += (trial.space / "doc.txt").read_text("utf-8") != "second"
            found.woken["held the lock"] += 1
        trial.check_ledger()
    except AssertionError as error:
        found.trouble.append(f"overtaken: {error}")
    seen = Counter(effects(trial.witness_file))
    found.twice += sum(seen[key] > 1 for key in KEYS if key.startswith("direct"))


if __name__ == "__main__":
    main()
