"""A wire between a server and one of its stores that a test can cut, or make deaf in one direction."""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a store listens: a path of a unix socket, or a host with a port."""

    host: str
    port: int

    async def connect(self) -> Streams:
        """Open a connection."""
        if self.host.startswith("/"):
            return await asyncio.open_unix_connection(self.host)
        return await asyncio.open_connection(self.host, self.port)


def redis_place(url: str) -> Place:
    """Read where a Redis is off its address."""
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return Place(parts.path, 0)
    return Place(parts.hostname or "127.0.0.1", parts.port or 6379)


def postgres_place(url: str) -> Place:
    """Read where a PostgreSQL is off its address."""
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    host = query["host"][0] if "host" in query else unquote(parts.hostname or "127.0.0.1")
    port = int(query["port"][0]) if "port" in query else parts.port or 5432
    return Place(f"{host}/.s.PGSQL.{port}" if host.startswith("/") else host, port)


class Listener(ABC):
    """Takes connections on a free port of 127.0.0.1, each in a task of its own."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def start(self) -> None:
        """Begin to listen."""
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """End everything for good."""
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @abstractmethod
    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end, after which it is cut."""

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            # Nobody but `close` cancels, and asyncio takes a cancelled task for a failed one.
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await self.carry(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.transport.abort()


class Proxy(Listener):
    """Carries bytes between clients and a store."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place
        self._writers: set[asyncio.StreamWriter] = set()
        self._whole = True
        self._deaf: set[asyncio.StreamWriter] = set()

    def cut(self) -> None:
        """End all connections, and each new one at once."""
        self._whole = False
        for writer in self._writers:
            writer.transport.abort()

    def mend(self) -> None:
        """Carry everything again."""
        self._whole = True

    def deafen(self) -> None:
        """Let nothing through any more that the store says on the connections there are.

        What clients say still arrives, and new connections are whole.
        """
        self._deaf |= self._writers

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry what a client and the store say to each other."""
        self._writers.add(writer)
        try:
            if self._whole:
                await self._connect(reader, writer)
        finally:
            self._writers.discard(writer)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        store_reader, store_writer = await self._place.connect()
        self._writers.add(store_writer)
        answers = asyncio.create_task(self._copy(store_reader, writer, answers=True))
        try:
            await self._copy(reader, store_writer, answers=False)
        finally:
            answers.cancel()
            self._writers.discard(store_writer)
            store_writer.transport.abort()
            with contextlib.suppress(asyncio.CancelledError, OSError):
                await answers

    async def _copy(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool
    ) -> None:
        while data := await reader.read(65_536):
            if writer in self._deaf and answers:
                continue
            writer.write(data)
            await writer.drain()
        writer.transport.abort()


@asynccontextmanager
async def proxy(place: Place) -> AsyncGenerator[Proxy]:
    """Run a proxy before a store."""
    running = Proxy(place)
    await running.start()
    try:
        yield running
    finally:
        await running.close()
