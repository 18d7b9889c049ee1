"""One running server: a socket on loopback, the application behind it, and an end that leaves nothing behind."""

from __future__ import annotations

import secrets
import signal
import socket
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import Any, Final

import uvicorn

from countermark.kernel.errors import CountermarkError
from countermark.scene.desk import Desk
from countermark.surfaces.web import app
from countermark.surfaces.web.answer import Report
from countermark.surfaces.web.assets import Assets
from countermark.surfaces.web.evidence import Evidence
from countermark.surfaces.web.guard import START
from countermark.surfaces.web.patience import Patient
from countermark.surfaces.web.place import overlay
from countermark.surfaces.web.session import LOOPBACK, Sessions
from countermark.surfaces.web.stream import Hub
from countermark.surfaces.web.watch import Watch

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_ENDING_SECONDS: Final = 5
_BACKLOG: Final = 128


class Server(uvicorn.Server):
    """A uvicorn server that ends its streams first, and returns on a signal instead of raising it again."""

    def __init__(self, config: uvicorn.Config, hub: Hub) -> None:
        """Serve an application whose streams come from a hub."""
        super().__init__(config)
        self._hub = hub
        self.ready: Callable[[], None] = lambda: None

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Take Ctrl-C and a termination as the wish to end; only the main thread can."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {one: signal.signal(one, self.handle_exit) for one in _SIGNALS}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End; a second Ctrl-C does not wait for answers under way."""
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin, and tell: by now a signal ends the server as it should."""
        await super().startup(sockets)
        if self.started:
            self.ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End every stream, then everything else."""
        self._hub.stop()
        await super().shutdown(sockets)


class Serving:
    """A server with its address; `run` serves until it is asked to end."""

    def __init__(
        self,
        desk: Desk,
        folder: Path,
        *,
        now: Callable[[], str],
        report: Report,
        announce: Callable[[str], None],
        port: int = 0,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        """Bind the loopback address; port 0 takes a free one. Raises `resource_busy` for a port that is taken."""
        self._socket = _bound(port)
        self._announce = announce
        self.port = int(self._socket.getsockname()[1])
        self.address = f"http://{LOOPBACK}:{self.port}"
        self.sessions = Sessions(self.port)
        identity = secrets.token_hex(8)
        self.hub = Hub(Watch(folder, desk.listing), identity)
        self._assets = Assets(overlay())
        self.editor = self._assets.index() is not None
        facts = {"version": _version(), "drawingsDir": str(folder), "server": identity, **(about or {})}
        made = app.make(
            desk,
            hub=self.hub,
            assets=self._assets,
            sessions=self.sessions,
            evidence=Evidence(now),
            about=facts,
            report=report,
            announce=self._expired,
        )
        config = uvicorn.Config(
            made,
            http=Patient,
            ws="none",
            lifespan="on",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_ENDING_SECONDS,
        )
        self._server = Server(config, self.hub)

    @property
    def start(self) -> str:
        """The address that opens a session, once."""
        return f"{self.address}{START}?token={self.sessions.token()}"

    def _expired(self) -> None:
        """Give whoever started the server a fresh address, once the last one was used."""
        if self.sessions.spent:
            self._announce(self.start)

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until a signal, or `stop` from another thread; afterwards nothing of it runs or listens.

        `ready` is called once it answers.
        """
        self._server.ready = ready
        with closing(self._socket), closing(self._assets):
            self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Ask the server to end."""
        self._server.should_exit = True


def _bound(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((LOOPBACK, port))
        made.listen(_BACKLOG)
    except OSError as error:
        made.close()
        raise CountermarkError(
            "resource_busy",
            f"Port {port} cannot be used here: {error.strerror}.",
            next_action="Leave --port out for a free one, or name another.",
            details={"port": port},
        ) from error
    return made


def _version() -> str:
    try:
        return metadata.version("countermark")
    except metadata.PackageNotFoundError:
        return "0"
