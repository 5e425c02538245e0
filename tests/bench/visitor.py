"""Somebody who comes back when a connection is lost, and who waits when told to."""

import asyncio
from random import Random
from typing import Any, Final

from tests.bench.link import Link, Lost, Refused, Unreachable
from tests.bench.plan import Plan
from tests.bench.tally import Tally

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
_AWAY: Final = 0.1
"""Seconds until a call that was answered `unavailable` is made again."""


class Visitor:
    """One connection at a time, to one place after another."""

    def __init__(self, plan: Plan, tally: Tally, turn: int, token: str | None) -> None:
        """Go to the plan's place of that number first, acting by a token if there is one."""
        self.plan, self.tally = plan, tally
        self.token = token
        self.chance = Random(turn)
        self.stopping = asyncio.Event()
        """Set when nothing more is to be begun."""
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when all that comes before playing is done, or failed with why it cannot be."""
        self._link: Link | None = None
        self._turn = turn
        self._pause = _FIRST_PAUSE

    @property
    def link(self) -> Link:
        """The connection, open or not."""
        assert self._link is not None, "nobody speaks before being connected"
        return self._link

    def hear(self, method: str, params: Any, now: float) -> None:
        """Take a notification."""

    def asking(self) -> None:
        """A call is sent, or sent again."""

    async def connect(self) -> None:
        """Connect, however long that takes."""
        while True:
            place = self.plan.places[self._turn % len(self.plan.places)]
            self._turn += 1
            try:
                self._link = await Link.open(place, tally=self.tally, hear=self.hear)
            except Unreachable:
                self.tally.error("", "unreachable")
                await self.rest()
            else:
                return

    async def rest(self) -> None:
        """Wait a while, from time to time longer, since whatever is wrong will not be over at once."""
        pause, self._pause = self._pause, min(_LONGEST_PAUSE, 2 * self._pause)
        await asyncio.sleep(pause * self.chance.uniform(0.5, 1.0))

    async def ask(self, method: str, params: dict[str, Any], due: float | None = None) -> Any:
        """Make a call until it is answered otherwise than by `rate_limited` and `unavailable`.

        Args:
            method: the method.
            params: its params.
            due: when it should have been made, from where the time it takes counts; None for now.

        Raises:
            Refused: it was answered with another error.
            Lost: the connection ended before the answer.
        """
        while True:
            self.asking()
            try:
                result = await self.link.call(method, params, due)
            except Refused as refused:
                due = None
                if refused.kind == "rate_limited":
                    seconds = refused.data["retry_after_ms"] / 1000
                    self.tally.wait(seconds)
                    await asyncio.sleep(seconds)
                elif refused.kind == "unavailable":
                    await asyncio.sleep(_AWAY * self.chance.uniform(0.5, 1.5))
                else:
                    raise
            else:
                self._pause = _FIRST_PAUSE
                return result

    async def log_in(self) -> None:
        """Act by the token, or for a new guest if there is none yet."""
        if self.token is None:
            self.token = (await self.ask("auth.guest", {}))["token"]
        await self.ask("auth.use", {"token": self.token})

    async def leave(self) -> None:
        """Part with the server, if there is a connection."""
        if self._link is not None:
            await self._link.close()

    def lost(self, lost: Lost) -> None:
        """Count a connection that ended."""
        self.tally.reconnect(str(lost.code))
