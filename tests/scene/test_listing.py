"""The listing: every file has a row, what cannot be opened has a reason, and nothing is written."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from countermark.scene import document
from countermark.scene.codes import SceneError
from countermark.scene.document import Scene
from countermark.scene.limits import Limits
from countermark.scene.store import Store

from .shop import KEPT, add, contents, drawn, make, refused


@pytest.fixture(name="store")
def make_store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def reasons(store: Store) -> dict[str, str]:
    return {row.name: row.reason for row in store.list() if not row.valid}


def test_a_row_has_the_seed_s_fields(store: Store) -> None:
    done = make(store, "plan", "a")
    [row] = store.list()
    assert row.wire() == {
        "name": "plan", "revision": 1, "elementCount": 1, "byteLength": done.byte_length, "updatedAt": done.saved_at,
        "updatedBy": "agent", "sha256": done.sha256, "valid": True,
    }  # fmt: skip


def test_what_is_no_scene_is_a_row_with_its_reason(store: Store, tmp_path: Path) -> None:
    good = document.dump(drawn("a"))
    make(store, "plan")
    (tmp_path / "Plan.excalidraw").write_bytes(good)
    (tmp_path / "Other.excalidraw").write_bytes(good)
    (tmp_path / "con.excalidraw").write_bytes(good)
    (tmp_path / "a..b.excalidraw").write_bytes(good)
    (tmp_path / "copy (1).excalidraw").write_bytes(good)
    (tmp_path / "broken.excalidraw").write_text("{")
    (tmp_path / "skeleton.excalidraw").write_text('{"type":"excalidraw-skeleton"}')
    (tmp_path / "link.excalidraw").symlink_to("plan.excalidraw")
    (tmp_path / "folder.excalidraw").mkdir()
    os.mkfifo(tmp_path / "pipe.excalidraw")
    (tmp_path / "notes.txt").write_text("x")
    before = contents(tmp_path)
    assert reasons(store) == {
        "Plan": "case-collision", "Other": "alphabet", "con": "device-name", "a..b": "dots",
        "copy (1)": "alphabet", "broken": "not-json", "skeleton": "excalidraw-skeleton", "link": "symlink",
        "folder": "folder", "pipe": "special-file",
    }  # fmt: skip
    assert contents(tmp_path) == before
    for name in ("link", "folder", "pipe"):
        assert refused(partial(store.read, name)).code == "permission_denied"
        assert refused(partial(add, store, 0, "x", name=name)).code == "permission_denied"
        assert refused(partial(make, store, name)).code == "already_exists"


def test_a_file_that_is_too_large_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "plan.excalidraw").write_bytes(document.dump(drawn("a", "b")))
    with Store(tmp_path, Limits(max_scene_bytes=100)) as store:
        assert reasons(store) == {"plan": "too-large"}
        assert refused(lambda: store.read("plan")).code == "too_large"
    with Store(tmp_path, Limits(max_elements=1)) as store:
        assert reasons(store) == {"plan": "too_many_elements"}


def test_a_file_with_two_names_is_shown_with_a_warning_and_its_backup_is_a_copy(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a")
    (tmp_path / "alias").hardlink_to(tmp_path / "plan.excalidraw")
    old = (tmp_path / "alias").read_bytes()
    assert "hard links" in store.list()[0].warning
    add(store, 1, "b")
    (tmp_path / "alias").write_text("written through the other name")
    assert store.version("plan", 1) == old
    assert store.list()[0].warning == ""


def test_what_stands_beside_scenes_must_not_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / KEPT).symlink_to(tmp_path / "elsewhere")
    with Store(tmp_path / "d") as store:
        assert refused(lambda: make(store)).code == "permission_denied"
        assert refused(store.list).code == "permission_denied"
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert list((tmp_path / "d").glob("*.excalidraw")) == []


def test_a_file_where_the_folder_beside_scenes_stands_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.excalidraw").write_bytes(document.dump(drawn("a")))
    (tmp_path / KEPT).write_text("x")
    with Store(tmp_path) as store:
        for act in (store.list, lambda: store.read("plan"), lambda: make(store, "new")):
            assert refused(act).code == "permission_denied"


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
@pytest.mark.parametrize("place", ["plan.meta.json", "intents/plan.1.json"])
def test_what_is_no_file_beside_one_scene_leaves_the_others_listed(tmp_path: Path, kind: str, place: str) -> None:
    with Store(tmp_path) as store:
        for name in ("plan", "other"):
            make(store, name, "a")
    (tmp_path / "elsewhere").write_text("theirs")
    beside = tmp_path / KEPT / place
    beside.unlink(missing_ok=True)
    if kind == "link":
        beside.symlink_to(tmp_path / "elsewhere")
    elif kind == "folder":
        beside.mkdir()
    else:
        os.mkfifo(beside)
    with Store(tmp_path) as store:
        rows = {row.name: (row.valid, row.revision) for row in store.list()}
        assert rows == {"plan": (True, 1), "other": (True, 1)}  # the sidecar and the intent stand for each other
        with suppress(SceneError):
            store.read("plan")
        assert store.read("other").revision == 1
    assert (tmp_path / "elsewhere").read_text() == "theirs"


def test_a_scene_that_fits_its_record_is_listed_without_being_read(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(store, "plan", "a")
    add(store, 1, "b")
    seen: list[bytes] = []
    load = document.load

    def counted(data: bytes, limits: Limits) -> Scene:
        seen.append(data)
        return load(data, limits)

    monkeypatch.setattr(document, "load", counted)
    with Store(tmp_path) as fresh:
        assert fresh.list()[0].revision == 2
        assert seen == []
        (tmp_path / "plan.excalidraw").write_bytes(document.dump(drawn("by hand")))
        assert fresh.list()[0].element_count == 1
        assert fresh.list()[0].element_count == 1
        assert len(seen) == 1


def test_a_folder_on_a_disk_that_ignores_case_gives_no_scene_another_s_name(store: Store, tmp_path: Path) -> None:
    make(store, "plan", "a")
    (tmp_path / KEPT.upper()).mkdir()  # how such a disk looks from here
    assert store.read("plan").revision == 1
    with Store(tmp_path) as other:
        assert refused(lambda: other.read("none")).code == "not_found"
