"""Connections that are left in every state there is: of them nothing stays.

CI leaves a few. `TEST_LEAK_CONNECTIONS=1000 pytest tests/durability/test_leaks_connections.py` leaves so
many, twice, and `tests.durability.leak_drill` does it as often as one likes.
"""

import os
from pathlib import Path
from typing import Final

import pytest

from tests.durability.leak_drill import KINDS, drill, measured

CONNECTIONS: Final = int(os.environ.get("TEST_LEAK_CONNECTIONS", 2 * len(KINDS)))
"""How many one wave leaves."""


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="asks Linux what a process holds")
@pytest.mark.timeout(400)
async def test_of_connections_that_are_left_nothing_stays(database_url: str, redis_url: str) -> None:
    async with measured(database_url, redis_url) as server:
        rows = await drill(server, connections=CONNECTIONS, waves=2)
    print(rows)
