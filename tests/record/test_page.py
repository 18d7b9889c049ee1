from __future__ import annotations

import re
import struct
import subprocess
import sys
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise
from typing import get_args

import hypothesis
import hypothesis.strategies as st
import pytest

from countermark.kernel.errors import CountermarkError
from countermark.record.page import (
    Check,
    Engine,
    Fact,
    Identity,
    Picture,
    Record,
    Status,
    Unchecked,
    render,
)
from countermark.record.visible import visible

DIGEST = "sha256:" + "5e" * 32


def png(width: int, height: int, colour: bytes) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\x00" + colour * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


BLUE, DEEP = png(16, 16, b"\x1a\x6c\xff\xff"), png(16, 16, b"\x00\x57\xff\xff")


def check(status: Status, subject: str = "mark-16.png") -> Check:
    return Check("Decodes", subject, status, "skia 144", "Pillow 13", "16 px", "16 px")


def record(word: str = "mark") -> Record:
    """Put one word wherever a caller's text goes, once each."""
    return Record(
        title=word,
        asked=(Fact(word, word),),
        allowed_by=(Fact(word, word),),
        changed=(Fact(word, word),),
        checked=(Check(word, word, "passed", word, word, word, word), check("skipped")),
        not_checked=(Unchecked(word, word),),
        pictures=(
            Picture(word, 16, 16, BLUE, DEEP, "changed", word, word),
            Picture(word, 512, 512, BLUE, DEEP, "changed", word, word),
            Picture(word, 512, 512, None, DEEP, "new", word, word),
            Picture(word, 200, 512, DEEP, DEEP, "unchanged, byte-equal", word, word),
        ),
        figures=(Fact(word, word),),
        identity=Identity(word, word, word, word, (Engine(word, word, word),), 1_337),
    )


class Skeleton(HTMLParser):
    """What a browser would act on: elements, their attributes' names, every address; and the text a person reads."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.elements: list[tuple[str, ...]] = []
        self.addresses: list[str] = []
        self.styles: list[str] = []
        self.words: list[str] = []
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, *(name for name, _ in attrs)))
        self.addresses += [value or "" for name, value in attrs if name in {"href", "src"}]
        self.styles += [value or "" for name, value in attrs if name == "style"]

    def handle_endtag(self, tag: str) -> None:
        if tag != "span":
            self.words.append(" ")

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


HARMLESS = Skeleton(render(record()))
HOSTILE = (
    "<script>alert(1)</script>",
    "</style></title><script>alert(1)</script>",
    '"><img src=http://127.0.0.1/leak onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "{{ 7 * 7 }}{% include 'page.css' %}",
    "<!-- ]]> --><svg onload=alert(1)>",
    "&lt;b&gt;",
    "logo\u202egnp.exe\x00\x1b[2J\ud800",
)


@pytest.mark.promise("record.page.text-is-data")
@pytest.mark.parametrize("word", HOSTILE)
def test_no_text_changes_what_the_page_does(word: str) -> None:
    hostile = Skeleton(render(record(word)))
    assert hostile.elements == HARMLESS.elements
    assert hostile.addresses == HARMLESS.addresses
    assert " ".join(visible(word).split()) in hostile.text


@pytest.mark.promise("record.page.text-is-data")
@hypothesis.settings(max_examples=40)
@hypothesis.given(st.text(st.characters(categories=None), min_size=1))
def test_whatever_the_text_the_page_keeps_its_elements(word: str) -> None:
    hypothesis.assume(not re.search(r"#[0-9a-fA-F]{6}|[0-9a-f]{40}", word))
    assert Skeleton(render(record(word))).elements == HARMLESS.elements


def test_a_colour_chip_carries_six_digits_and_nothing_else() -> None:
    page = Skeleton(render(record("#1a6cff;background:url(http://127.0.0.1/leak)")))
    assert page.styles
    assert set(page.styles) == {"background-color:#1a6cff"}


@pytest.mark.promise("record.page.self-contained")
def test_every_address_is_inside_the_page_and_the_policy_forbids_the_rest() -> None:
    data = render(record())
    page = Skeleton(data)
    assert page.addresses
    assert all(address.startswith(("#", "data:image/")) for address in page.addresses)
    assert not {"script", "iframe", "object", "embed", "form", "base"} & {element[0] for element in page.elements}
    assert b"default-src 'none'; img-src data:; style-src 'unsafe-inline'" in data
    css = files("countermark.record").joinpath("page.css").read_text()
    assert "url(" not in css
    assert "@import" not in css


@pytest.mark.promise("record.page.order")
def test_the_five_parts_stand_in_their_order() -> None:
    headings = re.findall(rb"<h2[^>]*>([^<]+)</h2>", render(record()))
    assert headings == [b"Asked", b"Allowed by", b"Changed", b"Checked by whom", b"Not checked", b"Identity"]


def test_every_value_of_the_record_can_be_read_on_the_page() -> None:
    words = iter(range(1000, 2000))

    def word() -> str:
        return f"w{next(words)}"

    facts = [tuple(Fact(word(), word()) for _ in range(2)) for _ in range(4)]
    whole = Record(
        title=word(),
        asked=facts[0],
        allowed_by=facts[1],
        changed=facts[2],
        figures=facts[3],
        checked=tuple(Check(word(), word(), status, word(), word(), word(), word()) for status in get_args(Status)),
        not_checked=(Unchecked(word(), word()),),
        pictures=(Picture(word(), 16, 16, BLUE, DEEP, "changed", word(), word()),),
        identity=Identity(word(), word(), word(), word(), (Engine(word(), word(), word()),), 0),
    )
    text = Skeleton(render(whole)).text
    assert [f"w{number}" for number in range(1000, next(words)) if f"w{number}" not in text] == []


@pytest.mark.promise("record.page.same-bytes")
def test_the_same_record_gives_the_same_bytes_in_another_process_zone_and_locale() -> None:
    program = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "import test_page, countermark.record.page as page\n"
        "sys.stdout.buffer.write(page.render(test_page.record('Zürich')))"
    )
    argv = [sys.executable, "-c", program, str(__file__).rsplit("/", 1)[0], str(files("countermark").joinpath(".."))]
    seen = {
        subprocess.run(argv, capture_output=True, check=True, env=environ).stdout
        for environ in (
            {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "LC_ALL": "C"},
            {"PYTHONHASHSEED": "2", "TZ": "America/Lima", "PYTHONUTF8": "1"},
        )
    }
    assert seen == {render(record("Zürich"))}


@pytest.mark.parametrize("status", ["passed", "failed", "skipped", "unavailable"])
def test_a_verdict_is_a_word_and_a_shape(status: Status) -> None:
    page = render(replace(record(), checked=(check(status),))).decode()
    row = page.split("<tbody", 1)[1].split("</tr>", 1)[0]
    assert f'<use href="#v-{status}"/>' in row
    assert f"{status}</span>" in row
    shapes = dict(re.findall(r'<symbol id="v-(\w+)"[^>]*>(.*?)</symbol>', page))
    assert len(set(shapes.values())) == 4


@pytest.mark.parametrize(
    ("statuses", "said"),
    [
        ((), "Nothing was checked."),
        (("passed",), "1 check passed."),
        (("passed", "passed"), "2 checks passed."),
        (("passed", "failed", "unavailable"), "1 check of 3 failed: Decodes (mark-16.png)."),
        (("failed",) * 5, f"5 checks of 5 failed: {'; '.join(['Decodes (mark-16.png)'] * 3)} and 2 more."),
        (("passed", "unavailable"), "1 of 2 checks passed, 1 unavailable."),
        (("skipped", "unavailable"), "0 of 2 checks passed, 1 unavailable, 1 skipped."),
    ],
)
def test_the_headline_says_the_worst_first_and_counts_unavailable_apart(
    statuses: tuple[Status, ...], said: str
) -> None:
    page = Skeleton(render(replace(record(), checked=tuple(check(status) for status in statuses))))
    assert said in page.text
    if "failed" in statuses or "unavailable" in statuses:
        assert "2 checks passed." not in page.text


def test_what_failed_stands_above_what_passed() -> None:
    checks = (check("passed", "a.png"), check("skipped", "b.png"), check("passed", "c.png"), check("failed", "d.png"))
    table = render(replace(record(), checked=checks)).decode().split("<tbody", 1)[1].split("</tbody>", 1)[0]
    assert re.findall(r'"subject">(\w)\.png', table) == ["d", "b", "a", "c"]


def test_an_option_of_a_command_is_never_broken_in_two() -> None:
    asked = (Fact("Command", "countermark vector kit --accept-loss mask:1 --a"),)
    page = render(replace(record(), asked=asked)).decode()
    assert re.findall(r'<span class="option">([^<]*)</span>', page) == ["--accept-loss"]
    assert ".option { white-space: nowrap; }" in page


def test_whose_eyes_on_whose_work_is_counted() -> None:
    checks = (check("passed"), check("passed", "b.png"), replace(check("failed"), observer="resvg 0.5"))
    text = Skeleton(render(replace(record(), checked=checks))).text
    assert "Pillow 13 on what skia 144 made 2 passed" in text
    assert "resvg 0.5 on what skia 144 made 1 failed" in text


def test_what_was_not_checked_is_counted_beside_the_headline_and_an_empty_list_says_so() -> None:
    assert "1 thing was not checked." in Skeleton(render(record())).text
    bare = Skeleton(render(replace(record(), not_checked=()))).text
    assert "not checked." not in bare
    assert "The checks name nothing that they left out." in bare


def test_an_unchanged_picture_is_shown_once_and_called_byte_equal() -> None:
    picture = Picture("icon", 512, 512, DEEP, DEEP, "unchanged, byte-equal", "icon.png", DIGEST)
    page = Skeleton(render(replace(record(), pictures=(picture,))))
    assert sum(address.startswith("data:image/png") for address in page.addresses) == 1
    assert "unchanged, byte-equal" in page.text


def test_a_small_picture_is_enlarged_by_a_whole_number_and_shown_at_its_true_size() -> None:
    picture = Picture("icon", 20, 10, BLUE, DEEP, "changed", "icon.png", DIGEST)
    page = render(replace(record(), pictures=(picture,))).decode()
    sizes = re.findall(r'<img [^>]*width="(\d+)" height="(\d+)"', page)
    assert sizes == [("80", "40"), ("20", "10"), ("20", "10")] * 2


def test_a_long_digest_is_whole_in_the_text_so_that_it_can_be_copied() -> None:
    picture = Picture("icon", 20, 10, None, DEEP, "new", "icon.png", DIGEST)
    assert DIGEST in Skeleton(render(replace(record(), pictures=(picture,)))).text


def test_the_time_of_the_checks_is_utc_to_the_millisecond() -> None:
    text = Skeleton(render(record())).text
    assert "1970-01-01T00:00:01.337Z" in text


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        (replace(record(), pictures=(replace(record().pictures[0], after=b"<svg/>"),)), "artifact_invalid"),
        (replace(record(), pictures=(replace(record().pictures[0], before=b""),)), "artifact_invalid"),
        (replace(record(), pictures=(replace(record().pictures[3], before=BLUE),)), "artifact_invalid"),
        (replace(record(), identity=replace(record().identity, at_ms=10**18)), "input_invalid"),
    ],
)
def test_a_record_that_contradicts_itself_is_refused(broken: Record, code: str) -> None:
    with pytest.raises(CountermarkError) as refused:
        render(broken)
    assert refused.value.code == code


def _luminance(colour: str) -> float:
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_text_colour_reaches_the_contrast_of_wcag_aa_in_light_dark_and_print() -> None:
    css = files("countermark.record").joinpath("page.css").read_text()
    schemes = [
        dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6});", block))
        for block in re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    ]
    assert len(schemes) == 3
    for scheme in schemes:
        whole = {
            name: value if len(value) == 7 else "#" + "".join(c * 2 for c in value[1:])
            for name, value in scheme.items()
        }
        for name in ("ink", "quiet", "link", "passed", "failed", "skipped", "unavailable"):
            low, high = sorted((_luminance(whole[name]), _luminance(whole["paper"])))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (name, whole[name], whole["paper"])


def test_headings_never_skip_a_level() -> None:
    levels = [int(level) for level in re.findall(rb"<h([1-6])", render(record()))]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
