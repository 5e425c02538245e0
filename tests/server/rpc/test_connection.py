import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import structlog
from websockets.asyncio.client import ClientConnection, connect
from websockets.frames import Frame, Opcode

from server.config import Limits
from server.rpc.connection import Connection
from server.rpc.socket_protocol import SocketProtocol
from tests.server.rpc.service import Running, event, run
from tests.server.rpc.test_socket import close_code, received

# Texts this long fill the buffers between two processes soon.
LONG = event("x" * 50_000, 1)

# A notification, so that no answer is in the way.
HELLO = '{"jsonrpc":"2.0","method":"server.info"}'


@asynccontextmanager
async def reading_client(running: Running) -> AsyncGenerator[tuple[ClientConnection, Connection]]:
    """A client that reads when it is asked to, and the server's side of it."""
    # The client library stops reading as soon as one message waits for us.
    async with connect(running.ws, compression=None, max_queue=1) as client:
        await client.send(HELLO)
        yield client, await served(running)


@asynccontextmanager
async def silent_client(running: Running) -> AsyncGenerator[Connection]:
    """The server's side of a client that shakes hands and never reads again."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(client, ("127.0.0.1", running.port))
        await loop.sock_sendall(
            client,
            b"GET /ws HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
            b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        )
        assert b" 101 " in await loop.sock_recv(client, 4096)
        await loop.sock_sendall(client, Frame(Opcode.TEXT, HELLO.encode()).serialize(mask=True))
        yield await served(running)


async def served(running: Running) -> Connection:
    """The one connection there is, once it has said hello."""
    async with asyncio.timeout(20):
        await running.service.informed.wait()
    (connection,) = running.socket.connections
    return connection


async def flood(connection: Connection) -> None:
    """Notify a client that does not read until the connection takes no more."""
    async with asyncio.timeout(30):
        while connection.accepting:
            connection.notify(LONG)
            await asyncio.sleep(0)


async def lost(connection: Connection) -> None:
    """Wait until the connection has ended."""
    gone = asyncio.Event()
    connection.on_close(gone.set)
    async with asyncio.timeout(20):
        await gone.wait()


@pytest.mark.parametrize("limits", [Limits(outbox_messages=10), Limits(outbox_bytes=200_000)])
async def test_a_slow_reader_is_closed(limits: Limits) -> None:
    async with run(limits) as running, reading_client(running) as (client, connection):
        await flood(connection)
        assert await close_code(client) == 1013
        await lost(connection)


async def test_a_client_that_never_reads_is_cut_off() -> None:
    async with run(Limits(outbox_messages=10), close_seconds=0.05) as running:
        async with silent_client(running) as connection:
            await flood(connection)
            await lost(connection)
        assert not running.socket.connections


async def test_a_client_that_answers_no_ping_is_cut_off() -> None:
    class Impatient(SocketProtocol):
        linger_seconds = 0.05

    async with run(protocol=Impatient, ping_seconds=0.2) as running, silent_client(running) as connection:
        # More than the buffers take, and less than the outbox does.
        for _ in range(60):
            connection.notify(LONG)
        await lost(connection)


async def test_a_batch_with_too_many_followers_is_closed() -> None:
    async with run(Limits(outbox_messages=10)) as running, reading_client(running) as (client, connection):
        await client.send('[{"jsonrpc":"2.0","id":1,"method":"session.create"}]')
        await running.service.started.wait()
        for number in range(11):
            connection.notify(event("s", number))
        assert await close_code(client) == 1013
        running.service.created.set()
        await lost(connection)


async def test_what_comes_after_the_end_does_nothing() -> None:
    async with run() as running, reading_client(running) as (client, connection):
        await client.close()
        await lost(connection)
        connection.notify("late")
        connection.close(1000)
        calls: list[str] = []
        connection.on_close(lambda: calls.append("at once"))
        assert calls == ["at once"]


async def test_callbacks_run_once_each_even_if_one_fails() -> None:
    calls: list[str] = []

    def fail() -> None:
        raise RuntimeError

    async with run() as running, reading_client(running) as (client, connection):
        with structlog.testing.capture_logs() as logs:
            connection.on_close(lambda: calls.append("first"))
            connection.on_close(fail)
            connection.on_close(lambda: calls.append("last"))
            await client.close()
            await lost(connection)
        assert calls == ["first", "last"]
        assert [line["log_level"] for line in logs] == ["error"]


async def test_a_close_comes_after_what_waits() -> None:
    async with run() as running, reading_client(running) as (client, connection):
        connection.notify(event("s", 1))
        connection.close(4000, "enough")
        connection.notify(event("s", 2))
        connection.close(4001)
        assert (await received(client))["params"]["seq"] == 1
        assert await close_code(client) == 4000


async def test_the_address_of_a_client() -> None:
    async with run() as running, reading_client(running) as (_, connection):
        assert connection.address == "127.0.0.1"
