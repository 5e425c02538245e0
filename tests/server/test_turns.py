"""Whose turn it is with a session that is dropped while others wait for it."""

# pyright: reportPrivateUsage=false

import asyncio

from server.turns import Place
from tests.arena import run


async def test_nobody_overtakes_those_who_wait_for_a_session_that_is_dropped(
    database_url: str, redis_url: str
) -> None:
    async with run(database_url, redis_url) as server, server.guest() as player:
        session = (await player.deal("klondike"))["session"]
        sessions = server.arena._live
        order: list[int] = []

        async def enter(number: int, place: Place) -> None:
            live = await sessions.enter(place)
            order.append(number)
            live.leave()

        live = sessions.idle(session)
        assert live is not None
        coming = [asyncio.create_task(enter(i, sessions.queue(session))) for i in range(3)]
        await asyncio.sleep(0)
        sessions.drop(live)
        # One round of the loop, in which a message may come.
        await asyncio.sleep(0)
        coming.append(asyncio.create_task(enter(3, sessions.queue(session))))
        await asyncio.wait(coming)
        assert order == [0, 1, 2, 3]
