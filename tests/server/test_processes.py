"""Several servers on the same stores, where what one does falls into the middle of what another does."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import cast
from uuid import UUID

import httpx
import pytest
import redis.asyncio
from sqlalchemy import make_url

from server.ids import parse_id
from server.store.driver import DriverConnection
from tests.arena import Address, run
from tests.contract import Json
from tests.peer import Peer, outcome
from tests.processes import served
from tests.proxy import Place, Proxy, postgres_place, proxy, redis_place
from tests.server.store.conftest import connect_directly
from tests.waiting import until, until_blocked

LOCK = "BEGIN; LOCK TABLE events IN SHARE ROW EXCLUSIVE MODE"


class Gate(Proxy):
    """A wire to a store that can hold back what the store answers."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._free = asyncio.Event()
        self._free.set()
        self.holds = asyncio.Event()
        """Whether an answer is being held back."""
        self.asked = 0
        """How often the store was asked for something."""

    def shut(self) -> None:
        """Hold back whatever is answered from now on."""
        self._free.clear()
        self.holds.clear()

    def open(self) -> None:
        """Let it all go."""
        self._free.set()

    async def _copy(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool
    ) -> None:
        while data := await reader.read(65_536):
            self.asked += not answers
            if answers and not self._free.is_set():
                self.holds.set()
                await self._free.wait()
            writer.write(data)
            await writer.drain()
        writer.transport.abort()


@asynccontextmanager
async def gated(database_url: str) -> AsyncGenerator[tuple[Gate, str]]:
    """Give a gate before a database, and the address that leads through it."""
    gate = Gate(postgres_place(database_url))
    await gate.start()
    try:
        url = make_url(database_url).set(host="127.0.0.1", port=gate.port, query={})
        yield gate, url.render_as_string(hide_password=False)
    finally:
        gate.open()
        await gate.close()


@pytest.fixture
async def look(database_url: str) -> AsyncIterator[DriverConnection]:
    """A connection of the test's own to the database."""
    connection = await connect_directly(database_url, command_timeout=30)
    yield connection
    await connection.close()


async def measured(server: Address, metric: str) -> float:
    """Read one number off a server's metrics."""
    async with httpx.AsyncClient(timeout=30) as http:
        lines = (await http.get(f"{server.http}/metrics")).text.splitlines()
    return float(dict(line.split(" ") for line in lines if not line.startswith("#"))[metric])


async def until_heard(server: Address, before: float) -> None:
    """Wait until a server has heard more hints than before."""

    async def heard() -> bool:
        return await measured(server, "patience_bus_heard_total") > before

    await until(heard)


async def subscribed_while_played_on(
    database_url: str, redis_url: str, since: int | None
) -> tuple[Json, list[Json]]:
    """Subscribe on one server while an event becomes durable by another, and another one follows.

    The subscriber's server has asked for the session's events and not got the answer yet when the event
    becomes durable, and when it hears of it.

    Returns:
        The answer to the subscription, and what was told afterwards.
    """
    async with AsyncExitStack() as stack:
        gate, url = await stack.enter_async_context(gated(database_url))
        here = await stack.enter_async_context(run(database_url, redis_url))
        there = await stack.enter_async_context(run(url, redis_url))
        player = await stack.enter_async_context(here.guest())
        watcher = await stack.enter_async_context(there.peer())
        session = (await player.deal("klondike", public=True))["session"]
        # With the session in memory its events are all that a subscription has to ask for at first.
        for _ in range(2):
            await watcher.call("session.get", session=session)
        before = await measured(there, "patience_bus_heard_total")
        gate.shut()
        subscribing = await watcher.begin("session.subscribe", session=session, since=since)
        async with asyncio.timeout(30):
            await gate.holds.wait()
        await player.play(session, ["draw"])
        await until_heard(there, before)
        gate.open()
        answer = await subscribing
        told = [await watcher.event()] if since is None or not answer["events"] else []
        await player.play(session, ["draw"], 1)
        while not told or told[-1]["seq"] < 2:
            told.append(await watcher.event())
        assert await watcher.quiet()
        return answer, told


async def test_an_event_that_becomes_durable_while_somebody_subscribes_is_told(
    database_url: str, redis_url: str
) -> None:
    answer, told = await subscribed_while_played_on(database_url, redis_url, None)
    assert answer["view"]["seq"] == 0
    assert [event["seq"] for event in told] == [1, 2]


async def test_an_event_that_becomes_durable_while_somebody_comes_back_is_told_once(
    database_url: str, redis_url: str
) -> None:
    answer, told = await subscribed_while_played_on(database_url, redis_url, 0)
    assert [event["seq"] for event in answer["events"] + told] == [1, 2]
    assert answer["more"] is False


async def test_a_burst_of_hints_is_looked_into_once(database_url: str, redis_url: str) -> None:
    """Else a server that is slow to read would have the more to read the slower it is."""
    async with AsyncExitStack() as stack:
        gate, url = await stack.enter_async_context(gated(database_url))
        here = await stack.enter_async_context(run(database_url, redis_url))
        there = await stack.enter_async_context(run(url, redis_url))
        player = await stack.enter_async_context(here.guest())
        watcher = await stack.enter_async_context(there.peer())
        session = (await player.deal("klondike", options={"passes": 0}, public=True))["session"]
        await watcher.call("session.subscribe", session=session)
        before, asked = await measured(there, "patience_bus_heard_total"), gate.asked
        gate.shut()
        for seq in range(40):
            await player.call("session.undo" if seq % 2 else "session.move", **change(session, seq))
        await until_heard(there, before + 39)
        gate.open()
        assert [event["seq"] for event in await watcher.events(40)] == list(range(1, 41))
        # That comes after all that the server had to do with the session.
        await watcher.call("session.get", session=session)
        assert gate.asked - asked < 10


def change(session: str, seq: int) -> Json:
    """Return the params of a draw, or of the undo of it."""
    return {"session": session, "seq": seq} | ({} if seq % 2 else {"move": "draw"})


async def test_whoever_subscribes_again_is_told_nothing_between_two_pages(
    database_url: str, redis_url: str
) -> None:
    """Live events begin after the last page, also for a connection that was subscribed before."""
    async with run(database_url, redis_url) as server, server.guest() as player, server.peer() as watcher:
        session = (await player.deal("klondike", options={"draw": 3, "passes": 0}, public=True))["session"]
        for start in range(0, 1_020, 60):
            calls = [
                await player.begin("session.undo" if seq % 2 else "session.move", **change(session, seq))
                for seq in range(start, start + 60)
            ]
            assert {await outcome(call) for call in calls} == {"done"}
        await watcher.call("session.subscribe", session=session)
        page = await watcher.call("session.subscribe", session=session, since=0)
        assert (len(page["events"]), page["more"]) == (1_000, True)
        await player.play(session, ["draw"], 1_020)
        assert await watcher.quiet()
        page = await watcher.call("session.subscribe", session=session, since=1_000)
        assert [event["seq"] for event in page["events"]] == list(range(1_001, 1_022))
        assert page["more"] is False
        await player.call("session.undo", session=session, seq=1_021)
        assert (await watcher.event())["seq"] == 1_022


async def test_what_a_server_could_not_tell_before_it_was_killed_is_found(
    database_url: str, redis_url: str
) -> None:
    """It was the session's last event, and nobody makes another one that would make the others look."""
    async with AsyncExitStack() as stack:
        wire = await stack.enter_async_context(proxy(redis_place(redis_url)))
        there = await stack.enter_async_context(run(database_url, redis_url))
        killed = await stack.enter_async_context(
            served(DATABASE_URL=database_url, REDIS_URL=f"redis://127.0.0.1:{wire.port}")
        )
        player = await stack.enter_async_context(Peer(killed.ws))
        watcher = await stack.enter_async_context(there.peer())
        await player.log_in()
        session = (await player.deal("klondike", public=True))["session"]
        await watcher.call("session.subscribe", session=session)
        await player.play(session, ["draw"])
        assert (await watcher.event())["seq"] == 1
        wire.cut()
        answer = await player.call("session.resign", session=session)
        await killed.kill()
        event = await watcher.event()
        assert {key: answer[key] for key in ("seq", "patch", "check")} == {
            key: event[key] for key in ("seq", "patch", "check")
        }
        assert await watcher.quiet()


async def test_a_server_that_stops_tells_what_it_has_not_told_yet(
    database_url: str, redis_url: str, look: DriverConnection
) -> None:
    """Redis is slow to take one hint, and another one waits, when everything else has been stopped."""
    async with AsyncExitStack() as stack:
        listener = await stack.enter_async_context(redis.asyncio.from_url(redis_url, socket_timeout=30))
        hints = listener.pubsub()  # pyright: ignore[reportUnknownMemberType]  redis-py leaves much open.
        await stack.enter_async_context(hints)
        await hints.psubscribe("*")  # pyright: ignore[reportUnknownMemberType]
        gate = Gate(redis_place(redis_url))
        await gate.start()
        stack.push_async_callback(gate.close)
        stopping = run(database_url, f"redis://127.0.0.1:{gate.port}")
        server = await stopping.__aenter__()
        player = await stack.enter_async_context(server.guest())
        sessions = [(await player.deal("klondike"))["session"] for _ in range(2)]
        gate.shut()
        await player.play(sessions[0], ["draw"])
        async with asyncio.timeout(30):
            await gate.holds.wait()
        await player.play(sessions[1], ["draw"])
        before = await connections(look)
        end = asyncio.create_task(stopping.__aexit__(None, None, None))

        async def journal_closed() -> bool:
            return await connections(look) < before

        await until(journal_closed)
        gate.open()
        await end
        last = parse_id(sessions[1])
        assert last is not None
        async with asyncio.timeout(30):
            while not named(last, await hints.get_message(timeout=30)):  # pyright: ignore[reportUnknownArgumentType]
                pass


def named(session: UUID, message: Mapping[str, object] | None) -> bool:
    """Tell whether a message over Redis is a hint at a session."""
    data = message["data"] if message else None
    return isinstance(data, bytes) and session.bytes in data


async def test_a_connection_that_is_made_while_the_server_stops_is_told(
    database_url: str, redis_url: str
) -> None:
    """It is being looked up for whom it acts while all the others are parted with."""
    async with gated(database_url) as (gate, url), run(url, redis_url) as server, server.guest() as player:
        gate.shut()
        late = server.peer(player.token)
        coming = asyncio.create_task(late.__aenter__())
        async with asyncio.timeout(30):
            await gate.holds.wait()
        await server.arena.drain()
        assert (await player.notified())["method"] == "server.closing"
        gate.open()
        await coming
        try:
            assert (await late.notified())["method"] == "server.closing"
            assert await late.until_closed() == 1012
        finally:
            await late.__aexit__(None, None, None)


async def connections(look: DriverConnection) -> int:
    """Count the connections to the database but this one."""
    others = "datname = current_database() AND pid != pg_backend_pid()"
    return cast("int", await look.fetchval(f"SELECT count(*) FROM pg_stat_activity WHERE {others}"))


async def test_a_race_on_two_servers_is_told_once_to_everybody(
    database_url: str, redis_url: str, look: DriverConnection
) -> None:
    """Both servers carry a session forward at once, each with subscribers, the players' own among them."""
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(run(database_url, redis_url)) for _ in range(3)]
        first = await stack.enter_async_context(servers[0].guest())
        hands = [first, await stack.enter_async_context(servers[1].peer(first.token))]
        watchers = [await stack.enter_async_context(server.peer()) for server in servers]
        session = (await first.deal("klondike", options={"passes": 0}, public=True))["session"]
        for peer in (*hands, *watchers):
            await peer.call("session.subscribe", session=session)
        seq = 0
        move, undo = {"move": "draw"}, dict[str, str]()
        for changes in ((move, move), (move, undo), (undo, move), (undo, undo)):
            # So that there is something to take back, and that both servers have seen it.
            await first.play(session, ["draw"], seq)
            seq += 1
            for peer in (hands[1], *watchers):
                assert (await peer.event())["seq"] == seq
            await look.execute(LOCK)
            calls = [
                await hand.begin(
                    f"session.{'move' if change else 'undo'}", session=session, seq=seq, **change
                )
                for hand, change in zip(hands, changes, strict=True)
            ]
            await until_blocked(look.fetchval, waiters=2)
            await look.execute("COMMIT")
            outcomes = [await outcome(call) for call in calls]
            seq += 1
            for watcher in watchers:
                assert (await watcher.event())["seq"] == seq
            second = "done" if changes[0] == changes[1] else "stale_seq"
            assert sorted(outcomes) == ["done", second]
            # Whoever did not carry it out is told of it, whatever was answered.
            told = [hand for hand in hands if not await hand.quiet()]
            assert len(told) == 1
            assert (await told[0].event())["seq"] == seq
        for peer in (*hands, *watchers):
            assert await peer.quiet()
