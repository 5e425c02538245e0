"""A player with two connections on two processes, who uses either at random, and both at once at times."""

import asyncio
from random import Random
from typing import Any, TypeAlias

from tests.contract import Json
from tests.durability.chronicle import Chronicle
from tests.durability.cluster import Cluster
from tests.durability.crowd import Attempt, checksum, choose_change, choose_game, gather, hold
from tests.durability.hand import Hand, Tally
from tests.peer import Refused

Asked: TypeAlias = tuple[str, Json]
"""A method and its params."""

_BOTH, _RACE, _AWAY = 0.15, 0.08, 0.01
"""How likely it is that a change is asked for twice at once, that two are, and that a connection moves."""

_LATE = frozenset({"stale_seq", "session_over"})
"""What is answered to the later one of two different changes."""


class Pair:
    """One guest with one session at a time and two hands."""

    def __init__(self, cluster: Cluster, chronicle: Chronicle, tally: Tally, seed: str, pause: float) -> None:
        """Wait `pause` seconds between two changes, on the average."""
        self._chance = Random(seed)
        self._chronicle = chronicle
        self._pause = pause
        self.hands = [Hand(cluster, chronicle, tally, self._chance) for _ in range(2)]
        self.attempts: list[Attempt] = []
        self.answered = self.doubled = self.raced = 0
        """Changes that were answered, asked for twice at once, and asked for beside another."""

    @property
    def token(self) -> str:
        """Whose sessions they are."""
        token = self.hands[0].token
        assert token is not None
        return token

    async def play(self, stop: asyncio.Event) -> None:
        """Play until told to stop.

        Raises:
            Violation: a promise is broken.
        """
        await asyncio.sleep(self._chance.uniform(0, 4 * self._pause))
        one, other = self.hands
        await one.log_in()
        other.token, other.life = one.token, one.life
        while not stop.is_set():
            await asyncio.sleep(self._chance.uniform(0, 2 * self._pause))
            if self._chance.random() < _AWAY:
                await self._chance.choice(self.hands).back()
            await self._step()

    def positions(self, session: str) -> list[int | None]:
        """Return the last event of a session that each hand has."""
        return [hand.has(session) for hand in self.hands]

    async def heal(self) -> None:
        """Connect again where a connection was lost while nothing was asked of it."""
        for hand in self.hands:
            if not hand.whole:
                await hand.back()

    async def leave(self) -> None:
        """Close both connections."""
        await gather(*(hand.part() for hand in self.hands))

    async def resign(self) -> None:
        """Give up what is not over."""
        attempt = self.attempts[-1]
        if attempt.status == "playing":
            await self._change(attempt, ("session.resign", {"session": attempt.session}))

    async def _step(self) -> None:
        attempt = self.attempts[-1] if self.attempts else None
        change = None if attempt is None else choose_change(self._chance, attempt)
        if attempt is None or change is None:
            await self._deal()
        else:
            await self._change(attempt, change)

    async def _deal(self) -> None:
        """Begin a session, and let go of the last one."""
        request = f"attempt-{len(self.attempts)}"
        asked = "session.create", choose_game(self._chance) | {"request_id": request}
        view, *same = await self._ask(asked, twice=self._chance.random() < _BOTH)
        hold(all(view == other for other in same), "one session is dealt twice:", view, same)
        hold(checksum(view) == view["check"], "a wrong check:", view)
        self._chronicle.view(view)
        for hand in self.hands:
            if self.attempts:
                await hand.leave(self.attempts[-1].session)
            await hand.follow(view["session"], self._chance.choice((None, 0)))
        self.attempts.append(Attempt(view["session"], view["legal"]))

    async def _change(self, attempt: Attempt, change: Asked) -> None:
        """Make a change, in one way or another."""
        drawn = self._chance.random()
        rival = choose_change(self._chance, attempt) if drawn < _RACE else None
        # A resignation and a move can both be made.
        if rival is not None and rival != change and "seq" in change[1] and "seq" in rival[1]:
            change, answer = await self._race(change, rival)
        else:
            answer, *same = await self._ask(change, twice=drawn > 1 - _BOTH)
            self.doubled += len(same)
            hold(all(answer == other for other in same), "one change is answered in two ways:", answer, same)
        method, params = change
        attempt.take(answer, method.removeprefix("session."), params.get("move"))
        self.answered += 1

    async def _ask(self, asked: Asked, *, twice: bool) -> list[Json]:
        """Make a call with some hand, or with both at once."""
        method, params = asked
        hands = self.hands if twice else [self._chance.choice(self.hands)]
        answers: list[Any] = [None] * len(hands)

        async def ask(i: int) -> None:
            answers[i] = await hands[i].call(method, **params)

        await gather(*map(ask, range(len(hands))))
        return answers

    async def _race(self, change: Asked, rival: Asked) -> tuple[Asked, Json]:
        """Ask for two different changes at once, and return the one that was made, with the answer."""
        self.raced += 1
        made: list[tuple[Asked, Json]] = []

        async def ask(hand: Hand, asked: Asked) -> None:
            try:
                made.append((asked, await hand.call(asked[0], allow=_LATE, **asked[1])))
            except Refused:
                return

        await gather(*map(ask, self.hands, (change, rival)))
        hold(len(made) == 1, "of two changes not one is made:", change, rival, made)
        return made[0]
