"""Files made of boards: what makes them, and the checks that find each of them out when it is another."""

from __future__ import annotations

import io
import json
import struct
from functools import cache

import pikepdf
import pytest

from countermark.kernel.errors import CountermarkError
from countermark.kernel.proof import Engine, Status, Verdict
from countermark.raster.picture import decode_png
from countermark.vector import derivative, embedding, icon
from countermark.vector import document as native
from countermark.vector.affine import Box
from countermark.vector.artboard import artboards
from countermark.vector.checks import Board
from countermark.vector.document import Document
from countermark.vector.draw import draw_display
from countermark.vector.opaque import draw_opaque
from countermark.vector.pdf_writer import write_pages
from countermark.vector.resolve import resolve
from countermark.vector.svg_writer import write_display
from countermark.vector.variant import treated
from tests.vector.drawings import BLUE, RED, drawing, fill, linear, path, solid, square, stop

MAKER = Engine("maker", "0" * 64)
SIDE = 512
TWO = (Box(0, 0, 100, 100), Box(200, 0, 300.3, 50))


@cache
def document() -> Document:
    return drawing(
        path(2, square(10, 10, 60, 60), fill(solid(RED))),
        path(3, square(40, 40, 130, 90), fill(solid(BLUE), opacity=0.5)),
        path(4, square(210, 5, 280, 45), fill(linear([210, 0], [280, 0], stop(0, RED), stop(1, BLUE)))),
        boards=TWO,
    )


@cache
def board(number: int = 0) -> Board:
    shown = resolve(document(), artboards(document())[number])
    png, svg = draw_display(shown, SIDE, SIDE), write_display(shown, SIDE, SIDE)
    return Board("board", SIDE, SIDE, png, svg, MAKER, MAKER)


@cache
def pages() -> bytes:
    return write_pages([resolve(document(), one) for one in artboards(document())], "Märk")


SHEETS = [derivative.Sheet("artboard-1", 100, 100), derivative.Sheet("artboard-2", 100.3, 50)]


def said(verdict: Verdict) -> tuple[Status, str]:
    return verdict.status, verdict.reason


# Pages.


def test_a_pdf_has_a_page_for_each_artboard_by_id_and_size_and_shows_its_board() -> None:
    assert said(derivative.pdf_pages(pages(), SHEETS, MAKER)) == (Status.PASSED, "")
    for number in (0, 1):
        found = derivative.pdf_renders(pages(), number, board(number), MAKER)
        assert said(found) == (Status.PASSED, "")
        assert found.maker != found.observer


def test_the_same_pages_are_the_same_bytes_and_name_no_date() -> None:
    again = write_pages([resolve(document(), one) for one in artboards(document())], "Märk")
    assert again == pages()
    assert b"Date" not in pages()


def test_a_page_that_shows_something_else_fails() -> None:
    assert derivative.pdf_renders(pages(), 1, board(0), MAKER).status is Status.FAILED


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda pdf: pdf.pages.__delitem__(1), "1 pages, not 2"),
        (lambda pdf: pdf.pages.reverse(), "artboard-1 is 100.3 x 50 points"),
        (lambda pdf: pdf.Root.__delitem__("/PageLabels"), "labelled"),
        (lambda pdf: pdf.docinfo.__setitem__("/CreationDate", "D:20200101000000Z"), "names the date"),
        (lambda pdf: pdf.pages[0].MediaBox.__setitem__(2, 90), "artboard-1 is 90"),
        (lambda pdf: pdf.pages[0].__setitem__("/Contents", raster(pdf)), "1 rasters"),
    ],
)
def test_pages_that_are_not_the_artboards_are_named(spoil: object, why: str) -> None:
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(pages())) as pdf:
        spoil(pdf)  # type: ignore[operator]
        pdf.save(out)
    status, reason = said(derivative.pdf_pages(out.getvalue(), SHEETS, MAKER))
    assert status is Status.FAILED
    assert why in reason


def raster(pdf: pikepdf.Pdf) -> pikepdf.Object:
    return pdf.make_stream(b"q 9 0 0 9 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x80 EI Q")


def test_an_artboard_longer_than_viewers_take_is_a_scaled_page_that_says_its_unit() -> None:
    large = drawing(path(2, square(0, 0, 9000, 90), fill(solid(RED))), boards=(Box(0, 0, 16384, 100),))
    made = write_pages([resolve(large, artboards(large)[0])], "Long")
    assert said(derivative.pdf_pages(made, [derivative.Sheet("artboard-1", 16384, 100)], MAKER))[0] is Status.PASSED
    with pikepdf.open(io.BytesIO(made)) as pdf:
        assert float(pdf.pages[0].obj["/UserUnit"]) * float(pdf.pages[0].MediaBox[2]) == pytest.approx(16384)


# Icons.


@cache
def pngs() -> tuple[bytes, ...]:
    shown = resolve(document(), artboards(document())[0])
    return tuple(draw_display(shown, side, side) for side in (16, 32, 48))


def test_an_icon_file_holds_the_boards_pixel_by_pixel() -> None:
    made = icon.ico(pngs())
    assert said(derivative.ico_entries(made, pngs(), MAKER)) == (Status.PASSED, "")
    assert derivative.ico_entries(icon.ico(pngs()[:2]), pngs(), MAKER).reason == "48 x 48 is missing"
    other = draw_display(resolve(document(), artboards(document())[1]), 32, 32)
    spoilt = icon.ico([pngs()[0], other, pngs()[2]])
    assert derivative.ico_entries(spoilt, pngs(), MAKER).reason == "32 x 32 is another picture than its board"
    for broken in (b"", made[:30], b"\0" * 80, made[:-40]):
        assert derivative.ico_entries(broken, pngs(), MAKER).status is Status.FAILED


def test_an_icon_of_257_pixels_is_refused() -> None:
    with pytest.raises(CountermarkError, match="1 to 256"):
        icon.ico([draw_display(resolve(document(), artboards(document())[0]), 257, 257)])
    assert struct.unpack_from("<BB", icon.ico([pngs()[0][:16] + struct.pack(">II", 256, 256)]), 6) == (0, 0)


def test_a_manifest_names_icons_that_stand_beside_it() -> None:
    files = {"a.png": pngs()[0]}
    made = icon.manifest('Mark "&"', [("a.png", 16, "image/png", "any")])
    assert json.loads(made)["name"] == 'Mark "&"'
    assert said(derivative.manifest_icons(made, files, 1, MAKER)) == (Status.PASSED, "")
    wrong = icon.manifest("Mark", [("a.png", 17, "image/png", "any")])
    assert derivative.manifest_icons(wrong, files, 1, MAKER).reason == "a.png is 16x16, not 17x17"
    maskable = icon.manifest("Mark", [("a.png", 16, "image/png", "maskable")])
    assert "not opaque" in derivative.manifest_icons(maskable, files, 1, MAKER).reason
    for spoilt in (made.replace(b"a.png", b"b.png"), b"[]", b"{", made.replace(b'"icons"', b'"signs"')):
        assert derivative.manifest_icons(spoilt, files, 1, MAKER).status is Status.FAILED


def test_symbols_of_a_sprite_show_their_boards_and_share_no_gradient() -> None:
    made = icon.sprite([("artboard-1", board(1).svg or b""), ("artboard-2", board(1).svg or b"")])
    assert b'id="artboard-1-o4-fill"' in made
    assert b"url(#artboard-2-o4-fill)" in made
    for name in ("artboard-1", "artboard-2"):
        assert said(derivative.sprite_symbol(made, name, board(1), MAKER)) == (Status.PASSED, "")
    assert derivative.sprite_symbol(made, "artboard-3", board(1), MAKER).status is Status.FAILED
    shown = made.replace(b'width="0" height="0"', b'width="8" height="8"', 1)
    assert "shows something" in derivative.sprite_symbol(shown, "artboard-1", board(1), MAKER).reason


# Places with a ground.


@pytest.mark.parametrize("number", [0, 1])
def test_a_maskable_icon_keeps_everything_in_its_safe_zone_and_is_opaque(number: int) -> None:
    shown = resolve(document(), artboards(document())[number])
    made = draw_opaque(treated(shown, "maskable", SIDE, SIDE), SIDE, SIDE)
    assert said(derivative.safe_zone(made, MAKER)) == (Status.PASSED, "")
    assert decode_png(made).mode == "RGB"
    whole = draw_opaque(treated(shown, "apple-touch", SIDE, SIDE), SIDE, SIDE)
    assert derivative.safe_zone(whole, MAKER).status is (Status.FAILED if number == 0 else Status.PASSED)
    assert derivative.safe_zone(board(number).png, MAKER).status is Status.FAILED


def test_what_crossed_the_artboard_stays_cut_where_there_is_more_room() -> None:
    shown = treated(resolve(document(), artboards(document())[0]), "social-card", 1200, 630)
    picture = decode_png(draw_opaque(shown, 1200, 630))
    edge = 600 + 189  # the artboard takes six tenths of the height; its right edge, where the blue bar is cut
    assert picture.rgba[430, edge - 3, :3].tolist() != [255, 255, 255]
    assert picture.rgba[430, edge + 3, :3].tolist() == [255, 255, 255]


@pytest.mark.parametrize(
    ("colour", "ground"), [((1, 1, 1), 17), ((1, 1, 0.4), 17), ((1, 0.85, 0.4), 255), ((0, 0, 0), 255)]
)
def test_the_ground_is_dark_only_where_the_drawing_would_vanish_on_white(
    colour: tuple[float, float, float], ground: int
) -> None:
    red, green, blue = colour
    ink = solid({"model": "rgb", "r": red, "g": green, "b": blue})
    drawn = drawing(path(2, square(20, 20, 80, 80), fill(ink)))
    shown = treated(resolve(drawn, artboards(drawn)[0]), "apple-touch", 64, 64)
    assert decode_png(draw_opaque(shown, 64, 64)).rgba[0, 0].tolist() == [ground, ground, ground, 255]


# The document inside an SVG.


def test_an_svg_carries_the_document_whole_and_the_drawing_as_it_was() -> None:
    data, svg = native.dump(document()), board().svg or b""
    made = embedding.embed(svg, data)
    assert made == embedding.embed(svg, data)
    assert embedding.extract(made) == embedding.Embedded(data, current=True)
    assert said(derivative.embedded_document(made, data, svg, MAKER)) == (Status.PASSED, "")
    assert embedding.extract(svg) is None


def test_a_drawing_that_was_changed_since_is_not_taken_for_the_document() -> None:
    data, svg = native.dump(document()), board().svg or b""
    made = embedding.embed(svg, data)
    changed = made.replace(b"#ff0000", b"#00ff00")
    assert embedding.extract(changed) == embedding.Embedded(data, current=False)
    assert derivative.embedded_document(changed, data, svg, MAKER).status is Status.FAILED
    respelt = embedding.extract(made.replace(b'" data-drawing', b'"  data-drawing'))
    assert respelt is not None
    assert not respelt.current
    losses = embedding.outdated(document()).tree["countermark"]["losses"]
    assert [row["name"] for row in losses] == ["embedded-document"]


def test_a_document_that_was_changed_inside_is_refused_and_found_out() -> None:
    data, svg = native.dump(document()), board().svg or b""
    made = embedding.embed(svg, data)
    other = embedding.embed(svg, data.replace(b'"Red"', b'"Rot"') + b" ")
    assert derivative.embedded_document(other, data, svg, MAKER).status is Status.FAILED
    at = made.index(b'">H4s') + 40
    for spoilt in (made[:at] + b"AAAA" + made[at + 4 :], made[:at] + made[made.index(b"</metadata>") :]):
        with pytest.raises(CountermarkError) as caught:
            embedding.extract(spoilt)
        assert caught.value.code == "artifact_invalid"
        assert derivative.embedded_document(spoilt, data, svg, MAKER).status is Status.FAILED
