"""Clients that flood, never read, or never come to an end, at WebSockets."""

import asyncio
import contextlib
import itertools
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.client import connect
from websockets.frames import Close, Frame, Opcode

from server.config import Limits
from server.rpc.rounds import Rounds
from server.rpc.socket_protocol import SocketProtocol
from tests.server.rpc.service import PLAYER, Running, run
from tests.server.rpc.test_socket import FENCE, ask, close_code, opened, received, request

_HANDSHAKE = (
    b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_CLOSE = Close(1000, "").serialize()


def framed(opcode: Opcode, payload: bytes, *, fin: bool = True) -> bytes:
    return Frame(opcode, payload, fin).serialize(mask=True)


class Watched(SocketProtocol):
    """Tells when its connection is lost for good."""

    lost: asyncio.Event

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.lost.set()


def watched(**bounds: float) -> type[Watched]:
    """Return the protocol with bounds of its own."""
    return type("Bounded", (Watched,), {**bounds, "lost": asyncio.Event()})


@asynccontextmanager
async def deaf(running: Running) -> AsyncGenerator[socket.socket]:
    """Give a client that has shaken hands, and does not read by itself."""
    loop = asyncio.get_running_loop()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        await loop.sock_connect(client, ("127.0.0.1", running.port))
        await loop.sock_sendall(client, _HANDSHAKE)
        assert b" 101 " in await loop.sock_recv(client, 4096)
        yield client


async def test_one_who_floods_does_not_hold_up_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rounds, "line_seconds", 0.0)
    async with run() as running, opened(running) as other, deaf(running) as flooder:
        service = running.service
        note = framed(Opcode.TEXT, b'{"jsonrpc":"2.0","method":"server.info"}')
        flood = asyncio.create_task(asyncio.get_running_loop().sock_sendall(flooder, note * 20_000))
        await service.informed.wait()
        for _ in range(5):
            before = service.calls
            await ask(other, "games.describe", "klondike")
            assert service.calls - before < 1_000
        assert service.calls < 20_000
        flood.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await flood


async def test_all_that_was_sent_at_once_is_carried_out_in_order() -> None:
    async with run() as running, opened(running) as client:
        count = 20 * SocketProtocol.turn_frames
        frames = [framed(Opcode.TEXT, request("server.info", id=i).encode()) for i in range(count)]
        client.transport.write(b"".join(frames))
        assert [(await received(client))["id"] for _ in range(count)] == list(range(count))


async def test_frames_that_come_with_the_handshake_wait_for_it() -> None:
    async with run() as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(_HANDSHAKE + framed(Opcode.TEXT, FENCE.encode()))
        async with asyncio.timeout(20):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101")
            assert b'"fence"' in await reader.readuntil(b"}}")
        writer.close()


async def test_what_a_client_has_sent_before_it_hangs_up_is_carried_out() -> None:
    async with run() as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(_HANDSHAKE)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(framed(Opcode.TEXT, FENCE.encode()))
        writer.close()
        async with asyncio.timeout(20):
            await running.service.informed.wait()


@pytest.mark.parametrize("part", [b"", b"x"])
async def test_a_message_of_endless_parts_closes(part: bytes) -> None:
    async with run(protocol=watched(message_frames=10)) as running, opened(running) as client:
        frames = [framed(Opcode.TEXT, b"", fin=False), *[framed(Opcode.CONT, part, fin=False)] * 50]
        client.transport.write(b"".join(frames))
        assert await close_code(client) == 1008


async def test_as_many_parts_as_allowed_are_a_message() -> None:
    async with run(protocol=watched(message_frames=len(FENCE))) as running, opened(running) as client:
        for _ in range(2):
            await client.send(iter(FENCE))
            assert (await received(client))["id"] == "fence"


async def test_a_message_that_does_not_come_to_an_end_closes() -> None:
    async with run(protocol=watched(message_seconds=0.1)) as running, opened(running) as client:
        client.transport.write(framed(Opcode.TEXT, b"begun", fin=False))
        assert await close_code(client) == 1008


async def test_a_close_after_a_message_is_not_late() -> None:
    async with run(protocol=watched(message_seconds=30)) as running, opened(running) as client:
        client.transport.write(framed(Opcode.TEXT, b"begun", fin=False) + framed(Opcode.CLOSE, _CLOSE))
        assert await close_code(client) in {1000, 1002}


async def test_of_pings_whose_pongs_nobody_reads_the_last_is_answered() -> None:
    count = 150_000
    async with run() as running, deaf(running) as client:
        loop = asyncio.get_running_loop()
        pings = b"".join(framed(Opcode.PING, b"%120d" % i) for i in range(count))
        await loop.sock_sendall(client, pings)
        pongs = 0
        tail, last = b"", b"%120d" % (count - 1)
        async with asyncio.timeout(60):
            while not tail.endswith(last):
                data = await loop.sock_recv(client, 65_536)
                assert data
                pongs += data.count(b"\x8a\x78")
                tail = (tail + data)[-200:]
        assert pongs < count


async def test_a_client_that_closes_and_does_not_read_is_let_go() -> None:
    protocol = watched(linger_seconds=0.1)
    limits = Limits(pending_calls=10_000, outbox_bytes=1 << 30)
    async with run(limits, protocol=protocol) as running, deaf(running) as client:
        loop = asyncio.get_running_loop()
        document = framed(Opcode.TEXT, b'{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}')
        # More than the buffers of the system take.
        await loop.sock_sendall(client, document * 1_000 + framed(Opcode.CLOSE, _CLOSE))
        async with asyncio.timeout(30):
            await protocol.lost.wait()


async def test_a_client_that_sends_nonsense_and_does_not_hang_up_is_let_go() -> None:
    protocol = watched(linger_seconds=0.1)
    async with run(protocol=protocol) as running, deaf(running) as client:
        await asyncio.get_running_loop().sock_sendall(client, b"\xff" * 100)
        async with asyncio.timeout(20):
            await protocol.lost.wait()


async def test_why_it_closes_is_told_though_the_client_sends_on() -> None:
    async with run() as running, deaf(running) as client:
        loop = asyncio.get_running_loop()
        head = b"\x81\xff" + (5 << 20).to_bytes(8, "big") + bytes(4)
        sending = asyncio.create_task(loop.sock_sendall(client, head + bytes(5 << 20)))
        said = b""
        async with asyncio.timeout(20):
            while len(said) < 4:
                data = await loop.sock_recv(client, 4096)
                assert data
                said += data
        assert said[0] == 0x88
        assert int.from_bytes(said[2:4], "big") == 1009
        sending.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError):
            await sending


async def test_a_ping_that_cannot_be_read_about_is_waited_for() -> None:
    rounds = itertools.count(1)
    enough = asyncio.Event()

    class Impatient(SocketProtocol):
        def keepalive_timeout(self) -> None:
            super().keepalive_timeout()
            if next(rounds) == 3:
                enough.set()

    async with run(protocol=Impatient, ping_seconds=0.1) as running, opened(running) as client:
        await client.send(f"[{request('session.create')}]")
        await client.send(FENCE)
        async with asyncio.timeout(20):
            # The batch waits all the while, and nothing is read, not even an answer to a ping.
            await enough.wait()
        running.service.created.set()
        assert json.loads(await client.recv())[0]["result"] == {"session": "new"}
        assert (await received(client))["id"] == "fence"
        assert "result" in await ask(client, "server.info")


async def test_a_client_that_answers_no_ping_is_parted_with() -> None:
    protocol = watched(linger_seconds=0.1)
    async with run(protocol=protocol, ping_seconds=0.1) as running, deaf(running):
        async with asyncio.timeout(20):
            await protocol.lost.wait()


async def test_clients_that_flood_can_be_parted_with() -> None:
    async with run() as running, opened(running) as client:
        note = framed(Opcode.TEXT, b'{"jsonrpc":"2.0","method":"server.info"}')
        client.transport.write(note * 50_000)
        await running.service.informed.wait()
        await running.socket.drain(5)
        assert await close_code(client) == 1012


async def test_no_token_is_lost_by_a_flood() -> None:
    async with run() as running, connect(running.ws, compression=None) as client:
        calls = [request("auth.use", PLAYER, id=0)]
        calls += [request("session.move", "sync", "draw", i, id=i + 1) for i in range(100)]
        client.transport.write(b"".join(framed(Opcode.TEXT, call.encode()) for call in calls))
        assert (await received(client))["result"] == {"scopes": ["play", "read"]}
        assert [(await received(client))["result"]["seq"] for _ in range(100)] == list(range(1, 101))
