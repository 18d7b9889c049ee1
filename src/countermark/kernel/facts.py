"""What a receipt says: the typed facts of one ended task (design §4, Receipt).

The wire form of each type stands in `predicate`. No number with a fraction enters a receipt: figures are integers or
decimal strings, because two readers may disagree about a float.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from countermark.kernel.plan import InputRef, RuntimeIdentity
from countermark.kernel.proof import AcceptanceRule, Verdict, judge
from countermark.kernel.recovery import EffectClass, Executed
from countermark.kernel.state import State


@dataclass(frozen=True, slots=True)
class GrantFact:
    """One grant of the chain that allowed the effect."""

    id: str
    issuer: str
    holder: str
    digest: str


@dataclass(frozen=True, slots=True)
class ResourceFact:
    """One resource with the revision that the caller expected, that was found, and that was left; None if unknown."""

    name: str
    expected_revision: str | None
    revision_before: str | None
    revision_after: str | None


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that nobody checked, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Who accepted which evidence, by what rule, and whether a key of theirs proved who they are."""

    by: str
    how: AcceptanceRule
    evidence: str
    authenticated: bool


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds since the Unix epoch; `started` is None where nothing ever ran."""

    created: int
    started: int | None
    finished: int


@dataclass(frozen=True, slots=True)
class LedgerPlace:
    """Where the terminal event stands: workspace, head of the hash chain, event number, and if it was entered late."""

    workspace: str
    chain_head: str
    seq: int
    entered_late: bool = False


@dataclass(frozen=True, slots=True)
class Signatory:
    """The signing key: its id and its public half as PEM.

    With it a stranger can check that the receipt is consistent with itself. It proves no identity: whoever re-signs a
    changed receipt puts a key of their own here.
    """

    keyid: str
    public_key: str


@dataclass(frozen=True, slots=True)
class ReceiptFacts:
    """Everything that one ended task says about itself.

    `grants` runs from the root to the acting grant, which `authorization_ref` names. `state` is a terminal one and
    `code` is empty unless it failed. `budget` is what the plan asked for and `uses` what was charged, by counter.
    `epoch` is None for effects that hold no lease; `deadline` is in milliseconds since the Unix epoch.
    """

    task_id: str
    idempotency_key: str
    parent_task: str | None
    supersedes: str | None
    attempt: int
    epoch: int | None
    authorization_ref: str
    grants: tuple[GrantFact, ...]
    effect: str
    effect_class: EffectClass
    plan_digest: str
    input_refs: tuple[InputRef, ...]
    resources: tuple[ResourceFact, ...]
    runtime_identity: RuntimeIdentity | None
    deadline: int | None
    budget: Mapping[str, int]
    uses: Mapping[str, int]
    verdicts: tuple[Verdict, ...]
    not_checked: tuple[Gap, ...]
    acceptance: Acceptance | None
    state: State
    code: str
    executed: Executed
    times: Times
    ledger: LedgerPlace
    signer: Signatory


def contradiction(facts: ReceiptFacts) -> str | None:
    """Return the sentence in which these facts contradict each other, or None.

    `completed` needs every required verdict `passed` and seen by something other than its maker (design §4, Receipt).
    """
    if facts.state is not State.COMPLETED:
        return None
    return judge(facts.verdicts, ()).sentence or None


def decimal_text(number: float | Decimal) -> str:
    """Return a finite number as the shortest decimal string that reads back as the same number; raise ValueError."""
    exact = number if isinstance(number, Decimal) else Decimal(repr(number))
    if not exact.is_finite():
        message = f"{number} is not a figure"
        raise ValueError(message)
    text = format(exact, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
