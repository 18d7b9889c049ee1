"""Sixty-four client threads against one: commits are shared, waiting is bounded, nobody starves.

The peer of the many is the one, measured in the same rounds. The fair wait of a client is the number of clients divided
by the throughput; the slowest hundredth of the waits is held against it, in the median round.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from _claim import Row, finish, per_second, rate, ratio, scratch, spread
from _operation import Client, create

CLIENTS: Final = 64
ROUNDS: Final = 7
ALONE: Final = 0.8
TOGETHER: Final = 2.0

Work = Callable[[Client], object]


@dataclass
class Figures:
    """What the rounds of one kind of work gave; `counts` sums the operations of each client over all rounds."""

    one: list[float] = field(default_factory=list)
    many: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=lambda: [0] * CLIENTS)


def together(clients: list[Client], work: Work, figures: Figures) -> None:
    """Have all clients work at once, each in its thread, and add what came out."""
    waits: list[list[float]] = [[] for _ in clients]
    begin = threading.Barrier(CLIENTS + 1)
    errors: list[BaseException] = []

    def run(client: Client, own: list[float]) -> None:
        try:
            begin.wait()
            now, ends = time.perf_counter(), time.perf_counter() + TOGETHER
            while now < ends:
                before = now
                work(client)
                now = time.perf_counter()
                own.append(now - before)
        except BaseException as error:  # noqa: BLE001 - raised again in the main thread
            errors.append(error)

    threads = [threading.Thread(target=run, args=pair) for pair in zip(clients, waits, strict=True)]
    for thread in threads:
        thread.start()
    begin.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - began
    if errors:
        raise errors[0]
    throughput = sum(map(len, waits)) / took
    every = sorted(wait for own in waits for wait in own)
    figures.many.append(throughput)
    figures.waits.append(every[int(len(every) * 0.99)] * throughput / CLIENTS)
    for place, own in enumerate(waits):
        figures.counts[place] += len(own)


def measure(works: list[tuple[str, Work]]) -> dict[str, Figures]:
    """Return the figures of each kind of work, from interleaved rounds in one workspace."""
    found = {name: Figures() for name, _ in works}
    with scratch() as folder:
        space = create(folder / "space")
        alone = Client(space, "alone")
        clients = [Client(space, f"c{number}") for number in range(CLIENTS)]
        for client in [alone, *clients]:
            client.with_receipt()
        for _ in range(ROUNDS):
            for name, work in works:
                one = lambda work=work: work(alone)  # noqa: E731 - bound to this work
                found[name].one.append(rate(one, ALONE / 2))
                together(clients, work, found[name])
                found[name].one[-1] = (found[name].one[-1] + rate(one, ALONE / 2)) / 2
    return found


if __name__ == "__main__":
    bars = {"without receipts": 3.0, "with receipts": 2.0}
    figures = measure([("without receipts", Client.operation), ("with receipts", Client.with_receipt)])
    rows = []
    for kind, found in figures.items():
        fewest, most = min(found.counts), max(found.counts)
        fair = CLIENTS / statistics.median(found.many) * 1000
        rows += [
            Row(
                f"{CLIENTS} client threads, {kind}",
                per_second(found.many, "operations"),
                f"{per_second(found.one, 'operations')} of one client",
                ratio(found.many, found.one),
                bars[kind],
                note=spread(found.many, found.one),
            ),
            Row(
                f"slowest hundredth of their waits, {kind}",
                f"{statistics.median(found.waits) * fair:,.1f} ms",
                f"a fair wait of {fair:,.1f} ms",
                statistics.median(found.waits),
                2.5,
                "at most",
                note=f"median of {ROUNDS} rounds; a fair wait is {CLIENTS} ÷ throughput",
            ),
            Row(
                f"fewest per client, {kind}",
                f"{fewest} operations",
                f"{most} of the client with most",
                fewest / most,
                0.8,
                note=f"sums over {ROUNDS} rounds",
            ),
        ]
    finish(rows)
