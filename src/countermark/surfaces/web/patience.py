"""How long a client may take: one that sends the head of a request slowly, or never, does not keep its connection."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEAD_SECONDS: Final = 15.0
"""From the opening of a connection, or the first byte of a later request, to the end of the request's head."""
BODY_SECONDS: Final = 60.0
"""From the head to the end of the body: sixteen megabytes take less than one on loopback."""


class Patient(H11Protocol):
    """One connection; what its client is waited for is bounded, also where it sends a byte now and then."""

    head_seconds = HEAD_SECONDS
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._enough()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came; a head that is complete ends the wait, and the first byte of one begins it."""
        super().data_received(data)
        if self._answered():
            self._wait()
        else:
            self._enough()

    def _answered(self) -> bool:
        """Say whether no request is being worked on."""
        cycle: RequestResponseCycle | None = self.cycle  # none before the first request, whatever its annotation says
        return cycle is None or cycle.response_complete

    def _wait(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(self.head_seconds, self._give_up)

    def _enough(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self._late = None
        if self._answered() and not self.transport.is_closing():
            self.transport.close()
