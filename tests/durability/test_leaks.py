"""Sessions that are made, played a little and left: of them nothing stays but what is in the store.

CI makes a few. `TEST_LEAK_SESSIONS=10000 pytest tests/durability/test_leaks.py` makes so many, twice.
"""

import asyncio
import gc
import os
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

import httpx
import pytest

from server.config import Limits
from server.rpc.connection import Connection
from server.timeline import Timeline
from server.turns import Live
from tests.arena import Running, run
from tests.durability.crowd import GAMES
from tests.peer import Peer, guest
from tests.waiting import until

SESSIONS: Final = int(os.environ.get("TEST_LEAK_SESSIONS", "80"))
"""How many sessions one wave makes."""
CACHED: Final = max(10, SESSIONS // 20)
"""How many the server may keep in memory; their events are bounded too, to twice as many."""
PLAYERS: Final = 8
"""How many play at the same time."""
EACH: Final = 10
"""How many sessions a player makes on one connection."""
KINDS: Final = (Connection, Live, Timeline)
STATUS: Final = Path("/proc/self/statm")
MORE: Final = 1.1
"""How much more there may be after a wave than after the one before."""


SLACK: Final = 1_000
"""Objects that come and go with what happens to be under way; of a small wave that is more than a tenth."""


class Levels(NamedTuple):
    """What there is when everybody has left."""

    tasks: int
    descriptors: int
    memory: int
    """Bytes that the process has in RAM, this test included."""
    objects: int
    """Objects that the collector knows of."""


async def visit(server: Running, way: int) -> None:
    """Make sessions, play and watch them, and leave in one of a few ways."""
    async with guest(server.ws) as player, Peer(server.ws) as watcher:
        sessions = [await played(player, watcher, GAMES[i % len(GAMES)]) for i in range(EACH)]
        if way == 0:
            for session in sessions:
                await watcher.call("session.unsubscribe", session=session)
        elif way == 1:
            await watcher.call("auth.use", token=player.token)
            await watcher.call("auth.logout")
        else:
            # In the middle of what was asked for, or of nothing.
            calls = [
                await peer.begin("session.subscribe", session=session, since=0)
                for session in sessions
                for peer in (player, watcher)
                if way == 2
            ]
            for peer in (player, watcher):
                peer.socket.transport.abort()
            await asyncio.gather(*calls, return_exceptions=True)


async def played(player: Peer, watcher: Peer, game: str) -> str:
    """Make a session that both subscribe to; make a move and take it back."""
    view = await player.deal(game, public=True)
    session, move = view["session"], view["legal"][0]
    for peer in (player, watcher):
        await peer.call("session.subscribe", session=session)
    await player.call("session.move", session=session, move=move, seq=0)
    await player.call("session.undo", session=session, seq=1)
    await watcher.events(2)
    return session


async def wave(server: Running, http: httpx.AsyncClient) -> Levels:
    """Let players come, one after another and some at the same time, until there are all sessions."""
    visits = iter(range(SESSIONS // EACH))

    async def come_and_go() -> None:
        for number in visits:
            await visit(server, number % 4)

    async with asyncio.TaskGroup() as together:
        for _ in range(PLAYERS):
            together.create_task(come_and_go())
    await until(lambda: nobody_is_left(http))
    return levels()


def levels() -> Levels:
    """Look what there is now."""
    gc.collect()
    memory = int(STATUS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    descriptors = len(os.listdir("/proc/self/fd"))
    return Levels(len(asyncio.all_tasks()), descriptors, memory, len(gc.get_objects()))


async def nobody_is_left(http: httpx.AsyncClient) -> bool:
    """Tell whether the server has done with all that was begun, and forgotten whom it was for."""
    lines = (await http.get("/metrics")).text.splitlines()
    shown = {name: float(number) for name, number in (line.split(" ") for line in lines if line[0] != "#")}
    if shown["patience_connections"] or shown["patience_subscriptions"]:
        return False
    assert shown["patience_live_sessions"] <= CACHED
    assert shown["patience_live_events"] <= 2 * CACHED
    # To look through all objects is dear, and connections are kept for as long as they have to close.
    await asyncio.sleep(0.2)
    gc.collect()
    kept = Counter(kind for thing in gc.get_objects() for kind in KINDS if isinstance(thing, kind))
    return kept[Connection] == 0 and kept[Live] == kept[Timeline] == shown["patience_live_sessions"]


@pytest.mark.skipif(not STATUS.exists(), reason="asks Linux how much memory there is")
@pytest.mark.timeout(60 + SESSIONS)
async def test_of_sessions_that_are_left_nothing_stays(database_url: str, redis_url: str) -> None:
    limits = Limits(cached_sessions=CACHED, cached_events=2 * CACHED, store_timeout_ms=60_000)
    # One client for all that is asked: each takes memory of its own, and gives little of it back.
    async with (
        run(database_url, redis_url, limits) as server,
        httpx.AsyncClient(base_url=server.http, timeout=30) as http,
    ):
        first, second = await wave(server, http), await wave(server, http)
        for before, after, name in zip(first, second, Levels._fields, strict=True):
            assert after <= before * MORE + (SLACK if name == "objects" else 0), (name, first, second)
        print(first, second)
