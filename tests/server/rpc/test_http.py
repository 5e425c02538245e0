import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from server.config import Limits
from server.rpc.http_protocol import HttpProtocol
from tests.server.rpc.cases import CASES, Json, judge, sent
from tests.server.rpc.service import PLAYER, READER, STORE_DOWN, UNKNOWN, Moved, Running, run

HARD = Limits().hard_bytes
INFO = b'{"jsonrpc":"2.0","id":1,"method":"server.info"}'
JSON = {"content-type": "application/json"}


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    async with run() as server:
        yield server


@pytest.fixture
async def client(running: Running) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=running.http, headers=JSON, timeout=30) as client:
        yield client


async def ask(
    client: httpx.AsyncClient, method: str, params: object = None, token: str | None = None
) -> Json:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    request: Json = {"jsonrpc": "2.0", "id": 1, "method": method, "params": [] if params is None else params}
    response = await client.post("/rpc", json=request, headers=headers)
    assert response.status_code == 200
    return response.json()


async def test_the_json_rpc_cases(client: httpx.AsyncClient, subtests: pytest.Subtests) -> None:
    for case in CASES:
        with subtests.test(case["name"]):
            response = await client.post("/rpc", content=sent(case))
            if response.status_code == 204:
                assert not response.content
                judge(case["expect"], None)
            else:
                assert response.status_code == 200
                assert response.headers["content-type"] == "application/json"
                judge(case["expect"], response.text)


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ('Application/JSON;charset="UTF-8"', 200),
        ("application/json-rpc", 200),
        ("application/jsonrequest", 200),
        (None, 200),
        ("application/json; charset=latin-1", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
    ],
)
async def test_content_type(running: Running, content_type: str | None, status: int) -> None:
    headers = {"content-type": content_type} if content_type else {}
    async with httpx.AsyncClient(base_url=running.http) as client:
        response = await client.post("/rpc", content=INFO, headers=headers)
    assert response.status_code == status


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
async def test_only_post_is_allowed(client: httpx.AsyncClient, method: str) -> None:
    response = await client.request(method, "/rpc")
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"


def padded(size: int) -> bytes:
    return INFO + b" " * (size - len(INFO))


async def test_sizes(client: httpx.AsyncClient) -> None:
    for size, status, refused in [
        (16_384, 200, False),
        (16_385, 200, True),
        (HARD, 200, True),
        (HARD + 1, 413, True),
        (3 * HARD, 413, True),
    ]:
        response = await client.post("/rpc", content=padded(size))
        assert response.status_code == status, size
        if status == 200:
            answer = response.json()
            assert ("error" in answer) == refused, size
            assert answer["id"] == (None if refused else 1)


async def test_a_body_without_a_length_is_bounded_too(client: httpx.AsyncClient) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(HARD // 65_536 + 1):
            yield b" " * 65_536

    assert (await client.post("/rpc", content=chunks())).status_code == 413


async def test_a_body_that_stops_half_way_is_timed_out() -> None:
    async with run(body_seconds=0.1) as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(b"POST /rpc HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n" + INFO)
        assert (await reader.readline()).split()[1] == b"408"
        # The connection can't be used any more, since the rest of the body may still come.
        assert b"connection: close" in await reader.read()
        writer.close()
        await writer.wait_closed()


async def test_a_client_that_leaves_half_way_disturbs_nobody(
    client: httpx.AsyncClient, running: Running
) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", running.port)
    writer.write(b"POST /rpc HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n" + INFO)
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert "result" in await ask(client, "server.info")


async def test_tokens(client: httpx.AsyncClient) -> None:
    move = ["sync", "draw", 0]
    assert "result" in await ask(client, "session.move", move, PLAYER)
    for token, kind in [(READER, "forbidden"), (UNKNOWN, "unauthenticated"), (None, "unauthenticated")]:
        assert (await ask(client, "session.move", move, token))["error"]["data"]["kind"] == kind
    assert "result" in await ask(client, "server.info", token=UNKNOWN)


async def test_the_scheme_of_a_token(client: httpx.AsyncClient) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "session.move", "params": ["sync", "draw", 0]}
    for value, known in [
        (f"bearer {PLAYER}", True),
        (f"Basic {PLAYER}", False),
        ("Bearer", False),
        ("", False),
    ]:
        response = await client.post("/rpc", json=request, headers={"authorization": value})
        assert ("result" in response.json()) == known, value


async def test_without_the_store_of_tokens_every_request_is_unavailable(client: httpx.AsyncClient) -> None:
    calls = [{"jsonrpc": "2.0", "id": id, "method": "server.info"} for id in (1, 2)]
    headers = {"authorization": f"Bearer {STORE_DOWN}"}
    answers = (await client.post("/rpc", json=calls, headers=headers)).json()
    assert [(answer["id"], answer["error"]["data"]["kind"]) for answer in answers] == [
        (1, "unavailable"),
        (2, "unavailable"),
    ]
    notification = {"jsonrpc": "2.0", "method": "server.info"}
    assert (await client.post("/rpc", json=notification, headers=headers)).status_code == 204


async def test_what_needs_a_socket_is_not_allowed(client: httpx.AsyncClient) -> None:
    answer = await ask(client, "session.subscribe", ["s"], PLAYER)
    assert answer["error"]["data"] == {"kind": "not_allowed"}
    # What comes first in the protocol's order comes first here too.
    for params, token, kind in [
        (["s"], None, "unauthenticated"),
        ([], PLAYER, "invalid_params"),
        ([], None, "unauthenticated"),
    ]:
        assert (await ask(client, "session.subscribe", params, token))["error"]["data"]["kind"] == kind


async def test_a_future_is_awaited(client: httpx.AsyncClient, running: Running) -> None:
    asking = asyncio.create_task(ask(client, "session.move", ["s", "draw", 0], PLAYER))
    await running.service.started.wait()
    running.service.moves[0].set_result(Moved(1, []))
    assert (await asking)["result"] == {"seq": 1, "patch": []}


async def test_any_origin_may_call(client: httpx.AsyncClient) -> None:
    origin = {"origin": "https://example.org"}
    response = await client.post("/rpc", content=INFO, headers=origin)
    assert response.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in response.headers
    for path, method in [("/rpc", "POST"), ("/openrpc.json", "GET")]:
        preflight = await client.options(
            path,
            headers={
                **origin,
                "access-control-request-method": method,
                "access-control-request-headers": "authorization, content-type",
            },
        )
        assert preflight.status_code == 200
        assert preflight.headers["access-control-allow-origin"] == "*"
        assert "authorization" in preflight.headers["access-control-allow-headers"].lower()


async def test_the_document(client: httpx.AsyncClient, running: Running) -> None:
    for _ in range(2):
        response = await client.get("/openrpc.json", headers={"origin": "https://example.org"})
        assert response.content == running.document
        assert response.headers["vary"] == "Origin"
        assert response.headers["access-control-allow-origin"] == "*"
    assert (await ask(client, "rpc.discover"))["result"] == json.loads(running.document)
    assert (await client.post("/openrpc.json")).status_code == 405


class Impatient(HttpProtocol):
    """Gives a client little time and room for its head."""

    head_seconds = 0.3
    head_bytes = 2_000


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /rpc HT",
        b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n",
        b"GET /openrpc.json HTTP/1.1\r\nHost: x\r\n\r\nGET /openr",
        b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 1_000,
    ],
    ids=["silent", "half a line", "half a handshake", "half of a second head", "endless"],
)
async def test_a_head_that_does_not_come_to_its_end_is_not_waited_for(sent: bytes) -> None:
    async with run(http_protocol=Impatient) as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(sent)
        async with asyncio.timeout(20):
            with contextlib.suppress(ConnectionResetError):
                await reader.read()
        writer.close()


async def test_a_body_may_take_longer_than_a_head() -> None:
    async with run(http_protocol=Impatient) as running:
        body = b'{"jsonrpc":"2.0","method":"server.info","id":1}'
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        head = f"POST /rpc HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body[:10])
        await asyncio.sleep(2 * Impatient.head_seconds)
        writer.write(body[10:])
        async with asyncio.timeout(20):
            assert (await reader.read()).startswith(b"HTTP/1.1 200")
        writer.close()
