"""The page in a real browser: what it asks for, what it shows, what it complains about."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import pytest

from countermark.record.page import Check, Engine, Fact, Identity, Picture, Record, Unchecked, render
from tests.conftest import unavailable

PIXEL: Final = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c6360a8ff0f00030201ff1f3d0c1d0000000049454e44ae426082"
)
FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
)


@dataclass(frozen=True)
class Visit:
    """One page opened once: paths a server of ours was asked for, addresses the browser tried, what it says."""

    asked: list[str]
    tried: set[str]
    console: list[str]
    dom: str


@contextmanager
def _site(page: bytes, asked: list[str]) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            found = self.path == "/record.html"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page if found else b"")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
            """Stay quiet: what was asked is in the list."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def visit(page: bytes, folder: Path) -> Visit:
    """Serve the page, open it, and collect everything that left it; `PORT` in the page becomes the server's port."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        unavailable("a Chromium browser", "none of chromium, chromium-browser, google-chrome is on PATH")
    asked: list[str] = []
    log = folder / "net.json"
    # The port is known only once the server listens, so the page is made to order.
    with _site(page, asked) as port:
        run = subprocess.run(
            [
                browser,
                *FLAGS,
                f"--user-data-dir={folder / 'profile'}",
                f"--log-net-log={log}",
                # The browser's own errands end at once; an escape to a host of the page's text ends at our server.
                f"--host-resolver-rules=MAP *.test 127.0.0.1:{port}, MAP * ~NOTFOUND",
                "--dump-dom",
                f"http://page.test:{port}/record.html",
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=90,
        )
        home = f"http://page.test:{port}/record.html"
    return Visit(asked, _started(log) - {home}, [x for x in run.stderr.splitlines() if "CONSOLE" in x], run.stdout)


def _started(log: Path) -> set[str]:
    """Return every address for which the browser started a request in the page's name."""
    text = log.read_text()
    # A browser that is stopped leaves the last list open.
    try:
        events = json.loads(text)
    except json.JSONDecodeError:
        events = json.loads(text.rstrip().rstrip(",") + "]}")
    started = {
        event["params"]["url"]
        for event in events["events"]
        if "url" in event.get("params", {}) and "page.test" in event["params"].get("initiator", "")
    }
    return {address for address in started if not address.startswith("data:")}


HOSTILE: Final = (
    '"><img src=http://leak.test/img.png><script src=http://leak.test/script.js></script>'
    "<link rel=stylesheet href=http://leak.test/style.css><iframe src=https://leak.test/frame></iframe>"
    "</style><style>@import 'http://leak.test/import.css';</style>"
)


def record(word: str) -> Record:
    return Record(
        title=word,
        asked=(Fact(word, word),),
        allowed_by=(Fact(word, "vector.write"),),
        changed=(Fact(word, "#1a6cff;background:url(http://leak.test/colour)"),),
        checked=(Check(word, word, "passed", word, word, word, word),),
        not_checked=(Unchecked(word, word),),
        pictures=(
            Picture(word, 512, 512, PIXEL, PIXEL + b" ", "changed", word, word),
            Picture(word, 16, 16, None, PIXEL, "new", word, word),
        ),
        figures=(Fact(word, word),),
        identity=Identity(word, word, word, word, (Engine(word, word, word),), 0),
    )


@pytest.mark.promise("record.page.self-contained")
def test_no_request_leaves_the_page_whatever_its_text_says(tmp_path: Path) -> None:
    seen = visit(render(record(HOSTILE)), tmp_path)
    assert seen.asked == ["/record.html"]
    assert seen.tried == set()
    assert seen.console == []
    assert "Not checked" in seen.dom
    assert "<script" not in seen.dom


def test_the_policy_stops_what_the_escaping_would_let_through(tmp_path: Path) -> None:
    page = render(record("mark")).replace(b"<main>", b"<main>" + HOSTILE.encode())
    seen = visit(page, tmp_path)
    assert seen.asked == ["/record.html"]
    assert any("Content Security Policy" in line for line in seen.console)


def test_the_watch_sees_a_page_that_does_ask_for_something(tmp_path: Path) -> None:
    page = b"<!doctype html><title>leaky</title>" + HOSTILE.encode()
    seen = visit(page, tmp_path)
    assert "/img.png" in seen.asked
    assert "http://leak.test/script.js" in seen.tried
