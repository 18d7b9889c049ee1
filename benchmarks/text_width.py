"""Text: widths against Chromium's canvas and line breaks against the editor's own code, in one run.

    python benchmarks/text_width.py [--rows FILE]

The editor's npm package is loaded into Chromium as it is (COUNTERMARK_EXCALIDRAW names its folder, else the one that
the page's build installed) with all its font faces; what it imports from others is replaced by empty parts, since
measuring and wrapping use none of them, and the bundled font files are served in the place of its own, as the scene
server does. Both sides then get the same strings: words, numbers, ligatures, kerning
pairs, accents, other scripts, whole sentences, in whole, half and odd sizes. Strings with a character that no bundled
font has are counted apart: their widths are assumed, and said to be.
"""

# ruff: noqa: RUF001 - characters that look alike in several scripts are what is measured
from __future__ import annotations

import json
import mimetypes
import os
import random
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from _claim import ROOT, Row, finish

from countermark.typeset import FAMILIES, measure, wrap
from countermark.typeset.fonts import BY_NAME, DEFAULT, FOLDER
from countermark.typeset.pieces import SETTING, load

PACKAGE: Final = Path(
    os.environ.get("COUNTERMARK_EXCALIDRAW") or ROOT / "editor" / "node_modules" / "@excalidraw" / "excalidraw"
)
CHROMIUM: Final = "/usr/bin/chromium"
SITE: Final = "http://editor.invalid/"
FONTS: Final = "dist/prod/fonts/"
STRINGS: Final = 1000
SIZES: Final = (13, 16, 17.5, 20, 21.37, 28, 36)
LABELS: Final = 300
BAR: Final = 0.01
SAME: Final = 1e-9
CJK_SHARE: Final = 0.25
EMOJI_SHARE: Final = 0.1
KEPT_SPACE: Final = 0.9
LATIN: Final = """
Hello world the quick brown fox jumps over lazy dog AVATAR Tomorrow WAVE LT Ty Yo fi fl ffi office affluent To: From:
e.g. (parenthesis) [brackets] {braces} 'single' "double" user@example.org https://example.org/a-b?c=1 3.14159 1,000,000
50% €20 £5 #42 -> => != === <= >= && || :: ++ -- /* */ // é è ñ ü ß ø å ç œ æ Š ž Č đ ı Ελλάδα αβγδ Привет мир Їжак
Беларусь naïve coöperate façade well-known state-of-the-art « » “quoted” ‘it’s’ – — … Ångström Łódź Dvořák Gdańsk
Besiktas KAFKA Ta Te Vo Wa P. F, r. y, '' 世“q” 글“q” T† A\u00a0b T\u200da e\u0301 c\u030c
"""
EAST: Final = "世界 你好 日本語 テスト ひらがな 한국어 글자 「引用」 漢字、混ぜる。 ￥100 （括弧） 東京タワー ＡＢＣ ①"
PICTURES: Final = "😀 👍🏽 👨\u200d👩\u200d👧\u200d👦 🇨🇿 1️⃣ ☂️ ©"
WORDS: Final = tuple(LATIN.split())
CJK_WORDS: Final = tuple(EAST.split())
EMOJI: Final = tuple(PICTURES.split())
BROKEN: Final = (
    "Supercalifragilisticexpialidocious",
    "a-b-c-d-e-f",
    "x" * 40,
    "https://example.org/very/long/path?with=query",
)
_IMPORTS: Final = re.compile(r"^import\s+(?:(\w+)\s*,?\s*)?(?:\{([^}]*)\})?\s*from\s+\"([^\".][^\"]*)\"", re.MULTILINE)
_ANY: Final = """const any = new Proxy(function () {}, {
  get: (_, key) => key === Symbol.toPrimitive ? () => '' : any, apply: () => any, construct: () => any});
"""
_SETUP: Final = """async () => {
  window.editor = await import("/dist/dev/%s");
  const drawn = [...editor.Fonts.registered.values()].filter((one) => !one.metadata.local);
  const faces = drawn.flatMap((one) => one.fontFaces);
  for (const {fontFace} of faces) document.fonts.add(fontFace);
  await Promise.all(faces.map(({fontFace}) => fontFace.load()));
  return faces.length;
}"""
_MEASURE: Final = """(asked) => asked.map(([text, family, size]) => {
  const font = editor.getFontString({fontFamily: family, fontSize: size});
  return editor.measureText(text, font, editor.getLineHeight(family));
})"""
_WRAP: Final = """(asked) => asked.map(([text, family, size, width]) =>
  editor.wrapText(text, editor.getFontString({fontFamily: family, fontSize: size}), width))"""


@contextmanager
def editor_page() -> Iterator[Any]:
    """Give a page in Chromium in which `editor` is the package's own module and every font face is loaded."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - said below when it is missing

    folder = PACKAGE / "dist" / "dev"
    module = next(path for path in sorted(folder.glob("chunk-*.js")) if "var wrapText =" in path.read_text("utf-8"))
    stubs = stub_modules(folder)
    start = (
        f"<!doctype html><script>window.EXCALIDRAW_ASSET_PATH = '{SITE}dist/prod/'</script><script type=importmap>"
        + json.dumps({"imports": {name: f"/stub/{name}.js" for name in stubs}})
        + "</script>"
    )

    def answer(route: Any) -> None:
        path = route.request.url.removeprefix(SITE)
        if not path:
            route.fulfill(body=start, content_type="text/html; charset=utf-8")
        elif path.startswith("stub/"):
            route.fulfill(body=stubs[path[5:-3]], content_type="text/javascript")
        elif (file := FOLDER / path.removeprefix(FONTS)).is_file() or (file := PACKAGE / path).is_file():
            kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
            route.fulfill(body=file.read_bytes(), content_type=kind)
        else:
            route.fulfill(status=404)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.route("**/*", answer)
        page.goto(SITE)
        faces = page.evaluate(_SETUP % module.name)
        listed = sum(len(family.pieces) for family in BY_NAME.values() if family.role != "interface")
        assert faces == listed, f"the package has {faces} font faces, the manifest {listed}"
        yield page
        browser.close()


def stub_modules(folder: Path) -> dict[str, str]:
    """Return an empty module for each name that the package imports from others."""
    names: dict[str, set[str]] = {}
    for path in folder.glob("*.js"):
        for _, listed, source in _IMPORTS.findall(path.read_text("utf-8")):
            names.setdefault(source, set()).update(
                part.split(" as ")[0].strip() for part in listed.split(",") if part.strip()
            )
    return {
        source: _ANY
        + "export default any;\n"
        + "".join(f"export const {name} = any;\n" for name in sorted(listed - {"default"}))
        for source, listed in names.items()
    }


def strings(chance: random.Random, family: int) -> tuple[list[str], list[str]]:
    """Return texts of one to eight words, no two the same: as many exact ones as asked for, and the others met."""
    found: dict[bool, dict[str, None]] = {False: {}, True: {}}
    while len(found[False]) < STRINGS:
        words = [*WORDS, *CJK_WORDS * 2] if family == DEFAULT and chance.random() < CJK_SHARE else WORDS
        text = " ".join(chance.choices(words, k=chance.randint(1, 8)))
        text = text if chance.random() < KEPT_SPACE else text.replace(" ", "", 1)
        found[measure(text, family, 20).approximate][text] = None
    return list(found[False]), list(found[True])


def labels(chance: random.Random) -> list[tuple[str, int, float, float]]:
    """Return labels to break: text, family, size, width; with CJK, emoji, hyphens, doubled and hanging spaces, URLs."""
    found: list[tuple[str, int, float, float]] = []
    exact = 0
    while exact < LABELS:
        words = chance.choices([*WORDS, *CJK_WORDS, *BROKEN], k=chance.randint(1, 14))
        if chance.random() < EMOJI_SHARE:
            words.insert(chance.randint(0, len(words)), chance.choice(EMOJI))
        text = "".join(word + chance.choice((" ", " ", " ", "  ", "\n", "")) for word in words)
        family = chance.choice((5, 5, 5, 6, 8, 7, 3, 1))
        found.append((text, family, chance.choice(SIZES), chance.uniform(20, 400)))
        exact += not measure(text, family, 20).approximate
    return found


def widths(page: Any, chance: random.Random) -> Iterator[Row]:
    """Measure every family's strings in every size on both sides."""
    for number, family in FAMILIES.items():
        if family.role != "text":
            continue
        exact, others = strings(chance, number)
        asked = [(text, number, size) for text in exact for size in SIZES]
        theirs = page.evaluate(_MEASURE, asked)
        ours = [measure(*one) for one in asked]
        off = [abs(one.width - other["width"]) for one, other in zip(ours, theirs, strict=True)]
        tall = max(abs(one.height - other["height"]) for one, other in zip(ours, theirs, strict=True))
        assert tall < SAME, f"a height of {family.name} is off by {tall}"
        worst = asked[off.index(max(off))]
        yield Row(
            f"text width, {family.name}",
            f"largest difference {max(off):.4f} px",
            "",
            max(off),
            BAR,
            "at most",
            f"{len(exact)} texts × {len(SIZES)} sizes, {len(others)} approximate ones left out; "
            f"worst {worst[0]!r} at {worst[2]} px",
        )


def breaks(page: Any, chance: random.Random) -> Row:
    """Break the labels on both sides."""
    asked = labels(chance)
    pairs = list(zip(asked, page.evaluate(_WRAP, asked), strict=True))
    exact = [(one, other) for one, other in pairs if not measure(*one[:3]).approximate]
    off = [(one, other) for one, other in exact if wrap(*one) != other]
    same = sum(wrap(*one) == other for one, other in pairs) - len(exact) + len(off)
    for one, other in off[:3]:
        print(f"differs: {one!r}\n  editor {other!r}\n  ours   {wrap(*one)!r}")
    note = f"of {len(pairs) - len(exact)} with characters of other fonts {same} are identical too"
    return Row("line breaks", f"{len(off)} of {len(exact)} labels differ", "", float(len(off)), 0.0, "at most", note)


def speed(page: Any) -> Row:
    """Measure short texts that neither side has seen."""
    asked = [(f"Hello word {number}", 5, 20) for number in range(20_000)]
    began = time.perf_counter()
    for one in asked:
        measure(*one)
    ours = len(asked) / (time.perf_counter() - began)
    spent = page.evaluate(
        "(asked) => { const began = performance.now(); (" + _MEASURE + ")(asked); return performance.now() - began; }",
        asked,
    )
    peer = len(asked) * 1000 / spent
    return Row("short texts measured", f"{ours:,.0f}/s", f"{peer:,.0f}/s in Chromium", ours / peer)


def main() -> None:
    """Measure, and end with the rows."""
    missing = [part for part, there in ((PACKAGE, PACKAGE.is_dir()), (CHROMIUM, Path(CHROMIUM).exists())) if not there]
    assert not missing, f"unavailable: {missing[0]} is not there"
    os.environ[SETTING] = str(PACKAGE / "dist" / "prod")
    cjk = BY_NAME["Xiaolai"].pieces
    assert not isinstance(load(cjk[0], PACKAGE / "dist" / "prod" / "fonts"), str), (
        "the CJK pieces are not the manifest's"
    )
    rows: list[Row] = []
    with editor_page() as page:
        chance = random.Random(20)  # noqa: S311 - the same texts in every run
        rows += widths(page, chance)
        rows.append(breaks(page, chance))
        rows.append(speed(page))
    finish(rows)


if __name__ == "__main__":
    main()
