"""A drill: a server is killed at random moments under load, again and again, and must not lose a thing.

    python -m tests.durability.kill_drill [--kills 200] [--sessions 50] [--seed TEXT]

It runs `patience serve` on a home of its own, lets guests play random legal moves in all games, kills the
server by SIGKILL, starts it again, and checks that every answered change is there, that nothing is doubled,
that every session is whole, and that players and a spectator go on by `since` without a gap. A summary is
printed as JSON; the exit code is 1 after any violation.
"""

import argparse
import asyncio
import json
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from tests.durability.audit import audit
from tests.durability.crowd import Player, Spectator, Violation, gather, hold
from tests.peer import Peer
from tests.processes import Process
from tests.stores import fresh_home

_LOAD_SECONDS = (0.0, 1.5)
"""How long the server lives under load."""


@dataclass(slots=True)
class Summary:
    """What came of a drill."""

    seed: str
    kills: int = 0
    sessions: int = 0
    answered: int = 0
    """Changes that were answered."""
    resent: int = 0
    """Calls whose answer was lost with the server, and that were sent again."""
    found: int = 0
    """Those of them that had been carried out before the kill."""
    watched: int = 0
    """Events that the spectator was told of as they happened."""
    audits: int = 0
    """How many sessions were looked at from the first event to the last."""
    slowest_start: float = 0.0
    """Seconds until the server was back."""
    seconds: float = 0.0
    violations: int = 0


async def drill(
    home: Path, *, kills: int, sessions: int, seed: str, report: Callable[[int], None] | None = None
) -> Summary:
    """Kill a server so many times while so many sessions are played; `report` is told how often so far.

    Raises:
        Violation: at the first promise that is broken.
    """
    chance = Random(seed)
    summary = Summary(seed)
    players = [Player(f"{seed}-{number}") for number in range(sessions)]
    spectator = Spectator()
    began = time.monotonic()
    for kill in range(kills + 1):
        process = Process({"PATIENCE_HOME": str(home), "PATIENCE_LOG_LEVEL": "warning"})
        try:
            started = time.monotonic()
            await process.ready()
            summary.slowest_start = max(summary.slowest_start, time.monotonic() - started)
            summary.audits += await _audit(process, players, spectator)
            if kill < kills:
                await _load(process, players, spectator, chance.uniform(*_LOAD_SECONDS))
                summary.kills += 1
                if report is not None:
                    report(summary.kills)
        finally:
            # Its stores end with it, and in the end the home they are on is to be removed.
            code = await process.stop()
            process.close()
        if kill == kills:
            hold(code == 0, "it does not stop in good order:", code)
    summary.sessions = sum(len(player.attempts) for player in players)
    summary.answered = sum(player.answered for player in players)
    summary.resent = sum(player.resent for player in players)
    summary.found = sum(player.found for player in players)
    summary.watched = spectator.told
    summary.slowest_start = round(summary.slowest_start, 2)
    summary.seconds = round(time.monotonic() - began, 1)
    return summary


async def _load(process: Process, players: list[Player], spectator: Spectator, seconds: float) -> None:
    """Let everybody play for a while, then kill the server in the middle of it."""
    stop = asyncio.Event()
    playing = asyncio.create_task(
        gather(
            *(player.play(process.ws, stop) for player in players),
            spectator.watch(process.ws, players, stop),
        )
    )
    await asyncio.wait((playing,), timeout=seconds)
    await process.kill()
    # Whoever waits for an answer hears that the connection is lost.
    await playing


async def _audit(process: Process, players: list[Player], spectator: Spectator) -> int:
    """Look at everything that has changed since the last time."""
    looked = 0
    async with Peer(process.ws) as peer:
        for player in players:
            looked += await audit(peer, player, spectator)
            if player.token is not None:
                await _count(process, player)
    return looked


async def _count(process: Process, player: Player) -> None:
    """Check that no session was made twice; one may be there whose making was not answered."""
    async with Peer(process.ws, player.token) as peer:
        listed: list[str] = []
        cursor: str | None = None
        while True:
            page = await peer.call("session.list", limit=100, cursor=cursor)
            listed += [item["session"] for item in page["sessions"]]
            cursor = page["cursor"]
            if cursor is None:
                break
    known = [attempt.session for attempt in reversed(player.attempts)]
    hold(listed[-len(known) :] == known if known else True, "another session than was dealt:", listed, known)
    hold(len(listed) <= len(known) + 1, "a session was made twice:", listed, known)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the drill and print what came of it."""
    parser = argparse.ArgumentParser(description="Kill a server under load, again and again.")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--seed", default=secrets.token_hex(4))
    options = parser.parse_args(arguments)
    with fresh_home() as home:
        try:
            summary = asyncio.run(
                drill(
                    home,
                    kills=options.kills,
                    sessions=options.sessions,
                    seed=options.seed,
                    report=lambda kills: print(f"\r{kills} kills", end="", file=sys.stderr, flush=True),
                )
            )
        except Violation as violation:
            print(json.dumps({"seed": options.seed, "violations": 1, "violation": str(violation)[:4_000]}))
            return 1
    print(json.dumps(asdict(summary), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
