"""Taking turns: an interrupt anywhere in the one who leads leaves nobody waiting."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from countermark.kernel import ledger as ledger_module
from countermark.kernel import turn
from countermark.kernel.clock import SystemClock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Ledger, Tx
from countermark.kernel.turn import Item, Turns

WATCHED = (turn.__file__, ledger_module.__file__)


class Held:
    """A gate that one thread at a time may stand at, and that knows who does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0

    def hold(self) -> None:
        """Take it; a gate that nobody gives back is a test that fails."""
        assert self._lock.acquire(timeout=30)
        self._owner = threading.get_ident()

    def release(self) -> None:
        """Give it back, if this thread has it."""
        if self._owner == threading.get_ident():
            self._owner = 0
            self._lock.release()


def interrupted_at(number: int, act: Callable[[], Any]) -> bool:
    """Interrupt an act at the given step of the watched modules; False when it has fewer steps than that.

    A step is where CPython looks whether a signal has come: at the entry of a function, and at the end of a call into
    C, still within the call. Between those a block is entered and left as one.
    """
    left = number

    def watch(frame: FrameType, event: str, _: Any) -> None:
        nonlocal left
        if event in ("call", "c_return") and frame.f_code.co_filename in WATCHED:
            left -= 1
            if left == 0:
                raise KeyboardInterrupt

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        act()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(before)
    return left <= 0


def note(tx: Tx) -> int:
    return tx.event("t", "note", {})


def test_an_interrupt_before_any_step_of_a_caller_alone_leaves_the_ledger_usable(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.sqlite", Held(), SystemClock())
    steps = 0
    while interrupted_at(steps + 1, lambda: ledger.apply(note)):
        steps += 1
        assert ledger.apply(note) == len(ledger.events())
    assert steps > 25
    reads = 0
    while interrupted_at(reads + 1, lambda: ledger.read(lambda tx: tx.one("SELECT 1"))):
        reads += 1
        assert ledger.read(lambda tx: tx.one("SELECT 1")) == (1,)
    assert reads > 5
    ledger.close()


def test_an_interrupt_before_any_step_of_a_leader_leaves_nobody_waiting_and_tells_the_others_they_must_look(
    tmp_path: Path,
) -> None:
    """One caller holds the turn until three have queued; the first of them leads the others and is interrupted."""
    ledger = Ledger(tmp_path / "l.sqlite", Held(), SystemClock())
    steps, unknown = 0, 0
    more = True
    while more:
        inside, go = threading.Event(), threading.Event()
        told: list[bool | str] = []

        def slow(_: Tx, inside: threading.Event = inside, go: threading.Event = go) -> None:
            inside.set()
            go.wait()

        def lead(number: int = steps + 1, told: list[bool | str] = told) -> None:
            told.append(interrupted_at(number, lambda: ledger.apply(note)))

        def follow(told: list[bool | str] = told) -> None:
            try:
                ledger.apply(note)
            except CountermarkError as error:
                told.append(error.code)

        acts = (lambda slow=slow: ledger.apply(slow), lead, follow, follow)
        threads = [threading.Thread(target=act, daemon=True) for act in acts]
        threads[0].start()
        inside.wait()
        queued: list[threading.Thread] = []
        for one in threads[1:]:
            one.start()
            queued.append(one)
            while ledger.waiting < sum(each.is_alive() for each in queued):  # one may be interrupted and gone
                pass
        go.set()
        for one in threads:
            one.join(30)
            assert not one.is_alive(), f"somebody waits for a caller that was interrupted before step {steps + 1}"
        assert ledger.apply(note) == len(ledger.events())
        more = True in told
        steps += 1
        unknown += told.count("commit_unknown")
        assert set(told) <= {True, False, "commit_unknown"}
    assert steps > 40
    assert unknown > 10
    ledger.close()


def test_a_batch_that_fails_as_one_says_so_to_each_of_its_callers() -> None:
    def fail(_: list[Item[Any]]) -> None:
        raise CountermarkError("disk_full", "The disk is full.", next_action="Free some space.")

    item: Item[None] = Item(lambda: None)
    Turns(fail).take(item)
    with pytest.raises(CountermarkError) as caught:
        item.outcome()
    assert caught.value.code == "disk_full"
