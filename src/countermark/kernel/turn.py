"""Taking turns: callers that arrive together are carried out together, by one of them.

Whoever finds nobody at work leads: it carries out its own item, or, woken from the queue, all that have queued up. The
callers of a batch are then woken one by one, each waking the next, and the last of them wakes the next leader: all at
once they would fight over the interpreter, which costs half as much again as their work, and those who come back
meanwhile share the next batch.

One interrupt may come between any two steps of a caller, so each step can be done twice: what was interrupted is done
again on the way out, and nobody waits for a caller that is gone. A second one on that way out is not provided for.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from itertools import islice, pairwise
from typing import Any, Final, Generic, TypeVar

from countermark.kernel.errors import CountermarkError, Ending, register

register(Ending.UNKNOWN, "commit_unknown")

T = TypeVar("T")
BATCH: Final = 64


class Item(Generic[T]):
    """One caller's work, and what came of it: `result`, or `error`.

    `gate` is shut while its caller waits. `batch` is what it leads; `leader` led it, and `then` is whom its caller
    wakes. `settled` says that the whole batch has an outcome, `left` that its caller was interrupted and is gone.
    """

    __slots__ = ("batch", "done", "error", "gate", "leader", "left", "result", "settled", "then", "work")

    result: T

    def __init__(self, work: Callable[..., T]) -> None:
        """Take the work; who carries it out knows its arguments."""
        self.work = work
        self.gate: threading.Lock | None = None
        self.batch: list[Item[Any]] = []
        self.leader: Item[Any] | None = None
        self.then: Item[Any] | None = None
        self.settled = False
        self.done = False
        self.left = False
        self.error: BaseException | None = None

    def shut(self) -> None:
        """Make the gate, shut."""
        self.gate = threading.Lock()
        self.gate.acquire()

    def open(self) -> None:
        """Let the caller go on; said twice it says no more."""
        if self.gate is not None and self.gate.locked():
            self.gate.release()

    def outcome(self) -> T:
        """Return the result, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.result


class Turns:
    """One at a time, many in a batch."""

    def __init__(self, carry_out: Callable[[list[Item[Any]]], None]) -> None:
        """Take what carries out a batch.

        It leaves each item a result or an error, or raises: a CountermarkError or OSError is everybody's outcome,
        anything else is its caller's own, and the others of the batch hear `commit_unknown`.
        """
        self._carry_out = carry_out
        self._queue: deque[Item[Any]] = deque()
        self._mutex = threading.Lock()
        self._leader: Item[Any] | None = None

    @property
    def waiting(self) -> int:
        """How many callers have queued up."""
        return len(self._queue)

    def take(self, item: Item[Any]) -> None:
        """Have an item carried out, by this caller or by another one; return when it has its outcome."""
        try:
            self._take(item)
        except BaseException:
            self._leave(item)
            raise

    def _take(self, item: Item[Any]) -> None:
        with self._mutex:
            if self._leader is None:
                self._leader, item.batch = item, [item]
            else:
                item.shut()
                self._queue.append(item)
        if item.gate is not None:
            item.gate.acquire()
            if item.done:
                self._wake(item.leader, item.then)
                return
            with self._mutex:
                item.batch = list(islice(self._queue, BATCH))
                for _ in item.batch:
                    self._queue.popleft()
        try:
            self._carry_out(item.batch)
        except (CountermarkError, OSError) as error:
            for one in item.batch:
                one.error = one.error or error
        item.settled = True
        self._finish(item)

    def _finish(self, leader: Item[Any]) -> None:
        """Say that a batch is done, and wake the first of its other callers."""
        followers = [one for one in leader.batch if one is not leader]
        with self._mutex:
            for one, following in pairwise(followers):
                one.then = following
            for one in followers:
                one.leader, one.done = leader, True
        self._wake(leader, followers[0] if followers else None)

    def _wake(self, leader: Item[Any] | None, item: Item[Any] | None) -> None:
        """Let the next caller of a leader's batch go on; behind the last one, the next leader."""
        with self._mutex:
            while item is not None and item.left:
                item = item.then
            if item is not None:
                item.open()
                return
            if self._leader is leader:
                self._leader = self._queue[0] if self._queue else None
            if self._leader is not None:
                self._leader.open()

    def _leave(self, item: Item[Any]) -> None:
        """Undo, or finish, what an interrupted caller had begun.

        What still queues is taken back. What a leader has taken along is carried out: its outcome is there to be
        looked up. The batch of a leader that was interrupted has an unknown outcome.
        """
        with self._mutex:
            item.left = True
            leads = self._leader is item
            for one in (item, *item.batch):
                if one in self._queue:
                    self._queue.remove(one)
        if not leads:
            if item.done:
                self._wake(item.leader, item.then)
            return
        if not item.settled:
            for one in item.batch:
                if one is not item:
                    one.error = one.error or _unknown()
        self._finish(item)


def _unknown() -> CountermarkError:
    return CountermarkError(
        "commit_unknown",
        "The program was interrupted while this was written together with other things; it may or may not stand.",
        next_action="Repeat the call with the same key: it looks before it does anything.",
    )
