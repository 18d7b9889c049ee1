"""A client that is slow, or says nothing, does not keep the server; one that is at work is not cut off."""

from __future__ import annotations

import json
import socket

import pytest

from countermark.surfaces.web import patience
from countermark.surfaces.web.patience import Patient

from .conftest import API, Site


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Patient, "head_seconds", 0.2)
    monkeypatch.setattr(patience, "BODY_SECONDS", 0.2)


def ended(site: Site, *sent: bytes) -> bytes:
    """Send something, and return all that comes until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", site.serving.port), timeout=30) as client:
        for part in sent:
            client.sendall(part)
        answer = b""
        while chunk := client.recv(65536):
            answer += chunk
        return answer


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_a_connection_without_a_whole_head_is_closed(site: Site, sent: bytes) -> None:
    assert ended(site, sent) == b""


@pytest.mark.usefixtures("impatient")
def test_a_second_request_that_never_comes_to_its_head_is_closed(site: Site) -> None:
    with socket.create_connection(("127.0.0.1", site.serving.port), timeout=30) as client:
        client.sendall(f"GET /favicon.ico HTTP/1.1\r\nHost: {site.host}\r\n\r\n".encode())
        answer = client.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200")
        client.sendall(b"GET / HT")
        while chunk := client.recv(65536):
            answer += chunk
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.usefixtures("impatient")
def test_a_body_that_does_not_come_to_its_end_is_refused_and_nothing_is_written(site: Site) -> None:
    head = (
        f"POST {API}/scenes HTTP/1.1\r\nHost: {site.host}\r\nOrigin: {site.origin}\r\nCookie: {site.cookie}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\nConnection: close\r\n\r\n"
    )
    answer = ended(site, head.encode(), b'{"name": "pl')
    assert answer.startswith(b"HTTP/1.1 422")
    error = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
    assert (error["code"], error["details"]["reason"]) == ("invalid_operation", "timeout")
    assert list(site.folder.glob("*.excalidraw")) == []


@pytest.mark.usefixtures("impatient")
def test_a_stream_that_is_open_longer_than_a_head_may_take_goes_on(site: Site) -> None:
    connection = site.connect()
    connection.request("GET", f"{API}/events", headers={"Cookie": site.cookie})
    stream = connection.getresponse()
    assert stream.readline() == b"event: hello\n"
    assert ended(site, b"") == b""  # as long as an idle connection lives, and longer than a head may take
    site.api("POST", "/scenes", {"name": "plan"})
    while b"plan" not in stream.readline():
        pass
    connection.close()
