"""The server as a process: how it starts and how it stops."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import httpx
import pytest
from websockets.asyncio.client import connect

from tests.contract import Json
from tests.peer import Lost, Peer, guest
from tests.processes import Process, served
from tests.server.store.conftest import connect_directly
from tests.waiting import until, until_blocked


@pytest.fixture
async def process(database_url: str, redis_url: str) -> AsyncIterator[Process]:
    async with served(DATABASE_URL=database_url, REDIS_URL=redis_url) as process:
        yield process


async def test_what_is_under_way_is_answered_before_it_stops(
    process: Process, database_url: str, redis_url: str
) -> None:
    """A lock on the table of events keeps a move under way for as long as it is looked at."""
    async with AsyncExitStack() as stack:
        player = await stack.enter_async_context(guest(process.ws))
        idle = await stack.enter_async_context(Peer(process.ws))
        http = await stack.enter_async_context(httpx.AsyncClient(timeout=30))
        assert (await http.get(f"{process.http}/readyz")).status_code == 200
        session, second = [(await player.deal("klondike"))["session"] for _ in range(2)]
        lock = await connect_directly(database_url, command_timeout=30)
        stack.push_async_callback(lock.close)
        await lock.execute("BEGIN; LOCK TABLE events IN SHARE ROW EXCLUSIVE MODE")
        moving = await player.begin("session.move", session=session, move="draw", seq=0)
        posting = asyncio.create_task(post_move(process, player.token, second))
        await until_blocked(lock.fetchval)

        async def both_begun() -> bool:
            metrics = (await http.get(f"{process.http}/metrics")).text
            return 'patience_calls_total{method="session.move"} 2' in metrics

        await until(both_begun, seconds=3)
        process.send(signal.SIGTERM)
        assert await idle.notified() == {"jsonrpc": "2.0", "method": "server.closing", "params": {}}
        assert await idle.until_closed() == 1012
        # This goes over the connection that was open before: new ones are refused.
        response = await http.get(f"{process.http}/readyz")
        assert (response.status_code, response.json()) == (503, {"status": "draining"})
        with pytest.raises(Lost):
            await stack.enter_async_context(Peer(process.ws))
        assert not moving.done()
        await lock.execute("COMMIT")
        answer = await moving
        assert answer["seq"] == (await posting)["seq"] == 1
        assert (await player.notified())["method"] == "server.closing"
        assert await player.until_closed() == 1012
        assert await process.wait() == 0
        token = player.token
    async with served(DATABASE_URL=database_url, REDIS_URL=redis_url) as again, Peer(again.ws, token) as peer:
        assert await peer.call("session.move", session=session, move="draw", seq=0) == answer
        missed = await peer.call("session.subscribe", session=session, since=0)
        assert [event["seq"] for event in missed["events"]] == [1]


async def post_move(process: Process, token: str, session: str) -> Json:
    """Make a move over HTTP and return its result."""
    params = {"session": session, "move": "draw", "seq": 0}
    message = {"jsonrpc": "2.0", "id": 1, "method": "session.move", "params": params}
    async with httpx.AsyncClient(timeout=30, headers={"authorization": f"Bearer {token}"}) as http:
        return (await http.post(f"{process.http}/rpc", json=message)).json()["result"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_it_in_good_order(process: Process, number: signal.Signals) -> None:
    async with Peer(process.ws) as peer:
        process.send(number)
        assert (await peer.notified())["method"] == "server.closing"
        assert await peer.until_closed() == 1012
    assert await process.wait() == 0
    assert "Traceback" not in process.log


async def test_a_client_that_does_not_answer_the_close_does_not_keep_it(process: Process) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", process.port)
    writer.write(
        b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    assert b"101" in await reader.readline()
    process.send(signal.SIGTERM)
    assert await process.wait() == 0
    writer.close()


async def test_a_frame_over_the_hard_limit_closes_the_connection_alone(process: Process) -> None:
    async with connect(process.ws, compression=None) as socket, Peer(process.ws) as peer:
        await socket.send('"' + "x" * (1 << 20) + '"')
        await socket.wait_closed()
        assert socket.close_code == 1009
        assert (await peer.call("server.info"))["protocol"] == 1


HANDSHAKE = (
    b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
)
INFO = b'{"jsonrpc":"2.0","id":1,"method":"server.info"}'


async def exchanged(process: Process, data: bytes) -> bytes:
    """Send this on a new connection and return all that comes until it is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", process.port)
    writer.write(data)
    async with asyncio.timeout(30):
        answer = await reader.read()
    writer.close()
    return answer


async def test_a_handshake_with_a_body_is_refused(process: Process) -> None:
    answer = await exchanged(process, HANDSHAKE + b"Content-Length: 1\r\n\r\nx")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert await process.stop() == 0


async def test_a_slash_at_the_end_leads_nowhere(process: Process) -> None:
    request = b"POST /rpc/ HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    answer = await exchanged(process, request)
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"evil.example" not in answer


async def test_a_connection_on_which_too_much_waits_is_cut(process: Process) -> None:
    request = b"GET /openrpc.json HTTP/1.1\r\nHost: x\r\n\r\n"
    some = await exchanged(
        process, request * 32 + request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    )
    assert some.count(b"HTTP/1.1 200 OK") == 33
    try:
        many = await exchanged(process, request * 1000)
    except ConnectionError:
        many = b""
    assert many.count(b"HTTP/1.1 200 OK") <= 33
    assert b"400" not in many.split(b"\r\n")[0]


@pytest.mark.parametrize("split", [False, True])
async def test_an_offer_of_another_protocol_is_passed_over(process: Process, split: bool) -> None:
    head = (
        b"POST /rpc HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n"
        b"HTTP2-Settings: AAEAAEAAAAIAAAAA\r\nContent-Length: %d\r\n\r\n" % len(INFO)
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", process.port)
    async with asyncio.timeout(30):
        # The next request on the connection is taken as usual.
        for _ in range(2):
            if split:
                writer.write(head[:50])
                await asyncio.sleep(0)
                writer.write(head[50:])
                await asyncio.sleep(0)
                writer.write(INFO)
            else:
                writer.write(head + INFO)
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200 ")
            length = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            assert b'"protocol":1' in await reader.readexactly(length)
    writer.close()


async def test_a_tunnel_is_refused(process: Process) -> None:
    for more in (b"", b"Upgrade: h2c\r\nConnection: Upgrade\r\n"):
        answer = await exchanged(process, b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n" + more + b"\r\n" + INFO)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.count(b"HTTP/1.1") == 1
