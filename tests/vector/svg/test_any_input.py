"""Whatever an SVG says: it is imported into a document that opens again, or refused with a code and a sentence."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from countermark.kernel.errors import CountermarkError
from countermark.vector import document as native
from countermark.vector.svg.import_ import import_svg

SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="90" height="60" viewBox="0 0 9 9"
preserveAspectRatio="xMidYMid">
<clipPath id="c" clipPathUnits="objectBoundingBox" transform="scale(.9)"><circle cx=".5" cy=".5" r=".4"/></clipPath>
<linearGradient id="a" gradientTransform="rotate(9)" x1="1" y2="50%"><stop stop-color="red"/></linearGradient>
<radialGradient id="g" href="#a" cx=".4" r=".4" fx=".3" fr=".1" gradientUnits="objectBoundingBox"
spreadMethod="reflect">
<stop offset="0" stop-opacity=".4"/><stop offset="70%" stop-color="#fc0"/></radialGradient>
<symbol id="s" viewBox="0 0 4 4"><rect x="1" y="1" width="2" height="3" rx="1" ry="9%"/></symbol>
<g transform="translate(1 2) skewX(20)" opacity=".5" style="stroke:#123;stroke-width:2" clip-path="url(#c)">
<use href="#s" x="2" width="5" height="4"/><path d="M1 1a3 2 10 015 5q1 1 2-2t3 3z" fill="url(#g) red"/>
<ellipse rx="3" ry="2" stroke-dasharray="1 2 3" stroke-dashoffset="1" stroke-linecap="round" fill-rule="evenodd"/>
<polygon points="0,0 5 5 9,0" stroke-miterlimit="3" paint-order="stroke" font-size="2em" visibility="visible"/></g>
</svg>"""
VALUES = [match.span(2) for match in re.finditer(r'([\w:-]+=)"([^"]*)"', SVG) if "xmlns" not in match[1]]
JUNK = (
    *(
        "",
        "0",
        "-1",
        "1e308",
        "1e-320",
        "-1e300",
        "%",
        "50%",
        "1em",
        "url(#g)",
        "url(#a)",
        "url(#c)",
        "url(",
        "#s",
        "#g",
    ),
    *(
        "none",
        "inherit",
        "initial",
        "auto",
        "M0 0z",
        "M",
        "0 0 0 0",
        "matrix(0 0 0 0 0 0)",
        "scale(1e-200)",
        "rotate(1e9)",
    ),
    *("userSpaceOnUse", "currentColor", "#fff", "rgb(1,2", "fill:red;;stroke", "99999999999", "\U0001f642"),
)
value = st.sampled_from(JUNK) | st.text("0123456789.-+eE%,()# MzaAlc", max_size=12)


@given(st.lists(st.tuples(st.sampled_from(VALUES), value), min_size=1, max_size=3, unique_by=lambda edit: edit[0]))
def test_any_values_of_any_attributes_are_imported_or_refused(edits: list[tuple[tuple[int, int], str]]) -> None:
    text = SVG
    for (start, end), said in sorted(edits, reverse=True):
        text = text[:start] + said + text[end:]
    try:
        found = import_svg(text.encode())
    except CountermarkError as error:
        assert error.code in {"svg_invalid", "svg_unsafe"}  # noqa: PT017 - importing may also succeed
        return
    assert native.load(native.dump(found.document)).file == found.document.file


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_refused_with_a_sentence(data: bytes) -> None:
    try:
        import_svg(data)
    except CountermarkError as error:
        assert error.code in {"svg_invalid", "svg_unsafe"}  # noqa: PT017 - bytes may happen to be an SVG
