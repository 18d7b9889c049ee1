"""A workspace: one folder with `countermark.toml` and `.countermark/`, opened by one process (design §4)."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Self

from countermark.kernel import cancel, config, fence, grant, perform, projection, publish, restart, task
from countermark.kernel.adapter import Adapter, Context, Intent, StagedFile
from countermark.kernel.canon import sha256_hex
from countermark.kernel.child import ProcessRunner, stop_group
from countermark.kernel.clock import Clock, Ids, RandomIds, SystemClock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.files import Root
from countermark.kernel.identity import own_identity
from countermark.kernel.key import Keys
from countermark.kernel.launch import Child, Runner
from countermark.kernel.ledger import Ledger, LockGate, Tx, compact
from countermark.kernel.lock import Lock
from countermark.kernel.plan import Plan
from countermark.kernel.process import descendants_alive
from countermark.kernel.projection import kept_receipt
from countermark.kernel.receipts import Receipts
from countermark.kernel.recovery import EffectKind
from countermark.kernel.runner import RunnerName
from countermark.kernel.state import State
from countermark.kernel.store import Store
from countermark.kernel.task import Task

HOME: Final = ".countermark"
LEDGER: Final = f"{HOME}/ledger.sqlite"
FOLDERS: Final = ("store", "stage", "runs", "keys", "locks")
RESERVE: Final = f"{HOME}/locks/reserve"
RESERVE_BYTES: Final = 4 << 20  # enough to record an ending on a full disk: a few commits and one run's evidence
RESOURCE_SECONDS: Final = 30.0
GRACE_SECONDS: Final = 3.0
INPUT_CAP: Final = 512 << 20

DEFAULT_EFFECTS: Final = ("vector.write", "scene.write")


class Workspace:
    """One open workspace. Safe for many threads; close it when done, so that its evidence is rendered."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        adapters: Sequence[Adapter] = (),
        clock: Clock | None = None,
        ids: Ids | None = None,
        runner: Runner | None = None,
        files: Root | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Open an existing workspace; raise `workspace_missing`, `workspace_newer` or `ledger_broken`."""
        self._opened = ExitStack()
        try:
            self._open(folder, clock, ids, runner, files, settings)
        except BaseException:
            self._opened.close()
            raise
        self._adapters = {adapter.name: adapter for adapter in adapters}
        self._running: Counter[str] = Counter()
        self._children: dict[str, list[Child]] = {}
        self._mutex = threading.Lock()

    def _open(
        self,
        folder: str | os.PathLike[str],
        clock: Clock | None,
        ids: Ids | None,
        runner: Runner | None,
        files: Root | None,
        settings: Mapping[str, Any] | None,
    ) -> None:
        self.path = Path(folder).resolve()
        if not (self.path / config.PROJECT_FILE).is_file() or not (self.path / HOME).is_dir():
            raise CountermarkError(
                "workspace_missing",
                f"{self.path} is not a Countermark workspace.",
                next_action="Make one with `countermark init DIR`, or run this inside one.",
            )
        self.clock: Clock = clock or SystemClock()
        self.ids: Ids = ids or RandomIds(self.clock)
        self._spawner: Runner = runner or ProcessRunner(self.clock)
        self.files = self._opened.enter_context(files or Root(self.path))
        project = self.files.read(config.PROJECT_FILE, cap=1 << 20)
        self.id = config.workspace_id(project)
        self.settings = config.load(project, config.read_user(), settings)
        self._require_whole()
        self.locks = self.path / HOME / "locks"
        self._lock_root = self._opened.enter_context(self.files.inside(f"{HOME}/locks"))
        self.store = Store(self._opened.enter_context(self.files.inside(f"{HOME}/store")))
        self.keys = Keys(self._opened.enter_context(self.files.inside(f"{HOME}/keys")))
        name = RunnerName(self.ids.new("r"), own_identity())
        self.runner_text = name.text()
        self._live = Lock(self._lock_root, name.lock_name)
        self._opened.callback(self._live.close)
        self._live.acquire(1.0)
        between = Lock(self._lock_root, "ledger.lock")
        self._opened.callback(between.close)
        gate = LockGate(between)
        self.ledger = Ledger(self.path / LEDGER, gate, self.clock, on_full=self.free_reserve)
        self._opened.callback(self.ledger.close)
        self.receipts = Receipts(self.ledger, self.keys, self.id, lambda task_id: kept_receipt(self, task_id))

    def _require_whole(self) -> None:
        """Raise `ledger_broken` naming the part that is gone."""
        parts = {
            LEDGER: "without it nobody can say what was done already",
            f"{HOME}/keys": "without it nothing can be signed",
            f"{HOME}/store": "without it no missing file comes back",
            f"{HOME}/locks": "without it nobody can say who still works here",
        }
        for name, loss in parts.items():
            if not self.files.exists(name):
                raise CountermarkError(
                    "ledger_broken",
                    f"This workspace's {name} is missing; {loss}.",
                    next_action="Put it back from a copy, or with `countermark ledger restore FOLDER` from a backup.",
                    details={"missing": name},
                )

    @classmethod
    def create(cls, folder: str | os.PathLike[str], *, name: str = "", **options: Any) -> Self:
        """Make a workspace in a folder, with a key and the default grant, and open it.

        The folder may exist and hold anything but a workspace; what an interrupted call left is used. Raises
        `output_exists` for a second `init`.
        """
        path = Path(folder)
        parent = Root(path.absolute().parent)
        with parent:
            if not path.exists():
                parent.make_dir(path.name)
        ids: Ids = options.get("ids") or RandomIds(options.get("clock") or SystemClock())
        with Root(path) as files:
            if files.exists(config.PROJECT_FILE):
                raise CountermarkError(
                    "output_exists", f"{path} is a workspace already.", next_action="Use it, or name another folder."
                )
            if not files.exists(HOME):
                files.make_dir(HOME)
            for inner in FOLDERS:
                if not files.exists(f"{HOME}/{inner}"):
                    files.make_dir(f"{HOME}/{inner}", mode=0o700 if inner == "keys" else 0o755)
            with files.inside(f"{HOME}/keys") as keys:
                if not keys.exists("current"):
                    Keys(keys).create()
            if not files.exists(f"{HOME}/.gitignore"):
                files.create(f"{HOME}/.gitignore", b"*\n")
            clock: Clock = options.get("clock") or SystemClock()
            with (
                files.inside(f"{HOME}/locks") as locks,
                closing(Lock(locks, "ledger.lock")) as between,
                closing(Ledger(path.resolve() / LEDGER, LockGate(between), clock)) as first,
            ):
                first.apply(_default_grant)
            files.reserve(RESERVE, RESERVE_BYTES)
            # A folder's name may be no text; then its bytes are written out.
            title = (name or path.resolve().name).encode("utf-8", "backslashreplace").decode("utf-8")
            text = f"[workspace]\nid = {compact(ids.new('w'))}\nname = {compact(title)}\n\n[settings]\n"
            # The last of all: whoever finds this file finds a whole workspace.
            files.create(config.PROJECT_FILE, text.encode("utf-8"))
        return cls(folder, **options)

    def close(self) -> None:
        """Render what ended, and let go of everything."""
        with suppress(CountermarkError):  # what cannot be rendered now is rendered at the next start
            while projection.sweep(self):
                pass
        self._forget_runners()
        self._opened.close()

    def _forget_runners(self) -> None:
        """Remove the lock files of this runner and of those that died, unless an unfinished task names them.

        One that died may have left temporary files, too.
        """
        with suppress(CountermarkError):  # whoever closes next does it
            named = {one.runner.split("|")[0] for one in self.ledger.read(task.load_open)}
            own = self.runner_text.split("|")[0]
            for entry in self._lock_root.listing():
                name, _, rest = entry.name.partition(".")
                if name.startswith("r-") and rest == "live" and name not in named:
                    crashed = self._forget_runner(entry.name, own=name == own) and name != own
                    if crashed:
                        self.files.sweep_temp(HOME)

    def _forget_runner(self, lock_name: str, *, own: bool) -> bool:
        with ExitStack() as held:
            if not own:
                lock = Lock(self._lock_root, lock_name)
                held.callback(lock.close)
                try:
                    held.enter_context(lock.hold(0.0))  # whoever holds it lives
                except CountermarkError:
                    return False
            for name in (lock_name, f"{lock_name}.queue"):
                self._lock_root.remove(name)
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # The one call.

    def perform(
        self,
        plan: Plan,
        *,
        grant: str,
        revision: str | Mapping[str, str],
        key: str | None = None,
        deadline: int | None = None,
        supersedes: str | None = None,
    ) -> perform.Performed:
        """Do a plan once under a grant, against a revision, and return its receipt (see `perform.perform`)."""
        return perform.perform(
            self, plan, grant_id=grant, revision=revision, key=key, deadline=deadline, supersedes=supersedes
        )

    # What the steps of an effect share.

    def adapter(self, name: str) -> Adapter:
        """Return a domain's adapter; raise `part_unavailable`."""
        try:
            return self._adapters[name]
        except KeyError:
            raise CountermarkError(
                "part_unavailable",
                f"The {name} domain is not installed here.",
                next_action=f"Install it: pip install 'countermark[{name}]'.",
            ) from None

    def knows(self, name: str) -> bool:
        """Return whether a domain's adapter is here."""
        return name in self._adapters

    def context(self, intent: Intent, *, stopped: bool = False) -> Context:
        """Return what an adapter may touch for one attempt; a staged one finds its stage made.

        A task that was asked to stop, or that another process took over, starts nothing more: `launch` and
        `save_handle` raise `stale_epoch`. With `stopped` it may, to look at what became of a task that has stopped.
        """
        stage = publish.stage_of(intent.task, intent.epoch)
        if intent.effect.kind is EffectKind.STAGED:
            self.files.make_dir(stage)

        def launch(argv: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Child:
            self.files.make_dir(stage)
            return self._launch(intent, argv, cwd or self.path / stage, env, stopped=stopped)

        def save_handle(text: str) -> None:
            self.ledger.apply(lambda tx: _save_handle(tx, intent, text))

        return Context(
            stage_name=stage,
            store=self.store,
            workspace=self.path,
            clock=self.clock,
            launch=launch,
            stopping=lambda: self._stopping(intent),
            report=lambda _: None,
            save_handle=save_handle,
        )

    def check_space(self, needed: int) -> None:
        """Raise `disk_full` when there is no room for what an effect will write and for recording how it ends."""
        free = self.files.free_bytes()
        wanted = needed + (self.settings.min_free_mib << 20)
        if free < wanted:
            raise CountermarkError(
                "disk_full",
                f"This needs {wanted >> 20} MiB of free space and there are {free >> 20}; nothing was started.",
                next_action="Free some space, or lower min_free_mib in countermark.toml.",
                details={"free": free, "needed": wanted},
            )
        if not self.files.exists(RESERVE):
            self.reserve()

    def reserve(self) -> None:
        """Set space aside, so that a full disk can still be recorded."""
        self.files.reserve(RESERVE, RESERVE_BYTES)

    def free_reserve(self) -> bool:
        """Give the reserved space back to a full disk; say whether there was any left."""
        if not self.files.exists(RESERVE):
            return False
        self.files.remove(RESERVE)
        return True

    def store_file(self, name: str, digest: str) -> None:
        """Copy a file below the workspace into the store; raise `artifact_invalid` if it is not what was declared."""
        descriptor = self.files.open_regular(name)
        try:
            found = self.store.put_fd(descriptor, INPUT_CAP)
        finally:
            os.close(descriptor)
        if found != digest:
            raise CountermarkError(
                "artifact_invalid",
                f"{name.rpartition('/')[2]} changed while it was being taken over.",
                next_action="Run it again.",
                details={"declared": digest, "found": found},
            )

    @contextmanager
    def resource_locks(self, names: Sequence[str]) -> Iterator[None]:
        """Hold the locks of several resources, taken in sorted order."""
        with ExitStack() as held:
            for name in sorted(names):
                lock = Lock(self._lock_root, f"resource-{sha256_hex(name.encode())[:16]}.lock")
                held.callback(lock.close)
                held.enter_context(lock.hold(RESOURCE_SECONDS, announce=f"publishing {name}"))
            yield

    def keep_orphans(self, intent: Intent, files: Sequence[StagedFile]) -> None:
        """Keep what a late result brought, as orphans that change no state (seed 1 §8)."""

        def transition(tx: Tx) -> None:
            for file in files:
                tx.run(
                    "INSERT OR IGNORE INTO artifacts (task, epoch, resource, name, digest, size, media_type, state) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, 'orphan')",
                    (intent.task, intent.epoch, file.resource, file.name, file.digest, file.size, file.media_type),
                )
            tx.event(intent.task, "late", {"epoch": intent.epoch, "files": [file.digest for file in files]})
            tx.run("UPDATE tasks SET swept = 0 WHERE id = ?", (intent.task,))  # its trace has one line more

        for file in files:
            name = publish.staged(intent, file.resource) + (f"/{file.name}" if file.name else "")
            with suppress(CountermarkError):  # bytes that are not what they claim to be are not worth keeping
                self.store_file(name, file.digest)
        self.ledger.apply(transition)

    def move_stage(self, task_id: str, new: int) -> None:
        """Hand the stage of a task's attempt on to the epoch that took it over.

        It may be several epochs old: one that took over before may have died before it moved it.
        """
        first = self.ledger.read(lambda tx: task.attempt_epoch(tx, task_id))
        there = publish.stage_of(task_id, new)
        parent = there.rpartition("/")[0]
        if not self.files.exists(parent) or self.files.exists(there):
            return
        made = [int(entry.name) for entry in self.files.listing(parent) if entry.name.isdecimal()]
        if since := [epoch for epoch in made if first <= epoch < new]:
            self.files.move_new(publish.stage_of(task_id, max(since)), there)

    # Children.

    def _launch(
        self, intent: Intent, argv: Sequence[str], cwd: Path, env: Mapping[str, str] | None, *, stopped: bool
    ) -> Child:
        live = f"{intent.task}.live"
        os.close(self._lock_root.open_permanent(live))
        child = self._spawner.start(argv, liveness=self.locks / live, cwd=cwd, env=env)
        try:
            row = compact(asdict(child.identity))
            self.ledger.apply(lambda tx: _register_child(tx, intent, row, argv, stopped=stopped))
        except BaseException:
            child.close()  # still at its gate: it ends without having run
            raise
        with self._mutex:
            self._children.setdefault(intent.task, []).append(child)
        child.go()
        return child

    def children_alive(self, task_id: str) -> bool:
        """Return whether anything that was started for a task may still live."""
        live = self.locks / f"{task_id}.live"
        return live.exists() and descendants_alive(live)

    def stop_children(self, task_id: str) -> None:
        """Stop what this process started for a task: TERM, then KILL."""
        with self._mutex:
            children = list(self._children.get(task_id, ()))
        for child in children:  # each belongs to the thread that started it: from here it is only signalled
            stop_group(child.identity, GRACE_SECONDS)

    def end_children(self, task_id: str) -> None:
        """Let go of what this thread started for a task: what still runs is stopped, nothing outlives its owner."""
        with self._mutex:
            children = self._children.pop(task_id, [])
        for child in children:
            child.close()

    def _stopping(self, intent: Intent) -> bool:
        row = self.ledger.read(lambda tx: tx.one("SELECT state, epoch FROM tasks WHERE id = ?", (intent.task,)))
        return row is None or row[0] == "cancel_requested" or row[1] != intent.epoch

    # Settling.

    def running(self, task_id: str) -> _Running:
        """Mark a task as being worked on by a thread of this process, in a `with`."""
        return _Running(self, task_id)

    def begin_work(self, task_id: str) -> None:
        """Count one more thread that works on a task."""
        with self._mutex:
            self._running[task_id] += 1

    def end_work(self, task_id: str) -> None:
        """Count one thread less, and let go of what it started."""
        with self._mutex:
            self._running[task_id] -= 1
            if not self._running[task_id]:
                del self._running[task_id]
        self.end_children(task_id)

    def is_running(self, task_id: str) -> bool:
        """Return whether a thread of this process works on a task."""
        return task_id in self._running

    def sweep(self) -> int:
        """Render the evidence of what ended since the last sweep; return of how many tasks (see `projection.sweep`)."""
        return projection.sweep(self)

    def settle(self, task_id: str) -> bool:
        """Take up a task whose process is gone (see `restart.settle`)."""
        return restart.settle(self, task_id)

    def settle_all(self) -> list[str]:
        """Take up every task whose process is gone; return the ids that are still open afterwards."""
        found = self.ledger.read(task.load_open)
        return [one.id for one in found if not self.settle(one.id)]

    def confirm_cancel(self, found: Task) -> None:
        """Confirm a stop (see `cancel.confirm`)."""
        cancel.confirm(self, found)


class _Running:
    """What `Workspace.running` enters: a generator in its place costs every operation more than its two lines."""

    __slots__ = ("_task", "_workspace")

    def __init__(self, workspace: Workspace, task_id: str) -> None:
        self._workspace = workspace
        self._task = task_id

    def __enter__(self) -> None:
        self._workspace.begin_work(self._task)

    def __exit__(self, *_: object) -> None:
        self._workspace.end_work(self._task)


def _require_at_work(tx: Tx, intent: Intent, *, stopped: bool) -> None:
    row = tx.one("SELECT epoch, state, ended_at FROM tasks WHERE id = ?", (intent.task,))
    if row is None:  # an adapter tried out by itself has no task that could be taken from it
        return
    epoch, state, ended = row
    if epoch != intent.epoch or ended is not None or (state == State.CANCEL_REQUESTED) != stopped:
        raise fence.stale(intent.task)


def _save_handle(tx: Tx, intent: Intent, text: str) -> None:
    _require_at_work(tx, intent, stopped=False)
    tx.run("UPDATE attempts SET handle = ? WHERE task = ? AND n = ?", (text, intent.task, intent.attempt))
    tx.event(intent.task, "handle", {"attempt": intent.attempt, "epoch": intent.epoch})


def _register_child(tx: Tx, intent: Intent, identity: str, argv: Sequence[str], *, stopped: bool) -> None:
    _require_at_work(tx, intent, stopped=stopped)
    row = tx.one("SELECT COUNT(*) FROM processes WHERE task = ? AND epoch = ?", (intent.task, intent.epoch))
    number = int(row[0]) + 1 if row else 1
    tx.run(
        "INSERT INTO processes (task, epoch, n, identity, argv) VALUES (?, ?, ?, ?, ?)",
        (intent.task, intent.epoch, number, identity, compact(list(argv))),
    )


def _default_grant(tx: Tx) -> None:
    """Issue the grant `init` makes, once: reversible writes inside the workspace, accepted by checks (design §4)."""
    if tx.one("SELECT 1 FROM grants WHERE id = 'default'") is not None:
        return
    terms = grant.Terms(effects=DEFAULT_EFFECTS, resources=(publish.FILE, "scene:"), acceptance="checks")
    grant.issue(tx, grant.Grant("default", None, (), "local user", "local user", terms, tx.now))
    tx.event("", "granted", {"grant": "default", "effects": list(terms.effects), "resources": list(terms.resources)})
