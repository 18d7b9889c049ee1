"""Observations of what a kit holds, made with other engines than those that made it (seed 1 §13).

Nothing here imports the drawer, the writer or Skia. A check whose engine is missing is `unavailable`, never `passed`;
a check that cannot say anything about a board is `skipped` with the reason. Figures are integers and decimal strings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from countermark.kernel.canon import sha256_hex
from countermark.kernel.proof import Engine, Verdict
from countermark.raster import judge
from countermark.raster.difference import Rgb
from countermark.raster.picture import Picture, decode_png
from countermark.vector import identity
from countermark.vector.judged import png_picture, svg_picture
from countermark.vector.look import SMALLEST_COMPARED, Look, given

_LOUD: Final = frozenset({"script", "foreignObject", "a", "animate", "animateTransform", "set", "style"})
_NAMED: Final = 20


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
    opaque: bool = False

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
    """Decode a board's PNG with Pillow: whole, of the board's size, eight bits, with alpha unless it is opaque."""
    look = Look("png_decodes", board.png_maker, (board.png,), required=required)

    def observe() -> Verdict:
        picture = decode_png(given(board.png))
        painted = int((picture.rgba[..., 3] > 0).sum())
        measured = {
            "width": picture.width,
            "height": picture.height,
            "mode": picture.mode,
            "alpha": int(picture.has_alpha),
            "painted": painted,
        }
        mode = "RGB" if board.opaque else "RGBA"
        threshold = {"width": board.width, "height": board.height, "mode": mode, "alpha": int(not board.opaque)}
        wrong = [name for name, wanted in threshold.items() if measured[name] != wanted]
        reason = ", ".join(f"{name} is {measured[name]}, not {threshold[name]}" for name in wrong)
        return look.verdict(
            measured, threshold, passed=not wrong, reason=reason, source="the board's own size, and alpha"
        )

    return look.run(pillow, observe)


def svg_structure(board: Board, *, required: bool = True) -> Verdict:
    """Parse a board's SVG with expat: well-formed, of the board's size, nothing that runs or leaves the file."""
    look = Look("svg_structure", board.svg_maker, (board.svg,), required=required)

    def observe() -> Verdict:
        shape = judge.outline(given(board.svg))
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
        source = "the board's own size; research 1.5 and 1.6: no script, style sheet or outside reference"
        return look.verdict(measured, threshold, passed=not reasons, reason="; ".join(reasons[:3]), source=source)

    return look.run(identity.interpreter, observe)


def svg_renders(board: Board, *, required: bool = True, larger: Verdict | None = None) -> Verdict:
    """Render a board's SVG with resvg and compare it with the board's PNG.

    A small board passes when the same document passed `larger`, and its own SVG renders and paints something exactly
    when its PNG does.
    """
    look = Look("svg_renders", board.svg_maker, (board.svg, board.png), required=required)

    def observe() -> Verdict:
        drawn = png_picture(given(board.png))
        judged = svg_picture(given(board.svg), board.width, board.height)
        if board.comparable:
            return look.compared(drawn, judged, ground=_ground(drawn) if board.opaque else None)
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
    look = Look("original", board.png_maker, (source, board.png), required=required)
    if source is None:
        return look.without("the document has no original SVG")

    def observe() -> Verdict:
        drawn = decode_png(given(board.png))
        judged = render(source, board.width, board.height, unstated=unstated)
        if board.comparable:
            return look.compared(drawn, judged)
        return look.small(drawn, judged, larger)

    return look.run(resvg, observe)


def digests(
    files: Mapping[str, bytes], expected: Mapping[str, str], maker: Engine, *, required: bool = True
) -> Verdict:
    """Hash the staged bytes again and compare with the digests their maker gave, by name."""
    look = Look("digests", maker, tuple(files[name] for name in sorted(files)), required=required)

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
    look = Look("losses", maker, (subject,), required=True)

    def observe() -> Verdict:
        measured = {"lost": len(lost), "unaccepted": len(unaccepted)}
        named = ", ".join(sorted(unaccepted)[:_NAMED])
        reason = f"not carried over: {named} (a person may answer for each by name: --accept-loss)" if named else ""
        source = "nothing disappears silently"
        return look.verdict(measured, {"unaccepted": 0}, passed=not unaccepted, reason=reason, source=source)

    return look.run(lambda: identity.sources("countermark checks", "vector/checks.py"), observe)


def _ground(picture: Picture) -> Rgb:
    """Return the colour at a picture's corner: what an opaque board lies on."""
    red, green, blue = (int(channel) for channel in picture.rgba[0, 0, :3])
    return red, green, blue


def _plain(value: float) -> int | str:
    return int(value) if value == int(value) else repr(value)
