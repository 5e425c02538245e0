"""A connection that comes back: to another process, with its subscriptions, missing nothing."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.contract import Json
from tests.durability.chronicle import Chronicle
from tests.durability.cluster import Cluster, Life
from tests.durability.crowd import Violation, hold
from tests.peer import Lost, Peer, Refused

_PAUSE = 0.05
"""Seconds until another process is tried after one that takes no clients."""

_OURS, _BROKEN, _RESTART = 1000, 1006, 1012
"""The codes of connections that we closed, that broke without a word, and that a stopping server closed."""


@dataclass(slots=True)
class Tally:
    """What has happened to connections, all of them together."""

    codes: Counter[int] = field(default_factory=Counter[int])
    """How often which close code came."""
    refused: int = 0
    """Attempts to connect that came to nothing."""
    turned_away: int = 0
    """Connections that a stopping process closed before anything was said."""
    resent: int = 0
    """Calls that were sent again because their answer was lost."""
    returns: int = 0
    """Subscriptions that were taken up again by `since`."""
    kinds: Counter[str] = field(default_factory=Counter[str])
    """How often which error was answered."""


class Ear(Peer):
    """One WebSocket that looks at everything in the order in which it comes."""

    def __init__(self, url: str, token: str | None, chronicle: Chronicle) -> None:
        super().__init__(url, token)
        self.has: dict[str, int] = {}
        """The sessions it is subscribed to, and the last event that it has of each."""
        self.closing = False
        """Whether the server has said that it closes."""
        self.answered = False
        """Whether anything has been answered."""
        self._chronicle = chronicle
        self._asked: dict[int, tuple[str, Json]] = {}

    async def begin(self, method: str, /, **params: object) -> asyncio.Future[Any]:
        ident = self._last + 1
        self._asked[ident] = method, dict(params)
        try:
            return await super().begin(method, **params)
        except Lost:
            # Nobody will ask for its outcome.
            _, future = self._waiting.pop(ident)
            if not future.cancel():
                future.exception()
            raise

    def _take(self, message: Json | list[Json]) -> None:
        self.frames.clear()
        assert isinstance(message, dict), "batches are not sent"
        try:
            if message.get("method") == "session.event":
                self._hear(message["params"])
                return
            hold(not self.closing, "something follows server.closing:", message)
            if message.get("method") == "server.closing":
                self.closing = True
                return
            self.answered = True
            method, params = self._asked.pop(message["id"])
            if "result" in message:
                self._learn(method, params, message["result"])
        except Violation as violation:
            self._chronicle.blame(violation)
        super()._take(message)

    def _hear(self, event: Json) -> None:
        """Take an event, which must be the next one of a session that is subscribed to."""
        session, seq = event["session"], event["seq"]
        hold(not self.closing, "an event follows server.closing:", event)
        hold(session in self.has, "an event that nobody is subscribed to:", event)
        hold(seq == self.has[session] + 1, "a gap or a double:", self.has[session], event)
        self.has[session] = seq
        self._chronicle.event(event)

    def _learn(self, method: str, params: Json, result: Json) -> None:
        """Take an answer for what it says of a session."""
        session = params.get("session", "")
        match method:
            case "session.subscribe" if "view" in result:
                self._chronicle.view(result["view"])
                self.has[session] = result["view"]["seq"]
            case "session.subscribe":
                self._learn_page(session, params["since"], result)
            case "session.unsubscribe":
                self.has.pop(session, None)
            case "session.move" | "session.undo" | "session.resign":
                self._chronicle.answer(session, result)
                self._learn_change(session, result["seq"])
            case _:
                pass

    def _learn_page(self, session: str, since: int, page: Json) -> None:
        for event in page["events"]:
            hold(event["seq"] == since + 1, "a page with a gap:", session, since, event)
            since = event["seq"]
            self._chronicle.event(event)
        hold(bool(page["events"]) or not page["more"], "a page of nothing, and more to come:", session)
        # A page may not be the last one, but whoever reads it goes on from there in any case.
        self.has[session] = since

    def _learn_change(self, session: str, seq: int) -> None:
        """Tell a change that this connection has made from one that was made before."""
        if session not in self.has:
            return
        has = self.has[session]
        hold(seq <= has + 1, "an answer overtakes events:", session, has, seq)
        if seq == has + 1:
            self.has[session] = seq
            self._chronicle.carry(session, seq)


class Hand:
    """Somebody's connection, over as many processes as it takes."""

    def __init__(self, cluster: Cluster, chronicle: Chronicle, tally: Tally, chance: Random) -> None:
        self._cluster = cluster
        self._chronicle = chronicle
        self._tally = tally
        self._chance = chance
        self._ear: Ear | None = None
        self.token: str | None = None
        self.life: Life | None = None
        """The process that it is at, or was last."""
        self.wanted: dict[str, int | None] = {}
        """The sessions to be subscribed to, and the last event known of each when it was lost, if any."""

    @property
    def whole(self) -> bool:
        """Whether it is connected."""
        return self._ear is not None and not self._ear.closed

    def has(self, session: str) -> int | None:
        """Return the last event that it has of a session; None without a subscription."""
        return self._ear.has.get(session) if self._ear is not None and self.whole else None

    async def log_in(self) -> None:
        """Become a new guest."""
        while self.token is None:
            if not self.whole:
                await self.back()
            assert self._ear is not None
            try:
                await self._ear.log_in()
            except Lost:
                await self.back()
                continue
            self.token = self._ear.token

    async def call(self, method: str, /, *, allow: frozenset[str] = frozenset(), **params: object) -> Any:
        """Make a call, again and again over other connections until it is answered.

        Raises:
            Refused: by one of the kinds that are allowed.
            Violation: by another one, or it is not answered at all.
        """
        while True:
            if not self.whole:
                await self.back()
            assert self._ear is not None
            try:
                return await self._ear.call(method, **params)
            except Lost:
                self._tally.resent += 1
                await self.back()
            except Refused as refused:
                self._tally.kinds[refused.kind] += 1
                if refused.kind in allow:
                    raise
                raise Violation(f"refused: {method} {params}: {refused}") from refused
            except TimeoutError:
                raise Violation(f"not answered: {method} {params}") from None

    async def follow(self, session: str, since: int | None = None) -> None:
        """Subscribe to a session, from an event on or from now on."""
        self.wanted[session] = since
        while self.has(session) is None:
            if not self.whole:
                await self.back()
                continue
            assert self._ear is not None
            try:
                await self._subscribe(self._ear, session)
            except Lost:
                await self.back()

    async def leave(self, session: str) -> int | None:
        """Unsubscribe, and return the last event had."""
        known = self.wanted.pop(session, None)
        has = self.has(session)
        await self.call("session.unsubscribe", session=session)
        return known if has is None else has

    async def back(self) -> None:
        """Connect to another process than the last one, and take up all subscriptions."""
        while True:
            await self.part()
            self.life = life = self._cluster.pick(self.life)
            ear = Ear(life.ws, self.token, self._chronicle)
            try:
                await ear.__aenter__()
            except Lost:
                self._tally.refused += 1
                await asyncio.sleep(_PAUSE)
                continue
            self._ear = ear
            try:
                for session in list(self.wanted):
                    await self._subscribe(ear, session)
            except Lost:
                continue
            return

    async def part(self) -> None:
        """Close the connection, if there is one, and look how it has ended."""
        ear, self._ear = self._ear, None
        if ear is None:
            return
        await ear.__aexit__(None, None, None)
        for session in self.wanted:
            if session in ear.has:
                self.wanted[session] = ear.has[session]
        assert self.life is not None
        _judge(ear, self.life, self._tally)

    async def _subscribe(self, ear: Ear, session: str) -> None:
        """Subscribe on a connection, and read what was missed."""
        since = self.wanted[session]
        try:
            if since is None:
                await ear.call("session.subscribe", session=session)
                return
            self._tally.returns += 1
            more = True
            while more:
                page = await ear.call("session.subscribe", session=session, since=since)
                since, more = ear.has[session], page["more"]
        except Refused as refused:
            raise Violation(f"refused: to subscribe to {session}: {refused}") from refused
        except TimeoutError:
            raise Violation(f"not answered: to subscribe to {session}") from None


def _judge(ear: Ear, life: Life, tally: Tally) -> None:
    """Hold a connection's end against what has become of its server."""
    code = ear.socket.close_code
    assert code is not None, "it is closed"
    tally.codes[code] += 1
    if code == _RESTART:
        hold(life.end == "stop", "a server closes that was not asked to stop:", life.port)
        if not ear.closing:
            hold(not ear.answered, "a server closes without a word:", life.port)
            tally.turned_away += 1
    elif code == _BROKEN:
        hold(life.end == "kill", "a connection breaks:", life.port, life.end, ear.closing)
    else:
        hold(code == _OURS, "a connection is closed with", code)
