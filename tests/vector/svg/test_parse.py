"""What is refused before a single element is drawn, and what is read whatever its encoding."""

from __future__ import annotations

import codecs

import pytest

from countermark.kernel.errors import CountermarkError
from countermark.vector.svg.import_ import import_svg
from countermark.vector.svg.parse import MAX_BYTES, MAX_DEPTH, parse

HEAD = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 10 10">'


def refused(data: bytes) -> CountermarkError:
    with pytest.raises(CountermarkError) as caught:
        import_svg(data)
    return caught.value


def drawn(body: str) -> bytes:
    return f"{HEAD}{body}</svg>".encode()


@pytest.mark.promise("vector.import.refuses-active")
@pytest.mark.parametrize(
    ("body", "thing"),
    [
        ("<script>alert(1)</script>", "script"),
        ('<s:script xmlns:s="http://www.w3.org/1999/xhtml"/>', "script"),
        ('<rect onclick="x()" width="1" height="1"/>', "event handler"),
        ('<image href="https://example.org/a.png"/>', "reference out of the file"),
        ('<image xlink:href="../a.png"/>', "reference out of the file"),
        ('<image href="file:///etc/passwd"/>', "reference out of the file"),
        ('<use href="other.svg#a"/>', "reference out of the file"),
        ('<use xlink:href="data:image/svg+xml,x"/>', "reference out of the file"),
        ('<a href="javascript:x()"><rect/></a>', "reference out of the file"),
        ('<rect fill="url(https://example.org/p.svg#p)"/>', "reference out of the file"),
        ("<rect style=\"filter: url( 'f.svg#x' )\"/>", "reference out of the file"),
        ("<style>@import url(x.css);</style>", "@import"),
        ("<style>@import 'x.css';</style>", "@import"),
        ("<style>.a { fill: url(//example.org/p.svg#p) }</style>", "reference out of the file"),
        ('<foreignObject><img xmlns="http://www.w3.org/1999/xhtml" src="http://x/a.png"/></foreignObject>', "out of"),
        ('<linearGradient id="a" href="b.svg#c"/>', "reference out of the file"),
        ('<g xml:base="https://example.org/b.svg"><use href="#a"/></g>', "xml:base of g"),
    ],
)
def test_active_and_external_content_is_refused_by_name(body: str, thing: str) -> None:
    error = refused(drawn(body))
    assert error.code == "svg_unsafe"
    assert thing in error.sentence
    assert "line 1" in error.sentence


@pytest.mark.parametrize(
    "prolog",
    [
        "<!DOCTYPE svg>",
        '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">',
        '<!DOCTYPE svg [<!ENTITY a "b">]>',
        '<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<?xml-stylesheet href="a.css"?>',
    ],
)
def test_a_doctype_an_entity_or_an_outer_sheet_is_refused(prolog: str) -> None:
    error = refused(prolog.encode() + drawn(""))
    assert error.code == "svg_unsafe"


def test_a_billion_laughs_end_at_the_doctype() -> None:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    laughs = f'<!DOCTYPE svg [<!ENTITY l0 "lol">{entities}]>'
    assert refused(laughs.encode() + drawn("<title>&l9;</title>")).code == "svg_unsafe"


def test_a_billion_laughs_of_use_elements_end_at_a_count() -> None:
    body = '<rect id="u0" width="1" height="1"/>' + "".join(
        f'<g id="u{n}">' + f'<use href="#u{n - 1}"/>' * 10 + "</g>" for n in range(1, 9)
    )
    error = refused(drawn(f"<defs>{body}</defs><use href='#u8'/>"))
    assert error.code == "input_too_large"


def test_fifty_thousand_levels_are_refused() -> None:
    error = refused(drawn("<g>" * 50_000 + "</g>" * 50_000))
    assert error.code == "svg_too_deep"
    assert str(MAX_DEPTH) in error.sentence


def test_nesting_through_use_is_bounded_too() -> None:
    links = "".join(f'<g id="n{n}"><g><use href="#n{n - 1}"/></g></g>' for n in range(1, 200))
    error = refused(drawn(f'<defs><rect id="n0" width="1" height="1"/>{links}</defs><use href="#n199"/>'))
    assert error.code == "svg_too_deep"


def test_two_hundred_megabytes_are_refused_unread() -> None:
    error = refused(b" " * (MAX_BYTES + 1))
    assert error.code == "input_too_large"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"   ",
        b"not an svg",
        b"\x89PNG\r\n\x1a\n",
        b"<html/>",
        b"<svg",
        b'<svg xmlns="http://www.w3.org/2000/svg">',
        b'<svg xmlns="urn:other"/>',
        b"\x1f\x8b\x08\x00",
        b"<?xml version='1.0' encoding='no-such'?><svg/>",
        b"\xff\xfe\x00",
        b"<svg>\x00</svg>",
        b"<svg>&undefined;</svg>",
    ],
)
def test_what_is_no_svg_is_told_in_one_sentence(data: bytes) -> None:
    error = refused(data)
    assert error.code == "svg_invalid"
    assert error.sentence.endswith(".")


@pytest.mark.parametrize(
    "box", ["0 0 0 10", "0 0 10 0", "0 0 -1 1", "0 0 1", "a b c d", "0 0 nan 1", "0 0 1e999 1", "0 0 10 10 10", ""]
)
def test_a_view_box_without_area_is_refused(box: str) -> None:
    error = refused(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}"/>'.encode())
    assert error.code == "svg_invalid"


@pytest.mark.parametrize("size", ["0", "-5", "nan", "inf", "1e999", "1e9", "wide", "10 20"])
def test_a_size_that_is_none_is_refused(size: str) -> None:
    error = refused(f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="10"/>'.encode())
    assert error.code == "svg_invalid"


@pytest.mark.parametrize(
    "body",
    [
        '<path d="M 0 0 L nan 5"/>',
        '<path d="M 0 0 L 1e999 5"/>',
        '<path d="M 0 0 L 1e308 1e308 l 1e308 1e308"/>',
        '<rect width="Infinity" height="1"/>',
        '<circle r="NaN"/>',
        '<polygon points="0,0 1,inf 2,2"/>',
        '<g transform="scale(1e200) scale(1e200)"><rect width="1" height="1"/></g>',
        '<g transform="translate(nan)"><rect width="1" height="1"/></g>',
        '<rect width="1" height="1" stroke="red" stroke-width="inf"/>',
        '<radialGradient id="g" r="nan"><stop/><stop/></radialGradient><rect width="1" height="1" fill="url(#g)"/>',
    ],
)
def test_numbers_that_are_not_finite_are_refused_with_their_element(body: str) -> None:
    error = refused(drawn(body))
    assert error.code == "svg_invalid"
    assert "/svg" in error.sentence


def test_utf_16_and_byte_order_marks_are_read() -> None:
    text = f'{HEAD}<title>Märke</title><rect width="1" height="1"/></svg>'
    for data in (
        codecs.BOM_UTF8 + text.encode(),
        text.encode("utf-16"),
        codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
        f"<?xml version='1.0' encoding='ISO-8859-1'?>{text}".encode("latin-1"),
        f"<?xml version='1.0' encoding='windows-1252'?>{text}".encode("cp1252"),
    ):
        assert import_svg(data).document.tree["title"] == "Märke"


def test_a_root_without_the_namespace_is_read_with_a_note() -> None:
    found = import_svg(b'<svg viewBox="0 0 1 1"><rect width="1" height="1"/></svg>')
    assert [note["code"] for note in found.notes] == ["namespace"]


def test_a_link_is_no_reference_that_would_be_followed() -> None:
    found = import_svg(drawn('<a href="https://example.org"><rect width="1" height="1"/></a>'))
    assert [note["code"] for note in found.notes] == ["link"]
    assert found.losses == []


def test_places_count_elements_of_a_name_from_one() -> None:
    root = parse(drawn("<g/><g><rect/><path/><rect/></g>")).root
    assert [element.path for element in root.walk()] == [
        "/svg",
        "/svg/g[1]",
        "/svg/g[2]",
        "/svg/g[2]/rect[1]",
        "/svg/g[2]/path[1]",
        "/svg/g[2]/rect[2]",
    ]
