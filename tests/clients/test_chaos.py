"""A short drill on a bad network; the drill itself takes as long as one has patience for."""

import secrets

import pytest

from tests.chaos import Weather, chaos, server_place
from tests.clients.serving import Server
from tests.durability.chaos_drill import drill


@pytest.mark.timeout(300)
async def test_nobody_notices_that_the_network_breaks(database_url: str, redis_url: str) -> None:
    seed = secrets.token_hex(4)
    print(f"the seed is {seed}")
    with Server(database_url, redis_url) as one, Server(database_url, redis_url) as two:
        servers = [one.url, two.url]
        async with chaos([server_place(url) for url in servers], seed, Weather(pieces=30)) as network:
            summary = await drill(network, servers, seconds=8, players=5, onlookers=3, seed=seed)
    assert summary.violations == 0
    assert min(summary.reconnects, summary.answered, summary.events) > 0
    assert summary.repairs == 0
