"""One check in the making: how an observation becomes a verdict, whoever looks and whatever at.

Nothing here imports the drawer, the writer or Skia. A check whose engine is missing is `unavailable`, never `passed`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from countermark.kernel.canon import sha256_hex
from countermark.kernel.errors import CountermarkError
from countermark.kernel.proof import Engine, Status, Verdict
from countermark.raster import judge
from countermark.raster.difference import Difference, Rgb, measure
from countermark.raster.picture import Picture

SHARE_OFF: Final = "0.01"
SHARE_OFF_PER_MILLE: Final = 10
"""At most 1 % of the painted pixels may be off: the bar of the resvg suite (research 7.5) and of this kit."""

SHARE_SOURCE: Final = "research 7.5: a picture passes with at most 1 % of its painted pixels off by more than 48/255"

SMALLEST_COMPARED: Final = 512
"""Below this side in pixels anti-aliasing is the difference: one edge pixel in 16 is 6 %, and the engines differ."""

_UNAVAILABLE: Final = frozenset({"part_unavailable", "runtime_missing", "child_failed", "deadline_exceeded"})


class Look:
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
        """Return what was measured against what was wanted, passed or failed."""
        return self._made(Status.PASSED if passed else Status.FAILED, measured, threshold, reason, source)

    def without(self, reason: str) -> Verdict:
        """Return a skipped verdict: there is nothing to look at."""
        return self._made(Status.SKIPPED, {}, {}, reason, "")

    def compared(self, drawn: Picture, judged: judge.Judged, *, ground: Rgb | None = None) -> Verdict:
        """Hold a picture against what another engine saw; on a `ground`, what has its colour counts as blank."""
        found = measure(drawn, judged.picture, ground=ground)
        passed = found.within(SHARE_OFF_PER_MILLE)
        reason = "" if passed else _said(found)
        measured = _figures(found) | _unobserved(judged)
        return self.verdict(measured, {"share": SHARE_OFF}, passed=passed, reason=reason, source=SHARE_SOURCE)

    def small(self, drawn: Picture, judged: judge.Judged, larger: Verdict | None) -> Verdict:
        """Hold a small picture against the verdict on the same drawing large: its own pixels are all edges."""
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


def given(data: bytes | None) -> bytes:
    """Return the bytes of a subject; raise `artifact_invalid` when it is not there."""
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
