"""The calls of seed 3 §5 and those beside them, over real HTTP."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from typing import Any, Final

import pytest

from countermark.kernel.files import Root
from countermark.kernel.lock import Lock
from countermark.scene.limits import DEFAULT

from .conftest import API, Site

BOX = {"type": "rectangle", "id": "box", "x": 10, "y": 20, "width": 100, "height": 50}


def moved(scene: dict[str, Any]) -> None:
    scene["elements"][0]["x"] += 5
    scene["elements"][0]["version"] += 1


@pytest.fixture
def plan(site: Site) -> dict[str, Any]:
    """A scene of one box."""
    said = site.api("POST", "/scenes", {"name": "plan", "elements": [BOX]})
    assert said.status == 201
    return said.data


def test_a_scene_is_created_read_listed_and_saved_with_evidence(site: Site, plan: dict[str, Any]) -> None:
    assert (plan["ok"], plan["name"], plan["revision"], plan["verified"]) == (True, "plan", 1, True)
    read = site.api("GET", "/scenes/plan")
    assert read.data["sha256"] == plan["sha256"] == hashlib.sha256(site.file("plan")).hexdigest()
    assert read.data["updatedBy"] == "ui"
    saved = site.save("plan", moved, request_id="r1")
    assert (saved.status, saved.data["revision"], saved.data["previousRevision"]) == (200, 2, 1)
    assert (saved.data["verified"], saved.data["duplicate"]) == (True, False)
    row = site.api("GET", "/scenes").data["scenes"][0]
    assert (row["name"], row["revision"], row["sha256"], row["valid"]) == ("plan", 2, saved.data["sha256"], True)
    assert hashlib.sha256(site.file("plan")).hexdigest() == saved.data["sha256"]


def test_a_read_gives_the_files_own_bytes_and_304_while_they_stand(site: Site) -> None:
    text = '{"type":"excalidraw","elements":[{"id":"a","type":"line","x":1.0,"y":12345678901234567890123,"points":[]}]}'
    (site.folder / "drawn.excalidraw").write_text(text)
    said = site.api("GET", "/scenes/drawn")
    assert said.body.endswith(b',"scene":' + text.encode() + b"}")
    tag = said.headers["etag"]
    assert tag == f'"{hashlib.sha256(text.encode()).hexdigest()}"'
    again = site.api("GET", "/scenes/drawn", If_None_Match=tag)
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    (site.folder / "drawn.excalidraw").write_text(text.replace("1.0", "2.0"))
    assert site.api("GET", "/scenes/drawn", If_None_Match=tag).status == 200


@pytest.mark.promise("scene.store.bytes")
def test_what_a_save_does_not_change_keeps_its_bytes(site: Site) -> None:
    kept = '{"id": "b", "type": "ellipse", "x": 1.0, "y": 1e-07, "width": 5, "height": 5, "mine": {"z": 1.50}}'
    drawn = '{"id":"a","type":"rectangle","x":0,"y":0,"width":5,"height":5,"version":1,"versionNonce":1}'
    rest = '"appState":{"gridStep":5},"files":{},"more":[1.0]'
    text = f'{{"type":"excalidraw","elements":[\t{drawn},\n\t{kept}],{rest}}}'
    (site.folder / "drawn.excalidraw").write_text(text)
    assert site.save("drawn", moved).status == 200
    written = site.file("drawn").decode()
    assert kept in written
    assert '"gridStep":5' in written
    assert '"more":[1.0]' in written
    assert site.save("drawn", lambda _: None).status == 200
    assert site.file("drawn").decode() == written


@pytest.mark.promise("scene.http.fence")
def test_a_stale_save_is_refused_with_what_is_current_and_the_first_stands(site: Site, plan: dict[str, Any]) -> None:
    scene = site.api("GET", "/scenes/plan").data["scene"]
    first = site.save("plan", moved).data
    stale = site.api("PUT", "/scenes/plan", {"scene": scene, "expected_revision": 1, "request_id": "late"})
    assert (stale.status, stale.error["code"]) == (409, "revision_conflict")
    details = stale.error["details"]
    assert (details["currentRevision"], details["expectedRevision"]) == (2, 1)
    assert details["currentSha256"] == first["sha256"]
    assert details["updatedAt"]
    assert hashlib.sha256(site.file("plan")).hexdigest() == first["sha256"]


@pytest.mark.promise("scene.http.fence")
def test_a_save_over_other_bytes_than_the_page_holds_is_refused_by_its_digest(site: Site, plan: dict[str, Any]) -> None:
    scene = site.api("GET", "/scenes/plan").data["scene"]
    body = {"scene": scene, "expected_revision": 1}
    other = site.api("PUT", "/scenes/plan", body, If_Match=f'"{"0" * 64}"')
    assert (other.status, other.error["code"]) == (409, "revision_conflict")
    assert site.api("PUT", "/scenes/plan", body, If_Match="nonsense").status == 422
    assert site.api("PUT", "/scenes/plan", body, If_Match=f'"{plan["sha256"]}"').status == 200


def test_overwrite_anyway_becomes_the_next_revision_as_the_persons(site: Site, plan: dict[str, Any]) -> None:
    scene = site.api("GET", "/scenes/plan").data["scene"]
    site.save("plan", moved)
    forced = site.api("PUT", "/scenes/plan", {"scene": scene, "expected_revision": 1, "force": True})
    assert (forced.status, forced.data["revision"]) == (200, 3)
    assert site.api("GET", "/scenes/plan").data["updatedBy"] == "ui"


@pytest.mark.promise("scene.request.once")
def test_a_repeated_request_answers_the_first_result_and_runs_nothing(site: Site, plan: dict[str, Any]) -> None:
    scene = site.api("GET", "/scenes/plan").data["scene"]
    moved(scene)
    body = {"scene": scene, "expected_revision": 1, "request_id": "once"}
    first = site.api("PUT", "/scenes/plan", body).data
    again = site.api("PUT", "/scenes/plan", body).data
    assert (again["revision"], again["sha256"], again["duplicate"]) == (2, first["sha256"], True)
    moved(scene)
    other = site.api("PUT", "/scenes/plan", body).data
    assert (other["duplicate"], other["payloadMatches"]) == (True, False)
    assert site.api("GET", "/scenes/plan").data["revision"] == 2


def test_a_repeated_create_is_told_that_this_very_request_made_it(site: Site) -> None:
    body = {"name": "plan", "request_id": "mine"}
    first = site.api("POST", "/scenes", body).data
    again = site.api("POST", "/scenes", body)
    assert (again.status, again.error["code"]) == (409, "already_exists")
    details = again.error["details"]
    assert (details["sameRequest"], details["revision"], details["sha256"]) == (True, 1, first["sha256"])


def test_an_earlier_revision_is_seen_and_brought_back_byte_for_byte(site: Site, plan: dict[str, Any]) -> None:
    first = site.file("plan")
    site.save("plan", moved)
    versions = site.api("GET", "/scenes/plan/history").data["versions"]
    assert [(one["revision"], one["savedBy"], one["current"]) for one in versions] == [
        (2, "ui", True),
        (1, "ui", False),
    ]
    assert all(one["savedAt"] for one in versions)
    seen = site.api("GET", "/scenes/plan/history/1")
    assert seen.body.endswith(b',"scene":' + first + b"}")
    assert seen.data["sha256"] == plan["sha256"]
    back = site.api("POST", "/scenes/plan/restore", {"revision": 1, "expected_revision": 2})
    assert (back.status, back.data["revision"], back.data["restoredFrom"]) == (200, 3, 1)
    assert site.file("plan") == first
    assert site.api("GET", "/scenes/plan/history/9").status == 404


def test_a_scene_is_renamed_with_its_past(site: Site, plan: dict[str, Any]) -> None:
    site.save("plan", moved)
    done = site.api("POST", "/scenes/plan/rename", {"to": "plan-2", "expected_revision": 2})
    assert (done.status, done.data["name"], done.data["previousName"]) == (200, "plan-2", "plan")
    assert site.api("GET", "/scenes/plan").status == 404
    revisions = [one["revision"] for one in site.api("GET", "/scenes/plan-2/history").data["versions"]]
    assert 1 in revisions
    assert site.api("POST", "/scenes/plan-2/rename", {"to": "Plan"}).error["code"] == "invalid_name"


def test_a_scene_in_the_trash_leaves_its_name_free_and_nothing_to_inherit(site: Site, plan: dict[str, Any]) -> None:
    site.save("plan", moved)
    done = site.api("POST", "/scenes/plan/trash", {"expected_revision": 2})
    assert (done.status, done.data["trashed"]) == (200, True)
    assert site.api("GET", "/scenes").data["scenes"] == []
    assert site.api("POST", "/scenes", {"name": "plan"}).data["revision"] == 1
    assert [one["revision"] for one in site.api("GET", "/scenes/plan/history").data["versions"]] == [1]


def test_what_lies_in_the_trash_is_listed_and_brought_back(site: Site, plan: dict[str, Any]) -> None:
    assert site.api("GET", "/trash").data["trashed"] == []
    site.save("plan", moved)
    site.api("POST", "/scenes/plan/trash", {})
    [entry] = site.api("GET", "/trash").data["trashed"]
    assert set(entry) == {
        "id", "name", "revision", "sha256", "byteLength", "elementCount", "trashedAt", "trashedBy", "nameFree",
    }  # fmt: skip
    assert (entry["name"], entry["revision"], entry["trashedBy"], entry["nameFree"]) == ("plan", 2, "ui", True)
    place = f"/trash/{entry['id']}/restore"
    site.api("POST", "/scenes", {"name": "plan"})
    assert site.api("GET", "/trash").data["trashed"][0]["nameFree"] is False
    assert site.api("POST", place, {}).error["code"] == "already_exists"
    said = site.api("POST", place, {"to": "old", "request_id": "b"})
    assert (said.status, said.data["name"], said.data["revision"], said.data["trashId"]) == (201, "old", 3, entry["id"])
    assert said.headers["location"] == f"{API}/scenes/old"
    assert site.api("POST", place, {"to": "old", "request_id": "b"}).data["duplicate"] is True
    assert site.api("GET", "/trash").data["trashed"] == []
    assert site.api("POST", place, {}).error["code"] == "not_found"
    assert site.api("POST", place, {"name": "x"}).error["code"] == "invalid_operation"
    assert site.api("POST", "/trash/..%2F..%2Fetc/restore", {}).status == 404


def test_the_library_is_given_and_saved_over_the_revision_it_was_read_at(site: Site) -> None:
    none = site.api("GET", "/library").data
    assert (none["revision"], none["library"]["libraryItems"], none["itemCount"]) == ("absent", [], 0)
    item = {"id": "a", "status": "unpublished", "created": 1, "elements": [{**BOX, "isDeleted": False}]}
    done = site.api("PUT", "/library", {"libraryItems": [item], "expected_revision": "absent"}).data
    assert (done["previousRevision"], done["itemCount"], done["verified"]) == ("absent", 1, True)
    said = site.api("GET", "/library")
    assert (said.data["revision"], said.data["library"]["libraryItems"]) == (done["revision"], [item])
    assert said.headers["etag"] == f'"{done["revision"]}"'
    assert site.api("GET", "/library", If_None_Match=said.headers["etag"]).status == 304
    stale = site.api("PUT", "/library", {"libraryItems": [], "expected_revision": "absent"})
    assert (stale.status, stale.error["details"]["currentRevision"]) == (409, done["revision"])
    assert site.api("PUT", "/library", {"libraryItems": [], "expected_revision": 1}).status == 422
    assert site.api("PUT", "/library", {"libraryItems": [5], "expected_revision": done["revision"]}).status == 422
    assert site.api("PUT", "/library", {"libraryItems": [], "force": True}).error["code"] == "invalid_operation"
    assert site.api("POST", "/library", {}).status == 422


def test_a_search_answers_scene_element_and_line(site: Site, plan: dict[str, Any]) -> None:
    site.api("POST", "/scenes", {"name": "b", "elements": [{**BOX, "label": {"id": "l", "text": "Größe <b>"}}]})
    said = site.api("GET", "/search?q=gr%C3%B6%C3%9Fe").data
    assert (said["text"], said["searched"], said["complete"], said["unreadable"]) == ("größe", 2, True, [])
    [hit] = said["hits"]
    assert (hit["scene"], hit["where"], hit["element"], hit["container"], hit["line"]) == ("b", "label", "l", "box", 1)
    assert (hit["before"], hit["match"], hit["after"]) == ("", "Größe", " <b>")
    assert site.api("GET", "/search?q=plan").data["hits"][0]["where"] == "name"
    for query in ("", "?q=", "?q=%20", f"?q={'x' * 201}", "?q=a&limit=0", "?q=a&limit=201", "?q=a&limit=x"):
        error = site.api("GET", f"/search{query}")
        assert (error.status, error.error["code"]) == (422, "invalid_operation"), query


def test_health_tells_limits_folder_and_what_the_editor_reported(site: Site) -> None:
    for report in (
        {"event": "mounted", "build": "b", "width": 800, "height": 600, "theme": "light"},
        {"event": "canvas-ready", "elementCount": 3},
        {"event": "saved", "name": "plan", "revision": 2, "sha256": "ab", "elementCount": 3},
    ):
        assert site.api("POST", "/editor-status", report).status == 200
    health = site.api("GET", "/health").data
    assert (health["drawingsDir"], health["readOnly"]) == (str(site.folder), False)
    assert health["limits"] == DEFAULT.wire()
    editor = health["editor"]
    assert (editor["mounted"], editor["build"], editor["width"], editor["elementCount"]) == (True, "b", 800, 3)
    assert [one["event"] for one in editor["events"]] == ["mounted", "canvas-ready", "saved"]
    assert site.api("POST", "/editor-status", {"event": "x"}).error["code"] == "invalid_operation"


BAD: Final[list[tuple[str, str, Any, int, str | None]]] = [
    ("GET", "/scenes/none", None, 404, "not_found"),
    ("GET", "/scenes/..plan", None, 400, "invalid_name"),
    ("GET", "/scenes/%2e%2e%2fplan", None, 400, "invalid_name"),
    ("GET", "/scenes/Plan", None, 400, "invalid_name"),
    ("GET", "/scenes/" + "a" * 65, None, 400, "invalid_name"),
    ("GET", "/scenes/con", None, 400, "invalid_name"),
    ("GET", "/scenes/pl%00an", None, 400, "invalid_name"),
    ("POST", "/scenes", {"name": "plan"}, 409, "already_exists"),
    ("POST", "/scenes", {"name": 5}, 400, "invalid_name"),
    ("POST", "/scenes", {}, 400, "invalid_name"),
    ("POST", "/scenes", {"name": "b", "elements": [{"type": "frame", "x": 0, "y": 0}]}, 422, "unsupported_element"),
    ("POST", "/scenes", {"name": "b", "elements": [BOX, BOX]}, 409, "duplicate_id"),
    ("POST", "/scenes", {"name": "b", "element": []}, 422, "invalid_operation"),
    ("POST", "/scenes", b"[]", 422, "invalid_operation"),
    ("POST", "/scenes", b'{"name":"b"', 422, "invalid_scene"),
    ("POST", "/scenes", b'{"name":"b","name":"c"}', 422, "invalid_scene"),
    ("POST", "/scenes", b'{"name":"b","elements":[NaN]}', 422, "invalid_scene"),
    ("POST", "/scenes", b'{"name":"b","elements":[1e400]}', 422, "invalid_scene"),
    ("POST", "/scenes", b'\xef\xbb\xbf{"name":"b"}', 422, "invalid_scene"),
    ("POST", "/scenes", b'{"name":"b","elements":[{"__proto__":{}}]}', 422, "invalid_scene"),
    ("POST", "/scenes", b'{"name":"b","x":' + b"[" * 5000 + b"]" * 5000 + b"}", 422, "invalid_scene"),
    ("PUT", "/scenes/plan", {"scene": {"elements": []}}, 422, "invalid_operation"),
    ("PUT", "/scenes/plan", {"scene": {"elements": []}, "expected_revision": True}, 422, "invalid_operation"),
    ("PUT", "/scenes/plan", {"scene": {"elements": []}, "expected_revision": "1"}, 422, "invalid_operation"),
    ("PUT", "/scenes/plan", {"scene": {"elements": []}, "expected_revision": 1.5}, 422, "invalid_operation"),
    ("PUT", "/scenes/plan", {"scene": {"elements": []}, "expected_revision": -1}, 422, "invalid_operation"),
    ("PUT", "/scenes/plan", {"scene": [], "expected_revision": 1}, 422, "invalid_operation"),
    ("PUT", "/scenes/plan", {"scene": {}, "expected_revision": 1}, 422, "invalid_scene"),
    (
        "PUT",
        "/scenes/plan",
        {"scene": {"elements": []}, "expected_revision": 1, "force": 1},
        422,
        "invalid_operation",
    ),
    ("PUT", "/scenes/none", {"scene": {"elements": []}, "expected_revision": 1}, 404, "not_found"),
    (
        "PUT",
        "/scenes/plan",
        {"scene": {"elements": [{"type": "mystery", "id": "m"}]}, "expected_revision": 1},
        422,
        None,
    ),
    ("GET", "/scenes/plan/history/x", None, 422, "invalid_operation"),
    ("GET", "/scenes/plan/history/" + "9" * 30, None, 422, "invalid_operation"),
    ("POST", "/scenes/plan/restore", {"revision": "1", "expected_revision": 1}, 422, "invalid_operation"),
    ("DELETE", "/scenes/plan", None, 422, "invalid_operation"),
    ("GET", "/nothing", None, 404, "not_found"),
]


@pytest.mark.promise("scene.tools.codes")
def test_bad_input_gets_its_code_and_status_and_changes_nothing(site: Site, plan: dict[str, Any]) -> None:
    before = site.file("plan")
    for method, path, body, status, code in BAD:
        said = site.api(method, path, body)
        about = (method, path, body)
        assert (said.status, code or said.error["code"]) == (status, said.error["code"]), about
        assert said.error["message"], about
        assert said.error["details"]["next"], about
        assert site.file("plan") == before, about
        assert sorted(one.name for one in site.folder.glob("*.excalidraw")) == ["plan.excalidraw"], about


@pytest.mark.promise("scene.ledger.never-stops-a-person")
def test_a_locked_ledger_never_stops_a_persons_save_and_hears_of_it_later(site: Site, plan: dict[str, Any]) -> None:
    with Root(site.folder / ".countermark/locks") as locks:
        lock = Lock(locks, "ledger.lock")
        with lock.hold(5.0):
            saved = site.save("plan", moved)
            assert (saved.status, saved.data["revision"], saved.data["unledgered"]) == (200, 2, True)
            assert hashlib.sha256(site.file("plan")).hexdigest() == saved.data["sha256"]
        lock.close()
    site.desk.close()
    rows = site.workspace.ledger.read(lambda tx: tx.all("SELECT key FROM tasks"))
    assert len(rows) == 2


@pytest.mark.promise("scene.store.one-winner")
def test_two_pages_with_one_revision_have_one_winner(site: Site, plan: dict[str, Any]) -> None:
    scene = site.api("GET", "/scenes/plan").data["scene"]
    moved(scene)
    said: list[int] = []
    body = {"scene": scene, "expected_revision": 1}
    pages = [
        threading.Thread(target=lambda: said.append(site.api("PUT", "/scenes/plan", body).status)) for _ in range(8)
    ]
    for page in pages:
        page.start()
    for page in pages:
        page.join()
    assert sorted(said) == [200] + [409] * 7
    assert site.api("GET", "/scenes/plan").data["revision"] == 2


def test_what_the_file_already_had_passes_a_save_and_the_same_from_the_page_does_not(site: Site) -> None:
    odd = {"id": "m", "type": "mystery", "x": 0}
    box = {"id": "a", "type": "rectangle", "x": 0, "y": 0, "width": 5, "height": 5, "version": 1}
    text = json.dumps({"type": "excalidraw", "elements": [box, odd], "appState": {}, "files": {}})
    (site.folder / "odd.excalidraw").write_text(text)
    assert site.save("odd", moved).status == 200
    assert b'"mystery"' in site.file("odd")
    refused = site.save("odd", lambda scene: scene["elements"].append({**odd, "id": "n"}))
    assert refused.status == 422
    assert refused.error["details"]["pointer"].startswith("/elements/2")


def test_a_damaged_file_is_listed_with_its_reason_and_read_as_corrupt(site: Site) -> None:
    (site.folder / "broken.excalidraw").write_text('{"type":"excalidraw","elements":[')
    row = site.api("GET", "/scenes").data["scenes"][0]
    assert (row["name"], row["valid"]) == ("broken", False)
    assert row["reason"]
    assert site.api("GET", "/scenes/broken").status == 423  # it is young: perhaps somebody is still writing it
    os.utime(site.folder / "broken.excalidraw", (0, 0))
    assert site.api("GET", "/scenes/broken").status == 500


def test_the_answer_to_head_has_no_body(site: Site, plan: dict[str, Any]) -> None:
    said = site.ask("HEAD", f"{API}/scenes/plan")
    assert (said.status, said.body, said.headers["etag"]) == (200, b"", f'"{plan["sha256"]}"')
