"""A drill: people play and watch over a network that breaks in every way that there is, and must not notice.

    python -m tests.durability.chaos_drill [--seconds 60] [--players 12] [--onlookers 6] [--seed TEXT]

It runs two servers on stores of its own and a bad network before them. Guests play random legal moves in all
games with our own client, others watch. Then the network heals, and all that anybody saw or was answered is
held against the record. A summary is printed as JSON; the exit code is 1 after any violation.
"""

import argparse
import asyncio
import json
import secrets
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from random import Random
from typing import Any

from tests.chaos import TROUBLES, Chaos, chaos, server_place
from tests.clients.notes import Notes, Truth
from tests.clients.roaming import Onlooker, Roamer, Wanderer
from tests.durability.audit import timeless
from tests.durability.crowd import Violation, hold
from tests.peer import Peer
from tests.processes import served
from tests.stores import embedded_stores, migrate
from tests.waiting import until, until_true


@dataclass(slots=True)
class Summary:
    """What came of a drill."""

    seed: str
    seconds: float = 0.0
    troubles: dict[str, int] = field(default_factory=dict[str, int])
    """How often which of them came over a connection."""
    connections: int = 0
    clients: int = 0
    reconnects: int = 0
    """How often a client came back by itself."""
    doubts: int = 0
    """How often a call ended in doubt."""
    sessions: int = 0
    answered: int = 0
    """Changes that were answered."""
    views: int = 0
    """Views that were seen."""
    events: int = 0
    """Events that were told."""
    gaps: int = 0
    repairs: int = 0
    violations: int = 0


async def drill(
    network: Chaos, servers: Sequence[str], *, seconds: float, players: int, onlookers: int, seed: str
) -> Summary:
    """Play over a bad network for a while, and until all troubles have come; let it heal, and look.

    Raises:
        Violation: at the first promise that is broken.
        ClientError: one that no program has to be ready for.
    """
    began = time.monotonic()
    wanderers = [Wanderer(f"{seed}-{number}") for number in range(players)]
    roamers: list[Roamer] = [*wanderers]
    roamers += [Onlooker(f"{seed}-watching-{number}", wanderers) for number in range(onlookers)]
    stop, done = asyncio.Event(), asyncio.Event()
    failures: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    try:
        async with asyncio.TaskGroup() as group:
            for roamer in roamers:
                group.create_task(roamer.roam(network.ws, stop, done))
            await asyncio.sleep(seconds)
            await until_true(lambda: network.happened.keys() >= {*TROUBLES, "twin"})
            network.heal()
            await network.settled()
            stop.set()
            for roamer in roamers:
                await roamer.ready.wait()
            async with Peer(Random(seed).choice(servers)) as peer:
                await _look(peer, roamers)
                done.set()
                await _audit(peer, wanderers, roamers)
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed
    hold(not failures, "what went wrong told nobody:", failures)
    notes = [notes for roamer in roamers for notes in roamer.notes]
    doings = [doings for wanderer in wanderers for doings in wanderer.doings.values()]
    return Summary(
        seed=seed,
        seconds=round(time.monotonic() - began, 1),
        troubles=dict(network.happened),
        connections=network.connections,
        clients=sum(roamer.clients for roamer in roamers),
        reconnects=sum(roamer.reconnects for roamer in roamers),
        doubts=sum(roamer.doubts for roamer in roamers),
        sessions=len(doings),
        answered=sum(len(each.answers) for each in doings),
        views=sum(len(each.views) for each in notes),
        events=sum(len(each.events) for each in notes),
        gaps=sum(each.session.gaps for each in notes),
        repairs=sum(each.session.repairs for each in notes),
    )


async def _look(peer: Peer, roamers: list[Roamer]) -> None:
    """Wait until all clients show what the server has."""
    for roamer in roamers:
        for notes in roamer.latest.values():
            try:
                await until(partial(_agrees, peer, notes))
            except TimeoutError:
                raise Violation(f"a view stays behind: {notes.session.data}") from None
            notes.look()


async def _agrees(peer: Peer, notes: Notes) -> bool:
    """Tell whether a client shows what the server has."""
    view = await peer.call("session.get", session=notes.session.id)
    return timeless(view) == timeless(notes.session.data)


async def _audit(peer: Peer, wanderers: list[Wanderer], roamers: list[Roamer]) -> None:
    """Hold all that was seen and answered against the record."""
    for wanderer in wanderers:
        for session, doings in wanderer.doings.items():
            truth = await Truth.read(peer, session)
            truth.hold_doings(doings)
            for roamer in roamers:
                for notes in roamer.notes:
                    if notes.session.id == session:
                        await truth.hold_notes(notes)


async def _run(options: argparse.Namespace) -> Summary:
    """Run the drill on servers of its own."""
    with embedded_stores() as stores:
        await asyncio.to_thread(migrate, stores.database_url)
        urls = {"DATABASE_URL": stores.database_url, "REDIS_URL": stores.redis_url}
        async with AsyncExitStack() as stack:
            servers = [
                (await stack.enter_async_context(served(**urls, PATIENCE_LOG_LEVEL="warning"))).ws
                for _ in range(2)
            ]
            places = [server_place(url) for url in servers]
            network = await stack.enter_async_context(chaos(places, options.seed))
            return await drill(
                network,
                servers,
                seconds=options.seconds,
                players=options.players,
                onlookers=options.onlookers,
                seed=options.seed,
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the drill and print what came of it."""
    parser = argparse.ArgumentParser(description="Play over a network that breaks in every way.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--players", type=int, default=12)
    parser.add_argument("--onlookers", type=int, default=6)
    parser.add_argument("--seed", default=secrets.token_hex(4))
    options = parser.parse_args(arguments)
    try:
        summary = asyncio.run(_run(options))
    except Violation as violation:
        print(json.dumps({"seed": options.seed, "violations": 1, "violation": str(violation)[:4_000]}))
        return 1
    print(json.dumps(asdict(summary), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
