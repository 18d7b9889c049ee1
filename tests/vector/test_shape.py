"""Whatever stands in a native file: it is refused with its place, or everything that reads it can rely on it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countermark.kernel.errors import CountermarkError
from countermark.vector import document as native
from countermark.vector import recolour
from countermark.vector.artboard import artboards
from countermark.vector.kit import boards_for
from countermark.vector.resolve import resolve
from countermark.vector.svg.import_ import import_svg
from countermark.vector.swatch import swatches, uses

SVG = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><clipPath id="c">
<circle r="5"/><path d="M0 0H9V9z"/>
</clipPath><radialGradient id="g" fx=".3" fr=".1" spreadMethod="reflect"><stop/><stop offset="1" stop-color="red"/>
</radialGradient><g clip-path="url(#c)" opacity=".5"><rect width="9" height="5" fill="url(#g)" stroke="#123456"
stroke-dasharray="1 2" transform="scale(1 2)"/></g><path d="M0 0C1 2 3 4 5 6z" fill="#123456"/></svg>"""
JUNK: list[Any] = [None, 0, -1, 1e300, "x", "", [], {}, True, [1], {"a": 1}, [None], {"type": "gradient"}]


def places(value: Any, at: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, inner in below for place in places(inner, (*at, key)))]


def base() -> Any:
    document = import_svg(SVG).document
    return recolour.bind(document, "primary", "#123456")[0].file


BASE = base()
PLACES = places(BASE["document"], ("document",))[1:]


def spoilt(place: tuple[Any, ...], value: Any) -> bytes:
    file = copy.deepcopy(BASE)
    holder = file
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    return json.dumps(file).encode()


@pytest.mark.promise("vector.native.checked-at-the-door")
@given(st.sampled_from(PLACES), st.sampled_from(JUNK))
def test_a_spoilt_member_is_refused_or_harmless(place: tuple[Any, ...], value: Any) -> None:
    try:
        document = native.load(spoilt(place, value))
    except CountermarkError as error:
        assert error.code == "artifact_invalid"  # noqa: PT017 - loading may also succeed
        return
    uses(document)
    swatches_or_none(document)
    native.dump(document)


def swatches_or_none(document: native.Document) -> None:
    try:
        swatches(document)
        boards_for(document)
        for board in artboards(document):
            resolve(document, board)
        recolour.bind(document, "other", "#123456")
    except CountermarkError:
        return


REQUIRED = {"p", "color", "paint", "kind", "id", "anchors", "subpaths", "rect", "stops", "offset", "model", "x0"}


def is_optional(place: tuple[Any, ...]) -> bool:
    """A layer's highlight colour, an anchor's kind and a dash's offset may be left out."""
    return (
        "dash" in place
        or place[-3:-1] == ("layers", 0)
        or place[-2] == "kind"
        or (place[-1] == "kind" and "anchors" in place)
    )


@pytest.mark.parametrize(
    "place", [p for p in PLACES if p[-1] in REQUIRED and not is_optional(p)], ids=lambda p: ".".join(map(str, p))
)
def test_a_missing_member_is_refused(place: tuple[Any, ...]) -> None:
    file = copy.deepcopy(BASE)
    holder = file
    for key in place[:-1]:
        holder = holder[key]
    del holder[place[-1]]
    with pytest.raises(CountermarkError) as caught:
        native.load(json.dumps(file).encode())
    assert caught.value.code == "artifact_invalid"
