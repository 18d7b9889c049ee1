from __future__ import annotations

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.raster.judge import MAX_SVG_BYTES, outline, render

NS = 'xmlns="http://www.w3.org/2000/svg"'


def svg(body: str, attributes: str = 'viewBox="0 0 10 10"') -> bytes:
    return f"<svg {NS} {attributes}>{body}</svg>".encode()


def refusal(data: bytes) -> CountermarkError:
    with pytest.raises(CountermarkError) as caught:
        render(data, 16, 16)
    return caught.value


def test_a_drawing_is_rendered_where_it_stands() -> None:
    found = render(svg('<rect x="5" width="5" height="10" fill="#ff0000"/>'), 20, 20).picture

    assert found.rgba[10, 4].tolist() == [0, 0, 0, 0]
    assert found.rgba[10, 15].tolist() == [255, 0, 0, 255]


def test_a_wide_drawing_is_fitted_and_centred_with_transparent_margins() -> None:
    found = render(svg('<rect width="10" height="10" fill="blue"/>', 'viewBox="0 0 10 5"'), 40, 40).picture

    assert [found.rgba[row, 20, 3] for row in (9, 10, 29, 30)] == [0, 255, 255, 0]


def test_the_viewport_decides_the_frame_and_the_view_box_is_fitted_into_it() -> None:
    body = '<rect width="10" height="10" fill="lime"/>'
    found = render(svg(body, 'width="20mm" height="10mm" viewBox="0 0 10 10"'), 40, 40).picture

    assert [found.rgba[20, column, 3] for column in (9, 10, 29, 30)] == [0, 255, 255, 0]


def test_the_position_of_a_root_means_nothing() -> None:
    body = '<rect width="10" height="10" fill="lime"/>'

    assert render(svg(body, 'x="3px" y="4px" viewBox="0 0 10 10"'), 16, 16).picture.rgba[..., 3].min() == 255


def test_units_mean_what_css_says_inside_the_frame_too() -> None:
    millimetres = svg('<rect width="5mm" height="5mm"/>', 'width="10mm" height="10mm"')
    ems = svg('<rect width="1em" height="1em"/>', 'font-size="5" viewBox="0 0 10 10"')

    for drawing in (millimetres, ems):
        found = render(drawing, 40, 40).picture.rgba
        assert [int(found[at, at, 3]) for at in (5, 18, 22, 35)] == [255, 255, 0, 0]


def test_the_judge_reads_english_whatever_the_machine_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    found = render(svg('<rect width="10" height="10" systemLanguage="en"/>'), 8, 8).picture

    assert found.rgba[..., 3].min() == 255


def test_text_is_reported_as_not_observed_since_no_fonts_are_loaded() -> None:
    found = render(svg('<text y="9">words</text><rect width="4" height="4"/>'), 16, 16)

    assert found.unobserved == ("text: 1 element(s), the judge loads no fonts",)


def test_a_side_that_is_not_stated_follows_from_the_view_box() -> None:
    assert (outline(svg("", 'width="40" viewBox="0 0 10 5"')).height, outline(svg("")).width) == (20, 10)
    assert outline(svg("", 'width="100%" height="100%" viewBox="0 0 7 5"')).width == 7


def test_a_file_that_states_no_size_is_judged_at_the_size_it_is_told() -> None:
    found = render(svg('<rect width="20" height="10"/>', ""), 40, 40, unstated=(20, 20)).picture

    assert [found.rgba[row, 20, 3] for row in (0, 19, 21)] == [255, 255, 0]


def test_a_root_without_a_namespace_is_read_as_svg() -> None:
    bare = b'<svg viewBox="0 0 10 10"><rect width="10" height="10"/></svg>'

    assert render(bare, 8, 8).picture.rgba[..., 3].min() == 255
    assert refusal(bare.replace(b"<rect", b"<script/><rect")).code == "artifact_invalid"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"<svg", "not well-formed"),
        (b"", "not well-formed"),
        (b"<html/>", "its root is <html>"),
        (b"\x80\x81", "not utf-8 text"),
        (svg("", ""), "states no size"),
        (svg("", 'viewBox="0 0 0 10"'), "its viewBox is"),
        (svg("", 'width="NaN" height="4"'), "its width is 'NaN'"),
        (svg("", 'width="-4" height="4"'), "its width is '-4'"),
        (b'<!DOCTYPE svg [<!ENTITY a "b">]>' + svg("<g>&a;</g>"), "it has a DOCTYPE"),
        (svg("<g>" * 1500 + "</g>" * 1500), "nested deeper"),
        (svg("<x:g/>"), "not well-formed"),
        (svg("<script>1</script>"), "<script>"),
        (svg('<g onload="x()"/>'), "<g onload>"),
        (svg('<image href="/etc/passwd"/>'), "<image href>"),
        (svg('<use href="other.svg#a"/>'), "<use href>"),
        (svg('<rect fill="url(http://host/a.svg#b)"/>'), "<rect fill>"),
        (svg("<style>@import 'a.css';</style>"), "outside reference"),
        (svg("<style>" + "/" * 8186 + "@imp&#111;rt 'a.css';</style>"), "outside reference"),
        (svg("<style>@import 'a.css';<g/></style>"), "outside reference"),
        (svg("<style><g/>@import 'a.css';</style>"), "outside reference"),
        (b'<?xml-stylesheet href="a.css"?>' + svg(""), "xml-stylesheet"),
        (
            b'<svg viewBox="0 0 9 9"><s:image ' + NS.replace("xmlns", "xmlns:s").encode() + b' href="/a"/></svg>',
            "image",
        ),
    ],
)
def test_what_cannot_be_judged_is_refused_with_the_reason(data: bytes, words: str) -> None:
    error = refusal(data)

    assert error.code == "artifact_invalid"
    assert words in error.sentence


def test_references_within_the_file_and_links_for_readers_are_followed_or_ignored() -> None:
    body = '<defs><rect id="a" width="10" height="10"/></defs><a href="https://host/"><use href="#a"/></a>'

    assert render(svg(body), 8, 8).picture.rgba[..., 3].min() == 255


def test_an_attribute_of_another_program_is_no_handler() -> None:
    drawing = svg('<rect xmlns:x="urn:x" x:only="1" width="10" height="10"/>')

    assert render(drawing, 8, 8).picture.rgba[..., 3].min() == 255


def test_a_file_past_the_limit_is_refused() -> None:
    assert refusal(b" " * (MAX_SVG_BYTES + 1)).code == "input_too_large"


def test_an_outline_counts_what_a_file_holds() -> None:
    found = outline(svg("<g><path/><path/></g><title>t</title>", 'width="2in" height="1in"'))

    assert (found.width, found.height, found.view_box) == (192, 96, None)
    assert found.elements == {"g": 1, "path": 2, "svg": 1, "title": 1}
    assert found.refused == ()
