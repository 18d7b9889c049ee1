"""The event stream, read off the socket as a browser reads it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import API, Site


class Stream:
    """One open stream."""

    def __init__(self, site: Site) -> None:
        self.connection = site.connect()
        headers = {"Host": site.host, "Cookie": site.cookie, "Accept": "text/event-stream"}
        self.connection.request("GET", f"{API}/events", headers=headers)
        self.answer: http.client.HTTPResponse = self.connection.getresponse()

    def next(self) -> tuple[str, Any]:
        """Return the next event, waiting for it."""
        event = data = ""
        while line := self.answer.readline().decode():
            if line.startswith("event: "):
                event = line.removeprefix("event: ").strip()
            elif line.startswith("data: "):
                data = line.removeprefix("data: ")
            elif line == "\n" and event:
                return event, json.loads(data)
        return "end", None

    def until(self, wanted: Callable[[Any], bool]) -> Any:
        """Return the data of the first event that is wanted."""
        while True:
            event, data = self.next()
            assert event == "scene", event
            if wanted(data):
                return data

    def close(self) -> None:
        self.connection.close()


def test_a_page_hears_first_what_is_there_and_then_what_the_server_itself_saves(site: Site) -> None:
    made = site.api("POST", "/scenes", {"name": "plan"}).data
    stream = Stream(site)
    assert stream.answer.headers["content-type"].startswith("text/event-stream")
    event, hello = stream.next()
    assert event == "hello"
    assert hello["server"] == site.api("GET", "/health").data["server"]
    assert [(one["name"], one["revision"], one["sha256"]) for one in hello["scenes"]] == [("plan", 1, made["sha256"])]

    saved = site.save("plan", lambda scene: scene["appState"].update(viewBackgroundColor="#123456")).data
    told = stream.until(lambda data: data["sha256"] == saved["sha256"])
    assert (told["name"], told["change"], told["updatedBy"]) == ("plan", "changed", "ui")
    stream.close()


@pytest.mark.promise("scene.stream.others")
def test_a_page_hears_what_another_program_writes_moves_and_removes(site: Site) -> None:
    stream = Stream(site)
    assert stream.next() == ("hello", {"server": site.api("GET", "/health").data["server"], "scenes": []})
    place = site.folder / "dropped.excalidraw"
    place.write_text('{"type":"excalidraw","version":2,"elements":[],"appState":{},"files":{}}')
    assert stream.until(lambda data: data["change"] == "created")["name"] == "dropped"
    place.rename(site.folder / "moved.excalidraw")
    told: dict[str, str] = {}
    while len(told) < 2:
        _, data = stream.next()
        told[data["change"]] = data["name"]
    assert told == {"removed": "dropped", "created": "moved"}
    (site.folder / "moved.excalidraw").unlink()
    assert stream.until(lambda data: data["change"] == "removed")["name"] == "moved"
    stream.close()


def test_every_stream_ends_with_a_word_when_the_server_stops(site: Site) -> None:
    streams = [Stream(site), Stream(site)]
    for stream in streams:
        assert stream.next()[0] == "hello"
    site.stop()
    for stream in streams:
        assert stream.next() == ("bye", {})
        assert stream.next() == ("end", None)
        stream.close()


def test_the_folder_is_looked_at_only_while_somebody_listens(site: Site) -> None:
    assert not site.serving.hub.watching
    stream = Stream(site)
    stream.next()
    assert site.serving.hub.watching
    stream.close()
    site.stop()
    assert not site.serving.hub.watching
