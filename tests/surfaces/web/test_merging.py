"""What differs and what both changes come to, as the page asks for it over real HTTP."""

from __future__ import annotations

import copy
from typing import Any, Final

import pytest

from .conftest import API, Site

ELEMENTS = [
    {"type": "rectangle", "id": "api", "x": 0, "y": 0, "width": 120, "height": 60, "label": "API"},
    {"type": "rectangle", "id": "db", "x": 400, "y": 0, "width": 120, "height": 60, "label": "DB"},
    {"type": "arrow", "id": "asks", "x": 0, "y": 0, "startElementId": "api", "endElementId": "db"},
]


@pytest.fixture
def base(site: Site) -> dict[str, Any]:
    """The scene as a page loaded it, at revision 1."""
    assert site.api("POST", "/scenes", {"name": "plan", "elements": ELEMENTS}).status == 201
    scene: dict[str, Any] = site.api("GET", "/scenes/plan").data["scene"]
    return scene


def element(scene: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in scene["elements"] if one["id"] == name)


def agent_moves_db(site: Site) -> None:
    def move(scene: dict[str, Any]) -> None:
        for one in scene["elements"]:
            if one["id"] == "db" or one.get("containerId") == "db":
                one["y"] += 200
                one["version"] += 1

    assert site.save("plan", move, request_id="agent").status == 200


@pytest.mark.promise("scene.merge.proposed")
def test_changes_of_different_elements_are_proposed_together_and_saved_by_the_page(
    site: Site, base: dict[str, Any]
) -> None:
    mine = copy.deepcopy(base)
    element(mine, "api")["strokeColor"] = "#e03131"
    agent_moves_db(site)
    before = site.file("plan")
    said = site.api("POST", "/scenes/plan/merge", {"scene": mine, "base_revision": 1}).data
    assert site.file("plan") == before
    assert (said["clean"], said["settled"], said["conflicts"], said["revision"]) == (True, True, [], 2)
    assert said["mine"]["lines"] == ["~ box “API”: its stroke is now #e03131 (was #1e1e1e)"]
    assert said["theirs"]["lines"] == ["~ box “DB” moved 200 px down"]
    assert (element(said["scene"], "db")["y"], element(said["scene"], "api")["strokeColor"]) == (200, "#e03131")
    save = {"scene": said["scene"], "expected_revision": said["revision"], "request_id": "merged"}
    done = site.api("PUT", "/scenes/plan", save, If_Match=f'"{said["sha256"]}"')
    assert (done.status, done.data["revision"]) == (200, 3)
    now = site.api("GET", "/scenes/plan").data["scene"]
    assert (element(now, "db")["y"], element(now, "api")["strokeColor"]) == (200, "#e03131")


@pytest.mark.promise("scene.merge.proposed")
def test_what_both_changed_is_named_with_what_can_be_chosen(site: Site, base: dict[str, Any]) -> None:
    mine = copy.deepcopy(base)
    element(mine, "db")["x"] = 900
    agent_moves_db(site)
    ask = {"scene": mine, "base_revision": 1}
    said = site.api("POST", "/scenes/plan/merge", ask).data
    assert (said["clean"], said["settled"]) == (False, False)
    (conflict,) = said["conflicts"]
    assert (conflict["id"], conflict["name"], conflict["choices"]) == ("db", "box “DB”", ["mine", "theirs"])
    assert conflict["mine"] == ["moved 500 px right"]
    assert conflict["theirs"] == ["moved 200 px down"]
    assert element(said["scene"], "db")["x"] == 400
    chosen = site.api("POST", "/scenes/plan/merge", {**ask, "choices": {"db": "mine"}}).data
    assert (chosen["settled"], chosen["conflicts"][0]["chosen"], chosen["ignored"]) == (True, "mine", [])
    late = site.api("POST", "/scenes/plan/merge", {**ask, "choices": {"api": "mine", "db": "both"}}).data
    assert (late["settled"], late["ignored"]) == (False, ["api", "db"])
    assert (element(chosen["scene"], "db")["x"], element(chosen["scene"], "db")["y"]) == (900, 0)


def test_a_base_that_is_not_kept_is_asked_for(site: Site, base: dict[str, Any]) -> None:
    mine = copy.deepcopy(base)
    element(mine, "api")["opacity"] = 50
    path = site.folder / "plan.excalidraw"
    path.write_bytes(site.file("plan").replace(b'"#1e1e1e"', b'"#2f9e44"', 1))  # another program: no backup of before
    site.api("GET", "/scenes/plan")
    refused = site.api("POST", "/scenes/plan/merge", {"scene": mine, "base_revision": 1})
    assert (refused.status, refused.error["details"]["reason"]) == (404, "base")
    said = site.api("POST", "/scenes/plan/merge", {"scene": mine, "base_revision": 1, "base": base}).data
    assert not said["clean"]
    assert said["conflicts"][0]["choices"] == ["mine", "theirs", "both"]


UNFIT: Final[tuple[tuple[dict[str, Any], str], ...]] = (
    ({"scene": [], "base_revision": 1}, "/scene"),
    ({"scene": {"elements": []}}, "/base_revision"),
    ({"scene": {"elements": []}, "base_revision": True}, "/base_revision"),
    ({"scene": {"elements": []}, "base_revision": 1, "choices": {"a": "ours"}}, "/choices"),
    ({"scene": {"elements": []}, "base_revision": 1, "base": 3}, "/base"),
    ({"scene": {"elements": []}, "base_revision": 1, "force": True}, "/force"),
)


def test_a_merge_that_does_not_fit_is_refused_with_its_place(site: Site, base: dict[str, Any]) -> None:
    assert base
    for body, pointer in UNFIT:
        said = site.api("POST", "/scenes/plan/merge", body)
        assert (said.status, said.error["code"]) == (422, "invalid_operation")
        assert said.error["details"]["pointer"] == pointer


def test_two_revisions_are_compared_in_words_and_fields(site: Site, base: dict[str, Any]) -> None:
    assert base
    agent_moves_db(site)
    said = site.api("GET", "/scenes/plan/diff").data
    assert (said["from"]["revision"], said["to"]["revision"], said["summary"]) == (1, 2, "1 changed")
    (row,) = said["changed"]
    assert row["fields"] == {"y": {"from": 0, "to": 200}}
    assert said["lines"] == ["~ box “DB” moved 200 px down"]
    back = site.api("GET", "/scenes/plan/diff?from=2&to=1").data
    assert back["lines"] == ["~ box “DB” moved 200 px up"]
    assert site.api("GET", "/scenes/plan/diff?from=1&to=1").data["summary"] == "nothing"
    assert site.api("GET", "/scenes/plan/diff?from=9").status == 404
    assert site.api("GET", "/scenes/plan/diff?from=-1").error["details"]["pointer"] == "/from"
    assert site.api("GET", f"{API}/").status == 404
