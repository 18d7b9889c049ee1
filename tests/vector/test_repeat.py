"""The same key said again: the first result, whatever the first time changed and whatever came after it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.kernel.workspace import Workspace
from countermark.vector import document as native
from countermark.vector import tools
from countermark.vector.adapter import VectorAdapter
from countermark.vector.recolour import bind
from countermark.vector.svg.import_ import import_svg

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><rect width="4" height="4" fill="#1a6cff"/></svg>'
DOCUMENT = "mark.vectorcraft"


@pytest.fixture
def space(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.create(tmp_path / "space", adapters=[VectorAdapter()]) as workspace:
        bound, _ = bind(import_svg(SVG).document, "primary", "#1a6cff")
        (tmp_path / "space" / DOCUMENT).write_bytes(native.dump(bound))
        yield workspace


def set_colour(space: Workspace, colour: str, key: str | None, revision: str | None = None) -> tuple[str, bool]:
    done, _ = tools.set_colour(space, "primary", colour, grant="default", key=key, revision=revision)
    return done.task, done.repeated


def test_a_retry_answers_the_first_result_although_the_document_moved_on_by_it_and_by_others(space: Workspace) -> None:
    first, _ = set_colour(space, "#000000", "a")
    set_colour(space, "#ffffff", "b")
    assert set_colour(space, "#000000", "a") == (first, True)
    assert b'"r": 1.0' in (space.path / DOCUMENT).read_bytes()


def test_the_same_change_under_another_key_is_a_change_of_its_own(space: Workspace) -> None:
    first, _ = set_colour(space, "#000000", "a")
    again, repeated = set_colour(space, "#000000", "b")
    assert (again == first, repeated) == (False, False)
    _, facts = tools.set_colour(space, "primary", "#000000", grant="default", key="c")
    assert facts["report"]["status"] == "verified_noop"
    assert facts["report"]["changed"] == []


def test_the_same_key_for_another_colour_is_a_conflict(space: Workspace) -> None:
    set_colour(space, "#000000", "a")
    with pytest.raises(CountermarkError, match="key_conflict"):
        set_colour(space, "#ffffff", "a")


def test_the_same_key_against_another_revision_is_another_request(space: Workspace) -> None:
    seen = tools.read(space).data["revision"]
    first, _ = set_colour(space, "#000000", "a", seen)
    assert set_colour(space, "#000000", "a", seen) == (first, True)
    now = tools.read(space).data["revision"]
    with pytest.raises(CountermarkError, match="key_conflict"):
        set_colour(space, "#000000", "a", now)


def test_without_a_key_what_stands_is_a_repeat(space: Workspace) -> None:
    first, _ = set_colour(space, "#000000", None)
    assert set_colour(space, "#000000", None) == (first, True)
