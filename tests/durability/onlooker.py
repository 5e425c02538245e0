"""Somebody who watches several players' sessions, and comes and goes."""

import asyncio
from collections.abc import Sequence
from random import Random

from tests.durability.chronicle import Chronicle
from tests.durability.cluster import Cluster
from tests.durability.crowd import Playing
from tests.durability.hand import Hand, Tally

_PAUSE = 0.05
"""Seconds between two looks at who plays what."""

_AGAIN, _AWAY = 0.05, 0.01
"""How likely it is at each look that a session is left and taken up again, and that the connection moves."""


def latest(players: Sequence[Playing]) -> set[str]:
    """Return what is being played."""
    return {player.attempts[-1].session for player in players if player.attempts}


class Onlooker:
    """One connection, with a subscription for each of some players."""

    def __init__(
        self, cluster: Cluster, chronicle: Chronicle, tally: Tally, seed: str, players: Sequence[Playing]
    ) -> None:
        self._chance = Random(seed)
        self.players = players
        self.hand = Hand(cluster, chronicle, tally, self._chance)
        self.calm = False
        """Whether nothing is left any more that is not over."""

    async def watch(self, stop: asyncio.Event) -> None:
        """Watch what is being played until told to stop.

        Raises:
            Violation: a promise is broken.
        """
        hand = self.hand
        while not stop.is_set():
            if not hand.whole:
                await hand.back()
            now = latest(self.players)
            for session in hand.wanted.keys() - now:
                await hand.leave(session)
            for session in now - hand.wanted.keys():
                await hand.follow(session, self._chance.choice((None, 0)))
            if not self.calm:
                await self._come_and_go()
            await asyncio.sleep(_PAUSE)

    def positions(self, session: str) -> list[int | None]:
        """Return the last event of a session that it has."""
        return [self.hand.has(session)]

    async def leave(self) -> None:
        """Close the connection."""
        await self.hand.part()

    async def _come_and_go(self) -> None:
        hand, drawn = self.hand, self._chance.random()
        if drawn < _AWAY:
            await hand.back()
        elif drawn < _AWAY + _AGAIN and hand.wanted:
            session = self._chance.choice(list(hand.wanted))
            has = await hand.leave(session)
            await asyncio.sleep(self._chance.uniform(0, _PAUSE))
            await hand.follow(session, has)
