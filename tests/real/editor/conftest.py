"""The page in a real Chromium: what every test of it needs, and what no test of it may leave behind."""

from __future__ import annotations

import importlib.util
import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.conftest import ROOT, unavailable
from tests.real.editor.fake_server import FakeServer, running

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Playwright, Request

EDITOR: Final = ROOT / "editor"
DIST: Final = EDITOR / "countermark_editor" / "dist"
LATIN: Final = ROOT / "src" / "countermark" / "typeset" / "fonts"
# What the browser itself writes into the console when a server refuses or is gone. A test that makes the server do so
# says it; every other line, and every line in another test, is a failure.
ANSWERED: Final = "Failed to load resource:"


@pytest.fixture(scope="session")
def dist() -> Path:
    """Return the page that is served: the installed package's, as the real server finds it, else the one built here."""
    found = importlib.util.find_spec("countermark_editor")
    place = Path(found.origin).parent / "dist" if found and found.origin else DIST
    if not (place / "build.json").is_file():
        unavailable("editor page", "it was not built; make editor builds it")
    if place != DIST and DIST.is_dir() and (place / "build.json").read_bytes() != (DIST / "build.json").read_bytes():
        pytest.fail("the installed page is another build than editor/countermark_editor/dist: run make editor")
    return place


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the browser's path."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        unavailable("chromium", "no chromium on PATH (on Debian: apt-get install chromium)")
    return found


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """Return the driver."""
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 - a part that may be missing
    except ImportError:
        unavailable("playwright", "the Python package playwright is not installed")
    with sync_playwright() as driver:
        yield driver


@pytest.fixture(scope="session")
def browser(playwright: Playwright, chromium: str) -> Iterator[Browser]:
    """Return one browser for all tests; each has a context of its own."""
    launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
    yield launched
    launched.close()


@dataclass
class Watch:
    """What a page must not do: write an error, ask another host, break the policy."""

    host: str
    refusals: bool = False
    found: list[str] = field(default_factory=list)

    def over(self, context: BrowserContext) -> None:
        context.on("console", self._said)
        context.on("weberror", lambda error: self.found.append(f"uncaught: {error.error}"))
        context.on("request", self._asked)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type not in {"error", "warning"}:
            return
        if self.refusals and message.text.startswith(ANSWERED):
            return
        self.found.append(f"{message.type}: {message.text} at {message.location}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.host, "data:", "blob:")):
            self.found.append(f"another host: {request.url}")


@pytest.fixture
def fake(tmp_path: Path, dist: Path) -> Iterator[FakeServer]:
    """Serve the built page and a folder of scenes."""
    folder = tmp_path / "drawings"
    folder.mkdir()
    with running(folder, dist, LATIN) as server:
        yield server


@pytest.fixture
def watch(fake: FakeServer) -> Iterator[Watch]:
    """Watch every page of the test; what was found fails it."""
    watching = Watch(fake.address)
    yield watching
    assert watching.found == []


@pytest.fixture
def page(browser: Browser, watch: Watch) -> Iterator[Page]:
    """Return one page in a fresh context of 1280 by 800."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(8_000)
    watch.over(context)
    opened = context.new_page()
    yield opened
    context.close()


def element(identifier: str, x: float, y: float, **fields: Any) -> dict[str, Any]:
    """Return a rectangle as the editor 0.18 writes it."""
    return {
        "id": identifier,
        "type": "rectangle",
        "x": x,
        "y": y,
        "width": 120,
        "height": 80,
        "angle": 0,
        "strokeColor": "#1e1e1e",
        "backgroundColor": "#a5d8ff",
        "fillStyle": "solid",
        "strokeWidth": 2,
        "strokeStyle": "solid",
        "roughness": 0,
        "opacity": 100,
        "groupIds": [],
        "frameId": None,
        "index": None,
        "roundness": None,
        "seed": 7,
        "version": 3,
        "versionNonce": 5,
        "isDeleted": False,
        "boundElements": [],
        "updated": 1,
        "link": None,
        "locked": False,
        **fields,
    }


def scene(*elements: dict[str, Any], **members: Any) -> dict[str, Any]:
    """Return a document."""
    state = {"viewBackgroundColor": "#ffffff", "gridSize": 20, "gridModeEnabled": False}
    whole = {"type": "excalidraw", "version": 2, "source": "test", "elements": list(elements), "appState": state}
    return {**whole, "files": {}, **members}


def on_disk(fake: FakeServer, name: str) -> dict[str, Any]:
    """Return what the file holds."""
    made: dict[str, Any] = json.loads((fake.folder / f"{name}.excalidraw").read_bytes())
    return made


class Person:
    """What a person does on the page: places are CSS pixels of the window."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address

    def opens(self, name: str) -> None:
        self.page.goto(f"{self.address}/s/{name}")
        self.ready()

    def ready(self) -> None:
        """Wait until the canvas took the scene in: the editor's own welcome is gone and the state says saved."""
        self.page.locator(".desk canvas.interactive").wait_for()
        self.page.locator('.desk[data-ready="true"]').wait_for()

    def state(self, name: str) -> None:
        """Wait until the page is in a state."""
        self.page.locator(f'.desk[data-state="{name}"]').wait_for()

    def at_canvas(self) -> None:
        """Be where keys go to the editor."""
        self.page.locator(".excalidraw-container").focus()

    def until(self, condition: Callable[[], bool], seconds: float = 15) -> None:
        """Wait until something outside the page is so: a file, what the server was sent."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "it did not become so"
            self.page.wait_for_timeout(30)

    def draws(self, x: float, y: float, width: float = 120, height: float = 80) -> None:
        """Draw a rectangle."""
        self.page.get_by_test_id("toolbar-rectangle").dispatch_event("click")
        self.drags(x, y, x + width, y + height)

    def drags(self, x: float, y: float, to_x: float, to_y: float, *, hold: bool = False) -> None:
        mouse = self.page.mouse
        mouse.move(x, y)
        mouse.down()
        mouse.move((x + to_x) / 2, (y + to_y) / 2, steps=4)
        mouse.move(to_x, to_y, steps=4)
        if not hold:
            mouse.up()

    def presses(self, keys: str) -> None:
        self.page.keyboard.press(keys)


@pytest.fixture
def person(page: Page, fake: FakeServer) -> Person:
    """Return the person at the page."""
    return Person(page, fake.address)
