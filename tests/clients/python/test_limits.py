"""A client that is told to wait does so, and nobody who uses it notices more than that."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from clients.python import RateLimited, connect
from tests.clients.relay import Relay
from tests.clients.serving import Server

RATE, BURST = 3, 3
SESSIONS, CALLS = 6, 33


@pytest.fixture
async def strict(database_url: str, redis_url: str) -> AsyncIterator[str]:
    """Give the address of a server that takes few messages a second, and few guests an hour."""
    settings = {
        "PATIENCE_LIMIT_CONNECTION_RATE": str(RATE),
        "PATIENCE_LIMIT_CONNECTION_BURST": str(BURST),
        "PATIENCE_LIMIT_GUESTS_HOURLY": "1",
        "PATIENCE_LIMIT_GUESTS_BURST": "1",
    }
    with await asyncio.to_thread(Server, database_url, redis_url, **settings) as server:
        yield server.url


async def test_many_calls_at_once_are_all_answered_in_the_end(strict: str) -> None:
    async with connect(strict) as client:
        infos = await asyncio.gather(*(client.info() for _ in range(CALLS)))
    assert {info.limits["connection_rate"] for info in infos} == {RATE}


async def test_sessions_are_taken_up_again_however_many_there_are(strict: str) -> None:
    async with Relay(strict) as relay, connect(relay.url) as client:
        await client.guest("Ada")
        sessions = [await client.create("klondike") for _ in range(SESSIONS)]
        relay.break_all()
        for session in sessions:
            await session.move("draw")
        assert client.reconnects == 1
        assert all((session.seq, session.gaps, session.repairs) == (1, 0, 0) for session in sessions)


async def test_who_would_have_to_wait_for_longer_than_they_want_is_told(strict: str) -> None:
    async with connect(strict) as client:
        await client.guest("Ada")
        with pytest.raises(RateLimited) as refused:
            await client.guest("Bob")
        assert 0 < refused.value.retry_after_ms <= 3_600_000
        assert client.player is not None
        assert client.player.name == "Ada"
