from __future__ import annotations

import unicodedata

import hypothesis
import hypothesis.strategies as st
import pytest

from countermark.record.visible import Segment, segments, visible

EVERY_CHARACTER = st.text(st.characters(categories=None))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("logo\u202egnp.exe", "logo<U+202E>gnp.exe"),
        ("a\u200bb\u2066c", "a<U+200B>b<U+2066>c"),
        ("\x1b[2J\x00\t\r", "<U+001B>[2J<U+0000><U+0009><U+000D>"),
        ("\ud800", "<U+D800>"),
        ("Zürich → 東京\nline two", "Zürich → 東京\nline two"),
    ],
)
def test_hidden_characters_are_written_out_and_readable_ones_stay(text: str, shown: str) -> None:
    assert visible(text) == shown


@hypothesis.given(EVERY_CHARACTER)
def test_what_is_visible_can_be_coded_printed_and_shown_again_unchanged(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert visible(shown) == shown
    assert all(c == "\n" or unicodedata.category(c)[0] in "LMNPS" or unicodedata.category(c) == "Zs" for c in shown)


@hypothesis.given(st.text(st.sampled_from("#0123456789abcdefgsha:' -\n")))
def test_segments_put_together_are_the_text(text: str) -> None:
    assert "".join(segment.text for segment in segments(text)) == text


def test_a_colour_and_a_digest_are_found_and_look_alikes_are_not() -> None:
    digest = "sha256:" + "0a" * 32
    assert segments(f"#1a6cff → {digest}.") == (
        Segment("colour", "#1a6cff"),
        Segment("plain", " → "),
        Segment("digest", digest),
        Segment("plain", "."),
    )
    assert [one.kind for one in segments("kit --accept-loss mask:1")] == ["plain", "option", "plain"]
    for text in (
        "---leave",
        "a--leave",
        f"--{'x' * 40}",
        "--Leave",
        "#1a6cff0",
        "#1a6cffx",
        "x#1a6cff",
        "&#123456;",
        "#12",
        "0a" * 19,
        "0a" * 65,
    ):
        assert [segment.kind for segment in segments(text)] == ["plain"]
