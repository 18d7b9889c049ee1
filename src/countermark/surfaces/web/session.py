"""Who may use the page: a start token that works once, and the cookie it is exchanged for.

The token stands in the address that the terminal shows; the redirect takes it out of the address at once, so it stays
in no history. Cookies of one host are shared by all its ports: the cookie's name bears the port, so that two servers
do not take each other's away.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from typing import Final

LOOPBACK: Final = "127.0.0.1"
_HTTP: Final = 80
_BYTES: Final = 32
_MOST_SESSIONS: Final = 64


class Sessions:
    """The start token in force and the sessions it opened; safe for many threads, and gone with the server."""

    def __init__(self, port: int) -> None:
        """Begin with a token that was not used."""
        self.cookie = f"countermark-{port}"
        named = (LOOPBACK, "localhost")
        # A browser leaves the port of the scheme out.
        self.hosts = frozenset([*(f"{host}:{port}" for host in named), *(named if port == _HTTP else ())])
        self._lock = threading.Lock()
        self._token: str | None = secrets.token_urlsafe(_BYTES)
        self._sessions: list[str] = []

    def token(self) -> str:
        """Return a start token that was not used yet, the one in force as long as it was not."""
        with self._lock:
            if self._token is None:
                self._token = secrets.token_urlsafe(_BYTES)
            return self._token

    @property
    def spent(self) -> bool:
        """Whether the last token was used, so that nobody can come in without a new one."""
        with self._lock:
            return self._token is None

    def begin(self, token: str) -> str | None:
        """Exchange a start token for a session's cookie value; None for one that is wrong or was used."""
        with self._lock:
            if self._token is None or not _same(token, self._token):
                return None
            self._token = None
            session = secrets.token_urlsafe(_BYTES)
            self._sessions = [*self._sessions[1 - _MOST_SESSIONS :], session]
            return session

    def known(self, session: str | None) -> bool:
        """Whether a cookie's value is a session of this server."""
        if not session:
            return False
        with self._lock:
            return any([_same(session, one) for one in self._sessions])  # noqa: C419 - all of them, in equal time

    def set_cookie(self, session: str) -> str:
        """Return the header that gives a browser its session."""
        return f"{self.cookie}={session}; Path=/; HttpOnly; SameSite=Strict"


def _same(given: str, held: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), held.encode("ascii"))
