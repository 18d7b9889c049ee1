"""Transform lists: every function, both grammars, and composition in the order written."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from countermark.vector.affine import IDENTITY, Matrix
from countermark.vector.svg.number import Frame, NotFiniteError
from countermark.vector.svg.transform import origin, transform

FRAME = Frame(200.0, 100.0)
number = st.integers(-400, 400).map(lambda value: value / 8)
matrices = st.builds(Matrix, number, number, number, number, number, number)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", IDENTITY),
        ("none", IDENTITY),
        ("matrix(1 2 3 4 5 6)", Matrix(1, 2, 3, 4, 5, 6)),
        ("matrix(1,2,3,4,5,6)", Matrix(1, 2, 3, 4, 5, 6)),
        ("matrix(1-2.5.5 4e0-5,6)", Matrix(1, -2.5, 0.5, 4, -5, 6)),
        ("translate(3)", Matrix(e=3)),
        ("translate(3 4)", Matrix(e=3, f=4)),
        ("translate(50%, 10%)", Matrix(e=100, f=10)),
        ("translateX(1in)", Matrix(e=96)),
        ("translateY(2px)", Matrix(f=2)),
        ("scale(2)", Matrix(2, 0, 0, 2)),
        ("scale(2, -1)", Matrix(2, 0, 0, -1)),
        ("scale(50%)", Matrix(0.5, 0, 0, 0.5)),
        ("rotate(90)", Matrix(0, 1, -1, 0)),
        ("rotate(-90)", Matrix(0, -1, 1, 0)),
        ("rotate(0.5turn)", Matrix(-1, 0, 0, -1)),
        ("rotate(90 10 0)", Matrix(0, 1, -1, 0, 10, -10)),
        ("skewX(45)", Matrix(1, 0, 1, 1)),
        ("skewY(45deg)", Matrix(1, 1, 0, 1)),
        ("translate(1,2),scale(3)", Matrix(3, 0, 0, 3, 1, 2)),
        (" scale(3)\ttranslate(1 2) ", Matrix(3, 0, 0, 3, 3, 6)),
    ],
)
def test_every_function_is_read(text: str, found: Matrix) -> None:
    assert transform(text, FRAME) == pytest.approx(found)


@pytest.mark.parametrize(
    "text", ["foo(1)", "scale()", "scale(1 2 3)", "matrix(1 2 3)", "rotate(1 2)", "scale(1", "scale 1", "scale(x)", "1"]
)
def test_a_list_with_a_fault_counts_for_nothing(text: str) -> None:
    assert transform(text, FRAME) is None
    assert transform(f"scale(2) {text}", FRAME) is None


@pytest.mark.parametrize("text", ["scale(nan)", "translate(inf)", "scale(1e999)", "scale(1e300) scale(1e300)"])
def test_numbers_that_are_not_finite_raise(text: str) -> None:
    with pytest.raises(NotFiniteError):
        transform(text, FRAME)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("center", (100, 50)),
        ("top", (100, 0)),
        ("right bottom", (200, 100)),
        ("bottom right", (200, 100)),
        ("10 20", (10, 20)),
        ("25% 25%", (50, 25)),
        ("5px", (5, 50)),
        ("x y", None),
        ("", None),
    ],
)
def test_the_origin_is_read(text: str, found: tuple[float, float] | None) -> None:
    assert origin(text, FRAME) == found


@given(st.lists(matrices, min_size=1, max_size=4), number, number)
def test_a_list_applies_its_last_function_first(steps: list[Matrix], x: float, y: float) -> None:
    text = " ".join(f"matrix({' '.join(map(repr, step))})" for step in steps)
    found = transform(text, FRAME)
    point = (x, y)
    for step in reversed(steps):
        point = step.apply(*point)
    assert found is not None
    assert found.apply(x, y) == pytest.approx(point, rel=1e-9, abs=1e-3)


@given(matrices, number, number)
def test_the_inverse_leads_back(matrix: Matrix, x: float, y: float) -> None:
    assume(abs(matrix.determinant) > 1)
    assert matrix.inverse().apply(*matrix.apply(x, y)) == pytest.approx((x, y), abs=1e-6)


@given(number, st.floats(0.1, 10), st.booleans())
def test_turning_growing_and_mirroring_keep_a_round_pen(angle: float, size: float, mirrored: bool) -> None:  # noqa: FBT001
    cos, sin = size * math.cos(angle), size * math.sin(angle)
    turned = Matrix(cos, sin, -sin, cos) @ (Matrix(a=-1) if mirrored else IDENTITY)
    assert turned.is_similarity
    assert not (turned @ Matrix(a=1.01)).is_similarity
