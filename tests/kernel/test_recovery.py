"""What may happen after an attempt without a clear result."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countermark.kernel.recovery import MAX_ATTEMPTS, EffectClass, Executed, Step, decide

any_class = st.sampled_from(EffectClass)
attempts = st.integers(1, 10)
left = st.none() | st.integers(0, 10)


@pytest.mark.promise("kernel.once.lost-reply-no-second-effect")
@given(any_class, attempts, left)
def test_an_unknown_outcome_is_looked_at_and_never_repeated(kind: EffectClass, n: int, uses: int | None) -> None:
    assert decide(kind, Executed.UNKNOWN, n, uses) is Step.LOOK


@given(any_class, attempts, left)
def test_what_was_executed_goes_to_its_checks(kind: EffectClass, n: int, uses: int | None) -> None:
    assert decide(kind, Executed.YES, n, uses) is Step.VERIFY


@pytest.mark.promise("kernel.once.non-idempotent-never-replayed")
@given(
    st.sampled_from([EffectClass.NON_IDEMPOTENT, EffectClass.DESTRUCTIVE]), st.sampled_from(Executed), attempts, left
)
def test_a_non_idempotent_or_destructive_effect_is_never_retried_by_itself(
    kind: EffectClass, executed: Executed, n: int, uses: int | None
) -> None:
    assert decide(kind, executed, n, uses) is not Step.RETRY


@given(st.sampled_from([EffectClass.READ_ONLY, EffectClass.IDEMPOTENT_WRITE]), attempts, left)
def test_a_retry_is_bounded_by_attempts_and_by_the_grant(kind: EffectClass, n: int, uses: int | None) -> None:
    step = decide(kind, Executed.NO, n, uses)
    assert step is (Step.RETRY if n < MAX_ATTEMPTS and uses != 0 else Step.FAIL)
