"""Players and onlookers who use our client over a network that may be bad, and note all they see."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from random import Random
from typing import Final

from clients.python import CallTimeout, Client, ConnectionLost, Session, SessionOver, StaleSeq, connect
from tests.clients.notes import Doings, Notes
from tests.durability.crowd import GAMES, hold

HEARTBEAT: Final = 0.3
_TIMEOUTS: Final = 2.0, 10.0
"""For how long a call is waited: by the impatient, and by others."""
_PAUSE: Final = 0.1
_UNDO, _RESIGN = 0.08, 0.01
"""How likely an undo and a resignation are."""


class Roamer(ABC):
    """Somebody with one client at a time."""

    def __init__(self, seed: str) -> None:
        self.chance = Random(seed)
        self.token: str | None = None
        self.notes: list[Notes] = []
        """All that was seen by all clients."""
        self.latest: dict[str, Notes] = {}
        """Of it the sessions that the present client has open."""
        self.clients = 0
        """How many clients there were."""
        self.reconnects = 0
        """How often those came back by themselves."""
        self.doubts = 0
        """How often a call, or the first connection, ended in an error that a program has to be ready for."""
        self.ready = asyncio.Event()
        """Set when all is done, and what the client shows is to be looked at."""

    async def roam(self, url: str, stop: asyncio.Event, done: asyncio.Event) -> None:
        """Go on until `stop` is set, then do one thing more, and stay connected until `done` is set.

        Raises:
            Violation: something is not as promised.
            ClientError: an error that no program has to be ready for.
        """
        while not self.ready.is_set():
            client = connect(url, self.token, timeout=self.chance.choice(_TIMEOUTS), heartbeat=HEARTBEAT)
            with self.doubting():
                async with client:
                    self.clients += 1
                    self.latest = {}
                    await self._stay(client, stop, done)
            self.reconnects += client.reconnects

    async def _stay(self, client: Client, stop: asyncio.Event, done: asyncio.Event) -> None:
        if self.token is None:
            await client.guest()
            self.token = client.token
        for _ in range(self.chance.randrange(20, 200)):
            last = stop.is_set()
            # Once the network is sound nothing may be in doubt.
            with nullcontext() if last else self.doubting():
                await self.step(client)
            if last:
                self.ready.set()
                await done.wait()
                return

    @contextmanager
    def doubting(self) -> Generator[None]:
        """Go on after what a program has to be ready for."""
        try:
            yield
        except (ConnectionLost, CallTimeout):
            self.doubts += 1

    @abstractmethod
    async def step(self, client: Client) -> None:
        """Do one thing."""

    def note(self, session: Session) -> None:
        """Begin to note what a session shows and tells."""
        notes = Notes(session)
        self.notes.append(notes)
        self.latest[session.id] = notes


class Wanderer(Roamer):
    """A guest who plays one session at a time."""

    def __init__(self, seed: str) -> None:
        super().__init__(seed)
        self.doings: dict[str, Doings] = {}
        """By session, the latest last."""
        self._begun = 0
        self._over = True
        """Whether the latest session has ended."""

    async def step(self, client: Client) -> None:
        """Make a change, or begin a session."""
        if self._over:
            await self._begin(client)
            return
        ident = next(reversed(self.doings))
        if ident not in self.latest:
            self.note(await client.open(ident))
        await self._change(self.latest[ident], self.doings[ident])

    async def _begin(self, client: Client) -> None:
        """Begin a session. Whoever does not know whether it was begun asks again for the same one."""
        game = self.chance.choice(GAMES)
        session = await client.create(game, public=True, request_id=f"session-{self._begun}")
        self._begun += 1
        self._over = False
        self.doings[session.id] = Doings()
        self.note(session)

    async def _change(self, notes: Notes, doings: Doings) -> None:
        session = notes.session
        kind, move = "move", None
        if not session.legal or self.chance.random() < _RESIGN:
            kind = "resign"
        elif session.view.moves and self.chance.random() < _UNDO:
            kind = "undo"
        else:
            move = self.chance.choice(session.legal)
        try:
            if move is not None:
                answer = await session.move(move)
            else:
                answer = await (session.undo() if kind == "undo" else session.resign())
        except (ConnectionLost, CallTimeout):
            doings.doubts.append((kind, move))
            notes.look()
            raise
        except (StaleSeq, SessionOver) as refused:
            hold(bool(doings.doubts), "refused, and nothing was in doubt:", session.id, kind, move, refused)
        else:
            doings.answers.append((kind, move, answer))
            hold(session.seq >= answer.seq, "answered before it is seen:", session.seq, answer)
        notes.look()
        self._over = session.status != "playing"


class Onlooker(Roamer):
    """Somebody who watches what others play."""

    def __init__(self, seed: str, wanderers: list[Wanderer]) -> None:
        super().__init__(seed)
        self._wanderers = wanderers

    async def step(self, client: Client) -> None:
        """Watch a session that was begun, and wait for an event of some session."""
        begun = [next(reversed(wanderer.doings)) for wanderer in self._wanderers if wanderer.doings]
        for ident in begun:
            if ident not in self.latest:
                self.note(await client.open(ident))
        await asyncio.sleep(_PAUSE)
