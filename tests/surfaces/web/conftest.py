"""The real server on a loopback port, in this process, and a client that says exactly what it is told to say."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest

from countermark.kernel.workspace import Workspace
from countermark.scene.adapter import SceneAdapter
from countermark.scene.desk import Desk
from countermark.surfaces.web.server import Serving

API = "/dsh-excalidraw/api"


class Said(NamedTuple):
    """One answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.body)
        return value

    @property
    def error(self) -> dict[str, Any]:
        error: dict[str, Any] = self.data["error"]
        assert set(error) == {"code", "message", "details"}
        return error


class Site:
    """A server with a folder behind it, and a browser's session with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.announced: list[str] = []
        self.defects: list[Exception] = []
        self.workspace = (
            Workspace(folder, adapters=[SceneAdapter()])
            if (folder / "countermark.toml").exists()
            else Workspace.create(folder, adapters=[SceneAdapter()])
        )
        self.desk = Desk(self.workspace, actor="ui", person=True)
        self.serving = Serving(
            self.desk,
            folder,
            now=lambda: "2026-11-30T12:00:00.000Z",
            report=self.defects.append,
            announce=self.announced.append,
        )
        self.host = f"127.0.0.1:{self.serving.port}"
        self.origin = f"http://{self.host}"
        self.cookie = ""
        self._thread = threading.Thread(target=self.serving.run, name="site")
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        assert self.defects == []

    def stop(self) -> None:
        """End the server; afterwards its thread is gone."""
        if not self._thread.is_alive():
            return
        self.serving.stop()
        self._thread.join(30)
        assert not self._thread.is_alive()
        self.desk.close()
        self.workspace.close()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.serving.port, timeout=30)

    def ask(self, method: str, path: str, body: Any = None, headers: Mapping[str, str | None] | None = None) -> Said:
        """Ask as this browser's page does; a header of None is left out, another value put in its place."""
        sent: dict[str, str | None] = {"Host": self.host, "Cookie": self.cookie, "Sec-Fetch-Site": "same-origin"}
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if method not in ("GET", "HEAD"):
            sent |= {"Origin": self.origin, "Content-Type": "application/json"}
        sent |= headers or {}
        connection = self.connect()
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in {"Content-Length": None if data is None else str(len(data)), **sent}.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders(data)
            answer = connection.getresponse()
            return Said(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def api(self, method: str, path: str, body: Any = None, **headers: str) -> Said:
        return self.ask(method, f"{API}{path}", body, {name.replace("_", "-"): one for name, one in headers.items()})

    def enter(self) -> str:
        """Open a session with a start address, as a person does."""
        path = self.serving.start.removeprefix(self.serving.address)
        said = self.ask("GET", path, headers={"Sec-Fetch-Site": "none", "Cookie": None})
        assert (said.status, said.headers["location"]) == (303, "/")
        self.cookie = said.headers["set-cookie"].partition(";")[0]
        return path

    def file(self, name: str) -> bytes:
        """Return a scene's bytes as they stand on the disk."""
        return (self.folder / f"{name}.excalidraw").read_bytes()

    def save(self, name: str, change: Callable[[dict[str, Any]], None], **more: Any) -> Said:
        """Read a scene, change the document, and put it back, as the page does."""
        read = self.api("GET", f"/scenes/{name}").data
        change(read["scene"])
        return self.api(
            "PUT", f"/scenes/{name}", {"scene": read["scene"], "expected_revision": read["revision"], **more}
        )


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[], Site]]:
    """Start servers, each over the same folder; all are stopped in the end."""
    folder = tmp_path / "drawings"
    folder.mkdir()
    with ExitStack() as all_of_them:
        yield lambda: all_of_them.enter_context(Site(folder))


@pytest.fixture
def site(opened: Callable[[], Site]) -> Site:
    """A server, with a session open."""
    made = opened()
    made.enter()
    return made
