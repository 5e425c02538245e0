from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TypeAlias, cast

import asyncpg
import pytest

from server.store.database import Database
from server.store.driver import DriverConnection
from server.store.entries import Entry
from server.store.journal import Journal

Connect: TypeAlias = Callable[..., Awaitable[DriverConnection]]
connect_directly = cast("Connect", asyncpg.connect)


@pytest.fixture
async def database(database_url: str) -> AsyncGenerator[Database]:
    database = Database(database_url, connections=4)
    yield database
    await database.close()


@pytest.fixture
async def admin(database_url: str) -> AsyncGenerator[DriverConnection]:
    """A connection beside the server's, of another name, to look and to meddle."""
    connection = await connect_directly(database_url, command_timeout=30)
    yield connection
    await connection.close()


@pytest.fixture
async def journal(database: Database) -> AsyncGenerator[Journal]:
    def ignore(entries: Sequence[Entry]) -> None:
        """Nobody listens."""

    journal = Journal(database, ignore)
    await journal.start()
    yield journal
    await journal.close()
