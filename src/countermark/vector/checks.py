"""Observations of what a kit holds, made with other engines than those that made it (seed 1 §13).

Nothing here imports the drawer, the writer or Skia. A check whose engine is missing is `unavailable`, never `passed`;
a check that cannot say anything about a board is `skipped` with the reason. Figures are integers and decimal strings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.kernel.proof import Engine, Status, Verdict
from countermark.raster import judge
from countermark.raster.difference import Difference, measure
from countermark.raster.picture import Picture, decode_png
from countermark.vector import identity

SHARE_OFF: Final = "0.01"
SHARE_OFF_PER_MILLE: Final = 10
"""At most 1 % of the painted pixels may be off: the bar of the resvg suite (research 7.5) and of this kit."""

SHARE_SOURCE: Final = "research 7.5: a picture passes with at most 1 % of its painted pixels off by more than 48/255"

SMALLEST_COMPARED: Final = 512
"""Below this side in pixels anti-aliasing is the difference: one edge pixel in 16 is 6 %, and the engines differ."""

_LOUD: Final = frozenset({"script", "foreignObject", "image", "a", "animate", "animateTransform", "set", "style"})
_NAMED: Final = 20
_UNAVAILABLE: Final = frozenset({"part_unavailable", "runtime_missing", "child_failed", "deadline_exceeded"})


class Render(Protocol):
    """Renders an SVG into width x height pixels: `judge.render`, or `apart.render` with a way to start children."""

    def __call__(
        self, svg: bytes, width: int, height: int, *, unstated: tuple[float, float] | None = None
    ) -> judge.Judged:
        """Return the picture and what was not observed."""
        ...


@dataclass(frozen=True, slots=True)
class Board:
    """One board's files as they lie in the stage: id, side lengths in pixels, bytes, and who made each."""

    id: str
    width: int
    height: int
    png: bytes | None
    svg: bytes | None
    png_maker: Engine
    svg_maker: Engine

    @property
    def comparable(self) -> bool:
        """Whether the board is large enough that differing pixels mean a differing picture."""
        return max(self.width, self.height) >= SMALLEST_COMPARED


def pillow() -> Engine:
    """Return the identity of the PNG decoder."""
    return identity.distribution("pillow")


def resvg() -> Engine:
    """Return the identity of the judge renderer."""
    found = identity.distribution(judge.DISTRIBUTION)
    return Engine(f"resvg {judge.engine_version()} ({found.label})", found.digest)


def png_decodes(board: Board, *, required: bool = True) -> Verdict:
    """Decode a board's PNG with Pillow: whole, of the board's size, RGBA with eight bits."""
    look = _Look("png_decodes", board.png_maker, (board.png,), required=required)

    def observe() -> Verdict:
        picture = decode_png(_given(board.png))
        painted = int((picture.rgba[..., 3] > 0).sum())
        measured = {
            "width": picture.width,
            "height": picture.height,
            "mode": picture.mode,
            "alpha": int(picture.has_alpha),
            "painted": painted,
        }
        threshold = {"width": board.width, "height": board.height, "mode": "RGBA", "alpha": 1}
        wrong = [name for name, wanted in threshold.items() if measured[name] != wanted]
        reason = ", ".join(f"{name} is {measured[name]}, not {threshold[name]}" for name in wrong)
        return look.verdict(
            measured, threshold, passed=not wrong, reason=reason, source="the board's own size, and alpha"
        )

    return look.run(pillow, observe)


def svg_structure(board: Board, *, required: bool = True) -> Verdict:
    """Parse a board's SVG with expat: well-formed, of the board's size, nothing that runs or leaves the file."""
    look = _Look("svg_structure", board.svg_maker, (board.svg,), required=required)

    def observe() -> Verdict:
        shape = judge.outline(_given(board.svg))
        loud = [f"<{name}>" for name in shape.elements if name in _LOUD]
        measured: dict[str, Any] = {
            "width": _plain(shape.width),
            "height": _plain(shape.height),
            "view_box": int(shape.view_box is not None),
            "elements": sum(shape.elements.values()),
            "outside": len(shape.refused) + len(loud),
        }
        threshold = {"width": board.width, "height": board.height, "view_box": 1, "outside": 0}
        reasons = [*shape.refused, *loud]
        reasons += [
            f"{name} is {measured[name]}, not {wanted}"
            for name, wanted in threshold.items()
            if name != "outside" and measured[name] != wanted
        ]
        source = "the board's own size; research 1.5 and 1.6: no image, script, style sheet or outside reference"
        return look.verdict(measured, threshold, passed=not reasons, reason="; ".join(reasons[:3]), source=source)

    return look.run(identity.interpreter, observe)


def svg_renders(board: Board, *, required: bool = True, larger: Verdict | None = None) -> Verdict:
    """Render a board's SVG with resvg and compare it with the board's PNG.

    A small board passes when the same document passed `larger`, and its own SVG renders and paints something exactly
    when its PNG does.
    """
    look = _Look("svg_renders", board.svg_maker, (board.svg, board.png), required=required)

    def observe() -> Verdict:
        drawn = decode_png(_given(board.png))
        judged = judge.render(_given(board.svg), board.width, board.height)
        if board.comparable:
            return look.compared(drawn, judged)
        return look.small(drawn, judged, larger)

    return look.run(resvg, observe)


def original(
    source: bytes | None,
    board: Board,
    *,
    required: bool = True,
    larger: Verdict | None = None,
    unstated: tuple[float, float] | None = None,
    render: Render = judge.render,
) -> Verdict:
    """Render the original SVG with resvg, fitted as the board is, and compare it with the PNG of the native file.

    `render` draws the original; a judge that was stopped or died leaves the check `unavailable`. The PNG has to be
    drawn from the document as it was saved and opened again. Without an original the check is skipped; a small board
    passes with `larger`, as in `svg_renders`. `unstated` is the artboard's size, for an original that states none.
    """
    look = _Look("original", board.png_maker, (source, board.png), required=required)
    if source is None:
        return look.without("the document has no original SVG")

    def observe() -> Verdict:
        drawn = decode_png(_given(board.png))
        judged = render(source, board.width, board.height, unstated=unstated)
        if board.comparable:
            return look.compared(drawn, judged)
        return look.small(drawn, judged, larger)

    return look.run(resvg, observe)


def digests(
    files: Mapping[str, bytes], expected: Mapping[str, str], maker: Engine, *, required: bool = True
) -> Verdict:
    """Hash the staged bytes again and compare with the digests their maker gave, by name."""
    look = _Look("digests", maker, tuple(files[name] for name in sorted(files)), required=required)

    def observe() -> Verdict:
        missing = sorted(expected.keys() - files.keys())
        extra = sorted(files.keys() - expected.keys())
        changed = sorted(name for name in files.keys() & expected.keys() if sha256_hex(files[name]) != expected[name])
        wrong = [
            *(f"{name} is missing" for name in missing),
            *(f"{name} was not announced" for name in extra),
            *(f"{name} is not what its maker announced" for name in changed),
        ]
        measured = {"files": len(files), "wrong": len(wrong)}
        threshold = {"files": len(expected), "wrong": 0}
        return look.verdict(
            measured, threshold, passed=not wrong, reason="; ".join(wrong[:3]), source="the maker's answer"
        )

    return look.run(identity.interpreter, observe)


def losses(lost: Sequence[str], unaccepted: Sequence[str], maker: Engine, subject: bytes) -> Verdict:
    """Hold what an import or a drawing named as lost against what a person accepted by name.

    Passes when every loss is accepted; the caller puts what was accepted under *not checked* and asks a person. The
    observer reads the report `subject` only: what a report does not name shows in the check `original`.
    """
    look = _Look("losses", maker, (subject,), required=True)

    def observe() -> Verdict:
        measured = {"lost": len(lost), "unaccepted": len(unaccepted)}
        named = ", ".join(sorted(unaccepted)[:_NAMED])
        reason = f"not carried over: {named} (a person may answer for each by name: --accept-loss)" if named else ""
        source = "nothing disappears silently"
        return look.verdict(measured, {"unaccepted": 0}, passed=not unaccepted, reason=reason, source=source)

    return look.run(lambda: identity.sources("countermark checks", "vector/checks.py"), observe)


class _Look:
    """One check in the making: its name, who made the subjects, and how its verdict is put together."""

    def __init__(self, check: str, maker: Engine, subjects: tuple[bytes | None, ...], *, required: bool) -> None:
        self._check = check
        self._required = required
        self._maker = maker
        self._subjects = tuple(sha256_hex(data) for data in subjects if data is not None)
        self._observer = Engine("none", "")

    def run(self, observer: Callable[[], Engine], observe: Callable[[], Verdict]) -> Verdict:
        """Observe, and turn a missing engine into `unavailable` and a broken subject into `failed`."""
        try:
            self._observer = observer()
            return observe()
        except CountermarkError as error:
            status = Status.UNAVAILABLE if error.code in _UNAVAILABLE else Status.FAILED
            return self._made(status, {}, {}, error.sentence, "")

    def verdict(
        self,
        measured: Mapping[str, Any],
        threshold: Mapping[str, Any],
        *,
        passed: bool,
        reason: str = "",
        source: str = "",
    ) -> Verdict:
        return self._made(Status.PASSED if passed else Status.FAILED, measured, threshold, reason, source)

    def without(self, reason: str) -> Verdict:
        return self._made(Status.SKIPPED, {}, {}, reason, "")

    def compared(self, drawn: Picture, judged: judge.Judged) -> Verdict:
        found = measure(drawn, judged.picture)
        passed = found.within(SHARE_OFF_PER_MILLE)
        reason = "" if passed else _said(found)
        measured = _figures(found) | _unobserved(judged)
        return self.verdict(measured, {"share": SHARE_OFF}, passed=passed, reason=reason, source=SHARE_SOURCE)

    def small(self, drawn: Picture, judged: judge.Judged, larger: Verdict | None) -> Verdict:
        found = measure(drawn, judged.picture)
        measured = _figures(found) | _unobserved(judged)
        threshold = {"larger": "passed"}
        if larger is None or larger.status is not Status.PASSED:
            status = "absent" if larger is None else str(larger.status)
            reason = f"the same document at {SMALLEST_COMPARED} pixels or more is {status}"
            measured |= {"larger": status}
            return self.verdict(measured, threshold, passed=False, reason=reason, source=SHARE_SOURCE)
        both = bool(drawn.rgba[..., 3].any()) == bool(judged.picture.rgba[..., 3].any())
        reason = "" if both else "one of the two pictures is blank"
        measured |= {"larger": "passed"}
        return self.verdict(measured, threshold, passed=both, reason=reason, source=SHARE_SOURCE)

    def _made(
        self, status: Status, measured: Mapping[str, Any], threshold: Mapping[str, Any], reason: str, source: str
    ) -> Verdict:
        return Verdict(
            check=self._check,
            status=status,
            required=self._required,
            maker=self._maker,
            observer=self._observer,
            subjects=self._subjects,
            measured=dict(measured),
            threshold=dict(threshold),
            reason=reason,
            source=source,
        )


def _given(data: bytes | None) -> bytes:
    if data is None:
        raise CountermarkError(
            "artifact_invalid",
            "The file that this check looks at is not there.",
            next_action="Export the board in both formats.",
        )
    return data


def _figures(found: Difference) -> dict[str, int | str]:
    figures: dict[str, int | str] = {
        "painted": found.painted,
        "off": found.off,
        "share": found.share,
        "max_delta": found.max_delta,
    }
    if found.worst_box is not None:
        figures["worst_box"] = ",".join(str(value) for value in found.worst_box)
    return figures


def _unobserved(judged: judge.Judged) -> dict[str, str]:
    return {"unobserved": "; ".join(judged.unobserved)} if judged.unobserved else {}


def _said(found: Difference) -> str:
    share = f"{found.off} of {found.painted} painted pixels are off by more than 48/255"
    x, y, width, height = found.worst_box or (0, 0, 0, 0)
    return f"{share}, most of them in the {width} x {height} pixels at ({x}, {y})"


def _plain(value: float) -> int | str:
    return int(value) if value == int(value) else repr(value)
