"""The ledger: one SQLite file, one write at a time, many callers in one commit.

`apply` runs a transition: a decision over rows read inside the transaction, and the rows it writes. Callers that
arrive together share one commit: whoever finds no write under way leads and takes along what has queued up. One refusal
never undoes its neighbours: an item that raises after it wrote has the batch run again, each item in a savepoint.
Leading in the caller's own thread saves the two thread switches per commit that a separate writer thread costs; there
is still exactly one writer at a time.

Across processes a blocking `flock` stands in front of BEGIN IMMEDIATE, because SQLite's own busy handler polls and
lets writers starve (measured: 1 against 20,800 commits). A commit that errors is *unknown* for its whole batch.
"""

from __future__ import annotations

import hashlib
import sqlite3
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from countermark.kernel import schema
from countermark.kernel.canon import spelled, stored
from countermark.kernel.clock import Clock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.lock import Lock
from countermark.kernel.points import reach
from countermark.kernel.turn import Item, Turns

T = TypeVar("T")
Row = tuple[Any, ...]

# A commit writes and syncs whole pages, and a row has a few hundred bytes: with 4,096 an operation took 15 % longer.
_PAGE_BYTES: Final = 2048
_LOG_PAGES: Final = 4096  # the write-ahead log is carried over at 8 MiB: about every 160 operations
_VERSION_AT: Final = 60  # the user version in a database header (SQLite file format §1.3)
# The log's index could not grow: SQLite says so with a code of its own.
_FULL: Final = frozenset({"SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"})
SECONDS: Final = 30.0
PAGE: Final = 1000
GENESIS: Final = "0" * 64
POINTS: Final = ("ledger.commit.before", "ledger.commit.after")


class Gate(Protocol):
    """The lock between processes; `hold` raises `ledger_busy` naming the holder when its deadline passes.

    `release` may be called where an interrupt or an error came before the lock was held.
    """

    def hold(self) -> None:
        """Take the lock, waiting for other processes."""
        ...

    def release(self) -> None:
        """Give the lock back."""
        ...


class LockGate:
    """The gate of a workspace: a lock between processes, waited for at most SECONDS."""

    def __init__(self, lock: Lock) -> None:
        """Take the lock."""
        self._lock = lock

    def hold(self) -> None:
        """Take it, or raise `ledger_busy` naming the holder."""
        self._lock.acquire(SECONDS, code="ledger_busy")

    def release(self) -> None:
        """Give it back, if this thread holds it."""
        if self._lock.mine:
            self._lock.release()


def compact(value: Any) -> str:
    """Return the one stored spelling of an event body: sorted names, no spaces."""
    return spelled(value)


def chain(previous: str, seq: int, task: str, kind: str, at: int, body: str) -> str:
    """Return an event's hash: SHA-256 over the previous hash and this event's exact stored text."""
    return hashlib.sha256(f"{previous}\n{seq}\n{task}\n{kind}\n{at}\n{body}".encode()).hexdigest()


class Tx:
    """One open transaction: rows in, rows out, and events appended to the chain."""

    __slots__ = ("_cursor", "_events", "_execute", "_hash", "_seq", "now", "written")

    def __init__(self, cursor: sqlite3.Cursor, head: tuple[int, str, int], now: int) -> None:
        self._cursor = cursor  # one for all statements: `Connection.execute` makes one for each
        self._execute = cursor.execute
        self._events: list[Row] = []
        self.written = 0
        """How many statements have changed something, events among them."""
        self._seq, self._hash, last = head
        # A clock set back must not revive an expired grant: ledger time never goes behind the last event.
        self.now = max(now, last)

    @property
    def head(self) -> tuple[int, str, int]:
        """The chain's last sequence number, hash and time."""
        return self._seq, self._hash, self.now

    def time(self) -> int:
        """Return the ledger's time, in a reading too: never behind the last event."""
        row = self.one("SELECT at FROM events ORDER BY seq DESC LIMIT 1")
        return max(self.now, row[0] if row else 0)

    def rewind(self, head: tuple[int, str, int]) -> None:
        """Forget events that a rolled back savepoint appended."""
        del self._events[len(self._events) - (self._seq - head[0]) :]
        self._seq, self._hash, _ = head

    def flush(self) -> None:
        """Write the events that were appended: one statement for all of a batch, so that threads switch less."""
        events, self._events = self._events, []
        self._cursor.executemany(
            "INSERT INTO events (seq, task, kind, at, body, hash) VALUES (?, ?, ?, ?, ?, ?)", events
        )

    def one(self, sql: str, arguments: Sequence[Any] = ()) -> Row | None:
        """Return the first row, or None."""
        row: Row | None = self._execute(sql, arguments).fetchone()
        return row

    def all(self, sql: str, arguments: Sequence[Any] = ()) -> list[Row]:
        """Return every row."""
        return self._execute(sql, arguments).fetchall()

    def run(self, sql: str, arguments: Sequence[Any] = ()) -> int:
        """Write, and return how many rows changed."""
        changed = self._execute(sql, arguments).rowcount
        self.written += changed > 0
        return changed

    def event(self, task: str, kind: str, body: dict[str, Any]) -> int:
        """Append an event and return its number; its row is there once the transition has returned."""
        text = compact(body)
        self._seq += 1
        self._hash = chain(self._hash, self._seq, task, kind, self.now, text)
        self._events.append((self._seq, task, kind, self.now, text, self._hash))
        self.written += 1
        return self._seq


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the ledger's history; `body` is a JSON object."""

    seq: int
    task: str
    kind: str
    at: int
    body: dict[str, Any]
    hash: str


class Ledger:
    """One open ledger file. Safe for many threads; open one per process."""

    def __init__(self, path: Path, gate: Gate, clock: Clock, *, on_full: Callable[[], bool] = lambda: False) -> None:
        """Open or create the file; raise `workspace_newer` or `ledger_broken` when it cannot be used.

        `on_full` is called when the disk is full and says whether it could free reserved space for one more try.
        """
        self._path = path
        self._gate = gate
        self._clock = clock
        self._on_full = on_full
        self._turns = Turns(self._commit)
        self._readers = threading.Lock()
        try:
            self._gate.hold()
            self._connection = self._opened(_open)
            self._reader = self._opened(_connect)
            self._writing, self._reading = self._connection.cursor(), self._reader.cursor()
        finally:
            self._gate.release()

    def _opened(self, way: Callable[[Path], sqlite3.Connection]) -> sqlite3.Connection:
        """Open the file, on a full disk once more with what was held in reserve: an ending must be recordable."""
        try:
            return way(self._path)
        except sqlite3.Error as error:
            if not (_is_full(error) and self._on_full()):
                raise as_ours(error, self._path) from error
        try:
            return way(self._path)
        except sqlite3.Error as error:
            raise as_ours(error, self._path) from error

    def close(self) -> None:
        """Close both connections; a call afterwards is an error of the caller."""
        with self._readers:
            self._reader.close()
        self._connection.close()

    def apply(self, transition: Callable[[Tx], T]) -> T:
        """Run a transition in a durable transaction and return its result, or raise what it raised.

        Returns only after COMMIT has synced. `commit_unknown` means the disk failed inside COMMIT: whether the
        transition stands must be looked up, never assumed.
        """
        item = Item(transition)
        self._turns.take(item)
        return item.outcome()

    @property
    def waiting(self) -> int:
        """How many callers have queued up for the next commit."""
        return self._turns.waiting

    def _commit(self, batch: list[Item[Any]]) -> None:
        try:
            self._gate.hold()
            try:
                self._transact(batch)
            except sqlite3.OperationalError as error:
                if not (_is_full(error) and self._on_full()):
                    raise
                self._transact(batch)
        except sqlite3.Error as error:
            raise as_ours(error, self._path) from error
        finally:
            self._gate.release()

    def _transact(self, batch: list[Item[Any]]) -> None:
        connection, cursor = self._connection, self._writing
        try:
            cursor.execute("BEGIN IMMEDIATE")
            tx = Tx(cursor, _head(cursor), self._clock.now_ms())
            if len(batch) == 1:
                self._alone(tx, batch[0])
            elif not self._together(tx, batch):
                cursor.execute("ROLLBACK")
                cursor.execute("BEGIN IMMEDIATE")
                tx = Tx(cursor, _head(cursor), self._clock.now_ms())
                for item in batch:
                    self._in_savepoint(tx, item)
            tx.flush()
            reach("ledger.commit.before")
            self._make_durable()
        except BaseException:
            if connection.in_transaction:  # SQLite may have rolled back by itself, as on a full disk
                cursor.execute("ROLLBACK")
            raise
        reach("ledger.commit.after")

    def _make_durable(self) -> None:
        try:
            self._writing.execute("COMMIT")
        except sqlite3.Error as error:
            # The frame that commits is the last that is written: if there was no room for it, nothing stands.
            if self._connection.in_transaction or _is_full(error):
                raise
            raise CountermarkError(
                "commit_unknown",
                f"The disk failed while a commit was being made durable ({error}); it may or may not stand.",
                next_action="Repeat the call with the same key: it looks before it does anything.",
            ) from error

    def _alone(self, tx: Tx, item: Item[Any]) -> None:
        self._attempt(tx, item)
        if item.error is not None:
            raise item.error

    def _together(self, tx: Tx, batch: list[Item[Any]]) -> bool:
        """Run the items of a batch one after another; False when one wrote and then raised, so that all must go.

        Nearly every refusal comes before its first write and undoes nothing. For the others each item needs a savepoint
        of its own, which all would pay for: two statements, at each of which threads switch.
        """
        for item in batch:
            written = tx.written
            self._attempt(tx, item)
            if item.error is not None and tx.written != written:
                return False
        return True

    def _in_savepoint(self, tx: Tx, item: Item[Any]) -> None:
        head = tx.head
        tx.run("SAVEPOINT item")
        self._attempt(tx, item)
        if item.error is not None:
            tx.run("ROLLBACK TO item")
            tx.rewind(head)
        tx.run("RELEASE item")

    def _attempt(self, tx: Tx, item: Item[Any]) -> None:
        """Leave an item its result or its own error; raise errors of SQLite, after which the transaction is in doubt.

        A constraint that refuses undoes its own statement and leaves the transaction whole: it is the item's own error.
        """
        try:
            item.result, item.error = item.work(tx), None
        except sqlite3.IntegrityError as error:
            item.error = as_ours(error, self._path)
        except sqlite3.Error:
            raise
        except Exception as error:  # noqa: BLE001 - carried to the caller whose item it is
            item.error = error

    def read(self, question: Callable[[Tx], T]) -> T:
        """Answer a question from a snapshot of what is committed; never waits for writers."""
        with self._readers:
            cursor = self._reading
            try:
                cursor.execute("BEGIN")
                return question(Tx(cursor, (0, GENESIS, 0), self._clock.now_ms()))
            except sqlite3.Error as error:
                raise as_ours(error, self._path) from error
            finally:
                if self._reader.in_transaction:
                    cursor.execute("COMMIT")

    def copy_to(self, path: Path) -> None:
        """Write a consistent copy of everything committed into a new file, with no write under way."""
        try:
            self._gate.hold()
            with self._readers:
                self._reader.execute("VACUUM INTO ?", (str(path),))
        except sqlite3.Error as error:
            raise as_ours(error, path) from error
        finally:
            self._gate.release()

    def events(self, since: int = 0, *, task: str | None = None, limit: int | None = None) -> list[Event]:
        """Return events numbered above `since`, oldest first, at most `limit`: by default all of a task, else PAGE."""
        clause = " AND task = ?" if task is not None else ""
        most = limit if limit is not None else PAGE if task is None else -1
        arguments: tuple[Any, ...] = (since, task, most) if task is not None else (since, most)
        sql = f"SELECT seq, task, kind, at, body, hash FROM events WHERE seq > ?{clause} ORDER BY seq LIMIT ?"  # noqa: S608
        rows = self.read(lambda tx: tx.all(sql, arguments))
        return [Event(seq, name, kind, at, stored(body), seal) for seq, name, kind, at, body, seal in rows]


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256, timeout=30)
    try:
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")  # counts for a file that is made now
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
        connection.execute("PRAGMA foreign_keys = ON")
        if sys.platform == "darwin":
            connection.execute("PRAGMA fullfsync = 1")
        connection.execute("PRAGMA user_version").fetchone()  # here the log's index is made, which takes room
    except BaseException:
        connection.close()
        raise
    return connection


def _open(path: Path) -> sqlite3.Connection:
    if sqlite3.sqlite_version_info < (3, 40):
        raise CountermarkError(
            "runtime_missing",
            f"SQLite {sqlite3.sqlite_version} is too old for the ledger.",
            next_action="Use a Python built with SQLite 3.40 or newer.",
        )
    version = _version(path)
    if version > schema.VERSION:
        raise CountermarkError(
            "workspace_newer",
            f"This workspace's ledger has schema {version}; this program knows up to {schema.VERSION}.",
            next_action="Use the newer Countermark that wrote it.",
            details={"found": version, "known": schema.VERSION},
        )
    connection = _connect(path)
    try:
        if connection.execute("PRAGMA user_version").fetchone() == (0,):
            connection.executescript(
                f"BEGIN IMMEDIATE; {schema.SCHEMA} PRAGMA user_version = {schema.VERSION}; COMMIT;"
            )
    except BaseException:
        connection.close()
        raise
    return connection


def _version(path: Path) -> int:
    """Read the schema number from the file's header, so that a newer file stays exactly as it is."""
    try:
        with path.open("rb") as file:
            header = file.read(_VERSION_AT + 4)
    except FileNotFoundError:
        return 0
    return int.from_bytes(header[_VERSION_AT:], "big") if header.startswith(b"SQLite format 3\0") else 0


def _head(cursor: sqlite3.Cursor) -> tuple[int, str, int]:
    row = cursor.execute("SELECT seq, hash, at FROM events ORDER BY seq DESC LIMIT 1").fetchone()
    return row or (0, GENESIS, 0)


def _is_full(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorname", "") in _FULL


def as_ours(error: sqlite3.Error, path: Path) -> CountermarkError:
    """Return what an error of SQLite about a ledger file means in our words."""
    name = getattr(error, "sqlite_errorname", "") or type(error).__name__
    if _is_full(error):
        return CountermarkError(
            "disk_full", "The disk is full: the ledger could not grow.", next_action="Free some space and try again."
        )
    if name.startswith("SQLITE_READONLY") or name == "SQLITE_CANTOPEN":
        return CountermarkError(
            "disk_read_only",
            f"The ledger {path.name} cannot be written ({name}).",
            next_action="Make the workspace folder writable and try again.",
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return CountermarkError(
            "ledger_busy", "Another program holds the ledger.", next_action="Close it and try again."
        )
    return CountermarkError(
        "ledger_broken",
        f"The ledger {path.name} could not be used ({name}: {error}).",
        next_action="Run `countermark ledger check`; restore a backup if it says so.",
    )
