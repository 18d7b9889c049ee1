from __future__ import annotations

from countermark.surfaces.web.watch import Seen, changes


def seen(revision: int = 1, sha256: str | None = "a", mark: int = 1) -> Seen:
    return Seen((mark, 10, 10), revision, sha256, "agent", "2026-11-30T12:00:00.000Z")


def test_nothing_is_told_of_scenes_that_are_as_they_were() -> None:
    assert changes({"a": seen()}, {"a": seen()}) == []


def test_a_page_is_told_of_each_scene_that_came_changed_or_went() -> None:
    told = changes({"a": seen(), "b": seen(sha256="b")}, {"a": seen(2, "c"), "d": seen(sha256="d")})
    assert {one["name"]: one["change"] for one in told} == {"a": "changed", "b": "removed", "d": "created"}
    changed = next(one for one in told if one["name"] == "a")
    assert (changed["revision"], changed["sha256"], changed["updatedBy"]) == (2, "c", "agent")


def test_a_file_that_was_exchanged_is_told_of_though_the_listing_knows_nothing_new() -> None:
    assert [one["change"] for one in changes({"a": seen(mark=1)}, {"a": seen(mark=2)})] == ["changed"]


def test_a_scene_that_went_and_came_under_another_name_is_told_as_a_rename() -> None:
    told = changes({"a": seen()}, {"b": seen(2)})
    assert told[0] == {"name": "a", "change": "removed", "revision": None, "sha256": None, "to": "b"}
    assert (told[1]["name"], told[1]["change"]) == ("b", "created")


def test_an_unreadable_scene_that_went_is_no_rename_of_another_unreadable_one() -> None:
    told = changes({"a": seen(sha256=None)}, {"b": seen(sha256=None)})
    assert "to" not in told[0]
