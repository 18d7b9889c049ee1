"""The person's side of a scene: `countermark serve`, and what its page asks over HTTP. No browser runs here."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

from countermark.kernel.child import Expired, ProcessChild
from countermark.kernel.errors import CountermarkError
from countermark.surfaces.cli.demo.shell import PROGRAM, Shell

PERSON: Final = "person's page, scripted"

_SCENES: Final = "/dsh-excalidraw/api/scenes"
_OPEN: Final = "open"
_END_SECONDS: Final = 10.0
_ASK_SECONDS: Final = 30.0


class Page:
    """A served folder and one session in it, entered as a browser enters: by the start address, for its cookie."""

    def __init__(self, shell: Shell) -> None:
        """Serve the folder that the shell is in."""
        self._shell = shell
        self._child: ProcessChild | None = None
        self._line: http.client.HTTPConnection | None = None
        self._headers: dict[str, str] = {}

    def read(self, name: str) -> Mapping[str, Any]:
        """Load a scene."""
        return self._ask("GET", name)

    def put(self, name: str, scene: Mapping[str, Any], revision: int, request_id: str) -> Mapping[str, Any]:
        """Save a whole scene over the revision it was loaded at."""
        body = {"scene": scene, "expected_revision": revision, "request_id": request_id}
        return self._ask("PUT", name, json.dumps(body))

    def __enter__(self) -> Self:
        """Start the server and use its start address."""
        transcript = self._shell.transcript
        transcript.command((PROGRAM, "serve", "."), why="the person's side: the page, over the same folder")
        self._child = self._shell.start("serve", ".")
        try:
            start = self._heard(self._child)
            where = urlsplit(start)
            self._line = http.client.HTTPConnection(str(where.hostname), where.port, timeout=_ASK_SECONDS)
            self._line.request("GET", f"{where.path}?{where.query}")
            came = self._line.getresponse()
            came.read()
            cookie = (came.headers["set-cookie"] or "").partition(";")[0]
            origin = f"{where.scheme}://{where.netloc}"
            self._headers = {"Cookie": cookie, "Origin": origin, "Content-Type": "application/json"}
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the server, as a termination does."""
        if self._line is not None:
            self._line.close()
        assert self._child is not None  # noqa: S101 - started on entry
        self._child.stop(_END_SECONDS)
        self._child.close()

    def _heard(self, child: ProcessChild) -> str:
        """Show what the server says when it listens, and return its start address."""
        latest = self._shell.deadline()
        said = b""
        while not said.endswith(b"\n") or f"\n{_OPEN} ".encode() not in said:
            chunk = child.receive(latest)
            if isinstance(chunk, Expired) or not chunk:
                self._shell.transcript.output((said + child.stderr).decode("utf-8", "replace"))
                raise CountermarkError("demo_failed", "The page was not served.", next_action="See above.")
            said += chunk
        text = said.decode("utf-8", "replace")
        self._shell.transcript.output(text)
        return next(line.split()[1] for line in text.splitlines() if line.startswith(f"{_OPEN} "))

    def _ask(self, method: str, name: str, body: str | None = None) -> Mapping[str, Any]:
        assert self._line is not None  # noqa: S101 - connected on entry
        transcript = self._shell.transcript
        path = f"{_SCENES}/{name}"
        try:
            self._line.request(method, path, body, self._headers)
            answer = self._line.getresponse()
            wire: dict[str, Any] = json.loads(answer.read())
        except (http.client.HTTPException, ValueError) as error:
            raise CountermarkError(
                "demo_failed", f"The page's server broke off: {error}.", next_action="See above."
            ) from error
        revision = wire.get("revision", wire.get("error", {}).get("code", ""))
        transcript.client(f"→ {method} {path}", who=PERSON)
        transcript.client(f"← {answer.status} {answer.reason}, revision {revision}", who=PERSON)
        if answer.status != HTTPStatus.OK:
            raise CountermarkError(
                "demo_failed", f"The page's request ended with {answer.status}.", next_action="See above."
            )
        return wire
