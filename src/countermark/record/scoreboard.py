"""The four moments that every demo plays, in the same words, as text for a terminal (design §1)."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, TextIO

from countermark.record.visible import visible

WIDTH: Final = 80
_INDENT: Final = "      "
_RESET: Final = "\x1b[0m"
_BOLD: Final = "\x1b[1m"
_DIM: Final = "\x1b[2m"
_GREEN: Final = "\x1b[32m"
_RED: Final = "\x1b[31m"


class Moment(Enum):
    """A moment of the demo; the value is what it is called on every scoreboard."""

    BEYOND_THE_GRANT = "asked for more than granted → refused"
    A_PERSON_EDITS = "a person edits meanwhile → the stale writer is refused, the person's work stands"
    REPLY_LOST = "killed, or the reply lost → no second effect"
    ONE_BYTE_CHANGED = "one byte of the result changed → `receipt verify` names the file"


@dataclass(frozen=True, slots=True)
class Row:
    """What happened at one moment, and the line that shows it: the output of a command or a count from a file."""

    moment: Moment
    happened: str
    evidence: str
    held: bool


@dataclass(frozen=True, slots=True)
class Look:
    """What the terminal can show."""

    colour: bool
    unicode: bool


def look_of(stream: TextIO, environ: Mapping[str, str]) -> Look:
    """Return colour for a terminal that does not refuse it (no-color.org, TERM=dumb), Unicode where it can be coded."""
    colour = stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    try:
        "✓✗→─…".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return Look(colour, unicode=False)
    return Look(colour, unicode=True)


def scoreboard(rows: Sequence[Row], look: Look) -> str:
    """Return the board, 80 columns wide, ending in a line feed.

    A moment without a row was not played and does not count as held; one that was played twice holds if both did.
    """
    rule = _paint(("─" if look.unicode else "-") * WIDTH, _DIM, look)
    lines = [_paint("The four moments", _BOLD, look), rule]
    held = 0
    for letter, moment in zip("abcd", Moment, strict=True):
        played = [row for row in rows if row.moment is moment]
        stands = bool(played) and all(row.held for row in played)
        held += stands
        lines += [*_moment(letter, moment, played, look, stands=stands), ""]
    colour = _GREEN if held == len(Moment) else _RED
    lines[-1] = rule
    lines.append(_paint(f"{held} of {len(Moment)} held", _BOLD + colour, look))
    return "\n".join(lines) + "\n"


def _moment(letter: str, moment: Moment, played: Sequence[Row], look: Look, *, stands: bool) -> list[str]:
    if not played:
        mark, word, colour = "-", "not played", _DIM
    elif stands:
        mark, word, colour = "✓" if look.unicode else "+", "held", _GREEN
    else:
        mark, word, colour = "✗" if look.unicode else "x", "did not hold", _RED
    when, outcome = moment.value.split(" → ")
    gap = " " * (WIDTH - len(_INDENT) - len(when) - len(word))
    lines = [f"{_paint(mark, colour, look)} ({letter}) {_paint(when, _BOLD, look)}{gap}{_paint(word, colour, look)}"]
    lines += [_INDENT + _paint(line, _BOLD, look) for line in _wrap(f"→ {outcome}", look)]
    for row in played:
        lines += [_INDENT + line for line in _wrap(row.happened, look)]
        lines += [_INDENT + _paint(line, _DIM, look) for line in _wrap(row.evidence, look)]
    return lines


def _wrap(text: str, look: Look) -> list[str]:
    """Break other people's text at the board's edge, with nothing in it that steers the terminal."""
    shown = visible(text)
    if not look.unicode:
        shown = shown.replace("→", "->").replace("…", "...").encode("ascii", "backslashreplace").decode("ascii")
    return [
        line
        for paragraph in shown.split("\n")
        for line in textwrap.wrap(paragraph, WIDTH - len(_INDENT), break_on_hyphens=False)
    ]


def _paint(text: str, colour: str, look: Look) -> str:
    return f"{colour}{text}{_RESET}" if look.colour else text
