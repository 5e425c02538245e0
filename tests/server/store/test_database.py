import asyncio
import socket
from collections.abc import Callable
from typing import Protocol, cast

import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from server.store.database import Database
from server.store.driver import APPLICATION_NAME, DriverConnection
from server.store.errors import StoreUnavailable

OURS = "datname = current_database() AND application_name = $1"


class Listening(Protocol):
    def add_termination_listener(self, callback: Callable[[object], None]) -> None: ...


async def test_nothing_listens() -> None:
    with socket.socket() as unused:
        # Bound and not listening: nobody else gets the port, and connections are refused.
        unused.bind(("127.0.0.1", 0))
        database = Database(f"postgresql://postgres@127.0.0.1:{unused.getsockname()[1]}/postgres")
        with pytest.raises(StoreUnavailable):
            await database.ping()
        with pytest.raises(StoreUnavailable):
            async with database.writing():
                pass
        with pytest.raises(StoreUnavailable):
            await database.connect()
        await database.close()


async def test_the_server_accepts_and_says_nothing() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        database = Database(f"postgresql://postgres@127.0.0.1:{silent.getsockname()[1]}/x", timeout=0.2)
        with pytest.raises(StoreUnavailable):
            await database.ping()
        await database.close()


async def test_every_connection_says_whose_it_is(database: Database, admin: DriverConnection) -> None:
    await database.ping()
    direct = await database.connect()
    assert await admin.fetchval(f"SELECT count(*) FROM pg_stat_activity WHERE {OURS}", APPLICATION_NAME) == 2
    await direct.close()


async def test_connections_that_were_ended_are_replaced_unnoticed(
    database: Database, admin: DriverConnection
) -> None:
    ended = asyncio.Event()
    async with database.reading() as db:
        pooled = (await db.get_raw_connection()).driver_connection
        cast("Listening", pooled).add_termination_listener(lambda _: ended.set())
        before = (await db.execute(text("SELECT pg_backend_pid()"))).scalar_one()
    await admin.execute("SELECT pg_terminate_backend($1)", before)
    async with asyncio.timeout(10):
        await ended.wait()
    async with database.reading() as db:
        assert (await db.execute(text("SELECT pg_backend_pid()"))).scalar_one() != before


async def test_a_connection_ended_in_the_middle(database: Database, admin: DriverConnection) -> None:
    async def work() -> None:
        async with database.writing() as db:
            pid = (await db.execute(text("SELECT pg_backend_pid()"))).scalar_one()
            await admin.execute("SELECT pg_terminate_backend($1)", pid)
            await db.execute(text("SELECT 1"))

    with pytest.raises(StoreUnavailable):
        await work()
    await database.ping()


async def test_a_statement_that_hangs_is_given_up(database_url: str) -> None:
    database = Database(database_url, timeout=0.3)
    with pytest.raises(StoreUnavailable):
        async with database.reading() as db:
            await db.execute(text("SELECT pg_sleep(60)"))
    await database.ping()
    await database.close()


async def test_nobody_waits_for_a_connection_for_ever(database_url: str) -> None:
    database = Database(database_url, connections=1, timeout=0.3)
    async with database.engine.connect():
        with pytest.raises(StoreUnavailable):
            await database.ping()
    await database.close()


async def test_mistakes_of_ours_stay_what_they_are(database: Database) -> None:
    with pytest.raises(ProgrammingError, match="no_such_table"):
        async with database.reading() as db:
            await db.execute(text("SELECT * FROM no_such_table"))
    await database.ping()


def test_no_password_is_shown() -> None:
    database = Database("postgresql://postgres:s3cret@127.0.0.1:1/x")
    assert "s3cret" not in f"{database.engine!r} {database.engine.url!r} {database!r}"
