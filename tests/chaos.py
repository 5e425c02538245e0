"""A bad network: what passes between clients and servers is late, in pieces, doubled, or lost with its wire.

Every connection has a trouble in store, which comes after a while. Which one and when is drawn from a seed,
and all of them have their turn. What is lost is always the rest of a stream: no less can be lost of TCP.
"""

import asyncio
import socket
import struct
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from random import Random
from typing import Final, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from tests.proxy import Listener, Place, Streams
from tests.waiting import until_true

Trouble: TypeAlias = Literal["cut", "close", "stall", "deafen", "mute", "end_up", "end_down", "orphan"]
"""What can come over a connection, in the middle of a frame like as not:

- `cut`: both ends are reset.
- `close`: both ends are closed in good order.
- `stall`: nothing passes any more, either way, and nobody is told.
- `deafen`: the client hears nothing any more; the server still hears the client.
- `mute`: the server hears nothing any more; the client still hears the server.
- `end_up`: the server is told that the client says no more, which is not true.
- `end_down`: the client is told that the server says no more.
- `orphan`: the client is reset. What it has said goes on to the server, which is told of no end.
"""

TROUBLES: Final[tuple[Trouble, ...]] = get_args(Trouble)
_RESET: Final = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Weather:
    """How bad it is."""

    pieces: int = 60
    """After how many pieces, both ways together, trouble comes, on the average."""
    wait: float = 0.02
    """The most seconds that a piece waits, unless there is a jam, when it waits for as long as `late`."""
    jams: float = 0.01
    """Before which part of the pieces there is a jam."""
    late: float = 3.0
    """The most seconds by which a twin's words are late, and for which a dead connection lives on."""
    twins: float = 0.4
    """Which part of the connections has a twin: another connection, on which all is said as well."""


class Chaos(Listener):
    """Carries bytes between clients and servers, badly."""

    def __init__(self, places: Sequence[Place], seed: str, weather: Weather | None = None) -> None:
        """Connect each client to one of `places`, and its twin to one of them."""
        super().__init__()
        self.places = list(places)
        self.weather = weather or Weather()
        self.calm = False
        """Whether no more trouble comes."""
        self.happened: Counter[str] = Counter()
        """How often which trouble came, and how many a `twin` there was."""
        self.connections = 0
        """How many the clients have made."""
        self.pieces = 0
        """How many pieces have come, either way."""
        self._seed = seed
        self._turns = _turns(Random(seed))
        self._links: set[_Link] = set()

    @property
    def ws(self) -> str:
        """The address for clients."""
        return f"ws://127.0.0.1:{self.port}/ws"

    def heal(self) -> None:
        """Let no more trouble come. What is dead without a word stays so until its time has come."""
        self.calm = True
        for link in self._links:
            link.part()

    async def settled(self) -> None:
        """Wait, after healing, until nothing is on its way that should have ended."""
        await until_true(lambda: all(link.sound for link in self._links))

    def befall(self, trouble: Trouble) -> None:
        """Let a trouble come over all connections that have had none."""
        for link in self._links:
            link.befall(trouble)

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry what a client and a server say to each other, as far as it gets."""
        self.connections += 1
        chance = Random(f"{self._seed}-{self.connections}")
        link = _Link(self, (reader, writer), chance)
        if not self.calm:
            link.in_store = next(self._turns)
        self._links.add(link)
        try:
            await link.run()
        finally:
            self._links.discard(link)


def server_place(url: str) -> Place:
    """Read where a server is off its WebSocket address."""
    parts = urlsplit(url)
    return Place(parts.hostname or "127.0.0.1", parts.port or 80)


@asynccontextmanager
async def chaos(places: Sequence[Place], seed: str, weather: Weather | None = None) -> AsyncGenerator[Chaos]:
    """Run a bad network before some servers."""
    running = Chaos(places, seed, weather)
    await running.start()
    try:
        yield running
    finally:
        await running.close()


def _turns(chance: Random) -> Iterator[Trouble]:
    """Yield all troubles in some order, then in another one, without end."""
    while True:
        yield from chance.sample(TROUBLES, len(TROUBLES))


def _reset(writer: asyncio.StreamWriter) -> None:
    """End a connection without a word, and without what waits to be sent."""
    if not writer.transport.is_closing():
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()


class _Link:
    """A client's connection to a server, and perhaps a twin of it."""

    def __init__(self, network: Chaos, client: Streams, chance: Random) -> None:
        self.in_store: Trouble | None = None
        """The trouble that is to come."""
        self._network = network
        self._weather = network.weather
        self._client = client
        self._chance = chance
        self._left = 1 + round(chance.expovariate(1 / self._weather.pieces))
        self._stopped: set[bool] = set()
        """The ways on which nothing passes any more; up is True."""
        self._ended: set[bool] = set()
        """The ways of which the end has been told, so that what still comes is thrown away."""
        self._said: asyncio.Queue[tuple[float, bytes]] | None = None

    @property
    def sound(self) -> bool:
        """Whether it carries what is said, once."""
        return not self._stopped and self._said is None

    async def run(self) -> None:
        """Carry until both have ended."""
        self._server = await self._connect()
        ways = [asyncio.create_task(self._pass(up=up)) for up in (True, False)]
        if self.in_store is not None and self._chance.random() < self._weather.twins:
            self._said = asyncio.Queue(maxsize=10_000)
            ways.append(asyncio.create_task(self._double(self._said, await self._connect())))
        try:
            await asyncio.wait(ways)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            _reset(self._server[1])

    def part(self) -> None:
        """Say no more to the twin."""
        if self._said is not None:
            self._said.put_nowait((0, b""))

    def befall(self, trouble: Trouble) -> None:
        """Let a trouble come, unless one has come."""
        if self._stopped or self._ended:
            return
        self.in_store = None
        self._network.happened[trouble] += 1
        client, server = self._client[1], self._server[1]
        match trouble:
            case "cut":
                _reset(client)
                _reset(server)
            case "close":
                client.close()
                server.close()
            case "stall":
                self._stopped = {True, False}
            case "deafen":
                self._stopped = {False}
            case "mute":
                self._stopped = {True}
            case "end_up":
                self._end(up=True)
            case "end_down":
                self._end(up=False)
            case "orphan":
                self._stopped = {False}
                self._ended = {False}
                _reset(client)

    def _end(self, *, up: bool) -> None:
        """Tell one side that the other says no more."""
        self._ended.add(up)
        writer = (self._server if up else self._client)[1]
        if not writer.transport.is_closing():
            with suppress(OSError):
                writer.write_eof()

    async def _connect(self) -> Streams:
        return await self._chance.choice(self._network.places).connect()

    async def _pass(self, *, up: bool) -> None:
        """Pass on what comes one way until it ends, and do what follows from that."""
        try:
            await self._carry(up=up)
        except OSError:
            self._cut()
        if up:
            self.part()
        if self._stopped:
            await self._outlive()
            self._cut()
        elif up not in self._ended:
            self._end(up=up)

    async def _carry(self, *, up: bool) -> None:
        reader = (self._client if up else self._server)[0]
        writer = (self._server if up else self._client)[1]
        while data := await reader.read(65_536):
            if up and self._said is not None:
                self._said.put_nowait((asyncio.get_running_loop().time(), data))
            for piece in self._pieces(data):
                if not self._network.calm:
                    jam = self._chance.random() < self._weather.jams
                    longest = self._weather.late if jam else self._weather.wait
                    await asyncio.sleep(self._chance.uniform(0, longest))
                self._count()
                if up in self._stopped:
                    return
                if up in self._ended:
                    break
                writer.write(piece)
                await writer.drain()

    def _pieces(self, data: bytes) -> list[bytes]:
        """Take apart what has come; what comes while it waits is put together by itself."""
        if self._network.calm or self._chance.random() < 0.5:
            return [data]
        places = sorted(self._chance.randrange(len(data) + 1) for _ in range(self._chance.randrange(1, 4)))
        bounds = zip([0, *places], [*places, len(data)], strict=True)
        return [data[start:end] for start, end in bounds if start < end]

    def _count(self) -> None:
        """Let trouble come when it is time."""
        self._network.pieces += 1
        self._left -= 1
        if self._left <= 0 and self.in_store is not None and not self._network.calm:
            self.befall(self.in_store)

    async def _double(self, said: asyncio.Queue[tuple[float, bytes]], twin: Streams) -> None:
        """Say to a twin what the client says; what it answers goes nowhere."""
        self._network.happened["twin"] += 1
        reader, writer = twin
        clock = asyncio.get_running_loop().time
        # One that is not late is before the other as often as not.
        lag = self._chance.choice((0, self._chance.uniform(0, self._weather.late)))
        ignoring = asyncio.create_task(_ignore(reader))
        try:
            while (word := await said.get())[1]:
                await asyncio.sleep(max(0, word[0] + lag - clock()))
                writer.write(word[1])
            await self._outlive()
        finally:
            self._said = None
            ignoring.cancel()
            _reset(writer)

    async def _outlive(self) -> None:
        """Wait for as long as what is dead lives on."""
        await asyncio.sleep(self._chance.uniform(0, self._weather.late))

    def _cut(self) -> None:
        _reset(self._client[1])
        _reset(self._server[1])


async def _ignore(reader: asyncio.StreamReader) -> None:
    with suppress(OSError):
        while await reader.read(65_536):
            pass
