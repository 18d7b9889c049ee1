"""Pipes: waiting for several at once, and taking in a stream that must never block its writer."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Mapping
from typing import Final

_CHUNK: Final = 65536


def await_ready(watched: Mapping[int, int], seconds: float) -> frozenset[int]:
    """Return the descriptors that became ready, broken ones included, or none after that many seconds."""
    poll = select.poll()
    for descriptor, events in watched.items():
        poll.register(descriptor, events)
    return frozenset(descriptor for descriptor, _ in poll.poll(max(0.0, seconds) * 1000))


def take(descriptor: int) -> bytes | None:
    """Read what a non-blocking descriptor has now: None for nothing yet, no bytes for its end."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None


class Tail:
    """Reads a stream to its end on a thread of its own and keeps the last bytes.

    A program that floods its standard error is therefore never held up by an owner that is busy elsewhere.
    """

    def __init__(self, descriptor: int, kept: int) -> None:
        """Start reading a non-blocking descriptor; `kept` is in bytes."""
        self._kept = kept
        self._bytes = bytearray()
        self._lock = threading.Lock()
        self._wake_in, self._wake_out = os.pipe()
        self._thread = threading.Thread(target=self._drain, args=(descriptor,), daemon=True, name="stderr tail")
        self._thread.start()

    def kept(self) -> bytes:
        """Return the last bytes read so far."""
        with self._lock:
            return bytes(self._bytes)

    def settle(self, seconds: float) -> None:
        """Wait for the end of the stream, which comes soon after its writers have ended."""
        self._thread.join(seconds)

    def close(self) -> None:
        """End the thread, even while a descendant still holds the stream open."""
        os.close(self._wake_out)  # its other end becomes ready
        self._thread.join()
        os.close(self._wake_in)

    def _drain(self, descriptor: int) -> None:
        while True:
            ready = await_ready({descriptor: select.POLLIN, self._wake_in: select.POLLIN}, 3600.0)
            chunk = take(descriptor) if descriptor in ready else None
            if chunk == b"":
                return
            if chunk is not None:
                with self._lock:
                    self._bytes += chunk
                    del self._bytes[: -self._kept]
            elif self._wake_in in ready:
                return
