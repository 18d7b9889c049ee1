"""Draw the pictures of the documentation again: `python scripts/pictures.py [--page kit/index.html]`.

docs/images/architecture.svg is drawn from the layers in pyproject.toml and the packages that exist.
docs/images/record.png is a screenshot of a record page: the one named with --page, else that of scripts/sample.py.
"""

from __future__ import annotations

import argparse
import html
import io
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
IMAGES: Final = ROOT / "docs" / "images"
MOST_BYTES: Final = 200_000

CALL: Final = "perform(plan, grant=…, revision=…, key=…) → receipt"
EM: Final = 15.6
MARGIN: Final = 24
CARD: Final = 240
WIDE: Final = 4 * CARD + 5 * MARGIN
TOP: Final = 128
CALL_X: Final = (WIDE - len(CALL) * EM) / 2

LAWS: Final = (
    ("grant=…", "Grant", "Every effect names the grant that allows it; handing work on can only narrow it.", "grant"),
    ("revision=…", "Fence", "A write names the revision it was made against; a stale writer cannot publish.", "fence"),
    ("key=…", "Once", "Same key, same result; an unknown outcome is looked at, never repeated blindly.", "once"),
    ("receipt", "Proof", "Nothing is done until something other than its maker has observed it.", "proof"),
)
LAYERS: Final = (
    ("surfaces", "parse input, show results, wire the rest together"),
    ("domains", "one field each; none imports another"),
    ("leaves", "shared parts without a field of their own"),
    ("kernel", "the four laws, the ledger, files, children, receipts"),
)
STYLE: Final = """
  svg {
    --ink: #12161f; --quiet: #566072; --line: #cfd4dc; --card: #f5f6f9;
    --say: #0a4fd6; --get: #8a5200; --strike: #ff9a24;
    --sans: Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
    --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  }
  @media (prefers-color-scheme: dark) {
    svg {
      --ink: #e9ecf2; --quiet: #9aa5b8; --line: #39414f; --card: #161b24;
      --say: #7fb0ff; --get: #f0b35a; --strike: #ffae38;
    }
  }
  text { font-family: var(--sans); fill: var(--ink) }
  .mono { font-family: var(--mono) }
  .call { font-size: 26px } .title { font-size: 20px; font-weight: 650 }
  .body { font-size: 14px } .small { font-size: 13px }
  .quiet { fill: var(--quiet) } .say { fill: var(--say) } .get { fill: var(--get) }
  .card { fill: var(--card); stroke: var(--line) }
  .wire { fill: none; stroke-width: 2 } .wire.say { stroke: var(--say) } .wire.get { stroke: var(--strike) }
  .arrow { fill: none; stroke: var(--quiet); stroke-width: 1.6 }
"""


def main() -> None:
    """Write both pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, help="a record page; without it, the sample")
    page = parser.parse_args().page
    IMAGES.mkdir(parents=True, exist_ok=True)
    (IMAGES / "architecture.svg").write_text(architecture(), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        if page is None:
            page = Path(folder) / "record.html"
            subprocess.run([sys.executable, ROOT / "scripts" / "sample.py", page], check=True)
        (IMAGES / "record.png").write_bytes(screenshot(page, Path(folder)))
    for path in sorted(IMAGES.iterdir()):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")


def architecture() -> str:
    """Return the picture of ARCHITECTURE.md: the call, its four laws, and which package may import which."""
    parts = [*_call(), *_laws(), *_layers()]
    high = TOP + 420
    label = "perform(plan, grant, revision, key) gives a receipt; surfaces import domains, leaves and the kernel"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {high}" role="img" aria-label="{label}">\n'
        f"<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def _call() -> Iterator[str]:
    for match in re.finditer(r"[a-z]+=…|\w+|[^\w\s]+", CALL):
        word = match.group()
        kind = {"receipt": " get"}.get(word, " say" if "=" in word else "")
        x, length = CALL_X + match.start() * EM, len(word) * EM
        # The length is given, so that the wires meet the words in whichever monospaced font the reader has.
        yield (
            f'<text class="mono call{kind}" x="{x:.1f}" y="56" textLength="{length:.1f}" '
            f'lengthAdjust="spacingAndGlyphs">{word}</text>'
        )


def _laws() -> Iterator[str]:
    for column, (word, title, sentence, module) in enumerate(LAWS):
        x = MARGIN + column * (CARD + MARGIN)
        start = CALL_X + (CALL.index(word) + len(word) / 2) * EM
        kind = "get" if word == "receipt" else "say"
        centre = x + CARD / 2
        yield (
            f'<path class="wire {kind}" d="M{start:.1f} 70C{start:.1f} 104 {centre:.1f} 86 {centre:.1f} {TOP}"/>'
            f'<rect class="card" x="{x}" y="{TOP}" width="{CARD}" height="166" rx="8"/>'
            f'<text class="title" x="{x + 20}" y="{TOP + 38}">{title}</text>'
        )
        yield from _lines(sentence, x + 20, TOP + 66)
        yield f'<text class="mono small {kind}" x="{x + 20}" y="{TOP + 146}">kernel/{module}.py</text>'


def _layers() -> Iterator[str]:
    top = TOP + 222
    held = dict(zip((name for name, _ in LAYERS), packages(), strict=True))
    for column, (name, said) in enumerate(LAYERS):
        x = MARGIN + column * (CARD + MARGIN)
        yield (
            f'<rect class="card" x="{x}" y="{top}" width="{CARD}" height="166" rx="8"/>'
            f'<text class="title" x="{x + 20}" y="{top + 38}">{name}</text>'
        )
        yield from _lines(said, x + 20, top + 66)
        names = html.escape(" · ".join(held[name]))
        yield f'<text class="mono small quiet" x="{x + 20}" y="{top + 146}">{names}</text>'
        if column:
            y = top + 83
            yield f'<path class="arrow" d="M{x - MARGIN + 3} {y}H{x - 4}m-6 -5l6 5l-6 5"/>'


def _lines(text: str, x: int, y: int) -> Iterator[str]:
    for number, line in enumerate(textwrap.wrap(text, 29)):
        yield f'<text class="body quiet" x="{x}" y="{y + 20 * number}">{html.escape(line)}</text>'


def packages() -> list[list[str]]:
    """Return the packages that exist, layer by layer from the top as the import contract has them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract for contract in contracts if contract["id"] == "layers")["layers"]
    source = ROOT / "src" / "countermark"
    found = [
        [name for name in re.findall(r"countermark\.(\w+)", layer) if (source / name / "__init__.py").is_file()]
        for layer in layers
    ]
    surfaces = source / "surfaces"
    found[0] = sorted(
        path.stem
        for path in (surfaces.iterdir() if surfaces.is_dir() else ())
        if not path.name.startswith("_") and (path.suffix == ".py" or (path / "__init__.py").is_file())
    )
    found[-1] = ["kernel/perform.py"]
    return found


def screenshot(page: Path, folder: Path) -> bytes:
    """Return the first screen of a page as a PNG of at most 200 KB."""
    from PIL import Image  # noqa: PLC0415 - the SVG needs nothing but the standard library

    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        sys.exit("pictures: no Chromium on PATH; install chromium, then run this again")
    shot = folder / "shot.png"
    subprocess.run(
        [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            "--force-device-scale-factor=1.5",
            "--window-size=1240,1380",
            f"--user-data-dir={folder / 'profile'}",
            f"--screenshot={shot}",
            page.resolve().as_uri(),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    picture = Image.open(shot).convert("RGB")
    for colours in (256, 128, 64):
        small = io.BytesIO()
        picture.quantize(colours, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
        if small.tell() <= MOST_BYTES:
            return small.getvalue()
    sys.exit(f"pictures: the screenshot of {page} does not fit in {MOST_BYTES} bytes")


if __name__ == "__main__":
    main()
