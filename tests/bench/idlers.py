"""Many idle connections, held by as many processes as it takes."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from tests.bench.place import Place

_EACH: Final = 5_000
"""Connections of one process, which come from an address of its own, so that local ports suffice."""

_SECONDS: Final = 300.0


class ConnectionsLost(Exception):
    """Idle connections did not stay open."""


@asynccontextmanager
async def idlers(place: Place, count: int, kind: str) -> AsyncGenerator[None]:
    """Hold so many idle connections of a kind until the block ends.

    Raises:
        ConnectionsLost: they could not be opened, or some were closed in the meantime.
    """
    holders: list[Process] = []
    try:
        for i, at in enumerate(range(0, count, _EACH)):
            arguments = (place.url, str(min(_EACH, count - at)), kind, f"127.0.0.{2 + i}")
            holders.append(
                await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "tests.bench.holding", *arguments, stdin=PIPE, stdout=PIPE
                )
            )
        async with asyncio.timeout(_SECONDS):
            for holder in holders:
                assert holder.stdout is not None
                if await holder.stdout.readline() != b"ready\n":
                    raise ConnectionsLost("not all idle connections could be opened")
        yield
        lost = 0
        for holder in holders:
            output, _ = await holder.communicate(b"")
            lost += int(output)
        if lost:
            raise ConnectionsLost(f"{lost} of {count} idle connections were lost")
    finally:
        for holder in holders:
            if holder.returncode is None:
                holder.kill()
                await holder.wait()
