"""The seam between the laws and a domain: nine operations with honest defaults (seed 1 §10).

An adapter is the only place of a domain with effects. It never sees the ledger: it gets an `Intent`, which is durable
before it is called, and answers with typed values that keep *the reply arrived* and *the work succeeded* apart
(seed 2, invariant 1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from countermark.kernel.clock import Clock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.launch import Child
from countermark.kernel.plan import Plan, RuntimeIdentity
from countermark.kernel.proof import Verdict
from countermark.kernel.recovery import EffectClass, EffectKind, Executed
from countermark.kernel.store import Store


@dataclass(frozen=True, slots=True)
class Effect:
    """What an adapter declares of one effect word.

    `required` names the checks without whose `passed` the task cannot complete. `reversible` effects alone may be
    accepted by the rule `checks`.
    """

    word: str
    kind: EffectKind
    effect_class: EffectClass
    reversible: bool
    required: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an effect will use at the most, reserved from the grant before it starts."""

    bytes: int = 0
    seconds: int = 0
    counters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Intent:
    """One attempt, as it stands in the ledger before anything happens.

    `grant` is the acting grant's wire form; `deadline` is in milliseconds since the Unix epoch, `handle` the durable
    identity of a long job, once there is one.
    """

    task: str
    attempt: int
    epoch: int
    key: str
    plan: Plan
    effect: Effect
    expected: Mapping[str, str]
    runtime: RuntimeIdentity
    grant: Mapping[str, Any]
    deadline: int | None = None
    handle: str | None = None


@dataclass(frozen=True, slots=True)
class StagedFile:
    """One file an effect left in its stage: its place below the target, its digest and size in bytes.

    `resource` is the resource it belongs to; `name` is its place below that resource's folder, or empty when the
    resource is the file itself.
    """

    resource: str
    name: str
    digest: str
    size: int
    media_type: str = "application/octet-stream"


class Reply(StrEnum):
    """What the transport delivered, which says nothing of success."""

    ANSWERED = "answered"
    LOST = "lost"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came back from an attempt.

    `succeeded` is the domain's own answer and None while it is not known. `revisions` are the new revision tokens of
    direct effects. `facts` are JSON values for the record. `code` and `message` belong to a known error.
    """

    reply: Reply = Reply.ANSWERED
    succeeded: bool | None = True
    executed: Executed = Executed.YES
    files: tuple[StagedFile, ...] = ()
    revisions: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    code: str = ""
    message: str = ""

    @property
    def clear(self) -> bool:
        """Whether this outcome can be acted on without looking at the artefact."""
        return self.reply is Reply.ANSWERED and self.succeeded is not None

    @classmethod
    def failed(cls, error: CountermarkError, *, executed: Executed = Executed.NO) -> Outcome:
        """Return the outcome of a known error."""
        facts = {"error": error.as_json()}
        return cls(succeeded=False, executed=executed, code=error.code, message=error.sentence, facts=facts)

    @classmethod
    def unknown(cls, message: str, *, reply: Reply = Reply.LOST) -> Outcome:
        """Return the outcome of silence, a broken pipe or an ambiguous reply."""
        return cls(reply=reply, succeeded=None, executed=Executed.UNKNOWN, code="outcome_unknown", message=message)


@dataclass(frozen=True, slots=True)
class Finding:
    """What looking at the artefact itself showed (seed 1 §7): executed, not executed with evidence, or unknown."""

    executed: Executed
    evidence: Mapping[str, Any] = field(default_factory=dict)
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a long job stands: still running or ended."""

    running: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The answer to a cancellation: whether the stop is confirmed, and whether the effect happened."""

    confirmed: bool
    executed: Executed
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verification:
    """What the checks saw, what they left unseen, and files made from their verdicts (a record page).

    `needs_person` says that something was left unchecked on request, which only a person may accept.
    """

    verdicts: tuple[Verdict, ...]
    files: tuple[StagedFile, ...] = ()
    not_checked: tuple[tuple[str, str], ...] = ()
    needs_person: bool = False


class Launcher(Protocol):
    """Starts a child whose row is in the ledger before its program runs (design §4, Fence)."""

    def __call__(self, argv: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Child:
        """Start, register, and let go."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """What an adapter may touch while it works: its stage, the store, children, the clock, and word of a stop.

    `stage` is a folder of this task and epoch alone, `stage_name` its place in the workspace. `stopping()` turns true
    when the task was asked to stop. `save_handle(text)` makes the identity of a long job durable before it is waited
    for.
    """

    stage_name: str
    store: Store
    workspace: Path
    clock: Clock
    launch: Launcher
    stopping: Callable[[], bool]
    report: Callable[[str], None]
    save_handle: Callable[[str], None]

    @property
    def stage(self) -> Path:
        """The folder to work in."""
        return self.workspace / self.stage_name


class Adapter:
    """The base of every domain's adapter; a staged domain writes `submit`, `reconcile` and `verify` at least."""

    name: str = ""

    def effects(self) -> Mapping[str, Effect]:
        """Return the effects this adapter can do, by word."""
        raise NotImplementedError

    def capabilities(self) -> RuntimeIdentity:
        """Return who would do the work, right now."""
        raise NotImplementedError

    def observe(self, resource: str) -> str | None:
        """Return the current revision token of a resource, or None to let the kernel digest the file itself."""
        del resource
        return None

    def validate(self, plan: Plan) -> None:
        """Raise if the plan cannot be done as it stands; touches nothing."""
        del plan

    def estimate(self, plan: Plan) -> Estimate:
        """Return what the plan will use at the most."""
        del plan
        return Estimate()

    def submit(self, intent: Intent, context: Context) -> Outcome:
        """Do the work once; the intent is already durable."""
        raise NotImplementedError

    def status(self, intent: Intent, context: Context) -> Progress:
        """Return where a long job stands; work that ends inside `submit` is never running afterwards."""
        del intent, context
        return Progress(running=False)

    def cancel(self, intent: Intent, context: Context) -> Stopped:
        """Confirm the stop after the task's processes are gone; the default asks `reconcile` what happened."""
        finding = self.reconcile(intent, context)
        return Stopped(
            confirmed=finding.executed is not Executed.UNKNOWN, executed=finding.executed, evidence=finding.evidence
        )

    def reconcile(self, intent: Intent, context: Context) -> Finding:
        """Look at the artefact itself and say whether the effect happened; never repeats it."""
        raise NotImplementedError

    def collect(self, intent: Intent, context: Context) -> Outcome:
        """Return the result of a long job that `status` says has ended."""
        finding = self.reconcile(intent, context)
        if finding.outcome is not None:
            return finding.outcome
        return Outcome.unknown("The job ended without a result that can be read.")

    def verify(self, intent: Intent, outcome: Outcome, context: Context) -> Verification:
        """Observe what was made with something other than its maker."""
        raise NotImplementedError
