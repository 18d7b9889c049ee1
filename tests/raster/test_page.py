"""Pages as pdfium shows them, and files that are none."""

from __future__ import annotations

import io

import pikepdf
import pytest

from countermark.kernel.errors import CountermarkError
from countermark.raster import page


def pdf(content: bytes, *, size: tuple[int, int] = (40, 20), **members: str) -> bytes:
    """Return a PDF of one page with these drawing operators."""
    out = io.BytesIO()
    with pikepdf.new() as made:
        made.add_blank_page(page_size=size)
        made.pages[0].Contents = made.make_stream(content)
        for name, value in members.items():
            made.docinfo[f"/{name}"] = value
        made.save(out)
    return out.getvalue()


def test_a_page_is_fitted_and_centred_on_a_transparent_ground() -> None:
    seen = page.render(pdf(b"1 0 0 rg 0 0 20 20 re f"), 0, 80, 80)
    assert (seen.rgba[40, 20].tolist(), seen.rgba[40, 60].tolist()) == ([255, 0, 0, 255], [0, 0, 0, 0])
    assert seen.rgba[10, 20, 3] == 0


def test_an_outline_counts_objects_and_names_dates() -> None:
    found = page.outline(pdf(b"0 0 5 5 re f 9 9 5 5 re f", CreationDate="D:20200101000000Z", Title="Mark"))
    (only,) = found.pages
    assert (only.width, only.height, only.objects) == (40, 20, {"path": 2})
    assert (found.title, found.dates) == ("Mark", ("D:20200101000000Z",))


@pytest.mark.parametrize("data", [b"", b"%PDF-1.4\n", b"\x89PNG\r\n\x1a\n" * 9, pdf(b"")[:200]])
def test_what_is_no_pdf_is_refused_by_its_code(data: bytes) -> None:
    for look in (lambda: page.outline(data), lambda: page.render(data, 0, 8, 8)):
        with pytest.raises(CountermarkError) as caught:
            look()
        assert caught.value.code == "artifact_invalid"
