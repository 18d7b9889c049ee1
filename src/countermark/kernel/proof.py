"""The law of proof: nothing is done until something other than its maker has observed it.

Verdicts are facts with two names on them: who made the thing and who looked. An engine's name is a label, its identity
is the digest of its installed files; two labels on one digest are one engine, and a `passed` where they are the same is
no evidence (design §4, Receipt). `unavailable` and `skipped` never count as `passed` (seed 2, invariant 6).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from countermark.kernel.canon import digest
from countermark.kernel.errors import CountermarkError

AcceptanceRule = Literal["checks", "person"]


class Status(StrEnum):
    """The four values of a verdict (seed 2, invariant 6)."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class Engine:
    """A maker or an observer: the label people read and the digest that says what it really is."""

    label: str
    digest: str

    def wire(self) -> dict[str, str]:
        """Return the wire form."""
        return {"label": self.label, "digest": self.digest}


@dataclass(frozen=True, slots=True)
class Verdict:
    """One observation.

    `subjects` are the digests of the bytes that were looked at; `measured` and `threshold` hold integers and decimal
    strings, never floats; `source` says where the threshold comes from.
    """

    check: str
    status: Status
    required: bool
    maker: Engine
    observer: Engine
    subjects: tuple[str, ...] = ()
    measured: Mapping[str, Any] = field(default_factory=dict)
    threshold: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    source: str = ""

    def wire(self) -> dict[str, Any]:
        """Return the wire form."""
        return {
            "check": self.check,
            "status": str(self.status),
            "required": self.required,
            "maker": self.maker.wire(),
            "observer": self.observer.wire(),
            "subjects": list(self.subjects),
            "measured": dict(self.measured),
            "threshold": dict(self.threshold),
            "reason": self.reason,
            "source": self.source,
        }

    @classmethod
    def read(cls, wire: Mapping[str, Any]) -> Verdict:
        """Return the verdict of a wire form this class wrote."""
        return cls(
            check=wire["check"],
            status=Status(wire["status"]),
            required=wire["required"],
            maker=Engine(**wire["maker"]),
            observer=Engine(**wire["observer"]),
            subjects=tuple(wire["subjects"]),
            measured=wire["measured"],
            threshold=wire["threshold"],
            reason=wire["reason"],
            source=wire["source"],
        )


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the required checks add up to; `code` is empty when they all passed."""

    code: str
    sentence: str


def judge(verdicts: Sequence[Verdict], required: Iterable[str]) -> Judgement:
    """Return whether every required check passed under another engine's eyes.

    A required check may be given several verdicts (one per subject): all must have passed, and there must be one.
    """
    by_check: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_check.setdefault(verdict.check, []).append(verdict)
    needed = dict.fromkeys([*required, *(v.check for v in verdicts if v.required)])
    unavailable = []
    for check in needed:
        seen = by_check.get(check, [])
        for verdict in seen:
            if verdict.status is Status.FAILED:
                return Judgement("verification_failed", f"The check {check} failed: {verdict.reason or 'no reason'}.")
            if verdict.status is Status.PASSED and verdict.maker.digest == verdict.observer.digest:
                return Judgement(
                    "verification_failed",
                    f"The check {check} was made by {verdict.observer.label}, the same engine that made the result.",
                )
        if not seen or any(v.status is not Status.PASSED for v in seen):
            unavailable.append(check)
    if unavailable:
        return Judgement(
            "verification_unavailable", f"These required checks could not be made: {', '.join(unavailable)}."
        )
    return Judgement("", "")


def evidence_digest(verdicts: Sequence[Verdict | Mapping[str, Any]], subjects: Mapping[str, str]) -> str:
    """Return the digest an acceptance is bound to: all verdicts, also in their wire form, and all digests by name."""
    wires = [one.wire() if isinstance(one, Verdict) else one for one in verdicts]
    return digest({"verdicts": wires, "subjects": dict(subjects)})


def check_acceptance(rule: AcceptanceRule, *, reversible: bool) -> bool:
    """Return whether the checks alone may accept: the grant says so and the effect can be undone."""
    return rule == "checks" and reversible


def check_evidence(accepted: str, current: str) -> None:
    """Raise `stale_evidence` when an acceptance names other evidence than what is there now (seed 1 §13)."""
    if accepted != current:
        raise CountermarkError(
            "stale_evidence",
            "The result changed after it was reviewed, so the acceptance does not apply to it.",
            next_action="Look at the current evidence with `countermark task show` and accept that.",
            details={"accepted": accepted, "current": current},
        )
