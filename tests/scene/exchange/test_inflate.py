"""Unpacking up to a cap: what is more, cut short or followed by anything is refused."""

from __future__ import annotations

import zlib

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.scene.exchange.inflate import inflated

WHOLE = zlib.compress(b"a" * 1000)


def test_what_is_whole_and_within_the_cap_comes_out() -> None:
    assert inflated(WHOLE, 1000) == b"a" * 1000


@pytest.mark.promise("scene.import.refused")
@pytest.mark.parametrize(
    ("data", "cap", "code"),
    [
        (WHOLE, 999, "too_large"),
        (zlib.compress(b"a" * 50_000_000), 1000, "too_large"),
        (WHOLE[:-1], 1000, "invalid_scene"),
        (WHOLE[:4], 1000, "invalid_scene"),
        (WHOLE + b"x", 1000, "invalid_scene"),
        (WHOLE[:-4] + b"\0\0\0\0", 1000, "invalid_scene"),
        (b"", 1000, "invalid_scene"),
        (b"no stream", 1000, "invalid_scene"),
    ],
)
def test_what_is_more_cut_short_or_followed_by_anything_is_refused(data: bytes, cap: int, code: str) -> None:
    with pytest.raises(CountermarkError) as caught:
        inflated(data, cap)
    assert caught.value.code == code
