"""Kill or stop real processes at named points, and see what a new one makes of what they left.

    with Victims() as victims:
        ended = victims.run(Victim(space, world, steps=(Step("perform", "k", "test.direct", "world:a"),), kill=At(17)))
        ended.signal, ended.said

`Victims` is one process that has everything imported and forks a victim for each run, so that a trial costs what its
work costs and not a start of Python. A victim opens the workspace, takes its steps in order and says one line for each:
the key, the task and the SHA-256 of the receipt it was given, or the key and the code it was refused with. At the
chosen point it gets SIGKILL, or SIGSTOP until `resume`. `Trial` drives a victim and the process after it through
OPERATIONS and checks what must hold: no effect twice by the witness, no acknowledged receipt lost or changed, a sound
ledger.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from countermark.kernel import backup, cancel, grant, points, publish, restart, review, task
from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Tx
from countermark.kernel.leftover import TEMP_PREFIX
from countermark.kernel.plan import Plan
from countermark.kernel.recovery import EffectClass, Executed
from countermark.kernel.task import Task
from countermark.kernel.workspace import Workspace
from countermark.testkit.adapter import ScriptedAdapter, World
from countermark.testkit.witness import effects

GRANT: Final = "crash-test"
CAREFUL: Final = "crash-test-careful"
"""Like GRANT, and a person has to accept."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing a victim does.

    `do` is `perform`; `settle` (everything that was left); `accept`, `unblock` or `cancel` (the newest task); `revoke`
    (GRANT, with all its tasks); `grants` (issue them where a kill prevented it); `rotate` (the signing key); `takeover`
    (the newest task, without the proof that its runner is gone, as if that proof had been wrong); or `write` (be the
    person who edits the file that `resource` names).
    """

    do: str
    key: str = ""
    word: str = ""
    resource: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)
    revision: str = ""
    grant: str = GRANT


OPERATIONS: Final[tuple[Step, ...]] = (
    Step("settle"),
    Step("perform", "direct-1", "test.direct", "world:one"),
    Step("perform", "file-1", "test.staged", "file:doc.txt", {"text": "first"}),
    Step("perform", "file-2", "test.staged", "file:doc.txt", {"text": "second"}),
    Step("perform", "folder-1", "test.staged", "file:kit", {"text": "one", "folder": True}),
    Step("rotate"),
    Step("perform", "folder-2", "test.staged", "file:kit", {"text": "two", "folder": True}),
    Step("perform", "child-1", "test.staged", "file:made/by-child.txt", {"text": "child", "child": True}),
    Step("perform", "direct-2", "test.direct", "world:one"),
)
KEYS: Final = tuple(step.key for step in OPERATIONS if step.key)


@dataclass(frozen=True, slots=True)
class At:
    """Where it happens: the `number`-th point that is passed, counted among those named `point`, or among all."""

    number: int
    point: str = ""


@dataclass(frozen=True, slots=True)
class Victim:
    """One process: its workspace and world, what it does, how its adapter behaves, and where it is killed or stopped.

    `script` and `breaks` are those of `ScriptedAdapter`. `record` names a file for the points that were passed. `edit`
    writes a file of the workspace at a point: (path, text) at `edit_at`, the person whose edit comes in that instant.
    With `fresh` the workspace is made first.
    """

    space: Path
    world: Path
    socket: Path | None = None
    steps: tuple[Step, ...] = OPERATIONS
    script: Mapping[str, Sequence[str]] = field(default_factory=dict)
    breaks: Mapping[str, str] = field(default_factory=dict)
    effect_class: EffectClass = EffectClass.IDEMPOTENT_WRITE
    kill: At | None = None
    stop: At | None = None
    record: Path | None = None
    edit: tuple[str, str] | None = None
    edit_at: At | None = None
    fresh: bool = False

    def wire(self) -> dict[str, Any]:
        """Return the JSON form."""
        return json.loads(json.dumps(asdict(self), default=str))  # type: ignore[no-any-return]

    @classmethod
    def read(cls, wire: Mapping[str, Any]) -> Victim:
        """Return the victim that `wire` wrote."""
        places = {name: Path(wire[name]) if wire[name] else None for name in ("space", "world", "socket", "record")}
        at = {name: At(**wire[name]) if wire[name] else None for name in ("kill", "stop", "edit_at")}
        steps = tuple(Step(**step) for step in wire["steps"])
        rest = {"steps": steps, "effect_class": EffectClass(wire["effect_class"])}
        return cls(**{**wire, **places, **at, **rest})


@dataclass(frozen=True, slots=True)
class Ended:
    """How a victim ended or where it stands: a stopped one has `pid` and waits for `Victims.resume`.

    `said` are its lines so far, `trouble` what it wrote to standard error.
    """

    pid: int
    stopped: bool
    code: int | None
    signal: int | None
    said: tuple[str, ...]
    trouble: str


class Victims:
    """The process that forks victims, for the length of a block; one victim runs at a time, others may be stopped."""

    def __init__(self) -> None:
        """Not started yet."""
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """Start it."""
        source = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-m", __spec__.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it, and with it every stopped victim."""
        assert self._process is not None  # noqa: S101 - started on entry
        with self._process as process:
            assert process.stdin is not None  # noqa: S101 - asked for
            process.stdin.close()
            process.wait()

    def run(self, victim: Victim) -> Ended:
        """Run a victim until it ends or stops."""
        return self._ask({"run": victim.wire()})

    def call(self, name: str, *arguments: object) -> Ended:
        """Run `module:function`, with JSON values, in a process of its own; what it prints is what it said."""
        return self._ask({"call": name, "arguments": list(arguments), "path": sys.path})

    def resume(self, pid: int) -> Ended:
        """Let a stopped victim go on until it ends."""
        return self._ask({"resume": pid})

    def kill(self, pid: int) -> Ended:
        """Kill a stopped victim."""
        return self._ask({"kill": pid})

    def _ask(self, request: dict[str, Any]) -> Ended:
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None  # noqa: S101, PT018
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline() or "null")
        if answer is None:
            message = "the process that forks victims has ended"
            raise OSError(message)
        return Ended(**{**answer, "said": tuple(answer["said"])})


@dataclass
class Trial:
    """One workspace with its world and witness, for one victim and the processes after it."""

    folder: Path
    socket: Path
    witness_file: Path
    victims: Victims
    acknowledged: dict[str, str] = field(default_factory=dict)

    @property
    def space(self) -> Path:
        """The workspace."""
        return self.folder / "space"

    def prepare(self, template: Path | None = None) -> None:
        """Make the workspace and the world, or copy those that an earlier trial prepared."""
        if template is not None:
            shutil.copytree(template, self.folder)
            return
        (self.folder / "world").mkdir(parents=True)
        adapter = ScriptedAdapter(World(self.folder / "world"))
        with Workspace.create(self.space, adapters=[adapter]) as workspace:
            allow(workspace)

    def victim(self, **options: Any) -> Victim:
        """Return a victim of this trial."""
        return Victim(self.space, self.folder / "world", self.socket, **options)

    def run(self, **options: Any) -> Ended:
        """Run one process; note what was acknowledged, and raise AssertionError when a receipt is not what it was."""
        return self.note(self.victims.run(self.victim(**options)))

    def rehearse(self, **options: Any) -> list[str]:
        """Return the points that a victim would pass, found out on a copy of the workspace and the world."""
        copy = Trial(self.folder.with_name("rehearsal"), self.socket, self.witness_file, self.victims)
        shutil.copytree(self.folder, copy.folder)
        victim = replace(copy.victim(**options), socket=None, record=copy.folder / "points")
        self.victims.run(victim)
        passed = (copy.folder / "points").read_text("utf-8").split()
        shutil.rmtree(copy.folder)
        return passed

    def note(self, ended: Ended) -> Ended:
        """Note what a process acknowledged; anything but its own end or SIGKILL is an error."""
        for line in ended.said:
            key, _, rest = line.partition(" ")
            if " " in rest and self.acknowledged.setdefault(key, rest) != rest:
                message = f"the receipt of {key} changed: {self.acknowledged[key]} became {rest}"
                raise AssertionError(message)
        if not ended.stopped and (ended.code, ended.signal) not in ((0, None), (None, signal.SIGKILL)):
            message = f"the process ended with {ended.code or ended.signal}:\n{ended.trouble}"
            raise AssertionError(message)
        return ended

    def check(self) -> None:
        """Raise AssertionError unless everything that must hold after OPERATIONS holds."""
        missing = [key for key in KEYS if key not in self.acknowledged]
        assert not missing, f"never acknowledged: {missing}"  # noqa: S101 - an assertion is this module's result
        world = World(self.folder / "world")
        assert world.lines("world:one") == ["direct-1", "direct-2"], world.lines("world:one")  # noqa: S101
        assert not self.twice(), f"effects twice by the witness: {self.twice()}"  # noqa: S101
        assert (self.space / "doc.txt").read_text("utf-8") == "second"  # noqa: S101
        assert (self.space / "kit/sub/b.txt").read_text("utf-8") == "two"  # noqa: S101
        assert (self.space / "made/by-child.txt").read_text("utf-8") == "child"  # noqa: S101
        left = [str(path) for path in self.space.rglob(f"{TEMP_PREFIX}*")]
        assert not left, f"temporary files are left: {left}"  # noqa: S101
        self.check_ledger()

    def twice(self) -> list[str]:
        """Return the direct effects that the witness saw more than once."""
        seen = Counter(effects(self.witness_file))
        return [key for key in KEYS if key.startswith("direct") and seen[key] > 1]

    def check_ledger(self) -> None:
        """Raise AssertionError unless the ledger and the store are sound and every receipt is what it was."""
        world = World(self.folder / "world")
        with Workspace(self.space, adapters=[ScriptedAdapter(world)]) as workspace:
            faults = backup.check(workspace)
            assert not faults, faults  # noqa: S101
            for key, told in self.acknowledged.items():
                task_id, sha256 = told.split(" ")
                again = sha256_hex(workspace.receipts.render(task_id))
                assert again == sha256, f"the acknowledged receipt of {key} is lost"  # noqa: S101


def allow(workspace: Workspace) -> None:
    """Issue the grants under which the steps run, once."""

    def issue(tx: Tx) -> None:
        if tx.one("SELECT 1 FROM grants WHERE id = ?", (GRANT,)) is not None:
            return
        for name, terms in (
            (GRANT, grant.Terms(("test",), ("",))),
            (CAREFUL, grant.Terms(("test",), ("",), acceptance="person")),
        ):
            grant.issue(tx, grant.Grant(name, None, (), "test kit", "test kit", terms, tx.now))

    workspace.ledger.apply(issue)


def plan(step: Step) -> Plan:
    """Return the plan of one step."""
    return Plan("scripted", step.word, step.word, (step.resource,), step.payload)


def act(workspace: Workspace, adapter: ScriptedAdapter, step: Step) -> str:
    """Take one step and return what there is to say of it."""
    return _ACTS[step.do](workspace, adapter, step)


def _settle(workspace: Workspace, _: ScriptedAdapter, __: Step) -> str:
    return f"left {len(workspace.settle_all())}"


def _grants(workspace: Workspace, _: ScriptedAdapter, __: Step) -> str:
    allow(workspace)
    return f"grants {len(workspace.ledger.read(grant.load_all))}"


def _rotate(workspace: Workspace, _: ScriptedAdapter, __: Step) -> str:
    workspace.keys.rotate()
    return "rotated yes"


def _write(workspace: Workspace, _: ScriptedAdapter, step: Step) -> str:
    (workspace.path / step.resource).write_text(str(step.payload["text"]), "utf-8")
    return "written yes"


def _perform(workspace: Workspace, adapter: ScriptedAdapter, step: Step) -> str:
    seen = step.revision or adapter.observe(step.resource) or publish.observe(workspace, step.resource)
    done = workspace.perform(plan(step), grant=step.grant, revision=seen, key=step.key)
    return f"{step.key} {done.task} {sha256_hex(done.receipt())}" if step.grant != CAREFUL else f"{step.key} waits"


def _accept(workspace: Workspace, _: ScriptedAdapter, __: Step) -> str:
    found = _newest(workspace).id
    return f"accepted {review.accept(workspace, found, review.waiting(workspace, found).evidence).task}"


def _cancel(workspace: Workspace, _: ScriptedAdapter, step: Step) -> str:
    return f"{step.key or 'cancel'} !{cancel.cancel(workspace, _newest(workspace).id).state}"


def _revoke(workspace: Workspace, _: ScriptedAdapter, __: Step) -> str:
    return f"revoked {len(cancel.cancel_grant(workspace, GRANT))}"


def _takeover(workspace: Workspace, _: ScriptedAdapter, __: Step) -> str:
    return f"takeover {restart.take(workspace, _newest(workspace)).epoch}"


def _unblock(workspace: Workspace, _: ScriptedAdapter, __: Step) -> str:
    return f"unblocked {review.settle_by_person(workspace, _newest(workspace).id, Executed.NO, 'looked').task}"


_ACTS: Final[Mapping[str, Callable[[Workspace, ScriptedAdapter, Step], str]]] = {
    "settle": _settle,
    "grants": _grants,
    "rotate": _rotate,
    "write": _write,
    "perform": _perform,
    "accept": _accept,
    "cancel": _cancel,
    "revoke": _revoke,
    "takeover": _takeover,
    "unblock": _unblock,
}


def _newest(workspace: Workspace) -> Task:
    return workspace.ledger.read(lambda tx: task.load_recent(tx, 1))[0]


class _Points:
    """Counts the points that a victim passes, and does at each what was arranged for it."""

    def __init__(self, victim: Victim) -> None:
        self.passed: list[str] = []
        self._counts: Counter[str] = Counter()
        self._victim = victim

    def __call__(self, name: str) -> None:
        victim = self._victim
        self.passed.append(name)
        self._counts[name] += 1
        if victim.edit is not None and self._reached(victim.edit_at, name):
            (victim.space / victim.edit[0]).write_text(victim.edit[1], "utf-8")
        if self._reached(victim.stop, name):
            os.kill(os.getpid(), signal.SIGSTOP)
        if self._reached(victim.kill, name):
            os.kill(os.getpid(), signal.SIGKILL)

    def _reached(self, at: At | None, name: str) -> bool:
        if at is None or at.point not in ("", name):
            return False
        return at.number == (self._counts[name] if at.point else len(self.passed))


def live(victim: Victim) -> None:
    """Be the victim: take every step, and say a line for each."""
    hook = _Points(victim)
    points.install(hook)
    adapter = ScriptedAdapter(
        World(victim.world, victim.socket),
        victim.script,  # type: ignore[arg-type]
        effect_class=victim.effect_class,
        breaks=victim.breaks,  # type: ignore[arg-type]
    )
    opening = Workspace.create if victim.fresh else Workspace
    with opening(victim.space, adapters=[adapter]) as workspace:
        if victim.fresh:
            allow(workspace)
        for step in victim.steps:
            try:
                said = act(workspace, adapter, step)
            except CountermarkError as error:
                said = f"{step.key or step.do} !{error.code}"
            os.write(1, f"{said}\n".encode())
    if victim.record is not None:
        victim.record.write_text("\n".join(hook.passed) + "\n", "utf-8")


def serve() -> None:
    """Fork a victim for each line of standard input, and answer a line when it has ended or stopped."""
    files: dict[int, tuple[Any, Any]] = {}
    for line in sys.stdin:
        request = json.loads(line)
        if "run" in request or "call" in request:
            act = _asked(request)
            said, trouble = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - closed when it has ended
            pid = os.fork()
            if not pid:
                _become(act, said.fileno(), trouble.fileno())
            files[pid] = said, trouble
        else:
            pid = request.get("resume") or request["kill"]
            os.kill(pid, signal.SIGCONT if "resume" in request else signal.SIGKILL)
        _, status = os.waitpid(pid, os.WUNTRACED)
        stopped = os.WIFSTOPPED(status)
        said, trouble = files[pid]
        answer = {
            "pid": pid,
            "stopped": stopped,
            "code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
            "said": _text(said).splitlines(),
            "trouble": _text(trouble),
        }
        if not stopped:
            said.close()
            trouble.close()
            del files[pid]
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    for pid in files:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _asked(request: dict[str, Any]) -> Callable[[], object]:
    """Return what a request asks for; a module is imported once, here, so that no victim waits for it."""
    if "run" in request:
        return partial(live, Victim.read(request["run"]))
    sys.path.extend(entry for entry in request["path"] if entry not in sys.path)
    module, _, names = request["call"].partition(":")
    return partial(attrgetter(names)(import_module(module)), *request["arguments"])


def _become(act: Callable[[], object], said: int, trouble: int) -> None:
    status = 1
    try:
        os.dup2(said, 1)
        os.dup2(trouble, 2)
        act()
        sys.stdout.flush()
        status = 0
    except BaseException:  # noqa: BLE001 - whatever it is, the parent reports it
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    finally:
        os._exit(status)


def _text(file: Any) -> str:
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode("utf-8", "replace")


if __name__ == "__main__":
    serve()
