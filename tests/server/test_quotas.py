"""What is counted over all processes, in Redis and without it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest
import redis.asyncio

from server.config import Limits
from server.ids import id_text, new_id
from server.quotas import Quotas
from server.rpc.errors import RateLimited
from tests.arena import run
from tests.proxy import Proxy, proxy, redis_place
from tests.waiting import until

HOUR_MS: Final = 3_600_000
HERE, THERE = "192.0.2.1", "192.0.2.2"
FEW: Final = Limits(
    guests_hourly=1,
    guests_burst=3,
    sessions_hourly=1,
    sessions_burst=3,
    address_sessions_hourly=1,
    address_sessions_burst=5,
)


@pytest.fixture
async def two(redis_url: str) -> AsyncIterator[list[Quotas]]:
    """What two processes count on one Redis."""
    async with AsyncExitStack() as stack:
        quotas = [Quotas(redis_url, FEW) for _ in range(2)]
        for one in quotas:
            stack.push_async_callback(one.close)
        yield quotas


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[Any]:
    """A client of Redis's own, to look and to meddle."""
    async with redis.asyncio.from_url(redis_url, socket_timeout=10, decode_responses=True) as client:
        yield client


async def refusal(work: Awaitable[None]) -> int:
    """Return what somebody is told to wait, 0 if it is done."""
    try:
        await work
    except RateLimited as error:
        return error.retry_after_ms
    return 0


async def test_guests_of_an_address_are_counted_over_all_processes(two: list[Quotas]) -> None:
    one, other = two
    assert [await refusal(quotas.guest(HERE)) for quotas in (one, other, one)] == [0, 0, 0]
    for quotas in two:
        # Three were made at nearly the same time, so the next one has a place when the first hour is over.
        assert HOUR_MS - 60_000 < await refusal(quotas.guest(HERE)) <= HOUR_MS
        assert await refusal(quotas.guest(THERE)) == 0
        assert await refusal(quotas.guest("")) == 0


async def test_a_wait_is_true(two: list[Quotas], store: Any) -> None:
    for _ in range(3):
        await two[0].guest(HERE)
    wait = await refusal(two[1].guest(HERE))
    # An hour is over when what Redis holds is an hour earlier.
    [key] = await store.keys()
    full = int(await store.get(key))
    await store.set(key, full - (wait - 60_000) * 1_000)
    assert 0 < await refusal(two[1].guest(HERE)) <= 60_000
    await store.set(key, full - wait * 1_000)
    assert await refusal(two[1].guest(HERE)) == 0
    assert HOUR_MS - 60_000 < await refusal(two[0].guest(HERE)) <= HOUR_MS


async def test_a_session_counts_for_player_and_address_or_for_neither(two: list[Quotas]) -> None:
    ada, bob, eve = new_id(), new_id(), new_id()
    assert [await refusal(two[i % 2].session(ada, HERE)) for i in range(3)] == [0, 0, 0]
    for _ in range(9):
        assert await refusal(two[0].session(ada, HERE))
    assert [await refusal(two[i % 2].session(bob, HERE)) for i in range(2)] == [0, 0]
    for _ in range(9):
        assert await refusal(two[1].session(bob, HERE))
    assert await refusal(two[0].session(bob, "")) == 0
    assert await refusal(two[0].session(bob, THERE))
    assert await refusal(two[0].session(eve, THERE)) == 0
    assert await refusal(two[0].session(eve, HERE))


async def test_what_redis_holds_goes_away_by_itself_and_is_no_secret(two: list[Quotas], store: Any) -> None:
    ada = new_id()
    for _ in range(3):
        await two[0].session(ada, "2001:db8:1:2:3:4:5:6")
        await two[0].guest(HERE)
    keys = {
        f"patience-arena:sessions:{id_text(ada)}",
        "patience-arena:address-sessions:2001:db8:1:2::/64",
        f"patience-arena:guests:{HERE}",
    }
    assert set(await store.keys()) == keys
    for key in keys:
        assert 2 * HOUR_MS < await store.pttl(key) <= 3 * HOUR_MS


async def test_a_time_that_is_too_far_ahead_counts_as_all_taken(two: list[Quotas], store: Any) -> None:
    await store.set(f"patience-arena:guests:{HERE}", 10**16)
    assert await refusal(two[0].guest(HERE)) == HOUR_MS


@asynccontextmanager
async def far_away(redis_url: str) -> AsyncGenerator[tuple[Quotas, Proxy]]:
    """Give what a process counts, and its wire to Redis."""
    number = parse_qs(urlsplit(redis_url).query).get("db", ["0"])[0]
    async with proxy(redis_place(redis_url)) as wire:
        quotas = Quotas(f"redis://127.0.0.1:{wire.port}?db={number}", FEW)
        yield quotas, wire
        await quotas.close()


async def test_without_redis_each_process_goes_by_what_it_has_counted(redis_url: str) -> None:
    async with far_away(redis_url) as (quotas, wire):
        assert [await refusal(quotas.guest(HERE)) for _ in range(2)] == [0, 0]
        wire.cut()
        assert await refusal(quotas.guest(HERE)) == 0
        wait = await refusal(quotas.guest(HERE))
        assert HOUR_MS - 60_000 < wait <= HOUR_MS
        assert [bool(await refusal(quotas.guest(THERE))) for _ in range(4)] == [False] * 3 + [True]
        assert await refusal(quotas.session(new_id(), HERE)) == 0


async def test_a_redis_that_does_not_answer_is_asked_once_in_a_while(redis_url: str) -> None:
    async with far_away(redis_url) as (quotas, wire):
        await quotas.guest(HERE)
        wire.deafen()
        refusals = await asyncio.gather(*(refusal(quotas.guest(HERE)) for _ in range(50)))
        assert [bool(wait) for wait in sorted(refusals)] == [False] * 2 + [True] * 48


async def test_redis_is_asked_again_when_it_is_back(redis_url: str, store: Any) -> None:
    async with far_away(redis_url) as (quotas, wire):
        wire.cut()
        await quotas.guest(HERE)
        assert await store.keys() == []
        wire.mend()

        async def counted() -> object:
            await quotas.session(new_id(), "")
            return await store.keys()

        await until(counted)


async def test_two_servers_share_the_limit_on_guests(database_url: str, redis_url: str) -> None:
    async with (
        run(database_url, redis_url, FEW, hurried=True) as one,
        run(database_url, redis_url, FEW, hurried=True) as other,
        one.peer() as here,
        other.peer() as there,
    ):
        for peer in (here, there, here):
            assert (await peer.call("auth.guest"))["token"]
        for peer in (here, there):
            told = await peer.refused("auth.guest")
            assert told["kind"] == "rate_limited"
            assert HOUR_MS - 60_000 < told["retry_after_ms"] <= HOUR_MS
        # What is wrong with the call comes first, and nobody is counted for it.
        assert await here.kind("auth.guest", name=" ") == "invalid_params"
        assert (await other.post("auth.guest"))["error"]["data"]["kind"] == "rate_limited"


async def test_a_session_that_was_created_is_given_again_to_one_who_creates_too_many(
    database_url: str, redis_url: str
) -> None:
    async with run(database_url, redis_url, FEW, hurried=True) as server, server.guest() as player:
        first, *_ = [await player.deal("klondike", request_id=str(number)) for number in range(3)]
        assert await player.kind("session.create", game="klondike", request_id="3") == "rate_limited"
        assert await player.kind("session.create", game="klondike") == "rate_limited"
        assert await player.deal("klondike", request_id="0") == first
        assert len((await player.call("session.list"))["sessions"]) == 3


async def test_a_server_without_redis_limits_and_fails_nobody(database_url: str, redis_url: str) -> None:
    async with proxy(redis_place(redis_url)) as wire:
        wire.cut()
        url = f"redis://127.0.0.1:{wire.port}"
        async with run(database_url, url, FEW, hurried=True) as server, server.guest() as player:
            for _ in range(3):
                await player.deal("klondike")
            assert await player.kind("session.create", game="klondike") == "rate_limited"
            for _ in range(2):
                await player.call("auth.guest")
            assert await player.kind("auth.guest") == "rate_limited"
