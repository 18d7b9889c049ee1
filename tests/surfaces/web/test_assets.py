"""The page and its files: an editor's wheel of the test's own making laid over the fonts that come with the package."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from countermark.typeset.fonts import FOLDER

from .conftest import Site

ASSETS = "/dsh-excalidraw/assets"
FONT = "fonts/Virgil/Virgil-Regular.woff2"
INDEX = """<!doctype html><title>x</title>
<script nonce="__COUNTERMARK_NONCE__">window.EXCALIDRAW_ASSET_PATH = "/dsh-excalidraw/assets/";</script>
<script type="module" nonce="__COUNTERMARK_NONCE__" src="/dsh-excalidraw/assets/page-AbCd1234.js"></script>"""


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "wheel"
    for name, text in {
        "dist/index.html": INDEX,
        "dist/page-AbCd1234.js": "export {}",
        "dist/style.css": "a{}",
        "dist/icon.svg": "<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>",
        "dist/worker/subset-AbCd1234.js": "eval('1')",
        "dist/notes.md": "no",
        "dist/page.html": "<script>1</script>",
        "secret.json": "{}",
        "fonts/Xiaolai/one.woff2": "cjk",
        f"dist/{FONT}": "of the wheel",
    }.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    (folder / "dist/link.js").symlink_to(folder / "secret.json")
    monkeypatch.setenv("COUNTERMARK_EDITOR", str(folder))
    return folder


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is built."""
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("COUNTERMARK_EDITOR", str(tmp_path / "empty"))


def entered(opened: Callable[[], Site]) -> Site:
    site = opened()
    site.enter()
    return site


@pytest.mark.usefixtures("wheel")
def test_the_page_runs_one_inline_script_by_a_nonce_that_no_other_answer_has(opened: Callable[[], Site]) -> None:
    site = entered(opened)
    assert site.serving.editor
    nonces = set()
    for path in ("/", "/s/plan", "/"):
        said = site.ask("GET", path, headers={"Sec-Fetch-Site": "none"})
        policy = said.headers["content-security-policy"]
        found = re.findall(rb'nonce="([^"]+)"', said.body)
        assert len(found) == 2
        assert len(set(found)) == 1
        assert f"'nonce-{found[0].decode()}'" in policy
        nonces.add(found[0])
        assert said.headers["cache-control"] == "no-store"
    assert len(nonces) == 3
    for wanted in (
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval' 'nonce-",
        "style-src 'self' 'unsafe-inline'",
        "frame-src 'none'",
        "frame-ancestors 'none'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    ):
        assert wanted in policy
    assert "'unsafe-eval'" not in policy.replace("'wasm-unsafe-eval'", "")


@pytest.mark.promise("scene.http.dead-svg")
@pytest.mark.usefixtures("wheel")
def test_each_file_has_its_own_type_and_a_policy_that_lets_it_do_nothing(opened: Callable[[], Site]) -> None:
    site = entered(opened)
    for name, kind in {
        "page-AbCd1234.js": "text/javascript; charset=utf-8",
        "style.css": "text/css; charset=utf-8",
        "icon.svg": "image/svg+xml",
        "fonts/Xiaolai/one.woff2": "font/woff2",
    }.items():
        said = site.ask("GET", f"{ASSETS}/{name}")
        assert (said.status, said.headers["content-type"]) == (200, kind)
        assert said.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in said.headers["content-security-policy"]
        assert "unsafe" not in said.headers["content-security-policy"]


@pytest.mark.usefixtures("wheel")
def test_only_the_font_worker_may_evaluate_text(opened: Callable[[], Site]) -> None:
    said = entered(opened).ask("GET", f"{ASSETS}/worker/subset-AbCd1234.js")
    assert "script-src 'self' 'unsafe-eval' 'wasm-unsafe-eval'" in said.headers["content-security-policy"]


@pytest.mark.usefixtures("wheel")
@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "page.html",
        "notes.md",
        "nothing.js",
        "link.js",
        "../secret.json",
        "%2e%2e/secret.json",
        "..%2fsecret.json",
        "/etc/passwd.txt",
        "%00.js",
        "fonts/../../secret.json",
        "fonts/manifest.json.js",
        "",
        "worker",
    ],
)
def test_what_is_not_a_file_of_the_page_is_not_found(opened: Callable[[], Site], name: str) -> None:
    said = entered(opened).ask("GET", f"{ASSETS}/{name}")
    assert (said.status, said.error["code"]) == (404, "not_found")


@pytest.mark.usefixtures("wheel")
def test_a_name_with_a_hash_is_kept_for_ever_and_another_is_asked_for_again(opened: Callable[[], Site]) -> None:
    site = entered(opened)
    assert "immutable" in site.ask("GET", f"{ASSETS}/page-AbCd1234.js").headers["cache-control"]
    said = site.ask("GET", f"{ASSETS}/style.css")
    assert said.headers["cache-control"] == "private, no-cache"
    again = site.ask("GET", f"{ASSETS}/style.css", headers={"If-None-Match": said.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


def test_a_rebuilt_file_has_another_tag(opened: Callable[[], Site], wheel: Path) -> None:
    site = entered(opened)
    tag = site.ask("GET", f"{ASSETS}/style.css").headers["etag"]
    (wheel / "dist/style.css").write_text("b{}")
    assert site.ask("GET", f"{ASSETS}/style.css", headers={"If-None-Match": tag}).body == b"b{}"


@pytest.mark.usefixtures("wheel")
def test_the_wheels_fonts_lie_over_the_packages_own(opened: Callable[[], Site]) -> None:
    site = entered(opened)
    assert site.ask("GET", f"{ASSETS}/{FONT}").body == b"of the wheel"
    other = next(path for path in sorted(FOLDER.glob("Excalifont/*.woff2")))
    said = site.ask("GET", f"{ASSETS}/fonts/Excalifont/{other.name}")
    assert said.body == other.read_bytes()


@pytest.mark.usefixtures("bare")
def test_without_a_built_page_a_page_says_so_and_names_the_command_while_all_else_works(
    opened: Callable[[], Site],
) -> None:
    site = entered(opened)
    assert not site.serving.editor
    said = site.ask("GET", "/", headers={"Sec-Fetch-Site": "none"})
    assert said.status == 503
    assert b"make editor" in said.body
    assert "script-src 'none'" in said.headers["content-security-policy"]
    assert site.ask("GET", f"{ASSETS}/{FONT}").body == (FOLDER / "Virgil/Virgil-Regular.woff2").read_bytes()
    assert site.api("POST", "/scenes", {"name": "plan"}).status == 201


@pytest.mark.usefixtures("wheel")
def test_a_wrong_address_gets_a_page_in_words_and_the_icon_is_always_there(opened: Callable[[], Site]) -> None:
    site = entered(opened)
    for path in ("/nothing", "/s/", "/s/Plan", "/s/a/b"):
        said = site.ask("GET", path, headers={"Sec-Fetch-Site": "none"})
        assert said.status in {400, 404}
        assert b"There is nothing at this address" in said.body
        assert said.headers["content-type"].startswith("text/html")
    icon = site.ask("GET", "/favicon.ico", headers={"Cookie": None})
    assert (icon.status, icon.headers["content-type"]) == (200, "image/svg+xml")
