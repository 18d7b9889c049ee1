"""LZ-string's base64 form, against what the reference implementation (lz-string 1.5.0) packs."""

from __future__ import annotations

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.scene.exchange.lzstring import unpacked

PACKED = [
    ("Q===", ""),
    ("IZA=", "a"),
    ("BYUwNmD2A0AECWsCGBbZtDUzkA==", "hello, i am a 猫"),
    ("IY18ZXTt/DFOS1b0c1oA", "a" * 300),
]


@pytest.mark.parametrize(("packed", "text"), PACKED)
def test_what_the_reference_packs_is_unpacked(packed: str, text: str) -> None:
    assert unpacked(packed, 1000) == text
    assert unpacked(f" {packed[:2]}\n\n{packed[2:]}\r\n", 1000) == text


@pytest.mark.parametrize("packed", ["", "   ", "%", "IZ", "IY18ZXTt", "////", "猫", "BYUwNmD2A0AECW"])
def test_what_is_cut_short_or_no_such_text_is_refused(packed: str) -> None:
    with pytest.raises(CountermarkError) as caught:
        unpacked(packed, 1000)
    assert caught.value.code == "invalid_scene"


def test_no_more_than_the_cap_is_unpacked() -> None:
    assert len(unpacked(PACKED[3][0], 300)) == 300
    with pytest.raises(CountermarkError) as caught:
        unpacked(PACKED[3][0], 299)
    assert caught.value.code == "too_large"
