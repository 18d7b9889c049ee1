"""The door of the loopback server: what asks from elsewhere, or without a session, gets nothing.

A page of another site can make a browser ask here, under a name of its own that resolves to this machine, or with the
cookies of another port. Host, Origin and Sec-Fetch-Site are therefore looked at before anything else; only then the
session. No answer ever allows another origin to read it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http.cookies import CookieError, SimpleCookie
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from countermark.kernel.errors import CountermarkError
from countermark.scene.codes import refuse
from countermark.surfaces.web import policy
from countermark.surfaces.web.session import Sessions

BASE: Final = "/dsh-excalidraw"
START: Final = "/start"
ICON: Final = "/favicon.ico"
_OPEN: Final = frozenset({START, ICON})
_READING: Final = frozenset({"GET", "HEAD"})

Refuse = Callable[[CountermarkError, bool], Response]
"""Makes the answer to a refusal; the second argument says whether a person is to read it as a page."""


class Guard:
    """Stands in front of the application."""

    def __init__(self, app: ASGIApp, *, sessions: Sessions, answer: Refuse) -> None:
        """Let through what these sessions ask."""
        self._app = app
        self._sessions = sessions
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it; every answer gets the headers that all have."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        path, method = str(scope["path"]), str(scope["method"])
        app: ASGIApp | Response = self._app
        try:
            self._origin(headers, path, method)
            if path not in _OPEN:
                self._session(headers)
        except CountermarkError as refusal:
            app = self._answer(refusal, not path.startswith(f"{BASE}/"))
        await app(scope, receive, _with_headers(send))

    def _origin(self, headers: Headers, path: str, method: str) -> None:
        host = headers.get("host", "")
        if host not in self._sessions.hosts or len(headers.getlist("host")) != 1:
            raise _refused("host", "This server answers on its own loopback address only.")
        site = headers.get("sec-fetch-site", "none")
        own = f"http://{host}"
        if method in _READING:
            # Anybody may link to a page; its parts and its data are for the page alone.
            if path.startswith(f"{BASE}/") and site not in {"none", "same-origin"}:
                raise _refused("site", "Another page asked for this.")
            return
        origin = headers.get("origin")
        if site not in {"none", "same-origin"} or origin not in {None, own}:
            raise _refused("origin", "Another page asked for this change.")
        if origin is None and site != "same-origin":
            raise _refused("origin", "A change must say where it comes from.")

    def _session(self, headers: Headers) -> None:
        if not self._sessions.known(_cookie(headers, self._sessions.cookie)):
            raise _refused("session", "This browser has no session here, or the server was started again since.")


def _cookie(headers: Headers, name: str) -> str | None:
    for line in headers.getlist("cookie"):
        try:
            found = SimpleCookie(line).get(name)
        except CookieError:
            continue
        if found is not None:
            return found.value
    return None


def _refused(reason: str, sentence: str) -> CountermarkError:
    return refuse(
        "permission_denied",
        sentence,
        next_action="Open the start address that stands in the terminal where `countermark serve` runs.",
        details={"reason": reason},
    )


def _with_headers(send: Send) -> Callable[[Message], Awaitable[None]]:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in policy.ALWAYS:
                headers[name] = value
            headers.setdefault("content-security-policy", policy.DATA)
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return sending
