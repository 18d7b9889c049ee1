"""Style sheets, masks, patterns, markers, pictures: each becomes what the native form has for it, or is named."""

from __future__ import annotations

import base64
import io
import math
import re
import struct
import zlib
from typing import Any

import pytest
from PIL import Image as Pillow

from countermark.kernel.errors import CountermarkError
from countermark.raster import judge
from countermark.raster.difference import measure
from countermark.raster.picture import decode_png
from countermark.vector import document as native
from countermark.vector.artboard import artboards
from countermark.vector.draw import draw
from countermark.vector.svg.import_ import Imported, import_svg
from countermark.vector.svg.marker import vertices
from countermark.vector.svg.pathdata import path_data
from countermark.vector.svg_writer import write

SIDE = 128


def imported(body: str) -> Imported:
    root = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">{body}</svg>'
    return import_svg(root.encode(), name="mark.svg")


def picture(kind: str = "PNG", size: tuple[int, int] = (8, 8)) -> bytes:
    out = io.BytesIO()
    image = Pillow.new("RGB", size, "#ff0000")
    image.paste("#0000ff", (0, 0, size[0] // 2, size[1]))
    image.save(out, kind)
    return out.getvalue()


def huge() -> bytes:
    """Return a PNG whose header, with a right check sum, claims 65,536 x 65,536 pixels."""
    data = picture()
    header = b"IHDR" + struct.pack(">II", 65536, 65536) + data[24:29]
    return data[:12] + header + struct.pack(">I", zlib.crc32(header)) + data[33:]


def uri(data: bytes, mime: str = "image/png") -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def colours(found: Imported) -> list[Any]:
    nodes = [visit.node for visit in native.walk(found.document)]
    return [item["paint"].get("color", {}).get("r") for node in nodes for item in node["appearance"]["items"]]


@pytest.mark.parametrize(
    "body",
    [
        '<style>g > rect.a:first-child { fill: #00f }</style><g><rect class="a" width="60" height="60"/></g>',
        (
            '<mask id="m"><circle cx="32" cy="32" r="24" fill="#fff" fill-opacity=".6"/></mask>'
            '<rect width="64" height="64" fill="#080" mask="url(#m)"/>'
        ),
        (
            '<mask id="m" mask-type="alpha" maskUnits="userSpaceOnUse" x="8" y="8" width="40" height="40">'
            '<rect width="64" height="64"/></mask><g mask="url(#m)" opacity=".5"><rect width="64" height="64"/></g>'
        ),
        (
            '<pattern id="p" patternUnits="userSpaceOnUse" x="4" width="16" height="16" patternTransform="rotate(30)">'
            '<rect width="8" height="8" fill="#f00"/></pattern><rect width="64" height="64" fill="url(#p)"/>'
            '<path d="M8 8H56" stroke="url(#p)" stroke-width="8"/>'
        ),
        (
            '<marker id="m" orient="auto" markerWidth="4" markerHeight="4" refX="2" refY="2"><path d="M0 0L4 2L0 4z"/>'
            '</marker><path d="M8 50L30 14L56 50" fill="none" stroke="#888" stroke-width="3" marker-start="url(#m)"'
            ' marker-mid="url(#m)" marker-end="url(#m)"/>'
        ),
        f'<image width="48" height="32" x="8" y="8" preserveAspectRatio="xMidYMid slice" href="{uri(picture())}"/>',
        (
            '<clipPath id="i"><circle cx="20" cy="20" r="14"/></clipPath><clipPath id="c"><rect width="40" height="40"'
            ' clip-path="url(#i)"/><rect x="44" y="44" width="16" height="16"/></clipPath>'
            '<rect width="64" height="64" fill="#a0f" clip-path="url(#c)"/>'
        ),
        (
            '<linearGradient id="g"><stop stop-color="#f00"/><stop offset="1" stop-color="#00f"/></linearGradient>'
            '<defs><g id="d"><rect width="20" height="40" fill="context-fill"/><rect x="30" width="30" height="40"'
            ' fill="context-fill"/></g></defs><use href="#d" y="10" fill="url(#g)"/>'
        ),
    ],
    ids=["sheet", "mask", "alpha-mask", "pattern", "marker", "picture", "clipped-clip", "context-gradient"],
)
@pytest.mark.promise("vector.import.in-full")
def test_the_picture_and_the_written_svg_are_the_original_as_another_engine_shows_it(body: str) -> None:
    source = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">{body}</svg>'.encode()
    found = import_svg(source, name="mark.svg")
    assert found.losses == []
    document = native.load(native.dump(found.document))
    (board,) = artboards(document)
    drawn = decode_png(draw(document, board, SIDE, SIDE).png)
    wanted = judge.render(source, SIDE, SIDE).picture
    again = judge.render(write(document, board, SIDE, SIDE), SIDE, SIDE).picture
    for made in (drawn, again):
        seen = measure(made, wanted)
        assert seen.painted > 0
        assert seen.off * 100 <= seen.painted * 3, seen  # edges, at this size; the benchmark holds 1 % at 512


def test_the_cascade_orders_sheets_and_the_style_attribute() -> None:
    sheet = "<style>#a {fill: #f00 !important} .c {fill: #0f0} rect {fill: #00f}</style>"
    assert colours(imported(f'{sheet}<rect id="a" style="fill:#0f0" width="1" height="1"/>')) == [1.0]
    assert colours(imported(f'{sheet}<rect class="c" fill="#f00" width="1" height="1"/>')) == [0.0]


def test_many_descendant_combinators_take_no_time_that_grows_with_their_number() -> None:
    depth = 100
    sheet = f"<style>{' '.join(['x'] + ['g'] * 30)} rect {{fill: red}}</style>"
    found = imported(f'{sheet}{"<g>" * depth}<rect width="1" height="1"/>{"</g>" * depth}')
    assert colours(found) == [0.0]


@pytest.mark.parametrize(
    ("data", "mime", "words"),
    [
        (picture()[:-30], "image/png", "cut short or damaged"),
        (b"no picture at all", "image/png", "no PNG, JPEG, GIF or WebP"),
        (huge(), "image/png", "more than 67108864 pixels"),
        (b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script/></svg>', "image/svg+xml", "a script"),
    ],
    ids=["cut", "nothing", "huge", "active"],
)
@pytest.mark.promise("vector.import.in-full")
def test_a_picture_that_cannot_be_read_whole_is_a_loss_with_its_reason(data: bytes, mime: str, words: str) -> None:
    (loss,) = imported(f'<image id="i" width="9" height="9" href="{uri(data, mime)}"/>').losses
    assert loss["name"] == "image:i"
    assert words in loss["reason"]


def test_a_picture_is_what_its_bytes_are() -> None:
    data = picture("JPEG", (64, 64)) + b"\0" * 9000
    found = imported(f'<image width="9" height="9" href="{uri(data)}"/>')
    (key,) = found.document.file["images"]
    assert found.document.file["images"][key] == {"mime": "image/jpeg", "blob": [0, len(data)]}
    assert native.load(native.dump(found.document)).blobs == data
    assert [note["code"] for note in found.notes] == ["image"]


def test_a_picture_that_a_document_holds_is_not_held_twice() -> None:
    body = f'<image width="9" height="9" href="{uri(picture())}"/>'
    first = imported(body)
    source = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">{body}</svg>'.encode()
    both = import_svg(source, name="b.svg", into=first.document).document
    assert both.file["images"] == first.document.file["images"]


@pytest.mark.parametrize(
    "body",
    [
        '<mask id="m"><rect mask="url(#m)" width="9" height="9"/></mask><rect mask="url(#m)" width="9" height="9"/>',
        (
            '<pattern id="m" width="1" height="1"><rect width="9" height="9" fill="url(#m)"/></pattern>'
            '<rect width="9" height="9" fill="url(#m)"/>'
        ),
        '<pattern id="m" href="#n"/><pattern id="n" href="#m"/><rect width="9" height="9" fill="url(#m)"/>',
        '<marker id="m"><path d="M0 0H9" marker-end="url(#m)"/></marker><path d="M0 0H9" marker-end="url(#m)"/>',
        '<symbol id="m"><use href="#m"/></symbol><use href="#m"/>',
    ],
    ids=["mask", "pattern", "pattern-chain", "marker", "symbol"],
)
def test_what_draws_itself_is_refused_by_name(body: str) -> None:
    with pytest.raises(CountermarkError, match=re.escape("#m")) as refused:
        imported(body)
    assert refused.value.code == "svg_invalid"


def test_markers_stand_at_the_vertices_of_the_drawing_not_at_the_joints_of_our_arcs() -> None:
    found = list(vertices(path_data("M0 0A5 5 0 1 1 10 0L10 10").path))
    assert [vertex.point for vertex in found] == [(0, 0), (10, 0), (10, 10)]
    assert math.isclose(found[1].angle % 360, 90, abs_tol=1e-6)
