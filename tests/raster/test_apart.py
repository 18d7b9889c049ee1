from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from countermark.kernel.child import ProcessRunner, descendants_alive
from countermark.kernel.clock import SystemClock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.launch import Child
from countermark.raster import apart, judge

CLOCK = SystemClock()


class Launch:
    """Starts real children, as a task does but for its row in a ledger."""

    def __init__(self, folder: Path) -> None:
        self.liveness = folder / "judge.live"
        self.liveness.touch()
        self.started: list[Child] = []

    def __call__(self, argv: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Child:
        child = ProcessRunner(CLOCK).start(argv, liveness=self.liveness, env=env, cwd=cwd)
        self.started.append(child)
        child.go()
        return child


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    found = Launch(tmp_path)
    yield found
    for child in found.started:
        child.close()


def svg(body: str, attributes: str = 'viewBox="0 0 10 10"') -> bytes:
    return f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}>{body}</svg>'.encode()


def endless() -> bytes:
    """A kilobyte in which each mask doubles the work of the next."""
    both = '<rect width="9" height="9" mask="url(#m{0})"/>' * 2
    masks = "".join(f'<mask id="m{level}">{both.format(level + 1)}</mask>' for level in range(24))
    return svg(f'{masks}<mask id="m24"/><rect width="9" height="9" mask="url(#m0)"/>')


def test_a_child_draws_the_same_picture_and_names_what_it_did_not_see(launch: Launch) -> None:
    drawing = svg('<text y="9">words</text><rect width="5" height="10" fill="red"/>', "")

    found = apart.render(launch, CLOCK, drawing, 16, 8, unstated=(20, 10))

    here = judge.render(drawing, 16, 8, unstated=(20, 10))
    assert (found.picture.rgba == here.picture.rgba).all()
    assert found.picture.rgba[4, 2].tolist() == [255, 0, 0, 255]
    assert found.unobserved == here.unobserved != ()


def test_a_refusal_arrives_as_it_was_said(launch: Launch) -> None:
    with pytest.raises(CountermarkError) as there:
        apart.render(launch, CLOCK, svg("<script/>"), 8, 8)
    with pytest.raises(CountermarkError) as here:
        judge.render(svg("<script/>"), 8, 8)

    assert there.value.as_json() == here.value.as_json()


@pytest.mark.promise("vector.checks.judge-has-a-deadline")
def test_a_drawing_that_never_ends_is_stopped_and_nothing_of_it_runs_on(launch: Launch) -> None:
    with pytest.raises(CountermarkError) as caught:
        apart.render(launch, CLOCK, endless(), 512, 512, seconds=1.5)

    assert caught.value.code == "deadline_exceeded"
    assert not descendants_alive(launch.liveness)


def test_a_child_that_dies_without_a_word_is_no_picture(launch: Launch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/true")

    with pytest.raises(CountermarkError) as caught:
        apart.render(launch, CLOCK, svg(""), 8, 8)

    assert caught.value.code == "child_failed"
