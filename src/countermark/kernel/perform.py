"""The one call: perform(plan, grant, revision, key) → receipt.

One effect's way (design §3): cheap checks, one deciding transaction, the effect, its result, what other engines saw,
the publication, the receipt. Every step between two durable commits may be the last of this process; `restart` takes a
task up again from what the ledger says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from countermark.kernel import fence, grant, once, proof, publish, task
from countermark.kernel.adapter import (
    Adapter,
    Context,
    Effect,
    Finding,
    Intent,
    Outcome,
    Reply,
    StagedFile,
    Verification,
)
from countermark.kernel.canon import ABSENT
from countermark.kernel.canon import digest as digest_of
from countermark.kernel.errors import CountermarkError, Ending
from countermark.kernel.ledger import Tx, compact
from countermark.kernel.place import disk_error
from countermark.kernel.plan import Plan, plan_digest
from countermark.kernel.recovery import EffectClass, EffectKind, Executed, Step, decide
from countermark.kernel.state import State
from countermark.kernel.task import Task

if TYPE_CHECKING:
    from countermark.kernel.workspace import Workspace

T = TypeVar("T")
_NO_INPUTS: Final = digest_of([])


@dataclass(frozen=True, slots=True)
class Performed:
    """The answer to a call: the receipt's handle.

    `repeated` says that the key had run before and this is its first result; `restored` names outputs that were missing
    and came back from the store. A task that waits in `review_ready` for a person has no receipt yet.
    """

    task: str
    state: State
    code: str
    executed: Executed
    render: Callable[[str], bytes]
    repeated: bool = False
    restored: tuple[str, ...] = ()

    def receipt(self) -> bytes:
        """Return the signed receipt, made from the ledger's rows; raise `illegal_state` while the task waits."""
        return self.render(self.task)


def perform(
    workspace: Workspace,
    plan: Plan,
    *,
    grant_id: str,
    revision: str | Mapping[str, str],
    key: str | None = None,
    deadline: int | None = None,
    supersedes: str | None = None,
) -> Performed:
    """Do a plan once, or answer what it did.

    `revision` is what the caller saw: one token for a single resource, or one per resource. Without `key` one is
    derived from the plan and what it stands on. `deadline` is in milliseconds since the Unix epoch; `supersedes` names
    a waiting task that this one revises. Returns for `completed` and `review_ready`; raises the task's own code for
    every other ending, with `task` in the details.
    """
    ask, adapter = _prepare(workspace, plan, grant_id, revision, key, deadline, supersedes)
    # Marked before its intent is durable: from then on another thread could take an idle task for abandoned.
    with workspace.running(ask.task):
        return _perform(workspace, ask, adapter)


def _perform(workspace: Workspace, ask: once.Ask, adapter: Adapter) -> Performed:
    plan = ask.plan
    decision = _decide(workspace, ask, adapter)
    if isinstance(decision, once.Refusal) and _holder_settled(workspace, decision.error):
        ask = ask._replace(observed=_observe(workspace, adapter, plan))
        decision = _decide(workspace, ask, adapter)
    if isinstance(decision, once.Refusal):
        decision.error.details["event"] = decision.event
        raise decision.error
    if isinstance(decision, once.Earlier):
        return _repeat(workspace, ask, decision.task)
    intent = Intent(
        task=ask.task,
        attempt=1,
        epoch=decision.epoch,
        key=ask.key,
        plan=plan,
        effect=ask.effect,
        expected=ask.expected,
        runtime=ask.runtime,
        grant=decision.chain[0].wire(),
        deadline=ask.deadline,
    )
    return run(workspace, intent)


def _decide(workspace: Workspace, ask: once.Ask, adapter: Adapter) -> once.Admitted | once.Earlier | once.Refusal:
    """Have a call decided, looking again for as long as others write in between what was observed and the decision."""
    while True:
        decision = workspace.ledger.apply(partial(once.admit, ask=ask))
        if not isinstance(decision, once.Moved):
            return decision
        ask = ask._replace(observed=_observe(workspace, adapter, ask.plan), looked={**ask.looked, **decision.writes})


def _holder_settled(workspace: Workspace, error: CountermarkError) -> bool:
    """Settle the task that holds the resource if its process is gone; time alone frees nothing."""
    return error.code == "resource_busy" and workspace.settle(str(error.details["holder"]))


def _prepare(
    workspace: Workspace,
    plan: Plan,
    grant_id: str,
    revision: str | Mapping[str, str],
    key: str | None,
    deadline: int | None,
    supersedes: str | None,
) -> tuple[once.Ask, Adapter]:
    asked_at = workspace.clock.now_ms()
    adapter = workspace.adapter(plan.adapter)
    effect = adapter.effects().get(plan.effect)
    if effect is None:
        raise CountermarkError(
            "capability_missing",
            f"{plan.adapter} cannot do {plan.effect}.",
            next_action=f"Choose one of: {', '.join(adapter.effects())}.",
        )
    adapter.validate(plan)
    estimate = adapter.estimate(plan)
    uses = once.uses_of(estimate, plan)
    if effect.kind is EffectKind.STAGED:
        workspace.check_space(estimate.bytes)
    runtime = adapter.capabilities()
    if plan.runtime is not None and plan.runtime != runtime:
        raise CountermarkError(
            "capability_schema_mismatch",
            f"This plan was made for {plan.runtime.name} {plan.runtime.version}; now it would run on another build.",
            next_action="Plan again on the engine that is installed now.",
            details={"planned": plan.runtime.wire(), "found": runtime.wire()},
        )
    text = plan.text()
    inputs = plan.inputs_digest() if plan.inputs else _NO_INPUTS
    observed = _observe(workspace, adapter, plan)
    expected = _expected(plan, revision)
    digest = plan_digest(text)
    ask = once.Ask(
        task=workspace.ids.new("t"),
        key=key if key is not None else _derive(workspace, plan, digest, inputs, expected),
        derived=key is None,
        grant=grant_id,
        plan=plan,
        plan_text=text.decode("utf-8"),
        plan_digest=digest,
        inputs_digest=inputs,
        effect=effect,
        expected=expected,
        observed=observed,
        runtime=runtime,
        uses=uses,
        runner=workspace.runner_text,
        asked_at=asked_at,
        deadline=deadline,
        supersedes=supersedes,
        keyid=workspace.keys.current_id() if supersedes else "",
    )
    return ask, adapter


def _expected(plan: Plan, revision: str | Mapping[str, str]) -> dict[str, str]:
    if isinstance(revision, str):
        if len(plan.resources) > 1:
            raise CountermarkError(
                "input_invalid",
                f"This plan writes {len(plan.resources)} resources; one revision does not say which.",
                next_action="Give a revision for each resource by name.",
                details={"resources": list(plan.resources)},
            )
        return dict.fromkeys(plan.resources, revision)
    if set(revision) != set(plan.resources):
        raise CountermarkError(
            "input_invalid",
            "The revisions do not name exactly the resources of the plan.",
            next_action="Give one revision for each resource the plan writes.",
            details={"resources": list(plan.resources), "revisions": sorted(revision)},
        )
    return dict(revision)


def _observe(workspace: Workspace, adapter: Adapter, plan: Plan) -> dict[str, str]:
    observed = {}
    for name in plan.resources:
        token = adapter.observe(name)
        observed[name] = token if token is not None else publish.observe(workspace, name)
    return observed


def _derive(workspace: Workspace, plan: Plan, digest: str, inputs: str, expected: Mapping[str, str]) -> str:
    """Derive the key of a call that named none; a repeat of the resource's last write gets that write's key."""

    def question(tx: Tx) -> str:
        bases = {}
        for name in plan.resources:
            known = fence.load(tx, name)
            if known is not None and known.last_task is not None:
                last = task.load(tx, known.last_task)
                stands = expected[name] in (known.revision, ABSENT)
                if last.derived and (last.plan_digest, last.inputs_digest) == (digest, inputs) and stands:
                    return last.key
            bases[name] = (expected[name], known.writes if known else 0)
        return once.derive_key(digest, inputs, bases)

    return workspace.ledger.read(question)


def _repeat(workspace: Workspace, ask: once.Ask, task_id: str) -> Performed:
    found = workspace.ledger.read(lambda tx: task.load(tx, task_id))
    if not found.ended and found.state is not State.REVIEW_READY:
        workspace.settle(task_id)
        found = workspace.ledger.read(lambda tx: task.load(tx, task_id))
    if found.ended or found.state is State.REVIEW_READY:
        restored: tuple[str, ...] = ()
        if found.state is State.COMPLETED and found.kind is EffectKind.STAGED:
            restored = publish.restore_missing(workspace, found, ask.grant)
        return replace(answer(workspace, found), repeated=True, restored=restored)
    if found.state in (State.RECONCILING, State.BLOCKED):
        raise unsettled(found)
    raise CountermarkError(
        "resource_busy",
        f"Task {task_id} with this key is still {found.state}.",
        next_action=f"Wait for it, or see `countermark task show {task_id}`.",
        details={"task": task_id, "state": found.state.value},
    )


def answer(workspace: Workspace, found: Task) -> Performed:
    """Return the answer of a task that has ended or waits for a person, or raise its code."""
    if found.state in (State.REVIEW_READY, State.COMPLETED):
        return Performed(found.id, found.state, "", found.executed, workspace.receipts.render)
    raise ending(workspace, found)


def ending(workspace: Workspace, found: Task) -> CountermarkError:
    """Return the error of a task that failed or was cancelled, as its terminal event tells it."""
    ends = {State.COMPLETED.value, State.FAILED.value, State.CANCELLED.value}
    events = workspace.ledger.events(task=found.id)  # behind the end there may be a late result, or a restored file
    last = next((one.body for one in reversed(events) if ends.intersection(one.body.get("path", ())[-1:])), {})
    code = found.code or ("cancelled" if found.state is State.CANCELLED else "task_failed")
    return CountermarkError(
        code,
        str(last.get("message") or f"Task {found.id} ended {found.state}."),
        next_action=str(last.get("next") or f"See `countermark task why {found.id}`."),
        details={
            **last.get("details", {}),
            "task": found.id,
            "state": found.state.value,
            "executed": found.executed.value,
        },
    )


def unsettled(found: Task) -> CountermarkError:
    """Return the error of a task whose outcome is not known, or that needs a person before it goes on."""
    return CountermarkError(
        "outcome_unknown",
        f"Task {found.id} is {found.state}: whether its effect happened is "
        + (
            "confirmed: it did not; it may not be repeated without a person."
            if found.state is State.BLOCKED
            else "not known."
        ),
        next_action=f"Look again with `countermark task reconcile {found.id}`.",
        details={"task": found.id, "state": found.state.value, "executed": found.executed.value},
    )


def run(workspace: Workspace, intent: Intent) -> Performed:
    """Do an admitted attempt and everything after it; an attempt that was overtaken changes no state."""
    with workspace.running(intent.task):
        try:
            return _run(workspace, intent)
        except CountermarkError as error:
            if error.code != "stale_epoch":
                raise
            return late(workspace, intent)


def _run(workspace: Workspace, intent: Intent) -> Performed:
    adapter = workspace.adapter(intent.plan.adapter)
    began = workspace.clock.monotonic()
    context = None
    try:
        context = workspace.context(intent)
        outcome = _typed(adapter.submit(intent, context), Outcome)
    except CountermarkError as error:
        # An adapter that raises says the effect did not happen, unless the error says that nobody knows.
        unknown = error.ending is Ending.UNKNOWN
        outcome = Outcome.unknown(error.sentence, reply=Reply.AMBIGUOUS) if unknown else Outcome.failed(error)
    except Exception as error:  # noqa: BLE001 - a defect in an adapter is an unknown outcome, not a crash of the kernel
        outcome = _broke(intent, error)
    spent = int((workspace.clock.monotonic() - began) * 1000)
    return settle(workspace, intent, outcome, spent, context)


def _typed(answer: T, kind: type[T]) -> T:
    """Return an adapter's answer if it is one; anything else is a defect, like an exception."""
    if not isinstance(answer, kind):
        raise TypeError(type(answer).__name__)
    return answer


def _broke(intent: Intent, error: Exception) -> Outcome:
    if intent.effect.kind is EffectKind.STAGED and isinstance(error, OSError):
        known = disk_error(error, "the stage", "writing")
        if known.code == "disk_full":
            return Outcome.failed(known)  # another attempt would fill what is needed to record this one
    return Outcome.unknown(f"The adapter broke: {type(error).__name__}.", reply=Reply.AMBIGUOUS)


def settle(
    workspace: Workspace, intent: Intent, outcome: Outcome, spent_ms: int, context: Context | None = None
) -> Performed:
    """Record what came back from an attempt, and go on from it; `context` is the one it worked in, if it is at hand."""
    outcome = _durable(workspace, intent, outcome)
    if not outcome.clear:
        body = {
            "attempt": intent.attempt,
            "reply": outcome.reply.value,
            "message": outcome.message,
            "durationMs": spent_ms,
        }
        moved = _record(
            workspace,
            intent,
            outcome,
            lambda tx: _advance(tx, intent, (State.RUNNING, State.RECONCILING), "unknown", body),
        )
        return reconcile(workspace, intent) if moved else late(workspace, intent)
    known: dict[str, Any] = {
        "attempt": intent.attempt,
        "reply": outcome.reply.value,
        "succeeded": outcome.succeeded,
        "files": len(outcome.files),
        "durationMs": spent_ms,
        "retries": intent.attempt - 1,
    }
    if outcome.revisions:
        known["revisions"] = dict(outcome.revisions)

    def result(tx: Tx) -> None:
        task.move(
            tx,
            intent.task,
            intent.epoch,
            (State.RUNNING, State.VERIFYING),
            "result",
            known,
            executed=_happened(intent, outcome.executed),
        )
        _store_result(tx, intent, outcome)

    if not _record(workspace, intent, outcome, result):
        return late(workspace, intent)
    return verify(workspace, intent, outcome, context)


def _durable(workspace: Workspace, intent: Intent, outcome: Outcome) -> Outcome:
    """Make staged files durable before the ledger says that they are there; what cannot be is no result."""
    if intent.effect.kind is not EffectKind.STAGED or not outcome.files:
        return outcome
    try:
        workspace.files.sync_tree(publish.stage_of(intent.task, intent.epoch))
    except CountermarkError as error:
        # A stage that is gone has been taken over; what becomes of this result is decided by its epoch.
        return outcome if error.code == "not_found" else Outcome.failed(error)
    return outcome


def _advance(tx: Tx, intent: Intent, path: tuple[State, ...], kind: str, body: dict[str, Any], code: str = "") -> None:
    task.move(tx, intent.task, intent.epoch, path, kind, body, code=code)


def _happened(intent: Intent, executed: Executed) -> Executed:
    """Return whether the user's things changed: a staged effect has happened only once it is published."""
    return Executed.NO if intent.effect.kind is EffectKind.STAGED else executed


def _store_result(tx: Tx, intent: Intent, outcome: Outcome) -> None:
    tx.run(
        "UPDATE attempts SET result = ?, ended_at = ? WHERE task = ? AND n = ?",
        (compact(outcome_wire(outcome)), tx.now, intent.task, intent.attempt),
    )


def _record(workspace: Workspace, intent: Intent, outcome: Outcome, transition: Any) -> bool:
    """Commit a transition of this attempt; False when the task is no longer this attempt's to move."""
    try:
        workspace.ledger.apply(transition)
    except CountermarkError as error:
        if error.code != "stale_epoch":
            raise
        workspace.keep_orphans(intent, outcome.files)
        return False
    return True


def late(workspace: Workspace, intent: Intent) -> Performed:
    """Answer for an attempt that was overtaken: a cancellation is settled here, a takeover is another process's."""
    found = workspace.ledger.read(lambda tx: task.load(tx, intent.task))
    if found.state is State.CANCEL_REQUESTED and found.epoch == intent.epoch:
        workspace.confirm_cancel(found)
        found = workspace.ledger.read(lambda tx: task.load(tx, intent.task))
        if found.state is State.CANCELLED:
            raise ending(workspace, found)
    if found.epoch == intent.epoch and not found.ended:
        raise unsettled(found)
    raise fence.stale(intent.task)


def reconcile(workspace: Workspace, intent: Intent, known: Finding | None = None) -> Performed:
    """Look at the artefact itself and do the one thing recovery allows (design §4, effect classes).

    `known` is a finding for which nobody needs to look.
    """
    adapter = workspace.adapter(intent.plan.adapter)
    workspace.end_children(intent.task)  # looking is worth nothing while something may still do the work
    if workspace.children_alive(intent.task):
        finding = Finding(Executed.UNKNOWN, {"children": "something that was started for this still runs"})
    else:
        finding = known or look(workspace, adapter, intent)
    chain, tried = workspace.ledger.read(
        lambda tx: (grant.load_chain(tx, str(intent.grant["id"])), task.attempts(tx, intent.task))
    )
    step = decide(intent.effect.effect_class, finding.executed, tried, grant.uses_left(chain, "attempts"))
    evidence = {"attempt": intent.attempt, "finding": finding.executed.value, "evidence": dict(finding.evidence)}
    if step is Step.LOOK:
        workspace.ledger.apply(lambda tx: _looked(tx, intent, evidence))
        raise unsettled(workspace.ledger.read(lambda tx: task.load(tx, intent.task)))
    if step is Step.VERIFY:
        return verify_found(workspace, intent, finding.outcome or Outcome(executed=Executed.YES), evidence)
    if step is Step.RETRY:
        return again(workspace, intent, chain, evidence)
    state = State.BLOCKED if step is Step.BLOCK else State.FAILED
    code = "" if state is State.BLOCKED else "task_failed"
    times = "once" if tried == 1 else f"{tried} times"
    message = f"It was tried {times}; no answer came that could be used, and nothing had been done."

    def stop(tx: Tx) -> None:
        task.move(
            tx,
            intent.task,
            intent.epoch,
            (State.RECONCILING, state),
            "blocked" if state is State.BLOCKED else "failed",
            evidence | {"message": message} | _terminal(workspace, state),
            code=code,
            executed=Executed.NO,
        )
        if state is State.FAILED:
            fence.release(tx, intent.task, intent.plan.resources)

    workspace.ledger.apply(stop)
    settled = workspace.ledger.read(lambda tx: task.load(tx, intent.task))
    if state is State.FAILED:
        return answer(workspace, settled)
    raise unsettled(settled)


def _looked(tx: Tx, intent: Intent, evidence: Mapping[str, Any]) -> None:
    """Say that looking told nothing; raise `stale_epoch` when the task was asked to stop, or was taken, meanwhile."""
    found = task.load(tx, intent.task)
    if (found.state, found.epoch) != (State.RECONCILING, intent.epoch):
        raise fence.stale(intent.task)
    tx.event(intent.task, "looked", dict(evidence))


def look(workspace: Workspace, adapter: Adapter, intent: Intent) -> Finding:
    """Ask the adapter what the artefact shows; an adapter that cannot look has not found anything."""
    try:
        return _typed(adapter.reconcile(intent, workspace.context(intent)), Finding)
    except CountermarkError as error:
        return Finding(Executed.UNKNOWN, {"error": error.as_json()})
    except Exception as error:  # noqa: BLE001 - a defect in an adapter has found nothing either
        return Finding(Executed.UNKNOWN, {"defect": type(error).__name__})


def verify_found(workspace: Workspace, intent: Intent, outcome: Outcome, evidence: Mapping[str, Any]) -> Performed:
    """Go on to the checks with an effect that was found to have happened, though its answer was lost."""
    outcome = _durable(workspace, intent, outcome)
    body = {**evidence, "revisions": dict(outcome.revisions)} if outcome.revisions else evidence

    def found(tx: Tx) -> None:
        path = (State.RECONCILING, State.VERIFYING)
        happened = _happened(intent, Executed.YES)
        task.move(tx, intent.task, intent.epoch, path, "reconciled", body, executed=happened)
        _store_result(tx, intent, outcome)

    workspace.ledger.apply(found)
    return verify(workspace, intent, outcome)


def again(
    workspace: Workspace, intent: Intent, chain: list[grant.Grant], evidence: dict[str, Any], *, ready: bool = False
) -> Performed:
    """Run an attempt that was confirmed not executed once more, under a new epoch and a new use."""
    path = (State.READY, State.RUNNING) if ready else (State.RECONCILING, State.READY, State.RUNNING)

    def transition(tx: Tx) -> tuple[int, int]:
        once.in_time(tx, intent.deadline)
        acting = grant.load_chain(tx, chain[0].id)  # others have spent from it since
        uses = once.uses_again(tx, intent.task, intent.plan)
        grant.permit(acting, intent.effect.word, intent.plan.resources, uses, tx.now)
        task.move(tx, intent.task, intent.epoch, path, "again", {**evidence, "uses": uses}, executed=Executed.UNKNOWN)
        names = intent.plan.resources
        return once.begin_again(tx, intent.task, acting, names, uses, past=intent.epoch, runner=workspace.runner_text)

    try:
        if intent.effect.kind is EffectKind.STAGED:
            workspace.check_space(workspace.adapter(intent.plan.adapter).estimate(intent.plan).bytes)
        number, epoch = workspace.ledger.apply(transition)
    except CountermarkError as error:
        gone = error.ending is Ending.REFUSED or error.code in ("deadline_exceeded", "disk_full")
        if not gone or error.code == "stale_epoch":
            raise
        return _give_up(workspace, intent, error, path[0], evidence)
    return run(workspace, replace(intent, attempt=number, epoch=epoch, handle=None))


def _give_up(
    workspace: Workspace, intent: Intent, error: CountermarkError, state: State, evidence: dict[str, Any]
) -> Performed:
    """End a task that may not be tried again: its grant or its budget is gone (design §4: ready → blocked)."""
    body = {**evidence, "message": error.sentence, "next": error.next_action, "details": error.details}

    def transition(tx: Tx) -> None:
        if state is State.READY:
            task.move(
                tx, intent.task, intent.epoch, (State.READY, State.BLOCKED), "blocked", body, executed=Executed.NO
            )
            return
        task.move(
            tx,
            intent.task,
            intent.epoch,
            (State.RECONCILING, State.FAILED),
            "failed",
            body | _terminal(workspace, State.FAILED),
            code=error.code,
            executed=Executed.NO,
        )
        fence.release(tx, intent.task, intent.plan.resources)

    workspace.ledger.apply(transition)
    settled = workspace.ledger.read(lambda tx: task.load(tx, intent.task))
    return answer(workspace, settled) if settled.ended else _raise(unsettled(settled))


def _raise(error: CountermarkError) -> Performed:
    raise error


def verify(workspace: Workspace, intent: Intent, outcome: Outcome, context: Context | None = None) -> Performed:
    """Have the result observed by something other than its maker, and end the task or let it wait for a person."""
    if outcome.succeeded is False:
        return _fail(workspace, intent, outcome.code or "task_failed", outcome.message, outcome.executed, outcome.facts)
    adapter = workspace.adapter(intent.plan.adapter)
    try:
        seen = _typed(adapter.verify(intent, outcome, context or workspace.context(intent)), Verification)
    except CountermarkError as error:
        return _fail(workspace, intent, error.code, error.sentence, outcome.executed, {"error": error.as_json()})
    except Exception as error:  # noqa: BLE001 - a check that breaks is a check that could not be made
        sentence = f"The checks broke: {type(error).__name__}."
        return _fail(workspace, intent, "verification_unavailable", sentence, outcome.executed, {})
    files = (*outcome.files, *seen.files)
    judgement = proof.judge(seen.verdicts, intent.effect.required)
    subjects = publish.subjects(intent.plan.resources, files)
    verdicts = [verdict.wire() for verdict in seen.verdicts]
    evidence = proof.evidence_digest(verdicts, subjects)
    body = {
        "attempt": intent.attempt,
        "verdicts": verdicts,
        "notChecked": [{"what": what, "why": why} for what, why in seen.not_checked],
        "evidence": evidence,
    }
    if intent.effect.kind is EffectKind.STAGED:
        try:
            publish.keep(workspace, intent, files)
        except CountermarkError as error:
            whole = {**body, "error": error.as_json()}
            return _fail(workspace, intent, error.code, error.sentence, outcome.executed, whole)
    if judgement.code:
        return _fail(workspace, intent, judgement.code, judgement.sentence, outcome.executed, body, files)
    by_checks = proof.check_acceptance(intent.grant["acceptance"], reversible=intent.effect.reversible)
    return _accept_or_wait(workspace, intent, outcome, files, body, by_checks=by_checks and not seen.needs_person)


def _accept_or_wait(
    workspace: Workspace,
    intent: Intent,
    outcome: Outcome,
    files: tuple[StagedFile, ...],
    body: dict[str, Any],
    *,
    by_checks: bool,
) -> Performed:
    acceptance = {"by": "checks", "how": "checks", "evidence": body["evidence"], "authenticated": False}
    direct = intent.effect.kind is not EffectKind.STAGED
    targets = {} if direct else publish.targets(workspace, intent)

    def transition(tx: Tx) -> None:
        if not direct:
            fence.assert_held(tx, intent.task, intent.plan.resources, intent.epoch)
            publish.register(tx, intent, files)
        if not by_checks:
            left = {"revisions": dict(outcome.revisions)} if direct else {}
            waits = (State.VERIFYING, State.REVIEW_READY)
            task.move(tx, intent.task, intent.epoch, waits, "verified", body | left)
            names = intent.plan.resources
            fence.release(tx, intent.task, names, dict(outcome.revisions) if direct else None)
            return
        if direct:
            path = (State.VERIFYING, State.REVIEW_READY, State.COMPLETED)
            whole = {**body, "acceptance": acceptance, "revisions": dict(outcome.revisions)}
            whole |= _terminal(workspace, State.COMPLETED)
            task.move(tx, intent.task, intent.epoch, path, "completed", whole)
            fence.release(tx, intent.task, intent.plan.resources, outcome.revisions)
            return
        whole = {**body, "acceptance": acceptance}
        task.move(tx, intent.task, intent.epoch, (State.VERIFYING, State.REVIEW_READY), "verified", whole)
        publish.intend(tx, intent, targets)

    if not _record(workspace, intent, outcome, transition):
        return late(workspace, intent)
    if not by_checks:
        return Performed(intent.task, State.REVIEW_READY, "", outcome.executed, workspace.receipts.render)
    if direct:
        return Performed(intent.task, State.COMPLETED, "", outcome.executed, workspace.receipts.render)
    publish.publish(workspace, intent, targets)
    return _finish(workspace, intent.task)


def _fail(
    workspace: Workspace,
    intent: Intent,
    code: str,
    message: str,
    executed: Executed,
    body: Mapping[str, Any],
    files: tuple[StagedFile, ...] = (),
) -> Performed:
    """End a task whose check or effect failed; what it made stays in the store and in its stage."""
    error = body.get("error", {}) if isinstance(body.get("error"), Mapping) else {}
    whole = {
        **body,
        "attempt": intent.attempt,
        "message": message,
        "next": error.get("next", _look_why(intent)),
        "details": error.get("details", {}),
        **_terminal(workspace, State.FAILED),
    }

    def transition(tx: Tx) -> None:
        if files:
            publish.register(tx, intent, files)
        task.move(
            tx,
            intent.task,
            intent.epoch,
            (State.VERIFYING, State.FAILED),
            "failed",
            whole,
            code=code,
            executed=_happened(intent, executed),
        )
        fence.release(tx, intent.task, intent.plan.resources)

    if not _record(workspace, intent, Outcome(files=files), transition):
        return late(workspace, intent)
    return _finish(workspace, intent.task)


def _look_why(intent: Intent) -> str:
    """Return the next step after a failure, and what it left: only what was staged is known to have changed nothing."""
    left = "nothing was published" if intent.effect.kind is EffectKind.STAGED else "what was written stands"
    return f"See `countermark task why {intent.task}`; {left}."


def _terminal(workspace: Workspace, state: State) -> dict[str, Any]:
    """Return what a terminal event pins for the receipt: the key that will sign it."""
    return {"keyid": workspace.keys.current_id()} if state in (State.COMPLETED, State.FAILED, State.CANCELLED) else {}


def _finish(workspace: Workspace, task_id: str) -> Performed:
    return answer(workspace, workspace.ledger.read(lambda tx: task.load(tx, task_id)))


def outcome_wire(outcome: Outcome) -> dict[str, Any]:
    """Return the stored form of an outcome, from which a restart goes on."""
    return {
        "reply": outcome.reply.value,
        "succeeded": outcome.succeeded,
        "executed": outcome.executed.value,
        "files": [[file.resource, file.name, file.digest, file.size, file.media_type] for file in outcome.files],
        "revisions": dict(outcome.revisions),
        "facts": dict(outcome.facts),
        "code": outcome.code,
        "message": outcome.message,
    }


def outcome_read(wire: Mapping[str, Any]) -> Outcome:
    """Return the outcome that `outcome_wire` stored."""
    return Outcome(
        reply=Reply(wire["reply"]),
        succeeded=wire["succeeded"],
        executed=Executed(wire["executed"]),
        files=tuple(StagedFile(*row) for row in wire["files"]),
        revisions=wire["revisions"],
        facts=wire["facts"],
        code=wire["code"],
        message=wire["message"],
    )


def intent_of(workspace: Workspace, found: Task) -> Intent:
    """Return the newest attempt of a stored task as an intent."""

    def question(tx: Tx) -> tuple[int, str | None, dict[str, Any]]:
        number = tx.one("SELECT MAX(n) FROM attempts WHERE task = ? AND kind = 'effect'", (found.id,))
        handle = tx.one("SELECT handle FROM attempts WHERE task = ? AND n = ?", (found.id, number[0] if number else 0))
        chain = grant.load_chain(tx, found.grant)
        return number[0] if number else 1, handle[0] if handle else None, chain[0].wire()

    number, handle, acting = workspace.ledger.read(question)
    return Intent(
        task=found.id,
        attempt=number,
        epoch=found.epoch,
        key=found.key,
        plan=found.plan,
        effect=effect_of(workspace, found),
        expected=found.expected,
        runtime=found.runtime,
        grant=acting,
        deadline=found.deadline,
        handle=handle,
    )


def effect_of(workspace: Workspace, found: Task) -> Effect:
    """Return the effect of a stored task as its adapter declares it, with the class that was recorded."""
    declared = workspace.adapter(found.adapter).effects().get(found.effect)
    if declared is None:
        raise CountermarkError(
            "capability_missing",
            f"{found.adapter} has no effect {found.effect} any more, which task {found.id} is of.",
            next_action="Install the version that has it, and try again.",
            details={"task": found.id, "effect": found.effect},
        )
    return replace(declared, kind=found.kind, effect_class=EffectClass(found.effect_class))
