"""The two books: the store is the truth, the ledger hears of it, and no crash or lock loses or doubles a save."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from countermark.kernel import backup, grant, journal, receipt
from countermark.kernel.errors import CountermarkError
from countermark.kernel.ledger import Tx
from countermark.kernel.recovery import Executed
from countermark.kernel.workspace import Workspace
from countermark.scene import document, governed
from countermark.scene.adapter import NAME, READ_BACK, SceneAdapter
from countermark.scene.governed import Governed
from countermark.scene.row import PAGE_GRANT

from .shop import KEPT, adding, drawn, refused

LEDGER = ".countermark/ledger.sqlite"


@pytest.fixture(name="space")
def make_space(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.create(tmp_path / "space", adapters=[SceneAdapter()]) as made:
        yield made


def agent(space: Workspace, **more: Any) -> Governed:
    return Governed(space, actor="agent", **more)


def page(space: Workspace) -> Governed:
    return Governed(space, actor="ui", person=True)


def rows(space: Workspace) -> list[tuple[Any, ...]]:
    return space.ledger.read(lambda tx: tx.all("SELECT id, key, grant_id, expected FROM tasks ORDER BY rowid"))


def late(space: Workspace) -> list[bool]:
    said = [receipt.parse(space.receipts.render(str(row[0]))).facts.ledger for row in rows(space)]
    return [bool(one.entered_late) for one in said]


def issue(space: Workspace, name: str, **terms: Any) -> str:
    whole = grant.Terms(**{"effects": ("scene.write",), "resources": ("scene:",), **terms})
    made = grant.Grant(name, None, (), "test", "test", whole, 0)
    space.ledger.apply(lambda tx: grant.issue(tx, made))
    return name


def deaf(monkeypatch: pytest.MonkeyPatch, code: str = "ledger_busy") -> Callable[[], None]:
    """Let the ledger hear nothing, as while another process holds it or it is broken; return how to end that."""

    def refuse(*_: object, **__: object) -> str:
        raise CountermarkError(code, "The ledger does not answer.", next_action="Wait.")

    monkeypatch.setattr(journal, "enter", refuse)
    monkeypatch.setattr(journal, "permit", refuse)
    return monkeypatch.undo


def test_a_save_is_one_row_with_a_receipt_that_names_both_revisions(space: Workspace) -> None:
    way = agent(space)
    made = way.create("plan", drawn("a"), request_id="one")
    done = way.save("plan", adding("b"), expected_revision=1, request_id="two")
    assert (made.unledgered, done.unledgered) == (False, False)
    first, second = rows(space)
    assert [first[1], second[1]] == [f"scene/{done.uid}/request/one", f"scene/{done.uid}/request/two"]
    facts = receipt.parse(space.receipts.render(str(second[0])))
    [resource] = facts.facts.resources
    assert (resource.revision_before, resource.revision_after) == ("1", "2")
    [subject] = facts.subjects
    assert (subject.name, subject.digest) == ("plan.excalidraw", done.sha256)
    [verdict] = facts.facts.verdicts
    assert verdict.check == READ_BACK
    assert verdict.maker.digest != verdict.observer.digest
    assert backup.check(space) == []


def test_a_repeated_request_is_one_row(space: Workspace) -> None:
    way = agent(space)
    way.create("plan", drawn("a"))
    for _ in range(2):
        way.save("plan", adding("b"), expected_revision=1, request_id="r")
    assert len(rows(space)) == 2
    assert space.ledger.read(lambda tx: grant.load(tx, "default")).spent["attempts"] == 2


@pytest.mark.parametrize(
    "terms",
    [{"effects": ("vector.write",)}, {"resources": ("scene:other",)}, {"limits": {"attempts": 0}}, {"expires_at": 1}],
)
def test_what_the_grant_does_not_allow_is_not_written(space: Workspace, terms: dict[str, Any]) -> None:
    agent(space).create("plan", drawn("a"))
    narrow = agent(space, grant=issue(space, "narrow", **terms))
    error = refused(lambda: narrow.save("plan", adding("b"), expected_revision=1))
    assert (error.code, error.status) == ("permission_denied", 403)
    assert space.path.joinpath("plan.excalidraw").read_bytes() == document.dump(drawn("a"))


def test_a_rename_needs_both_names(space: Workspace) -> None:
    agent(space).create("plan", drawn("a"))
    narrow = agent(space, grant=issue(space, "narrow", resources=("scene:plan",)))
    assert refused(lambda: narrow.rename("plan", "map")).code == "permission_denied"
    assert agent(space).rename("plan", "map").revision == 2
    assert narrow.store.read("map").revision == 2


def test_only_the_page_may_force(space: Workspace) -> None:
    agent(space).create("plan", drawn("a"))
    error = refused(lambda: agent(space).save("plan", adding("b"), expected_revision=9, force=True))
    assert error.code == "permission_denied"
    assert page(space).save("plan", adding("b"), expected_revision=9, force=True).revision == 2


def test_the_page_s_grant_has_no_end_and_no_budget(space: Workspace) -> None:
    way = page(space)
    way.create("plan", drawn("a"))
    for count in range(1, 5):
        way.save("plan", adding(f"e{count}"), expected_revision=count)
    way.wait()
    own = space.ledger.read(lambda tx: grant.load(tx, PAGE_GRANT))
    assert (own.terms.limits, own.terms.expires_at, own.terms.effects) == ({}, None, ("scene.write",))
    assert {row[2] for row in rows(space)} == {PAGE_GRANT}


@pytest.mark.promise("scene.ledger.never-stops-a-person")
@pytest.mark.parametrize("code", ["ledger_busy", "ledger_broken", "budget_exhausted"])
def test_no_trouble_of_the_ledger_stops_a_person(space: Workspace, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    page(space).create("plan", drawn("a"))
    hear = deaf(monkeypatch, code)
    done = page(space).save("plan", adding("b"), expected_revision=1, request_id="r")
    assert (done.revision, done.unledgered, done.wire()["unledgered"]) == (2, True, True)
    hear()
    assert len(rows(space)) == 1
    said = page(space).settle()
    assert said.entered == (f"scene/{done.uid}/request/r",)
    assert late(space) == [False, True]
    assert page(space).settle().entered == ()


@pytest.mark.parametrize("code", ["ledger_busy", "ledger_broken"])
def test_trouble_of_the_ledger_stops_an_agent_before_anything_is_written(
    space: Workspace, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    agent(space).create("plan", drawn("a"))
    hear = deaf(monkeypatch, code)
    error = refused(lambda: agent(space).save("plan", adding("b"), expected_revision=1))
    assert (error.code, error.status, error.details["reason"]) == ("scene_busy", 423, "ledger")
    hear()
    assert agent(space).store.read("plan").revision == 1


def test_a_ledger_that_another_process_holds_stops_an_agent_before_anything_is_written(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent(space).create("plan", drawn("a"))
    monkeypatch.setattr("countermark.kernel.ledger.SECONDS", 0.05)
    program = (
        "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX); print('held', flush=True); input()"
    )
    argv = [sys.executable, "-c", program, str(space.path / ".countermark/locks/ledger.lock")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        error = refused(lambda: agent(space).save("plan", adding("b"), expected_revision=1))
        holder.communicate("\n")
    assert (error.code, error.status, error.details["reason"]) == ("scene_busy", 423, "ledger")
    assert agent(space).store.read("plan").revision == 1
    assert agent(space).save("plan", adding("b"), expected_revision=1).revision == 2


def test_a_ledger_that_somebody_holds_is_told_in_the_background(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    page(space).create("plan", drawn("a"))
    monkeypatch.setattr(governed, "WAIT_SECONDS", 0.05)
    free, held = threading.Event(), threading.Event()

    def hold(_: Tx) -> None:
        held.set()
        free.wait(30)

    holder = threading.Thread(target=space.ledger.apply, args=(hold,))
    holder.start()
    held.wait(30)
    done = page(space).save("plan", adding("b"), expected_revision=1, request_id="r")
    assert done.unledgered
    free.set()
    holder.join()
    monkeypatch.setattr(governed, "WAIT_SECONDS", 30.0)
    page(space).wait()
    assert [row[1].rpartition("/")[2] for row in rows(space)] == ["1", "r"]
    assert late(space) == [False, False]


class Stop(BaseException):
    """The process dies here."""


def crash_at(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    def die(*_: object, **__: object) -> None:
        raise Stop

    if place == "before the rename":
        monkeypatch.setattr("countermark.kernel.files.OsCalls.rename", die)
    elif place == "after the sidecar, before the ledger":
        monkeypatch.setattr(journal, "enter", die)


def test_a_crash_before_the_rename_left_nothing_anywhere(space: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    agent(space).create("plan", drawn("a"))
    crash_at(monkeypatch, "before the rename")
    with pytest.raises(Stop):
        agent(space).save("plan", adding("b"), expected_revision=1, request_id="r")
    monkeypatch.undo()
    assert agent(space).settle().entered == ()
    done = agent(space).save("plan", adding("b"), expected_revision=1, request_id="r")
    assert (done.duplicate, done.revision, len(rows(space))) == (False, 2, 2)


def test_a_crash_before_the_sidecar_is_found_by_the_intent(space: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    agent(space).create("plan", drawn("a"))
    sidecar = space.path / KEPT / "plan.meta.json"
    before = sidecar.read_bytes()
    crash_at(monkeypatch, "after the sidecar, before the ledger")
    with pytest.raises(Stop):
        agent(space).save("plan", adding("b"), expected_revision=1, request_id="r")
    monkeypatch.undo()
    sidecar.write_bytes(before)
    again = agent(space).save("plan", adding("b"), expected_revision=1, request_id="r")
    assert (again.duplicate, again.revision) == (True, 2)
    assert late(space) == [False, True]


def test_a_crash_before_the_ledger_is_entered_late(space: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    agent(space).create("plan", drawn("a"))
    crash_at(monkeypatch, "after the sidecar, before the ledger")
    with pytest.raises(Stop):
        agent(space).save("plan", adding("b"), expected_revision=1)
    monkeypatch.undo()
    [key] = agent(space).settle().entered
    assert key.endswith("/revision/2")
    assert late(space) == [False, True]
    agent(space).save("plan", adding("c"), expected_revision=2)
    assert agent(space).settle().entered == ()
    assert len(rows(space)) == 3


def test_a_crash_after_a_scene_was_put_into_the_trash_is_entered_late(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent(space).create("plan", drawn("a"))
    crash_at(monkeypatch, "after the sidecar, before the ledger")
    with pytest.raises(Stop):
        agent(space).trash("plan", request_id="bin")
    monkeypatch.undo()
    [key] = agent(space).settle().entered
    assert "/trash/" in key
    assert agent(space).settle().entered == ()


def test_a_ledger_that_was_put_back_older_hears_what_it_missed(tmp_path: Path) -> None:
    with Workspace.create(tmp_path / "s", adapters=[SceneAdapter()]) as space:
        agent(space).create("plan", drawn("a"))
        space.ledger.copy_to(tmp_path / "older")
        agent(space).save("plan", adding("b"), expected_revision=1, request_id="r")
        gone = agent(space, grant=issue(space, "later"))
        gone.save("plan", adding("c"), expected_revision=2, request_id="q")
        page(space).save("plan", adding("d"), expected_revision=3, request_id="p")
        page(space).wait()
    for extra in ("-wal", "-shm"):
        (tmp_path / "s" / f"{LEDGER}{extra}").unlink(missing_ok=True)
    shutil.copy(tmp_path / "older", tmp_path / "s" / LEDGER)
    with Workspace(tmp_path / "s", adapters=[SceneAdapter()]) as space:
        said = agent(space).settle()
        assert [key.rpartition("/")[2] for key in said.entered] == ["r", "p"]
        [(key, code)] = said.left  # its grant is not known any more, and no other is charged for it
        assert (key.rpartition("/")[2], code) == ("q", "grant_unknown")
        assert late(space) == [False, True, True]
        assert agent(space).save("plan", adding("x"), expected_revision=1, request_id="r").duplicate


def test_a_file_that_git_changed_is_nobody_s_effect(space: Workspace) -> None:
    agent(space).create("plan", drawn("a"))
    (space.path / "plan.excalidraw").write_bytes(document.dump(drawn("git")))
    assert agent(space).store.read("plan").revision == 2
    agent(space).save("plan", adding("b"), expected_revision=2)
    assert agent(space).settle().entered == ()
    assert [row[3] for row in rows(space)] == ['{"scene:plan":"absent"}', '{"scene:plan":"2"}']


def test_the_adapter_says_what_is_there_and_submits_nothing(space: Workspace) -> None:
    done = agent(space).create("plan", drawn("a"))
    adapter = space.adapter(NAME)
    assert isinstance(adapter, SceneAdapter)
    assert adapter.observe("scene:plan") == "1"
    [word] = adapter.effects()
    assert (word, adapter.effects()[word].required) == ("scene.write", (READ_BACK,))
    assert adapter.capabilities().digest
    intent = Any  # the kernel never submits a journalled effect
    assert adapter.submit(intent, Any).executed is Executed.NO  # type: ignore[arg-type]
    for wanted, executed in (
        ({"uid": done.uid, "revision": 1, "sha256": done.sha256}, Executed.YES),
        ({"uid": done.uid, "revision": 2, "sha256": done.sha256}, Executed.NO),
        ({"uid": "another", "revision": 1, "sha256": done.sha256}, Executed.NO),
    ):
        assert adapter.reconcile(planned(wanted), Any).executed is executed  # type: ignore[arg-type]


def planned(payload: dict[str, Any]) -> Any:
    return SimpleNamespace(plan=SimpleNamespace(payload=payload, resources=("scene:plan",)))
