"""The judge in a process of its own, with a deadline: for drawings that came from elsewhere.

A file of a few hundred bytes can keep any renderer busy for ever (masks within masks, turbulence without end), and
resvg lets no other thread of its process run meanwhile: nothing here could stop it, not even Ctrl-C.
`python -m countermark.raster.apart ASKED` reads one SVG from standard input and answers with a line of JSON and the
PNG, or with a line that holds the error; ASKED is a JSON object with the arguments of `judge.draw`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import countermark
from countermark.kernel.adapter import Launcher
from countermark.kernel.canon import parse_strict
from countermark.kernel.clock import Clock
from countermark.kernel.errors import CountermarkError
from countermark.kernel.launch import Child, Expired
from countermark.raster import judge
from countermark.raster.picture import decode_png

SECONDS: Final = 120
"""Of 141 real logos at 1,024 pixels the slowest took 28 seconds on two busy cores, all others less than 5."""

_GRACE_SECONDS: Final = 0.5


def render(
    launch: Launcher,
    clock: Clock,
    svg: bytes,
    width: int,
    height: int,
    *,
    unstated: tuple[float, float] | None = None,
    seconds: float = SECONDS,
) -> judge.Judged:
    """Render an SVG as `judge.render` does, in a child that is stopped after `seconds` (see `draw`)."""
    data, unobserved = draw(launch, clock, svg, {"width": width, "height": height, "unstated": unstated}, seconds)
    return judge.Judged(decode_png(data), unobserved)


def draw(
    launch: Launcher, clock: Clock, svg: bytes, asked: Mapping[str, Any], seconds: float = SECONDS
) -> tuple[bytes, tuple[str, ...]]:
    """Return what `judge.draw` returns for an SVG and these arguments, from a child that is stopped after `seconds`.

    Raise what `judge.draw` raises, `deadline_exceeded` when the time is over, and `child_failed` when the child ended
    without an answer.
    """
    deadline = clock.monotonic() + seconds
    child = launch(
        [sys.executable, "-P", "-m", __name__, json.dumps(asked)],
        env={"PYTHONPATH": str(Path(countermark.__path__[0]).parent)},
    )
    try:
        said = _answer(child, svg, deadline)
    finally:
        child.close()
    if said is None:
        raise CountermarkError(
            "deadline_exceeded",
            f"The judge had not drawn the picture after {seconds:g} seconds and was stopped.",
            next_action="Look for filters, patterns and masks within masks in the drawing, and simplify them.",
        )
    head, _, data = said.partition(b"\n")
    try:
        facts = parse_strict(head)
        if "error" in facts:
            raise _told(facts["error"])
        return data, tuple(facts["unobserved"])
    except (KeyError, TypeError) as error:
        raise _silent() from error


def _answer(child: Child, svg: bytes, deadline: float) -> bytes | None:
    """Return what the child printed, None when the deadline came first."""
    child.send(svg, deadline)
    child.end_input()
    if isinstance(child.wait(deadline), Expired):
        child.stop(_GRACE_SECONDS)
        return None
    if not child.output:
        raise _silent()
    return child.output


def _told(wire: Any) -> CountermarkError:
    return CountermarkError(wire["code"], wire["message"], next_action=wire["next"], details=wire["details"])


def _silent() -> CountermarkError:
    return CountermarkError(
        "child_failed",
        "The judge ended without a picture.",
        next_action="Simplify the drawing; if it fails again, keep the file and report it.",
    )


def main(words: list[str]) -> None:
    """Answer for one picture over standard input and output."""
    asked: dict[str, Any] = json.loads(words[0])
    svg = sys.stdin.buffer.read(judge.MAX_SVG_BYTES + 1)
    try:
        data, unobserved = judge.draw(svg, asked.pop("width"), asked.pop("height"), **asked)
        head: dict[str, Any] = {"unobserved": unobserved}
    except CountermarkError as error:
        data, head = b"", {"error": error.as_json()}
    sys.stdout.buffer.write(json.dumps(head).encode("ascii") + b"\n" + data)


if __name__ == "__main__":
    main(sys.argv[1:])
