"""The law of grant: every effect names the grant that allows it, and handing work on can only narrow it.

A grant's words are literal prefixes that end at a separator, so the meet of two grants can be computed exactly. Uses
are charged to the acting grant and summed into every ancestor in the same transaction: a limit holds for the whole
subtree, so no number of children multiplies a budget and nothing is counted twice (seed 1 §10).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from countermark.kernel.canon import digest, stored
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Tx, compact
from countermark.kernel.proof import AcceptanceRule

SEPARATORS: Final = (".", ":", "/", "#")
UNIVERSAL: Final = ""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a grant allows.

    `effects` and `resources` are prefix sets (the empty string covers everything); `limits` maps counters (`attempts`,
    `bytes`, `seconds`, or a domain's own) to the most the grant and all below it may use, absent means no limit;
    `expires_at` is in milliseconds since the Unix epoch.
    """

    effects: tuple[str, ...]
    resources: tuple[str, ...]
    limits: Mapping[str, int] = field(default_factory=dict)
    acceptance: AcceptanceRule = "checks"
    expires_at: int | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """One grant as it stands in the ledger; `spent` sums the uses of its whole subtree."""

    id: str
    parent: str | None
    lineage: tuple[str, ...]
    issuer: str
    holder: str
    terms: Terms
    created_at: int
    revoked_at: int | None = None
    spent: Mapping[str, int] = field(default_factory=dict)

    def wire(self) -> dict[str, Any]:
        """Return the wire form, without what changes later."""
        return {
            "id": self.id,
            "parent": self.parent,
            "issuer": self.issuer,
            "holder": self.holder,
            "effects": list(self.terms.effects),
            "resources": list(self.terms.resources),
            "limits": dict(self.terms.limits),
            "acceptance": self.terms.acceptance,
            "expiresAt": self.terms.expires_at,
        }

    def digest(self) -> str:
        """Return the digest of the wire form, which a receipt names."""
        return digest(self.wire())


def covers(entry: str, word: str) -> bool:
    """Return whether a prefix covers a word: equal, or cut at a separator (`file:kit` covers `file:kit/a.png`)."""
    if entry in (UNIVERSAL, word):
        return True
    return word.startswith(entry) and (entry.endswith(SEPARATORS) or word[len(entry)] in SEPARATORS)


def meet(one: Terms, other: Terms) -> Terms:
    """Return the widest terms that both allow: intersection, minimum, earliest, stricter."""
    limits = dict(one.limits)
    for counter, limit in other.limits.items():
        limits[counter] = min(limit, limits.get(counter, limit))
    ends = [end for end in (one.expires_at, other.expires_at) if end is not None]
    return Terms(
        effects=_meet_prefixes(one.effects, other.effects),
        resources=_meet_prefixes(one.resources, other.resources),
        limits=limits,
        acceptance="person" if "person" in (one.acceptance, other.acceptance) else "checks",
        expires_at=min(ends) if ends else None,
    )


def _meet_prefixes(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    met = {b if covers(a, b) else a for a in one for b in other if covers(a, b) or covers(b, a)}
    return tuple(sorted(p for p in met if not any(q != p and covers(q, p) for q in met)))


def permit(chain: Sequence[Grant], effect: str, resources: Iterable[str], uses: Mapping[str, int], now: int) -> None:
    """Raise unless the acting grant and every ancestor allow this effect, on these resources, with these uses.

    `chain` runs from the acting grant to its root. Errors: `grant_revoked`, `grant_expired`, `permission_denied`,
    `budget_exhausted`.
    """
    names = tuple(resources)
    for grant in chain:
        _alive(grant, now)
        if not any(covers(entry, effect) for entry in grant.terms.effects):
            raise CountermarkError(
                "permission_denied",
                f"Grant {grant.id} does not allow {effect}; it allows {_spoken(grant.terms.effects)}.",
                next_action=f"Ask for a grant that covers it: `countermark grant new --effect {effect}`.",
                details={"grant": grant.id, "effect": effect, "allowed": list(grant.terms.effects)},
            )
        for name in names:
            if not any(covers(entry, name) for entry in grant.terms.resources):
                raise CountermarkError(
                    "permission_denied",
                    f"Grant {grant.id} does not reach {name}; it reaches {_spoken(grant.terms.resources)}.",
                    next_action=f"Ask for a grant that covers it: `countermark grant new --resource {name}`.",
                    details={"grant": grant.id, "resource": name, "allowed": list(grant.terms.resources)},
                )
        for counter, limit in grant.terms.limits.items():
            asked = uses.get(counter, 0)
            if asked and grant.spent.get(counter, 0) + asked > limit:
                raise CountermarkError(
                    "budget_exhausted",
                    f"Grant {grant.id} has {max(limit - grant.spent.get(counter, 0), 0)} of {limit} {counter} left; "
                    f"this needs {asked}.",
                    next_action="Ask for a grant with more, or do less.",
                    details={"grant": grant.id, "counter": counter, "limit": limit, "needed": asked},
                )


def uses_left(chain: Sequence[Grant], counter: str) -> int | None:
    """Return how much of a counter the whole chain still allows, None for no limit."""
    left = [g.terms.limits[counter] - g.spent.get(counter, 0) for g in chain if counter in g.terms.limits]
    return min(left) if left else None


def _alive(grant: Grant, now: int) -> None:
    if grant.revoked_at is not None:
        raise CountermarkError(
            "grant_revoked",
            f"Grant {grant.id} was revoked.",
            next_action="Use another grant: `countermark grant list`.",
            details={"grant": grant.id, "revokedAt": grant.revoked_at},
        )
    if grant.terms.expires_at is not None and now >= grant.terms.expires_at:
        raise CountermarkError(
            "grant_expired",
            f"Grant {grant.id} has expired.",
            next_action="Use another grant: `countermark grant list`.",
            details={"grant": grant.id, "expiresAt": grant.terms.expires_at},
        )


def _spoken(words: Sequence[str]) -> str:
    return ", ".join(word or "everything" for word in words) or "nothing"


_COLUMNS: Final = (
    "id, parent, lineage, issuer, holder, effects, resources, limits, acceptance, created_at, expires_at, revoked_at, "
    "spent"
)


def load(tx: Tx, grant_id: str) -> Grant:
    """Return one grant; raise `grant_unknown`."""
    row = tx.one(f"SELECT {_COLUMNS} FROM grants WHERE id = ?", (grant_id,))  # noqa: S608 - constant columns
    if row is None:
        raise CountermarkError(
            "grant_unknown",
            f"There is no grant {grant_id}.",
            next_action="See `countermark grant list`.",
            details={"grant": grant_id},
        )
    return _from_row(row)


def load_all(tx: Tx) -> list[Grant]:
    """Return every grant, oldest first."""
    return [_from_row(row) for row in tx.all(f"SELECT {_COLUMNS} FROM grants ORDER BY created_at, id")]  # noqa: S608


def load_chain(tx: Tx, grant_id: str) -> list[Grant]:
    """Return a grant and its ancestors, the acting grant first; raise `grant_unknown`."""
    acting = load(tx, grant_id)
    return [acting, *(load(tx, ancestor) for ancestor in reversed(acting.lineage))]


def issue(tx: Tx, grant: Grant) -> Grant:
    """Write a new grant. A child's terms become the meet with its whole chain, so it can only be narrower."""
    terms = grant.terms
    lineage: tuple[str, ...] = ()
    if grant.parent is not None:
        chain = load_chain(tx, grant.parent)
        for ancestor in chain:
            _alive(ancestor, tx.now)
            terms = meet(terms, ancestor.terms)
        lineage = (*chain[0].lineage, chain[0].id)
    written = Grant(grant.id, grant.parent, lineage, grant.issuer, grant.holder, terms, tx.now)
    tx.run(
        f"INSERT INTO grants ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, '{{}}')",  # noqa: S608
        (
            written.id,
            written.parent,
            json.dumps(lineage),
            written.issuer,
            written.holder,
            json.dumps(terms.effects),
            json.dumps(terms.resources),
            compact(dict(terms.limits)),
            terms.acceptance,
            tx.now,
            terms.expires_at,
        ),
    )
    return written


def revoke(tx: Tx, grant_id: str) -> list[str]:
    """Revoke a grant and all below it; return the ids that were still alive."""
    load(tx, grant_id)
    alive = [g.id for g in load_all(tx) if g.revoked_at is None and (g.id == grant_id or grant_id in g.lineage)]
    for one in alive:
        tx.run("UPDATE grants SET revoked_at = ? WHERE id = ?", (tx.now, one))
    return alive


def charge(tx: Tx, chain: Sequence[Grant], task: str, attempt: int, uses: Mapping[str, int]) -> None:
    """Write one use row per counter on the acting grant, and add it to every ancestor's subtree sum."""
    for counter, amount in uses.items():
        tx.run(
            "INSERT INTO uses (grant_id, task, attempt, counter, amount) VALUES (?, ?, ?, ?, ?)",
            (chain[0].id, task, attempt, counter, amount),
        )
    for grant in chain:
        spent = dict(grant.spent)
        for counter, amount in uses.items():
            spent[counter] = spent.get(counter, 0) + amount
        tx.run("UPDATE grants SET spent = ? WHERE id = ?", (compact(spent), grant.id))


def _from_row(row: tuple[Any, ...]) -> Grant:
    return Grant(
        id=row[0],
        parent=row[1],
        lineage=_words(row[2]),
        issuer=row[3],
        holder=row[4],
        terms=_terms(row[5], row[6], row[7], row[8], row[10]),
        created_at=row[9],
        revoked_at=row[11],
        spent=stored(row[12]),
    )


# The same text is read in every admission: what it says is kept by the text itself, so it cannot be another row's.
@lru_cache(maxsize=256)
def _terms(effects: str, resources: str, limits: str, acceptance: AcceptanceRule, expires_at: int | None) -> Terms:
    return Terms(_words(effects), _words(resources), stored(limits), acceptance, expires_at)


@lru_cache(maxsize=256)
def _words(text: str) -> tuple[str, ...]:
    return tuple(stored(text))
