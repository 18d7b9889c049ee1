"""The page: how soon it is ready beside the npm editor alone, what it weighs, and whether it asks another host.

    python benchmarks/page_ready.py [--rows FILE]

Ours is `countermark serve` on a folder with one scene of 100 elements, opened at that scene's address: session, content
policy, the scene read from the folder, its elements restored and matched, and the canvas ready to be drawn on. The peer
is the npm editor and React in a page of ten lines, built by the same Vite without any of our changes, served from plain
files and given the same scene. Both are opened in turn in one Chromium that caches nothing; the time is the page's own,
from the start of its navigation.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any, Final

from _claim import ROOT, Row, finish, interleave, ratio, scratch, spread

CHROMIUM: Final = "/usr/bin/chromium"
EDITOR: Final = ROOT / "editor"
ROUNDS: Final = 15
ELEMENTS: Final = 100
BAR: Final = 1.2
MEGABYTES: Final = 0.5
_TEXT: Final = re.compile(r"javascript|css|html")
_INDEX: Final = """<!doctype html><html lang="en"><body><div id="page" style="height: 100vh"></div>
<script>window.EXCALIDRAW_ASSET_PATH = "/"</script><script type="module" src="/main.jsx"></script></body></html>"""
_MAIN: Final = """import { Excalidraw } from "@excalidraw/excalidraw";
import "@excalidraw/excalidraw/index.css";
import { createRoot } from "react-dom/client";
let api = null;
const ready = (_, state) => { if (api && !state.isLoading) document.body.dataset.ready = "true"; };
const scene = () => fetch("/scene.json").then((answer) => answer.json());
createRoot(document.getElementById("page")).render(
  <Excalidraw initialData={scene} excalidrawAPI={(made) => { api = made; }} onChange={ready} langCode="en" />);
"""
_CLOCK: Final = """new MutationObserver(() => {
  if (document.querySelector("[data-ready=true]")) window.readyAfter ??= performance.now();
}).observe(document, { subtree: true, childList: true, attributeFilter: ["data-ready"] });"""
_CONFIG: Final = """import react from "@vitejs/plugin-react";
export default { plugins: [react()], define: { "process.env.IS_PREACT": '"false"' }, logLevel: "error",
  build: { target: "es2022", assetsInlineLimit: 0, reportCompressedSize: false, chunkSizeWarningLimit: 4000 } };
"""


def scene() -> dict[str, Any]:
    """Return a scene of a hundred shapes, as a grid."""
    style = {"strokeColor": "#1e1e1e", "backgroundColor": "#a5d8ff", "fillStyle": "solid", "strokeStyle": "solid"}
    rest = {"angle": 0, "strokeWidth": 2, "roughness": 1, "opacity": 100, "groupIds": [], "frameId": None}
    last = {"roundness": None, "boundElements": [], "updated": 1, "link": None, "locked": False, "isDeleted": False}
    elements = [
        {"id": f"e{at}", "type": ("rectangle", "ellipse", "diamond")[at % 3], "x": at % 10 * 90, "y": at // 10 * 70}
        | {"width": 70, "height": 50, "index": None, "seed": at + 1}
        | {"version": 1, "versionNonce": at}
        | style
        | rest
        | last
        for at in range(ELEMENTS)
    ]
    state = {"viewBackgroundColor": "#ffffff", "gridSize": 20, "gridModeEnabled": False}
    return {"type": "excalidraw", "version": 2, "source": "bench", "elements": elements, "appState": state, "files": {}}


def peer(folder: Path) -> Path:
    """Build the npm editor alone, and return the folder to serve."""
    spec = importlib.util.spec_from_file_location("editor_build", EDITOR / "build.py")
    if spec is None or spec.loader is None:
        sys.exit("editor/build.py cannot be loaded")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    node, _ = build.node()
    (folder / "node_modules").symlink_to(EDITOR / "node_modules")
    for name, text in (("index.html", _INDEX), ("main.jsx", _MAIN), ("vite.config.mjs", _CONFIG)):
        (folder / name).write_text(text, "utf-8")
    vite = EDITOR / "node_modules" / "vite" / "bin" / "vite.js"
    subprocess.run([node, vite, "build"], cwd=folder, check=True, timeout=300)
    served = folder / "dist"
    (served / "fonts").symlink_to(EDITOR / "node_modules" / "@excalidraw" / "excalidraw" / "dist" / "prod" / "fonts")
    (served / "scene.json").write_text(json.dumps(scene()), "utf-8")
    return served


class _Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        del format, args


@contextmanager
def files(folder: Path) -> Iterator[str]:
    """Serve plain files."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def ours(folder: Path) -> Iterator[tuple[str, str]]:
    """Serve a folder with the scene; give the address that begins a session, and that of the scene."""
    (folder / "plan.excalidraw").write_text(json.dumps(scene(), indent=2), "utf-8")
    program = "from countermark.surfaces.cli import main; main()"
    child = subprocess.Popen(
        [sys.executable, "-c", program, "serve", str(folder), "--json"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        said = json.loads(child.stdout.readline())["data"]
        if not said["editor"]:
            sys.exit("the page is not built: run make editor")
        yield said["start"], f"{said['address']}/s/plan"
    finally:
        child.terminate()
        child.wait(30)


class Opened:
    """A page of one side in the browser; every opening is timed by the page's own clock."""

    def __init__(self, browser: Any, address: str, ready: str) -> None:
        """Open a window of its own, without a cache."""
        self.context = browser.new_context(viewport={"width": 1280, "height": 800})
        self.context.add_init_script(_CLOCK)
        self.address, self.ready = address, ready
        self.weights: list[int] = []
        self.elsewhere: list[str] = []

    def once(self) -> float:
        """Open the page and return the milliseconds until it is ready."""
        page = self.context.new_page()
        self.context.new_cdp_session(page).send("Network.setCacheDisabled", {"cacheDisabled": True})
        host = self.address.split("/", 3)[2]
        answers: list[Any] = []
        page.on("response", lambda answer: answers.append(answer))  # noqa: PLW0108 - the driver marks its handlers
        page.on("request", lambda request: self._look(request.url, host))
        page.goto(self.address, wait_until="commit")
        page.locator(self.ready).wait_for(state="attached")
        taken = float(page.evaluate("() => window.readyAfter"))
        texts = [one for one in answers if _TEXT.search(one.headers.get("content-type", ""))]
        self.weights.append(sum(len(gzip.compress(one.body(), 6)) for one in texts))
        page.close()
        return taken

    def _look(self, url: str, host: str) -> None:
        if not url.startswith((f"http://{host}/", "data:", "blob:")):
            self.elsewhere.append(url)


def main() -> None:
    """Measure both sides in turn, and print."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - a part of make bench

    with (
        scratch() as built,
        scratch() as drawings,
        files(peer(built)) as plain,
        ours(drawings) as (start, address),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        mine = Opened(browser, address, '.desk[data-ready="true"]')
        alone = Opened(browser, plain, 'body[data-ready="true"]')
        first = mine.context.new_page()
        first.goto(start)
        first.close()
        for side in (mine, alone):
            side.once()  # the browser itself is warm then, for both
        times, theirs = interleave(ROUNDS, mine.once, alone.once)
        browser.close()
    weight = median(mine.weights) / 1e6
    finish(
        [
            Row(
                "page ready with 100 elements, cached nothing ÷ the npm editor alone",
                f"{median(times):.0f} ms",
                f"{median(theirs):.0f} ms",
                ratio(times, theirs),
                BAR,
                "at most",
                spread(times, theirs),
            ),
            Row(
                "page before fonts, gzip",
                f"{weight:.2f} MB",
                "",
                weight,
                MEGABYTES,
                "at most",
                f"HTML, scripts and styles until it is ready; the editor alone {median(alone.weights) / 1e6:.2f} MB",
            ),
            Row(
                "requests of the page to another host", str(len(mine.elsewhere)), "", len(mine.elsewhere), 0, "at most"
            ),
        ]
    )


if __name__ == "__main__":
    main()
