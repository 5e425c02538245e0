"""How long events take to many subscribers of one session, beside a bare broadcast of the same bytes.

    python -m tests.bench.fanout [--subscribers 1000] [--rate 10] [--seconds 5] [--rounds 3]

One player makes random moves at a steady pace on one of two processes; half of the subscribers are on that
one, half on the other. The baseline is a bare Starlette endpoint in one process that says each of the same
events to as many sockets. Times count from the moment the player's call is sent to the moment an event
arrives at a subscriber; all subscribers are in one client process, whose own time is in both. The two take
turns, so that a noisy moment hits both. The exit code is 1 if any event is missing anywhere.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import uvloop

from tests.bench.checks import Checks
from tests.bench.descriptors import TooFewDescriptors, allow
from tests.bench.followed import Followed
from tests.bench.foreign import Foreign
from tests.bench.link import Link
from tests.bench.place import Place
from tests.bench.spread import Spread
from tests.bench.stage import program, stage
from tests.waiting import until_true

_AT_ONCE = 50
_OPTIONS = {"draw": 1, "passes": 0, "worry_back": True}
"""A game that goes on for as long as it takes."""


class Subscriber:
    """Hears events, and notes how long each took."""

    def __init__(self, asked: dict[int, float], spread: Spread) -> None:
        """Look up in `asked` when each was asked for."""
        self._asked, self._spread = asked, spread
        self.seq = 0
        """The last event that came in its turn."""

    async def connect(self, place: Place) -> Link:
        """Connect to a server."""
        return await Link.open(place, hear=self.hear)

    def hear(self, method: str, params: Any, now: float) -> None:
        """Take an event; one that is out of turn leaves a gap, which shows in the end."""
        if method == "session.event" and params["seq"] == self.seq + 1:
            self.seq = params["seq"]
            self._spread.add(now - self._asked[self.seq])


async def connect_all(subscribers: list[Subscriber], place: Place) -> list[Link]:
    """Connect many to one server."""
    links: list[Link] = []
    for at in range(0, len(subscribers), _AT_ONCE):
        some = subscribers[at : at + _AT_ONCE]
        links += await asyncio.gather(*(one.connect(place) for one in some))
    return links


class Game:
    """The player of ours, with those who watch."""

    def __init__(self, places: list[Place], count: int) -> None:
        """Let so many subscribe, on the two servers in turns."""
        self._places = places
        self.asked: dict[int, float] = {}
        self.near, self.far = Spread(), Spread()
        self.subscribers = [Subscriber(self.asked, (self.near, self.far)[i % 2]) for i in range(count)]
        self.events: list[bytes] = []
        """What was told so far, as it went over the wire but for its order of keys."""

    async def begin(self) -> None:
        """Deal a session and let everybody subscribe."""
        self._player = await Link.open(self._places[0])
        token = (await self._player.call("auth.guest", {}))["token"]
        await self._player.call("auth.use", {"token": token})
        params = {"game": "klondike", "options": _OPTIONS, "seed": "fan-out", "public": True}
        self._session = Followed(await self._player.call("session.create", params), Checks(), whole=False)
        self._chance = Random(0)
        self._witness = await Link.open(self._places[1], hear=self._note)
        links = [self._witness]
        for i, place in enumerate(self._places):
            links += await connect_all(self.subscribers[i::2], place)
        for at in range(0, len(links), _AT_ONCE):
            params = {"session": self._session.session}
            some = links[at : at + _AT_ONCE]
            await asyncio.gather(*(link.call("session.subscribe", params) for link in some))

    def _note(self, method: str, params: Any, now: float) -> None:
        if method == "session.event":
            self.events.append(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    async def move(self) -> None:
        """Make one move."""
        session = self._session
        move = self._chance.choice(session.legal)
        self.asked[session.seq + 1] = time.perf_counter()
        params = {"session": session.session, "move": move, "seq": session.seq}
        session.take(await self._player.call("session.move", params))


class Baseline:
    """The same without a game: somebody says what was told, to as many."""

    def __init__(self, place: Place, count: int, events: list[bytes]) -> None:
        """Let so many listen."""
        self._place = place
        self.asked: dict[int, float] = {}
        self.spread = Spread()
        self.subscribers = [Subscriber(self.asked, self.spread) for _ in range(count)]
        self._events = events
        self._seq = 0

    async def begin(self) -> None:
        """Let everybody connect."""
        self._speaker = await Link.open(self._place)
        await connect_all(self.subscribers, self._place)

    async def move(self) -> None:
        """Say the next event."""
        event = self._events[self._seq]
        self._seq += 1
        self.asked[self._seq] = time.perf_counter()
        self._speaker.send(event)


async def turn(one: Game | Baseline, moves: int, rate: float) -> int:
    """Let one of the two make so many moves at a pace, and return how many events are missing anywhere."""
    until = len(one.asked) + moves
    await pace(one.move, moves, rate)
    try:
        await until_true(lambda: all(subscriber.seq == until for subscriber in one.subscribers))
    except TimeoutError:
        return sum(until - subscriber.seq for subscriber in one.subscribers)
    return 0


async def pace(move: Callable[[], Awaitable[None]], moves: int, rate: float) -> None:
    """Make moves at a steady pace; a late one does not put the next off."""
    started = time.perf_counter()
    for i in range(moves):
        await asyncio.sleep(max(0.0, started + i / rate - time.perf_counter()))
        await move()


async def measure(given: argparse.Namespace) -> int:
    """Measure, print the table, and return how many events were missing."""
    moves, missing = round(given.seconds * given.rate), 0
    allow(2 * given.subscribers)
    with program("tests.bench.broadcast") as (bare, _):
        async with stage(2) as servers:
            game = Game([Place.parse(server.ws) for server in servers], given.subscribers)
            baseline = Baseline(bare, given.subscribers, game.events)
            await game.begin()
            await baseline.begin()
            with Foreign() as foreign:
                for _ in range(given.rounds):
                    for one in (game, baseline):
                        missing += await turn(one, moves, given.rate)
    print(f"{given.subscribers} subscribers, {given.rate:g} moves a second; ratios are to the bare broadcast")
    print("| subscribers | events | p50 ms | p99 ms | max ms | p50 ratio | p99 ratio | max ratio |")
    print("| --- " * 8 + "|")
    for name, spread in (
        ("on the player's process", game.near),
        ("on the other process", game.far),
        ("bare broadcast, one process", baseline.spread),
    ):
        row = [spread.quantile(0.5), spread.quantile(0.99), spread.longest]
        base = [baseline.spread.quantile(0.5), baseline.spread.quantile(0.99), baseline.spread.longest]
        cells = [f"{1000 * x:.1f}" for x in row] + [f"{x / b:.2f}" for x, b in zip(row, base, strict=True)]
        print(f"| {name} | {spread.count} | {' | '.join(cells)} |")
    print(f"events missing: {missing}; other programs took {foreign.percent:.0f} percent of a core")
    return missing


def main() -> None:
    """Run the command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--subscribers", type=int, default=1000)
    arguments.add_argument("--rate", type=float, default=10.0)
    arguments.add_argument("--seconds", type=float, default=5.0)
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            missing = runner.run(measure(given))
    except TooFewDescriptors as error:
        raise SystemExit(f"fanout: {error}") from None
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
