"""The connection to PostgreSQL: one bounded pool a process, and no wait without an end."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Protocol, cast

from sqlalchemy import event, exc, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from server.store.driver import DriverConnection, connect
from server.store.errors import store_errors


class _Adapted(Protocol):
    """SQLAlchemy's wrapper around a connection of the driver."""

    @property
    def driver_connection(self) -> DriverConnection: ...


def _refuse_closed(dbapi_connection: object, *_: object) -> None:
    # The socket knows already that the server has gone, so a pooled connection is tested without a round
    # trip.
    if cast("_Adapted", dbapi_connection).driver_connection.is_closed():
        raise exc.DisconnectionError


def make_engine(
    database_url: str, *, connections: int, timeout: float, command_timeout: float | None = None
) -> AsyncEngine:
    """An engine with a pool of at most `connections`, each opened when it is first needed.

    `timeout`, in seconds, bounds the wait for a free connection, connecting, and each statement; these have
    `command_timeout` if it is given. Connections that the server has closed are replaced when they are taken
    from the pool. The URL goes to the driver unread, so that all of libpq's parameters mean what they say,
    and no password is in reach of an engine's `repr`.
    """

    async def connect_driver(*_: object, **__: object) -> DriverConnection:
        return await connect(database_url, timeout, command_timeout)

    engine = create_async_engine(
        "postgresql+asyncpg://",
        async_creator=connect_driver,
        pool_size=connections,
        max_overflow=0,
        pool_timeout=timeout,
        pool_use_lifo=True,
        hide_parameters=True,
    )
    event.listen(engine.sync_engine, "checkout", _refuse_closed)
    return engine


class Database:
    """What the queries run on.

    Its blocks hold nothing but queries, for any `OSError` in one counts as the database's.

    All methods but `close` raise `StoreUnavailable` when the database is away.
    """

    def __init__(self, database_url: str, *, connections: int = 8, timeout: float = 5.0) -> None:
        """Connect to nothing yet. `timeout`, in seconds, bounds each block of `reading` and `writing` too."""
        self._url = database_url
        self._timeout = timeout
        self.engine = make_engine(database_url, connections=connections, timeout=timeout)
        self._autocommit = self.engine.execution_options(isolation_level="AUTOCOMMIT")

    @contextlib.asynccontextmanager
    async def reading(self) -> AsyncGenerator[AsyncConnection]:
        """A connection on which every statement stands for itself, without BEGIN and COMMIT around it."""
        with store_errors():
            async with asyncio.timeout(self._timeout), self._autocommit.connect() as db:
                yield db

    @contextlib.asynccontextmanager
    async def writing(self) -> AsyncGenerator[AsyncConnection]:
        """A transaction, committed at the end of the block and rolled back by an exception.

        `StoreUnavailable` leaves open whether it was committed.
        """
        with store_errors():
            async with asyncio.timeout(self._timeout), self.engine.begin() as db:
                yield db

    async def connect(self) -> DriverConnection:
        """A connection outside the pool, for one owner who closes it."""
        with store_errors():
            return await connect(self._url, self._timeout)

    async def ping(self) -> None:
        """Ask the database for a sign of life, or raise `StoreUnavailable`."""
        async with self.reading() as db:
            await db.execute(text("SELECT 1"))

    async def close(self) -> None:
        """Close all pooled connections that nobody uses at the moment."""
        await self.engine.dispose()
