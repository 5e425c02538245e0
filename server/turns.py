"""Whose turn it is with a session: calls for one session are carried out one at a time, in order."""

import asyncio
from collections import deque
from typing import NamedTuple

from server.timeline import Happened, Timeline


class Live:
    """One session in memory, and whose turn it is."""

    __slots__ = ("_waiters", "busy", "dead", "last", "text", "timeline")

    timeline: Timeline
    last: Happened | None
    """The last event, if it was made here."""

    def __init__(self, text: str) -> None:
        """Begin held, without a timeline: whoever makes it loads it."""
        self.text = text
        self.busy = True
        self.dead = False
        self.last = None
        self._waiters: deque[asyncio.Future[None]] = deque()

    @property
    def events(self) -> int:
        """How many events it holds in memory; none before it has been loaded."""
        timeline: Timeline | None = getattr(self, "timeline", None)
        return 0 if timeline is None else len(timeline.history)

    def queue(self) -> asyncio.Future[None]:
        """Take a place in the queue; the future tells when it is the caller's turn and must be awaited."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.busy:
            self._waiters.append(turn)
        else:
            self.busy = True
            turn.set_result(None)
        return turn

    def leave(self) -> None:
        """Give the turn to the next one who waits, or let all look for the session anew if it is dead.

        They are let go at once, so that they are in their order again before anybody comes who was later.
        """
        if self.dead:
            while self._waiters:
                self._waiters.popleft().set_result(None)
        if self._waiters:
            self._waiters.popleft().set_result(None)
        else:
            self.busy = False


class Place(NamedTuple):
    """A place in a session's queue."""

    live: Live
    turn: asyncio.Future[None] | None
    """None for the first one, who loads the session."""
