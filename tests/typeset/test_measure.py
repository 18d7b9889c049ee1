"""Widths against those that Chromium's canvas gave for the editor's own package; benchmarks/text_width.py asks anew."""

from __future__ import annotations

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.typeset import Measured, measure, normalized

OBSERVED = [
    ("DB", 5, 20, 30.8200),
    ("DB", 5, 21.37, 32.9149),
    ("Hello there my friend", 5, 20, 199.5998),
    ("AVATAR To Wa", 5, 20, 148.2399),
    ("AVATAR To Wa", 5, 21.37, 158.3118),
    ("office fi", 5, 20, 78.5799),
    ("\u041f\u0440\u0438\u0432\u0435\u0442 \u201cTa\u201d", 5, 20, 114.0999),
    ("e\u0301", 5, 20, 11.0200),
    ("T\u200da", 5, 21.37, 28.4711),
    ("T\u200ba", 5, 20, 28.6600),
    ("a\u2003b", 5, 20, 42.6200),
    ("a\tb", 5, 20, 86.6200),
    ("\u0395\u03bb\u03bb\u03ac\u03b4\u03b1 \u010d", 5, 21.37, 91.3970),
    ("AVATAR To Wa", 6, 21.37, 151.6051),
    ("\u0436 \u201cq", 6, 20, 40.2000),
    ("\u1ea1 \u1ebf", 6, 21.37, 28.3653),
    ("\u0162\u0102", 6, 20, 25.2600),  # both pieces that have the second one; the one declared last is asked first
    ("\u011eW\u014do", 6, 20, 57.8600),  # the piece of the W draws the o with a macron as two glyphs
    ("\u202f", 6, 20, 2.6100),
    ("\u3000\u3000;\ufeff", 1, 21.37, 48.2507),
    ("T\u0435\u0441\u0442 \u00bd", 1, 21.37, 79.3503),
    ("-> != x\u0301", 3, 21.37, 87.6068),
    ("Tomorrow \u2020", 7, 21.37, 106.8182),
    ("\u2192 \u03bb \u2264", 8, 21.37, 58.5890),
    ("A V AV", 9, 21.37, 67.2687),
]


@pytest.mark.promise("typeset.width.exact")
@pytest.mark.parametrize(("text", "family", "size", "width"), OBSERVED)
def test_a_width_is_what_chromium_draws(text: str, family: int, size: float, width: float) -> None:
    found = measure(text, family, size)
    assert found.width == pytest.approx(width, abs=0.001)
    assert (found.approximate, found.reason) == (False, "")


@pytest.mark.promise("typeset.width.exact")
@pytest.mark.usefixtures("with_cjk")
@pytest.mark.parametrize(
    ("text", "width"), [("\uae00\u201cq", 37.5200), ("\u4e16\u201cq", 38.0200), ("\u4e16\u754c", 40.0)]
)
def test_cjk_is_exact_with_the_editor_s_pieces(text: str, width: float) -> None:
    found = measure(text, 5, 20)
    assert found.width == pytest.approx(width, abs=0.001)
    assert not found.approximate


@pytest.mark.promise("typeset.width.said")
@pytest.mark.usefixtures("without_cjk")
def test_cjk_without_its_pieces_is_approximate_and_says_which_piece() -> None:
    found = measure("ab \u4e16\u754c", 5, 20)
    assert found.approximate
    assert "Xiaolai/Xiaolai-Regular-" in found.reason
    assert "\u4e16 (U+4E16)" in found.reason
    assert found.width == pytest.approx(measure("ab ", 5, 20).width + 40)


@pytest.mark.usefixtures("with_cjk")
def test_only_excalifont_falls_back_to_the_cjk_family() -> None:
    assert not measure("\u4e16", 5, 20).approximate
    assert measure("\u4e16", 6, 20).approximate


@pytest.mark.promise("typeset.width.said")
@pytest.mark.parametrize(
    ("text", "family", "named"),
    [
        ("a \u2192 b", 5, "\u2192 (U+2192)"),
        ("\U0001f600 ok", 5, "U+1F600"),
        ("c\u030c", 5, "U+0063 U+030C"),
        ("x\u0301", 6, "U+0078 U+0301"),
        ("\u00dd\u0323", 6, "U+00DD U+0323"),
        ("\u202f", 8, "U+202F"),
        ("\u00a9\ufe0f", 5, "U+00A9 U+FE0F"),
        ("\x07", 5, "U+0007"),
        ("\u013d", 7, "U+013D"),
    ],
)
def test_a_character_of_the_machine_s_fonts_is_named(text: str, family: int, named: str) -> None:
    found = measure(text, family, 20)
    assert found.approximate
    assert named in found.reason
    assert found.width > 0


def test_a_family_of_emoji_is_one_picture_wide() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert measure(family, 5, 20).width == measure("\U0001f600", 5, 20).width


def test_what_cannot_be_drawn_composed_is_assumed_as_wide_as_composed() -> None:
    assert measure("c\u030c", 5, 20).width == measure("\u010d", 5, 20).width


@pytest.mark.promise("typeset.width.said")
@pytest.mark.parametrize(("family", "said"), [(2, "font of the reader's machine"), (4, "no font family"), (99, "99")])
def test_a_family_that_is_not_bundled_is_measured_with_another_and_said_so(family: int, said: str) -> None:
    found = measure("Hello", family, 20)
    assert found.approximate
    assert said in found.reason
    assert found.width == measure("Hello", 9, 20).width


def test_the_width_is_the_widest_line_s_and_the_height_counts_the_lines() -> None:
    assert measure("a\nHello\n", 5, 20) == Measured(measure("Hello", 5, 20).width, 75.0, approximate=False, reason="")
    assert measure("a", 5, 20, 2).height == 40
    assert measure("a", 6, 20).height == pytest.approx(27)


def test_an_empty_text_is_one_space_wide() -> None:
    assert measure("", 5, 20).width == measure(" ", 5, 20).width == pytest.approx(8)


def test_line_ends_and_tabs_count_as_the_editor_types_them() -> None:
    assert normalized("a\r\nb\rc\td") == "a\nb\nc        d"
    assert measure("a\r\nb\rc", 5, 20).height == measure("a\nb\nc", 5, 20).height
    assert measure("\t", 5, 20).width == measure(" " * 8, 5, 20).width


def test_a_font_size_counts_in_sixty_fourths_of_a_pixel() -> None:
    assert measure("aaaa", 1, 20 + 1 / 65).width == measure("aaaa", 1, 20).width
    assert measure("aaaa", 1, 20 + 1 / 64).width > measure("aaaa", 1, 20).width


def test_a_long_text_is_the_sum_of_its_words() -> None:
    word, space = measure("Hello", 5, 20).width, measure(" ", 5, 20).width
    assert measure(" ".join(["Hello"] * 4000), 5, 20).width == pytest.approx(4000 * word + 3999 * space)


@pytest.mark.parametrize("size", [0, -1, float("nan"), float("inf")])
def test_a_size_that_is_no_positive_number_is_refused(size: float) -> None:
    with pytest.raises(CountermarkError, match="positive numbers") as refused:
        measure("a", 5, size)
    assert refused.value.code == "input_invalid"
    with pytest.raises(CountermarkError, match="positive numbers"):
        measure("a", 5, 20, size)
