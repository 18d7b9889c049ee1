from __future__ import annotations

from typing import Any

import pytest

from countermark.scene.codes import SceneError
from countermark.surfaces.web.evidence import Evidence


def reported(*said: dict[str, Any]) -> dict[str, Any]:
    evidence = Evidence(lambda: "2026-11-30T12:00:00.000Z")
    for one in said:
        evidence.report(one)
    return evidence.wire()


def test_the_life_of_a_page_is_folded_into_what_health_shows() -> None:
    state = reported(
        {"event": "mounted", "build": "b1", "width": 800, "height": 600, "theme": "dark"},
        {"event": "canvas-ready", "elementCount": 12},
        {"event": "saved", "name": "plan", "revision": 3, "sha256": "ab", "elementCount": 13},
    )
    assert state["mounted"] is True
    assert (state["build"], state["width"], state["height"], state["elementCount"]) == ("b1", 800, 600, 13)
    assert state["saved"] == {"name": "plan", "revision": 3, "sha256": "ab", "elementCount": 13}
    assert [event["event"] for event in state["events"]] == ["mounted", "canvas-ready", "saved"]
    assert state["events"][0]["at"] == "2026-11-30T12:00:00.000Z"


def test_an_unmounted_page_is_not_mounted_and_an_error_is_kept_until_the_next_mount() -> None:
    ended = [{"event": "mounted"}, {"event": "error", "message": "no canvas"}, {"event": "unmounted"}]
    state = reported(*ended)
    assert (state["mounted"], state["error"]) == (False, "no canvas")
    assert reported(*ended, {"event": "mounted"})["error"] is None


@pytest.mark.parametrize("said", [{}, {"event": "saved!"}, {"event": 5}, {"event": ["mounted"]}])
def test_what_is_no_report_is_refused_and_leaves_nothing(said: dict[str, Any]) -> None:
    evidence = Evidence(lambda: "now")
    with pytest.raises(SceneError) as refused:
        evidence.report(said)
    assert refused.value.code == "invalid_operation"
    assert evidence.wire()["events"] == []


def test_reports_are_bounded_in_number_and_length_and_wrong_kinds_are_left_out() -> None:
    state = reported(*({"event": "error", "message": "x" * 9999, "width": True, "build": 7} for _ in range(150)))
    assert len(state["events"]) == 100
    assert len(state["error"]) == 500
    assert (state["width"], state["build"]) == (None, None)
