"""Reading a session's events one by one."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Final, Self

from clients.python.errors import ClientError, Lagged
from clients.python.views import Event

EVENTS: Final = 4_096
"""Events kept for a watcher who does not read them."""


class Watch(AsyncIterator[Event]):
    """A session's events from some moment on, each once and in order of `seq`.

    Iteration ends when the session is closed, or after the last event it can have. It raises why the
    connection is gone for good, if it is, and `Lagged` if too many events were left unread. How long to wait
    for the next event is for the caller to say, with `asyncio.timeout`.
    """

    def __init__(self) -> None:
        """Begin with no events."""
        self._events: deque[Event] = deque()
        self._arrived = asyncio.Event()
        self._ended = False
        self._error: ClientError | None = None

    def put(self, event: Event) -> None:
        """Add an event for the reader."""
        if self._ended:
            return
        if len(self._events) >= EVENTS:
            self.end(Lagged(f"more than {EVENTS} events were left unread; the first missed is {event.seq}"))
            return
        self._events.append(event)
        self._arrived.set()

    def end(self, error: ClientError | None = None) -> None:
        """Let no more events come; the reader still gets those that wait, then the end or the error."""
        if not self._ended:
            self._ended = True
            self._error = error
            self._arrived.set()

    def __aiter__(self) -> Self:
        """Return itself."""
        return self

    async def __anext__(self) -> Event:
        """Return the next event."""
        while not self._events:
            if self._error is not None:
                raise self._error
            if self._ended:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        return self._events.popleft()
