"""The places where a line may break."""

from __future__ import annotations

import pytest

from countermark.typeset.breaks import has_emoji, tokens


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("Hello world", ["Hello", " ", "world"]),
        ("Hello-world", ["Hello-", "world"]),
        ("a  b", ["a", " ", " ", "b"]),
        ("a\u00a0b\ufeffc\u0085d", ["a", "\u00a0", "b", "\ufeff", "c\u0085d"]),
        ("Hello(\ud55c\uae00)", ["Hello(\ud55c", "\uae00)"]),
        ("a)(b", ["a)", "(b"]),
        ("x \u300c\u4e16\u754c\u3002\u300d", ["x", " ", "\u300c\u4e16", "\u754c\u3002\u300d"]),
        ("Price\uffe5100", ["Price", "\uffe5100"]),
        ("c\u030c", ["\u010d"]),
        ("a\U0001f30e\U0001f5fab", ["a", "\U0001f30e", "\U0001f5fa", "b"]),
        ("\U0001f1e8\U0001f1ff\U0001f1e8", ["\U0001f1e8\U0001f1ff", "\U0001f1e8"]),
        ("\U0001f44d\U0001f3fd!", ["\U0001f44d\U0001f3fd", "!"]),
        ("\U0001f3f4\U000e0067\U000e007f", ["\U0001f3f4\U000e0067\U000e007f"]),
        ("12#*", ["12#*"]),
        ("", []),
    ],
)
def test_a_line_is_cut_into_what_may_not_be_broken(line: str, found: list[str]) -> None:
    assert tokens(line) == found


def test_a_digit_is_no_emoji_and_a_picture_within_a_word_is() -> None:
    assert not has_emoji("1")
    assert has_emoji("a\u00a9")
