"""Effects whose authority is the domain's own store: permitted before, entered once after, late where it was late."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from countermark.kernel import backup, grant, journal, receipt, task
from countermark.kernel.adapter import Effect
from countermark.kernel.canon import ABSENT
from countermark.kernel.errors import CountermarkError
from countermark.kernel.journal import Entry
from countermark.kernel.plan import Plan
from countermark.kernel.proof import Status, Verdict
from countermark.kernel.recovery import EffectClass, EffectKind, Executed
from countermark.kernel.state import State
from countermark.testkit.adapter import IDENTITY, MAKER, OBSERVER

from .conftest import Bench

PLAN = Plan("scripted", "test.journalled", "save", ("scene:a",), {"n": 1})
SUBJECT = "ab" * 32


@pytest.fixture(autouse=True)
def declared(bench: Bench) -> None:
    """Have the scripted domain keep a store of its own, too."""
    effect = Effect("test.journalled", EffectKind.JOURNALLED, EffectClass.IDEMPOTENT_WRITE, True, ("looked",))  # noqa: FBT003 - reversible
    bench.adapter.effects = lambda: {"test.journalled": effect}  # type: ignore[method-assign]


def entry(key: str = "k", **changes: object) -> Entry:
    verdict = Verdict("looked", Status.PASSED, True, MAKER, OBSERVER, (SUBJECT,))  # noqa: FBT003 - required
    made = Entry(PLAN, key, {"scene:a": ABSENT}, {"scene:a": "v1"}, {"a.scene": (SUBJECT, 12)}, [verdict], IDENTITY)
    return replace(made, **changes)  # type: ignore[arg-type]


def spent(bench: Bench, name: str = "test") -> dict[str, int]:
    return dict(bench.space.ledger.read(lambda tx: grant.load(tx, name)).spent)


def test_asking_for_permission_writes_nothing(bench: Bench) -> None:
    before = bench.space.ledger.events()[-1].seq
    journal.permit(bench.space, PLAN, "test")
    assert bench.space.ledger.events()[-1].seq == before
    assert spent(bench) == {}


@pytest.mark.parametrize(
    ("terms", "code"),
    [
        ({"effects": ("other",)}, "permission_denied"),
        ({"resources": ("scene:b",)}, "permission_denied"),
        ({"limits": {"attempts": 0}}, "budget_exhausted"),
        ({"expires_at": 1}, "grant_expired"),
    ],
)
def test_what_a_grant_does_not_allow_is_refused_before_the_store_is_written(
    bench: Bench, terms: dict[str, Any], code: str
) -> None:
    bench.grant("narrow", **terms)
    with pytest.raises(CountermarkError) as caught:
        journal.permit(bench.space, PLAN, "narrow")
    assert caught.value.code == code


@pytest.mark.promise("kernel.journal.one-row-per-key")
def test_an_effect_is_entered_once_under_its_key_and_has_a_receipt(bench: Bench) -> None:
    first = journal.enter(bench.space, entry(), "test")
    assert journal.enter(bench.space, entry(), "test") == first
    assert spent(bench) == {"attempts": 1}
    facts = receipt.parse(bench.space.receipts.render(first)).facts
    assert (facts.state, facts.executed, facts.idempotency_key) == (State.COMPLETED, Executed.YES, "k")
    assert facts.epoch is None
    assert not facts.ledger.entered_late
    [resource] = facts.resources
    assert (resource.revision_before, resource.revision_after) == (ABSENT, "v1")
    assert backup.examine(bench.space.path / ".countermark/ledger.sqlite") == []


def test_the_subjects_of_its_receipt_are_what_the_store_wrote(bench: Bench) -> None:
    done = journal.enter(bench.space, entry(), "test")
    [subject] = receipt.parse(bench.space.receipts.render(done)).subjects
    assert (subject.name, subject.digest) == ("a.scene", SUBJECT)


def test_the_same_key_for_another_effect_is_a_conflict(bench: Bench) -> None:
    journal.enter(bench.space, entry(), "test")
    other = replace(PLAN, payload={"n": 2})
    with pytest.raises(CountermarkError, match="key_conflict"):
        journal.enter(bench.space, entry(plan=other), "test")
    assert spent(bench) == {"attempts": 1}


@pytest.mark.promise("kernel.journal.one-row-per-key")
def test_an_effect_found_in_the_store_after_a_crash_is_entered_and_says_that_it_is_late(bench: Bench) -> None:
    done = journal.enter(bench.space, entry(late=True), "test")
    assert receipt.parse(bench.space.receipts.render(done)).facts.ledger.entered_late


def test_a_grant_that_ended_in_between_does_not_hide_the_fact_and_makes_it_late(bench: Bench) -> None:
    journal.permit(bench.space, PLAN, "test")
    bench.space.ledger.apply(lambda tx: grant.revoke(tx, "test"))
    done = journal.enter(bench.space, entry(), "test")
    assert receipt.parse(bench.space.receipts.render(done)).facts.ledger.entered_late
    assert spent(bench) == {"attempts": 1}


def test_a_use_is_charged_to_every_ancestor(bench: Bench) -> None:
    bench.grant("child", "test")
    journal.enter(bench.space, entry(uses={"attempts": 1, "bytes": 12}), "child")
    assert spent(bench, "child") == spent(bench) == {"attempts": 1, "bytes": 12}


def test_an_entry_has_ended_and_leaves_nothing_to_settle(bench: Bench) -> None:
    done = journal.enter(bench.space, entry(), "test")
    assert bench.space.settle_all() == []
    assert bench.space.ledger.read(lambda tx: task.load(tx, done)).ended


def test_its_evidence_is_rendered_like_any_other(bench: Bench) -> None:
    done = journal.enter(bench.space, entry(), "test")
    envelope = bench.space.receipts.render(done)
    bench.space.close()
    runs = bench.folder / "space/.countermark/runs" / done
    assert (runs / "receipt.json").read_bytes() == envelope
    bench.space = type(bench.space)(bench.folder / "space", adapters=[bench.adapter])


def test_a_key_that_a_caller_used_elsewhere_keeps_no_effect_of_the_store_out_of_the_ledger(bench: Bench) -> None:
    declared = bench.adapter.effects()
    bench.adapter.effects = lambda: {**type(bench.adapter).effects(bench.adapter), **declared}  # type: ignore[method-assign]
    squatter = bench.perform("test.direct", "world:a", key="k")
    entered = journal.enter(bench.space, entry("k"), "test")
    assert entered != squatter.task
    assert journal.enter(bench.space, entry("k"), "test") == entered
    assert bench.perform("test.direct", "world:a", key="k").task == squatter.task
