"""What the system is asked for, as a recorded trace shows it: syncs before words, and no effect past the points."""

from __future__ import annotations

import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import pytest

from countermark.kernel.backup import examine
from countermark.kernel.clock import SystemClock
from countermark.kernel.ledger import Ledger
from countermark.testkit.crash import KEYS, Trial, Victims
from countermark.testkit.witness import Witness

from .trace import CHANGES, OPENS, SPAWNS, SYNCS, Call, record

LEDGER = ".countermark/ledger.sqlite"


@dataclass
class Recorded:
    """One recorded run: its calls, the workspace as it was before it and as it is, and the main process."""

    calls: list[Call]
    before: Path
    space: Path
    world: Path
    acknowledged: dict[str, str] = field(default_factory=dict)

    @property
    def main(self) -> int:
        return self.calls[0].pid

    def mine(self) -> Iterator[tuple[int, Call]]:
        """Yield the calls of the process itself, threads included, and the points, with their place in the whole."""
        threads = {int(call.result) for call in self.calls if "CLONE_THREAD" in call.flags and call.ok}
        return ((place, call) for place, call in enumerate(self.calls) if call.pid in {self.main, *threads})

    def below(self, path: str) -> str:
        """Return a path below the workspace, or nothing."""
        return str(Path(path).relative_to(self.space)) if Path(path).is_relative_to(self.space) else ""


@pytest.fixture(name="recorded", scope="module")
def make_recorded(template: Path, victims: Victims, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    place = Path(tempfile.mkdtemp(prefix="cm-"))  # short, for the witness's socket
    with Witness(place) as own:
        trial = Trial(place / "trial", own.socket, own.file, victims)
        trial.prepare(template)
        before = tmp_path_factory.mktemp("before")
        shutil.copytree(trial.space, before / "space")
        calls = record(trial)
        trial.check()
        yield Recorded(calls, before / "space", trial.space, trial.folder / "world", trial.acknowledged)
    shutil.rmtree(place)


def acknowledgements(recorded: Recorded) -> list[tuple[int, str]]:
    """Return where in the trace each receipt was acknowledged, and its key."""
    said = [(place, call) for place, call in recorded.mine() if call.name == "write" and call.flags.startswith("1<")]
    found = [(place, call.texts[0].decode().split()[0]) for place, call in said]
    return [(place, key) for place, key in found if key in KEYS]


def test_every_receipt_is_acknowledged_in_the_trace(recorded: Recorded) -> None:
    assert [key for _, key in acknowledgements(recorded)] == list(KEYS)


@pytest.mark.promise("kernel.ledger.sync-before-word")
def test_the_log_is_synced_after_its_last_write_and_before_the_acknowledgement(recorded: Recorded) -> None:
    wal = str(recorded.space / f"{LEDGER}-wal")
    told = dict(acknowledgements(recorded))
    dirty, commits, since = False, 0, 0
    for place, call in recorded.mine():
        if call.path == wal and call.name in CHANGES:
            dirty = True
        elif call.path == wal and call.name in ("fsync", "fdatasync") and call.ok:
            dirty = False
        elif (call.name, call.path) == ("point", "ledger.commit.after"):
            assert not dirty, f"commit {commits} returned before its sync"
            commits += 1
        elif place in told:
            assert not dirty, f"{told[place]} was acknowledged before the sync"
            assert commits > since, f"{told[place]} was acknowledged without a commit"
            since = commits
    assert since > 0


def test_the_names_of_a_new_ledgers_files_are_durable_before_anything_is_acknowledged(recorded: Recorded) -> None:
    home = str(recorded.space / ".countermark")
    first = acknowledgements(recorded)[0][0]
    made = [
        n
        for n, call in recorded.mine()
        if call.name in OPENS and _creates(call) and LEDGER.encode() in b"".join(call.texts)
    ]
    assert made, "a log is made when the ledger is opened"
    synced = [n for n, call in recorded.mine() if call.name in ("fsync", "fdatasync") and call.path == home and call.ok]
    opened = max(n for n in made if n < first)
    assert any(opened < n < first for n in synced)


def test_what_is_published_was_synced_before_it_takes_its_place_and_its_folders_right_after(recorded: Recorded) -> None:
    stage = str(recorded.space / ".countermark/stage")
    dirty: set[str] = set()
    waiting: set[str] = set()
    moves = 0
    for _, call in recorded.mine():
        if call.name in ("fsync", "fdatasync") and call.ok:
            dirty.discard(call.path)
            waiting.discard(call.path)
        elif call.path.startswith(stage) and call.name in ("write", "pwrite64", "ftruncate"):
            dirty.add(call.path)
        elif call.name == "renameat2" and call.ok and call.paths[0].startswith(stage):
            if any(path.startswith(stage) for path in call.paths[1:]):
                continue
            assert not dirty, "staged bytes that were not synced took their place"
            waiting = set(call.paths)
            moves += 1
        elif (call.name, call.path) == ("point", "ledger.commit.before"):
            assert not waiting, "the ledger is about to say that it is published, and a folder is not synced"
    assert moves >= 5


@pytest.mark.promise("house.effects.one-door")
def test_no_write_no_rename_and_no_spawn_passes_by_the_points(recorded: Recorded) -> None:
    """SQLite's own files are the ledger's, whose commits are points; the stage and the world are the adapter's."""
    inside: dict[int, str] = {}
    strays = []
    for place, call in recorded.mine():
        if call.name == "point":
            what, _, side = call.path.rpartition(".")
            inside[call.pid] = what if side == "before" else ""
        elif not call.ok or _is_reading(call) or "CLONE_THREAD" in call.flags or place == 0:
            continue
        elif not _allowed(recorded, call) and not _stands_for(inside.get(call.pid, ""), call):
            strays.append(call)
    assert [(call.name, call.flags, call.paths, call.texts, call.result) for call in strays] == []


def _is_reading(call: Call) -> bool:
    return call.name in SYNCS - {"fsync"} or (call.name in OPENS and not _creates(call) and not _writes(call))


def _creates(call: Call) -> bool:
    return "O_CREAT" in call.flags


def _writes(call: Call) -> bool:
    return "O_WRONLY" in call.flags or "O_RDWR" in call.flags


def _allowed(recorded: Recorded, call: Call) -> bool:
    """Whether a call is SQLite's on its own files, the adapter's on its own, or a word through a pipe or socket."""
    places = [*call.paths, *(text.decode("utf-8", "replace") for text in call.texts if call.name != "write")]
    below = [recorded.below(path) for path in places]
    if any(path.startswith(LEDGER) for path in below) or places[-1:] == ["/dev/null"]:
        return True
    own = call.name not in ("renameat2", "rename", "unlinkat", "unlink")
    if own and any(path.startswith(".countermark/stage/") for path in below):
        return True
    if any(Path(path).is_relative_to(recorded.world) for path in places if path.startswith("/")):
        return True
    return call.name == "write" and call.path.startswith(("pipe:", "socket:", "UNIX", "anon_inode", "/dev/null"))


def _stands_for(inside: str, call: Call) -> bool:
    """Whether a call is the one that the point around it names."""
    names = {
        "files.open": OPENS,
        "files.write": {"write"},
        "files.truncate": {"ftruncate"},
        "files.allocate": {"fallocate"},
        "files.chmod": {"fchmod"},
        "files.fsync": {"fsync"},
        "files.rename": {"rename", "renameat"},
        "files.rename_new": {"renameat2"},
        "files.exchange": {"renameat2"},
        "files.link": {"linkat"},
        "files.unlink": {"unlinkat", "unlink"},
        "files.mkdir": {"mkdirat", "mkdir"},
        "files.rmdir": {"unlinkat", "rmdir"},
        "child.spawn": SPAWNS,
    }
    return call.name in names.get(inside, ())


class Disk:
    """The ledger's files as they stand and as they are durable, while a recorded trace is played."""

    def __init__(self, recorded: Recorded) -> None:
        self._names = {str(recorded.space / name): Path(name).name for name in (LEDGER, f"{LEDGER}-wal")}
        self._start = recorded.before
        now = {name: (self._start / ".countermark" / name) for name in self._names.values()}
        self.now = {name: bytearray(path.read_bytes() if path.exists() else b"") for name, path in now.items()}
        self.synced = {name: bytes(data) for name, data in self.now.items()}
        self._positions: dict[str, int] = defaultdict(int)

    def play(self, call: Call) -> bool:
        """Apply one call; return whether it was a sync of one of the files."""
        if call.name == "unlink" and (gone := self._names.get(call.texts[0].decode())) is not None and call.ok:
            self.now[gone].clear()  # an empty log and none are the same
        name = self._names.get(call.path)
        if name is None or not call.ok or call.name in ("fchown", "fchmod"):
            return False
        data = self.now[name]
        if call.name == "pwrite64":
            at = int(call.flags.rsplit(", ", 1)[1].rstrip(") "))
            if len(data) < at:
                data.extend(bytes(at - len(data)))
            data[at : at + len(call.texts[0])] = call.texts[0]
        elif call.name == "ftruncate":
            size = int(call.flags.rsplit(", ", 1)[1].rstrip(") "))
            del data[size:]
            data.extend(bytes(size - len(data)))
        elif call.name in ("fsync", "fdatasync"):
            self.synced[name] = bytes(data)
            return True
        else:
            assert call.name not in CHANGES, f"the ledger was written in a way this test does not know: {call}"
        return False

    def states(self) -> Iterator[dict[str, bytes]]:
        """Yield what a disk may hold when the power goes now: of each file what was synced, or all of it."""
        names = list(self.now)
        for kept in product((False, True), repeat=len(names)):
            yield {n: bytes(self.now[n]) if keep else self.synced[n] for n, keep in zip(names, kept, strict=True)}


@pytest.mark.promise("kernel.ledger.sync-before-word")
def test_the_ledger_cut_at_each_sync_opens_with_everything_acknowledged(recorded: Recorded, tmp_path: Path) -> None:
    told = dict(acknowledgements(recorded))
    disk = Disk(recorded)
    expected: list[str] = []
    cuts = 0
    seen: set[tuple[bytes, ...]] = set()
    for place, call in recorded.mine():
        if place in told:
            expected.append(recorded.acknowledged[told[place]].split()[0])
        before = list(disk.states()) if call.name in ("fsync", "fdatasync") else []
        if not disk.play(call) and place not in told:
            continue
        for state in [*before, *disk.states()]:
            key = (*state.values(), ",".join(expected).encode())
            if key not in seen:
                seen.add(key)
                cuts += 1
                _opens_with(state, expected, tmp_path / str(cuts))
    assert cuts > len(told)


def _opens_with(state: dict[str, bytes], expected: list[str], place: Path) -> None:
    place.mkdir()
    for name, data in state.items():
        (place / name).write_bytes(data)
    with closing(Ledger(place / Path(LEDGER).name, _Free(), SystemClock())) as ledger:
        rows = ledger.read(lambda tx: tx.all("SELECT id FROM tasks WHERE state = 'completed'"))
    assert examine(place / Path(LEDGER).name) == []
    missing = set(expected) - {row[0] for row in rows}
    assert not missing, f"acknowledged and gone after the power cut: {missing}"
    shutil.rmtree(place)


class _Free:
    def hold(self) -> None:
        """Take it."""

    def release(self) -> None:
        """Give it back."""


def test_the_replay_finds_a_ledger_that_was_never_synced(recorded: Recorded, tmp_path: Path) -> None:
    """The proof that the test above can fail: without the log's syncs what was acknowledged is gone."""
    disk = Disk(recorded)
    for _, call in recorded.mine():
        if call.name not in ("fsync", "fdatasync"):
            disk.play(call)
    [*_, last] = recorded.acknowledged.values()
    with pytest.raises(AssertionError, match="gone after the power cut"):
        _opens_with(disk.synced, [last.split()[0]], tmp_path / "deaf")
