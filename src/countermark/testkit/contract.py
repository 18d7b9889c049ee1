"""The adapter contract: nine operations, every fault, and what must hold whatever happened. Each domain runs it.

    class TestPaintAdapter(AdapterContract):
        def adapter(self, world: Path) -> Adapter: ...
        def plan(self, workspace: Workspace) -> Plan: ...
        def count(self, folder: Path, key: str) -> int: ...

`adapter` returns a new adapter on the world it is given; the suite makes many, so nothing may live in the object alone.
`plan` returns a plan that completes under the rule `checks`, and may put what it reads into the store. `count` says how
often the effect of a key is there, looked at from outside. pytest collects the subclass; each case has a folder with a
`space` and a `world` of its own, and the faults that take a process down are taken by a real one.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, get_args

from countermark.kernel import backup, cancel, grant, perform, proof, publish, receipt, review, task, verification
from countermark.kernel.adapter import (
    Adapter,
    Context,
    Effect,
    Estimate,
    Finding,
    Intent,
    Outcome,
    Progress,
    Stopped,
    Verification,
)
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Ledger, Tx
from countermark.kernel.plan import Plan, RuntimeIdentity
from countermark.kernel.recovery import EffectClass, EffectKind, Executed
from countermark.kernel.state import State
from countermark.kernel.task import Task
from countermark.kernel.workspace import HOME, Workspace
from countermark.testkit.crash import Victims

Operation = Literal[
    "capabilities", "validate", "estimate", "submit", "status", "cancel", "reconcile", "collect", "verify"
]
Fault = Literal["lost", "twice", "late", "nonsense", "partial", "hang", "die", "die-after"]
OPERATIONS: Final[tuple[Operation, ...]] = get_args(Operation)
FAULTS: Final[tuple[Fault, ...]] = get_args(Fault)
PROCESS_FAULTS: Final = frozenset({"hang", "die", "die-after"})
BEFORE: Final = frozenset({"capabilities", "validate", "estimate"})
"""The operations that come before an intent: whatever goes wrong in them, nothing has begun."""
KEY: Final = "contract"
GRANT: Final = "contract"


class Faulty(Adapter):
    """An adapter between which and the kernel one operation goes wrong, once.

    `lost`: done, and the answer does not arrive. `twice`: asked twice, or answered twice. `late`: it does not happen in
    time, and does afterwards. `nonsense`: the answer is of no known kind. `partial`: half of it is there. `hang`, `die`
    and `die-after` stop or kill this process before it or after it.
    """

    def __init__(self, inner: Adapter, operation: Operation, fault: Fault, spoil: Callable[[Path], None]) -> None:
        """Stand before an adapter; `spoil` takes away half of what a stage holds."""
        self.name = inner.name
        self.inner = inner
        self.late: list[Callable[[], object]] = []
        self.again: list[tuple[Intent, Outcome]] = []
        self._operation, self._fault, self._spoil = operation, fault, spoil
        self._spent = False

    def effects(self) -> Mapping[str, Effect]:
        """Pass on."""
        return self.inner.effects()

    def observe(self, resource: str) -> str | None:
        """Pass on."""
        return self.inner.observe(resource)

    def capabilities(self) -> RuntimeIdentity:
        """Pass on, unless this is what goes wrong; so with all the others."""
        return self._through("capabilities")  # type: ignore[no-any-return]

    def validate(self, plan: Plan) -> None:
        """Pass on."""
        self._through("validate", plan)

    def estimate(self, plan: Plan) -> Estimate:
        """Pass on."""
        return self._through("estimate", plan)  # type: ignore[no-any-return]

    def submit(self, intent: Intent, context: Context) -> Outcome:
        """Pass on."""
        return self._through("submit", intent, context)  # type: ignore[no-any-return]

    def status(self, intent: Intent, context: Context) -> Progress:
        """Pass on."""
        return self._through("status", intent, context)  # type: ignore[no-any-return]

    def cancel(self, intent: Intent, context: Context) -> Stopped:
        """Pass on."""
        return self._through("cancel", intent, context)  # type: ignore[no-any-return]

    def reconcile(self, intent: Intent, context: Context) -> Finding:
        """Pass on."""
        return self._through("reconcile", intent, context)  # type: ignore[no-any-return]

    def collect(self, intent: Intent, context: Context) -> Outcome:
        """Pass on."""
        return self._through("collect", intent, context)  # type: ignore[no-any-return]

    def verify(self, intent: Intent, outcome: Outcome, context: Context) -> Verification:
        """Pass on."""
        return self._through("verify", intent, outcome, context)  # type: ignore[no-any-return]

    def _through(self, operation: Operation, *arguments: Any) -> Any:
        call = getattr(self.inner, operation)
        if operation != self._operation or self._spent:
            return call(*arguments)
        self._spent = True
        if self._fault in ("hang", "die"):
            os.kill(os.getpid(), signal.SIGSTOP if self._fault == "hang" else signal.SIGKILL)
        if self._fault == "late":
            self.late.append(lambda: call(*arguments))
            return self._unanswered(operation)
        answer = call(*arguments)
        if self._fault == "die-after":
            os.kill(os.getpid(), signal.SIGKILL)
        return self._spoiled(operation, call, answer, arguments)

    def _spoiled(self, operation: Operation, call: Callable[..., Any], answer: Any, arguments: tuple[Any, ...]) -> Any:
        if self._fault == "lost":
            return self._unanswered(operation)
        if self._fault == "twice" and operation == "submit":
            self.again.append((arguments[0], answer))
        elif self._fault == "twice":
            second = call(*arguments)
            assert second == answer, f"{operation} answered {answer} and then {second}"
        elif self._fault == "nonsense":
            if operation in ("validate", "capabilities"):
                message = f"a defect in {operation}"
                raise RuntimeError(message)
            return Estimate(bytes=-1) if operation == "estimate" else None
        elif self._fault == "partial":
            return self._half(operation, arguments)
        return answer

    def _half(self, operation: Operation, arguments: tuple[Any, ...]) -> Any:
        if operation in BEFORE:
            return self._unanswered(operation)
        if operation == "submit":
            self._spoil(arguments[1].stage)
            return Outcome.unknown("Half of the reply arrived.")
        halves: dict[str, Any] = {
            "status": Progress(running=True, note="half"),
            "cancel": Stopped(confirmed=True, executed=Executed.UNKNOWN),
            "reconcile": Finding(Executed.UNKNOWN),
            "collect": Outcome.unknown("Half of the result arrived."),
            "verify": Verification(()),
        }
        return halves[operation]

    @staticmethod
    def _unanswered(operation: Operation) -> Outcome:
        if operation == "submit":
            return Outcome.unknown("The reply did not arrive.")
        raise CountermarkError("io_failed", f"Nothing answers {operation}.", next_action="Try again later.")


class AdapterContract:
    """The suite; a subclass says what its domain is. `kind` is filled in from what the adapter declares."""

    limits: ClassVar[Mapping[str, int]] = {}
    _victims: ClassVar[Victims | None] = None

    # What a domain says.

    def adapter(self, world: Path) -> Adapter:
        """Return a new adapter on this world."""
        raise NotImplementedError

    def plan(self, workspace: Workspace) -> Plan:
        """Return a plan that completes under the rule `checks`, the same at every call."""
        raise NotImplementedError

    def count(self, folder: Path, key: str) -> int:
        """Return how often the effect of a key is there; `folder` holds the `space` and the `world`."""
        raise NotImplementedError

    def state(self, folder: Path) -> object:
        """Return what the world outside holds, to be compared; the default reads every file of `world`."""
        return _tree(folder / "world")

    def spoil(self, stage: Path) -> None:
        """Take away half of what an interrupted effect staged; the default cuts its first file and removes its last."""
        files = sorted(path for path in stage.rglob("*") if path.is_file())
        if files:
            files[-1].unlink()
        if files[:-1]:
            files[0].write_bytes(files[0].read_bytes()[:-1])

    # How it is run.

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Make a case of every operation with every fault."""
        if {"operation", "fault"} <= set(metafunc.fixturenames):
            metafunc.parametrize(("operation", "fault"), [(one, fault) for one in OPERATIONS for fault in FAULTS])

    @classmethod
    def setup_class(cls) -> None:
        """Start the process that is forked for the faults that end one."""
        cls._victims = Victims().__enter__()

    @classmethod
    def teardown_class(cls) -> None:
        """End it."""
        if cls._victims is not None:
            cls._victims.__exit__(None, None, None)

    def setup_method(self) -> None:
        """Make the folder of a case; its path is short, since a socket may have to lie in it."""
        memory = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
        self.folder = Path(tempfile.mkdtemp(prefix="cm-", dir=memory if memory.is_dir() else None))
        (self.folder / "world").mkdir()
        with Workspace.create(self.folder / "space", adapters=[self.adapter(self.folder / "world")]) as made:
            made.ledger.apply(self._allow)

    def teardown_method(self) -> None:
        """Remove it."""
        shutil.rmtree(self.folder)

    # One by one.

    def test_what_it_declares_can_be_governed(self) -> None:
        adapter = self._adapter()
        with self._open() as space:
            plan = self.plan(space)
        assert plan.adapter == adapter.name
        assert plan.effect in adapter.effects()
        for word, effect in adapter.effects().items():
            assert word == effect.word
            assert effect.required, f"{word} completes without anybody having looked"
            if effect.effect_class is EffectClass.DESTRUCTIVE:
                assert not effect.reversible, f"{word} is destructive, so it cannot be undone"

    def test_its_capabilities_are_stable_and_name_what_is_installed(self) -> None:
        first, second = self._adapter().capabilities(), self._adapter().capabilities()
        assert first == second
        assert len(bytes.fromhex(first.digest)) == sha256().digest_size

    def test_validating_and_estimating_touch_nothing(self) -> None:
        adapter = self._adapter()
        with self._open() as space:
            plan = self.plan(space)
            before = (_tree(self.folder / "space"), self.state(self.folder))
            adapter.validate(plan)
            first, second = adapter.estimate(plan), adapter.estimate(plan)
            assert (_tree(self.folder / "space"), self.state(self.folder)) == before
        assert first == second
        assert min(first.bytes, first.seconds, *first.counters.values()) >= 0

    def test_it_uses_no_more_than_it_estimated(self) -> None:
        with self._open() as space:
            plan = self.plan(space)
            done = self._perform(space, plan)
            staged = space.ledger.read(
                lambda tx: tx.one("SELECT COALESCE(SUM(size), 0) FROM artifacts WHERE task = ?", (done.id,))
            )
            assert staged is not None
            assert staged[0] <= self._adapter().estimate(plan).bytes

    def test_nothing_but_its_stage_and_its_world_is_written_before_it_is_published(self) -> None:
        with self._open() as space:
            intent, context = self._intent(space)
            before = _tree(self.folder / "space", besides=f"{HOME}/stage/")
            outcome = self._adapter().submit(intent, context)
            assert _tree(self.folder / "space", besides=f"{HOME}/stage/") == before
        assert outcome.clear
        assert outcome.succeeded
        for file in outcome.files:
            place = context.stage / publish.place(file.resource) / file.name
            assert sha256(place.read_bytes()).hexdigest() == file.digest
            assert place.stat().st_size == file.size

    def test_a_direct_effect_looks_at_its_resource_last_of_all(self) -> None:
        with self._open() as space:
            intent, context = self._intent(space)
            if intent.effect.kind is EffectKind.STAGED:
                return  # the kernel looks, when it publishes
            stale = replace(intent, key="stale", expected=dict.fromkeys(intent.expected, "no such revision"))
            before = self.state(self.folder)
            try:
                outcome = self._adapter().submit(stale, context)
            except CountermarkError:
                outcome = None
            assert outcome is None or not outcome.succeeded
            assert self.state(self.folder) == before

    def test_another_observer_than_the_maker_looked_at_what_is_required(self) -> None:
        with self._open() as space:
            done = self._perform(space, self.plan(space))
            facts = receipt.parse(space.receipts.render(done.id)).facts
        effect = self._adapter().effects()[done.effect]
        passed = {v.check for v in facts.verdicts if v.status is proof.Status.PASSED}
        assert set(effect.required) <= passed
        for verdict in facts.verdicts:
            if verdict.required:
                assert verdict.maker.digest != verdict.observer.digest, f"{verdict.check}: its maker looked"

    def test_looking_gets_identity_and_intent_and_no_ledger(self) -> None:
        """The attempt's result is deleted, the ledger is out of reach, and another object answers the same."""
        with self._open(("submit", "lost"), ("reconcile", "lost")) as space:
            self._try(lambda: self._perform(space, self.plan(space)))
            [found] = space.ledger.read(task.load_open)
            intent = perform.intent_of(space, found)
            context = space.context(intent)
            for holder in (intent, context):
                values = [getattr(holder, one.name) for one in fields(holder)]
                assert not [value for value in values if isinstance(value, Ledger | Workspace)]
            first = self._adapter().reconcile(intent, context)
            before = (_tree(self.folder / "space"), self.state(self.folder))
            space.ledger.apply(lambda tx: tx.run("UPDATE attempts SET result = NULL, handle = NULL"))
            place = self.folder / "space" / HOME
            (place / "ledger.sqlite").rename(place / "aside")
            try:
                second = self._adapter().reconcile(intent, replace(context, save_handle=_no_handle))
            finally:
                (place / "aside").rename(place / "ledger.sqlite")
            assert second == first, "what it found depends on something else than the artefact"
            assert (_tree(self.folder / "space"), self.state(self.folder)) == before, "looking is no effect"
            assert first.executed is not Executed.UNKNOWN, "the work was done, and nothing is in its way"

    def test_what_did_not_happen_is_found_not_to_have_happened(self) -> None:
        with self._open() as space:
            intent, context = self._intent(space)
            found = self._adapter().reconcile(intent, context)
        assert found.executed is Executed.NO
        assert found.evidence, "not executed is said with evidence"

    def test_a_job_that_has_ended_is_not_running_and_can_be_collected(self) -> None:
        with self._open(("submit", "lost"), ("reconcile", "lost")) as space:
            self._try(lambda: self._perform(space, self.plan(space)))
            [found] = space.ledger.read(task.load_open)
            intent = perform.intent_of(space, found)
            context = space.context(intent)
            before = self.state(self.folder)
            assert not self._adapter().status(intent, context).running
            collected = self._adapter().collect(intent, context)
            assert collected.clear
            assert collected == self._adapter().collect(intent, context)
            assert self.state(self.folder) == before

    # Every operation with every fault.

    def test_the_laws_hold(self, operation: Operation, fault: Fault) -> None:
        if fault in PROCESS_FAULTS:
            self._have_a_process_die(operation, fault)
        else:
            self.go_wrong(self.folder, operation, fault)
        self._recover(operation, fault)

    @classmethod
    def in_a_process(cls, folder: str, operation: Operation, fault: Fault) -> None:
        """Be the process that hangs or dies."""
        cls().go_wrong(Path(folder), operation, fault)

    def go_wrong(self, folder: Path, operation: Operation, fault: Fault) -> None:
        """Use every operation, one of which goes wrong."""
        self.folder = folder
        ways: list[tuple[Operation, Fault]] = [(operation, fault)]
        if operation in ("reconcile", "cancel"):
            ways.insert(0, ("submit", "lost"))
        if operation == "cancel":
            ways.append(("reconcile", "lost"))
        with self._open(*ways) as space:
            adapter = space.adapter(self._adapter().name)
            self._try(lambda: self._perform(space, self.plan(space)))
            found = space.ledger.read(lambda tx: task.load_recent(tx, 1))
            if operation == "cancel":
                self._try(lambda: cancel.cancel(space, found[0].id))
            if operation in ("status", "collect"):
                intent = perform.intent_of(space, found[0])
                self._try(lambda: getattr(adapter, operation)(intent, space.context(intent)))
            self._afterwards(space, adapter)

    def _afterwards(self, space: Workspace, adapter: Adapter) -> None:
        """Let what comes late come, and what was answered be answered again: neither changes anything."""
        while isinstance(adapter, Faulty):
            before = self._states(space)
            for intent, outcome in adapter.again:
                self._try(lambda i=intent, o=outcome: perform.settle(space, i, o, 0))  # type: ignore[misc]
            for late in adapter.late:
                self._try(late)
            assert self._states(space) == before, "what came late changed a state"
            adapter = adapter.inner

    def _have_a_process_die(self, operation: Operation, fault: Fault) -> None:
        victims = self._victims
        assert victims is not None
        name = f"{type(self).__module__}:{type(self).__qualname__}.in_a_process"
        ended = victims.call(name, str(self.folder), operation, fault)
        if fault == "hang":
            assert ended.stopped, ended
            with self._open() as space:
                left = space.ledger.read(task.load_open)
                assert set(space.settle_all()) == {one.id for one in left}, "who hangs is not gone"
            ended = victims.kill(ended.pid)
        assert ended.signal == signal.SIGKILL, ended

    def _recover(self, operation: Operation, fault: Fault) -> None:
        """Open anew with an adapter that is well, bring everything to its end, and look whether the laws held."""
        with self._open() as space:
            if operation in BEFORE and fault != "twice":
                assert space.ledger.read(lambda tx: task.load_recent(tx, 1)) == [], "nothing had begun"
            space.settle_all()
            for one in space.ledger.read(task.load_open):
                assert one.state is State.BLOCKED, f"{one.state} is no place to stay"
                assert EffectClass(one.effect_class) in (EffectClass.NON_IDEMPOTENT, EffectClass.DESTRUCTIVE)
                held = one.id
                self._try(lambda held=held: review.settle_by_person(space, held, Executed.NO, "looked"))  # type: ignore[misc]
            self._try(lambda: self._perform(space, self.plan(space)))
            [done] = space.ledger.read(lambda tx: task.load_recent(tx, 9))
            assert done.state in self._endings(operation, fault), f"it ended {done.state}: {done.code}"
            count = self.count(self.folder, KEY)
            assert count == (1 if done.executed is Executed.YES else 0), f"{count} effects, executed: {done.executed}"
            assert backup.check(space) == []
            envelope = space.receipts.render(done.id)
            trusted = space.keys.trusted()
        place = self.folder / "space" / HOME / "runs" / done.id / "receipt.json"
        assert place.read_bytes() == envelope
        assert verification.verify(place, trusted).signer is not None

    def _endings(self, operation: Operation, fault: Fault) -> frozenset[State]:
        """Return how a task may end: whatever is not named here completes."""
        if operation == "cancel":
            return frozenset({State.CANCELLED})
        if operation == "verify" and fault not in ("twice", *PROCESS_FAULTS):
            return frozenset({State.FAILED})  # what nobody could look at is not done
        return frozenset({State.COMPLETED})

    # Short ways.

    def _adapter(self) -> Adapter:
        return self.adapter(self.folder / "world")

    def _open(self, *ways: tuple[Operation, Fault]) -> Workspace:
        adapter = self._adapter()
        for operation, fault in ways:
            adapter = Faulty(adapter, operation, fault, self.spoil)
        return Workspace(self.folder / "space", adapters=[adapter])

    def _allow(self, tx: Tx) -> None:
        terms = grant.Terms(("",), ("",), self.limits)
        grant.issue(tx, grant.Grant(GRANT, None, (), "contract", "contract", terms, tx.now))

    def _perform(self, space: Workspace, plan: Plan) -> Task:
        adapter = self._adapter()
        seen = {name: adapter.observe(name) or publish.observe(space, name) for name in plan.resources}
        done = space.perform(plan, grant=GRANT, revision=seen, key=KEY)
        return space.ledger.read(lambda tx: task.load(tx, done.task))

    def _intent(self, space: Workspace) -> tuple[Intent, Context]:
        """Return an intent that is durable, with nothing done yet."""
        plan = self.plan(space)
        adapter = self._adapter()
        seen = {name: adapter.observe(name) or publish.observe(space, name) for name in plan.resources}
        intent = Intent(
            task="t-contract",
            attempt=1,
            epoch=1,
            key=KEY,
            plan=plan,
            effect=adapter.effects()[plan.effect],
            expected=seen,
            runtime=adapter.capabilities(),
            grant=space.ledger.read(lambda tx: grant.load(tx, GRANT)).wire(),
        )
        return intent, space.context(intent)

    @staticmethod
    def _states(space: Workspace) -> list[tuple[Any, ...]]:
        return space.ledger.read(lambda tx: tx.all("SELECT id, state, code, executed, epoch FROM tasks ORDER BY id"))

    @staticmethod
    def _try(act: Callable[[], object]) -> None:
        """Do something that may be refused, or break as it was told to."""
        with suppress(CountermarkError, RuntimeError):
            act()


def _no_handle(_: str) -> None:
    message = "looking is no time to begin a job"
    raise AssertionError(message)


def _tree(folder: Path, besides: str = "") -> dict[str, str]:
    """Return the digests of all files below a folder, but for the ledger's, locks, and what begins with `besides`."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        skipped = name.startswith((f"{HOME}/ledger.sqlite", f"{HOME}/locks/")) or (besides and name.startswith(besides))
        if path.is_file() and not skipped:
            found[name] = sha256(path.read_bytes()).hexdigest()
    return found
