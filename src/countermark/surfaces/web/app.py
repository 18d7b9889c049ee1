"""The application of one folder of scenes: its pages, its assets, its calls, and the door before all of them."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from countermark.kernel.errors import CountermarkError
from countermark.scene import name as names
from countermark.scene.codes import as_scene_error, refuse
from countermark.scene.desk import Desk
from countermark.surfaces.web import answer, page, policy
from countermark.surfaces.web.assets import Assets
from countermark.surfaces.web.evidence import Evidence
from countermark.surfaces.web.guard import BASE, ICON, START, Guard
from countermark.surfaces.web.routes import Routes
from countermark.surfaces.web.session import Sessions
from countermark.surfaces.web.stream import Hub

ASSETS: Final = f"{BASE}/assets"
NONCE: Final = b"__COUNTERMARK_NONCE__"
"""What the built page has in the place of a nonce."""

_ICON: Final = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#4b45a8"/>'
    b'<path d="M4 8.5 7 11.5 12 5" fill="none" stroke="#fff" stroke-width="2"/></svg>'
)
_FOREVER: Final = "private, max-age=31536000, immutable"


class Pages:
    """What is opened in a browser's address bar, and the files it loads."""

    def __init__(self, assets: Assets, sessions: Sessions) -> None:
        """Serve the built page's files to these sessions."""
        self._assets = assets
        self._sessions = sessions

    def all(self, report: answer.Report) -> list[Route]:
        """Return the routes."""
        shown = partial(answer.answering, show=_page_of, report=report)
        return [
            Route(START, shown(self.start), methods=["GET"]),
            Route("/", shown(self.shell), methods=["GET"]),
            Route("/s/{name}", shown(self.shell), methods=["GET"]),
            Route(ICON, shown(self.icon), methods=["GET"]),
            Route(
                f"{ASSETS}/{{path:path}}",
                answer.answering(self.asset, answer.failed, report),
                methods=["GET"],
            ),
        ]

    async def start(self, request: Request) -> Response:
        """Exchange the start token for a session, and leave the address that bears it."""
        to = request.query_params.get("to")
        place = f"/s/{names.check(to)}" if to else "/"
        held = request.cookies.get(self._sessions.cookie)
        session = self._sessions.begin(request.query_params.get("token", ""))
        if session is None and not self._sessions.known(held):
            raise refuse(
                "permission_denied",
                "This start address was used, or is of another run of the server.",
                next_action="Use the newest one in the terminal where the server runs.",
                details={"reason": "session"},
            )
        headers = {"set-cookie": self._sessions.set_cookie(session)} if session is not None else None
        return RedirectResponse(place, 303, headers)

    async def shell(self, request: Request) -> Response:
        """Give the editor's page, with a nonce of its own for this answer."""
        if "name" in request.path_params:
            names.check(request.path_params["name"])
        built = await anyio.to_thread.run_sync(self._assets.index)
        if built is None:
            return page.answer(page.NOT_BUILT, 503)
        nonce = secrets.token_urlsafe(16)
        headers = {"content-security-policy": policy.page(nonce)}
        return HTMLResponse(built.replace(NONCE, nonce.encode("ascii")), headers=headers)

    async def icon(self, _: Request) -> Response:
        """Give the icon that browsers ask for unasked."""
        return Response(_ICON, media_type="image/svg+xml", headers={"cache-control": "max-age=86400"})

    async def asset(self, request: Request) -> Response:
        """Give one file of the page."""
        found = await anyio.to_thread.run_sync(self._assets.get, str(request.path_params["path"]))
        headers = {
            "etag": found.etag,
            "cache-control": _FOREVER if found.immutable else "private, no-cache",
            "content-security-policy": found.policy,
        }
        if found.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(found.data, media_type=found.kind, headers=headers)


def make(
    desk: Desk,
    *,
    hub: Hub,
    assets: Assets,
    sessions: Sessions,
    evidence: Evidence,
    about: Mapping[str, Any],
    report: answer.Report,
    announce: Callable[[], None],
) -> ASGIApp:
    """Return the application; its stream and its files end with it.

    `announce` is called when somebody without a session asks for a page.
    """

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await hub.close()
            assets.close()

    pages = Pages(assets, sessions)
    routes = Routes(desk, hub, evidence, about)
    inner = Starlette(
        routes=[*pages.all(report), *routes.all(report)],
        lifespan=life,
        exception_handlers={HTTPException: _no_route},
    )

    def refusal(error: CountermarkError, for_a_person: bool) -> Response:  # noqa: FBT001 - the guard's signature
        if for_a_person and error.details.get("reason") == "session":
            announce()
        return _refusal(error, for_a_person)

    return Guard(inner, sessions=sessions, answer=refusal)


def _page_of(error: CountermarkError) -> Response:
    return page.answer(page.failure(error), as_scene_error(error).status)


def _refusal(error: CountermarkError, for_a_person: bool) -> Response:  # noqa: FBT001 - the guard's signature
    return _page_of(error) if for_a_person else answer.failed(error)


async def _no_route(request: Request, error: Exception) -> Response:
    del error
    missing = refuse("not_found", "There is nothing at this address.", next_action="Open the start page: `/`.")
    return _refusal(missing, not request.url.path.startswith(f"{BASE}/"))
