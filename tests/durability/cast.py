"""Everybody who takes part in a drill of a cluster: players and onlookers, half of each with the SDK."""

from random import Random

from tests.durability.audit import timeless
from tests.durability.chronicle import Chronicle
from tests.durability.cluster import Cluster
from tests.durability.crowd import Playing, gather, hold
from tests.durability.hand import Tally
from tests.durability.onlooker import Onlooker
from tests.durability.pair import Pair
from tests.durability.sdk_crowd import SdkOnlooker, SdkPlayer, Seat

_PLAYERS_EACH = 10
"""How many players an onlooker watches."""


class Cast:
    """All of them, and what they were told."""

    def __init__(self, servers: Cluster, address: str, players: int, pause: float, seed: str) -> None:
        """Let half of them choose their servers, and the others use the SDK with one address."""
        self.chronicle = chronicle = Chronicle()
        self.tally = tally = Tally()
        half = players // 2
        self.pairs = [
            Pair(servers, chronicle, tally, f"{seed}-pair-{i}", pause) for i in range(players - half)
        ]
        self.sdk_players = [SdkPlayer(address, chronicle, f"{seed}-sdk-{i}", pause) for i in range(half)]
        self.players: list[Pair | SdkPlayer] = [*self.pairs, *self.sdk_players]
        # So that each onlooker has players of both kinds, and each player onlookers of both.
        Random(seed).shuffle(self.players)
        groups = [self.players[at : at + _PLAYERS_EACH] for at in range(0, players, _PLAYERS_EACH)]
        self.raw_onlookers = [
            Onlooker(servers, chronicle, tally, f"{seed}-onlooker-{i}", group)
            for i, group in enumerate(groups)
        ]
        self.sdk_onlookers = [
            SdkOnlooker(address, chronicle, f"{seed}-sdk-onlooker-{i}", group)
            for i, group in enumerate(groups)
        ]
        self.onlookers: list[Onlooker | SdkOnlooker] = [*self.raw_onlookers, *self.sdk_onlookers]

    async def calm(self) -> None:
        """Let nobody come and go any more, and be where they are."""
        for onlooker in self.onlookers:
            onlooker.calm = True
        await gather(*(pair.heal() for pair in self.pairs))

    def behind(self) -> list[str]:
        """Say who lacks which of the last events."""
        watched: list[tuple[Pair | SdkPlayer | Onlooker | SdkOnlooker, Playing]] = [
            *((player, player) for player in self.players),
            *((onlooker, player) for onlooker in self.onlookers for player in onlooker.players),
        ]
        found: list[str] = []
        for viewer, player in watched:
            attempt = player.attempts[-1]
            has = viewer.positions(attempt.session)
            if any(seq != attempt.seq for seq in has):
                found.append(f"{type(viewer).__name__} has {has} of {attempt.seq} of {attempt.session}")
        return found

    async def leave(self) -> None:
        """Close all connections, and look whether the SDK was well all the time."""
        for seat in self._seats():
            seat.check()
        await gather(*(one.leave() for one in (*self.players, *self.onlookers)))

    def check_views(self) -> None:
        """Hold what the SDK shows of the last sessions against what an audit has found."""
        views = {player.attempts[-1].session: player.attempts[-1].view for player in self.players}
        for seat in self._seats():
            session = seat.session
            hold(timeless(session.data) == timeless(views[session.id]), "the SDK shows another:", session.id)

    def _seats(self) -> list[Seat]:
        return [
            *(seat for player in self.sdk_players for seat in player.seats),
            *(seat for onlooker in self.sdk_onlookers for seat in onlooker.seats.values()),
        ]
