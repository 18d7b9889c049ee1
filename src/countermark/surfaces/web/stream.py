"""The event stream: every open page hears within a moment that a scene changed on disk (seed 3 §5, beside it)."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any, Final

from countermark.surfaces.web.watch import Watch

LOOK_SECONDS: Final = 0.15
PATIENCE: Final = 15
"""So many times as long as a look took lies between two looks: a folder of thousands costs no more than a few."""

ALIVE_SECONDS: Final = 15.0
_WAITING: Final = 256

Event = tuple[str, Mapping[str, Any]]


class Hub:
    """Passes what the watch finds to whoever listens; looks only while somebody does."""

    def __init__(self, watch: Watch, server: str) -> None:
        """Tell of a watch's folder, as the server process of this id."""
        self._watch = watch
        self._server = server
        self._listeners: set[asyncio.Queue[Event | None]] = set()
        self._turn = asyncio.Lock()
        self._looking: asyncio.Task[None] | None = None
        self._enough = asyncio.Event()
        self._stopped = False

    @property
    def watching(self) -> bool:
        """Whether the folder is being looked at."""
        return self._looking is not None and not self._looking.done()

    async def listen(self) -> AsyncIterator[bytes]:
        """Yield the stream of one page until it goes away or the server stops: first what is there, then changes."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue(_WAITING)
        try:
            await self._look()
            self._listeners.add(queue)
            self._start()
            scenes = [seen.wire(name) for name, seen in sorted(self._watch.look.items())]
            yield _spelled("hello", {"server": self._server, "scenes": scenes})
            while not self._stopped:
                try:
                    event = await asyncio.wait_for(queue.get(), ALIVE_SECONDS)
                except TimeoutError:
                    yield b": alive\n\n"
                    continue
                if event is None:
                    break
                yield _spelled(*event)
            if self._stopped:
                yield _spelled("bye", {})
        finally:  # nothing is awaited here: a page that went away cancels whatever is
            self._listeners.discard(queue)
            if not self._listeners:
                self._enough.set()

    def stop(self) -> None:
        """End every stream; called on the loop's thread."""
        self._stopped = True
        self._enough.set()
        for queue in self._listeners:
            _put(queue, None)

    async def close(self) -> None:
        """Stop, and return when nothing looks any more."""
        self.stop()
        if self._looking is not None:
            await self._looking

    def _start(self) -> None:
        if not self._stopped:
            self._enough.clear()
            if not self.watching:
                self._looking = asyncio.create_task(self._keep_looking())

    async def _keep_looking(self) -> None:
        pause = LOOK_SECONDS
        while not self._enough.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._enough.wait(), pause)
                break
            before = time.monotonic()
            await self._look()
            pause = max(LOOK_SECONDS, PATIENCE * (time.monotonic() - before))

    async def _look(self) -> None:
        async with self._turn:
            told = await asyncio.to_thread(self._watch.turn)
            for change in told:
                for queue in self._listeners:
                    _put(queue, ("scene", change))


def _put(queue: asyncio.Queue[Event | None], event: Event | None) -> None:
    """Give a listener an event; one that does not keep up is cut off, comes back and hears what is there."""
    if queue.full():
        while not queue.empty():
            queue.get_nowait()
        event = None
    queue.put_nowait(event)


def _spelled(event: str, data: Mapping[str, Any]) -> bytes:
    return f"event: {event}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()
