"""Messages that come too fast, over both transports."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, cast

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from server.buckets import SECOND
from server.config import Limits
from tests.server.rpc.cases import Json
from tests.server.rpc.service import PLAYER, READER, STORE_DOWN, Running, run
from tests.waiting import until_true

INFO = '{"jsonrpc":"2.0","id":%s,"method":"server.info"}'
NOTE = '{"jsonrpc":"2.0","method":"server.info"}'


class Clock:
    """A clock that goes on when a test says so."""

    def __init__(self) -> None:
        self.now = 10**12

    def __call__(self) -> int:
        return self.now

    def wait(self, milliseconds: int) -> None:
        self.now += milliseconds * SECOND // 1_000


@asynccontextmanager
async def opened(running: Running, token: str | None = None) -> AsyncGenerator[ClientConnection]:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with connect(running.ws, additional_headers=headers, compression=None) as client:
        yield client


async def received(client: ClientConnection) -> Any:
    async with asyncio.timeout(20):
        return json.loads(await client.recv())


async def ask(client: ClientConnection, text: str = INFO % 1) -> Any:
    await client.send(text)
    return await received(client)


async def post(running: Running, content: str | bytes = INFO % 1, token: str | None = None) -> Any:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(timeout=20) as http:
        response = await http.post(f"{running.http}/rpc", content=content, headers=headers)
    assert response.status_code in {200, 204}
    return response.json() if response.content else None


async def close_reason(client: ClientConnection) -> tuple[int | None, str | None]:
    async with asyncio.timeout(20):
        with suppress(ConnectionClosed):
            async for _ in client:
                pass
    return client.close_code, client.close_reason


def kinds(answers: list[Json]) -> list[str]:
    return [answer["error"]["data"]["kind"] if "error" in answer else "done" for answer in answers]


def retry_after(answer: Json) -> int:
    """Return how long a refused message is to wait."""
    error = answer["error"]
    assert error["code"] == 1009
    assert error["data"].keys() == {"kind", "retry_after_ms"}
    assert error["data"]["kind"] == "rate_limited"
    return error["data"]["retry_after_ms"]


async def test_a_connection_that_is_told_to_wait_may_go_on_then_and_not_before() -> None:
    clock = Clock()
    limits = Limits(connection_rate=3, connection_burst=5)
    async with run(limits, now=clock) as running, opened(running) as client:
        assert kinds([await ask(client) for _ in range(5)]) == ["done"] * 5
        wait = retry_after(await ask(client))
        assert wait == 334
        clock.wait(wait - 1)
        assert retry_after(await ask(client)) == 1
        clock.wait(1)
        assert kinds([await ask(client) for _ in range(2)]) == ["done", "rate_limited"]
        # Another connection is none the worse for it.
        async with opened(running) as other:
            assert kinds([await ask(other) for _ in range(5)]) == ["done"] * 5
        assert running.service.calls == 11


async def test_a_player_has_one_limit_on_all_connections_and_over_http() -> None:
    clock = Clock()
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(run(Limits(player_rate=1, player_burst=5), now=clock))
        one, two = [await stack.enter_async_context(opened(running, PLAYER)) for _ in range(2)]
        rival = await stack.enter_async_context(opened(running, READER))
        assert kinds([await ask(one) for _ in range(2)]) == ["done"] * 2
        assert kinds([await ask(two) for _ in range(2)]) == ["done"] * 2
        assert kinds([await post(running, token=PLAYER) for _ in range(2)]) == ["done", "rate_limited"]
        for client in (one, two):
            assert retry_after(await ask(client)) == 1_000
        assert kinds([await ask(rival), await post(running)]) == ["done"] * 2
        # Whoever acts for the player counts as the player.
        use = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "auth.use", "params": [PLAYER]})
        assert kinds([await ask(rival, use), await ask(rival)]) == ["done", "rate_limited"]
        clock.wait(1_000)
        assert kinds([await ask(two), await post(running, token=PLAYER)]) == ["done", "rate_limited"]


async def test_an_address_has_one_limit_whoever_calls() -> None:
    clock = Clock()
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(run(Limits(address_rate=1, address_burst=6), now=clock))
        # Each of the two handshakes counts as well.
        one = await stack.enter_async_context(opened(running, PLAYER))
        two = await stack.enter_async_context(opened(running))
        assert kinds([await ask(one), await ask(two), await post(running)]) == ["done"] * 3
        assert kinds([await post(running, token=READER) for _ in range(2)]) == ["done", "rate_limited"]
        assert kinds([await ask(one), await ask(two)]) == ["rate_limited"] * 2
        assert kinds([await post(running, token=STORE_DOWN)]) == ["rate_limited"]
        async with opened(running, STORE_DOWN) as third:
            assert await close_reason(third) == (1013, "too many messages from this address")
        # Nobody has looked for that token.
        assert running.service.tokens == [PLAYER, READER]
        clock.wait(1_000)
        assert kinds([await post(running), await ask(one)]) == ["done", "rate_limited"]


async def test_a_batch_counts_as_its_members() -> None:
    batch = f"[{','.join(INFO % number for number in range(5))}]"
    clock = Clock()
    limits = Limits(connection_burst=3, address_burst=8)
    async with run(limits, now=clock) as running, opened(running) as client:
        answers = await ask(client, batch)
        assert kinds(answers) == ["done"] * 3 + ["rate_limited"] * 2
        assert [answer["id"] for answer in answers] == list(range(5))
        # A handshake and three members were admitted.
        assert kinds(await post(running, batch)) == ["done"] * 4 + ["rate_limited"]
        assert kinds(await post(running, batch)) == ["rate_limited"] * 5


async def test_what_is_no_request_counts_too_and_is_told_what_it_is() -> None:
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(run(Limits(address_burst=9), now=Clock()))
        client = await stack.enter_async_context(opened(running))
        wrong_id = '{"jsonrpc":"2.0","id":[],"method":"server.info"}'
        faults = ["{", "[]", "[1]", wrong_id, f"[{wrong_id}]", "x" * 20_000]
        told = [await ask(client, fault) for fault in faults]
        assert kinds([await ask(client)]) == ["done"]
        assert kinds([await post(running, b"\xff")]) == ["parse_error"]
        assert kinds([await ask(client)]) == ["rate_limited"]
        assert [await ask(client, fault) for fault in faults] == told
        assert [await post(running, fault) for fault in faults] == told
        params = '{"jsonrpc":"2.0","id":1,"method":"server.info","params":1}'
        assert kinds([await ask(client, params)]) == ["invalid_request"]
        nonesuch = '{"jsonrpc":"2.0","id":1,"method":"nonesuch"}'
        assert kinds([await ask(client, nonesuch)]) == ["rate_limited"]


async def test_a_notification_that_comes_too_early_is_not_carried_out() -> None:
    limits = Limits(connection_burst=2)
    async with run(limits, now=Clock()) as running, opened(running) as client:
        for _ in range(9):
            await client.send(NOTE)
        assert kinds([await ask(client)]) == ["rate_limited"]
        assert running.service.calls == 2


async def test_an_address_has_no_more_connections_than_the_limit() -> None:
    async with run(Limits(address_connections=2), now=Clock()) as running, opened(running) as one:
        addresses = running.dispatcher.meters.addresses
        async with opened(running) as two:
            async with opened(running) as third:
                assert await close_reason(third) == (1013, "too many connections from this address")
            assert kinds([await ask(one), await ask(two), await post(running)]) == ["done"] * 3
        await until_true(lambda: addresses.holders("127.0.0.1") == 1)
        async with opened(running) as two:
            assert kinds([await ask(two)]) == ["done"]
        await until_true(lambda: addresses.holders("127.0.0.1") == 1)
        # One whose token cannot be looked up takes no place for long.
        async with opened(running, STORE_DOWN) as lost:
            assert (await close_reason(lost))[0] == 1013
        async with opened(running) as two:
            assert kinds([await ask(two)]) == ["done"]


async def test_nothing_is_left_of_those_who_have_gone() -> None:
    clock = Clock()
    async with run(Limits(), now=clock) as running:
        meters = running.dispatcher.meters
        async with AsyncExitStack() as stack:
            for _ in range(10):
                client = await stack.enter_async_context(opened(running, PLAYER))
                await ask(client)
            assert len(meters.players) == len(meters.addresses) == 1
            clock.wait(60_000)
        await until_true(lambda: not running.socket.connections and not len(meters.addresses))
        assert len(meters.players) == 0
        await post(running, token=PLAYER)
        clock.wait(60_000)
        async with opened(running, READER) as client:
            await ask(client)
            assert len(meters.players) == 1


async def test_one_who_floods_is_read_no_further() -> None:
    clock = Clock()
    async with run(Limits(connection_burst=1), now=clock) as running, opened(running) as client:
        await ask(client)
        (connection,) = running.socket.connections
        receive = running.dispatcher.receive
        for _ in range(30):
            assert receive(INFO % 1, connection) is None
        batch = receive(f"[{INFO % 1}]", connection)
        assert batch is not None
        await batch
        for text in (INFO % 1, NOTE, "{", f"[{INFO % 1}]"):
            rest = cast("Coroutine[object, None, None]", receive(text, connection))
            # It goes as far as it does without waiting; there would be a StopIteration if that were the end.
            rest.send(None)
            rest.close()
        # With time, patience is back.
        clock.wait(60_000)
        assert receive(INFO % 1, connection) is None
        assert receive(INFO % 1, connection) is None


async def test_one_who_floods_gets_through_in_the_end_and_holds_up_nobody() -> None:
    count = 500
    limits = Limits(connection_rate=200, connection_burst=25)
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(run(limits, now=time.monotonic_ns))
        client = await stack.enter_async_context(opened(running))
        other = await stack.enter_async_context(opened(running))
        for number in range(count):
            await client.send(INFO % number)
        answers: list[Json] = []
        while len(answers) < count:
            answers.append(await received(client))
            if len(answers) % 25 == 0:
                assert kinds([await ask(other)]) == ["done"]
        assert [answer["id"] for answer in answers] == list(range(count))
        # It is refused at first, then not read: what it sends waits until it may come.
        assert 32 <= kinds(answers).count("rate_limited") <= count // 4


async def test_a_server_stops_while_one_who_floods_waits() -> None:
    async with run(Limits(connection_burst=1), now=Clock()) as running, opened(running) as client:
        for number in range(100):
            await client.send(INFO % number)
        for _ in range(33):
            await received(client)
        (connection,) = running.socket.connections
        resting = asyncio.create_task(connection.rest(3_600))
        await running.socket.drain(20)
        assert (await close_reason(client))[0] == 1012
        async with asyncio.timeout(20):
            await resting
