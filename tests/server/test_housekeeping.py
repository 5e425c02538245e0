"""Sessions that nobody plays any more: they expire by an event like any other, once, and by nothing else."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from sqlalchemy import make_url

from server.config import Limits
from server.housekeeping import BATCH, CLAIM
from server.ids import parse_id
from server.store.driver import DriverConnection
from server.store.errors import StoreUnavailable
from tests.arena import Running, run
from tests.contract import Json
from tests.peer import Peer, outcome
from tests.playthroughs import LOST, WON
from tests.proxy import postgres_place, proxy
from tests.server.store.conftest import connect_directly
from tests.server.test_metrics import numbers
from tests.server.test_reading import HandClock
from tests.waiting import until_blocked

IDLE = 1_000
CLAIM_MS = round(CLAIM.total_seconds() * 1000)
LOCK = "BEGIN; LOCK TABLE events IN SHARE ROW EXCLUSIVE MODE"


@asynccontextmanager
async def looked_after_by_hand(
    database_url: str, redis_url: str, clock: HandClock, **limits: int
) -> AsyncGenerator[Running]:
    """Run a server that looks for idle sessions only when it is told to."""
    async with run(database_url, redis_url, Limits(idle_ms=IDLE, **limits), clock) as running:
        await running.arena.housekeeping.close()
        yield running


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def here(database_url: str, redis_url: str, clock: HandClock) -> AsyncIterator[Running]:
    async with looked_after_by_hand(database_url, redis_url, clock) as running:
        yield running


@pytest.fixture
async def there(database_url: str, redis_url: str, clock: HandClock) -> AsyncIterator[Running]:
    """Another process on the same stores."""
    async with looked_after_by_hand(database_url, redis_url, clock) as running:
        yield running


@pytest.fixture
async def ada(here: Running) -> AsyncIterator[Peer]:
    async with here.guest() as peer:
        yield peer


@pytest.fixture
async def lock(database_url: str) -> AsyncIterator[DriverConnection]:
    """A connection on which a test locks the table of events, so that nothing becomes durable."""
    connection = await connect_directly(database_url, command_timeout=30)
    yield connection
    await connection.close()


async def expired(server: Running) -> int:
    """Let a process look for idle sessions, and return how many it ended."""
    before = server.arena.housekeeping.expired
    await server.arena.housekeeping.look()
    return server.arena.housekeeping.expired - before


async def kinds(peer: Peer, session: str) -> list[str]:
    """Return the kinds of a session's events."""
    return [event["kind"] for event in (await peer.call("session.record", session=session))["events"]]


async def test_a_session_expires_for_all_to_see(
    here: Running, there: Running, ada: Peer, clock: HandClock
) -> None:
    session = (await ada.deal("klondike", public=True))["session"]
    await ada.call("session.subscribe", session=session)
    async with here.peer() as near, there.peer() as far:
        for watcher in (near, far):
            await watcher.call("session.subscribe", session=session)
        first = await ada.call("session.move", session=session, move="draw", seq=0)
        clock.set(500)
        second = await ada.call("session.move", session=session, move="draw", seq=1)
        clock.set(500 + IDLE)
        assert await expired(here) == 1
        await near.events(2)
        await far.events(2)
        told = [await peer.event() for peer in (ada, near, far)]
    assert told[0] == told[1] == told[2]
    event: Json = told[0]
    assert (event["seq"], event["kind"], event["move"]) == (3, "expire", None)
    assert (event["at"], event["elapsed_ms"]) == ("2026-11-30T09:00:01.500Z", 500 + IDLE)
    changed = {operation["path"]: operation["value"] for operation in event["patch"]}
    assert changed["/status"] == "expired"
    assert changed["/legal"] == []
    clock.set(9_000)
    async with there.peer(ada.token) as later:
        view = await later.call("session.get", session=session)
        assert changed["/seed"] == view["seed"] is not None
        assert (view["status"], view["elapsed_ms"], view["seq"]) == ("expired", 500 + IDLE, 3)
        for peer in (ada, later):
            assert await peer.call("session.move", session=session, move="draw", seq=0) == first
            assert await peer.call("session.move", session=session, move="draw", seq=1) == second
            for call in ({"session.move": {"move": "draw", "seq": 3}}, {"session.undo": {"seq": 3}}):
                [(method, params)] = call.items()
                refusal = await peer.refused(method, session=session, **params)
                assert refusal == {"kind": "session_over", "status": "expired"}
            assert await peer.kind("session.resign", session=session) == "session_over"
        [line] = (await later.call("session.list", status="expired"))["sessions"]
        assert (line["score"], line["moves"], line["elapsed_ms"]) == (view["score"], 2, 500 + IDLE)
        assert line["ended_at"] == event["at"]
        record = await later.call("session.record", session=session)
        assert (await later.call("record.verify", record=record))["valid"]
    assert await expired(here) == await expired(there) == 0


async def test_a_session_is_idle_from_its_last_event_on(
    here: Running, there: Running, ada: Peer, clock: HandClock
) -> None:
    moved = (await ada.deal("klondike"))["session"]
    dealt = (await ada.deal("klondike"))["session"]
    clock.set(600)
    await ada.play(moved, ["draw"])
    clock.set(IDLE - 1)
    assert await expired(there) == 0
    clock.set(IDLE)
    assert await expired(there) == 1
    assert await kinds(ada, dealt) == ["expire"]
    clock.set(600 + IDLE - 1)
    assert await expired(there) == 0
    assert await kinds(ada, moved) == ["move"]
    clock.set(600 + IDLE)
    assert await expired(here) == 1
    assert await kinds(ada, moved) == ["move", "expire"]


async def test_as_long_as_nobody_has_looked_a_session_goes_on(
    here: Running, ada: Peer, clock: HandClock
) -> None:
    session = (await ada.deal("klondike"))["session"]
    clock.set(50 * IDLE)
    assert await ada.play(session, ["draw"]) == 1
    assert await expired(here) == 0
    clock.set(51 * IDLE)
    assert await expired(here) == 1


async def test_what_has_ended_stays_as_it_is(here: Running, ada: Peer, clock: HandClock) -> None:
    ended = [(await ada.deal(**line.deal))["session"] for line in (WON, LOST, LOST)]
    for session, line in zip(ended, (WON, LOST, LOST), strict=True):
        await ada.play(session, line.line)
    resigned = (await ada.deal("plot"))["session"]
    await ada.call("session.resign", session=resigned)
    clock.set(50 * IDLE)
    assert await expired(here) == 0
    # A lost one may be taken up again for ever, and then goes on like any other.
    await ada.call("session.undo", session=ended[2], seq=len(LOST.line))
    assert await expired(here) == 0
    clock.set(51 * IDLE)
    assert await expired(here) == 1
    assert (await kinds(ada, ended[2]))[-2:] == ["undo", "expire"]
    assert (await ada.call("session.get", session=ended[1]))["status"] == "lost"


async def test_only_casual_sessions_expire(
    here: Running, ada: Peer, clock: HandClock, lock: DriverConnection
) -> None:
    session = (await ada.deal("klondike"))["session"]
    await lock.execute("UPDATE sessions SET mode = 'daily' WHERE id = $1", parse_id(session))
    clock.set(50 * IDLE)
    assert await expired(here) == 0


async def test_a_move_that_comes_first_keeps_the_session(
    here: Running, ada: Peer, clock: HandClock, lock: DriverConnection
) -> None:
    session = (await ada.deal("klondike"))["session"]
    clock.set(IDLE)
    await lock.execute(LOCK)
    moving = await ada.begin("session.move", session=session, move="draw", seq=0)
    await until_blocked(lock.fetchval)
    looking = asyncio.create_task(expired(here))
    await asyncio.wait((looking,), timeout=0)
    await lock.execute("COMMIT")
    assert await looking == 0
    assert (await moving)["seq"] == 1
    assert await kinds(ada, session) == ["move"]


async def test_a_move_that_comes_second_finds_the_session_expired(
    here: Running, ada: Peer, clock: HandClock, lock: DriverConnection
) -> None:
    session = (await ada.deal("klondike"))["session"]
    clock.set(IDLE)
    await lock.execute(LOCK)
    looking = asyncio.create_task(expired(here))
    await until_blocked(lock.fetchval)
    moving = await ada.begin("session.move", session=session, move="draw", seq=0)
    await lock.execute("COMMIT")
    assert await looking == 1
    assert await outcome(moving) == "session_over"
    assert await kinds(ada, session) == ["expire"]


async def test_of_a_move_and_an_expiry_on_two_processes_one_happens(
    here: Running, there: Running, ada: Peer, clock: HandClock, lock: DriverConnection
) -> None:
    session = (await ada.deal("klondike"))["session"]
    clock.set(IDLE)
    await lock.execute(LOCK)
    moving = await ada.begin("session.move", session=session, move="draw", seq=0)
    await until_blocked(lock.fetchval)
    looking = asyncio.create_task(expired(there))
    await until_blocked(lock.fetchval, 2)
    # Both are let in at once, and the primary key decides.
    await lock.execute("COMMIT")
    happened = (await looking, await outcome(moving), await kinds(ada, session))
    assert happened in ((0, "done", ["move"]), (1, "session_over", ["expire"]))


async def test_many_that_look_at_once_end_each_session_once(
    here: Running, there: Running, ada: Peer, clock: HandClock
) -> None:
    sessions = [(await ada.deal("stalactites"))["session"] for _ in range(2 * BATCH + 3)]
    clock.set(IDLE)
    keepers = [server.arena.housekeeping for server in (here, there)]
    more = await asyncio.gather(*(keeper.look() for keeper in keepers))
    assert more == [True, True]
    await asyncio.gather(*(keeper.look() for keeper in keepers))
    assert sum(keeper.expired for keeper in keepers) == len(sessions)
    assert min(keeper.expired for keeper in keepers) >= BATCH
    for session in sessions:
        assert await kinds(ada, session) == ["expire"]
    shown = await numbers(here)
    assert shown["patience_sessions_expired_total"] == keepers[0].expired


async def test_what_has_expired_takes_no_memory(here: Running, ada: Peer, clock: HandClock) -> None:
    for _ in range(3):
        await ada.deal("klondike")
    assert (await numbers(here))["patience_live_sessions"] == 3
    clock.set(IDLE)
    assert await expired(here) == 3
    shown = await numbers(here)
    assert (shown["patience_live_sessions"], shown["patience_live_events"]) == (0, 0)


async def test_what_could_not_be_written_expires_later(
    database_url: str, redis_url: str, clock: HandClock
) -> None:
    async with AsyncExitStack() as stack:
        wire = await stack.enter_async_context(proxy(postgres_place(database_url)))
        address = make_url(database_url).set(host="127.0.0.1", port=wire.port, query={})
        server = await stack.enter_async_context(
            looked_after_by_hand(
                address.render_as_string(hide_password=False), redis_url, clock, store_timeout_ms=1_000
            )
        )
        ada = await stack.enter_async_context(server.guest())
        lock = await connect_directly(database_url, command_timeout=30)
        stack.push_async_callback(lock.close)
        sessions = [(await ada.deal("klondike"))["session"] for _ in range(3)]
        clock.set(IDLE)
        await lock.execute(LOCK)
        with pytest.raises(StoreUnavailable):
            await server.arena.housekeeping.look()
        await lock.execute("ROLLBACK")
        assert await expired(server) == 0, "they are claimed still"
        wire.cut()
        with pytest.raises(StoreUnavailable):
            await server.arena.housekeeping.look()
        wire.mend()
        clock.set(IDLE + CLAIM_MS)
        assert await expired(server) == 3
        for session in sessions:
            assert await kinds(ada, session) == ["expire"]


async def test_it_happens_by_itself(database_url: str, redis_url: str) -> None:
    async with run(database_url, redis_url, Limits(idle_ms=1)) as server, server.guest() as ada:
        session = (await ada.deal("klondike"))["session"]
        missed = await ada.call("session.subscribe", session=session, since=0)
        [event] = missed["events"] or await ada.events(1)
        assert event["kind"] == "expire"
