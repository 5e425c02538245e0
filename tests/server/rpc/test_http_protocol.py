"""Clients that never read, never end or send too much, over plain HTTP."""

import asyncio
import contextlib
import json
import logging
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from server.rpc.http_protocol import HttpProtocol
from tests.server.rpc.service import Running, run
from tests.server.rpc.test_socket import opened

_PAGE = b"GET /openrpc.json HTTP/1.1\r\nHost: x\r\n\r\n"
_LAST_PAGE = b"GET /openrpc.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
_DISCOVER = {"jsonrpc": "2.0", "id": 1, "method": "rpc.discover"}


class Watched(HttpProtocol):
    """Tells when a connection is lost for good."""

    lost: asyncio.Event

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.lost.set()


def watched(**bounds: float) -> type[Watched]:
    """Return the protocol with bounds of its own."""
    return type("Bounded", (Watched,), {**bounds, "lost": asyncio.Event()})


@asynccontextmanager
async def deaf(running: Running) -> AsyncGenerator[socket.socket]:
    """Give a client that does not read by itself, and for which the system keeps little."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", running.port))
        yield client


def post(body: str) -> bytes:
    return f"POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


async def until_end(reader: asyncio.StreamReader) -> bytes:
    """Read to the end, however that comes."""
    said = b""
    async with asyncio.timeout(20):
        with contextlib.suppress(ConnectionResetError):
            while data := await reader.read(65_536):
                said += data
    return said


async def send_until_cut(client: socket.socket, data: bytes) -> None:
    """Send the same again and again until the connection is no more."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(30):
        with contextlib.suppress(OSError):
            while True:
                await loop.sock_sendall(client, data)
                await asyncio.sleep(0.01)


async def test_a_client_that_reads_no_answer_is_cut_off() -> None:
    protocol = watched(read_seconds=0.1)
    async with run(http_protocol=protocol) as running, deaf(running) as client:
        batch = json.dumps([_DISCOVER] * 32)
        await asyncio.get_running_loop().sock_sendall(client, 30 * post(batch))
        async with asyncio.timeout(30):
            await protocol.lost.wait()


async def test_a_client_that_reads_no_last_answer_is_cut_off() -> None:
    protocol = watched(read_seconds=0.1)
    async with run(http_protocol=protocol) as running, deaf(running) as client:
        batch = json.dumps([_DISCOVER] * 32)
        await asyncio.get_running_loop().sock_sendall(client, 20 * post(batch) + _LAST_PAGE)
        async with asyncio.timeout(30):
            await protocol.lost.wait()


async def test_a_client_that_reads_slowly_gets_everything() -> None:
    protocol = watched(read_seconds=1.0, read_bytes=1)
    async with run(http_protocol=protocol) as running, deaf(running) as client:
        loop = asyncio.get_running_loop()
        calls = 20 * post(json.dumps([_DISCOVER] * 32)) + _LAST_PAGE
        sending = asyncio.create_task(loop.sock_sendall(client, calls))
        size = 0
        # It takes a few times as long as a client that reads nothing has.
        async with asyncio.timeout(60):
            while data := await loop.sock_recv(client, 32_768):
                size += len(data)
                await asyncio.sleep(0.02)
        await sending
        assert size > 20 * 32 * len(running.document)


async def test_among_many_who_read_nothing_the_first_is_cut_off() -> None:
    protocol = watched(most_unread=1, hurried_seconds=0)
    async with run(http_protocol=protocol) as running, deaf(running) as first, deaf(running) as second:
        loop = asyncio.get_running_loop()
        batches = 30 * post(json.dumps([_DISCOVER] * 32))
        await loop.sock_sendall(first, batches)
        await loop.sock_sendall(second, batches)
        async with asyncio.timeout(30):
            await protocol.lost.wait()


async def test_among_many_who_say_nothing_the_first_is_cut_off() -> None:
    protocol = watched(most_headless=2, hurried_seconds=0)
    async with run(http_protocol=protocol) as running, deaf(running) as silent, opened(running) as client:
        async with deaf(running), deaf(running):
            async with asyncio.timeout(20):
                with contextlib.suppress(ConnectionResetError):
                    assert await asyncio.get_running_loop().sock_recv(silent, 1) == b""
        # Who has begun to talk is no more among them.
        pong = await client.ping()
        await pong


async def test_a_body_that_nobody_wants_must_come_to_its_end() -> None:
    async with run(http_protocol=watched(body_seconds=0.2)) as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(b"GET /openrpc.json HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nbegun")
        assert (await until_end(reader)).startswith(b"HTTP/1.1 200")
        writer.close()


async def test_line_ends_put_nothing_off() -> None:
    async with run(http_protocol=watched(head_seconds=0.2)) as running, deaf(running) as client:
        await send_until_cut(client, b"\r\n")
    async with run(http_protocol=watched(head_seconds=0.2)) as running, deaf(running) as client:
        await asyncio.get_running_loop().sock_sendall(client, _PAGE)
        await send_until_cut(client, b"\r\n")


async def test_too_many_requests_at_once_disturb_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async with run(http_protocol=watched()) as running, deaf(running) as client, opened(running) as other:
        with caplog.at_level(logging.WARNING):
            create = post('{"jsonrpc":"2.0","id":1,"method":"session.create"}')
            await send_until_cut(client, create * (HttpProtocol.most_waiting + 2))
            # What was begun for it goes on, and finds nobody to be told of it.
            running.service.created.set()
            await (await other.ping())
        assert not caplog.records


async def test_requests_one_behind_the_other_are_answered_in_order() -> None:
    async with run() as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        count = HttpProtocol.most_waiting
        calls = [f'{{"jsonrpc":"2.0","id":{i},"method":"server.info"}}' for i in range(count)]
        writer.write(b"".join(map(post, calls)) + _LAST_PAGE)
        said = await until_end(reader)
        places = [said.find(f'"id":{i},'.encode()) for i in range(count)]
        assert -1 not in places
        assert places == sorted(places)
        writer.close()
