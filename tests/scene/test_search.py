"""Search over the texts of all scenes: what is found, how it is told, and where it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from countermark.scene import search
from countermark.scene.limits import DEFAULT
from countermark.scene.search import Search
from countermark.scene.store import Store

from .shop import StoppedClock, box, contents, refused


@pytest.fixture(name="store")
def make_store(tmp_path: Path) -> Store:
    return Store(tmp_path, clock=StoppedClock())


def put(folder: Path, name: str, *elements: dict[str, Any]) -> None:
    (folder / f"{name}.excalidraw").write_text(json.dumps({"type": "excalidraw", "elements": elements}))


def text(name: str, said: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "type": "text", "x": 0, "y": 0, "text": said, **more}


def found(store: Store, wanted: str, **more: Any) -> list[tuple[str, str, str | None]]:
    hits = store.search(wanted, **more).hits
    return [(hit.scene, hit.line.where if hit.line else "name", hit.line.element if hit.line else None) for hit in hits]


@pytest.mark.promise("scene.search.all")
def test_names_texts_labels_frames_and_links_are_found_in_every_scene(store: Store, tmp_path: Path) -> None:
    put(tmp_path, "a-ledger", box("one", link="https://example.org/LEDGER"), text("t", "no"))
    put(
        tmp_path,
        "b",
        box("two"),
        text("label", "The\nled-\nger", originalText="The ledger", containerId="two"),
        {"id": "f", "type": "frame", "name": "Ledger frame"},
        text("free", "first\nsecond: ledger\nthird"),
        text("gone", "ledger", isDeleted=True),
    )
    assert found(store, "leDGer") == [
        ("a-ledger", "name", None),
        ("a-ledger", "link", "one"),
        ("b", "label", "label"),
        ("b", "frame", "f"),
        ("b", "text", "free"),
    ]
    hit = store.search("second: LED").hits[0].wire()
    assert hit == {
        "scene": "b", "where": "text", "element": "free", "type": "text", "line": 2,
        "before": "", "match": "second: led", "after": "ger",
    }  # fmt: skip


def test_a_match_is_marked_where_letters_fold_to_more_or_are_composed(store: Store, tmp_path: Path) -> None:
    put(tmp_path, "a", text("t", "Große Straße 12"), text("u", "cafe\u0301 noir"))
    [hit] = store.search("strasse").hits
    assert (hit.before, hit.match, hit.after) == ("Große ", "Straße", " 12")
    [hit] = store.search("CAFÉ").hits
    assert (hit.before, hit.match, hit.after) == ("", "café", " noir")


def test_a_long_line_is_cut_around_its_match(store: Store, tmp_path: Path) -> None:
    put(tmp_path, "a", text("t", "x" * 500 + "needle" + "y" * 500))
    [hit] = store.search("needle").hits
    assert (len(hit.before), hit.match, len(hit.after)) == (81, "needle", 81)
    assert (hit.before[0], hit.after[-1]) == ("…", "…")


@pytest.mark.promise("scene.search.all")
def test_what_cannot_be_opened_is_named_and_nothing_is_written(store: Store, tmp_path: Path) -> None:
    put(tmp_path, "a", text("t", "needle"))
    (tmp_path / "broken.excalidraw").write_text("{")
    (tmp_path / "Plan.excalidraw").write_text("{}")
    before = contents(tmp_path)
    answer = store.search("needle").wire()
    assert ([hit["scene"] for hit in answer["hits"]], answer["complete"]) == (["a"], True)
    assert answer["unreadable"] == [{"name": "Plan", "reason": "alphabet"}, {"name": "broken", "reason": "not-json"}]
    assert contents(tmp_path) == before


def test_a_search_ends_at_so_many_hits_and_says_what_is_left(store: Store, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        put(tmp_path, name, *(text(f"t{number}", "needle") for number in range(4)))
    answer = store.search("needle", limit=5).wire()
    assert (len(answer["hits"]), answer["searched"], answer["left"]) == (5, 1, 2)
    assert (answer["complete"], answer["stopped"]) == (False, "hits")
    answer = store.search("needle", limit=12).wire()
    assert (len(answer["hits"]), answer["complete"]) == (12, True)


def test_a_search_ends_in_time_and_says_what_is_left(store: Store, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        put(tmp_path, name, text("t", "needle"))
    clock = StoppedClock()

    def tick() -> float:
        clock.pause(2.0)
        return clock.monotonic()

    answer = Search(store.shelf, tick).find("needle", store.list(), limit=99, seconds=3.0)
    assert (len(answer.hits), answer.searched, answer.left, answer.stopped) == (2, 2, 1, "time")


def test_a_second_search_sees_what_changed_and_forgets_what_is_too_much(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "a", text("t", "needle"))
    assert len(store.search("needle").hits) == 1
    put(tmp_path, "a", text("t", "thread and more"))
    assert (store.search("needle").hits, len(store.search("thread").hits)) == ((), 1)
    monkeypatch.setattr(search, "_REMEMBERED", 20)
    for name in ("b", "c", "d"):
        put(tmp_path, name, text("t", f"sewing {name}"))
    for _ in range(3):
        assert len(store.search("sewing").hits) == 3


@pytest.mark.parametrize("wanted", ["", "  ", "x" * 201, None, 5])
def test_what_is_no_text_to_look_for_is_refused(store: Store, wanted: Any) -> None:
    error = refused(lambda: store.search(wanted))
    assert (error.code, error.status) == ("invalid_operation", 422)


def test_a_scene_that_went_away_meanwhile_is_named(store: Store, tmp_path: Path) -> None:
    put(tmp_path, "a", text("t", "needle"))
    rows = store.list()
    (tmp_path / "a.excalidraw").unlink()
    answer = Search(store.shelf).find("needle", rows, limit=DEFAULT.max_files, seconds=9)
    assert (answer.hits, answer.unreadable) == ((), (("a", "not_found"),))
