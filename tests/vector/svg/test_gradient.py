"""Gradients keep their colours at every point of the document, whatever maps lie between."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from countermark.kernel.errors import CountermarkError
from countermark.vector.affine import Matrix
from countermark.vector.svg.import_ import Imported, import_svg

number = st.integers(-300, 300).map(lambda value: value / 100)
matrices = st.builds(Matrix, number, number, number, number, st.just(3.0), st.just(-7.0))
STOPS = '<stop stop-color="red"/><stop offset="1" stop-color="blue"/>'


def imported(body: str) -> Imported:
    return import_svg(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">{body}</svg>'.encode())


def paint_of(found: Imported) -> Any:
    (node,) = found.document.tree["layers"][0]["kind"]["children"]
    items = node["appearance"]["items"]
    return items[0]["paint"] if items else None


def painted(gradient: str, shape: str = '<rect width="40" height="20" fill="url(#g)"/>') -> Any:
    return paint_of(imported(f"{gradient}{shape}"))


def parameter(paint: Any, x: float, y: float) -> float:
    """Return where on the gradient a document point lies, by the words of the native format."""
    geom = paint["geom"]
    sx, sy = float(geom["start"]["x"]), float(geom["start"]["y"])
    ux, uy = float(geom["end"]["x"]) - sx, float(geom["end"]["y"]) - sy
    if paint["gradient"]["kind"] == "Linear":
        return ((x - sx) * ux + (y - sy) * uy) / (ux * ux + uy * uy)
    frame = Matrix(ux, uy, -uy * geom["aspect"], ux * geom["aspect"], sx, sy)
    return math.hypot(*frame.inverse().apply(x, y))


@pytest.mark.promise("vector.import.gradients-exact")
@given(matrices, matrices)
def test_a_linear_gradient_stays_exact_under_any_map(outer: Matrix, inner: Matrix) -> None:
    assume(abs(outer.determinant) > 0.05 and abs(inner.determinant) > 0.05)
    gradient = (
        '<linearGradient id="g" gradientUnits="userSpaceOnUse" x1="10" y1="20" x2="60" y2="30" '
        f'gradientTransform="matrix({" ".join(map(repr, inner))})">{STOPS}</linearGradient>'
    )
    shape = f'<rect width="40" height="20" fill="url(#g)" transform="matrix({" ".join(map(repr, outer))})"/>'
    paint = painted(gradient, shape)
    for x, y in ((10, 20), (60, 30), (0, 0), (35, 90)):
        t = ((x - 10) * 50 + (y - 20) * 10) / (50 * 50 + 10 * 10)
        assert parameter(paint, *(outer @ inner).apply(x, y)) == pytest.approx(t, abs=1e-4)


@given(matrices)
def test_a_radial_gradient_stays_exact_under_any_map(outer: Matrix) -> None:
    assume(abs(outer.determinant) > 0.05)
    gradient = f'<radialGradient id="g" gradientUnits="userSpaceOnUse" cx="20" cy="10" r="30">{STOPS}</radialGradient>'
    shape = f'<rect width="40" height="20" fill="url(#g)" transform="matrix({" ".join(map(repr, outer))})"/>'
    paint = painted(gradient, shape)
    for x, y in ((20, 40), (50, 10), (0, 0), (35, 20)):
        assert parameter(paint, *outer.apply(x, y)) == pytest.approx(math.dist((x, y), (20, 10)) / 30, abs=1e-4)


def test_box_units_and_percentages_follow_the_shape_without_its_stroke() -> None:
    paint = painted(
        f'<linearGradient id="g" x1="25%" x2="0.75">{STOPS}</linearGradient>',
        '<rect x="10" y="5" width="40" height="20" stroke="red" stroke-width="9" fill="url(#g)"/>',
    )
    assert (paint["geom"]["start"]["x"], paint["geom"]["end"]["x"]) == (20, 40)


def test_a_focal_point_and_its_radius_are_kept() -> None:
    paint = painted(
        '<radialGradient id="g" gradientUnits="userSpaceOnUse" cx="20" cy="20" r="10" fx="16" fy="17" fr="2"'
        f' spreadMethod="reflect">{STOPS}</radialGradient>'
    )
    assert paint["geom"]["focal"] == {"x": 16, "y": 17}
    assert paint["countermark"] == {"spread": "reflect", "focal_radius": 0.2}


def test_a_focal_point_outside_moves_just_inside() -> None:
    paint = painted(f'<radialGradient id="g" r="0.5" fx="2">{STOPS}</radialGradient>')
    assert paint["geom"]["focal"]["x"] == pytest.approx(40, abs=0.01)
    assert paint["geom"]["focal"]["x"] < 40


def test_everything_is_inherited_by_reference_once() -> None:
    paint = painted(
        f'<linearGradient id="a" spreadMethod="repeat" x1="0.5" gradientUnits="objectBoundingBox">{STOPS}'
        '</linearGradient><linearGradient id="b" href="#a" x2="0.75"/><linearGradient id="g" href="#b"/>'
    )
    assert (paint["geom"]["start"]["x"], paint["geom"]["end"]["x"]) == (20, 30)
    assert paint["countermark"] == {"spread": "repeat"}
    assert len(paint["gradient"]["stops"]) == 2


def test_geometry_is_taken_from_a_gradient_of_the_same_kind_only() -> None:
    paint = painted(
        f'<radialGradient id="a" y2="1" spreadMethod="reflect">{STOPS}</radialGradient>'
        '<linearGradient id="g" href="#a"/>'
    )
    assert paint["geom"]["start"]["y"] == paint["geom"]["end"]["y"]
    assert paint["countermark"] == {"spread": "reflect"}


def test_a_circle_of_gradients_is_refused_by_name() -> None:
    with pytest.raises(CountermarkError, match="#g refers to itself") as caught:
        painted('<linearGradient id="g" href="#b"/><linearGradient id="b" href="#g"/>')
    assert caught.value.code == "svg_invalid"


def test_stops_take_opacity_style_and_the_current_colour_and_never_run_back() -> None:
    paint = painted(
        '<linearGradient id="g" color="lime"><stop offset="50%" style="stop-color:#000;stop-opacity:.5"/>'
        '<stop offset="20%" stop-color="currentColor"/><stop offset="7" stop-color="rgba(0,0,255,.5)"/>'
        "</linearGradient>"
    )
    stops = paint["gradient"]["stops"]
    assert [stop["offset"] for stop in stops] == [0.5, 0.5, 1.0]
    assert [stop["opacity"] for stop in stops] == [0.5, 1.0, 0.5]
    assert stops[1]["color"] == {"model": "rgb", "r": 0.0, "g": 1.0, "b": 0.0}


@pytest.mark.parametrize(
    ("gradient", "colour"),
    [
        ('<linearGradient id="g"><stop stop-color="red"/></linearGradient>', {"r": 1.0, "g": 0.0, "b": 0.0}),
        (f'<linearGradient id="g" x1="1" x2="1">{STOPS}</linearGradient>', {"r": 0.0, "g": 0.0, "b": 1.0}),
        (f'<radialGradient id="g" r="0">{STOPS}</radialGradient>', {"r": 0.0, "g": 0.0, "b": 1.0}),
    ],
)
def test_a_gradient_of_one_colour_is_that_colour(gradient: str, colour: dict[str, float]) -> None:
    assert painted(gradient) == {"type": "solid", "color": {"model": "rgb", **colour}}


@pytest.mark.parametrize(
    ("gradient", "shape"),
    [
        ('<linearGradient id="g"/>', '<rect width="4" height="4" fill="url(#g)"/>'),
        (f'<linearGradient id="g">{STOPS}</linearGradient>', '<path d="M0 5H9" stroke="url(#g)" fill="none"/>'),
        (
            f'<linearGradient id="g" gradientTransform="scale(0)">{STOPS}</linearGradient>',
            '<rect width="4" height="4" fill="url(#g)"/>',
        ),
        ("", '<rect width="4" height="4" fill="url(#g)"/>'),
    ],
)
def test_what_paints_nothing_takes_the_colour_that_stands_in_for_it(gradient: str, shape: str) -> None:
    assert painted(gradient, shape) is None
    instead = painted(gradient, shape.replace("url(#g)", "url(#g) red"))
    assert instead == {"type": "solid", "color": {"model": "rgb", "r": 1.0, "g": 0.0, "b": 0.0}}
