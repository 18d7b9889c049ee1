"""Line breaks against those of the editor's own `wrapText`; benchmarks/text_width.py asks it anew."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countermark.typeset import measure, wrap

OBSERVED = [
    ("Hello there my dear friend", 5, 20, 90, "Hello\nthere my\ndear\nfriend"),
    ("well-known state-of-the-art", 5, 20, 100, "well-known\nstate-of-\nthe-art"),
    ("Supercalifragilistic word", 5, 20, 70, "Superc\nalifragi\nlistic\nword"),
    ("one  two   three    ", 5, 20, 50, "one\ntwo\nthre\ne    "),
    ("a\n\nb c d e f g", 5, 20, 30, "a\n\nb c\nd\ne f\ng"),
    ("one ", 5, 20, 30, "on\ne "),
    ("one two     ", 5, 20, 70, "one\ntwo    "),
    ("c\u030cau c\u030cau", 1, 20, 40, "\u010dau\n\u010dau"),
    ("(a)[b]{c} x/y", 6, 20, 30, "(a)\n[b]\n{c}\nx/y"),
    ("ab\u00a0cd ef", 5, 20, 45, "ab\ncd\nef"),
    ("word", 5, 20, 0, "w\no\nr\nd"),
    ("https://example.org/a-b", 3, 16, 60, "https:\n//exam\nple.or\ng/a-b"),
    ("A-A x", 5, 20, 34.86, "A-\nA x"),  # measured as one, "A-A" would fit
    ("fi fi fi", 7, 28, 40, "fi\nfi\nfi"),
]
CJK = [
    (
        "\u4e16\u754c\u3002Hello\u300c\u5f15\u7528\u300d\u7d42",
        60,
        "\u4e16\u754c\u3002\nHello\n\u300c\u5f15\n\u7528\u300d\u7d42",
    ),
    ("Hello(\ud55c\uae00)\uffe5100", 70, "Hello(\n\ud55c\uae00)\n\uffe5100"),
]
EMOJI = "a\U0001f468\u200d\U0001f469\u200d\U0001f467b \U0001f44d\U0001f3fdx"


@pytest.mark.promise("typeset.wrap.same")
@pytest.mark.parametrize(("text", "family", "size", "width", "lines"), OBSERVED)
def test_lines_break_where_the_editor_breaks_them(
    text: str, family: int, size: float, width: float, lines: str
) -> None:
    assert wrap(text, family, size, width) == lines


@pytest.mark.promise("typeset.wrap.same")
@pytest.mark.usefixtures("with_cjk")
@pytest.mark.parametrize(("text", "width", "lines"), CJK)
def test_cjk_breaks_where_the_editor_breaks_it(text: str, width: float, lines: str) -> None:
    assert wrap(text, 5, 20, width) == lines


def test_an_emoji_of_several_characters_is_never_cut() -> None:
    lines = wrap(EMOJI, 5, 20, 20).split("\n")
    assert lines == ["a", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "b", "\U0001f44d\U0001f3fd", "x"]


@pytest.mark.parametrize("width", [-1, float("nan"), float("inf")])
def test_a_width_that_is_none_changes_nothing(width: float) -> None:
    assert wrap("Hello there my dear friend", 5, 20, width) == "Hello there my dear friend"


TEXTS = st.text(st.sampled_from("aMi -.\n\u010d\u041f\u00e9(){}"), max_size=60)


@given(TEXTS, st.sampled_from([1, 3, 5, 6, 7, 8]), st.floats(0, 300))
def test_wrapping_loses_nothing_but_white_space(text: str, family: int, width: float) -> None:
    assert "".join(wrap(text, family, 20, width).split()) == "".join(text.split())


@given(TEXTS, st.floats(0, 300))
def test_a_line_is_wider_than_asked_only_by_its_last_character_or_kerning(text: str, width: float) -> None:
    for line in wrap(text, 8, 20, width).split("\n"):  # without kerning: Comic Shanns
        found = measure(line, 8, 20)
        assert found.approximate or not line or len(line) == 1 or found.width <= width + 1e-9
