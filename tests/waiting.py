"""Waiting for what tells nobody: a row in a table, a number that somebody else counts."""

import asyncio
from collections.abc import Awaitable, Callable

_PAUSE = 0.01


async def until(holds: Callable[[], Awaitable[object]], seconds: float = 30) -> None:
    """Wait until something holds, looking again and again; raise `TimeoutError` if it takes too long."""
    async with asyncio.timeout(seconds):
        while True:
            if await holds():
                return
            await asyncio.sleep(_PAUSE)


async def until_true(holds: Callable[[], object], seconds: float = 30) -> None:
    """Do the same for what need not be awaited."""

    async def asked() -> object:
        return holds()

    await until(asked, seconds)


async def until_blocked(count: Callable[[str], Awaitable[object]], waiters: int = 1) -> None:
    """Wait until so many statements wait for a lock; `count` asks PostgreSQL for one value.

    It takes less time than a statement may wait for.
    """

    async def blocked() -> bool:
        return await count("SELECT count(*) FROM pg_locks WHERE NOT granted") == waiters

    await until(blocked, seconds=4)
