"""The application as a whole, in the cases that are told of any JSON-RPC service, and its own addresses."""

import json

import httpx
import pytest
from websockets.asyncio.client import connect

from tests.arena import Address
from tests.peer import Peer
from tests.server.rpc.cases import CASES, judge, sent

FENCE = '{"jsonrpc":"2.0","id":"fence","method":"session.unsubscribe","params":{"session":""}}'


async def test_the_json_rpc_cases_over_a_socket(server: Address, subtests: pytest.Subtests) -> None:
    async with connect(server.ws, compression=None) as socket:
        for case in CASES:
            if "hex" in case:
                continue
            with subtests.test(case["name"]):
                await socket.send(sent(case).decode())
                await socket.send(FENCE)
                answer = await socket.recv()
                assert isinstance(answer, str)
                if json.loads(answer) == {"jsonrpc": "2.0", "id": "fence", "result": {}}:
                    judge(case["expect"], None)
                else:
                    judge(case["expect"], answer)
                    assert json.loads(await socket.recv())["id"] == "fence"


async def test_the_json_rpc_cases_over_http(server: Address, subtests: pytest.Subtests) -> None:
    async with httpx.AsyncClient(timeout=30) as http:
        for case in CASES:
            with subtests.test(case["name"]):
                response = await http.post(
                    f"{server.http}/rpc", content=sent(case), headers={"content-type": "application/json"}
                )
                assert response.status_code == (204 if case["expect"]["kind"] == "nothing" else 200)
                judge(case["expect"], response.text or None)


async def test_the_process_lives_and_its_stores_answer(server: Address) -> None:
    async with httpx.AsyncClient(timeout=30) as http:
        assert (await http.get(f"{server.http}/healthz")).status_code == 200
        ready = await http.get(f"{server.http}/readyz")
    assert ready.status_code == 200
    assert ready.json() == {"status": "ready", "database": True, "redis": True}


async def test_discovery_is_the_document_at_its_address(server: Address, stranger: Peer) -> None:
    async with httpx.AsyncClient(timeout=30) as http:
        response = await http.get(f"{server.http}/openrpc.json", headers={"origin": "https://example.org"})
    assert response.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in response.headers
    assert await stranger.call("rpc.discover") == response.json()


async def test_a_socket_takes_any_origin(server: Address) -> None:
    async with connect(server.ws, origin="https://example.org", compression=None) as socket:  # pyright: ignore[reportArgumentType]  An origin is a text of a name of its own.
        await socket.send('{"jsonrpc":"2.0","id":1,"method":"server.info"}')
        assert json.loads(await socket.recv())["result"]["protocol"] == 1


async def test_what_the_server_says_of_itself(stranger: Peer) -> None:
    info = await stranger.call("server.info")
    assert info["protocol"] == 1
    assert info["games"] == [game["game"] for game in await stranger.call("games.list")]
    assert info["limits"]["frame_bytes"] == 16 * 1024
    assert info["limits"]["record_bytes"] == 512 * 1024
    assert info["limits"]["hard_bytes"] == 1024 * 1024
    assert info["limits"]["depth"] == info["limits"]["batch"] == 32
    assert info["limits"]["session_events"] == 5_000
    assert info["limits"]["page_events"] == 1_000
    assert all(type(number) is int and number > 0 for number in info["limits"].values())


@pytest.mark.parametrize("method", ["rpc.discover", "server.info", "games.list", "auth.guest"])
async def test_some_methods_need_no_token(server: Address, stranger: Peer, method: str) -> None:
    assert await stranger.call(method)
    assert (await server.post(method))["result"]


@pytest.mark.parametrize("params", [{"lang": None}, [None], []])
async def test_null_for_an_optional_param_means_absent(stranger: Peer, params: object) -> None:
    await stranger.socket.send(
        json.dumps({"jsonrpc": "2.0", "id": "x", "method": "games.list", "params": params})
    )
    await stranger.call("server.info")
    assert json.loads(stranger.frames[0])["result"] == await stranger.call("games.list")


async def test_methods_that_subscribe_are_for_sockets(server: Address, player: Peer) -> None:
    session = (await player.deal())["session"]
    for method, params in (
        ("auth.use", {"token": player.token}),
        ("session.subscribe", {"session": session}),
    ):
        answer = await server.post(method, player.token, **params)
        assert answer["error"]["data"] == {"kind": "not_allowed"}


async def test_a_whole_game_is_played_over_http(server: Address, player: Peer) -> None:
    view = (await server.post("session.create", player.token, game="klondike", seed="1"))["result"]
    moved = await server.post("session.move", player.token, session=view["session"], move="t6-t1", seq=0)
    assert moved["result"]["check"] == "909cc8e6"
    resigned = await server.post("session.resign", player.token, session=view["session"])
    assert resigned["result"]["status"] == "resigned"
    refused = await server.post("session.move", session=view["session"], move="draw", seq=2)
    assert refused["error"]["data"] == {"kind": "unauthenticated"}


async def test_a_batch_carries_a_login_and_what_follows(server: Address, stranger: Peer) -> None:
    token = (await stranger.call("auth.guest"))["token"]
    calls = [
        {"jsonrpc": "2.0", "id": 7, "method": "auth.use", "params": [token]},
        {"jsonrpc": "2.0", "method": "session.create", "params": ["camelot"]},
        {"jsonrpc": "2.0", "id": 8, "method": "session.list"},
    ]
    await stranger.socket.send(json.dumps(calls))
    await stranger.call("server.info")
    answers = {answer["id"]: answer["result"] for answer in json.loads(stranger.frames[1])}
    assert answers.keys() == {7, 8}
    assert [item["game"] for item in answers[8]["sessions"]] == ["camelot"]
