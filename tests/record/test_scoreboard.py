from __future__ import annotations

import io
import re
import unicodedata

import hypothesis
import hypothesis.strategies as st
import pytest

from countermark.record.scoreboard import WIDTH, Look, Moment, Row, look_of, scoreboard

PLAIN = Look(colour=False, unicode=True)
ALL_HELD = [Row(moment, "It happened.", "exit 4", held=True) for moment in Moment]


class Terminal(io.StringIO):
    """A stream that says it is a terminal, in an encoding of one's choice."""

    def __init__(self, encoding: str | None = "utf-8", *, terminal: bool = True) -> None:
        super().__init__()
        self._encoding = encoding
        self._terminal = terminal

    @property
    def encoding(self) -> str | None:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return self._terminal


def test_the_board_says_the_four_moments_in_the_words_of_the_design() -> None:
    said = " ".join(scoreboard(ALL_HELD, PLAIN).split())
    for words in (
        "(a) asked for more than granted held → refused",
        "(b) a person edits meanwhile held → the stale writer is refused, the person's work stands",
        "(c) killed, or the reply lost held → no second effect",
        "(d) one byte of the result changed held → `receipt verify` names the file",
        "4 of 4 held",
    ):
        assert words in said


def test_a_moment_that_was_not_played_does_not_count_as_held() -> None:
    board = scoreboard(ALL_HELD[:3], PLAIN)
    assert "not played" in board
    assert board.endswith("3 of 4 held\n")


def test_a_moment_holds_only_if_it_held_every_time_it_was_played() -> None:
    rows = [*ALL_HELD, Row(Moment.REPLY_LOST, "Killed again.", "2 lines", held=False)]
    board = scoreboard(rows, PLAIN)
    assert "did not hold" in board
    assert board.endswith("3 of 4 held\n")


@hypothesis.given(happened=st.text(), evidence=st.text(), colour=st.booleans(), code=st.booleans())
def test_no_text_leaves_the_board_or_steers_the_terminal(
    *, happened: str, evidence: str, colour: bool, code: bool
) -> None:
    rows = [Row(Moment.REPLY_LOST, happened, evidence, held=True)]
    board = re.sub(r"\x1b\[[0-9]+m", "", scoreboard(rows, Look(colour, code)))
    assert all(len(line) <= WIDTH for line in board.split("\n"))
    assert all(c == "\n" or unicodedata.category(c)[0] in "LMNPS" or unicodedata.category(c) == "Zs" for c in board)
    if not code:
        assert board.isascii()


def test_an_escape_sequence_in_evidence_is_shown_not_obeyed() -> None:
    board = scoreboard(
        [Row(Moment.REPLY_LOST, "\x1b[2J", "\x1b]0;owned\x07", held=True)], Look(colour=True, unicode=True)
    )
    assert "<U+001B>[2J" in board
    assert "\x1b[2J" not in board
    assert "\x07" not in board


@pytest.mark.parametrize(
    ("stream", "environ", "colour"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (Terminal(terminal=False), {}, False),
    ],
)
def test_colour_is_for_terminals_that_do_not_refuse_it(
    stream: Terminal, environ: dict[str, str], *, colour: bool
) -> None:
    look = look_of(stream, environ)
    assert look.colour is colour
    assert ("\x1b" in scoreboard(ALL_HELD, look)) is colour


@pytest.mark.parametrize(("encoding", "code"), [("utf-8", True), ("latin-1", False), (None, False), ("no-such", False)])
def test_signs_fall_back_to_ascii_where_they_cannot_be_coded(encoding: str | None, *, code: bool) -> None:
    look = look_of(Terminal(encoding), {})
    assert look.unicode is code
    scoreboard(ALL_HELD, look).encode(encoding if encoding in {"utf-8", "latin-1"} else "ascii")
