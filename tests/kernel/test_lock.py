from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import pytest

import countermark.kernel.lock as lock_module
from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root
from countermark.kernel.identity import own_identity
from countermark.kernel.lock import TURN_SECONDS, Lock
from countermark.testkit.disk import FaultyCalls
from tests.conftest import ROOT


class Time:
    """A clock that only moves when somebody pauses."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.pauses = 0

    def clock(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds
        self.pauses += 1


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    with Root(tmp_path) as opened:
        yield opened


@pytest.fixture
def time() -> Time:
    return Time()


def lock(root: Root, time: Time) -> Lock:
    return Lock(root, "ledger", clock=time.clock, pause=time.pause)


def started(folder: Path, *lines: str) -> subprocess.Popen[str]:
    """Start a process that has taken the lock when it has said a word, and keeps it while its input is open."""
    program = "\n".join(
        [
            "import sys, os",
            "from countermark.kernel.files import Root",
            "from countermark.kernel.lock import Lock",
            "root = Root(sys.argv[1])",
            "lock = Lock(root, 'ledger')",
            *lines,
            "print('taken', flush=True)",
            "sys.stdin.read()",
        ]
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "taken\n"
    return process


def ended(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_one_holds_and_the_other_waits_until_its_deadline(root: Root, time: Time) -> None:
    first, second = lock(root, time), lock(root, time)
    with first.hold(0):
        with pytest.raises(CountermarkError) as error:
            second.acquire(5.0)
        assert error.value.code == "resource_busy"
        assert time.now == pytest.approx(1005.0)
    second.acquire(0)
    second.release()


def test_the_caller_chooses_the_code(root: Root, time: Time) -> None:
    with lock(root, time).hold(0), pytest.raises(CountermarkError) as error:
        lock(root, time).acquire(0, code="ledger_busy")
    assert error.value.code == "ledger_busy"


def test_threads_of_one_lock_exclude_each_other(root: Root, time: Time) -> None:
    shared = lock(root, time)
    refused: list[str] = []

    def attempt() -> None:
        try:
            shared.acquire(0.01)
        except CountermarkError as error:
            refused.append(error.code)

    with shared.hold(0):
        other = threading.Thread(target=attempt)
        other.start()
        other.join()
    assert refused == ["resource_busy"]


@pytest.mark.promise("kernel.lock.holder-named")
def test_a_holder_is_named_by_what_it_announced(root: Root, time: Time, tmp_path: Path) -> None:
    holder = started(tmp_path, "lock.acquire(5, announce='exporting logo.vectorcraft')")
    try:
        with pytest.raises(CountermarkError) as error:
            lock(root, time).acquire(1.0)
        assert f"process {holder.pid} (exporting logo.vectorcraft)" in error.value.sentence
        found = error.value.details["holder"]
        assert (found["pid"], found["host"]) == (holder.pid, os.uname().nodename)
        assert found["boot_id"]
        assert found["start_time"]
    finally:
        ended(holder)


def test_a_holder_that_announced_nothing_is_named_by_the_system(root: Root, time: Time, tmp_path: Path) -> None:
    holder = started(tmp_path, "lock.acquire(5)")
    try:
        with pytest.raises(CountermarkError) as error:
            lock(root, time).acquire(0)
        assert f"process {holder.pid}" in error.value.sentence
    finally:
        ended(holder)


@pytest.mark.promise("kernel.lock.holder-named")
def test_a_killed_holder_holds_nothing(root: Root, time: Time, tmp_path: Path) -> None:
    holder = started(tmp_path, "lock.acquire(5, announce='something long')")
    assert lock(root, time).holder() is not None
    ended(holder)
    mine = lock(root, time)
    assert mine.holder() is None
    with mine.hold(0):
        assert time.pauses == 0
        # What the dead one announced is still in the file; it is not said of the living.
        found = lock(root, time).holder()
        assert found is not None
        assert (found.pid, found.what) == (os.getpid(), None)


def test_what_another_living_process_announced_is_not_said_of_the_holder(
    root: Root, time: Time, tmp_path: Path
) -> None:
    holder = started(tmp_path, "lock.acquire(5)")
    try:
        (tmp_path / "ledger").write_text(json.dumps({**own_identity()._asdict(), "what": "left behind"}))
        found = lock(root, time).holder()
        assert found is not None
        assert (found.pid, found.what) == (holder.pid, None)
    finally:
        ended(holder)


def test_without_a_table_of_locks_only_the_living_are_believed(
    root: Root, time: Time, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_module, "_pid_of_holder", lambda _: None)  # as where there is no /proc/locks
    with lock(root, time).hold(0, announce="a kit"):
        found = lock(root, time).holder()
        assert found is not None
        assert (found.pid, found.what) == (os.getpid(), "a kit")
        (tmp_path / "ledger").write_text(json.dumps({**own_identity()._asdict(), "start_time": 1, "what": "long ago"}))
        assert lock(root, time).holder() == (None, None, None, None, None)


def test_what_was_announced_is_taken_back(root: Root, time: Time, tmp_path: Path) -> None:
    mine = lock(root, time)
    with mine.hold(0, announce="a kit"):
        said = json.loads((tmp_path / "ledger").read_text())
        assert said == {**own_identity()._asdict(), "what": "a kit"}
    assert (tmp_path / "ledger").read_bytes() == b""


def test_a_fork_does_not_share_its_parents_lock(tmp_path: Path) -> None:
    holder = started(
        tmp_path,
        "lock.acquire(5)",
        "from countermark.kernel.errors import CountermarkError",
        "lock._thread = __import__('threading').Lock()",
        "child = os.fork()",
        "if child == 0:",
        "    try: lock.acquire(0)",
        "    except CountermarkError: os._exit(7)",
        "    os._exit(0)",
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7",
    )
    ended(holder)


def test_a_removed_lock_file_is_noticed(root: Root, time: Time, tmp_path: Path) -> None:
    mine = lock(root, time)
    with mine.hold(0):
        pass
    (tmp_path / "ledger").unlink()
    time.now += 2 * TURN_SECONDS
    with mine.hold(0), pytest.raises(CountermarkError):
        lock(root, time).acquire(0)


def test_the_files_stay_and_are_private(root: Root, time: Time, tmp_path: Path) -> None:
    with lock(root, time).hold(0):
        pass
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {
        "ledger": 0o600,
        "ledger.queue": 0o600,
    }


def test_whoever_had_its_turn_stands_behind_the_first_waiter(root: Root, time: Time, tmp_path: Path) -> None:
    mine = lock(root, time)
    with mine.hold(0):
        pass
    waiter = os.open(tmp_path / "ledger.queue", os.O_RDWR)
    fcntl.flock(waiter, fcntl.LOCK_EX)
    with mine.hold(0):  # its turn is not over
        pass
    time.now += 2 * TURN_SECONDS
    with pytest.raises(CountermarkError):
        mine.acquire(0)
    os.close(waiter)
    with mine.hold(0):
        pass


def test_a_lock_that_is_not_held_cannot_be_released(root: Root, time: Time) -> None:
    mine = lock(root, time)
    with pytest.raises(AssertionError, match="ledger"):
        mine.release()
    with mine.hold(0):
        pass
    with pytest.raises(AssertionError, match="ledger"):
        mine.release()


def test_a_failed_announcement_leaves_the_lock_free(tmp_path: Path, time: Time) -> None:
    with Root(tmp_path, calls=FaultyCalls(number=errno.ENOSPC, operation="write")) as full:
        with pytest.raises(CountermarkError) as error:
            lock(full, time).acquire(0, announce="a kit")
        assert error.value.code == "disk_full"
        with lock(full, time).hold(0):
            pass


def _count_up(path: str, times: int) -> None:
    with Root(path) as root:
        counter = os.open(Path(path) / "count", os.O_RDWR)
        mine = Lock(root, "ledger")
        for _ in range(times):
            with mine.hold(60):
                os.pwrite(counter, b"%09d" % (int(os.pread(counter, 9, 0)) + 1), 0)


def test_nothing_is_lost_among_processes(root: Root, tmp_path: Path) -> None:
    (tmp_path / "count").write_text("0" * 9)
    context = get_context("spawn")
    workers = [context.Process(target=_count_up, args=(root.path, 200)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert (tmp_path / "count").read_text() == "000000800"
