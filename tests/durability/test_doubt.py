"""Moves of which the server cannot know whether they are durable, and those who wait to be told of them."""

from contextlib import AsyncExitStack

from sqlalchemy import make_url

from tests.arena import run
from tests.peer import outcome
from tests.proxy import Proxy, postgres_place, proxy
from tests.server.store.conftest import connect_directly
from tests.waiting import until


def through(wire: Proxy, database_url: str) -> str:
    """Return the address of a database behind a proxy."""
    url = make_url(database_url).set(host="127.0.0.1", port=wire.port, query={})
    return url.render_as_string(hide_password=False)


async def test_subscribers_are_told_of_a_move_whose_answer_was_lost(
    database_url: str, redis_url: str
) -> None:
    """It was the last one, so nothing later would make anybody look."""
    async with AsyncExitStack() as stack:
        wire = await stack.enter_async_context(proxy(postgres_place(database_url)))
        here = await stack.enter_async_context(run(through(wire, database_url), redis_url))
        there = await stack.enter_async_context(run(database_url, redis_url))
        player = await stack.enter_async_context(here.guest())
        near = await stack.enter_async_context(here.peer())
        far = await stack.enter_async_context(there.peer())
        look = await connect_directly(database_url, command_timeout=30)
        stack.push_async_callback(look.close)
        session = (await player.deal("klondike", public=True))["session"]
        for watcher in (near, far):
            await watcher.call("session.subscribe", session=session)
        await player.play(session, ["draw"])
        assert (await near.event())["seq"] == (await far.event())["seq"] == 1
        wire.deafen()
        call = await player.begin("session.move", session=session, move="draw", seq=1)

        async def durable() -> bool:
            return await look.fetchval("SELECT count(*) FROM events") == 2

        await until(durable, seconds=4)
        wire.cut()
        assert await outcome(call) == "unavailable"
        assert await near.quiet()
        wire.mend()
        told = [await watcher.event() for watcher in (near, far)]
        assert told[0] == told[1]
        answer = await player.call("session.move", session=session, move="draw", seq=1)
        assert {key: told[0][key] for key in ("seq", "patch", "check")} == {
            key: answer[key] for key in ("seq", "patch", "check")
        }
        assert await player.call("session.move", session=session, move="draw", seq=2)
        assert (await near.event())["seq"] == (await far.event())["seq"] == 3


async def test_what_another_server_did_while_the_store_was_out_of_reach_is_told_later(
    database_url: str, redis_url: str
) -> None:
    async with AsyncExitStack() as stack:
        wire = await stack.enter_async_context(proxy(postgres_place(database_url)))
        here = await stack.enter_async_context(run(through(wire, database_url), redis_url))
        there = await stack.enter_async_context(run(database_url, redis_url))
        player = await stack.enter_async_context(there.guest())
        watcher = await stack.enter_async_context(here.peer())
        session = (await player.deal("klondike", public=True))["session"]
        await watcher.call("session.subscribe", session=session)
        wire.cut()
        await player.play(session, ["draw"])
        assert await watcher.kind("session.get", session=session) == "unavailable"
        assert await watcher.quiet()
        wire.mend()
        assert (await watcher.event())["seq"] == 1
