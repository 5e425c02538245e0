"""Calls that have to wait for the store: too many of them, and those whose caller does not wait."""

import asyncio
import json
from contextlib import AsyncExitStack

import pytest

from server.config import Limits
from server.store.driver import DriverConnection
from tests.arena import Running, run
from tests.peer import Lost, outcome
from tests.server.store.conftest import connect_directly
from tests.server.test_metrics import numbers
from tests.waiting import until, until_blocked

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


async def held(server: Running) -> tuple[float, float]:
    """Return how many sessions are in memory, and how many events they have."""
    shown = await numbers(server)
    return shown["patience_live_sessions"], shown["patience_live_events"]


async def test_memory_is_bounded_by_events_too(database_url: str, redis_url: str) -> None:
    async with run(database_url, redis_url, Limits(cached_events=10)) as server, server.guest() as player:
        sessions = [(await player.deal("klondike"))["session"] for _ in range(4)]
        for session in sessions[:3]:
            await player.play(session, ["draw"] * 4)
        assert await held(server) == (2, 8), "those that were idle for the longest time are gone"
        await player.call("session.get", session=sessions[0])
        assert await held(server) == (2, 8)
        for session in sessions[:3]:
            await player.play(session, ["draw"], 4)
        assert await held(server) == (2, 10)
        assert await player.play(sessions[3], ["draw"] * 11) == 11
        assert await held(server) == (0, 0), "one alone may be too large"
        for session in sessions[:3]:
            assert (await player.call("session.get", session=session))["seq"] == 5


async def test_all_events_in_memory_are_counted(
    database_url: str, redis_url: str, lock: DriverConnection
) -> None:
    """Those made here and those read, those that were lost or refused, and those that were taken back."""
    async with AsyncExitStack() as stack:
        stack.push_async_callback(lock.close)
        here = await stack.enter_async_context(run(database_url, redis_url, Limits(store_timeout_ms=1_000)))
        there = await stack.enter_async_context(run(database_url, redis_url))
        player = await stack.enter_async_context(here.guest())
        other = await stack.enter_async_context(there.peer(player.token))
        sessions = [(await player.deal("klondike"))["session"] for _ in range(3)]
        await player.play(sessions[0], ["draw", "draw"])
        await player.call("session.undo", session=sessions[0], seq=2)
        assert await held(here) == (3, 3)
        await other.play(sessions[0], ["draw", "draw"], 3)
        assert await held(there) == (1, 5)
        assert await player.kind("session.move", session=sessions[0], move="t1-t1", seq=5) == "illegal_move"
        assert await held(here) == (3, 5)
        await other.play(sessions[0], ["draw"], 5)
        assert await player.kind("session.undo", session=sessions[0], seq=5) == "stale_seq"
        assert await held(here) == (3, 6)
        await lock.execute(LOCK)
        assert await player.kind("session.move", session=sessions[1], move="draw", seq=0) == "unavailable"
        await lock.execute("ROLLBACK")
        assert await held(here) == (2, 6)
        await player.call("session.resign", session=sessions[1])
        assert await held(here) == (3, 7)


async def test_what_somebody_is_busy_with_stays_in_memory(
    database_url: str, redis_url: str, lock: DriverConnection
) -> None:
    async with AsyncExitStack() as stack:
        stack.push_async_callback(lock.close)
        limits = Limits(cached_sessions=1, cached_events=1, store_timeout_ms=25_000)
        server = await stack.enter_async_context(run(database_url, redis_url, limits))
        player = await stack.enter_async_context(server.guest())
        sessions = [(await player.deal("klondike"))["session"] for _ in range(20)]
        await lock.execute(LOCK)
        calls = [
            await player.begin("session.move", session=session, move="draw", seq=0) for session in sessions
        ]

        async def all_busy() -> bool:
            return await held(server) == (20, 20)

        await until(all_busy)
        await lock.execute("COMMIT")
        assert [(await call)["seq"] for call in calls] == [1] * 20
        await player.deal("klondike")
        sessions_held, events_held = await held(server)
        assert sessions_held <= 1
        assert events_held <= 1
