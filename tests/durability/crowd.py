"""Players who play random legal moves for as long as there is a server, and remember every answer."""

import asyncio
import zlib
from collections.abc import Awaitable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

import jsonpatch

from tests.contract import Json
from tests.peer import Lost, Peer, Refused

GAMES = ("klondike", "plot", "casket", "camelot", "stalactites")
_UNDO, _RESIGN = 0.08, 0.008
"""How likely an undo and a resignation are."""

_SECOND_THOUGHT = 0.5
"""How likely it is that a session is taken up again when it is lost."""

_PAUSE = 0.05
"""Seconds until a call that was answered `unavailable` is sent again."""


class Violation(Exception):
    """Something that was promised does not hold."""


def hold(promise: bool, words: str, *things: object) -> None:
    """Raise `Violation` unless a promise holds."""
    if not promise:
        raise Violation(" ".join([words, *map(str, things)]))


def checksum(view: Json) -> str:
    """Return a view's `check`, worked out from its piles."""
    text = "".join(f"{name}:{pile['down']}:{''.join(pile['up'])};" for name, pile in view["piles"].items())
    return f"{zlib.crc32(text.encode('ascii')):08x}"


def patched(view: Json, patch: list[Json]) -> Json:
    """Return a view with a patch applied, by a library that is not ours."""
    return jsonpatch.apply_patch(view, patch)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  It has no types.


@dataclass(slots=True)
class Attempt:
    """One session as its player knows it."""

    session: str
    legal: list[str]
    seq: int = 0
    status: str = "playing"
    moves: int = 0
    answers: dict[int, Json] = field(default_factory=dict[int, Json])
    """What was answered to each change, and with which move it was asked for."""

    events: list[Json] = field(default_factory=list[Json])
    """What it was when it was last looked at."""

    view: Json = field(default_factory=dict[str, Any])
    """Where those events lead."""

    def take(self, answer: Json, kind: str, move: str | None) -> None:
        """Go on by the answer to a call."""
        hold(answer["seq"] == self.seq + 1, "an answer skips numbers:", self.session, self.seq, answer)
        self.seq = answer["seq"]
        self.status = answer["status"]
        self.answers[self.seq] = {"kind": kind, "move": move} | answer
        for change in answer["patch"]:
            if change["path"] == "/legal":
                self.legal = change["value"]
            elif change["path"] == "/moves":
                self.moves = change["value"]


class Playing(Protocol):
    """Somebody who plays one session after another."""

    attempts: list[Attempt]


class Patient:
    """Somebody who asks again where a store is away."""

    def __init__(self) -> None:
        self.unavailable = 0
        """Answers of that kind."""

    async def insist(self, peer: Peer, method: str, /, **params: object) -> Any:
        """Make a call until it is answered otherwise."""
        while True:
            try:
                return await peer.call(method, **params)
            except Refused as refused:
                if refused.kind != "unavailable":
                    raise
                self.unavailable += 1
                await asyncio.sleep(_PAUSE)


class Player(Patient):
    """One guest with one session at a time."""

    def __init__(self, seed: str) -> None:
        super().__init__()
        self._chance = Random(seed)
        self._pending: tuple[str, Json] | None = None
        self.token: str | None = None
        self.attempts: list[Attempt] = []
        self.answered = 0
        """Changes that were answered."""
        self.resent = 0
        """Calls that were sent again because their answer was lost."""
        self.found = 0
        """Those of them that turned out to have been carried out."""

    async def play(self, url: str, stop: asyncio.Event) -> None:
        """Play at a server until it is gone, or `stop` is set.

        Raises:
            Violation: the server breaks a promise.
        """
        try:
            async with Peer(url, self.token) as peer:
                if self.token is None:
                    await peer.log_in()
                    self.token = peer.token
                missed = await self._resume(peer)
                while not stop.is_set():
                    await self._step(peer, missed)
                    missed = None
        except Lost:
            return
        except Refused as refused:
            raise Violation(f"refused: {refused} after {self._pending}") from refused

    async def _resume(self, peer: Peer) -> Json | None:
        """Take up the session after a connection was lost; return the event that was missed, if one was."""
        if self._pending is not None:
            self.resent += 1
        if not self.attempts:
            return None
        attempt = self.attempts[-1]
        page = await self.insist(peer, "session.subscribe", session=attempt.session, since=attempt.seq)
        events = page["events"]
        hold(not page["more"] and len(events) <= 1, "more was missed than was asked for:", attempt, page)
        if not events:
            return None
        [event] = events
        hold(event["seq"] == attempt.seq + 1, "a gap:", attempt.seq, event)
        hold(self._pending is not None, "an event that nobody asked for:", event)
        assert self._pending is not None
        method, params = self._pending
        asked = method.removeprefix("session.")
        hold(event["kind"] == asked, "another event than asked for:", self._pending, event)
        hold(asked != "move" or event["move"] == params["move"], "another move:", self._pending, event)
        self.found += 1
        return event

    async def _step(self, peer: Peer, missed: Json | None) -> None:
        """Make one call; `missed` is the event that it has had already, if it has."""
        if self._pending is None:
            self._pending = self._choose()
        method, params = self._pending
        answer = await self.insist(peer, method, **params)
        self._pending = None
        if method == "session.create":
            hold(checksum(answer) == answer["check"], "a wrong check:", answer)
            self.attempts.append(Attempt(answer["session"], answer["legal"]))
            return
        attempt = self.attempts[-1]
        attempt.take(answer, method.removeprefix("session."), params.get("move"))
        self.answered += 1
        if missed is not None:
            same = all(answer[key] == missed[key] for key in ("seq", "patch", "check"))
            hold(same, "the answer is not the event:", answer, missed)

    def _choose(self) -> tuple[str, Json]:
        """Decide what to do next."""
        change = choose_change(self._chance, self.attempts[-1]) if self.attempts else None
        if change is not None:
            return change
        request = f"attempt-{len(self.attempts)}"
        return "session.create", choose_game(self._chance) | {"request_id": request}


def choose_game(chance: Random) -> Json:
    """Decide what to play next; return the params of `session.create`, but for the request's id."""
    game = chance.choice(GAMES)
    options = {"draw": chance.choice((1, 3)), "passes": 0} if game == "klondike" else {}
    return {"game": game, "options": options, "public": True}


def choose_change(chance: Random, attempt: Attempt) -> tuple[str, Json] | None:
    """Decide how to go on with a session; return a method and its params, or None to leave it at that."""
    params: Json = {"session": attempt.session}
    if attempt.status == "lost" and attempt.moves and chance.random() < _SECOND_THOUGHT:
        return "session.undo", params | {"seq": attempt.seq}
    if attempt.status != "playing":
        return None
    if chance.random() < _RESIGN:
        return "session.resign", params
    params["seq"] = attempt.seq
    if attempt.moves and chance.random() < _UNDO:
        return "session.undo", params
    return "session.move", params | {"move": chance.choice(attempt.legal)}


class Spectator(Patient):
    """Somebody who watches all sessions, across connections."""

    def __init__(self) -> None:
        super().__init__()
        self.events: dict[str, list[Json]] = {}
        self.told = 0
        """Events that came as they happened, and not on asking for what was missed."""

    async def watch(self, url: str, players: list[Player], stop: asyncio.Event) -> None:
        """Watch every player's latest session until the server is gone, or `stop` is set."""
        try:
            async with Peer(url) as peer:
                mine: set[str] = set()
                while not stop.is_set():
                    latest = {player.attempts[-1].session for player in players if player.attempts}
                    await gather(*(self._subscribe(peer, session) for session in latest - mine))
                    mine |= latest
                    await self._listen(peer)
        except Lost:
            return

    async def _subscribe(self, peer: Peer, session: str) -> None:
        """Take a session up where it was left."""
        seen = self.events.setdefault(session, [])
        more = True
        while more:
            page = await self.insist(peer, "session.subscribe", session=session, since=len(seen))
            for event in page["events"]:
                self._take(event)
            more = page["more"]

    async def _listen(self, peer: Peer) -> None:
        """Take what has come meanwhile."""
        while not await peer.quiet():
            self._take(await peer.event())
            self.told += 1
        await asyncio.sleep(0.01)

    def _take(self, event: Json) -> None:
        seen = self.events[event["session"]]
        hold(event["seq"] == len(seen) + 1, "a spectator sees a gap:", len(seen), event)
        seen.append(event)


async def gather(*work: Awaitable[Any]) -> None:
    """Do all of it at once; what fails first is raised when all have ended."""
    for outcome in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
