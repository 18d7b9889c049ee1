"""The ledger: one write at a time, many callers in one commit."""

from __future__ import annotations

import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from countermark.kernel import schema
from countermark.kernel.backup import examine
from countermark.kernel.clock import SystemClock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Ledger, Tx


class Free:
    """A gate nobody else stands at."""

    def hold(self) -> None:
        """Take it."""

    def release(self) -> None:
        """Give it back."""


class SetClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.ms = 1_000

    def now_ms(self) -> int:
        """Return the set time."""
        return self.ms

    def monotonic(self) -> float:
        """Return the set time in seconds."""
        return self.ms / 1000


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def ledger(tmp_path: Path, clock: SetClock) -> Iterator[Ledger]:
    opened = Ledger(tmp_path / "l.sqlite", Free(), clock)
    yield opened
    opened.close()


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let SIGINT be an interrupt, also where the run was started in the background and it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def note(text: str) -> Callable[[Tx], int]:
    return lambda tx: tx.event("t", "note", {"text": text})


def test_events_are_numbered_chained_and_read_back(ledger: Ledger, tmp_path: Path) -> None:
    assert [ledger.apply(note(str(n))) for n in range(3)] == [1, 2, 3]
    assert [e.body["text"] for e in ledger.events(since=1)] == ["1", "2"]
    assert examine(tmp_path / "l.sqlite") == []


@pytest.mark.promise("kernel.ledger.append-only")
@pytest.mark.parametrize("sql", ["UPDATE events SET body = '{}'", "DELETE FROM events"])
def test_sqlite_itself_refuses_to_change_history(ledger: Ledger, sql: str) -> None:
    ledger.apply(note("kept"))
    with pytest.raises(CountermarkError):
        ledger.apply(lambda tx: tx.run(sql))
    assert ledger.events()[0].body == {"text": "kept"}


@pytest.mark.promise("kernel.ledger.append-only")
def test_a_change_behind_the_ledgers_back_breaks_the_chain(ledger: Ledger, tmp_path: Path) -> None:
    for n in range(4):
        ledger.apply(note(str(n)))
    with sqlite3.connect(tmp_path / "l.sqlite") as other:
        other.execute("DROP TRIGGER events_are_final")
        other.execute("""UPDATE events SET body = '{"text":"forged"}' WHERE seq = 2""")
    assert [fault.place for fault in examine(tmp_path / "l.sqlite")] == ["event 2"]


def test_a_refused_transition_leaves_nothing(ledger: Ledger) -> None:
    def refused(tx: Tx) -> None:
        tx.event("t", "note", {})
        raise CountermarkError("permission_denied", "No.", next_action="Ask.")

    with pytest.raises(CountermarkError, match="permission_denied"):
        ledger.apply(refused)
    assert ledger.events() == []
    assert ledger.apply(note("next")) == 1


def test_one_refusal_never_undoes_its_neighbours_in_the_same_commit(tmp_path: Path, clock: SetClock) -> None:
    """The first caller is held inside its transition until the others have queued up behind it."""
    commits = []
    ledger = Ledger(tmp_path / "l.sqlite", Free(), clock)
    queued, go = threading.Barrier(2), threading.Event()

    def slow(tx: Tx) -> int:
        queued.wait()
        go.wait()
        return tx.event("t", "note", {"n": "slow"})

    results: dict[int, object] = {}

    def client(n: int) -> None:
        def transition(tx: Tx) -> int:
            commits.append(tx.head[0])
            seq = tx.event("t", "note", {"n": n})
            if n % 3 == 0:
                raise CountermarkError("permission_denied", "No.", next_action="Ask.")
            return seq

        try:
            results[n] = ledger.apply(transition)
        except CountermarkError as error:
            results[n] = error.code

    first = threading.Thread(target=ledger.apply, args=(slow,))
    first.start()
    queued.wait()
    clients = [threading.Thread(target=client, args=(n,)) for n in range(9)]
    for one in clients:
        one.start()
    while ledger.waiting < 9:  # waits until all have queued, without a sleep
        pass
    go.set()
    for one in [first, *clients]:
        one.join()
    assert [results[n] == "permission_denied" for n in range(9)] == [n % 3 == 0 for n in range(9)]
    assert {e.body["n"] for e in ledger.events()} == {"slow", 1, 2, 4, 5, 7, 8}
    ledger.close()
    assert examine(tmp_path / "l.sqlite") == []


@pytest.mark.usefixtures("interruptible")
def test_a_caller_interrupted_while_it_waits_holds_nobody_up_and_its_transition_is_not_run(ledger: Ledger) -> None:
    inside, go = threading.Event(), threading.Event()

    def slow(tx: Tx) -> int:
        inside.set()
        go.wait()
        return tx.event("t", "note", {"text": "slow"})

    def interrupt() -> None:
        while ledger.waiting < 1:  # waits until the main thread has queued, without a sleep
            pass
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    first = threading.Thread(target=ledger.apply, args=(slow,))
    first.start()
    inside.wait()
    sender = threading.Thread(target=interrupt)
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        ledger.apply(note("interrupted"))
    later = [threading.Thread(target=ledger.apply, args=(note("later"),)) for _ in range(3)]
    for one in later:
        one.start()
    go.set()
    for one in (first, sender, *later):
        one.join(30)
        assert not one.is_alive()
    assert [e.body["text"] for e in ledger.events()] == ["slow", "later", "later", "later"]


@pytest.mark.usefixtures("interruptible")
def test_a_caller_interrupted_while_its_batch_is_written_holds_nobody_up(ledger: Ledger) -> None:
    """The batch stands still in its first item until the main thread, which waits for its own, was interrupted."""
    inside, go, writing, on = (threading.Event() for _ in range(4))

    def held(begun: threading.Event, until: threading.Event) -> Callable[[Tx], int]:
        def transition(tx: Tx) -> int:
            begun.set()
            until.wait()
            return tx.event("t", "note", {"text": "held"})

        return transition

    def conduct() -> None:
        while ledger.waiting < 2:  # waits until the main thread has queued, without a sleep
            pass
        last.start()
        while ledger.waiting < 3:  # likewise
            pass
        go.set()
        writing.wait()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    first = threading.Thread(target=ledger.apply, args=(held(inside, go),))
    second = threading.Thread(target=ledger.apply, args=(held(writing, on),))
    last = threading.Thread(target=ledger.apply, args=(note("last"),))
    first.start()
    inside.wait()
    second.start()
    while ledger.waiting < 1:  # likewise
        pass
    conductor = threading.Thread(target=conduct)
    conductor.start()
    with pytest.raises(KeyboardInterrupt):
        ledger.apply(note("main"))
    on.set()
    for one in (first, second, last, conductor):
        one.join(30)
        assert not one.is_alive()
    assert [e.body["text"] for e in ledger.events()] == ["held", "held", "main", "last"]
    assert ledger.apply(note("after")) == 5


def test_a_batch_takes_one_commit(tmp_path: Path, clock: SetClock, monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[str] = []
    monkeypatch.setattr("countermark.kernel.ledger.reach", passed.append)
    ledger = Ledger(tmp_path / "l.sqlite", Free(), clock)
    inside, go = threading.Event(), threading.Event()

    def slow(_: Tx) -> None:
        inside.set()
        go.wait()

    threads = [threading.Thread(target=ledger.apply, args=(slow,))]
    threads[0].start()
    inside.wait()
    threads += [threading.Thread(target=ledger.apply, args=(note("x"),)) for _ in range(20)]
    for one in threads[1:]:
        one.start()
    while ledger.waiting < 20:  # waits until all have queued, without a sleep
        pass
    go.set()
    for one in threads:
        one.join()
    assert passed.count("ledger.commit.after") == 2
    ledger.close()


def test_a_newer_ledger_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    with sqlite3.connect(path) as other:
        other.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    before = path.read_bytes()
    with pytest.raises(CountermarkError) as caught:
        Ledger(path, Free(), SystemClock())
    assert caught.value.code == "workspace_newer"
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_named_broken(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    path.write_bytes(b"not a database, but long enough to have a header of its own" * 20)
    with pytest.raises(CountermarkError) as caught:
        Ledger(path, Free(), SystemClock())
    assert caught.value.code == "ledger_broken"


def test_ledger_time_never_goes_back(ledger: Ledger, clock: SetClock) -> None:
    clock.ms = 5_000
    ledger.apply(note("a"))
    clock.ms = 1
    assert ledger.apply(lambda tx: tx.now) == 5_000


def test_a_full_disk_is_tried_once_more_after_the_reserve_is_freed(tmp_path: Path, clock: SetClock) -> None:
    freed: list[bool] = []

    def free_once() -> bool:
        if freed:
            return False
        freed.append(True)
        return True

    ledger = Ledger(tmp_path / "l.sqlite", Free(), clock, on_full=free_once)
    pages = ledger._connection.execute("PRAGMA page_count").fetchone()[0]  # noqa: SLF001 - the limit stands in for a disk
    ledger._connection.execute(f"PRAGMA max_page_count = {pages}")  # noqa: SLF001
    with pytest.raises(CountermarkError) as caught:
        ledger.apply(note("x" * 100_000))
    assert caught.value.code == "disk_full"
    assert freed == [True]
    assert ledger.events() == []
    ledger._connection.execute("PRAGMA max_page_count = 100000")  # noqa: SLF001
    assert ledger.apply(note("room again")) == 1
    ledger.close()


def test_a_constraint_that_refuses_one_item_leaves_its_neighbours_in_the_same_commit(
    tmp_path: Path, clock: SetClock
) -> None:
    ledger = Ledger(tmp_path / "l.sqlite", Free(), clock)
    inside, go = threading.Event(), threading.Event()
    codes: list[str] = []

    def slow(tx: Tx) -> None:
        tx.run("INSERT INTO meta VALUES ('one', '1')")
        inside.set()
        go.wait()

    def twice() -> None:
        try:
            ledger.apply(lambda tx: (tx.event("t", "note", {}), tx.run("INSERT INTO meta VALUES ('one', '2')")))
        except CountermarkError as error:
            codes.append(error.code)

    threads = [threading.Thread(target=ledger.apply, args=(slow,))]
    threads[0].start()
    inside.wait()
    acts = (lambda: ledger.apply(note("before")), twice, lambda: ledger.apply(note("after")))
    threads += [threading.Thread(target=act) for act in acts]
    for number, one in enumerate(threads[1:]):
        one.start()
        while ledger.waiting <= number:  # waits until it has queued, without a sleep
            pass
    go.set()
    for one in threads:
        one.join()
    assert codes == ["ledger_broken"]
    assert [e.body["text"] for e in ledger.events()] == ["before", "after"]
    assert ledger.read(lambda tx: tx.all("SELECT * FROM meta")) == [("one", "1")]
    ledger.close()


def test_a_question_that_sqlite_cannot_answer_says_so_in_our_words_and_the_next_is_answered(ledger: Ledger) -> None:
    with pytest.raises(CountermarkError) as caught:
        ledger.read(lambda tx: tx.one("SELECT nothing FROM nowhere"))
    assert caught.value.code == "ledger_broken"
    assert ledger.read(lambda tx: tx.one("SELECT 1")) == (1,)


def test_a_reading_knows_the_ledgers_time_although_the_clock_was_set_back(ledger: Ledger, clock: SetClock) -> None:
    clock.ms = 5_000
    ledger.apply(note("a"))
    clock.ms = 1
    assert ledger.read(lambda tx: tx.time()) == 5_000
