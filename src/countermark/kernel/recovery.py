"""What to do next with a task whose outcome is known, refused or unknown: a pure function (seed 2, invariant 7)."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class EffectClass(StrEnum):
    """How an effect behaves when it is done again; this alone decides recovery (design §4)."""

    READ_ONLY = "read_only"
    IDEMPOTENT_WRITE = "idempotent_write"
    NON_IDEMPOTENT = "non_idempotent"
    DESTRUCTIVE = "destructive"


class EffectKind(StrEnum):
    """Where an effect happens: in a stage, in the outside world, or in a domain's own store (design §3)."""

    STAGED = "staged"
    DIRECT = "direct"
    JOURNALLED = "journalled"


class Executed(StrEnum):
    """What is known of whether the effect happened."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Step(StrEnum):
    """The one thing recovery may do next."""

    VERIFY = "verify"
    RETRY = "retry"
    LOOK = "look"
    BLOCK = "block"
    FAIL = "fail"


MAX_ATTEMPTS: Final = 3  # seed 1 §14: at most three rounds


def decide(effect_class: EffectClass, executed: Executed, attempts: int, uses_left: int | None) -> Step:
    """Return the next step after an attempt without a clear result.

    `attempts` counts effect attempts already begun; `uses_left` is what the grant still allows, None for no limit.
    An unknown outcome is looked at for every class and never retried: only *confirmed not executed* may run again, and
    only for classes where that is harmless.
    """
    if executed is Executed.YES:
        return Step.VERIFY
    if executed is Executed.UNKNOWN:
        return Step.LOOK
    if effect_class in {EffectClass.NON_IDEMPOTENT, EffectClass.DESTRUCTIVE}:
        return Step.BLOCK
    if attempts >= MAX_ATTEMPTS or (uses_left is not None and uses_left < 1):
        return Step.FAIL
    return Step.RETRY
