"""What the record page says of a check is what the check measured."""

from __future__ import annotations

from typing import Any

import pytest

from countermark.kernel.proof import Engine, Status, Verdict
from countermark.vector.wording import measured, threshold


def verdict(check: str, figures: dict[str, Any], against: dict[str, Any], reason: str = "") -> Verdict:
    status = Status.FAILED if reason else Status.PASSED
    maker, observer = Engine("maker", "a" * 64), Engine("observer", "b" * 64)
    return Verdict(check, status, True, maker, observer, (), figures, against, reason, "")  # noqa: FBT003


PICTURE = {"painted": 486913, "off": 3, "share": "0.000007", "max_delta": 54}


@pytest.mark.parametrize(
    ("check", "figures", "against", "said"),
    [
        ("digests", {"files": 12, "wrong": 0}, {"files": 12, "wrong": 0}, "12 of 12 files are what their maker"),
        ("svg_renders", PICTURE, {"share": "0.01"}, "3 of 486,913 painted pixels off; the largest difference is 54"),
        ("svg_renders", {**PICTURE, "larger": "passed"}, {"larger": "passed"}, "the same drawing large: passed"),
        ("original", {**PICTURE, "unobserved": "text: 1"}, {"share": "0.01"}, "not seen: text: 1"),
        ("losses", {"lost": 2, "unaccepted": 0}, {"unaccepted": 0}, "2 lost, 0 of them not accepted"),
        ("unaffected_boards", {"files": 4, "byteEqual": 4}, {"byteEqual": 4}, "4 of 4 files byte-equal"),
        ("of another domain", {"one": 1, "two": "b"}, {"one": 1}, "one 1, two b"),
        ("png_decodes", {"width": 3}, {"width": 3}, "width 3"),
    ],
)
def test_figures_are_told_in_words(check: str, figures: dict[str, Any], against: dict[str, Any], said: str) -> None:
    assert said in measured(verdict(check, figures, against))


def test_the_bar_is_told_as_a_share_of_what_is_painted() -> None:
    bar = threshold(verdict("original", PICTURE, {"share": "0.01"}))
    assert bar == "at most 1 % of the painted pixels off by more than 48 of 255"


def test_a_picture_is_told_with_its_size_and_alpha() -> None:
    figures = {"width": 16, "height": 16, "mode": "RGBA", "alpha": 1, "painted": 147}
    wanted = {"width": 16, "height": 16, "mode": "RGBA", "alpha": 1}
    found = verdict("png_decodes", figures, wanted)
    assert measured(found) == "16 x 16, RGBA, with alpha, 147 pixels painted"
    assert threshold(found) == "16 x 16, RGBA, with alpha"


def test_what_failed_is_told_by_its_reason() -> None:
    assert measured(verdict("original", PICTURE, {"share": "0.01"}, "it differs")) == "it differs"


def test_a_check_that_saw_nothing_says_nothing() -> None:
    assert (measured(verdict("original", {}, {})), threshold(verdict("original", {}, {}))) == ("", "")
