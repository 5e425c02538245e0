"""Whose turn it is to have what it sent looked at, so that nobody who sends much holds up the others.

What arrives in one round of the event loop is looked at together at its end: reading a socket is a system
call, and code that runs between two of them runs slowly. Each connection has a turn there, in which some of
its frames or requests are carried out. Whoever has sent more than that stands in a line, and of the line only
so many get a turn in one round as time allows. Nobody in the line is read any further, so a flood stays with
whoever sends it.
"""

import asyncio
import time
from collections import deque
from typing import ClassVar, Final, Protocol
from weakref import WeakKeyDictionary


class Member(Protocol):
    """What has turns: one connection."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that it lives in."""
        ...

    def take_turn(self) -> bool:
        """Take some of what has come; return whether there is more that could be taken at once.

        Must not raise.
        """
        ...


class Rounds:
    """The rounds of one event loop."""

    line_seconds: ClassVar[float] = 0.0005
    """For how long turns are begun in one round while there is a line."""

    __slots__ = ("__weakref__", "_comers", "_line", "_scheduled")

    def __init__(self) -> None:
        """Begin with nobody."""
        self._comers: list[Member] = []
        self._line: deque[Member] = deque()
        self._scheduled = False

    def come(self, member: Member) -> None:
        """Give a turn at the end of this round; whoever is not done with it stands in the line then.

        A member that came or stands in the line must not come again before its turn.
        """
        self._comers.append(member)
        if not self._scheduled:
            self._schedule(member)

    def stand_in_line(self, member: Member) -> None:
        """Let a member stand in the line at once, as one of whom it is known that it takes long."""
        self._line.append(member)
        if not self._scheduled:
            self._schedule(member)

    def _schedule(self, member: Member) -> None:
        self._scheduled = True
        member.loop.call_soon(self._end)

    def _end(self) -> None:
        """End a round: all who have come have a turn, then the line, of which one gets on in any case."""
        self._scheduled = False
        line, until = self._line, time.perf_counter() + self.line_seconds
        comers, self._comers = self._comers, []
        unfinished = [member for member in comers if member.take_turn()]
        while line:
            member = line.popleft()
            if member.take_turn():
                line.append(member)
            if time.perf_counter() >= until:
                break
        line += unfinished
        if line and not self._scheduled:
            self._schedule(line[0])


_rounds: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, Rounds]] = WeakKeyDictionary()


def rounds_of(loop: asyncio.AbstractEventLoop) -> Rounds:
    """Return the rounds of a loop."""
    return _rounds.get(loop) or _rounds.setdefault(loop, Rounds())
