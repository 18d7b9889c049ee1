"""The governed operation that is measured: `Workspace.perform` with a direct effect, a key and a revision of its own.

The world it changes is a register in memory, so that the time measured is the kernel's: admission, result, and verdicts
with completion, three durable commits. The adapter does all that a real one does: it looks at the revision again before
it writes, and another engine reads what came out.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from countermark.kernel import grant
from countermark.kernel.adapter import Adapter, Context, Effect, Finding, Intent, Outcome, Verification
from countermark.kernel.canon import ABSENT, sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Tx
from countermark.kernel.perform import Performed
from countermark.kernel.plan import Plan, RuntimeIdentity
from countermark.kernel.proof import Engine, Status, Verdict
from countermark.kernel.recovery import EffectClass, EffectKind, Executed
from countermark.kernel.state import State
from countermark.kernel.workspace import Workspace

GRANT: Final = "bench"
WORD: Final = "register.write"
RESOURCES_PER_CLIENT: Final = 3
MAKER: Final = Engine("register", sha256_hex(b"register"))
READER: Final = Engine("register reader", sha256_hex(b"register reader"))
IDENTITY: Final = RuntimeIdentity("register", "1", MAKER.digest)
EFFECT: Final = Effect(WORD, EffectKind.DIRECT, EffectClass.IDEMPOTENT_WRITE, reversible=True, required=("stands",))


class Register(Adapter):
    """Named values in memory; a value's revision is the key of the operation that wrote it."""

    name = "register"

    def __init__(self) -> None:
        """Begin with nothing written."""
        self.written: dict[str, tuple[str, int]] = {}

    def effects(self) -> Mapping[str, Effect]:
        """Return the one effect."""
        return {WORD: EFFECT}

    def capabilities(self) -> RuntimeIdentity:
        """Return who writes."""
        return IDENTITY

    def observe(self, resource: str) -> str:
        """Return the revision of a value."""
        return self.written.get(resource, (ABSENT, 0))[0]

    def submit(self, intent: Intent, context: Context) -> Outcome:
        """Write the value, unless somebody has meanwhile."""
        del context
        (resource,) = intent.plan.resources
        if self.observe(resource) != intent.expected[resource]:
            raise CountermarkError("revision_conflict", "It has been written meanwhile.", next_action="Read it again.")
        self.written[resource] = (intent.key, intent.plan.payload["value"])
        return Outcome(revisions={resource: intent.key}, facts={"value": intent.plan.payload["value"]})

    def reconcile(self, intent: Intent, context: Context) -> Finding:
        """Look at the value."""
        del context
        (resource,) = intent.plan.resources
        done = self.observe(resource) == intent.key
        return Finding(Executed.YES if done else Executed.NO, {"revision": self.observe(resource)})

    def verify(self, intent: Intent, outcome: Outcome, context: Context) -> Verification:
        """Read what stands there."""
        del outcome, context
        (resource,) = intent.plan.resources
        stands = self.written[resource] == (intent.key, intent.plan.payload["value"])
        status = Status.PASSED if stands else Status.FAILED
        measured = {"value": self.written[resource][1]}
        return Verification(
            (Verdict("stands", status, required=True, maker=MAKER, observer=READER, measured=measured),)
        )


def create(folder: Path) -> Workspace:
    """Make a workspace with the register and a grant of its own, whose uses are counted.

    It is left without `close`, which would render the evidence of thousands of tasks: that is the sweep's time.
    """
    space = Workspace.create(folder, adapters=[Register()])

    def issue(tx: Tx) -> None:
        terms = grant.Terms(effects=("register",), resources=("register:",), limits={"attempts": 1_000_000_000})
        grant.issue(tx, grant.Grant(GRANT, None, (), "local user", "bench", terms, tx.now))

    space.ledger.apply(issue)
    return space


class Client:
    """One caller with its own keys and its own few resources, writing each in turn."""

    def __init__(self, space: Workspace, name: str) -> None:
        """Take the workspace and a name nobody else has."""
        self._space = space
        self._name = name
        self._count = itertools.count(1)
        self._revisions = {f"register:{name}/{n}": ABSENT for n in range(RESOURCES_PER_CLIENT)}
        self._resources = itertools.cycle(self._revisions)

    def operation(self) -> Performed:
        """Do one governed operation."""
        resource, number = next(self._resources), next(self._count)
        key = f"{self._name}.{number}"
        plan = Plan("register", WORD, "set", (resource,), {"value": number})
        done = self._space.perform(plan, grant=GRANT, revision=self._revisions[resource], key=key)
        assert done.state is State.COMPLETED
        assert not done.repeated
        self._revisions[resource] = key
        return done

    def with_receipt(self) -> bytes:
        """Do one governed operation and take its signed receipt."""
        return self.operation().receipt()
