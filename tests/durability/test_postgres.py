"""PostgreSQL goes and comes back while people play."""

import asyncio
from contextlib import AsyncExitStack

import httpx

from server.config import Limits
from server.embedded import EmbeddedStores
from tests.arena import Address, run
from tests.durability.audit import audit
from tests.durability.crowd import Player, Spectator, gather
from tests.waiting import until_true


async def ready(server: Address) -> int:
    """Ask whether the server can be played on, and return the HTTP status."""
    async with httpx.AsyncClient(timeout=30) as http:
        return (await http.get(f"{server.http}/readyz")).status_code


async def play_on(players: list[Player], answers: int) -> None:
    """Wait until every player has so many more answers."""
    aims = [player.answered + answers for player in players]
    await until_true(lambda: all(player.answered >= aim for player, aim in zip(players, aims, strict=True)))


async def stand_still(players: list[Player]) -> None:
    """Wait until every player has been told once more that a store is away."""
    before = [player.unavailable for player in players]
    await until_true(lambda: all(player.unavailable > n for player, n in zip(players, before, strict=True)))


async def test_play_stands_still_without_postgres_and_goes_on_with_it(own_stores: EmbeddedStores) -> None:
    limits = Limits(store_timeout_ms=1_000)
    async with AsyncExitStack() as stack:
        stores = own_stores.database_url, own_stores.redis_url
        server = await stack.enter_async_context(run(*stores, limits))
        players = [Player(f"postgres-{number}") for number in range(12)]
        spectator = Spectator()
        stop = asyncio.Event()
        playing = asyncio.create_task(
            gather(
                *(player.play(server.ws, stop) for player in players),
                spectator.watch(server.ws, players, stop),
            )
        )
        await play_on(players, 5)
        for _ in range(2):
            await asyncio.to_thread(own_stores.postgres.stop)
            await stand_still(players)
            assert await ready(server) == 503
            await asyncio.to_thread(own_stores.postgres.start)
            await play_on(players, 5)
        stop.set()
        await playing
        assert await ready(server) == 200
        async with server.peer() as peer:
            for player in players:
                assert await audit(peer, player, spectator) == len(player.attempts)
        assert spectator.told > 0


async def test_every_method_that_needs_a_store_says_that_it_is_away(own_stores: EmbeddedStores) -> None:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(run(own_stores.database_url, own_stores.redis_url))
        player = await stack.enter_async_context(server.guest())
        session = (await player.deal("klondike", request_id="one"))["session"]
        other = "0" * 26
        await asyncio.to_thread(own_stores.postgres.stop)
        for method, params in (
            ("auth.guest", {}),
            ("auth.use", {"token": player.token}),
            ("session.create", {"game": "klondike", "request_id": "two"}),
            ("session.get", {"session": session}),
            ("session.get", {"session": other}),
            ("session.list", {}),
            ("session.move", {"session": session, "move": "draw", "seq": 0}),
            ("session.move", {"session": other, "move": "draw", "seq": 0}),
            ("session.undo", {"session": session, "seq": 1}),
            ("session.resign", {"session": session}),
            ("session.subscribe", {"session": session}),
            ("session.record", {"session": session}),
            ("auth.logout", {}),
        ):
            assert await player.refused(method, **params) == {"kind": "unavailable"}, method
        answer = await server.post("session.list", player.token)
        assert answer["error"]["data"] == {"kind": "unavailable"}
        assert await player.call("games.list")
        assert (await player.call("server.info"))["protocol"] == 1
        assert (await server.post("server.info"))["result"]["protocol"] == 1
        await asyncio.to_thread(own_stores.postgres.start)
        assert (await player.call("session.get", session=session))["seq"] == 0
        assert len((await player.call("session.list"))["sessions"]) == 1
        assert (await player.deal("klondike", request_id="two"))["seq"] == 0
        assert (await player.call("session.move", session=session, move="draw", seq=0))["seq"] == 1
