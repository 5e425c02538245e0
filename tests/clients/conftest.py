"""A server for clients, and a bad network in front of it."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from clients.python import Client, connect
from tests.clients.relay import Relay
from tests.clients.serving import Server
from tests.stores import Stores, execute, new_name, outside_loop, with_database


@pytest.fixture(scope="session")
def arena(stores: Stores) -> Iterator[str]:
    """Run a server that all tests of one worker share, and give its address; no test may stop it."""
    name = new_name()
    create = f"CREATE DATABASE {name} TEMPLATE {stores.template}"
    outside_loop(lambda: asyncio.run(execute(stores.database_url, create)))
    try:
        with Server(with_database(stores.database_url, name), stores.redis_url) as server:
            yield server.url
    finally:
        drop = f"DROP DATABASE {name} WITH (FORCE)"
        outside_loop(lambda: asyncio.run(execute(stores.database_url, drop)))


@pytest.fixture
async def client(arena: str) -> AsyncIterator[Client]:
    """Give a connected guest."""
    async with connect(arena) as client:
        await client.guest("Ada")
        yield client


@pytest.fixture
async def relay(arena: str) -> AsyncIterator[Relay]:
    """Give a network to the server that can be made bad."""
    async with Relay(arena) as relay:
        yield relay
