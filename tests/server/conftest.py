"""A server that the tests of one worker share; whoever needs limits or a clock of its own runs another."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.arena import Address, run_in_thread
from tests.peer import Peer
from tests.stores import Stores, execute, new_name, outside_loop, with_database


@pytest.fixture(scope="session")
def server(stores: Stores) -> Iterator[Address]:
    """Give a server with the default limits, to be reached over the network alone."""
    name = new_name()

    def carry_out(statement: str) -> None:
        outside_loop(lambda: asyncio.run(execute(stores.database_url, statement)))

    carry_out(f"CREATE DATABASE {name} TEMPLATE {stores.template}")
    with run_in_thread(with_database(stores.database_url, name), stores.redis_url) as address:
        yield address
    carry_out(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
async def player(server: Address) -> AsyncIterator[Peer]:
    """Give the connection of a new guest."""
    async with server.guest() as peer:
        yield peer


@pytest.fixture
async def rival(server: Address) -> AsyncIterator[Peer]:
    """Give the connection of another new guest."""
    async with server.guest() as peer:
        yield peer


@pytest.fixture
async def stranger(server: Address) -> AsyncIterator[Peer]:
    """Give a connection that acts for nobody."""
    async with server.peer() as peer:
        yield peer
