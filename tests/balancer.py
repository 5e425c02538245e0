"""One address before several servers: each new connection goes to one of them that takes it."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from random import Random

from tests.proxy import Listener, Place, Streams


class Balancer(Listener):
    """Carries bytes between clients and servers, whatever they say and whoever has been where before."""

    def __init__(self, places: Sequence[Place], chance: Random) -> None:
        super().__init__()
        self._places = places
        self._chance = chance
        self._clients: list[asyncio.StreamWriter] = []

    @property
    def ws(self) -> str:
        """The address for clients."""
        return f"ws://127.0.0.1:{self.port}/ws"

    def cut_one(self) -> bool:
        """Cut some connection without a word; return whether there was one."""
        if not self._clients:
            return False
        self._chance.choice(self._clients).transport.abort()
        return True

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection until both have ended it, or one has broken."""
        server = await self._connect()
        if server is None:
            return
        self._clients.append(writer)
        ways = [
            asyncio.create_task(_pass(reader, server[1])),
            asyncio.create_task(_pass(server[0], writer)),
        ]
        try:
            await asyncio.gather(*ways)
        finally:
            self._clients.remove(writer)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            server[1].transport.abort()

    async def _connect(self) -> Streams | None:
        """Connect to one of the servers, passing over those that refuse."""
        for place in self._chance.sample(self._places, len(self._places)):
            with suppress(OSError):
                return await place.connect()
        return None


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes one way until it ends, and that it does."""
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    writer.write_eof()


@asynccontextmanager
async def balancer(places: Sequence[Place], chance: Random) -> AsyncGenerator[Balancer]:
    """Run a balancer before some servers."""
    running = Balancer(places, chance)
    await running.start()
    try:
        yield running
    finally:
        await running.close()
