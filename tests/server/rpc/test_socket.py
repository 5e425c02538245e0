import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode

from server.config import Limits
from server.rpc.socket_protocol import SocketProtocol
from tests.server.rpc.cases import CASES, Json, judge, sent
from tests.server.rpc.service import PLAYER, READER, STORE_DOWN, UNKNOWN, Moved, Running, event, run

FENCE = '{"jsonrpc":"2.0","id":"fence","method":"server.info"}'


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    async with run() as server:
        yield server


def opened(running: Running, token: str | None = PLAYER) -> connect:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return connect(running.ws, additional_headers=headers, compression=None)


@pytest.fixture
async def client(running: Running) -> AsyncIterator[ClientConnection]:
    async with opened(running) as client:
        yield client


def request(method: str, *params: object, id: object = 1) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


async def received(client: ClientConnection) -> Json:
    async with asyncio.timeout(20):
        return json.loads(await client.recv())


async def received_batch(client: ClientConnection) -> list[Json]:
    async with asyncio.timeout(20):
        return json.loads(await client.recv())


async def ask(client: ClientConnection, method: str, *params: object) -> Json:
    await client.send(request(method, *params))
    return await received(client)


async def close_code(client: ClientConnection) -> int:
    """Read until the connection is closed."""
    async with asyncio.timeout(20):
        with suppress(ConnectionClosed):
            async for _ in client:
                pass
    assert client.close_code is not None
    return client.close_code


async def test_the_json_rpc_cases(client: ClientConnection, subtests: pytest.Subtests) -> None:
    for case in CASES:
        if "hex" in case:
            continue
        with subtests.test(case["name"]):
            await client.send(sent(case).decode())
            await client.send(FENCE)
            answer = await client.recv()
            assert isinstance(answer, str)
            if json.loads(answer) == {"jsonrpc": "2.0", "id": "fence", "result": {"protocol": 1}}:
                judge(case["expect"], None)
            else:
                judge(case["expect"], answer)
                assert (await received(client))["id"] == "fence"


async def test_a_binary_frame_closes(client: ClientConnection) -> None:
    await client.send(FENCE.encode())
    assert await close_code(client) == 1003


async def test_a_frame_that_is_not_utf_8_closes(running: Running) -> None:
    for case in CASES:
        if "hex" in case:
            async with opened(running) as client:
                await client.send(sent(case), text=True)
                assert await close_code(client) == 1007


async def test_sizes(running: Running) -> None:
    hard = Limits().hard_bytes
    async with opened(running) as client:
        for size, refused in [(16_384, False), (16_385, True), (hard, True)]:
            await client.send(FENCE + " " * (size - len(FENCE)))
            assert (await received(client))["id"] == (None if refused else "fence")
        await client.send(FENCE + " " * (hard + 1 - len(FENCE)))
        assert await close_code(client) == 1009


async def test_a_message_in_fragments(client: ClientConnection) -> None:
    await client.send(iter(FENCE))
    assert (await received(client))["id"] == "fence"


async def test_tokens_of_the_handshake(running: Running) -> None:
    for token, expected in [
        (PLAYER, None),
        (READER, "forbidden"),
        (UNKNOWN, "unauthenticated"),
        (None, "unauthenticated"),
    ]:
        async with opened(running, token) as client:
            answer = await ask(client, "session.move", "sync", "draw", 0)
            assert answer.get("error", {}).get("data", {}).get("kind") == expected


async def test_without_the_store_of_tokens_come_back_later(running: Running) -> None:
    async with opened(running, STORE_DOWN) as client:
        assert await close_code(client) == 1013


async def test_no_more_connections_than_the_limit() -> None:
    async with run(Limits(connections=1)) as running, opened(running) as first:
        assert "result" in await ask(first, "server.info")
        async with opened(running) as second:
            assert await close_code(second) == 1013
        assert "result" in await ask(first, "server.info")


async def test_acting_for_another_player(running: Running) -> None:
    async with opened(running, None) as client:
        await client.send(request("auth.use", UNKNOWN))
        await client.send(request("session.move", "sync", "draw", 0))
        assert (await received(client))["error"]["data"]["kind"] == "not_found"
        assert (await received(client))["error"]["data"]["kind"] == "unauthenticated"
        # What was sent after it counts on it, though it takes a while.
        await client.send(request("auth.use", PLAYER))
        await client.send(request("session.move", "sync", "draw", 0))
        assert (await received(client))["result"] == {"scopes": ["play", "read"]}
        assert (await received(client))["result"]["seq"] == 1


async def test_acting_for_another_player_within_a_batch(running: Running) -> None:
    async with opened(running, None) as client:
        calls = [request("auth.use", PLAYER), request("session.move", "sync", "draw", 0)]
        await client.send(f"[{','.join(calls)}]")
        assert all("result" in answer for answer in await received_batch(client))


async def test_an_answer_comes_before_the_events_behind_it(client: ClientConnection) -> None:
    await client.send(request("session.subscribe", "s"))
    assert await received(client) == {"jsonrpc": "2.0", "id": 1, "result": {"view": "s"}}
    assert await received(client) == json.loads(event("s", 1))
    assert await received(client) == json.loads(event("s", 2))
    await client.send(FENCE)
    assert (await received(client))["id"] == "fence"


async def test_what_happens_during_a_batch_follows_its_answer(
    client: ClientConnection, running: Running
) -> None:
    await client.send(request("session.move", "before", "draw", 0, id="before"))
    await running.service.started.wait()
    running.service.started.clear()
    calls = [request("session.subscribe", "s", id=1), request("session.move", "t", "draw", 0, id=2)]
    await client.send(f"[{','.join(calls)}]")
    await running.service.started.wait()
    running.service.moves[0].set_result(Moved(1, []))
    await asyncio.sleep(0)
    running.service.moves[1].set_result(Moved(1, []))
    assert [answer["id"] for answer in await received_batch(client)] == [1, 2]
    assert await received(client) == json.loads(event("s", 1))
    assert await received(client) == json.loads(event("s", 2))
    assert (await received(client))["id"] == "before"
    # The connection is as it was before.
    assert "result" in await ask(client, "server.info")


async def test_a_call_that_waits_holds_up_no_other(client: ClientConnection, running: Running) -> None:
    await client.send(request("session.create", id="slow"))
    await client.send(request("session.move", "s", "draw", 0, id="slower"))
    assert (await ask(client, "server.info"))["id"] == 1
    running.service.created.set()
    assert (await received(client))["id"] == "slow"
    running.service.moves[0].set_result(Moved(1, []))
    assert (await received(client))["id"] == "slower"


async def test_no_more_is_read_than_may_be_pending() -> None:
    async with run(Limits(pending_calls=2)) as running, opened(running) as client:
        service = running.service
        for number in range(5):
            await client.send(request("session.move", f"s{number}", "draw", 0, id=number))
        # A second connection is served meanwhile, after which the first one's calls have arrived, too.
        for _ in range(3):
            async with opened(running) as other:
                assert "result" in await ask(other, "server.info")
        assert service.seen == ["s0", "s1"]
        for number in range(5):
            while len(service.moves) <= number:
                service.started.clear()
                await service.started.wait()
            assert len(service.moves) <= number + 2
            service.moves[number].set_result(Moved(number, []))
            assert (await received(client))["result"]["seq"] == number


async def test_notifications_are_bounded_like_calls() -> None:
    async with run(Limits(pending_calls=1)) as running, opened(running) as client:
        for _ in range(2):
            await client.send('{"jsonrpc":"2.0","method":"session.move","params":["s","draw",0]}')
        await client.send(FENCE)
        await running.service.started.wait()
        assert len(running.service.moves) == 1
        running.service.started.clear()
        running.service.moves[0].set_result(Moved(1, []))
        await running.service.started.wait()
        running.service.moves[1].set_result(Moved(2, []))
        assert (await received(client))["id"] == "fence"


async def test_many_calls_at_once_from_a_client_that_reads_late(client: ClientConnection) -> None:
    count = 5_000
    for number in range(count):
        await client.send(request("server.info", id=number))
    for number in range(count):
        assert (await received(client))["id"] == number


async def test_half_a_frame_and_gone(client: ClientConnection, running: Running) -> None:
    assert "result" in await ask(client, "server.info")
    before = set(running.socket.connections)
    half = opened(running)
    async with half as other:
        assert "result" in await ask(other, "server.info")
        (connection,) = running.socket.connections - before
        gone = asyncio.Event()
        connection.on_close(gone.set)
        frame = Frame(Opcode.TEXT, FENCE.encode()).serialize(mask=True)
        other.transport.write(frame[:-9])
        other.transport.abort()
        async with asyncio.timeout(20):
            await gone.wait()
    assert "result" in await ask(client, "server.info")


async def test_a_call_under_way_ends_with_its_connection(running: Running) -> None:
    async with opened(running) as client:
        await client.send(request("session.create"))
        await running.service.started.wait()
        (connection,) = running.socket.connections
        gone = asyncio.Event()
        connection.on_close(gone.set)
    async with asyncio.timeout(20):
        await gone.wait()
    assert not running.socket.connections
    assert [task for task in asyncio.all_tasks() if "Call.finish" in repr(task)] == []


async def test_a_stopping_server_answers_first(running: Running) -> None:
    async with opened(running) as client, opened(running) as idle:
        assert "result" in await ask(idle, "server.info")
        await client.send(request("session.move", "s", "draw", 0))
        await running.service.started.wait()
        draining = asyncio.create_task(running.socket.drain(20))
        closing: Json = {"jsonrpc": "2.0", "method": "server.closing", "params": {}}
        assert await received(idle) == closing
        assert await close_code(idle) == 1012
        # What comes now is dropped: the client will send it to another process.
        await client.send(request("session.move", "dropped", "draw", 1))
        async with opened(running) as late:
            assert await received(late) == closing
            assert await close_code(late) == 1012
        running.service.moves[0].set_result(Moved(1, []))
        assert (await received(client))["result"]["seq"] == 1
        assert await received(client) == closing
        assert await close_code(client) == 1012
        await draining
    assert running.service.seen == ["s"]


async def test_a_stopping_server_does_not_wait_for_ever(running: Running) -> None:
    async with opened(running) as client:
        await client.send(request("session.create"))
        await running.service.started.wait()
        draining = asyncio.create_task(running.socket.drain(0.05))
        assert await close_code(client) == 1012
        await draining


async def test_the_server_can_stop_while_a_client_closes() -> None:
    stopped = asyncio.Event()

    class Stopping(SocketProtocol):
        def handle_close(self, event: Frame) -> None:
            super().handle_close(event)
            # As with answers that the client does not read, the connection is not lost yet.
            self.shutdown()
            stopped.set()

    async with run(protocol=Stopping) as running, opened(running) as client:
        await client.close()
        async with asyncio.timeout(20):
            await stopped.wait()
