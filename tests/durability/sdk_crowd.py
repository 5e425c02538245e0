"""Players and onlookers who use the Python SDK, and need not know of anything."""

import asyncio
import traceback
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random

from clients.python import Answer, Client, ClientError, Event, Session, connect
from tests.contract import Json
from tests.durability.chronicle import Chronicle
from tests.durability.crowd import Attempt, Playing, Violation, choose_change, choose_game, hold
from tests.durability.onlooker import latest

_BOTH = 0.15
"""How likely it is that a change is asked for with both clients at once."""

_PAUSE = 0.05
_AGAIN = 0.05
"""How likely it is, at each look, that an onlooker lets a session go and opens it again."""


class Seat:
    """A session as one client has it; what it is told must come in order."""

    def __init__(self, session: Session, chronicle: Chronicle) -> None:
        self.session = session
        self._chronicle = chronicle
        self._last = session.seq
        session.on_event(self._hear)

    def _hear(self, event: Event) -> None:
        try:
            hold(event.seq == self._last + 1, "the SDK tells of a gap or a double:", self._last, event)
            self._last = event.seq
            if event.at is not None:
                self._chronicle.event(as_json(event))
        except Violation as violation:
            self._chronicle.blame(violation)

    async def close(self) -> None:
        """Let it go, and look whether it was well all the time."""
        self.check()
        await self.session.close()

    def check(self) -> None:
        """Look whether it was well all the time."""
        session = self.session
        hold(session.gaps == 0, "the SDK has met a gap:", session.id, session.gaps)
        hold(session.repairs == 0, "the SDK has had a wrong view:", session.id, session.repairs)


def as_json(event: Event) -> Json:
    """Return an event as it was sent."""
    return {
        "session": event.session,
        "seq": event.seq,
        "kind": event.kind,
        "move": event.move,
        "at": event.at,
        "elapsed_ms": event.elapsed_ms,
        "check": event.check,
        "patch": list(event.patch),
    }


@asynccontextmanager
async def surprised() -> AsyncGenerator[None]:
    """Whatever the SDK raises is a violation."""
    try:
        yield
    except ClientError as error:
        where = traceback.extract_tb(error.__traceback__)
        told = [f"{frame.name}:{frame.lineno}" for frame in where]
        raise Violation(f"the SDK lets its caller know: {error!r} {told}") from error


class SdkPlayer:
    """One guest with one session at a time and two clients."""

    def __init__(self, url: str, chronicle: Chronicle, seed: str, pause: float) -> None:
        """Wait `pause` seconds between two changes, on the average."""
        self._url = url
        self._chronicle = chronicle
        self._chance = Random(seed)
        self._pause = pause
        self._clients: list[Client] = []
        self._open = AsyncExitStack()
        self.seats: list[Seat] = []
        self.attempts: list[Attempt] = []
        self.answered = self.doubled = 0

    @property
    def token(self) -> str:
        """Whose sessions they are."""
        token = self._clients[0].token
        assert token is not None
        return token

    @property
    def reconnects(self) -> int:
        """How often a connection broke and was made again."""
        return sum(client.reconnects for client in self._clients)

    async def play(self, stop: asyncio.Event) -> None:
        """Play until told to stop.

        Raises:
            Violation: a promise is broken, or the SDK raises anything at all.
        """
        async with surprised():
            await asyncio.sleep(self._chance.uniform(0, 4 * self._pause))
            one = await self._open.enter_async_context(connect(self._url))
            await one.guest()
            self._clients = [one, await self._open.enter_async_context(connect(self._url, one.token))]
            while not stop.is_set():
                await asyncio.sleep(self._chance.uniform(0, 2 * self._pause))
                await self._step()

    def positions(self, session: str) -> list[int | None]:
        """Return the last event of a session that each client shows."""
        return [seat.session.seq for seat in self.seats if seat.session.id == session]

    async def resign(self) -> None:
        """Give up what is not over."""
        attempt = self.attempts[-1]
        if attempt.status == "playing":
            async with surprised():
                await self._change(attempt, "session.resign", None)

    async def leave(self) -> None:
        """Close both clients."""
        await self._open.aclose()

    async def _step(self) -> None:
        attempt = self.attempts[-1] if self.attempts else None
        change = None if attempt is None else choose_change(self._chance, attempt)
        if attempt is None or change is None:
            await self._deal()
        else:
            await self._change(attempt, change[0], change[1].get("move"))

    async def _deal(self) -> None:
        """Begin a session, and let go of the last one."""
        for seat in self.seats:
            await seat.close()
        game = choose_game(self._chance)
        one, other = self._chance.sample(self._clients, 2)
        request = f"attempt-{len(self.attempts)}"

        async def create(client: Client) -> Session:
            return await client.create(game["game"], game["options"], public=True, request_id=request)

        if self._chance.random() < _BOTH:
            sessions = await asyncio.gather(create(one), create(other))
        else:
            first = await create(one)
            sessions = [first, await other.open(first.id)]
        hold(sessions[0].data["piles"] == sessions[1].data["piles"], "one session is dealt twice:", sessions)
        self.seats = [Seat(session, self._chronicle) for session in sessions]
        self.attempts.append(Attempt(sessions[0].id, list(sessions[0].legal)))

    async def _change(self, attempt: Attempt, method: str, move: str | None) -> None:
        """Make a change with some client that is up to date, or with both at once."""
        ready = [seat.session for seat in self.seats if seat.session.seq == attempt.seq]
        hold(bool(ready), "no client shows what was answered:", attempt.session, attempt.seq)
        if len(ready) == 1 or self._chance.random() > _BOTH:
            ready = [self._chance.choice(ready)]
        answers = await asyncio.gather(*(_make(session, method, move) for session in ready))
        self.doubled += len(answers) - 1
        hold(all(answer == answers[0] for answer in answers), "one change is answered in two ways:", answers)
        answer = plain(answers[0])
        self._chronicle.answer(attempt.session, answer)
        attempt.take(answer, method.removeprefix("session."), move)
        self.answered += 1


async def _make(session: Session, method: str, move: str | None) -> Answer:
    if move is not None:
        return await session.move(move)
    return await (session.undo() if method == "session.undo" else session.resign())


def plain(answer: Answer) -> Json:
    """Return an answer as it was sent."""
    return {
        "seq": answer.seq,
        "patch": list(answer.patch),
        "check": answer.check,
        "status": answer.status,
    }


class SdkOnlooker:
    """One client that has several players' sessions open, and lets some go and takes them up again."""

    def __init__(self, url: str, chronicle: Chronicle, seed: str, players: Sequence[Playing]) -> None:
        self._url = url
        self._chronicle = chronicle
        self._chance = Random(seed)
        self.players = players
        self._client: Client | None = None
        self._open = AsyncExitStack()
        self.seats: dict[str, Seat] = {}
        self.calm = False
        """Whether nothing is let go any more that is not over."""

    def positions(self, session: str) -> list[int | None]:
        """Return the last event of a session that it shows."""
        seat = self.seats.get(session)
        return [seat.session.seq if seat else None]

    @property
    def reconnects(self) -> int:
        """How often the connection broke and was made again."""
        return self._client.reconnects if self._client else 0

    async def watch(self, stop: asyncio.Event) -> None:
        """Watch what is being played until told to stop.

        Raises:
            Violation: a promise is broken, or the SDK raises anything at all.
        """
        async with surprised():
            self._client = client = await self._open.enter_async_context(connect(self._url))
            while not stop.is_set():
                now = latest(self.players)
                for session in self.seats.keys() - now:
                    await self.seats.pop(session).close()
                for session in now - self.seats.keys():
                    self.seats[session] = Seat(await client.open(session), self._chronicle)
                if self.seats and not self.calm and self._chance.random() < _AGAIN:
                    await self.seats.pop(self._chance.choice(list(self.seats))).close()
                await asyncio.sleep(_PAUSE)

    async def leave(self) -> None:
        """Close the client."""
        await self._open.aclose()
