from __future__ import annotations

import base64
from typing import Any

import pytest

from countermark.scene.attachment import fault, require, unsafe_svg
from countermark.scene.codes import SceneError


def url(mime: str, content: bytes) -> str:
    return f"data:{mime};base64,{base64.b64encode(content).decode()}"


def entry(mime: str, content: bytes, **more: Any) -> dict[str, Any]:
    return {"mimeType": mime, "dataURL": url(mime, content), **more}


def svg(inside: str, attributes: str = "") -> bytes:
    head = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return f"{head} {attributes}>{inside}</svg>".encode()


@pytest.mark.parametrize(
    ("mime", "content"),
    [
        ("image/png", b"\x89PNG\r\n\x1a\n rest"),
        ("image/jpeg", b"\xff\xd8\xff\xe0"),
        ("image/gif", b"GIF89a"),
        ("image/webp", b"RIFF....WEBPVP8 "),
        ("image/svg+xml", svg("<rect width='3' height='4'/>")),
    ],
)
def test_the_five_types_pass_with_their_own_bytes_and_no_other(mime: str, content: bytes) -> None:
    assert fault("f", entry(mime, content)) is None
    assert fault("f", entry(mime, b"PK\x03\x04"))


@pytest.mark.parametrize(
    ("given", "pointer"),
    [
        ("text", ""),
        (entry("image/bmp", b"BM"), "/mimeType"),
        ({"mimeType": "image/png", "dataURL": url("image/gif", b"GIF89a")}, "/dataURL"),
        ({"mimeType": "image/png", "dataURL": "data:image/png;base64,@@@"}, "/dataURL"),
        ({"mimeType": "image/png", "dataURL": "https://example.org/a.png"}, "/dataURL"),
        ({"mimeType": "image/png"}, "/dataURL"),
        (entry("image/gif", b"GIF89a", id="other"), "/id"),
        (entry("image/gif", b"GIF89a", created="now"), "/created"),
    ],
)
def test_a_fault_has_its_place(given: Any, pointer: str) -> None:
    found = fault("f", given)
    assert found is not None
    assert found[0] == pointer


@pytest.mark.promise("scene.http.dead-svg")
@pytest.mark.parametrize(
    "content",
    [
        svg("<script>1</script>"),
        svg("<x:script xmlns:x='http://www.w3.org/2000/svg'/>"),
        svg("<rect onclick='1'/>"),
        svg("", "onload='1'"),
        svg("<foreignObject/>"),
        svg("<image href='https://example.org/a.png'/>"),
        svg("<image xlink:href='//example.org/a.png'/>"),
        svg("<use href='other.svg#a'/>"),
        svg("<a href='javascript:1'/>"),
        svg("<rect style='fill:url(https://example.org/a)'/>"),
        svg("<rect fill='url(https://example.org/a)'/>"),
        svg("<style>@import 'https://example.org/a.css';</style>"),
        svg("<style>rect{fill:u\\72l(https://example.org)}</style>"),
        svg("<style><![CDATA[rect{background:url(//example.org)}]]></style>"),
        svg("<animate attributeName='href' to='javascript:1'/>"),
        svg("<set attributeName='xlink:href' to='javascript:1'/>"),
        b"<!DOCTYPE svg [<!ENTITY a 'b'>]>" + svg("&a;"),
        b"<!DOCTYPE svg SYSTEM 'https://example.org/a.dtd'>" + svg(""),
        b"<?xml-stylesheet href='https://example.org/a.css'?>" + svg(""),
        b"<html xmlns='http://www.w3.org/1999/xhtml'/>",
        b"<svg/>",
        b"<svg",
        b"",
        svg("").decode().encode("utf-16") + b"\x00",
    ],
)
def test_an_svg_that_could_run_or_fetch_something_is_refused(content: bytes) -> None:
    assert unsafe_svg(content)


@pytest.mark.parametrize(
    "content",
    [
        svg("<defs><linearGradient id='g'/></defs><rect fill='url(#g)'/><use href='#g'/>"),
        svg("<image href='data:image/png;base64,iVBORw0KGgo='/>"),
        svg("<style>rect { fill: url('#g') }</style><a href='https://example.org'><text>hi</text></a>"),
        b"<?xml version='1.0' encoding='utf-8'?>"
        + svg("<!-- made by hand --><text>\xc3\xa4</text>".encode("latin-1").decode()),
    ],
)
def test_a_plain_svg_passes(content: bytes) -> None:
    assert unsafe_svg(content) is None


def test_an_entry_is_completed_as_the_editor_writes_it() -> None:
    full = require("f", entry("image/gif", b"GIF89a"), "/files", 5)
    assert full == {"mimeType": "image/gif", "id": "f", "dataURL": url("image/gif", b"GIF89a"), "created": 5}
    with pytest.raises(SceneError) as caught:
        require("a/b", entry("image/gif", b"GIF89a", path="/etc"), "/files", 5)
    assert caught.value.details["pointer"] == "/files/a~1b/path"
