"""How long a process takes to take up a long session that it does not have in memory.

    python -m tests.bench.takeup [--events 4950] [--rounds 7]

A session of Klondike is played on one of two processes, random moves with some undos. The other one then has
to find it in the database to answer a call, each time anew: it keeps one session in memory, and is asked for
another in between. Medians in milliseconds; the longest of all in brackets. *Others wait* is
the longest time that a call of somebody else, which needs no store, took meanwhile: so long, about, the event
loop was held up. *In memory* is the same call made once more at once, when the session is in memory. *Replay*
is the engine alone, pushing the same events in a loop in this process; the ratio is to that.
"""

import argparse
import asyncio
import contextlib
import json
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import uvloop

from engine import Play, make_game, shuffle
from tests.bench.foreign import Foreign
from tests.bench.link import Link
from tests.bench.place import Place
from tests.bench.stage import stage

_OPTIONS: Final = {"draw": 1, "passes": 0, "worry_back": True}
_SEED: Final = "a-long-session"
_UNDOS: Final = 0.1
_BATCH: Final = 32
_PAUSE: Final = 0.001
"""Seconds between two calls of the one who waits for others."""

_SETTLE: Final = 0.05
"""Seconds within which whoever waited has had the answer."""


class Script:
    """Random moves and undos, made here as they are made there."""

    def __init__(self) -> None:
        self.play = self.deal()
        self.events: list[str | None] = []
        """Moves; None is an undo."""
        self._chance = Random(_SEED)

    @staticmethod
    def deal() -> Play:
        """Return the play at its beginning."""
        return Play(make_game("klondike", _OPTIONS), shuffle(_SEED, 1))

    def next(self) -> str | None:
        """Make one more."""
        undo = self.play.done and self._chance.random() < _UNDOS
        event = None if undo else self._chance.choice(self.play.legal)
        self.events.append(event)
        if event is None:
            self.play.pop()
        else:
            self.play.push(event)
        return event

    def replay(self) -> float:
        """Make all of them again from the beginning, and return the milliseconds that took."""
        started = time.perf_counter()
        play = self.deal()
        for event in self.events:
            if event is None:
                play.pop()
            else:
                play.push(event)
        return 1000 * (time.perf_counter() - started)


@dataclass(slots=True)
class Samples:
    """What one kind of call took, in milliseconds."""

    cold: list[float] = field(default_factory=list[float])
    others: list[float] = field(default_factory=list[float])
    warm: list[float] = field(default_factory=list[float])


class Waiting:
    """Somebody else at the same process, who calls again and again what needs no store."""

    def __init__(self, link: Link) -> None:
        """Call over a connection."""
        self._link = link
        self.longest = 0.0
        """The longest that an answer took, in milliseconds; to be set back by whoever looks."""

    async def run(self) -> None:
        """Call until cancelled."""
        while True:
            started = time.perf_counter()
            await self._link.call("server.info", {})
            self.longest = max(self.longest, 1000 * (time.perf_counter() - started))
            await asyncio.sleep(_PAUSE)


async def play(link: Link, session: str, script: Script, events: int) -> None:
    """Make so many random moves and undos, as many at once as a batch may have."""
    while len(script.events) < events:
        batch: list[Mapping[str, object]] = []
        for _ in range(min(_BATCH, events - len(script.events))):
            seq = len(script.events)
            batch.append({"jsonrpc": "2.0", "id": seq, **change(session, script.next(), seq)})
        answers = await link.batch(json.dumps(batch).encode())
        failed = [answer["error"] for answer in answers if "error" in answer]
        if failed:
            raise RuntimeError(f"a move was refused: {failed[0]}")


def change(session: str, event: str | None, seq: int) -> dict[str, Any]:
    """Return the call that makes an event."""
    params: dict[str, object] = {"session": session, "seq": seq}
    if event is None:
        return {"method": "session.undo", "params": params}
    return {"method": "session.move", "params": params | {"move": event}}


async def timed(link: Link, method: str, params: Mapping[str, object]) -> float:
    """Make a call and return the milliseconds that it took."""
    started = time.perf_counter()
    await link.call(method, params)
    return 1000 * (time.perf_counter() - started)


async def measure(events: int, rounds: int) -> None:
    """Measure and print the table."""
    script, samples = Script(), dict[str, Samples]()
    async with stage(2, PATIENCE_LIMIT_CACHED_SESSIONS="1") as (first, second):
        player, link, other = [await Link.open(Place.parse(one.ws)) for one in (first, second, second)]
        token = (await player.call("auth.guest", {}))["token"]
        for one in (player, link):
            await one.call("auth.use", {"token": token})
        deal = {"game": "klondike", "options": _OPTIONS, "seed": _SEED}
        session: str = (await player.call("session.create", deal))["session"]
        small: str = (await player.call("session.create", deal))["session"]
        await play(player, session, script, events)
        waiting = Waiting(other)
        asking = asyncio.create_task(waiting.run())
        with Foreign() as foreign:
            for _ in range(rounds):
                for name in ("get", "move", "since the last 10", "since 0"):
                    # Whoever comes later finds the other one in memory, and has to read this one anew.
                    await link.call("session.get", {"session": small})
                    await asyncio.sleep(_SETTLE)
                    waiting.longest = 0.0
                    sample = samples.setdefault(name, Samples())
                    sample.cold.append(await ask(link, name, session, script))
                    await asyncio.sleep(_SETTLE)
                    sample.others.append(waiting.longest)
                    sample.warm.append(await ask(link, name, session, script))
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking
    replays = [script.replay() for _ in range(3)]
    replay = statistics.median(replays)
    print(f"a session of {len(script.events)} events; replay in the engine {replay:.0f} ms")
    print("| call | ms | ratio to replay | others wait | in memory |")
    print("| --- " * 5 + "|")
    for name, sample in samples.items():
        cold = statistics.median(sample.cold)
        cells = " | ".join(shown(part) for part in (sample.others, sample.warm))
        print(f"| {name} | {shown(sample.cold)} | {cold / replay:.2f} | {cells} |")
    print(f"other programs took {foreign.percent:.0f} percent of a core")


async def ask(link: Link, name: str, session: str, script: Script) -> float:
    """Make a call of one kind and return the milliseconds that it took."""
    seq = len(script.events)
    if name == "get":
        return await timed(link, "session.get", {"session": session})
    if name == "move":
        return await timed(link, **change(session, script.next(), seq))
    since = 0 if name == "since 0" else seq - 10
    return await timed(link, "session.subscribe", {"session": session, "since": since})


def shown(values: list[float]) -> str:
    """Return the median and the greatest."""
    return f"{statistics.median(values):.1f} ({max(values):.1f})"


def main() -> None:
    """Run the command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--events", type=int, default=4_950, help="each round makes two more, to 5000")
    arguments.add_argument("--rounds", type=int, default=7)
    given = arguments.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(measure(given.events, given.rounds))


if __name__ == "__main__":
    main()
