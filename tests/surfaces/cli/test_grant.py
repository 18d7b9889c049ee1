"""Grants on the command line: what is made, what falls away, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from countermark.kernel.clock import SystemClock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.review import UNPROVEN
from countermark.kernel.workspace import Workspace
from countermark.surfaces.cli.preset import PRESETS

from .conftest import Desk


def made(desk: Desk, *arguments: str) -> dict[str, Any]:
    return desk.json("grant", *arguments).data


def test_the_default_grant_is_listed_with_what_it_allows(desk: Desk) -> None:
    out = desk("grant", "list").out
    assert out.splitlines()[0].split() == ["grant", "allows", "on", "limits", "accepted", "by", "state"]
    assert "default   vector.write, scene.write  every file, every scene" in out


def test_a_grant_is_made_as_it_was_typed(desk: Desk) -> None:
    one = made(
        desk,
        "new",
        *("--effect", "vector.write", "--resource", "file:kit", "--limit", "attempts=3", "--limit", "bytes=10"),
        *("--expires", "2h", "--acceptance", "person", "--holder", "studio agent"),
    )
    assert (one["effects"], one["resources"], one["limits"]) == (
        ["vector.write"],
        ["file:kit"],
        {"attempts": 3, "bytes": 10},
    )
    assert (one["acceptance"], one["holder"], one["parent"], one["state"]) == ("person", "studio agent", None, "valid")
    listed = desk.json("grant", "show", one["id"]).data
    assert 7_100_000 < listed["expiresAt"] - SystemClock().now_ms() <= 7_200_000


@pytest.mark.promise("cli.accept.not-authenticated")
def test_widening_is_recorded_as_a_local_users_not_authenticated_and_says_so(desk: Desk) -> None:
    said = desk("grant", "new", "--effect", "skill.eval", "--resource", "session:a")
    assert f"recorded as: {UNPROVEN}" in said.out
    event = desk.json("ledger", "events").data["events"][-1]
    assert (event["kind"], event["body"]["by"], event["body"]["parent"]) == ("granted", UNPROVEN, None)
    assert desk.json("grant", "show", event["body"]["grant"]).data["issuer"] == UNPROVEN


def test_a_word_that_no_domain_here_knows_is_pointed_out_and_one_that_is_known_is_not(desk: Desk) -> None:
    said = desk("grant", "new", "--effect", "vector.writ", "--effect", "scene.write", "--resource", "file:a")
    assert "note: no domain that is installed here knows vector.writ; they know scene.write, vector.write" in said.out
    assert "note:" not in desk("grant", "new", "--effect", "vector", "--resource", "file:a").out


def test_under_a_parent_what_it_does_not_allow_falls_away_and_is_named(desk: Desk) -> None:
    arguments = ("--effect", "vector.write", "--effect", "git.push", "--resource", "file:kit", "--parent", "default")
    one = made(desk, "new", *arguments)
    assert (one["effects"], one["fallenAway"]["effects"]) == (["vector.write"], ["git.push"])
    assert "not as asked: git.push; grant default does not allow that much" in desk("grant", "new", *arguments).out


def test_narrowing_keeps_what_is_not_named_and_shows_its_chain(desk: Desk) -> None:
    one = made(desk, "narrow", "default", "--resource", "file:kit", "--limit", "attempts=1")
    assert (one["effects"], one["resources"]) == (["scene.write", "vector.write"], ["file:kit"])
    inner = made(desk, "narrow", one["id"], "--effect", "vector.write", "--limit", "attempts=9")
    assert inner["limits"] == {"attempts": 1}
    chain = desk.json("grant", "show", inner["id"]).data["chain"]
    assert [above["id"] for above in chain] == [one["id"], "default"]


def test_narrowing_cannot_loosen_who_accepts(desk: Desk) -> None:
    assert made(desk, "narrow", "reviewed", "--acceptance", "checks")["acceptance"] == "person"


@pytest.mark.promise("cli.grant.narrower-only")
def test_a_grant_that_would_allow_nothing_is_refused(desk: Desk) -> None:
    said = desk("grant", "narrow", "default", "--effect", "git.push", "--json")
    assert (said.status, said.error["code"]) == (4, "permission_denied")
    assert len(desk.json("grant", "list").data["grants"]) == 3


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_makes_a_grant_and_stands_in_the_help(desk: Desk, name: str) -> None:
    one = made(desk, "new", "--preset", name)
    assert one["effects"] == list(PRESETS[name].effects)
    assert (one["limits"], one["acceptance"]) == (dict(PRESETS[name].limits), PRESETS[name].acceptance)
    shown = " ".join(desk("grant", "new", "--help").out.split())
    assert f"{name} {PRESETS[name].says}" in shown


def test_a_preset_yields_to_what_is_spelled_out(desk: Desk) -> None:
    one = made(desk, "new", "--preset", "brand-once", "--limit", "attempts=5", "--resource", "file:kit")
    assert (one["limits"], one["resources"], one["effects"]) == ({"attempts": 5}, ["file:kit"], ["vector.write"])


@pytest.mark.parametrize(
    "wrong",
    [
        ("--effect", "Vector.Write"),
        ("--effect", ""),
        ("--resource", "kit"),
        ("--resource", "file:a b"),
        ("--limit", "attempts"),
        ("--limit", "attempts=-1"),
        ("--limit", "attempt=3"),
        ("--expires", "tomorrow"),
        ("--expires", "2001-01-01"),
        ("--expires", "9999999d"),
        ("--holder", "a\nb"),
    ],
    ids=" ".join,
)
def test_terms_that_are_none_are_refused_before_anything_is_written(desk: Desk, wrong: tuple[str, str]) -> None:
    before = desk.json("ledger", "events").data
    arguments = ["--effect", "vector.write", "--resource", "file:", *wrong]
    said = desk("grant", "new", *arguments, "--json")
    assert (said.status, said.error["code"]) == (2, "input_invalid")
    assert desk.json("ledger", "events").data == before


def test_revoking_ends_all_below_it_and_stops_their_tasks(desk: Desk) -> None:
    below = made(desk, "narrow", "reviewed")["id"]
    task = desk.perform(grant=below).task
    dry = desk.json("grant", "revoke", "reviewed", "--dry-run").data
    assert (dry["revoked"], dry["tasks"], dry["dry_run"]) == (["reviewed", below], [task], True)
    said = desk("grant", "revoke", "reviewed")
    assert f"Task {task} is cancelled; its effect was not executed." in said.out
    assert desk.json("grant", "show", below).data["state"] == "revoked"
    for arguments in (("narrow", below), ("new", "--effect", "test", "--resource", "file:", "--parent", "reviewed")):
        refused = desk("grant", *arguments, "--json")
        assert (refused.status, refused.error["code"]) == (4, "grant_revoked")
    with pytest.raises(CountermarkError, match="grant_revoked"):
        desk.perform("file:other.txt", grant=below)


def test_an_expired_grant_gives_no_child_and_a_clock_set_back_does_not_revive_it(desk: Desk) -> None:
    one = made(desk, "narrow", "test", "--expires", "2h")["id"]

    class Ahead(SystemClock):
        def now_ms(self) -> int:
            return super().now_ms() + 3 * 3_600_000

    with Workspace(desk.space_path, clock=Ahead()) as space:
        space.ledger.apply(lambda tx: tx.event("", "granted", {"grant": "x", "effects": [], "resources": []}))
    # The clock is back at today; the ledger is three hours ahead and keeps its time.
    assert desk.json("grant", "show", one).data["state"] == "expired"
    said = desk("grant", "narrow", one, "--json")
    assert (said.status, said.error["code"]) == (4, "grant_expired")
    with pytest.raises(CountermarkError, match="grant_expired"):
        desk.perform(grant=one)


@pytest.mark.parametrize("arguments", [("show", "g-x"), ("narrow", "g-x"), ("revoke", "g-x")], ids=lambda a: a[0])
def test_an_unknown_grant_is_refused(desk: Desk, arguments: tuple[str, str]) -> None:
    said = desk("grant", *arguments, "--json")
    assert (said.status, said.error["code"]) == (4, "grant_unknown")


def test_a_dry_run_shows_what_would_be_made_and_makes_nothing(desk: Desk) -> None:
    before = desk.json("ledger", "events").data
    one = made(desk, "narrow", "default", "--effect", "vector.write", "--dry-run")
    assert (one["effects"], one["dry_run"]) == (["vector.write"], True)
    assert desk.json("ledger", "events").data == before
    assert desk("grant", "show", one["id"]).status == 4
