"""The server as a process: how it starts and how it stops."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import httpx
import pytest
from websockets.asyncio.client import connect

from server.config import Limits
from server.serving import stop_seconds
from tests.contract import Json
from tests.durability.audit import audit
from tests.durability.crowd import Player, gather
from tests.peer import Lost, Peer, guest
from tests.processes import Process, environment, served
from tests.server.store.conftest import connect_directly
from tests.waiting import until, until_blocked, until_true


@pytest.fixture
async def process(database_url: str, redis_url: str) -> AsyncIterator[Process]:
    """Give a server that stops without notice, whoever watches."""
    settings = {"DATABASE_URL": database_url, "REDIS_URL": redis_url, "PATIENCE_LIMIT_NOTICE_MS": "0"}
    async with served(**settings) as process:
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


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_readiness_ends_before_anybody_is_refused(
    workers: str, database_url: str, redis_url: str
) -> None:
    settings = {"DATABASE_URL": database_url, "REDIS_URL": redis_url, "PATIENCE_LIMIT_NOTICE_MS": "4000"}
    async with served("--workers", workers, **settings) as process:
        assert await readiness(process) == 200
        process.send(signal.SIGTERM)
        found: list[int] = []
        while (status := await readiness(process)) is not None:
            if status == 503 not in found:
                # Whoever comes all the same is served as before.
                async with guest(process.ws) as player:
                    assert (await player.deal("klondike"))["seq"] == 0
            found.append(status)
        assert 503 in found
        assert set(found) <= {200, 503}
        assert await process.wait() == 0
        assert "Traceback" not in process.log


async def readiness(process: Process) -> int | None:
    """Return the status of `/readyz` over a new connection, None if that is refused."""
    async with httpx.AsyncClient(timeout=30) as http:
        try:
            return (await http.get(f"{process.http}/readyz")).status_code
        except httpx.ConnectError:
            return None


async def test_clients_that_do_not_read_do_not_keep_it_and_what_was_answered_is_there(
    database_url: str, redis_url: str
) -> None:
    settings = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
    players = [Player(f"drained-{number}") for number in range(4)]
    async with served(**settings, PATIENCE_LIMIT_DRAIN_MS="2000") as process, AsyncExitStack() as stack:
        for _ in range(3):
            await mute_socket(process, stack)
            await mute_request(process, stack)
        stop = asyncio.Event()
        playing = asyncio.create_task(gather(*(player.play(process.ws, stop) for player in players)))
        await until_true(lambda: all(player.answered >= 20 for player in players), seconds=60)
        process.send(signal.SIGTERM)
        bound = stop_seconds(Limits(drain_ms=2000))
        assert await asyncio.wait_for(process.wait(), bound) == 0
        await playing
        assert "Traceback" not in process.log
    async with served(**settings) as again, Peer(again.ws) as peer:
        for player in players:
            assert await audit(peer, player) > 0


async def mute_socket(process: Process, stack: AsyncExitStack) -> None:
    """Ask for more than all buffers take, read none of it, and stop in the middle of another call."""
    # It takes no more off the wire than one message.
    socket = await connect(process.ws, compression=None, max_queue=1)
    stack.callback(socket.transport.abort)
    for number in range(200):
        await socket.send(f'{{"jsonrpc":"2.0","id":{number},"method":"rpc.discover"}}')
    socket.transport.write(b"\x81\xfe\x10\x00mask and the beginning")


async def mute_request(process: Process, stack: AsyncExitStack) -> None:
    """Do the same by HTTP."""
    _, writer = await asyncio.open_connection("127.0.0.1", process.port, limit=1)
    stack.callback(lambda: writer.transport.abort())
    writer.write(b"GET /openrpc.json HTTP/1.1\r\nHost: x\r\n\r\n" * 30 + b"GET /openrpc.json HTT")
    await writer.drain()


async def test_a_database_that_hangs_does_not_keep_it(database_url: str, redis_url: str) -> None:
    settings = {"DATABASE_URL": database_url, "REDIS_URL": redis_url, "PATIENCE_LIMIT_DRAIN_MS": "1000"}
    async with served(**settings) as process, AsyncExitStack() as stack:
        player = await stack.enter_async_context(guest(process.ws))
        session = (await player.deal("klondike"))["session"]
        lock = await connect_directly(database_url, command_timeout=90)
        stack.push_async_callback(lock.close)
        await lock.execute("BEGIN; LOCK TABLE events, sessions IN ACCESS EXCLUSIVE MODE")
        moving = await player.begin("session.move", session=session, move="draw", seq=0)
        await until_blocked(lock.fetchval)
        process.send(signal.SIGTERM)
        bound = stop_seconds(Limits(drain_ms=1000))
        assert await asyncio.wait_for(process.wait(), bound) == 0
        with pytest.raises(Lost):
            await moving
        assert "Traceback" not in process.log


async def test_a_hangup_does_not_end_a_single_process(process: Process) -> None:
    process.send(signal.SIGHUP)
    await until_true(lambda: "there are none" in process.log)
    async with Peer(process.ws) as peer:
        assert (await peer.call("server.info"))["protocol"] == 1
    assert await process.stop() == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_it_ends_with_its_terminal(workers: str, database_url: str, redis_url: str) -> None:
    near, far = os.openpty()
    command = ["-m", "server", "serve", "--port", "0", "--workers", workers]
    child = subprocess.Popen(
        [sys.executable, "-c", AT_TERMINAL, str(far), *command],
        env=environment(DATABASE_URL=database_url, REDIS_URL=redis_url),
        pass_fds=(far,),
    )
    os.close(far)
    try:
        said = b""
        while b"serves at http" not in said:
            said += os.read(near, 65_536)
        os.close(near)
        # It stops by itself, and is not ended by the signal.
        assert child.wait(60) >= 0
    finally:
        child.kill()
        child.wait(60)


AT_TERMINAL = """
import os, sys
os.login_tty(int(sys.argv[1]))
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_it_in_good_order(process: Process, number: signal.Signals) -> None:
    async with Peer(process.ws) as peer:
        process.send(number)
        assert (await peer.notified())["method"] == "server.closing"
        assert await peer.until_closed() == 1012
    assert await process.wait() == 0
    assert "Traceback" not in process.log


async def test_a_connection_made_just_before_is_answered(process: Process) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", process.port)
    # One that was made later is answered, so this one has been taken.
    assert await readiness(process) == 200
    process.send(signal.SIGTERM)
    await until_true(lambda: '"draining"' in process.log)
    # Nothing else keeps the process, and connections that were asked something before are closed at once.
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await reader.read()
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    async with asyncio.timeout(30):
        assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
    writer.close()
    assert await process.wait() == 0


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
