"""The person's library in the folder: sound items only, never over a change that its writer has not seen."""

from __future__ import annotations

import errno
import json
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.kernel.kept import KeptRoot
from countermark.kernel.ledger import Tx
from countermark.kernel.workspace import Workspace
from countermark.scene import kept_library
from countermark.scene.adapter import SceneAdapter
from countermark.scene.governed import Governed
from countermark.scene.limits import Limits
from countermark.scene.store import Store
from countermark.testkit.disk import FaultyCalls

from .shop import StoppedClock, box, contents, refused


def item(key: str, *elements: dict[str, Any], **more: Any) -> dict[str, Any]:
    drawn = elements or (box(f"{key}-box", width=10, height=10),)
    return {"id": key, "status": "unpublished", "elements": list(drawn), "created": 1_700_000_000_000, **more}


@pytest.fixture(name="store")
def make_store(tmp_path: Path) -> Store:
    return Store(tmp_path, clock=StoppedClock())


@pytest.mark.promise("scene.library.fence")
def test_a_library_is_written_read_and_replaced_and_the_one_before_is_kept(store: Store, tmp_path: Path) -> None:
    assert (store.library().revision, store.library().items) == ("absent", ())
    first = store.put_library([item("a", name="Server", ours=1.5)], "absent")
    data = (tmp_path / kept_library.FILE).read_bytes()
    assert (first.revision, first.byte_length, first.item_count) == (sha256(data).hexdigest(), len(data), 1)
    assert json.loads(data)["type"] == "excalidrawlib"
    second = store.put_library([item("a"), item("b")], first.revision)
    assert (second.previous_revision, [one["id"] for one in store.library().items]) == (first.revision, ["a", "b"])
    assert (tmp_path / kept_library.BEFORE).read_bytes() == data
    assert {(tmp_path / file).stat().st_nlink for file in (kept_library.FILE, kept_library.BEFORE)} == {1}
    assert store.list() == []


@pytest.mark.promise("scene.library.fence")
def test_a_stale_writer_is_refused_and_the_same_items_again_are_a_duplicate(store: Store, tmp_path: Path) -> None:
    first = store.put_library([item("a")], "absent")
    second = store.put_library([item("b")], first.revision)
    before = contents(tmp_path)
    error = refused(lambda: store.put_library([item("c")], first.revision))
    assert (error.code, error.details["currentRevision"]) == ("revision_conflict", second.revision)
    assert store.put_library([item("b")], first.revision).duplicate
    assert refused(lambda: store.put_library([item("c")], "absent")).code == "revision_conflict"
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("items", "code", "pointer"),
    [
        ({}, "invalid_scene", "/libraryItems"),
        ([5], "invalid_scene", "/libraryItems/0"),
        ([item("a") | {"id": 5}], "invalid_scene", "/libraryItems/0/id"),
        ([item("a"), item("a")], "duplicate_id", "/libraryItems/1/id"),
        ([item("a", status="x")], "invalid_scene", "/libraryItems/0/status"),
        ([item("a", status=[])], "invalid_scene", "/libraryItems/0/status"),
        ([item("a", created="now")], "invalid_scene", "/libraryItems/0/created"),
        ([item("a", name="x" * 201)], "invalid_scene", "/libraryItems/0/name"),
        ([item("a") | {"elements": []}], "invalid_scene", "/libraryItems/0/elements"),
        ([item("a", box("b", x="1"))], "invalid_scene", "/libraryItems/0/elements/0/x"),
        ([item("a", box("b", type="image"))], "unsupported_element", "/libraryItems/0/elements/0/type"),
        ([item("a", box("b", type="iframe"))], "unsupported_element", "/libraryItems/0/elements/0/type"),
        ([item("a", box("b", type=[]))], "unsupported_element", "/libraryItems/0/elements/0/type"),
        ([item("a", box("b", link="javascript:alert(1)"))], "invalid_scene", "/libraryItems/0/elements/0/link"),
        ([item(str(n)) for n in range(2001)], "too_large", "/libraryItems"),
        ([item("a", box("b", customData={"__proto__": 1}))], "invalid_scene", None),
        ([item("a", box("b", x=float("nan")))], "invalid_scene", "/libraryItems/0/elements/0/x"),
    ],
)
def test_unsound_items_are_refused_with_their_place_and_nothing_is_written(
    store: Store, tmp_path: Path, items: Any, code: str, pointer: str | None
) -> None:
    error = refused(lambda: store.put_library(items, "absent"))
    assert (error.code, pointer in (None, error.details["pointer"])) == (code, True)
    assert not (tmp_path / kept_library.FILE).exists()


@pytest.mark.parametrize("revision", [None, 1, True, "", "Absent", "a" * 63, "g" * 64, ["absent"]])
def test_what_is_no_revision_is_refused(store: Store, revision: Any) -> None:
    assert refused(lambda: store.put_library([], revision)).code == "invalid_operation"


def test_a_library_beyond_the_bounds_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path, Limits(max_scene_bytes=900, max_elements=3), clock=StoppedClock()) as store:
        assert (
            refused(lambda: store.put_library([item(str(n)) for n in range(4)], "absent")).code == "too_many_elements"
        )
        big = item("a", name="x" * 200, note="y" * 600)
        assert refused(lambda: store.put_library([big], "absent")).code == "too_large"
        store.put_library([], "absent")
        (tmp_path / kept_library.FILE).write_bytes(b" " * 901)
        assert refused(store.library).code == "too_large"


def test_a_damaged_library_is_named_left_alone_and_can_be_written_over(store: Store, tmp_path: Path) -> None:
    store.put_library([item("a")], "absent")
    for damaged in (b"{", b"[]", b'{"type": "excalidraw"}', b'{"type": "excalidrawlib", "libraryItems": [1]}'):
        (tmp_path / kept_library.FILE).write_bytes(damaged)
        error = refused(store.library)
        assert (error.code, error.details["currentRevision"]) == ("corrupt_scene", sha256(damaged).hexdigest())
    store.put_library([item("b")], sha256(damaged).hexdigest())
    assert (tmp_path / kept_library.BEFORE).read_bytes() == damaged


def test_a_write_that_fails_at_any_call_leaves_the_library_before_or_after(tmp_path: Path) -> None:
    for at in range(1, 60):
        folder = tmp_path / str(at)
        folder.mkdir()
        with Store(folder) as store:
            first = store.put_library([item("a")], "absent")
        calls = FaultyCalls(number=errno.ENOSPC, at=at)
        with Store(KeptRoot(folder, calls=calls)) as store, suppress(CountermarkError):
            store.put_library([item("b")], first.revision)
        with Store(folder) as store:
            assert [one["id"] for one in store.library().items] in (["a"], ["b"])
            assert store.put_library([item("b")], store.library().revision).item_count == 1
        one, other = (folder / file for file in (kept_library.FILE, kept_library.BEFORE))
        assert not other.exists() or one.stat().st_ino != other.stat().st_ino
        if len(calls.made) < at:
            return
    pytest.fail("the act never came to its end")


def test_the_ledger_hears_of_a_library_and_a_narrow_grant_does_not_reach_it(tmp_path: Path) -> None:
    with Workspace.create(tmp_path, adapters=[SceneAdapter()]) as workspace:
        page = Governed(workspace, actor="ui", person=True)
        done = page.put_library([item("a")], "absent")
        assert not done.unledgered

        def rows(tx: Tx) -> list[Any]:
            return tx.all("SELECT key, plan FROM tasks WHERE kind = 'journalled'", ())

        [(key, plan)] = workspace.ledger.read(rows)
        assert key.startswith(f"scene/library/absent/{done.revision[:16]}")
        assert json.loads(plan)["resources"] == ["scene::library"]
        agent = Governed(workspace, actor="agent", grant="nobody")
        assert refused(lambda: agent.put_library([item("b")], done.revision)).code in ("permission_denied", "not_found")
        page.store.close()
