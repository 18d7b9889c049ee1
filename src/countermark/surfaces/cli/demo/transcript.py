"""What a person reads while the demo runs: commands and their output, as a terminal would have shown them.

Nothing said by a command is reworded: its lines are indented, and folded where they are wider than the page.
"""

from __future__ import annotations

import re
import shutil
import textwrap
import time
from collections.abc import Iterable, Sequence
from shlex import quote
from typing import Final, TextIO

from countermark.record.visible import visible
from countermark.surfaces.cli.terminal import paint

NARROWEST: Final = 40
RULE: Final = 80
WIDEST: Final = 100
INDENT: Final = "  "
CLIENT: Final = "scripted MCP client"

_QUIET_SECONDS: Final = 0.6
_ERASE: Final = "\r\x1b[2K"
# A word and its value stand at least two spaces apart: folded lines go on beneath the value.
_VALUE: Final = re.compile(r"\s*\S+(?: \S+)* {2,}(?=\S)")
_DEEPEST: Final = 34


class Transcript:
    """Writes to one stream; on a terminal it also says how long a command has been running."""

    def __init__(self, stream: TextIO) -> None:
        """Write for people, as wide as the terminal is, at most 100 columns; without a terminal 100."""
        self._stream = stream
        columns = shutil.get_terminal_size((WIDEST, 24)).columns
        self._width = max(NARROWEST, min(WIDEST, columns))
        self._live = stream.isatty()
        self._began = time.monotonic()
        self._waiting = False
        self._speaker = ""

    def title(self, text: str) -> None:
        """Begin a part."""
        width = min(self._width, RULE)
        self._begin("title")
        # Where it has to break, it breaks before what follows from it.
        for part in [text] if len(text) <= width else text.replace(" → ", "\n    → ").split("\n"):
            for line in fold(part, width, under=4):
                self._write(paint(line, "bold", self._stream))
        self._write(paint("─" * width, "dim", self._stream))

    def say(self, text: str) -> None:
        """Say a sentence of our own."""
        self._begin("say")
        for line in fold(visible(text), min(self._width, RULE), under=0):
            self._write(line)

    def fact(self, text: str) -> None:
        """Say what was done or seen beside a command."""
        self._begin("fact")
        for line in fold(f"* {visible(text)}", min(self._width, RULE), under=2):
            self._write(paint(line, "yellow", self._stream))

    def command(self, words: Sequence[str], *, why: str = "", also: str = "") -> None:
        """Show a command before it runs; `also` is what stands after it on its line."""
        self._begin("command")
        if why:
            self._write(paint(f"# {why}", "dim", self._stream))
        for line in fold(f"$ {' '.join(map(quote, words))}{also}", self._width, under=4):
            self._write(paint(line, "bold", self._stream))
        self._began = time.monotonic()

    def output(self, text: str) -> None:
        """Show what a command printed."""
        for line in text.rstrip("\n").split("\n") if text else ():
            for part in fold(visible(line), self._width - len(INDENT)):
                self._write(f"{INDENT}{part}".rstrip())

    def client(self, line: str, *, who: str = CLIENT) -> None:
        """Show a line of the scripted MCP client, or of whoever else asks a server."""
        if self._speaker != who:
            self._begin(who)
            self._write(paint(who, "dim", self._stream))
        self._began = time.monotonic()
        for part in fold(visible(line), self._width - len(INDENT), under=_lead(line) + 2):
            self._write(f"{INDENT}{part}")

    def block(self, text: str) -> None:
        """Show finished text as it is."""
        self._clear()
        self._stream.write(text)
        self._stream.flush()

    def tick(self) -> None:
        """Say on a terminal that a command is still at work, on a line that vanishes."""
        spent = time.monotonic() - self._began
        if self._live and spent >= _QUIET_SECONDS:
            self._stream.write(_ERASE + paint(f"{INDENT}… {spent:.0f} s", "dim", self._stream))
            self._stream.flush()
            self._waiting = True

    def _begin(self, speaker: str) -> None:
        """Leave a line free before whoever speaks now."""
        if self._speaker != "title":
            self._write("")
        self._speaker = speaker

    def _unicode(self) -> bool:
        return (self._stream.encoding or "ascii").lower().replace("-", "") in ("utf8", "utf16")

    def _clear(self) -> None:
        if self._waiting:
            self._stream.write(_ERASE)
            self._waiting = False

    def _write(self, line: str) -> None:
        self._clear()
        if not self._unicode():
            line = line.translate({ord("→"): "->", ord("←"): "<-", ord("…"): "...", ord("─"): "-"})
            line = line.encode("ascii", "backslashreplace").decode("ascii")
        self._stream.write(f"{line}\n")
        self._stream.flush()


def fold(line: str, width: int, *, under: int | None = None) -> Iterable[str]:
    """Break a line at its spaces; what does not fit goes on beneath its value, or `under` so many columns."""
    if len(line) <= width:
        return [line]
    value = _VALUE.match(line)
    depth = under if under is not None else len(value[0]) if value and value.end() <= _DEEPEST else _lead(line) + 2
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=" " * depth,
        break_long_words=True,
        break_on_hyphens=False,
        replace_whitespace=False,
        expand_tabs=False,
    )


def _lead(line: str) -> int:
    return len(line) - len(line.lstrip())
