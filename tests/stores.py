"""The stores that tests run against: real ones, started here or given, with a new database for each test."""

import asyncio
import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import redis.asyncio
from sqlalchemy import make_url

from server.embedded import EmbeddedStores
from server.store.driver import connect
from server.store.migrate import upgrade

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stores:
    """A PostgreSQL with a migrated and otherwise empty database, and a Redis database of one worker's own."""

    database_url: str
    """The address of a database from which others are made and which is not to be worked in."""
    redis_url: str
    template: str
    """The name of the migrated database."""

    @asynccontextmanager
    async def clone(self) -> AsyncGenerator[str]:
        """Give the address of a new migrated database, which goes away together with its connections."""
        async with database(self.database_url, self.template) as url:
            yield url


@contextmanager
def stores_for_worker(worker: int) -> Generator[Stores]:
    """Give the stores in `TEST_DATABASE_URL` and `TEST_REDIS_URL` if both are set, else ones started here.

    `worker` counts the processes that run tests at the same time, from 0; each has one Redis database.
    """
    given_database, given_redis = os.environ.get("TEST_DATABASE_URL"), os.environ.get("TEST_REDIS_URL")
    with ExitStack() as held:
        if given_database and given_redis:
            database_url, redis_url = given_database, with_redis_number(given_redis, worker)
        else:
            embedded = held.enter_context(embedded_stores())
            database_url, redis_url = embedded.database_url, embedded.redis_url
        template = new_name()
        outside_loop(lambda: asyncio.run(execute(database_url, f"CREATE DATABASE {template}")))
        try:
            migrate(with_database(database_url, template))
            yield Stores(database_url, redis_url, template)
        finally:
            drop = f"DROP DATABASE {template} WITH (FORCE)"
            outside_loop(lambda: asyncio.run(execute(database_url, drop)))


@contextmanager
def fresh_home() -> Generator[Path]:
    """Give a home for embedded stores, not made yet, that also the user they run as for root can enter."""
    folder = Path(tempfile.mkdtemp(prefix="home-"))
    folder.chmod(0o711)
    try:
        yield folder / "arena"
    finally:
        shutil.rmtree(folder)


@contextmanager
def embedded_stores() -> Generator[EmbeddedStores]:
    """Run stores without tables on a new home, which is removed afterwards."""
    with fresh_home() as home, EmbeddedStores(home, durable=False) as stores:
        yield stores


@asynccontextmanager
async def database(database_url: str, template: str = "template1") -> AsyncGenerator[str]:
    """Give the address of a new copy of `template`, which goes away together with its connections."""
    name = new_name()
    await execute(database_url, f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        yield with_database(database_url, name)
    finally:
        await execute(database_url, f"DROP DATABASE {name} WITH (FORCE)")


async def execute(database_url: str, statement: str) -> None:
    """Carry out one statement outside of any transaction."""
    connection = await connect(database_url, seconds=10, command_seconds=60)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def flush(redis_url: str) -> None:
    """Empty one Redis database."""
    async with redis.asyncio.from_url(redis_url, socket_timeout=10) as client:
        await client.flushdb()  # pyright: ignore[reportUnknownMemberType] - redis-py leaves its **kwargs untyped


def migrate(database_url: str) -> None:
    """Migrate a database, whether or not a loop runs in this thread."""
    outside_loop(lambda: upgrade(database_url))


def outside_loop(work: Callable[[], T]) -> T:
    """Do `work` in a thread of its own, where no event loop of a test's is in the way, and wait for it."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(work).result()


def new_name() -> str:
    """Return a name for a database that nobody else has."""
    return f"patience_test_{secrets.token_hex(8)}"


def with_database(database_url: str, name: str) -> str:
    """Return the address of another database of the same server."""
    return make_url(database_url).set(database=name).render_as_string(hide_password=False)


def with_redis_number(redis_url: str, number: int) -> str:
    """Return the address of the Redis database with that number of the same server."""
    return f"{redis_url}{'&' if '?' in redis_url else '?'}db={number}"
