"""`countermark grant list | show | new | narrow | revoke`: who may do what, on what, how often, until when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import click

from countermark.kernel import cancel, task
from countermark.kernel import grant as law
from countermark.kernel.errors import CountermarkError
from countermark.kernel.grant import Grant, Terms
from countermark.kernel.ledger import Tx
from countermark.kernel.proof import AcceptanceRule
from countermark.kernel.review import UNPROVEN
from countermark.kernel.workspace import Workspace
from countermark.surfaces.cli import decision, opening, story, terms
from countermark.surfaces.cli.call import Answer, Call, command
from countermark.surfaces.cli.carry import carry
from countermark.surfaces.cli.preset import PRESETS
from countermark.surfaces.cli.terminal import clock_time, columns, count, iso, pairs

_RECORDED: Final = f"recorded as: {UNPROVEN}"
_PRESETS: Final = "\n".join(["Presets:", *(f"  {name:<16}{preset.says}" for name, preset in PRESETS.items())])
_ACCEPTANCE: Final = click.Choice(["checks", "person"])
_HEAD: Final = ("grant", "allows", "on", "limits", "accepted by", "state")


@command(example="grant list")
def list_grants(call: Call) -> Answer:
    """List every grant and what it has left."""
    with call.open() as workspace:
        grants = workspace.ledger.read(law.load_all)
        now = _now(workspace)
    return Answer(
        {"grants": [wire(one, now) for one in grants]}, columns([_row(one, now) for one in grants], head=_HEAD)
    )


@command(example="grant show default")
@click.argument("grant_id", metavar="GRANT")
def show(call: Call, grant_id: str) -> Answer:
    """Show one grant and those it stands under."""
    with call.open() as workspace:
        chain = workspace.ledger.read(lambda tx: law.load_chain(tx, grant_id))
        now = _now(workspace)
    one = chain[0]
    lines = _said(one, now)
    if len(chain) > 1:
        lines += ["", "stands under", *(f"  {line}" for line in columns([_row(above, now) for above in chain[1:]]))]
    return Answer({**wire(one, now), "chain": [wire(above, now) for above in chain[1:]]}, lines)


@command(
    example="grant new --effect vector.write --resource file:kit --limit attempts=3 --expires 2h --parent default",
    dry_run=True,
    notes=_PRESETS,
)
@click.option(
    "--effect", "effects", multiple=True, metavar="WORD", help="What may be done: `vector.write`. Repeatable."
)
@click.option(
    "--resource",
    "resources",
    multiple=True,
    metavar="NAME",
    help="On what: `file:kit`, or `file:` for every file. Repeatable.",
)
@click.option("--limit", "limits", multiple=True, metavar="COUNTER=N", help="At the most: `attempts=3`. Repeatable.")
@click.option("--expires", metavar="TIME", help="Until when: `30min`, `2h`, `7d`, or a date and time.")
@click.option("--acceptance", type=_ACCEPTANCE, help="Who accepts results: the checks alone, or a person.")
@click.option("--parent", metavar="GRANT", help="The grant it stands under, which it can only narrow.")
@click.option("--holder", default="local user", show_default=True, help="Who is to use it.")
@click.option("--preset", type=click.Choice(list(PRESETS)), help="Named terms, see below; other options override them.")
def new(  # noqa: PLR0913 - one for each term
    call: Call,
    *,
    effects: Sequence[str],
    resources: Sequence[str],
    limits: Sequence[str],
    expires: str | None,
    acceptance: AcceptanceRule | None,
    parent: str | None,
    holder: str,
    preset: str | None,
) -> Answer:
    """Make a grant.

    Without --parent it allows what nothing allowed before. Nothing proves who calls this, so it is recorded as made by
    a local user, not authenticated.
    """
    chosen = PRESETS[preset] if preset is not None else None
    if chosen is not None:
        effects = effects or chosen.effects
        resources = resources or chosen.resources
        limits = limits or [f"{counter}={most}" for counter, most in chosen.limits.items()]
        expires = expires or chosen.lasts
        acceptance = acceptance or chosen.acceptance
    if not effects or not resources:
        raise click.UsageError("A grant needs --effect and --resource, or a --preset.", click.get_current_context())
    with call.open() as workspace:
        asked = terms.read(effects, resources, limits, acceptance or "checks", expires, workspace.clock.now_ms())
        return _issue(call, workspace, asked, parent, holder)


@command(example="grant narrow default --resource file:kit --limit attempts=1", dry_run=True)
@click.argument("parent", metavar="GRANT")
@click.option(
    "--effect", "effects", multiple=True, metavar="WORD", help="What may be done; by default what GRANT allows."
)
@click.option("--resource", "resources", multiple=True, metavar="NAME", help="On what; by default where GRANT reaches.")
@click.option("--limit", "limits", multiple=True, metavar="COUNTER=N", help="At the most: `attempts=3`. Repeatable.")
@click.option("--expires", metavar="TIME", help="Until when: `30min`, `2h`, `7d`, or a date and time.")
@click.option("--acceptance", type=_ACCEPTANCE, help="Who accepts results; `person` is the stricter one.")
@click.option("--holder", default="local user", show_default=True, help="Who is to use it.")
def narrow(
    call: Call,
    parent: str,
    *,
    effects: Sequence[str],
    resources: Sequence[str],
    limits: Sequence[str],
    expires: str | None,
    acceptance: AcceptanceRule | None,
    holder: str,
) -> Answer:
    """Make a grant that allows less than another.

    What the other does not allow falls away; what is used is charged to both.
    """
    with call.open() as workspace:
        above = workspace.ledger.read(lambda tx: law.load(tx, parent)).terms
        given = terms.read(effects, resources, limits, acceptance or "checks", expires, workspace.clock.now_ms())
        asked = Terms(
            given.effects or above.effects,
            given.resources or above.resources,
            given.limits,
            given.acceptance,
            given.expires_at,
        )
        return _issue(call, workspace, asked, parent, holder)


@command(example="grant revoke g-abcdefghijklmnop", dry_run=True)
@click.argument("grant_id", metavar="GRANT")
@click.option("--reason", default="grant revoked", show_default=True, help="Why; it goes into the record.")
def revoke(call: Call, grant_id: str, reason: str) -> Answer:
    """Revoke a grant and all below it, and stop their tasks."""
    with call.open(working=True) as workspace:
        ids, members = workspace.ledger.read(lambda tx: _below(tx, grant_id))
        if call.dry_run:
            said = [
                f"Would revoke {', '.join(ids) or 'nothing: it is revoked'}.",
                f"Would stop {count(len(members), 'task')}.",
            ]
            return Answer({"revoked": ids, "tasks": members}, said)
        tasks = carry(workspace, lambda: cancel.cancel_grant(workspace, grant_id, reason))
        lines = [
            f"Revoked: {', '.join(ids) or 'nothing; it was revoked already'}.",
            *decision.stopped(workspace, tasks),
        ]
    return Answer({"revoked": ids, "tasks": [one.id for one in tasks]}, lines)


def _below(tx: Tx, grant_id: str) -> tuple[list[str], list[str]]:
    law.load(tx, grant_id)
    below = [one for one in law.load_all(tx) if one.id == grant_id or grant_id in one.lineage]
    names = {one.id for one in below}
    members = [one.id for one in task.load_open(tx) if one.grant in names]
    return [one.id for one in below if one.revoked_at is None], members


def _issue(call: Call, workspace: Workspace, asked: Terms, parent: str | None, holder: str) -> Answer:
    fresh = workspace.ids.new("g")
    wanted = Grant(fresh, parent, (), UNPROVEN, terms.name(holder), asked, _now(workspace))
    made = workspace.ledger.read(lambda tx: _would_be(tx, wanted))
    if not call.dry_run:
        made = workspace.ledger.apply(lambda tx: _make(tx, wanted))
    fallen = {
        "effects": [word for word in asked.effects if word not in made.terms.effects],
        "resources": [name for name in asked.resources if name not in made.terms.resources],
    }
    now = _now(workspace)
    lines = _said(made, now)
    left = [*fallen["effects"], *fallen["resources"]]
    if left:
        lines.append(f"not as asked: {', '.join(left)}; grant {parent} does not allow that much")
    if strange := _strange(asked.effects):
        known = ", ".join(sorted(_known_effects()))
        lines.append(f"note: no domain that is installed here knows {', '.join(strange)}; they know {known}")
    said = "Nothing was made: a dry run." if call.dry_run else _RECORDED
    return Answer({**wire(made, now), "by": UNPROVEN, "fallenAway": fallen}, [*lines, said])


def _known_effects() -> set[str]:
    return {word for adapter in opening.installed() for word in adapter.effects()}


def _strange(effects: Sequence[str]) -> list[str]:
    """Return the effects that nothing installed here has: misspelt, or of a domain that comes later."""
    return [entry for entry in effects if not any(law.covers(entry, word) for word in _known_effects())]


def _would_be(tx: Tx, wanted: Grant) -> Grant:
    """Return what would be issued; raise where a parent is over, or where nothing would be left."""
    chain = law.load_chain(tx, wanted.parent) if wanted.parent is not None else []
    left = wanted.terms
    for above in chain:
        left = law.meet(left, above.terms)
    if not left.effects or not left.resources:
        raise CountermarkError(
            "permission_denied",
            f"Nothing would be left: grant {wanted.parent} allows none of it.",
            next_action=f"See what it allows: `countermark grant show {wanted.parent}`.",
            details={"grant": str(wanted.parent), "asked": [*wanted.terms.effects, *wanted.terms.resources]},
        )
    law.permit(chain, left.effects[0], (), {}, wanted.created_at)
    return replace(wanted, terms=left, lineage=tuple(one.id for one in reversed(chain)))


def _make(tx: Tx, wanted: Grant) -> Grant:
    made = law.issue(tx, wanted)
    body = {
        "grant": made.id,
        "parent": made.parent,
        "effects": list(made.terms.effects),
        "resources": list(made.terms.resources),
        "by": UNPROVEN,
    }
    tx.event("", "granted", body)
    return made


def wire(one: Grant, now: int) -> dict[str, Any]:
    """Return a grant for `--json`: its wire form, with what changes later."""
    return {
        **one.wire(),
        "created": iso(one.created_at),
        "expires": iso(one.terms.expires_at),
        "revoked": iso(one.revoked_at),
        "spent": dict(one.spent),
        "state": _state(one, now),
        "digest": one.digest(),
    }


def _state(one: Grant, now: int) -> str:
    if one.revoked_at is not None:
        return "revoked"
    if one.terms.expires_at is not None and now >= one.terms.expires_at:
        return "expired"
    return "valid"


def _now(workspace: Workspace) -> int:
    """Return the ledger's time: the clock's, but never before the last event, so a clock set back revives nothing."""
    last = workspace.ledger.read(lambda tx: tx.one("SELECT COALESCE(MAX(at), 0) FROM events"))
    return max(workspace.clock.now_ms(), int(last[0]) if last else 0)


def _row(one: Grant, now: int) -> tuple[str, ...]:
    state = _state(one, now)
    if state == "valid" and one.terms.expires_at is not None:
        state = f"until {clock_time(one.terms.expires_at)}"
    return (
        one.id,
        _words(one.terms.effects),
        story.reach(one.terms.resources),
        _limits(one) or "none",
        one.terms.acceptance,
        state,
    )


def _said(one: Grant, now: int) -> list[str]:
    return pairs(
        ("grant", one.id),
        ("allows", _words(one.terms.effects)),
        ("on", story.reach(one.terms.resources)),
        ("limits", _limits(one) or "none"),
        ("accepted by", one.terms.acceptance),
        ("parent", one.parent or ""),
        ("holder", one.holder),
        ("issuer", one.issuer),
        ("expires", clock_time(one.terms.expires_at) if one.terms.expires_at is not None else "never"),
        ("state", _state(one, now)),
    )


def _words(words: Sequence[str]) -> str:
    return ", ".join(word or "everything" for word in words)


def _limits(one: Grant) -> str:
    return ", ".join(f"{c} {one.spent.get(c, 0)} of {most} used" for c, most in sorted(one.terms.limits.items()))
