"""Connections that die without a word: the client finds out by itself, and soon."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol

from clients.python import Client, Record, connect
from clients.python.wire import dial
from tests.chaos import Chaos, Trouble, Weather, chaos, server_place
from tests.waiting import until_true

HEARTBEAT = 0.3
CALM = 1.0
"""A heartbeat that nothing living misses, however busy the machine is."""
MOMENT = 20.0

SILENT: tuple[Trouble, ...] = ("stall", "deafen", "mute")
"""Troubles of which nobody is told."""


@pytest.fixture
async def network(arena: str) -> AsyncIterator[Chaos]:
    """Give a network to the server in which nothing happens by itself, and the dead stay where they are."""
    async with chaos([server_place(arena)], "wire", Weather(late=1_000)) as network:
        network.heal()
        yield network


@pytest.fixture
async def player(network: Chaos) -> AsyncIterator[Client]:
    """Give a guest behind it."""
    async with connect(network.ws, timeout=MOMENT, heartbeat=HEARTBEAT) as client:
        await client.guest("Ada")
        yield client


@pytest.mark.parametrize("trouble", SILENT)
async def test_a_call_on_a_dead_connection_is_answered_on_another(
    network: Chaos, player: Client, trouble: Trouble
) -> None:
    session = await player.create("klondike")
    network.befall(trouble)
    assert (await session.move("draw")).seq == 1
    assert player.reconnects >= 1
    record = Record.of(await player.record(session.id))
    assert [event.seq for event in record.events] == [1]
    assert (session.gaps, session.repairs) == (0, 0)


@pytest.mark.parametrize("trouble", SILENT)
async def test_whoever_only_listens_hears_what_happens_after(
    network: Chaos, player: Client, client: Client, trouble: Trouble
) -> None:
    session = await client.create("klondike", public=True)
    watch = (await player.open(session.id)).watch()
    network.befall(trouble)
    await session.move("draw")
    await session.move("draw")
    async with asyncio.timeout(MOMENT):
        assert [(await anext(watch)).seq for _ in range(2)] == [1, 2]


async def test_a_dead_connection_is_found_with_more_to_say_than_it_holds(
    network: Chaos, player: Client
) -> None:
    """A ping cannot even be written then."""
    network.befall("stall")
    record = {"nothing": "." * 400_000}
    verdicts = await asyncio.gather(*(player.verify(record) for _ in range(20)))
    assert not any(verdict.valid for verdict in verdicts)
    assert player.reconnects >= 1


async def test_a_connection_that_is_quiet_stays(network: Chaos) -> None:
    """Nothing is to be heard on it but the answers to pings."""
    async with connect(network.ws, heartbeat=CALM) as client:
        before = network.pieces
        await until_true(lambda: network.pieces >= before + 4)
        await client.info()
        assert client.reconnects == 0


async def test_a_long_message_on_a_slow_line_is_a_sign_of_life() -> None:
    """Pings go without an answer for as long as the message before it has not passed."""
    pings = 0

    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Begin a long message, and say a byte more of it to every ping."""
        nonlocal pings
        protocol = ServerProtocol()
        while data := await reader.read(65_536):
            protocol.receive_data(data)
            for event in protocol.events_received():
                if isinstance(event, Request):
                    protocol.send_response(protocol.accept(event))
                    writer.write(b"".join(protocol.data_to_send()) + b"\x81\x7e\x40\x00")
                elif isinstance(event, Frame) and event.opcode is Opcode.PING:
                    pings += 1
                    writer.write(b".")
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(trickle, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        wire = await dial(f"ws://127.0.0.1:{port}/ws")
        watching = asyncio.create_task(wire.watch_over(CALM))
        await until_true(lambda: pings == 3 or watching.done())
        assert not watching.done()
        wire.transport.abort()
        async with asyncio.timeout(MOMENT):
            await watching
