"""What the door lets in: asked over real HTTP, with every header chosen by the test."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .conftest import API, Site

ASSET = "/dsh-excalidraw/assets/fonts/Virgil/Virgil-Regular.woff2"


@pytest.mark.promise("scene.http.start-once")
def test_the_start_address_works_once_and_leaves_no_token_in_any_address(site: Site) -> None:
    path = site.serving.start.removeprefix(site.serving.address)
    first = site.ask("GET", path, headers={"Cookie": None, "Sec-Fetch-Site": "none"})
    assert (first.status, first.headers["location"]) == (303, "/")
    cookie = first.headers["set-cookie"]
    assert cookie.startswith(f"countermark-{site.serving.port}=")
    assert "HttpOnly; SameSite=Strict" in cookie
    assert first.headers["referrer-policy"] == "no-referrer"
    again = site.ask("GET", path, headers={"Cookie": None, "Sec-Fetch-Site": "none"})
    assert again.status == 403
    assert "set-cookie" not in again.headers


def test_a_start_address_may_lead_to_a_scene_and_nowhere_else(opened: Callable[[], Site]) -> None:
    site = opened()
    path = site.serving.start.removeprefix(site.serving.address)
    astray = site.ask("GET", f"{path}&to=//elsewhere.example", headers={"Cookie": None})
    assert astray.status == 400
    led = site.ask("GET", f"{path}&to=plan", headers={"Cookie": None})
    assert (led.status, led.headers["location"]) == (303, "/s/plan")


@pytest.mark.promise("scene.http.door")
@pytest.mark.parametrize("path", [f"{API}/health", f"{API}/scenes", f"{API}/events", ASSET, f"{API}/nothing"])
def test_without_a_session_no_call_no_stream_and_no_file_answers(site: Site, path: str) -> None:
    name = site.cookie.partition("=")[0]
    for cookie in (None, "", "countermark-1=x", f"{name}=wrong", f"other={site.cookie.partition('=')[2]}"):
        said = site.ask("GET", path, headers={"Cookie": cookie})
        assert (said.status, said.error["code"]) == (403, "permission_denied")
        assert said.error["details"]["reason"] == "session"


@pytest.mark.parametrize("path", ["/", "/s/plan", "/nothing"])
def test_without_a_session_a_page_says_so_in_words_and_the_terminal_gets_a_fresh_address(site: Site, path: str) -> None:
    said = site.ask("GET", path, headers={"Cookie": None, "Sec-Fetch-Site": "none"})
    assert said.status == 403
    assert b"This session has ended" in said.body
    assert said.headers["content-type"].startswith("text/html")
    assert site.announced == [site.serving.start]
    fresh = site.announced[0].removeprefix(site.serving.address)
    assert site.ask("GET", fresh, headers={"Cookie": None}).status == 303


@pytest.mark.promise("scene.http.door")
@pytest.mark.parametrize(
    "host",
    [None, "", "evil.example", "127.0.0.1", "127.0.0.1:1", "evil.example:{port}", "[::1]:{port}", "0.0.0.0:{port}"],
)
def test_under_another_host_name_nothing_answers_for_a_name_can_be_made_to_lead_here(
    site: Site, host: str | None
) -> None:
    for path in (f"{API}/scenes", "/", "/start?token=x"):
        said = site.ask("GET", path, headers={"Host": host and host.format(port=site.serving.port)})
        assert said.status in {400, 403}
        assert b"session" not in said.body


def test_localhost_is_the_same_server(site: Site) -> None:
    assert site.ask("GET", f"{API}/scenes", headers={"Host": f"localhost:{site.serving.port}"}).status == 200


@pytest.mark.promise("scene.http.door")
@pytest.mark.parametrize("where", ["cross-site", "same-site"])
def test_another_page_reads_nothing_though_the_browser_sends_the_cookie_along(site: Site, where: str) -> None:
    for path in (f"{API}/scenes", f"{API}/events", ASSET):
        said = site.ask("GET", path, headers={"Sec-Fetch-Site": where})
        assert (said.status, said.error["code"]) == (403, "permission_denied")


@pytest.mark.promise("scene.http.door")
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://localhost:{port}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": None, "Origin": None},
        {"Sec-Fetch-Site": "none", "Origin": None},
    ],
    ids=str,
)
def test_a_change_from_another_origin_is_refused_and_changes_nothing(site: Site, headers: dict[str, str]) -> None:
    sent = {name: value and value.format(port=site.serving.port) for name, value in headers.items()}
    said = site.ask("POST", f"{API}/scenes", {"name": "plan"}, headers=sent)
    assert (said.status, said.error["code"]) == (403, "permission_denied")
    assert site.api("GET", "/scenes").data["scenes"] == []


def test_no_answer_lets_another_origin_read_it(site: Site) -> None:
    for said in (
        site.ask("OPTIONS", f"{API}/scenes", headers={"Origin": site.origin}),
        site.ask("GET", f"{API}/scenes", headers={"Origin": site.origin}),
    ):
        assert not any(name.startswith("access-control") for name in said.headers)
        assert said.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", None])
def test_a_body_that_is_not_declared_json_is_refused_for_a_form_can_send_it_from_anywhere(
    site: Site, kind: str | None
) -> None:
    said = site.ask("POST", f"{API}/scenes", {"name": "plan"}, headers={"Content-Type": kind})
    assert (said.status, said.error["code"]) == (422, "invalid_operation")
    assert site.api("GET", "/scenes").data["scenes"] == []


def test_every_answer_carries_the_headers_that_keep_it_dead_and_private(site: Site) -> None:
    asked = [("GET", "/"), ("GET", f"{API}/health"), ("GET", ASSET), ("GET", "/nothing"), ("GET", f"{API}/nothing")]
    for method, path in asked:
        headers = site.ask(method, path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "server" not in headers


@pytest.mark.promise("scene.http.caps")
def test_a_body_over_the_cap_is_refused_whatever_its_length_header_claims(site: Site) -> None:
    limit = (16 << 20) + (1 << 20)
    claimed = site.ask("POST", f"{API}/scenes", b"{}", headers={"Content-Length": str(limit + 1)})
    assert (claimed.status, claimed.error["code"]) == (413, "too_large")

    connection = site.connect()
    connection.putrequest("POST", f"{API}/scenes", skip_host=True)
    for name, value in (
        ("Host", site.host),
        ("Cookie", site.cookie),
        ("Origin", site.origin),
        ("Content-Type", "application/json"),
        ("Transfer-Encoding", "chunked"),
    ):
        connection.putheader(name, value)
    connection.endheaders()
    block = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    try:
        for _ in range(20):
            connection.send(block)
    except (BrokenPipeError, ConnectionResetError):
        pass  # refused before all of it was sent
    answer = connection.getresponse()
    assert answer.status == 413
    connection.close()
    assert site.api("GET", "/scenes").data["scenes"] == []


def test_a_body_shorter_than_it_claims_changes_nothing_and_the_server_goes_on(site: Site) -> None:
    connection = site.connect()
    connection.putrequest("POST", f"{API}/scenes", skip_host=True)
    for name, value in (
        ("Host", site.host),
        ("Cookie", site.cookie),
        ("Origin", site.origin),
        ("Content-Type", "application/json"),
        ("Content-Length", str(10 << 20)),
    ):
        connection.putheader(name, value)
    connection.endheaders(b'{"name":"plan"')
    connection.close()
    assert site.api("GET", "/scenes").data["scenes"] == []
