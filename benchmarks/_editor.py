"""The npm editor in a real browser: the peer of every figure about rendering scenes.

The package is bundled as it comes, nothing in it replaced, and served to Debian's Chromium at an address that no name
server knows. The clock stands still before it is loaded and random numbers begin anew with every export, as in the
render child; fontconfig gives Liberation Sans for Helvetica, unhinted (hinted
advances are whole pixels), and has no other font.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import mimetypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import numpy as np

from countermark.raster.picture import decode_png
from countermark.scene import node
from countermark.scene.exporter import Look
from countermark.typeset.fonts import FOLDER
from countermark.typeset.pieces import editor_fonts

if TYPE_CHECKING:
    import numpy.typing as npt
    from playwright.sync_api import Page, Playwright

ROOT: Final = Path(__file__).resolve().parent.parent
EDITOR: Final = ROOT / "editor"
ORIGIN: Final = "http://countermark.invalid"
_START: Final = f"""<!doctype html><meta charset="utf-8">
<script>
  window.EXCALIDRAW_ASSET_PATH = "{ORIGIN}/";
  window.EXCALIDRAW_EXPORT_SOURCE = "countermark";
</script>
<script type="module">
  import {{ exportToSvg }} from "/peer/peer.js";
  window.exportToSvg = exportToSvg;
</script>"""
# Before any module: the clock at 0, and mulberry32 in the place of what is random.
_WORLD: Final = """
  let seed = 1;
  window.reseed = () => { seed = 1; };
  const next = () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  Math.random = next;
  Date.now = () => 0;
  Object.defineProperty(window, "crypto", { value: { getRandomValues: (bytes) => {
    for (let place = 0; place < bytes.length; place += 1) bytes[place] = next() * 256;
    return bytes;
  } } });
"""
_EXPORT: Final = """async ([text, look]) => {
  const scene = JSON.parse(text);
  window.reseed();
  const svg = await window.exportToSvg({
    elements: scene.elements.filter((one) => !one.isDeleted),
    appState: {
      ...scene.appState,
      exportBackground: look.background,
      exportWithDarkMode: look.dark,
      exportEmbedScene: look.embed,
      exportScale: look.scale,
    },
    files: scene.files ?? {},
    exportPadding: look.padding,
    skipInliningFonts: !look.fonts,
  });
  return svg.outerHTML;
}"""
# In the page itself, as an image is drawn at a rounded size; and on a frame of whole pixels: a side with a fraction is
# rounded to 1/64 px, its scale is no longer 1, and FreeType floors every font size that comes of it.
_SHOW: Final = """async ([text, width, height]) => {
  document.body.innerHTML = text;
  const svg = document.querySelector("svg");
  svg.style.position = "absolute";
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) {
    svg.setAttribute(name, value);
  }
  await Promise.all([...document.fonts].map((face) => face.load()));
}"""
_MOVE: Final = """async ([left, top]) => {
  const { style } = document.querySelector("svg");
  [style.left, style.top] = [`${-left}px`, `${-top}px`];
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
TILE: Final = 1500
_FONTCONFIG: Final = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}</dir><cachedir>{folder}/cache</cachedir>
<match target="pattern"><test name="family"><string>Helvetica</string></test>
<edit name="family" mode="assign" binding="same"><string>Liberation Sans</string></edit></match>
<match target="font"><edit name="hinting" mode="assign"><bool>false</bool></edit></match></fontconfig>"""


def lacking() -> str:
    """Return what the comparison needs and is not here, or nothing."""
    if shutil.which("chromium") is None:
        return "chromium"
    if importlib.util.find_spec("playwright") is None:
        return "playwright"
    if not (EDITOR / "node_modules" / "@excalidraw" / "excalidraw").is_dir():
        return "npm package @excalidraw/excalidraw"
    return "" if node.find_node() else "node"


def bundled() -> Path:
    """Return the folder of the bundled npm editor, built once for one lock file."""
    made_from = b"".join((EDITOR / name).read_bytes() for name in ("package-lock.json", "bundle/peer.mjs"))
    folder = ROOT / "build" / "peer" / hashlib.sha256(made_from).hexdigest()[:12]
    if not folder.is_dir():
        unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
        program = node.find_node()
        assert program is not None
        subprocess.run([program, "bundle/peer.mjs", str(unfinished)], cwd=EDITOR, check=True, timeout=120)
        try:
            unfinished.rename(folder)
        except OSError:  # another process was first
            shutil.rmtree(unfinished)
    return folder


def fontconfig(folder: Path) -> dict[str, str | float | bool]:
    """Write a configuration with one font into a folder; return the environment that makes a program take it."""
    unpacked = io.BytesIO()
    packed = (FOLDER / "Liberation" / "LiberationSans-Regular.woff2").read_bytes()
    import_module("fontTools.ttLib.woff2").decompress(io.BytesIO(packed), unpacked)
    (folder / "LiberationSans-Regular.ttf").write_bytes(unpacked.getvalue())
    (folder / "fonts.conf").write_text(_FONTCONFIG.format(folder=folder), "utf-8")
    return {**os.environ, "FONTCONFIG_FILE": str(folder / "fonts.conf")}


class Editor:
    """The npm editor in one page."""

    def __init__(self, page: Page) -> None:
        """Take a page that has loaded it."""
        self._page = page

    def export(self, scene: str, look: Look) -> str:
        """Return what the browser's export of a document's text has as `outerHTML`."""
        made: str = self._page.evaluate(_EXPORT, [scene, look._asdict()])
        return made

    def picture(self, svg: str, width: int, height: int) -> npt.NDArray[np.uint8]:
        """Return the pixels of an SVG of that size in CSS pixels, as the browser shows it, tile by tile."""
        self._page.set_viewport_size({"width": min(width, TILE), "height": min(height, TILE)})
        self._page.evaluate(_SHOW, [svg, width, height])
        rows = []
        for top in range(0, height, TILE):
            row = []
            for left in range(0, width, TILE):
                self._page.evaluate(_MOVE, [left, top])
                clip = {"x": 0, "y": 0, "width": min(TILE, width - left), "height": min(TILE, height - top)}
                row.append(decode_png(self._page.screenshot(clip=clip, timeout=60_000)).rgba)  # type: ignore[arg-type]
            rows.append(np.concatenate(row, axis=1))
        return np.concatenate(rows, axis=0)


@contextmanager
def editor(playwright: Playwright, folder: Path, *, scale: float = 1.0) -> Iterator[Editor]:
    """Give the npm editor in a browser that is started for it; `folder` is for its fonts, `scale` its pixels."""
    peer = bundled()
    overlaid = [path for path in (FOLDER, editor_fonts()) if path is not None]
    chromium = shutil.which("chromium")
    browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"], env=fontconfig(folder))
    try:
        context = browser.new_context(device_scale_factor=scale)
        context.add_init_script(_WORLD)
        page = context.new_page()
        page.route("**/*", lambda route: _answer(route, peer, overlaid))
        page.goto(f"{ORIGIN}/")
        page.wait_for_function("window.exportToSvg !== undefined")
        yield Editor(page)
    finally:
        browser.close()


def _answer(route: Any, peer: Path, overlaid: list[Path]) -> None:
    path = urlsplit(route.request.url).path
    if path == "/":
        route.fulfill(body=_START, content_type="text/html; charset=utf-8")
        return
    places = [peer / path.removeprefix("/peer/")]
    if path.startswith("/fonts/"):
        places = [folder / path.removeprefix("/fonts/") for folder in overlaid]
    found = next((place for place in places if place.is_file()), None)
    if found is None or not route.request.url.startswith(ORIGIN):
        route.abort()
        return
    kind = "text/javascript" if found.suffix == ".js" else mimetypes.guess_type(found.name)[0]
    route.fulfill(body=found.read_bytes(), content_type=kind or "application/octet-stream")
