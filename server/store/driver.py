"""The one place that talks to asyncpg itself, which brings no types of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, cast

import asyncpg

from server.store.errors import StoreRefused

APPLICATION_NAME: Final = "patience-arena"
"""How our connections show in `pg_stat_activity`."""


class DriverConnection(Protocol):
    """As much of `asyncpg.Connection` as we use."""

    async def execute(self, query: str, *args: object) -> str:
        """Run a statement and give its status message."""
        ...

    async def fetchval(self, query: str, *args: object) -> object:
        """Run a statement (prepared once per connection) and give the first value of its first row."""
        ...

    def is_closed(self) -> bool:
        """Whether either side has closed the connection, as far as the socket tells; asks nobody."""
        ...

    async def close(self) -> None:
        """Say goodbye and close; waits for a command under way."""
        ...

    def terminate(self) -> None:
        """Close at once and wait for nothing."""
        ...


# asyncpg brings no types.
_connect = cast("Callable[..., Awaitable[DriverConnection]]", asyncpg.connect)


async def connect(
    database_url: str, seconds: float, command_seconds: float | None = None
) -> DriverConnection:
    """Open a connection; `database_url` is `postgresql://…` or `postgres://…` with libpq's parameters.

    `seconds` bounds connecting; `command_seconds`, by default the same, bounds every command from then on,
    which the server enforces too. Raises `StoreRefused` if we are not let in, and otherwise what asyncpg
    raises: see `server.store.errors.store_errors`.
    """
    command_seconds = command_seconds or seconds
    milliseconds = str(round(command_seconds * 1000))
    try:
        async with asyncio.timeout(seconds):
            return await _connect(
                database_url,
                command_timeout=command_seconds,
                server_settings={
                    "application_name": APPLICATION_NAME,
                    # For the case in which it is we who are gone, or stopped in the middle of a transaction.
                    "statement_timeout": milliseconds,
                    "idle_in_transaction_session_timeout": milliseconds,
                    # Our statements are short: compiling one costs more than running it.
                    "jit": "off",
                    # Times that come as text are in this zone.
                    "timezone": "UTC",
                },
            )
    except (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidCatalogNameError) as error:
        raise StoreRefused(f"the database at DATABASE_URL refuses us: {error}") from None
