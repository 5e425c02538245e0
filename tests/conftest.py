"""Fixtures for all tests; what they do is in `tests.stores`."""

from collections.abc import AsyncIterator, Iterator

import pytest

from server.embedded import EmbeddedStores
from tests.stores import Stores, embedded_stores, flush, migrate, stores_for_worker


@pytest.fixture(scope="session")
def stores(worker_id: str) -> Iterator[Stores]:
    """Run the stores that all tests of one worker share, which no test may stop."""
    worker = int(worker_id.removeprefix("gw")) if worker_id != "master" else 0
    with stores_for_worker(worker) as shared:
        yield shared


@pytest.fixture
async def database_url(stores: Stores) -> AsyncIterator[str]:
    """Give the address of a migrated database without rows, for one test."""
    async with stores.clone() as url:
        yield url


@pytest.fixture
async def redis_url(stores: Stores) -> AsyncIterator[str]:
    """Give the address of an empty Redis database, for one test."""
    await flush(stores.redis_url)
    yield stores.redis_url
    await flush(stores.redis_url)


@pytest.fixture
def own_stores() -> Iterator[EmbeddedStores]:
    """Run migrated stores for one test that stops or kills them."""
    with embedded_stores() as own:
        migrate(own.database_url)
        yield own
