"""Whatever is asked, edited, cancelled and killed in whatever order: the laws hold after every step.

A kill here is an exception at a named point after which every further point raises it again, so that no clean-up gets
through; the workspace object is then dropped and another one opened. Real kills of real processes are in `crash/`.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from countermark.kernel import backup, cancel, grant, points, publish, receipt, review, task, verification
from countermark.kernel.canon import ABSENT
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Tx
from countermark.kernel.plan import Plan
from countermark.kernel.recovery import EffectClass, EffectKind, Executed
from countermark.kernel.state import State, follow
from countermark.kernel.task import Task
from countermark.kernel.workspace import Workspace
from countermark.testkit.adapter import ScriptedAdapter, World

LIMITS: Final = {"root": 14, "left": 6, "right": 6, "careful": 5}
FILES: Final = ("file:a.txt", "file:kit")
WORLD: Final = ("world:x", "world:y")
FAULTS: Final = ("done", "lose", "ambiguous", "nothing", "fail", "raise", "partial", "lie")
MAY_WAIT: Final = {State.BLOCKED, State.REVIEW_READY}

keys = st.sampled_from([f"k{n}" for n in range(6)])
grants = st.sampled_from(sorted(LIMITS))
texts = st.sampled_from(["one", "two", "three"])
scripts = st.lists(st.sampled_from(FAULTS), max_size=3)
kills = st.one_of(st.none(), st.integers(1, 160))


class Killed(BaseException):
    """The process is gone; whoever sees this may do nothing any more."""


class SteppedClock:
    """A clock that moves when a rule says so."""

    def __init__(self) -> None:
        self.ms = 1_000_000

    def now_ms(self) -> int:
        """Return the set time."""
        return self.ms

    def monotonic(self) -> float:
        """Return the set time in seconds."""
        return self.ms / 1000


class CountedIds:
    """Identifiers that say in which order they were given."""

    def __init__(self) -> None:
        self.count = 0

    def new(self, prefix: str) -> str:
        """Return the next one."""
        self.count += 1
        return f"{prefix}-{self.count:016d}"


class WorkspaceMachine(RuleBasedStateMachine):
    """One workspace, two domains (one may be repeated, one may not), a person, a clock, and a killer."""

    def __init__(self) -> None:
        super().__init__()
        memory = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
        self.folder = Path(tempfile.mkdtemp(prefix="cm-", dir=memory if memory.is_dir() else None))
        (self.folder / "world").mkdir()
        self.clock, self.ids = SteppedClock(), CountedIds()
        world = World(self.folder / "world")
        self.again = ScriptedAdapter(world)
        self.once = ScriptedAdapter(world, effect_class=EffectClass.NON_IDEMPOTENT)
        self.once.name = "once"
        self.world = world
        self.receipts: dict[str, bytes] = {}
        self.standing = dict.fromkeys(FILES, "")

    @initialize()
    def begin(self) -> None:
        """Make the workspace and its grants."""
        self.space = Workspace.create(self.folder / "space", **self.options())

        def issue(tx: Tx) -> None:
            for name, limit in LIMITS.items():
                accepts: Any = "person" if name == "careful" else "checks"
                terms = grant.Terms(("test",), ("",), {"attempts": limit}, accepts)
                parent = None if name == "root" else "root"
                grant.issue(tx, grant.Grant(name, parent, (), "machine", "machine", terms, tx.now))

        self.space.ledger.apply(issue)

    def options(self) -> dict[str, Any]:
        return {"adapters": [self.again, self.once], "clock": self.clock, "ids": self.ids}

    def teardown(self) -> None:
        points.install(None)
        if hasattr(self, "space"):
            self.again.breaks.clear()
            self.once.breaks.clear()
            self.reopen()
            self.space.settle_all()
            left = {one.state for one in self.space.ledger.read(task.load_open)}
            assert left <= MAY_WAIT, f"these did not come to an end by themselves: {left - MAY_WAIT}"
            self.every_ended_task_has_one_receipt_that_verifies()
            self.space.close()
        shutil.rmtree(self.folder)

    # What happens.

    def attempt(self, act: Callable[[], object], kill: int | None) -> None:
        """Do something that may be refused, and be killed at a point if there are that many."""
        passed = 0

        def hook(_: str) -> None:
            nonlocal passed
            passed += 1
            if kill is not None and passed >= kill:
                raise Killed

        points.install(hook)
        try:
            with suppress(CountermarkError):
                act()
        except Killed:
            points.install(None)
            self.reopen()
        finally:
            points.install(None)

    def reopen(self) -> None:
        """Drop the workspace as a dead process does, and open it as the next one."""
        self.space._opened.close()  # noqa: SLF001 - the descriptors alone: what a system does for a dead process
        self.space = Workspace(self.folder / "space", **self.options())

    def seen(self, resource: str) -> str:
        return self.again.observe(resource) or publish.observe(self.space, resource)

    @rule(key=keys, resource=st.sampled_from([*FILES, *WORLD]), text=texts, allowed=grants, script=scripts, kill=kills)
    def perform(self, key: str, resource: str, text: str, allowed: str, script: list[Any], kill: int | None) -> None:
        self.again.script.setdefault(key, script)
        self.once.script.setdefault(key, script)
        domain = self.once if resource == WORLD[1] else self.again
        word = "test.staged" if resource in FILES else "test.direct"
        plan = Plan(domain.name, word, word, (resource,), {"text": text, "folder": resource == "file:kit"})
        self.attempt(lambda: self.space.perform(plan, grant=allowed, revision=self.seen(resource), key=key), kill)

    @rule(resource=st.sampled_from(FILES), text=texts, kill=kills)
    def perform_without_a_key(self, resource: str, text: str, kill: int | None) -> None:
        plan = Plan("scripted", "test.staged", "w", (resource,), {"text": text, "folder": resource == "file:kit"})
        self.attempt(lambda: self.space.perform(plan, grant="root", revision=self.seen(resource)), kill)

    @rule(text=texts)
    def a_person_edits(self, text: str) -> None:
        """Every edit is one of its own, so that it can be told from all that was ever published."""
        self.standing["file:a.txt"] = f"by hand, {text}, {self.ids.new('e')}"
        (self.folder / "space/a.txt").write_text(self.standing["file:a.txt"])

    @rule(kill=kills)
    def settle(self, kill: int | None) -> None:
        self.attempt(self.space.settle_all, kill)

    @rule()
    def the_process_dies(self) -> None:
        self.reopen()

    @rule(kill=kills)
    def the_process_ends(self, kill: int | None) -> None:
        def end() -> None:
            self.space.close()
            self.space = Workspace(self.folder / "space", **self.options())

        self.attempt(end, kill)

    @precondition(lambda self: self.open_tasks())
    @rule(pick=st.integers(0, 9), kill=kills)
    def cancel(self, pick: int, kill: int | None) -> None:
        found = self.open_tasks()
        self.attempt(lambda: cancel.cancel(self.space, found[pick % len(found)].id), kill)

    @rule(kill=kills)
    def revoke(self, kill: int | None) -> None:
        self.attempt(lambda: cancel.cancel_grant(self.space, "right"), kill)

    @precondition(lambda self: self.waiting())
    @rule(yes=st.booleans(), kill=kills)
    def a_person_decides(self, yes: bool, kill: int | None) -> None:  # noqa: FBT001 - a coin
        found = self.waiting()[0].id

        def decide() -> None:
            if yes:
                review.accept(self.space, found, review.waiting(self.space, found).evidence)
            else:
                review.reject(self.space, found, "not so")

        self.attempt(decide, kill)

    @precondition(lambda self: any(one.state is State.BLOCKED for one in self.open_tasks()))
    @rule(kill=kills)
    def a_person_lets_it_go_on(self, kill: int | None) -> None:
        found = next(one for one in self.open_tasks() if one.state is State.BLOCKED)
        self.attempt(lambda: review.settle_by_person(self.space, found.id, Executed.NO, "looked"), kill)

    @rule(away=st.booleans())
    def the_world_is_out_of_reach_or_back(self, away: bool) -> None:  # noqa: FBT001 - a coin
        for domain in (self.again, self.once):
            domain.breaks = {"reconcile": "refuse"} if away else {}

    @rule(kill=kills)
    def rotate(self, kill: int | None) -> None:
        self.attempt(self.space.keys.rotate, kill)

    @rule(by=st.integers(-5_000, 5_000))
    def the_clock_is_set(self, by: int) -> None:
        self.clock.ms = max(self.clock.ms + by, 1)

    # What must hold.

    def open_tasks(self) -> list[Task]:
        return self.space.ledger.read(task.load_open) if hasattr(self, "space") else []

    def waiting(self) -> list[Task]:
        return [one for one in self.open_tasks() if one.state is State.REVIEW_READY]

    def all_tasks(self) -> list[Task]:
        return self.space.ledger.read(lambda tx: task.load_recent(tx, 10_000)) if hasattr(self, "space") else []

    @invariant()
    def no_key_has_two_effects(self) -> None:
        for resource in WORLD:
            twice = [key for key, count in Counter(self.world.lines(resource)).items() if count > 1]
            assert twice == []

    @invariant()
    def the_ledger_is_sound_and_no_budget_is_exceeded(self) -> None:
        if hasattr(self, "space"):
            assert backup.examine(self.space.path / ".countermark/ledger.sqlite") == []
            spent = {one.id: one.spent.get("attempts", 0) for one in self.space.ledger.read(grant.load_all)}
            assert all(spent[name] <= limit for name, limit in LIMITS.items()), spent

    @invariant()
    def every_move_is_an_edge_and_moves_join(self) -> None:
        for one in self.all_tasks():
            stands: str = State.PLANNED
            for event in self.space.ledger.events(task=one.id):
                if path := event.body.get("path"):
                    assert path[0] == stands, f"{event.kind} began at {path[0]}, and the task was {stands}"
                    follow(tuple(State(step) for step in path))
                    stands = path[-1]
            assert stands == one.state

    @invariant()
    def what_is_held_is_held_by_an_open_task(self) -> None:
        if hasattr(self, "space"):
            held = self.space.ledger.read(
                lambda tx: tx.all("SELECT name, holder FROM resources WHERE holder IS NOT NULL")
            )
            still = {one.id for one in self.open_tasks()}
            assert [name for name, holder in held if holder not in still] == []

    @invariant()
    def a_receipt_says_what_happened(self) -> None:
        for one in self.all_tasks():
            if not one.ended:
                continue
            if one.kind is EffectKind.STAGED:
                assert (one.executed is Executed.YES) == (one.state is State.COMPLETED), one
            else:
                lines = self.world.lines(one.plan.resources[0])
                assert one.executed is (Executed.YES if one.key in lines else Executed.NO), one

    @invariant()
    def what_a_person_wrote_stands_until_a_plan_that_saw_it_replaces_it(self) -> None:
        if not hasattr(self, "space"):
            return
        path = self.folder / "space/a.txt"
        found = path.read_text() if path.exists() else ""
        if found != self.standing["file:a.txt"]:
            texts = [one.plan.payload["text"] for one in self.all_tasks() if one.plan.resources == ("file:a.txt",)]
            assert found in texts, f"nobody published {found!r}"
            wrote = self.standing["file:a.txt"]
            assert not wrote.startswith("by hand") or self.saw(wrote), f"{wrote!r} was overwritten unseen"
            self.standing["file:a.txt"] = found

    def saw(self, text: str) -> bool:
        """Return whether some task was made against this content."""
        from hashlib import sha256  # noqa: PLC0415 - here alone

        revision = f"sha256:{sha256(text.encode()).hexdigest()}" if text else ABSENT
        return any(one.expected.get("file:a.txt") == revision for one in self.all_tasks())

    @invariant()
    def every_ended_task_has_one_receipt_that_verifies(self) -> None:
        for one in self.all_tasks():
            if not one.ended:
                continue
            envelope = self.space.receipts.render(one.id)
            if self.receipts.setdefault(one.id, envelope) is envelope:
                place = self.folder / "receipt.json"
                place.write_bytes(envelope)
                seen = verification.verify(place, self.space.keys.trusted())
                assert seen.signer is not None
                assert receipt.parse(envelope).facts.state is one.state
            assert self.receipts[one.id] == envelope, "a receipt is made again byte for byte"
            ends = [event for event in self.space.ledger.events(task=one.id) if event.body.get("keyid")]
            assert len(ends) == 1


TestWorkspaceMachine = WorkspaceMachine.TestCase
TestWorkspaceMachine.settings = settings(
    max_examples=20, stateful_step_count=18, suppress_health_check=[HealthCheck.too_slow], deadline=None
)
