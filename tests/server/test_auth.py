"""Whom calls act for: guests, tokens, and what becomes of connections when they change."""

import asyncio
import json
import re
from contextlib import AsyncExitStack

import httpx
import pytest

from tests.arena import Address
from tests.peer import Peer, outcome


async def test_a_guest_gets_a_token_and_a_name(stranger: Peer) -> None:
    named = await stranger.call("auth.guest", name="Ada")
    assert named["player"]["name"] == "Ada"
    assert named["player"]["kind"] == "guest"
    again = await stranger.call("auth.guest", name="Ada")
    assert again["player"]["id"] != named["player"]["id"]
    assert again["token"] != named["token"]
    assert (await stranger.call("auth.guest"))["player"]["name"]
    assert (await stranger.call("auth.guest", name=None))["player"]["name"]
    assert re.fullmatch(r"pa_[\w-]{43}", named["token"])


async def test_becoming_a_guest_does_not_change_whom_the_connection_acts_for(
    player: Peer, stranger: Peer
) -> None:
    await stranger.call("auth.guest")
    assert await stranger.kind("session.list") == "unauthenticated"
    await player.call("auth.guest")
    assert (await player.deal("klondike"))["player"] == player.player


async def test_a_token_is_taken_from_the_handshake_the_header_and_the_call(
    server: Address, player: Peer, stranger: Peer
) -> None:
    async with server.peer(player.token) as other:
        assert (await other.deal("klondike"))["player"] == player.player
    answer = await server.post("session.list", player.token)
    assert len(answer["result"]["sessions"]) == 1
    used = await stranger.call("auth.use", token=player.token)
    assert used["player"] == player.player
    assert sorted(used["scopes"]) == ["account", "play", "read"]
    assert len((await stranger.call("session.list"))["sessions"]) == 1


@pytest.mark.parametrize("token", ["nonsense", "pa_" + "A" * 43, "pa_" + "A" * 4_000])
async def test_an_unknown_token_acts_for_nobody(server: Address, token: str) -> None:
    answer = await server.post("session.list", token)
    assert answer["error"]["data"] == {"kind": "unauthenticated"}
    assert (await server.post("server.info", token))["result"]
    async with server.peer(token) as peer:
        assert await peer.kind("session.list") == "unauthenticated"


async def test_a_login_that_fails_changes_nothing(player: Peer) -> None:
    assert await player.kind("auth.use", token="pa_" + "A" * 43) == "unauthenticated"
    assert (await player.deal("klondike"))["player"] == player.player


async def test_a_connection_acts_for_whom_it_logged_in_last(player: Peer, rival: Peer) -> None:
    mine = (await player.deal("klondike"))["session"]
    await rival.call("auth.use", token=player.token)
    assert (await rival.call("session.move", session=mine, move="draw", seq=0))["seq"] == 1
    assert (await rival.deal("klondike"))["player"] == player.player


async def test_calls_sent_after_a_login_act_for_the_new_player(player: Peer, stranger: Peer) -> None:
    """They need not wait for its answer."""
    used = await stranger.begin("auth.use", token=player.token)
    dealt = await stranger.begin("session.create", game="klondike")
    left = await stranger.begin("auth.logout")
    listed = await stranger.begin("session.list")
    assert (await used)["player"] == (await dealt)["player"] == player.player
    assert await left == {}
    with pytest.raises(Exception, match="unauthenticated"):
        await listed


async def test_logging_in_as_another_player_ends_the_subscriptions_of_the_one_before(
    player: Peer, rival: Peer, server: Address
) -> None:
    session = (await player.deal("klondike"))["session"]
    async with server.peer(player.token) as shared:
        await shared.call("session.subscribe", session=session)
        await shared.log_in(rival.token)
        await player.play(session, ["draw"])
        assert await shared.quiet()


async def test_logging_out_revokes_the_token_everywhere(server: Address, player: Peer) -> None:
    session = (await player.deal("klondike"))["session"]
    async with server.peer(player.token) as second:
        await second.call("session.subscribe", session=session)
        assert await player.call("auth.logout") == {}
        for peer in (player, second):
            assert await peer.kind("session.list") == "unauthenticated"
            assert await peer.kind("session.move", session=session, move="draw", seq=0) == "unauthenticated"
            assert await peer.kind("auth.logout") == "unauthenticated"
            assert await peer.kind("auth.use", token=player.token) == "unauthenticated"
    answer = await server.post("session.list", player.token)
    assert answer["error"]["data"] == {"kind": "unauthenticated"}


async def test_a_revoked_tokens_subscriptions_end(server: Address, stranger: Peer) -> None:
    async with server.guest() as one:
        view = await one.deal("klondike", public=True)
        async with server.guest() as other, server.peer() as watcher:
            await other.call("session.subscribe", session=view["session"])
            await watcher.call("session.subscribe", session=view["session"])
            await other.call("auth.logout")
            await one.play(view["session"], ["draw"])
            assert (await watcher.event())["seq"] == 1
            assert await other.quiet()


async def test_logging_in_keeps_what_was_subscribed_to_without_a_token(player: Peer, stranger: Peer) -> None:
    session = (await player.deal("klondike", public=True))["session"]
    await stranger.call("session.subscribe", session=session)
    await stranger.log_in()
    await player.play(session, ["draw"])
    assert (await stranger.event())["seq"] == 1


async def test_methods_that_need_a_token_say_so(stranger: Peer) -> None:
    document = await stranger.call("rpc.discover")
    for method in document["methods"]:
        if method["x-scope"] is None:
            continue
        params = [1] * len(method["params"])
        message = {"jsonrpc": "2.0", "id": method["name"], "method": method["name"], "params": params}
        await stranger.socket.send(json.dumps(message))
        await stranger.call("server.info")
        answer = next(a for a in map(json.loads, stranger.frames) if a["id"] == method["name"])
        assert answer["error"]["data"] == {"kind": "unauthenticated"}


async def test_a_batch_goes_on_without_the_token_that_it_revokes(server: Address, player: Peer) -> None:
    calls = ["auth.logout", "session.list", "auth.logout"]
    batch = [{"jsonrpc": "2.0", "id": i, "method": method} for i, method in enumerate(calls)]
    async with httpx.AsyncClient() as client:
        headers = {"authorization": f"Bearer {player.token}"}
        answers = (await client.post(f"{server.http}/rpc", json=batch, headers=headers)).json()
    assert answers[0]["result"] == {}
    assert [answer["error"]["data"]["kind"] for answer in answers[1:]] == ["unauthenticated"] * 2


async def test_logins_that_race_a_logout_act_for_nobody_in_the_end(server: Address, player: Peer) -> None:
    async with AsyncExitStack() as stack:
        peers = [await stack.enter_async_context(server.peer()) for _ in range(12)]
        logins = [await peer.begin("auth.use", token=player.token) for peer in peers[:6]]
        logout = await player.begin("auth.logout")
        logins += [await peer.begin("auth.use", token=player.token) for peer in peers[6:]]
        await logout
        await asyncio.gather(*logins, return_exceptions=True)
        assert [await peer.kind("session.list") for peer in peers] == ["unauthenticated"] * 12


async def test_a_subscription_is_for_whom_the_connection_acts_by_then(
    server: Address, player: Peer, rival: Peer
) -> None:
    session = (await player.deal("klondike"))["session"]
    await player.play(session, ["draw"] * 5)
    async with server.peer(player.token) as turncoat:
        subscribed = await turncoat.begin("session.subscribe", session=session, since=0)
        used = await turncoat.begin("auth.use", token=rival.token)
        await used
        await outcome(subscribed)
        await player.call("session.move", session=session, move="draw", seq=5)
        assert await turncoat.kind("session.get", session=session) == "forbidden"
        assert not [frame for frame in turncoat.frames if "session.event" in frame]
