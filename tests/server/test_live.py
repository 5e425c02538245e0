"""Calls that have to wait for the store: too many of them, and those whose caller does not wait."""

import asyncio
import json
from contextlib import AsyncExitStack

import pytest

from server.config import Limits
from server.store.driver import DriverConnection
from tests.arena import run
from tests.peer import Lost, outcome
from tests.server.store.conftest import connect_directly
from tests.waiting import until_blocked

LOCK = "BEGIN; LOCK TABLE events IN SHARE ROW EXCLUSIVE MODE"


@pytest.fixture
async def lock(database_url: str) -> DriverConnection:
    """A connection on which a test locks the table of events, so that nothing becomes durable."""
    return await connect_directly(database_url, command_timeout=30)


async def test_what_the_journal_has_no_room_for_is_unavailable_at_once(
    database_url: str, redis_url: str, lock: DriverConnection
) -> None:
    async with AsyncExitStack() as stack:
        stack.push_async_callback(lock.close)
        server = await stack.enter_async_context(run(database_url, redis_url, Limits(journal_waiting=2)))
        player = await stack.enter_async_context(server.guest())
        sessions = [(await player.deal("klondike"))["session"] for _ in range(5)]
        await lock.execute(LOCK)
        calls = [await player.begin("session.move", session=sessions[0], move="draw", seq=0)]
        await until_blocked(lock.fetchval)
        calls += [
            await player.begin("session.move", session=session, move="draw", seq=0)
            for session in sessions[1:]
        ]
        assert [await outcome(call) for call in calls[3:]] == ["unavailable", "unavailable"]
        assert not any(call.done() for call in calls[:3])
        await lock.execute("COMMIT")
        assert [await outcome(call) for call in calls[:3]] == ["done", "done", "done"]
        for session in sessions:
            again = await player.call("session.move", session=session, move="draw", seq=0)
            assert again["seq"] == 1


async def test_a_move_whose_caller_is_gone_is_made_and_told(
    database_url: str, redis_url: str, lock: DriverConnection
) -> None:
    async with AsyncExitStack() as stack:
        stack.push_async_callback(lock.close)
        server = await stack.enter_async_context(run(database_url, redis_url))
        player = await stack.enter_async_context(server.guest())
        watcher = await stack.enter_async_context(server.peer())
        session = (await player.deal("klondike", public=True))["session"]
        await watcher.call("session.subscribe", session=session)
        await lock.execute(LOCK)
        moving = await player.begin("session.move", session=session, move="draw", seq=0)
        waiting = await player.begin("session.move", session=session, move="draw", seq=1)
        await until_blocked(lock.fetchval)
        player.socket.transport.abort()
        for call in (moving, waiting):
            with pytest.raises(Lost):
                await call
        await lock.execute("COMMIT")
        assert [event["seq"] for event in await watcher.events(2)] == [1, 2]
        async with server.peer(player.token) as again:
            assert (await again.call("session.move", session=session, move="draw", seq=1))["seq"] == 2


async def test_nothing_is_shown_before_it_is_durable(
    database_url: str, redis_url: str, lock: DriverConnection
) -> None:
    """Whoever reads the session meanwhile waits for the outcome."""
    async with AsyncExitStack() as stack:
        stack.push_async_callback(lock.close)
        here = await stack.enter_async_context(run(database_url, redis_url))
        there = await stack.enter_async_context(run(database_url, redis_url))
        player = await stack.enter_async_context(here.guest())
        other = await stack.enter_async_context(there.peer(player.token))
        watcher = await stack.enter_async_context(here.peer())
        session = (await player.deal("klondike", public=True))["session"]
        await watcher.call("session.subscribe", session=session)
        await lock.execute(LOCK)
        moving = await player.begin("session.move", session=session, move="draw", seq=0)
        await until_blocked(lock.fetchval)
        reading = await watcher.begin("session.get", session=session)
        assert (await other.call("session.get", session=session))["seq"] == 0
        assert await watcher.quiet()
        assert not moving.done()
        assert not reading.done()
        await lock.execute("COMMIT")
        assert (await moving)["seq"] == 1
        assert (await reading)["seq"] == 1
        assert (await other.call("session.get", session=session))["seq"] == 1


async def test_calls_of_one_connection_for_one_session_are_judged_in_order(
    database_url: str, redis_url: str
) -> None:
    """Also where the session has to be read first, and others' calls come in between."""
    async with run(database_url, redis_url, Limits(cached_sessions=1)) as server, server.guest() as player:
        sessions = [(await player.deal("klondike"))["session"] for _ in range(8)]
        calls = [
            await player.begin(method, session=session, **params)
            for method, params in (
                ("session.move", {"move": "draw", "seq": 0}),
                ("session.get", {}),
                ("session.undo", {"seq": 1}),
                ("session.get", {}),
                ("session.resign", {}),
                ("session.record", {}),
            )
            for session in sessions
        ]
        answers = await asyncio.gather(*calls)
        seqs = [answer["seq"] if "seq" in answer else len(answer["events"]) for answer in answers]
        assert seqs == [1] * 8 + [1] * 8 + [2] * 8 + [2] * 8 + [3] * 8 + [3] * 8
        order = [json.loads(frame)["id"] for frame in player.frames]
        for i in range(8):
            mine = [ident for ident in order if ident > 10 and (ident - 11) % 8 == i]
            assert mine == sorted(mine)
