"""Several servers on one database and one Redis, and what they tell each other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import httpx
import pytest

from server.embedded import EmbeddedStores
from tests.arena import Address, run
from tests.contract import Json
from tests.peer import Peer, outcome
from tests.playthroughs import LOST, WON
from tests.proxy import proxy, redis_place
from tests.server.store.conftest import connect_directly
from tests.waiting import until, until_blocked


@pytest.fixture
async def three(database_url: str, redis_url: str) -> AsyncIterator[list[Address]]:
    """Three servers on the same stores."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(run(database_url, redis_url)) for _ in range(3)]


async def everywhere(stack: AsyncExitStack, servers: list[Address]) -> list[Peer]:
    """Connect one and the same new guest to each server."""
    first = await stack.enter_async_context(servers[0].guest())
    return [first] + [await stack.enter_async_context(server.peer(first.token)) for server in servers[1:]]


async def test_a_game_is_played_on_two_servers_and_watched_on_a_third(three: list[Address]) -> None:
    async with AsyncExitStack() as stack:
        one, two, _ = await everywhere(stack, three)
        watchers = [await stack.enter_async_context(server.peer()) for server in three]
        session = (await one.deal(**WON.deal, public=True))["session"]
        for peer in (*watchers, one, two):
            await peer.call("session.subscribe", session=session)
        answers: list[Json] = []
        for seq, move in enumerate(WON.line):
            peer = (one, two)[seq % 2]
            answers.append(await peer.call("session.move", session=session, move=move, seq=seq))
        for watcher in watchers:
            events = await watcher.events(len(WON.line))
            assert [(event["seq"], event["patch"]) for event in events] == [
                (answer["seq"], answer["patch"]) for answer in answers
            ]
        for peer, parity in ((one, 1), (two, 0)):
            assert [event["seq"] % 2 for event in await peer.events(len(WON.line) // 2)] == [1 - parity] * (
                len(WON.line) // 2
            )
        frames = {frame for watcher in watchers for frame in watcher.frames if '"session.event"' in frame}
        assert len(frames) == len(WON.line)


async def test_a_server_whose_memory_is_behind_judges_by_the_store(three: list[Address]) -> None:
    """Each call would be answered otherwise by what the first server has in memory."""
    async with AsyncExitStack() as stack:
        here, there, _ = await everywhere(stack, three)

        async def ahead() -> str:
            """Deal a session here, let it come to 2 there, and return it."""
            session = (await here.deal("klondike"))["session"]
            await here.kind("session.move", session=session, move="draw", seq=7)
            await there.play(session, ["draw", "draw"])
            return session

        stale = {"kind": "stale_seq", "seq": 2}
        assert await here.refused("session.move", session=await ahead(), move="redeal", seq=0) == stale
        assert await here.refused("session.move", session=await ahead(), move="?", seq=0) == stale
        assert await here.refused("session.undo", session=await ahead(), seq=0) == stale
        assert (await here.call("session.move", session=await ahead(), move="draw", seq=0))["seq"] == 1
        assert (await here.call("session.move", session=await ahead(), move="draw", seq=1))["seq"] == 2
        assert (await here.call("session.move", session=await ahead(), move="draw", seq=2))["seq"] == 3
        assert (await here.call("session.undo", session=await ahead(), seq=2))["seq"] == 3
        assert (await here.call("session.resign", session=await ahead()))["seq"] == 3
        assert (await here.call("session.get", session=await ahead()))["seq"] == 2
        session = await ahead()
        over = await there.call("session.resign", session=session)
        assert await here.call("session.resign", session=session) == over
        session = await ahead()
        await there.call("session.resign", session=session)
        for seq in (0, 2, 3):
            refused = await here.refused("session.move", session=session, move="t1-t1", seq=seq)
            assert refused == {"kind": "session_over", "status": "resigned"}


async def test_of_two_servers_that_write_the_same_number_one_is_first_and_the_other_judges_afresh(
    three: list[Address], database_url: str
) -> None:
    """Both wait for the table, and get it at once."""
    async with AsyncExitStack() as stack:
        one, two, _ = await everywhere(stack, three)
        watcher = await stack.enter_async_context(three[2].peer())
        session = (await one.deal("klondike", public=True))["session"]
        await watcher.call("session.subscribe", session=session)
        await one.play(session, ["draw"])
        assert (await watcher.event())["seq"] == 1
        await two.call("session.get", session=session)
        lock = await connect_directly(database_url, command_timeout=30)
        stack.push_async_callback(lock.close)
        seq = 1
        for first, second in (
            ({"move": "draw"}, {}),
            ({}, {"move": "draw"}),
            ({"move": "draw"}, {"move": "draw"}),
        ):
            await lock.execute("BEGIN; LOCK TABLE events IN SHARE ROW EXCLUSIVE MODE")
            calls = [
                await peer.begin(f"session.{'move' if move else 'undo'}", session=session, seq=seq, **move)
                for peer, move in ((one, first), (two, second))
            ]
            await until_blocked(lock.fetchval, waiters=2)
            await lock.execute("COMMIT")
            kinds = sorted([await outcome(call) for call in calls])
            if first == second:
                assert kinds == ["done", "done"]
                assert calls[0].result() == calls[1].result()
            else:
                assert kinds == ["done", "stale_seq"]
            seq += 1
            assert (await watcher.event())["seq"] == seq
            views = [await peer.call("session.get", session=session, seq=seq) for peer in (one, two)]
            assert views[0] == views[1]


async def test_bursts_from_two_servers_leave_one_history(three: list[Address]) -> None:
    async with AsyncExitStack() as stack:
        one, two, _ = await everywhere(stack, three)
        watcher = await stack.enter_async_context(three[2].peer())
        session = (await one.deal("klondike", options={"draw": 3, "passes": 0}, public=True))["session"]
        await watcher.call("session.subscribe", session=session)
        seq = 0
        while seq < 40:
            calls = [
                await peer.begin(method, session=session, seq=seq + ahead, **params)
                for ahead in range(4)
                for peer, method, params in (
                    (one, "session.move", {"move": "draw"}),
                    (two, "session.undo", {}),
                    (two, "session.move", {"move": "redeal"}),
                )
            ]
            kinds = [await outcome(call) for call in calls]
            assert set(kinds) <= {"done", "stale_seq", "illegal_move", "conflict"}
            seq += kinds.count("done")
            assert (await two.call("session.get", session=session))["seq"] == seq
        assert [event["seq"] for event in await watcher.events(seq)] == list(range(1, seq + 1))
        await two.call("session.resign", session=session)
        record = await one.call("session.record", session=session)
        assert (await one.call("record.verify", record=record))["valid"]


async def readiness(server: Address) -> Json:
    """Ask a server how its stores are."""
    async with httpx.AsyncClient(timeout=30) as http:
        response = await http.get(f"{server.http}/readyz")
    assert response.status_code == 200
    return response.json()


async def test_play_goes_on_without_redis_and_whoever_missed_something_gets_it(
    own_stores: EmbeddedStores,
) -> None:
    stores = own_stores.database_url, own_stores.redis_url
    async with AsyncExitStack() as stack:
        three: list[Address] = [await stack.enter_async_context(run(*stores)) for _ in range(3)]
        one, two, _ = await everywhere(stack, three)
        near = await stack.enter_async_context(three[0].peer())
        far = await stack.enter_async_context(three[2].peer())
        session = (await one.deal(**LOST.deal, public=True))["session"]
        for watcher in (near, far):
            await watcher.call("session.subscribe", session=session)
        await one.play(session, LOST.line[:2])
        assert [event["seq"] for event in await far.events(2)] == [1, 2]
        await asyncio.to_thread(own_stores.valkey.stop)
        assert await readiness(three[0]) == {"status": "degraded", "database": True, "redis": False}
        await one.play(session, LOST.line[2:3], 2)
        assert [event["seq"] for event in await near.events(3)] == [1, 2, 3]
        await two.play(session, LOST.line[3:4], 3)
        await one.play(session, LOST.line[4:], 4)
        seq = len(LOST.line)
        assert [event["seq"] for event in await near.events(seq - 3)] == list(range(4, seq + 1))
        await asyncio.to_thread(own_stores.valkey.start)
        assert [event["seq"] for event in await far.events(seq - 2)] == list(range(3, seq + 1))
        assert (await readiness(three[0]))["status"] == "ready"
        await two.call("session.undo", session=session, seq=seq)
        assert (await far.event())["seq"] == (await near.event())["seq"] == seq + 1


async def test_a_server_that_was_cut_off_from_redis_tells_what_happened_meanwhile(
    database_url: str, redis_url: str
) -> None:
    """The others were connected all the time and have no reason of their own to look."""
    async with AsyncExitStack() as stack:
        wire = await stack.enter_async_context(proxy(redis_place(redis_url)))
        here = await stack.enter_async_context(run(database_url, f"redis://127.0.0.1:{wire.port}"))
        there = await stack.enter_async_context(run(database_url, redis_url))
        player = await stack.enter_async_context(here.guest())
        watcher = await stack.enter_async_context(there.peer())
        session = (await player.deal("klondike", public=True))["session"]
        await watcher.call("session.subscribe", session=session)
        await player.play(session, ["draw"])
        assert (await watcher.event())["seq"] == 1
        wire.cut()
        await player.play(session, ["draw"], 1)
        await until(lambda: failures(here))
        wire.mend()
        assert (await watcher.event())["seq"] == 2


async def test_a_connection_to_redis_that_has_fallen_silent_is_replaced(
    database_url: str, redis_url: str
) -> None:
    """As when the other machine has gone without a word: nothing ever says that the connection is lost."""
    async with AsyncExitStack() as stack:
        wire = await stack.enter_async_context(proxy(redis_place(redis_url)))
        here = await stack.enter_async_context(run(database_url, f"redis://127.0.0.1:{wire.port}"))
        there = await stack.enter_async_context(run(database_url, redis_url))
        player = await stack.enter_async_context(there.guest())
        watcher = await stack.enter_async_context(here.peer())
        session = (await player.deal("klondike", public=True))["session"]
        await watcher.call("session.subscribe", session=session)
        await player.play(session, ["draw"])
        assert (await watcher.event())["seq"] == 1
        wire.deafen()
        await player.play(session, ["draw"], 1)
        assert (await watcher.event())["seq"] == 2


async def failures(server: Address) -> float:
    """Read how often a server could not tell the others something."""
    async with httpx.AsyncClient(timeout=30) as http:
        lines = (await http.get(f"{server.http}/metrics")).text.splitlines()
    return float(
        dict(line.split(" ") for line in lines if not line.startswith("#"))["patience_bus_failures_total"]
    )
