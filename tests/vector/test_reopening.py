"""A native document as a stranger's reader sees it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from countermark.kernel.proof import Engine, Status
from countermark.vector import document as native
from countermark.vector.reopening import native_reopens
from countermark.vector.svg.import_ import import_svg

MAKER = Engine("maker", "a" * 64)
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><rect width="4" height="4"/></svg>'
GOOD = native.dump(import_svg(SVG).document)


def broken(change: Callable[[Any], object]) -> bytes:
    file = json.loads(GOOD)
    change(file)
    return json.dumps(file).encode()


def test_what_we_write_reopens_with_another_reader() -> None:
    verdict = native_reopens(GOOD, MAKER)
    assert verdict.status is Status.PASSED
    assert verdict.measured["faults"] == verdict.threshold["faults"] == 0
    assert verdict.observer.digest != MAKER.digest


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (GOOD[:-20], "JSON"),
        (b"[]", "document"),
        (b'{"document": {}, "document": {}}', "twice"),
        (broken(lambda f: f.update(version=6)), "version"),
        (broken(lambda f: f["document"]["layers"].append(f["document"]["layers"][0])), "twice"),
        (broken(lambda f: f["document"].update(next_id=1)), "next_id"),
        (broken(lambda f: f["document"].update(artboards=[])), "artboard"),
        (broken(lambda f: f["document"].update(artboards=[3])), "rectangle"),
        (broken(lambda f: f["document"]["artboards"][0]["rect"].update(x1=0)), "size"),
    ],
)
def test_a_broken_document_fails_with_what_is_wrong(data: bytes, word: str) -> None:
    verdict = native_reopens(data, MAKER)
    assert verdict.status is Status.FAILED
    assert word in verdict.reason
    assert verdict.measured["faults"] >= 1
