"""CSS colours in every sRGB syntax."""

from __future__ import annotations

import colorsys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countermark.vector.svg.colour import colour, is_other_space, names

byte = st.integers(0, 255)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("red", (1, 0, 0, 1)),
        (" ReD ", (1, 0, 0, 1)),
        ("rebeccapurple", (0x66 / 255, 0x33 / 255, 0x99 / 255, 1)),
        ("transparent", (0, 0, 0, 0)),
        ("#f80", (1, 0x88 / 255, 0, 1)),
        ("#F808", (1, 0x88 / 255, 0, 0x88 / 255)),
        ("#ff880080", (1, 0x88 / 255, 0, 0x80 / 255)),
        ("rgb(255, 128, 0)", (1, 128 / 255, 0, 1)),
        ("rgb(255 128 0)", (1, 128 / 255, 0, 1)),
        ("rgb(100% 50% 0%)", (1, 0.5, 0, 1)),
        ("rgb(300, -5, 0.5)", (1, 0, 0.5 / 255, 1)),
        ("rgb(255,0,0,.5)", (1, 0, 0, 0.5)),
        ("rgba(255,0,0,50%)", (1, 0, 0, 0.5)),
        ("rgba(255 0 0 / 25%)", (1, 0, 0, 0.25)),
        ("rgba(255 0 0 / 7)", (1, 0, 0, 1)),
        ("hsl(120, 100%, 25%)", (0, 0.5, 0, 1)),
        ("hsl(120deg 100% 25%)", (0, 0.5, 0, 1)),
        ("hsl(-240, 100%, 25%)", (0, 0.5, 0, 1)),
        ("hsla(0.5turn 100% 50% / 0.5)", (0, 1, 1, 0.5)),
        ("hsl(200grad, 100%, 50%)", (0, 1, 1, 1)),
        ("hwb(0 20% 20%)", (0.8, 0.2, 0.2, 1)),
        ("hwb(0 80% 80%)", (0.5, 0.5, 0.5, 1)),
    ],
)
def test_every_syntax_is_read(text: str, found: tuple[float, ...]) -> None:
    assert colour(text) == pytest.approx(found)


@pytest.mark.parametrize(
    "text",
    [
        *("", "#", "#12", "#12345", "#1234567", "#ggg", "rgb()", "rgb(1,2)", "rgb(1 2 3 4)", "rgb(1,2 3)"),
        *("rgb(a,b,c)", "hsl(x,1%,1%)", "redd", "url(#a)", "rgb(1,2,3", "none", "currentColor", "inherit"),
    ],
)
def test_anything_else_is_no_colour(text: str) -> None:
    assert colour(text) is None


def test_all_148_names_are_known() -> None:
    assert len(names()) == 148
    assert all(colour(name) is not None for name in names())


@pytest.mark.parametrize("text", ["oklch(0.5 0.1 20)", "lab(50% 1 2)", "color(display-p3 1 0 0)", "var(--brand)"])
def test_other_spaces_are_told_from_nonsense(text: str) -> None:
    assert is_other_space(text)
    assert not is_other_space("nonsense(1)")


@given(byte, byte, byte)
def test_all_spellings_of_a_colour_agree(r: int, g: int, b: int) -> None:
    found = colour(f"#{r:02x}{g:02x}{b:02X}")
    assert found == colour(f"rgb({r},{g},{b})")
    assert found == pytest.approx((r / 255, g / 255, b / 255, 1))
    h, light, s = colorsys.rgb_to_hls(r / 255, g / 255, b / 255)
    assert colour(f"hsl({h * 360:.9f} {s * 100:.9f}% {light * 100:.9f}%)") == pytest.approx(found, abs=1e-6)
